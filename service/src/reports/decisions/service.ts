/** Counts the operator's decisions, with one statement for each month and kind of row in one snapshot. */
import type { Cases, Disposition } from '../../cases/index.ts'
import { type Clock, secondMs, csvCell, hourMs } from '../../kernel/index.ts'
import type { Monitoring } from '../../monitoring/index.ts'
import { type Database, useSnapshot, type Tx } from '../../postgres/index.ts'
import type { HitDisposition, Screening } from '../../screening/index.ts'
import {
  type AgeBand,
  ageBandStarts,
  toAgeBands,
  type CountedKind,
  type Month,
  monthsUntil,
  ageBands,
} from './rules.ts'

export { ageBands, type CountedKind } from './rules.ts'

export const monthsMax = 24

export type DecisionFigures = {
  readonly at: Date
  /** `YYYY-MM` in UTC, latest first. The latest month is not over. */
  readonly months: readonly string[]
  /** Cases and hits that now await a decision. */
  readonly open: readonly {
    readonly kind: CountedKind
    readonly ages: Readonly<Record<AgeBand, number>>
    readonly total: number
  }[]
  readonly decided: readonly {
    readonly month: string
    readonly kind: CountedKind
    readonly outcome: string
    readonly count: number
  }[]
  /** Milliseconds from opening to decision by people. `month`: null for the whole period. */
  readonly times: readonly {
    readonly month: string | null
    readonly kind: CountedKind
    readonly count: number
    /** Half of the decisions took at most this long. */
    readonly medianMs: number
    /** Nine tenths of the decisions took at most this long. */
    readonly ninetyMs: number
  }[]
  /** Decided hits of each list, and false ones among them. */
  readonly lists: readonly FalseHitCount[]
  /** Decided alerts of each rule, and false ones among them. `name`: of the latest version. */
  readonly rules: readonly (FalseHitCount & { readonly id: string })[]
  /** Findings about alerts and hits. */
  readonly findings: readonly {
    readonly month: string
    readonly kind: FoundKind
    readonly disposition: Disposition | HitDisposition
    readonly count: number
  }[]
}

type Finding = DecisionFigures['findings'][number]
type FoundKind = Extract<CountedKind, 'monitoring_alert' | 'screening_hit'>

type FalseHitCount = {
  readonly month: string
  readonly name: string
  readonly decided: number
  readonly falseHits: number
}

export type DecisionStatistics = {
  /** `months`: 1 to 24. */
  readonly read: (months: number) => Promise<DecisionFigures>
}

type Deps = {
  readonly db: Database
  readonly clock: Clock
  readonly cases: Pick<Cases, 'numbers'>
  readonly screening: Pick<Screening, 'numbers'>
  readonly monitoring: Pick<Monitoring, 'rules' | 'rulesOfAlerts'>
}

export const createDecisionStatistics = (deps: Deps): DecisionStatistics => ({
  read: (count) =>
    deps.db.transaction(async (tx) => {
      await useSnapshot(tx)
      const at = deps.clock.now()
      const months = monthsUntil(at, Math.min(Math.max(count, 1), monthsMax))
      const oldest = months.at(-1)
      const whole = oldest === undefined ? [] : [{ month: null, from: oldest.from, before: months[0]?.before ?? at }]
      const hits = await countDecided(deps, tx, months)
      const alerts = await countAlerts(deps, tx, months)
      return {
        ...{ at, months: months.map(({ month }) => month) },
        open: await countOpen(deps, tx, at),
        ...hits,
        times: await readTimes(deps, tx, [...whole, ...months]),
        ...alerts,
        findings: [...alerts.findings, ...hits.findings],
      }
    }),
})

