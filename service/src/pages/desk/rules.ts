/** The pages of monitoring rules: the list, and a rule with its versions, backtests and switches. Each form runs a command of the operator. */
import { notFound, type PublicRequest, type PublicRoute } from '../../kernel/api/index.ts'
import {
  currencyScopes,
  ruleMoments,
  ruleFields,
  type RuleKind,
  ruleKinds,
  type RuleState,
  severities,
} from '../../monitoring/index.ts'
import { confirmationDialog, field, hiddenField, select } from '../kit/forms.ts'
import {
  badge,
  dayText,
  facts,
  freeText,
  identifier,
  message,
  moneyText,
  summaryStrip,
  table,
  time,
} from '../kit/parts.ts'
import { type FieldReader, page, readAmount, seeOther } from '../kit/request.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { commandFields, commandRoute, noteField, type RefusedForm } from './forms.ts'
import { ruleKindText } from './kinds.ts'
import { levelTones, titledTable, tableOrEmpty } from './parties.ts'
import { type DeskFrame, type FormOption, type Person, staffRoute } from './request.ts'
import { deskTexts, type DeskTexts } from './texts.ts'

/** A version of a rule, as `monitoring rule list` returns it. */
type RuleVersion = {
  readonly id: string
  readonly version: number
  readonly name: string
  readonly kind: string
  readonly state: RuleState
  readonly settings: RuleValues
  readonly madeBy: string
  readonly madeAt: Date
  readonly proposedBy: string | null
  readonly onBy: string | null
  readonly onSince: Date | null
  readonly offProposedBy: string | null
  readonly offBy: string | null
  readonly offSince: Date | null
  readonly backtests: readonly {
    readonly from: string
    readonly until: string
    readonly transactions: number
    readonly hits: number
    readonly subjects: number
    readonly ranBy: string
    readonly ranAt: Date
  }[]
  /** Backtests that are running or have failed, the latest first. */
  readonly runs: readonly {
    readonly from: string
    readonly until: string
    readonly transactions: number
    readonly askedBy: string
    readonly askedAt: Date
    readonly problem: 'too_many' | 'failed' | null
  }[]
}

const tones = { Draft: 'neutral', Proposed: 'warning', On: 'good', OffProposed: 'warning', Off: 'neutral' } as const
type Severity = keyof typeof levelTones

const isOn = ({ state }: RuleVersion): boolean => state === 'On' || state === 'OffProposed'
const severityOf = ({ settings }: RuleVersion) => (settings['severity'] ?? 'medium') as Severity
const momentOf = ({ settings }: RuleVersion) => (settings['when'] ?? 'after') as 'before' | 'after'

/** Returns the error text of a refusal, with the label of the field instead of its pointer. */
function refusalText(view: ConsoleView, error: string): string {
  const d: Readonly<Record<string, unknown>> = deskTexts[view.language].rules
  const name = refusedField(error)
  const label = name === undefined ? undefined : d[name]
  if (typeof label !== 'string') return error
  if (isAmount(name))
    return fill(deskTexts[view.language].rules.amountWrong, { field: label.split(',', 1)[0] ?? label })
  return error.replace(/^\/[a-z]+/, label)
}

const ruleProblems = (view: ConsoleView, error = '') => {
  const name = refusedField(error)
  return { [name === undefined ? 'form' : `rule-${name}`]: error === '' ? undefined : refusalText(view, error) }
}

type RuleList = {
  /** The versions of each rule, latest first. */
  readonly rules: readonly (readonly [RuleVersion, ...RuleVersion[]])[]
  readonly mayWrite: boolean
  /** The kind of the new rule whose form is shown. */
  readonly chosen: RuleKind | undefined
  readonly refused?: RefusedForm | undefined
}

function rulesPage(view: ConsoleView, { rules, mayWrite, chosen, refused }: RuleList): string {
  const d = deskTexts[view.language].rules
  const { error, form: typed = () => '' } = refused ?? {}
  return shell(view, {
    title: d.rules,
    wide: true,
    problems: ruleProblems(view, error),
    main: html`<h1>${d.rules}</h1>
      <p class="lead">${d.rulesText}</p>
      ${tableOrEmpty({
        none: { title: d.none, text: d.noneText },
        caption: d.rules,
        columns: [[d.rule, 'head'], d.kind, d.state, d.when, d.severity, [d.lastBacktest, 'number']],
        rows: rules.map((versions) => ruleRow(view, versions)),
      })}
      ${mayWrite && newRule(view, chosen, { action: `${view.root}rules`, typed, error, title: d.write, save: d.save })}`,
  })
}

