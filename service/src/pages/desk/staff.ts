/** The page of staff: accounts, invitations and impersonation. Each form runs a command of the operator. */
import type { PublicRequest, PublicRoute } from '../../kernel/api/index.ts'
import type { StaffRole } from '../../people/staff/index.ts'
import { confirmationDialog, dialogButton } from '../kit/forms.ts'
import { badge, freeText, table, time } from '../kit/parts.ts'
import { type FieldReader, page, seeOther } from '../kit/request.ts'
import { texts as consoleTexts } from '../console/texts/index.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { html, type Html } from '../html.ts'
import { actionResultHref, actionMessage, secretPage } from './acts.ts'
import { commandFields, commandRoute, optionLabel, noteField, optionField, type RefusedForm } from './forms.ts'
import { type DeskChanges, type DeskFrame, type Person, staffRoute } from './request.ts'
import { deskTexts } from './texts.ts'

type DeskPerson = {
  readonly id: string
  readonly fullName: string
  readonly email: string
  readonly role: StaffRole
  readonly createdAt: Date
  readonly factors: readonly ('passkey' | 'password' | 'sso')[]
  readonly isSelf: boolean
}

type StaffList = {
  readonly people: readonly DeskPerson[]
  /** True if the reader may change staff. */
  readonly isAdmin: boolean
  readonly optionsOf: DeskChanges['form']
  readonly said?: Html | undefined
  readonly refused?: RefusedForm | undefined
}

export function staffPage(view: ConsoleView, shown: StaffList): string {
  const { people, isAdmin, said, refused } = shown
  const d = deskTexts[view.language].staff
  return shell(view, {
    title: d.staff,
    wide: true,
    problems: { form: refused?.error },
    main: html`${said}
      <h1>${d.staff}</h1>
      <p class="lead">${d.staffText}</p>
      ${table({
        caption: d.staff,
        columns: [
          [d.person, 'head'],
          d.role,
          d.factors,
          d.since,
          ...(isAdmin ? [[d.actions, 'actions'] as const] : []),
        ],
        rows: people.map((person) => [
          html`<span class="name">${freeText(person.fullName)}</span> ${person.isSelf && badge('neutral', d.you)}
            <span class="soft">${freeText(person.email)}</span>`,
          deskTexts[view.language].queue[person.role],
          person.factors.length === 0 ? d.noFactor : person.factors.map((factor) => d[factor]).join(', '),
          time(view, person.createdAt, 'date'),
          ...(isAdmin ? [actions(view, person)] : []),
        ]),
      })}
      ${isAdmin && people.map((person) => dialogs(view, shown, person))} ${isAdmin && invite(view, shown)}
      ${impersonate(view, shown)}`,
  })
}

function actions(view: ConsoleView, { id, fullName }: DeskPerson): Html {
  const d = deskTexts[view.language].staff
  return html`<div class="actions">
    ${dialogButton({ id: `role-${id}`, label: d.changeRole, about: fullName })}
    ${dialogButton({ id: `sessions-${id}`, label: d.endSessions, about: fullName })}
    ${dialogButton({ id: `remove-${id}`, label: d.remove, about: fullName, tone: 'danger' })}
  </div>`
}

function dialogs(view: ConsoleView, { optionsOf }: StaffList, { id, fullName, role }: DeskPerson): Html {
  const d = deskTexts[view.language].staff
  const form = (name: string, title: string, body: readonly Html[] | Html, look = 'danger') =>
    confirmationDialog({
      ...{ id: `${name}-${id}`, title: `${title}: ${fullName}`, action: `${view.root}staff/${id}/${name}` },
      about: html`${body} ${noteField(view, `${name}-note-${id}`)}`,
      ...{ submit: title, look, cancel: d.back },
    })
  const options = optionsOf('staff role').filter(({ name }) => name === 'role')
  const roleField = options.map((option) =>
    optionField(view, 'staff role', option, { id: `role-field-${id}`, value: role }),
  )
  return html`${form('role', d.changeRole, roleField, 'primary')}
  ${form('sessions', d.endSessions, html`<p>${d.endSessionsText}</p>`)}
  ${form('remove', d.remove, html`<p>${d.removeText}</p>`)}`
}

const typedForm = ({ refused }: StaffList, command: string): FieldReader =>
  refused?.command === command ? refused.form : () => ''

function invite(view: ConsoleView, shown: StaffList): Html {
  const [d, command] = [deskTexts[view.language].staff, 'staff invite']
  return html`<h2>${d.invite}</h2>
    <p>${d.inviteText}</p>
    <form method="post" action="${view.root}staff/invite">
      ${commandFields(view, { command, options: shown.optionsOf(command), typed: typedForm(shown, command) })}
      <button type="submit" class="primary">${d.invite}</button>
    </form>`
}

function impersonate(view: ConsoleView, shown: StaffList): Html {
  const [d, command] = [deskTexts[view.language].staff, 'impersonate']
  const typed = typedForm(shown, command)
  return html`<h2>${d.impersonate}</h2>
    <p>${d.impersonateText}</p>
    <form method="post" action="${view.root}staff/impersonate">
      ${commandFields(view, { command, options: shown.optionsOf(command), typed })}
      ${noteField(view, 'reason', { label: optionLabel(view, command, 'note'), value: typed('note') })}
      <button type="submit">${d.open}</button>
    </form>`
}

/** Renders a link to the console, which may be on another host. Undefined if the result has no URL. */
function toConsole({ language }: ConsoleView, result: unknown): Html | undefined {
  const { consoleUrl: url } = Object(result) as { readonly consoleUrl?: string }
  if (url === undefined) return undefined
  const s = consoleTexts[language].support
  return html`<p>${s.toConsoleText}</p>
    <p><a class="button primary" href="${url}" rel="noreferrer">${s.toConsole}</a></p>`
}

export function staffRoutes(frame: DeskFrame): readonly PublicRoute[] {
  const { db, staff, changes } = frame
  const show = async (request: PublicRequest, { view, signed }: Person, refused?: RefusedForm) => {
    const rows = await staff.list(db)
    const factors = await staff.factorsOf(
      db,
      rows.map(({ id }) => id),
    )
    const people = rows.map((row): DeskPerson => {
      const own = factors.filter(({ memberId }) => memberId === row.id).map(({ factor }) => factor)
      return { ...row, factors: own, isSelf: row.id === signed.account.id }
    })
    const said = actionMessage(view, request)
    const shown = { people, isAdmin: signed.account.role === 'admin', optionsOf: changes.form, said, refused }
    return page(request, refused === undefined ? 200 : 400, staffPage(view, shown))
  }
  const form = (path: string, command: string, more: { readonly withoutNote?: true } = {}): PublicRoute =>
    commandRoute(frame, {
      ...{ place: 'staff', path: `/staff/${path}`, command, ...more, again: show },
      answer: ({ waits, result }, request, { view }) => {
        const isSecret = path === 'invite' || path === 'impersonate'
        if (waits !== undefined || !isSecret) return seeOther(actionResultHref(`${view.root}staff`, command, waits))
        // A secret is not stored: the response shows it once.
        return page(
          request,
          200,
          secretPage(view, { act: command, result, back: 'staff', more: toConsole(view, result) }),
        )
      },
    })
  return [
    staffRoute(frame, 'staff', 'GET', '/staff', (request, person) => show(request, person)),
    form('invite', 'staff invite', { withoutNote: true }),
    form('impersonate', 'impersonate'),
    form('{id}/role', 'staff role'),
    form('{id}/sessions', 'staff end-sessions'),
    form('{id}/remove', 'staff remove'),
  ]
}
