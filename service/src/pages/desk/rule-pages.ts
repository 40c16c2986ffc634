/** The rules of monitoring in a list, and the page of one with its versions, backtests and switches. */
import type { RuleState } from '../../monitoring/index.ts'
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { asking, field, hiddenField } from '../kit/forms.ts'
import { badge, call, empty, facts, freeText, identifier, message, strip, table, time } from '../kit/parts.ts'
import type { Form } from '../kit/request.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { fieldOf, ruleForm, type RuleValues, typedOf } from './rule-form.ts'
import { type RuleTexts, ruleTexts } from './rule-texts.ts'

/** A version of a rule, as `monitoring rule list` returns it. */
export type RuleVersion = {
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
  /** Backtests that a worker runs, or that have failed, the last first. */
  readonly runs: readonly {
    readonly from: string
    readonly until: string
    readonly transactions: number
    readonly askedBy: string
    readonly askedAt: Date
    readonly problem: 'too_many' | 'failed' | null
  }[]
}

/** Holds the refusal of a form, and what was typed. */
export type Refused = { readonly error?: string | undefined; readonly form?: Form | undefined }

const tones = { Draft: 'neutral', Proposed: 'warning', On: 'good', OffProposed: 'warning', Off: 'neutral' } as const
const severityTones = { low: 'neutral', medium: 'warning', high: 'bad' } as const
type Severity = keyof typeof severityTones

const isOn = ({ state }: RuleVersion): boolean => state === 'On' || state === 'OffProposed'
const severityOf = ({ settings }: RuleVersion) => (settings['severity'] ?? 'medium') as Severity
const momentOf = ({ settings }: RuleVersion) => (settings['when'] ?? 'after') as 'before' | 'after'

const problemsOf = (error = '') => {
  const name = fieldOf(error)
  return { [name === undefined ? 'form' : `rule-${name}`]: error || undefined }
}

type Listed = Refused & {
  /** The versions of each rule, the last first. */
  readonly rules: readonly (readonly [RuleVersion, ...RuleVersion[]])[]
  readonly mayWrite: boolean
}

export function rulesPage(view: ConsoleView, { rules, mayWrite, error, form = () => '' }: Listed): string {
  const d = ruleTexts[view.language]
  return shell(view, {
    title: d.rules,
    wide: true,
    problems: problemsOf(error),
    main: html`<h1>${d.rules}</h1>
      <p class="lead">${d.rulesText}</p>
      ${
        rules.length === 0
          ? empty({ title: d.none, text: d.noneText })
          : table({
              caption: d.rules,
              columns: [[d.rule, 'head'], d.kind, d.state, d.when, d.severity, [d.lastBacktest, 'number']],
              rows: rules.map((versions) => ruleRow(view, versions)),
            })
      }
      ${mayWrite && ruleForm(view, { action: `${view.root}rules`, typed: form, error, title: d.write, save: d.save })}`,
  })
}

function ruleRow(view: ConsoleView, versions: readonly [RuleVersion, ...RuleVersion[]]): readonly (Html | string)[] {
  const d = ruleTexts[view.language]
  const [last] = versions
  const on = versions.find(isOn)
  const [backtest] = last.backtests
  const severity = severityOf(last)
  return [
    html`<a href="${view.root}rules/${last.id}">${last.name}</a>`,
    kindText(d, last.kind),
    html`${badge(tones[last.state], d[last.state])}
    ${on !== undefined && on !== last && fill(d.otherOn, { version: String(on.version) })}`,
    d[momentOf(last)],
    badge(severityTones[severity], d[severity]),
    backtest === undefined
      ? d.notRun
      : fill(d.found, { hits: String(backtest.hits), transactions: String(backtest.transactions) }),
  ]
}

const kindText = (d: RuleTexts, kind: string): string =>
  ((d as Readonly<Record<string, string>>)[kind] ?? kind).split(':', 1)[0] ?? kind

type Shown = Refused & {
  readonly versions: readonly [RuleVersion, ...RuleVersion[]]
  readonly mayWrite: boolean
  /** The form that was refused. */
  readonly refused?: 'rule' | 'on' | 'off' | 'backtest' | undefined
}

export function rulePage(view: ConsoleView, { versions, mayWrite, error, form, refused }: Shown): string {
  const d = ruleTexts[view.language]
  const [last] = versions
  const on = versions.find(isOn)
  const severity = severityOf(last)
  return shell(view, {
    title: last.name,
    wide: true,
    problems: problemsOf(error),
    main: html`<h1>${last.name}</h1>
      ${strip([
        [d.version, String(last.version)],
        [d.state, badge(tones[last.state], d[last.state])],
        [d.when, d[momentOf(last)]],
        [d.severity, badge(severityTones[severity], d[severity])],
      ])}
      ${last.state === 'Proposed' && message('warning', fill(d.proposedOn, { name: last.proposedBy ?? '' }))}
      ${on?.state === 'OffProposed' && message('warning', fill(d.proposedOff, { name: on.offProposedBy ?? '' }))}
      ${mayWrite && switches(view, last, on)}
      <h2>${d.settings}</h2>
      ${facts([[d.kind, kindText(d, last.kind)], ...settingsOf(view, last), [d.rule, identifier(view, last.id, d.rule)]])}
      ${backtests(view, last, mayWrite, refused === 'backtest' ? form : undefined)} ${versionsTable(view, versions)}
      ${
        mayWrite &&
        ruleForm(view, {
          ...{
            action: `${view.root}rules/${last.id}`,
            version: last.version,
            title: d.change,
            text: d.changeText,
            save: d.saveVersion,
          },
          typed: refused === 'rule' && form !== undefined ? form : typedOf(last.name, last.settings),
          error: refused === 'rule' ? error : undefined,
        })
      }`,
  })
}