function ruleRow(view: ConsoleView, versions: readonly [RuleVersion, ...RuleVersion[]]): readonly (Html | string)[] {
  const d = deskTexts[view.language].rules
  const [last] = versions
  const on = versions.find(isOn)
  const [backtest] = last.backtests
  const severity = severityOf(last)
  return [
    html`<a href="${view.root}rules/${last.id}">${last.name}</a>`,
    ruleKindText(view, last.kind),
    html`${badge(tones[last.state], d[last.state])}
    ${on !== undefined && on !== last && fill(d.otherOn, { version: String(on.version) })}`,
    d[momentOf(last)],
    badge(levelTones[severity], d[severity]),
    backtest === undefined
      ? d.notRun
      : fill(d.found, { hits: String(backtest.hits), transactions: String(backtest.transactions) }),
  ]
}

const readKind = (text: string): RuleKind | undefined => ruleKinds.find((kind) => kind === text)

type RuleDetails = {
  readonly versions: readonly [RuleVersion, ...RuleVersion[]]
  readonly mayWrite: boolean
  readonly options: readonly FormOption[]
  readonly refused?: RefusedForm | undefined
}

const commands = {
  rule: 'monitoring rule set',
  backtest: 'monitoring backtest start',
  on: 'monitoring rule on',
  off: 'monitoring rule off',
} as const

function rulePage(view: ConsoleView, { versions, mayWrite, options, refused }: RuleDetails): string {
  const d = deskTexts[view.language].rules
  const { error, command, form = () => '' } = refused ?? {}
  const [last] = versions
  const on = versions.find(isOn)
  const severity = severityOf(last)
  return shell(view, {
    title: last.name,
    wide: true,
    problems: ruleProblems(view, error),
    main: html`<h1>${last.name}</h1>
      ${summaryStrip([
        [d.version, String(last.version)],
        [d.state, badge(tones[last.state], d[last.state])],
        [d.when, d[momentOf(last)]],
        [d.severity, badge(levelTones[severity], d[severity])],
      ])}
      ${last.state === 'Proposed' && message('warning', fill(d.proposedOn, { name: last.proposedBy ?? '' }))}
      ${on?.state === 'OffProposed' && message('warning', fill(d.proposedOff, { name: on.offProposedBy ?? '' }))}
      ${mayWrite && switches(view, last, on)}
      <h2>${d.settings}</h2>
      ${facts([[d.kind, ruleKindText(view, last.kind)], ...settingRows(view, last), [d.rule, identifier(view, last.id, d.rule)]])}
      ${backtests(view, last, mayWrite && options, command === commands.backtest ? form : () => '')}
      ${versionsTable(view, versions)}
      ${
        mayWrite &&
        ruleForm(view, {
          ...{
            action: `${view.root}rules/${last.id}`,
            version: last.version,
            kind: readKind(command === commands.rule ? form('kind') : last.kind) ?? 'velocity',
            title: d.change,
            text: d.changeText,
            save: d.saveVersion,
          },
          typed: command === commands.rule ? form : storedForm(last.name, last.settings),
          error: command === commands.rule ? error : undefined,
        })
      }`,
  })
}

function settingRows(view: ConsoleView, { settings }: RuleVersion): readonly (readonly [string, string])[] {
  const d: Readonly<Record<string, string>> = deskTexts[view.language].rules
  const shownElsewhere = ['name', 'kind', 'severity', 'when']
  const given = { ...settings, partners: settings['partners'] ?? d['allPartners'] }
  return Object.entries(given)
    .filter(([name]) => !shownElsewhere.includes(name))
    .map(([name, value]) => {
      const { yes, no } = view.t
      const text =
        typeof value === 'object' && value !== null
          ? value.join(', ')
          : typeof value === 'boolean'
            ? value
              ? yes
              : no
            : isAmount(name) && typeof settings['currency'] === 'string'
              ? moneyText(view, String(value), settings['currency'])
              : String(value)
      return [
        (d[name] ?? name).split(',', 1)[0] ?? name,
        name === 'direction' || name === 'counts' ? (d[text] ?? text) : text,
      ]
    })
}

