/** The verbs of monitoring: rules in versions, their backtests, the job that reads transactions, and the alerts that it opens. */
import { Refusal } from '../../api/index.ts'
import { after, isNoName, newId, nilId } from '../../kernel/index.ts'
import { oldestTransactionStart, type Tx } from '../../postgres/index.ts'
import { type Movement, patterns, type Place, type Standing } from '../transactions/index.ts'
import { record } from './alerts.ts'
import { type Counted, dayText, daysOf, pageRows, tryRule } from './backtest.ts'
import type { Active, MonitoringDeps } from './deps.ts'
import { evaluate, withParts } from './evaluate.ts'
import { createHoldsOf, type MonitoringHoldsOf } from './gate.ts'
import { type Draft, settingsOfText } from './rules.ts'
import { type AskedRun, askRun, stepRuns } from './runs.ts'
import * as store from './store.ts'
import { runsOf } from './store-runs.ts'

export type RuleState = 'Draft' | 'Proposed' | 'On' | 'OffProposed' | 'Off'
export type Rule = store.RuleRow & { readonly state: RuleState }

type Backtest = store.BacktestRow & Pick<Counted, 'examples'>

/** The version that the person has read. Absent: the person takes the version that there is. */
type Seen = { readonly seen?: number }
type Turn = Seen & { readonly id: string; readonly staff: string }

export type Monitoring = {
  /**
   * Keeps a new rule, or with `id` the next version of one. It finds nothing until it is on. Refuses: not_found, validation_failed (`seen` is not
   * the last version).
   */
  readonly set: (
    tx: Tx,
    given: { readonly id?: string; readonly draft: Draft; readonly staff: string } & Seen,
  ) => Promise<Rule>
  /** Every version of every rule, the last of each first. */
  readonly rules: (tx: Tx) => Promise<readonly Rule[]>
  readonly backtests: typeof store.backtestsOf
  /**
   * Runs the last version of a rule over the transactions of some days and keeps the numbers. Opens no alert. Refuses: not_found,
   * validation_failed (days).
   */
  readonly backtest: (given: {
    readonly id: string
    readonly from: string
    readonly until: string
    readonly staff: string
  }) => Promise<Backtest>
  /**
   * Asks for a backtest of the last version, which a worker runs. Returns the rule. Refuses: not_found, validation_failed (days, no person named,
   * one is under way, `seen` is another version).
   */
  readonly askBacktest: (
    tx: Tx,
    given: Seen & { readonly id: string } & Pick<AskedRun, 'from' | 'until' | 'staff'>,
  ) => Promise<Rule>
  /** The last backtests of a rule that workers run or have run, the last first. */
  readonly runs: typeof runsOf
  /** Runs a backtest that is due, and returns how many it took. */
  readonly runStep: () => Promise<number>
  /**
   * Turns on the last version of a rule: the first person proposes, another one carries it out; the version before is then off.
   * Refuses: not_found, validation_failed (no backtest of this version, the same person, it is on, `seen` is another version).
   */
  readonly turnOn: (tx: Tx, given: Turn) => Promise<Rule>
  /**
   * Turns off the version that is on: the first person proposes, another one carries it out. Refuses: not_found, validation_failed (none is on,
   * the same person, `seen` is another version).
   */
  readonly turnOff: (tx: Tx, given: Turn) => Promise<Rule>
  /** Alerts of a partner after one, oldest first. Their decisions are those of the cases with the same ids. */
  readonly alerts: typeof store.alertsAfter
  /** The transactions of an alert, in pages. */
  readonly hits: typeof store.hitsOf
  /** Payments with these references, for a report to an authority. */
  readonly payments: typeof patterns.paymentsOf
  /** Payouts of an alert that wait for its decision (`waiting`), that it does not reach or no longer reaches (`left`), or that have ended. */
  readonly standingOf: (tx: Tx, partnerId: string, alertId: string) => Promise<Standing>
  /** The alerts that hold transactions, or have held them. */
  readonly holding: typeof store.holding
  /** Reports whether alerts let a worker begin these payouts. Opens the alerts of rules that are evaluated before. */
  readonly holdsOf: MonitoringHoldsOf
  /** Reads what has changed since the last step. Returns how many partners have more to read at once. */
  readonly step: () => Promise<number>
}

const partnersPerStepMax = 200