function settingsOf(view: ConsoleView, { settings }: RuleVersion): readonly (readonly [string, string])[] {
  const d: Readonly<Record<string, string>> = ruleTexts[view.language]
  const shownElsewhere = ['name', 'kind', 'severity', 'when']
  const given = { ...settings, partners: settings['partners'] ?? d['allPartners'] }
  return Object.entries(given)
    .filter(([name]) => !shownElsewhere.includes(name))
    .map(([name, value]) => {
      const text = typeof value === 'object' && value !== null ? value.join(', ') : String(value)
      return [
        (d[name] ?? name).split(',', 1)[0] ?? name,
        name === 'direction' || name === 'counts' ? (d[text] ?? text) : text,
      ]
    })
}

function switches(view: ConsoleView, last: RuleVersion, on: RuleVersion | undefined): Html {
  const d = ruleTexts[view.language]
  const opener = (name: string, label: string, tone: string) =>
    html`<button type="button" class="${tone}" popovertarget="rule-${name}-dialog" aria-haspopup="dialog">
      ${label}
    </button>`
  const form = (name: 'on' | 'off', version: number, title: string, text: string, look: string) =>
    asking({
      ...{ id: `rule-${name}-dialog`, title, action: `${view.root}rules/${last.id}/${name}` },
      about: html`<p>${text}</p>
        ${hiddenField('version', String(version))}
        ${field({ id: `rule-${name}-note`, name: 'note', label: d.note, more: html`maxlength="500"` })}`,
      ...{ submit: title, look, cancel: view.t.cancel },
    })
  const mayTurnOn = last.onSince === null
  return html`<div class="buttons">
      ${mayTurnOn && opener('on', d.turnOn, 'primary')} ${on !== undefined && opener('off', d.turnOff, 'danger')}
    </div>
    ${mayTurnOn && form('on', last.version, d.turnOn, d.turnOnText, 'primary')}
    ${on !== undefined && form('off', on.version, d.turnOff, d.turnOffText, 'danger')}`
}

function backtests(view: ConsoleView, version: RuleVersion, mayWrite: boolean, typed: Form | undefined): Html {
  const d = ruleTexts[view.language]
  const { id, backtests: rows, runs } = version
  const command = `npm run -s operator -- monitoring rule backtest --id ${id} --from DAY --until DAY`
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
                `${from} – ${until}`,
                ...[transactions, hits, subjects].map(String),
                html`${freeText(ranBy)}, ${time(view, ranAt)}`,
              ]),
            })}`
    }
    ${runs.map((run) => runMessage(view, id, run))}
    ${
      // One at a time: the form would be refused.
      mayWrite && !runs.some(({ problem }) => problem === null) && backtestForm(view, version, typed)
    }
    ${call(view, command, d.backtestCall)}`
}

function runMessage(view: ConsoleView, id: string, run: RuleVersion['runs'][number]): Html {
  const d = ruleTexts[view.language]
  const { from, until, transactions, askedBy, askedAt, problem } = run
  const said = { days: `${from} – ${until}`, name: askedBy, count: String(transactions) }
  if (problem !== null)
    return html`<p class="message bad">
      ${fill(problem === 'failed' ? d.runFailed : d.runTooMany, said)} ${time(view, askedAt)}
    </p>`
  return html`<div class="message neutral">
    <p>${fill(d.running, said)} ${time(view, askedAt)}</p>
    <p><a href="${view.root}rules/${id}">${d.lookAgain}</a></p>
  </div>`
}

function backtestForm(view: ConsoleView, { id, version }: RuleVersion, typed: Form = () => ''): Html {
  const d = ruleTexts[view.language]
  const day = (name: 'from' | 'until', label: string) =>
    field({ id: `backtest-${name}`, name, label, type: 'date', value: typed(name) })
  return html`<form method="post" action="${view.root}rules/${id}/backtest">
    ${hiddenField('version', String(version))}
    <div class="grid">${day('from', d.firstDay)} ${day('until', d.lastDay)}</div>
    <button type="submit">${d.runBacktest}</button>
  </form>`
}

function versionsTable(view: ConsoleView, versions: readonly RuleVersion[]): Html {
  const d = ruleTexts[view.language]
  const step = (by: string | null, at: Date | null) =>
    at === null ? '–' : html`${freeText(by ?? '')}, ${time(view, at)}`
  return html`<h2>${d.versions}</h2>
    ${table({
      caption: d.versions,
      columns: [[d.version, 'head'], d.state, d.madeBy, d.turnedOn, d.turnedOff],
      rows: versions.map((each) => [
        String(each.version),
        badge(tones[each.state], d[each.state]),
        step(each.madeBy, each.madeAt),
        step(each.onBy, each.onSince),
        step(each.offBy, each.offSince),
      ]),
    })}`
}