function switches(view: ConsoleView, last: RuleVersion, on: RuleVersion | undefined): Html {
  const d = deskTexts[view.language].rules
  const opener = (name: string, label: string, tone: string) =>
    html`<button type="button" class="${tone}" popovertarget="rule-${name}-dialog" aria-haspopup="dialog">
      ${label}
    </button>`
  const form = (name: 'on' | 'off', version: number, title: string, text: string, look: string) =>
    confirmationDialog({
      ...{ id: `rule-${name}-dialog`, title, action: `${view.root}rules/${last.id}/${name}` },
      about: html`<p>${text}</p>
        ${hiddenField('version', String(version))} ${noteField(view, `rule-${name}-note`)}`,
      ...{ submit: title, look, cancel: view.t.cancel },
    })
  const mayTurnOn = last.onSince === null
  return html`<div class="buttons">
      ${mayTurnOn && opener('on', d.turnOn, 'primary')} ${on !== undefined && opener('off', d.turnOff, 'danger')}
    </div>
    ${mayTurnOn && form('on', last.version, d.turnOn, d.turnOnText, 'primary')}
    ${on !== undefined && form('off', on.version, d.turnOff, d.turnOffText, 'danger')}`
}

function backtests(
  view: ConsoleView,
  version: RuleVersion,
  options: RuleDetails['options'] | false,
  typed: FieldReader,
): Html {
  const d = deskTexts[view.language].rules
  const { id, backtests: rows, runs } = version
  return html`<h2>${d.backtests}</h2>
    ${
      rows.length === 0
        ? html`<p>${d.noBacktest}</p>`
        : html`<p>${d.backtestsText}</p>
            ${table({
              caption: d.backtests,
              columns: [
                [d.period, 'head'],
                [d.transactions, 'number'],
                [d.hits, 'number'],
                [d.subjects, 'number'],
                d.ranBy,
              ],
              rows: rows.map(({ from, until, transactions, hits, subjects, ranBy, ranAt }) => [
                periodText(view, from, until),
                ...[transactions, hits, subjects].map(String),
                html`<span>${freeText(ranBy)}, ${time(view, ranAt)}</span>`,
              ]),
            })}`
    }
    ${runs.map((run) => runMessage(view, id, run))}
    ${
      // A second backtest at the same time would be refused.
      options !== false && !runs.some(({ problem }) => problem === null) && backtestForm(view, version, options, typed)
    }`
}

const periodText = (view: ConsoleView, from: string, until: string): string =>
  `${dayText(view, from)} – ${dayText(view, until)}`

function runMessage(view: ConsoleView, id: string, run: RuleVersion['runs'][number]): Html {
  const d = deskTexts[view.language].rules
  const { from, until, transactions, askedBy, askedAt, problem } = run
  const said = { days: periodText(view, from, until), name: askedBy, count: String(transactions) }
  if (problem !== null)
    return html`<p class="message bad">
      ${fill(problem === 'failed' ? d.runFailed : d.runTooMany, said)} ${time(view, askedAt)}
    </p>`
  return html`<div class="message neutral">
    <p>${fill(d.running, said)} ${time(view, askedAt)}</p>
    <p><a href="${view.root}rules/${id}">${d.lookAgain}</a></p>
  </div>`
}

function backtestForm(
  view: ConsoleView,
  { id, version }: RuleVersion,
  options: RuleDetails['options'],
  typed: FieldReader,
): Html {
  const fields = { command: commands.backtest, options, without: ['id', 'version'], prefix: 'backtest-', typed }
  return html`<form method="post" action="${view.root}rules/${id}/backtest">
    ${hiddenField('version', String(version))}
    <div class="grid">${commandFields(view, fields)}</div>
    <button type="submit">${deskTexts[view.language].rules.runBacktest}</button>
  </form>`
}