export function createMonitoring(deps: MonitoringDeps): Monitoring {
  const { db, clockDifferenceMsMax, partnerIds } = deps
  let waiting: string[] = []
  const rulesEverOn = async () =>
    (await store.rules(db)).flatMap((row) =>
      row.onSince === null ? [] : [{ ...toActive(row), isOn: row.offSince === null }],
    )
  return {
    set: (tx, given) => setRule(deps, tx, given),
    rules: async (tx) => (await store.rules(tx)).map(withState),
    backtests: store.backtestsOf,
    backtest: (given) => backtest(deps, given),
    askBacktest: async (tx, { id, seen, ...asked }) => {
      const [last] = await lockRule(tx, id)
      refuseUnseen(last, seen)
      await askRun(deps, tx, { ...asked, ruleId: id, version: last.version })
      return withState(last)
    },
    runs: runsOf,
    runStep: () => stepRuns(deps),
    turnOn: (tx, given) => turnOn(deps, tx, given),
    turnOff: (tx, given) => turnOff(deps, tx, given),
    alerts: store.alertsAfter,
    hits: store.hitsOf,
    payments: patterns.paymentsOf,
    standingOf: (tx, partnerId, alertId) => patterns.standingOf(tx, partnerId, store.holdsOf(partnerId, alertId)),
    holding: store.holding,
    holdsOf: createHoldsOf(deps, rulesEverOn),
    step: async () => {
      const on = (await store.rulesOn(db)).map(toActive)
      if (on.length === 0) return 0
      const horizon = after(await oldestTransactionStart(db), -clockDifferenceMsMax)
      if (waiting.length === 0) waiting = [...(await partnerIds(db))]
      let behind = 0
      const failures: unknown[] = []
      for (const partnerId of waiting.splice(0, partnersPerStepMax))
        try {
          if (await visit(deps, partnerId, on, horizon)) behind += 1
        } catch (error) {
          failures.push(error)
        }
      // One partner whose transactions cannot be read keeps no other from being read.
      if (failures.length > 0)
        throw new Error(`partners that monitoring could not read: ${failures.length}`, { cause: failures[0] })
      return behind + waiting.length
    },
  }
}

const refuse = (detail: string) => new Refusal('validation_failed', detail)

function withState(row: store.RuleRow): Rule {
  const { proposedAt, onSince, offProposedAt, offSince } = row
  const ofOn = offSince !== null ? 'Off' : offProposedAt !== null ? 'OffProposed' : 'On'
  const state = onSince !== null ? ofOn : proposedAt !== null ? 'Proposed' : 'Draft'
  return { ...row, state }
}

/** The versions of a rule, the last first. */
async function lockRule(tx: Tx, id: string): Promise<readonly [store.RuleRow, ...store.RuleRow[]]> {
  const [last, ...others] = await store.lockRule(tx, id)
  if (last === undefined) throw new Refusal('not_found', 'No such rule.')
  return [last, ...others]
}

async function change(tx: Tx, row: store.RuleRow): Promise<Rule> {
  await store.changeRule(tx, row)
  return withState(row)
}

/** A page that is open since before a colleague wrote the next version must not decide about that one. */
function refuseUnseen({ version }: store.RuleRow, seen: number | undefined): void {
  if (seen !== undefined && seen !== version)
    throw refuse(
      `This is version ${seen}, and a colleague has made or turned on version ${version}. Read that one first.`,
    )
}

async function setRule(
  { clock }: MonitoringDeps,
  tx: Tx,
  { id, draft, staff, seen }: Parameters<Monitoring['set']>[1],
): Promise<Rule> {
  const last = id === undefined ? undefined : (await lockRule(tx, id))[0]
  if (last !== undefined) refuseUnseen(last, seen)
  const { name, settings, text } = draft
  const row = {
    ...{ id: id ?? newId(), version: (last?.version ?? 0) + 1, name, kind: settings.kind, settings: text },
    ...{ madeBy: staff, madeAt: clock.now() },
  }
  await store.insertRule(tx, row)
  return withState({
    ...row,
    proposedBy: null,
    proposedAt: null,
    onBy: null,
    onSince: null,
    offProposedBy: null,
    offProposedAt: null,
    offBy: null,
    offSince: null,
  })
}