/** Limits the figures to the kinds that a person works on. */
export const filterKinds = (numbers: DecisionFigures, isShown: (kind: CountedKind) => boolean): DecisionFigures => ({
  ...numbers,
  open: numbers.open.filter(({ kind }) => isShown(kind)),
  decided: numbers.decided.filter(({ kind }) => isShown(kind)),
  times: numbers.times.filter(({ kind }) => isShown(kind)),
  lists: isShown('screening_hit') ? numbers.lists : [],
  rules: isShown('monitoring_alert') ? numbers.rules : [],
  findings: numbers.findings.filter(({ kind }) => isShown(kind)),
})

async function countOpen({ cases, screening }: Deps, tx: Tx, at: Date): Promise<DecisionFigures['open']> {
  const times = ageBandStarts(at)
  const hits = { kind: 'screening_hit' as const, ...(await screening.numbers.countOpenHits(tx, times)) }
  const rows = [...(hits.total === 0 ? [] : [hits]), ...(await cases.numbers.countOpenCases(tx, times))]
  return rows.map((row) => ({ kind: row.kind, ages: toAgeBands(row), total: row.total }))
}

async function countDecided({ cases, screening }: Deps, tx: Tx, months: readonly Month[]) {
  const decided: DecisionFigures['decided'][number][] = []
  const lists: FalseHitCount[] = []
  const findings: Finding[] = []
  for (const { month, ...period } of months) {
    const hits = await screening.numbers.decidedCounts(tx, period)
    const outcomes = Map.groupBy(hits, ({ outcome }) => outcome)
    for (const [outcome, rows] of outcomes) decided.push({ month, kind: 'screening_hit', outcome, count: sumOf(rows) })
    for (const [name, rows] of Map.groupBy(hits, ({ source }) => source))
      lists.push({ month, name, decided: sumOf(rows), falseHits: sumOf(rows.filter(isCleared)) })
    for (const [disposition, rows] of Map.groupBy(hits, (row) => row.disposition))
      if (disposition !== null) findings.push({ month, kind: 'screening_hit', disposition, count: sumOf(rows) })
    decided.push(...(await cases.numbers.countDecisions(tx, period)).map((row) => ({ month, ...row })))
  }
  return { decided, lists, findings }
}

const sumOf = (rows: readonly { readonly count: number }[]): number => rows.reduce((sum, { count }) => sum + count, 0)
const isCleared = ({ outcome }: { readonly outcome: string }): boolean => outcome === 'cleared'

type Period = Omit<Month, 'month'> & { readonly month: string | null }

async function readTimes(
  { cases, screening }: Deps,
  tx: Tx,
  periods: readonly Period[],
): Promise<DecisionFigures['times']> {
  const times: DecisionFigures['times'][number][] = []
  for (const { month, ...period } of periods) {
    const hits = await screening.numbers.decisionDurations(tx, period)
    const rows = [
      ...(hits === undefined ? [] : [{ kind: 'screening_hit' as const, ...hits }]),
      ...(await cases.numbers.decisionTimes(tx, period)),
    ]
    times.push(
      ...rows.map(({ kind, count, median, ninety }) => ({
        ...{ month, kind, count, medianMs: median * secondMs, ninetyMs: ninety * secondMs },
      })),
    )
  }
  return times
}

const alertsPerPage = 1000

/** Reports whether an alert was false: its finding says so, or it has none and no payout was refused. */
const isFalseAlert = ({ outcome, disposition }: Pick<DecidedAlert, 'outcome' | 'disposition'>): boolean =>
  disposition === null ? outcome !== 'refused' : disposition === 'false_positive' || disposition === 'explained'