function versionsTable(view: ConsoleView, versions: readonly RuleVersion[]): Html | undefined {
  const d = deskTexts[view.language].rules
  const step = (by: string | null, at: Date | null) =>
    at === null ? '–' : html`<span>${freeText(by ?? '')}, ${time(view, at)}</span>`
  return titledTable({
    caption: d.versions,
    columns: [[d.version, 'head'], d.state, d.madeBy, d.turnedOn, d.turnedOff],
    rows: versions.map((each) => [
      String(each.version),
      badge(tones[each.state], d[each.state]),
      step(each.madeBy, each.madeAt),
      step(each.onBy, each.onSince),
      step(each.offBy, each.offSince),
    ]),
  })
}

const directions = ['Inward', 'Outward'] as const
const lists = ['countries', 'partners'] as const
const numbers = ['hours', 'days', 'count', 'payers', 'customers', 'percent'] as const
const texts = ['name', 'kind', 'currency', 'counts', 'severity', 'when', 'direction'] as const
const amounts = ['sum', 'threshold'] as const
const isAmount = (name: string | undefined): boolean => amounts.some((each) => each === name)
const kindFields = [
  'hours',
  'days',
  'count',
  'payers',
  'customers',
  'sum',
  'threshold',
  'percent',
  'countries',
] as const

/**
 * Builds the JSON of the rule from a form. An invalid value stays a string, so that the command refuses it with its
 * pointer.
 */
function readRule(form: FieldReader): string {
  const typed = (name: string) => form(name).trim()
  const given = <T>(names: readonly string[], read: (text: string) => T) =>
    names.flatMap((name) => (typed(name) === '' ? [] : [[name, read(typed(name))] as const]))
  return JSON.stringify(
    Object.fromEntries([
      ...given(texts, (text) => text),
      ...given(amounts, (text) => readAmount(text) ?? text),
      ...given(numbers, (text) => (/^\d{1,9}$/.test(text) ? Number(text) : text)),
      ...given(lists, (text) => text.split(/[\s,;]+/).filter((each) => each !== '')),
    ]),
  )
}

type RuleValues = Readonly<Record<string, string | number | readonly string[] | null>>

/** The values of a stored rule, for its form. */
const storedForm =
  (name: string, settings: RuleValues): FieldReader =>
  (field) => {
    const value = field === 'name' ? name : settings[field]
    return typeof value === 'object' && value !== null ? value.join(', ') : String(value ?? '')
  }

/** Reads the field that a refusal points to. Undefined if it is not in the form. */
const refusedField = (error: string): string | undefined => /^\/(?<name>[a-z]+)\b/.exec(error)?.groups?.['name']

type RuleFormState = {
  readonly action: string
  readonly kind: RuleKind
  /** The version that the form edits. Absent for a new rule. */
  readonly version?: number
  readonly typed: FieldReader
  readonly error: string | undefined
  readonly title: string
  readonly text?: string
  readonly save: string
}

/** Renders the form of a new rule: the person chooses a kind, then fills in its fields. */
function newRule(view: ConsoleView, kind: RuleKind | undefined, shown: Omit<RuleFormState, 'kind'>): Html {
  const d = deskTexts[view.language].rules
  if (kind !== undefined)
    return html`${ruleForm(view, { ...shown, kind })}
      <p><a href="${view.root}rules#write">${d.otherKind}</a></p>`
  return html`<h2 id="write">${d.write}</h2>
    <p>${d.chooseKind}</p>
    <ul class="choices">
      ${ruleKinds.map((each) => {
        const [name = each, ...rest] = d[each].split(': ')
        return html`<li>
          <a class="button" href="${view.root}rules?kind=${each}#write">${name}</a>
          <p class="help">${rest.join(': ')}</p>
        </li>`
      })}
    </ul>`
}