async function turnOn({ clock, judgeTwo }: MonitoringDeps, tx: Tx, { id, staff, seen }: Turn): Promise<Rule> {
  if (isNoName(staff)) throw refuse('State who turns it on.')
  const [last, ...others] = await lockRule(tx, id)
  refuseUnseen(last, seen)
  if (last.onSince !== null) throw refuse(`Version ${last.version} was turned on before: set a new version.`)
  const tests = await store.backtestsOf(tx, id)
  if (!tests.some(({ version }) => version === last.version))
    throw refuse(`Version ${last.version} has no backtest: run "monitoring rule backtest" first.`)
  const now = clock.now()
  const { proposedBy } = last
  const not = proposedBy === null ? undefined : await judgeTwo(tx, { name: proposedBy }, { name: staff })
  // Who proposed it and may no longer do so has proposed nothing: this person proposes it again.
  if (proposedBy === null || not?.who === 'author') return change(tx, { ...last, proposedBy: staff, proposedAt: now })
  if (not !== undefined) throw refuse(not.why)
  for (const other of others)
    if (other.onSince !== null && other.offSince === null) await change(tx, { ...other, offBy: staff, offSince: now })
  return change(tx, { ...last, onBy: staff, onSince: now })
}

const toActive = ({ id, version, name, settings, onSince }: store.RuleRow): Active => ({
  ...{ id, version, name, settings: settingsOfText(settings), onSince: onSince ?? new Date(0) },
})

async function turnOff({ clock, judgeTwo }: MonitoringDeps, tx: Tx, { id, staff, seen }: Turn): Promise<Rule> {
  if (isNoName(staff)) throw refuse('State who turns it off.')
  const row = (await lockRule(tx, id)).find(({ onSince, offSince }) => onSince !== null && offSince === null)
  if (row === undefined) throw refuse('The rule is not on.')
  refuseUnseen(row, seen)
  const now = clock.now()
  const { offProposedBy } = row
  const not = offProposedBy === null ? undefined : await judgeTwo(tx, { name: offProposedBy }, { name: staff })
  if (offProposedBy === null || not?.who === 'author')
    return change(tx, { ...row, offProposedBy: staff, offProposedAt: now })
  if (not !== undefined) throw refuse(not.why)
  return change(tx, { ...row, offBy: staff, offSince: now })
}

/** Reads a page of a partner's changes, all before `horizon`: every earlier transaction has ended. True: there are more. */
async function visit(deps: MonitoringDeps, partnerId: string, on: readonly Active[], horizon: Date): Promise<boolean> {
  const since = new Date(Math.min(...on.map(({ onSince }) => onSince.getTime())))
  const start: Place = { changedAt: after(since, -1), transactionId: nilId }
  const placeIn = async (tx: Tx): Promise<Place> => {
    const place = await store.progressOf(tx, partnerId)
    return place === undefined || place.changedAt < start.changedAt ? start : place
  }
  // Most visits find nothing, and need no transaction.
  const first = await patterns.changedAfter(deps.db, partnerId, await placeIn(deps.db), horizon, 1)
  if (first.length === 0) return false
  return deps.db.transaction(async (tx) => {
    if (!(await store.claim(tx, partnerId, start))) return false
    const page = await patterns.changedAfter(tx, partnerId, await placeIn(tx), horizon, pageRows)
    const last = page.at(-1)
    if (last === undefined) return false
    const movements = await withParts(tx, partnerId, page)
    for (const rule of on) {
      // Only the worker that asks before it begins a payout knows that it waits. This one may be begun at this moment, and changes then.
      const isLeftToGate = ({ isUnbegun }: Movement) => isUnbegun && rule.settings.when === 'before'
      const own = movements.filter((movement) => movement.changedAt >= rule.onSince && !isLeftToGate(movement))
      const hits = await evaluate(deps, tx, partnerId, rule.settings, own)
      if (hits.length > 0) await record(deps, tx, partnerId, rule, hits, false)
    }
    store.setProgress(tx, partnerId, { changedAt: last.changedAt, transactionId: last.id })
    return page.length === pageRows
  })
}

async function backtest(
  deps: MonitoringDeps,
  { id, from, until, staff }: Parameters<Monitoring['backtest']>[0],
): Promise<Backtest> {
  const { db, clock } = deps
  const [last] = (await store.rules(db)).filter((row) => row.id === id)
  if (last === undefined) throw new Refusal('not_found', 'No such rule.')
  const days = daysOf(from, until)
  const { examples, ...counted } = await tryRule(deps, settingsOfText(last.settings), days, () => Promise.resolve())
  const named = { ruleId: id, version: last.version, id: newId(), fromDay: from, untilDay: dayText(days.before) }
  const row = { ...named, ...counted, ranBy: staff, ranAt: clock.now() }
  await store.insertBacktest(db, row)
  return { ...row, examples }
}