/** Counts decided alerts by rule. Alerts are read in pages, and their rules from monitoring, partner by partner. */
async function countAlerts(
  { cases, monitoring }: Deps,
  tx: Tx,
  months: readonly Month[],
): Promise<Pick<DecisionFigures, 'findings' | 'rules'>> {
  const names = new Map<string, string>()
  // The list begins with the latest version of each rule.
  for (const { id, name } of await monitoring.rules(tx)) if (!names.has(id)) names.set(id, name)
  const rules: DecisionFigures['rules'][number][] = []
  const findings: Finding[] = []
  for (const { month, ...period } of months) {
    const counts = new Map<string, { decided: number; falseHits: number }>()
    const found = new Map<Disposition, number>()
    for await (const alert of decidedAlerts({ cases, monitoring }, tx, period)) {
      const count = counts.get(alert.ruleId) ?? { decided: 0, falseHits: 0 }
      count.decided += 1
      if (isFalseAlert(alert)) count.falseHits += 1
      counts.set(alert.ruleId, count)
      if (alert.disposition !== null) found.set(alert.disposition, (found.get(alert.disposition) ?? 0) + 1)
    }
    for (const [id, count] of counts) rules.push({ month, id, name: names.get(id) ?? id, ...count })
    for (const [disposition, count] of found) findings.push({ month, kind: 'monitoring_alert', disposition, count })
  }
  return { rules, findings }
}

type DecidedAlert = Awaited<ReturnType<Cases['numbers']['decidedAlerts']>>[number]

/** Reads the decided alerts of a period in pages, each with its rule. */
async function* decidedAlerts(
  { cases, monitoring }: Pick<Deps, 'cases' | 'monitoring'>,
  tx: Tx,
  period: Omit<Month, 'month'>,
): AsyncGenerator<DecidedAlert & { readonly ruleId: string }> {
  let after: DecidedAlert | undefined
  for (;;) {
    const page = await cases.numbers.decidedAlerts(tx, period, after, alertsPerPage)
    for (const [partnerId, alerts] of Map.groupBy(page, (alert) => alert.partnerId)) {
      const ids = alerts.map(({ id }) => id)
      const rules = new Map((await monitoring.rulesOfAlerts(tx, partnerId, ids)).map((row) => [row.id, row.ruleId]))
      for (const alert of alerts) yield { ...alert, ruleId: rules.get(alert.id) ?? '' }
    }
    after = page.at(-1)
    if (page.length < alertsPerPage) return
  }
}

// The figures as one table with a row for each count, which a spreadsheet can group.

const head = ['section', 'month', 'kind', 'name', 'outcome', 'age_days', 'count', 'false', 'median_hours', 'p90_hours']
const ageTexts = { upTo1: '0-1', upTo3: '2-3', upTo7: '4-7', upTo30: '8-30', older: '>30' } as const

const hours = (ms: number): string => (ms / hourMs).toFixed(2)

export function decisionsCsv({ open, decided, times, lists, rules, findings }: DecisionFigures): string {
  const rows: readonly (readonly (string | number)[])[] = [
    ...open.flatMap(({ kind, ages }) =>
      ageBands.map((band) => ['open', '', kind, '', '', ageTexts[band], ages[band], '', '', '']),
    ),
    ...decided.map(({ month, kind, outcome, count }) => ['decided', month, kind, '', outcome, '', count, '', '', '']),
    ...times.map(({ month, kind, count, medianMs, ninetyMs }) => [
      ...['time', month ?? 'all', kind, '', '', '', count, '', hours(medianMs), hours(ninetyMs)],
    ]),
    ...lists.map(({ month, name, decided: count, falseHits }) => [
      ...['list', month, 'screening_hit', name, '', '', count, falseHits, '', ''],
    ]),
    ...rules.map(({ month, name, decided: count, falseHits }) => [
      ...['rule', month, 'monitoring_alert', name, '', '', count, falseHits, '', ''],
    ]),
    ...findings.map(({ month, kind, disposition, count }) => [
      ...['finding', month, kind, '', disposition, '', count, '', '', ''],
    ]),
  ]
  // Byte order mark, so that spreadsheets read the file as UTF-8.
  return `\uFEFF${[head, ...rows].map((row) => row.map((cell) => csvCell(String(cell))).join(',')).join('\r\n')}\r\n`
}
