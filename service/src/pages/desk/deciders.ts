/**
 * The page of deciders: which roles decide each kind of case, and the form that changes the roles of a kind. Another
 * admin approves a change.
 */
import type { PublicAnswer, PublicRequest, PublicRoute } from '../../kernel/api/index.ts'
import { type DecidedKind, decidedKinds, type Deciders, type StaffRole, staffRoles } from '../../people/staff/index.ts'
import { badge, linkButton, message, table, time } from '../kit/parts.ts'
import { page, seeOther } from '../kit/request.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { html, type Html } from '../html.ts'
import { commandRoute, noteField, optionField, type RefusedForm, readOutcome, outcomeTones } from './forms.ts'
import { kindName } from './kinds.ts'
import { type DeskFrame, type FormOption, type Person, staffRoute } from './request.ts'
import { deskTexts } from './texts.ts'

type DeciderTable = {
  readonly deciders: readonly Deciders[]
  readonly mayChange: boolean
  /** The kind whose form is shown. */
  readonly chosen: DecidedKind | undefined
  readonly options: readonly FormOption[]
  readonly said?: keyof typeof outcomeTones | undefined
  readonly refused?: RefusedForm | undefined
}

export function decidersPage(view: ConsoleView, shown: DeciderTable): string {
  const { deciders: d, queue: q } = deskTexts[view.language]
  const { deciders, mayChange, chosen, said, refused } = shown
  return shell(view, {
    title: d.title,
    wide: true,
    problems: { form: refused?.error },
    main: html`<h1>${d.title}</h1>
      ${said !== undefined && message(outcomeTones[said], d[said])}
      ${said === 'waits' && html`<p>${linkButton(`${view.root}changes`, d.changes)}</p>`}
      <p class="lead">${d.text}</p>
      ${chosen !== undefined && mayChange && changeForm(view, shown, chosen)}
      ${table({
        caption: d.title,
        columns: [
          [d.kind, 'head'],
          ...staffRoles.map((role) => q[role]),
          d.changed,
          ...(mayChange ? ([[d.change, 'actions']] as const) : []),
        ],
        rows: deciders.map(({ kind, roles, setBy, setAt }) => [
          kindName(view, kind),
          ...staffRoles.map((role) => (roles.includes(role) ? badge('good', d.yes) : d.no)),
          setBy === null || setAt === null ? d.byDefault : html`<span>${setBy}, ${time(view, setAt)}</span>`,
          ...(mayChange
            ? [
                html`<a class="button small" href="${view.root}deciders?kind=${kind}"
                  >${d.change}<span class="away"> ${kindName(view, kind)}</span></a
                >`,
              ]
            : []),
        ]),
      })}`,
  })
}

function changeForm(view: ConsoleView, { deciders, options, refused }: DeciderTable, chosen: DecidedKind): Html {
  const d = deskTexts[view.language].deciders
  const now: readonly StaffRole[] = deciders.find(({ kind }) => kind === chosen)?.roles ?? []
  return html`<section aria-labelledby="change-title">
    <h2 id="change-title">${d.change}: ${kindName(view, chosen)}</h2>
    <p>${d.changeText}</p>
    <form method="post" action="${view.root}deciders">
      ${options.map((option) =>
        option.name === 'kind'
          ? optionField(view, command, { ...option, values: [chosen] }, { value: chosen })
          : optionField(view, command, option, { value: refused?.form(option.name) ?? now.join(',') }),
      )}
      ${noteField(view, 'note', { value: refused?.form('note') ?? '' })}
      <button type="submit" class="primary">${d.save}</button>
    </form>
  </section>`
}

const command = 'decider set'

export const deciderRoutes = (frame: DeskFrame): readonly PublicRoute[] => [
  staffRoute(frame, 'staff', 'GET', '/deciders', (request, person) => show(frame, request, person)),
  commandRoute(frame, {
    place: 'staff',
    path: '/deciders',
    command,
    answer: ({ waits }) => seeOther(`deciders?${waits === undefined ? 'done' : 'waits'}`),
    again: (request, person, refused) => show(frame, request, person, refused),
  }),
]

async function show(
  frame: DeskFrame,
  request: PublicRequest,
  { view, signed }: Person,
  refused?: RefusedForm,
): Promise<PublicAnswer> {
  const { changes, db, staff } = frame
  const asked = refused?.form('kind') ?? new URLSearchParams(request.query).get('kind')
  const body = decidersPage(view, {
    deciders: await staff.deciders(db),
    mayChange: changes.mayDecide(command, signed.account.role),
    chosen: decidedKinds.find((kind) => kind === asked),
    options: changes.form(command),
    said: readOutcome(request),
    refused,
  })
  return page(request, refused === undefined ? 200 : 400, body)
}
