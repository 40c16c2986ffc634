/**
 * The page of country rules: rules in force, changes that await a second person, and the form for a change. Every role
 * of staff reads it.
 */
import type { PublicAnswer, PublicRequest, PublicRoute } from '../../kernel/api/index.ts'
import { countryActions, type CountryRules } from '../../screening/index.ts'
import { badge, message } from '../kit/parts.ts'
import { countryName } from '../kit/countries.ts'
import { radioButtons } from '../kit/forms.ts'
import { type FieldReader, page, seeOther } from '../kit/request.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { html, type Html } from '../html.ts'
import { listChanges, changesTable, type DeskChange } from './commands.ts'
import { tableOrEmpty } from './parties.ts'
import { deskTexts } from './texts.ts'
import {
  commandFields,
  commandRoute,
  noteField,
  type RefusedForm,
  readOutcome,
  outcomeTones,
  valueLabel,
} from './forms.ts'
import { type DeskFrame, FieldRefusal, type FormOption, type Person, staffRoute } from './request.ts'

/** Choices of the form: an action for the countries, or the removal of their rules. */
const countryActs = [...countryActions, 'remove'] as const

type CountryRulesDetails = {
  readonly rules: CountryRules['all']
  /** Pending changes of these rules. */
  readonly changes: readonly DeskChange[]
  readonly mayWrite: boolean
  readonly said?: keyof typeof outcomeTones | undefined
  /** The options of the command that sets rules. */
  readonly options: readonly FormOption[]
  readonly refused?: RefusedForm | undefined
}

const tones = { refuse: 'bad', review: 'warning' } as const

export function countriesPage(
  view: ConsoleView,
  { rules, changes, mayWrite, said, options, refused }: CountryRulesDetails,
): string {
  const d = deskTexts[view.language].countries
  return shell(view, {
    title: d.countries,
    wide: true,
    problems: { [mayWrite ? (refusedField(refused) ?? 'form') : 'form']: refused?.error },
    main: html`<h1>${d.countries}</h1>
      ${said !== undefined && message(outcomeTones[said], d[said])}
      <p class="lead">${d.countriesText}</p>
      ${tableOrEmpty({
        none: { title: d.none, text: d.noneText },
        caption: d.countries,
        columns: [[d.country, 'head'], d.side, d.action],
        rows: rules.map(({ country, side, action }) => [
          countryName(view, country),
          valueLabel(view, 'for', side),
          badge(tones[action], d[action]),
        ]),
      })}
      ${
        changes.length > 0 &&
        html`<h2>${d.waiting}</h2>
          ${changesTable(view, changes, d.waiting)}`
      }
      ${mayWrite ? changeForm(view, options, refused) : message('neutral', d.readOnly)}`,
  })
}

/** Returns the field that a refusal concerns. Refusals by the command concern the field `countries`. */
const refusedField = (refused: RefusedForm | undefined) => refused && (refused.field ?? 'countries')

function changeForm(
  view: ConsoleView,
  options: CountryRulesDetails['options'],
  refused: CountryRulesDetails['refused'],
): Html {
  const d = deskTexts[view.language].countries
  const typed = refused?.form ?? (() => '')
  const refusedAt = refused && { ...refused, field: refusedField(refused) }
  const errorOf = (name: string) => (refusedField(refused) === name ? refused?.error : undefined)
  return html`<h2>${d.change}</h2>
    <form method="post" action="${view.root}countries">
      ${commandFields(view, { command: commands.set, options, without: ['action'], typed, refused: refusedAt })}
      ${radioButtons({
        ...{ id: 'act', name: 'act', legend: d.action, chosen: typed('act') || undefined, error: errorOf('act') },
        options: countryActs.map((act) => ({ value: act, label: d[act], help: d[`${act}Help`] })),
      })}
      ${noteField(view, 'note', { help: d.noteHelp, value: typed('note'), error: errorOf('note') })}
      <button type="submit" class="primary">${d.propose}</button>
    </form>`
}

const commands = { set: 'screening country set', remove: 'screening country remove' } as const

export const countryRoutes = (frame: DeskFrame): readonly PublicRoute[] => [
  staffRoute(frame, 'countries', 'GET', '/countries', (request, person) => show(frame, request, person)),
  commandRoute(frame, {
    place: 'countries',
    path: '/countries',
    command: (form) => (form('act') === 'remove' ? commands.remove : commands.set),
    more: readAction,
    answer: ({ waits }) => seeOther(`countries?${waits === undefined ? 'done' : 'waits'}`),
    again: (request, person, refused) => show(frame, request, person, refused),
  }),
]

/** Reads the action, which the form offers as radio buttons. Refuses: validation_failed. */
function readAction(form: FieldReader, { view }: Person): Readonly<Record<string, string>> {
  const act = countryActs.find((each) => each === form('act'))
  if (act === undefined) throw new FieldRefusal('act', deskTexts[view.language].countries.actionMissing)
  return act === 'remove' ? {} : { action: act }
}

async function show(
  frame: DeskFrame,
  request: PublicRequest,
  person: Person,
  refused?: RefusedForm,
): Promise<PublicAnswer> {
  const { changes } = frame
  const { view, signed } = person
  const { rules } = (await changes.read('screening country list', {})) as { readonly rules: CountryRules['all'] }
  const waiting = await listChanges(frame, signed)
  const own = new Set<string>(Object.values(commands))
  const body = countriesPage(view, {
    rules,
    changes: waiting.filter(({ command }) => own.has(command)),
    mayWrite: changes.mayDecide(commands.set, signed.account.role),
    said: readOutcome(request),
    options: changes.form(commands.set),
    refused,
  })
  return page(request, refused === undefined ? 200 : 400, body)
}