/** Renders the form of a rule. `ruleFields` lists the required fields of a kind, and the optional ones in brackets. */
function ruleForm(view: ConsoleView, { action, kind, version, typed, error, title, text, save }: RuleFormState): Html {
  const d = deskTexts[view.language].rules
  const wrong = error === undefined ? undefined : refusedField(error)
  const own = ruleFields[kind]
  const common = (name: string) => ({
    ...{ id: `rule-${name}`, name, label: d[name as keyof DeskTexts['rules']], value: typed(name) },
    error: name === wrong && error !== undefined ? refusalText(view, error) : undefined,
  })
  /** Renders a select. `otherwise`: the default. Absent if the person must choose. */
  const choice = (name: string, values: readonly string[], otherwise?: string) =>
    select({
      ...{ ...common(name), value: typed(name) || (otherwise ?? '') },
      options: values.map((each) => [each, d[each as keyof DeskTexts['rules']]]),
      ...(otherwise === undefined ? { any: d.choose } : {}),
    })
  const inputs = kindFields.flatMap((name) => {
    if (own.includes(name)) return [field(common(name))]
    const label = fill(deskTexts[view.language].options.optional, { label: d[name] })
    return own.includes(`[${name}]`) ? [field({ ...common(name), label, optional: true })] : []
  })
  return html`<section aria-labelledby="write">
    <h2 id="write">${title}: ${ruleKindText(view, kind)}</h2>
    ${text !== undefined && html`<p>${text}</p>`}
    <form method="post" action="${action}">
      ${version !== undefined && hiddenField('version', String(version))} ${hiddenField('kind', kind)}
      ${field({ ...common('name'), more: html`maxlength="100"` })}
      <div class="grid">
        ${field({ ...common('currency'), more: html`maxlength="4" autocapitalize="characters"` })}
        ${choice('counts', currencyScopes, 'OwnCurrency')} ${choice('severity', severities, 'medium')}
        ${choice('when', ruleMoments, 'after')} ${own.includes('direction') && choice('direction', directions)}
      </div>
      <div class="grid">${inputs}</div>
      ${field({ ...common('partners'), optional: true, help: d.partnersHelp })}
      <button type="submit" class="primary">${save}</button>
    </form>
  </section>`
}

type Versions = readonly [RuleVersion, ...RuleVersion[]]
export function ruleRoutes(frame: DeskFrame): readonly PublicRoute[] {
  const { changes } = frame
  const mayWrite = ({ signed }: Person) => changes.mayDecide(commands.rule, signed.account.role)
  const list = async (request: PublicRequest, person: Person, refused?: RefusedForm) => {
    const asked = refused?.form('kind') ?? new URLSearchParams(request.query).get('kind') ?? ''
    const shown = { rules: await readRules(frame), mayWrite: mayWrite(person), chosen: readKind(asked), refused }
    return page(request, refused === undefined ? 200 : 400, rulesPage(person.view, shown))
  }
  const show = async (request: PublicRequest, person: Person, refused?: RefusedForm) => {
    const { id = '' } = request.params
    const versions = (await readRules(frame)).find(([last]) => last.id === id)
    if (versions === undefined) throw notFound('page')
    const shown = { versions, mayWrite: mayWrite(person), options: changes.form(commands.backtest), refused }
    return page(request, refused === undefined ? 200 : 400, rulePage(person.view, shown))
  }
  // Each form sends the version on the page: a colleague may have written the next one meanwhile.
  const form = (path: string, name: keyof typeof commands, to: (id: string) => string, again: typeof show = show) =>
    commandRoute(frame, {
      ...{ place: 'rules', path: `/rules${path}`, command: commands[name], again },
      ...(name === 'rule' ? { more: (given) => ({ rule: readRule(given) }) } : {}),
      ...(name === 'rule' || name === 'backtest' ? { withoutNote: true } : {}),
      answer: ({ result }) => seeOther(to((result as { readonly id: string }).id)),
    })
  return [
    staffRoute(frame, 'rules', 'GET', '/rules', (request, person) => list(request, person)),
    staffRoute(frame, 'rules', 'GET', '/rules/{id}', (request, person) => show(request, person)),
    form('', 'rule', (id) => `rules/${id}`, list),
    form('/{id}', 'rule', (id) => id),
    form('/{id}/backtest', 'backtest', (id) => `../${id}`),
    form('/{id}/on', 'on', (id) => `../${id}`),
    form('/{id}/off', 'off', (id) => `../${id}`),
  ]
}

/** Reads the versions of each rule, latest first. There are few rules and versions. */
async function readRules({ changes }: DeskFrame): Promise<readonly Versions[]> {
  const rows = (await changes.read('monitoring rule list', {})) as readonly RuleVersion[]
  return [...Map.groupBy(rows, ({ id }) => id).values()] as unknown as readonly Versions[]
}
