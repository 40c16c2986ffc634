/** The operations of monitoring: versions of rules, backtests, the job that reads transactions, and alerts. */
import { Refusal } from '../kernel/api/index.ts'
import {
  after,
  amountText,
  type Currency,
  isEmptyName,
  minuteMs,
  newId,
  nilId,
  partnerKey,
  secondMs,
} from '../kernel/index.ts'
import { oldestTransactionStart, type Tx } from '../postgres/index.ts'
import { type Movement, patterns, type ChangePlace, type PayoutCounts } from '../transactions/index.ts'
import {
  type BacktestRequest,
  requestBacktest,
  type BacktestResult,
  readDays,
  formatDay,
  pageRows,
  runDueBacktest,
  backtestRule,
} from './runs.ts'
import {
  type ActiveRule,
  evaluateRule,
  type HitEvidence,
  type RuleHit,
  type MonitoringDeps,
  replaceSessions,
} from './evaluate.ts'
import { type RuleDraft, parseSettings } from './rules.ts'
import * as store from './store.ts'
import type { NewCase } from '../cases/index.ts'
import { defineJob, type Job } from '../postgres/jobs/index.ts'

export type RuleState = 'Draft' | 'Proposed' | 'On' | 'OffProposed' | 'Off'
export type MonitoringRule = store.RuleRow & { readonly state: RuleState }

type Backtest = store.BacktestRow & Pick<BacktestResult, 'examples'>

/** The version that the person has read. Absent: any version. */
type SeenVersion = { readonly seen?: number }
type RuleSwitch = SeenVersion & { readonly id: string; readonly staff: string }

export type Monitoring = {
  /**
   * Stores a new rule, or with `id` its next version, which is off. Refuses: not_found, validation_failed (`seen` is not
   * the last version).
   */
  readonly setRule: (
    tx: Tx,
    given: { readonly id?: string; readonly draft: RuleDraft; readonly staff: string } & SeenVersion,
  ) => Promise<MonitoringRule>
  /** Lists all versions of all rules, the last version of each first. */
  readonly rules: (tx: Tx) => Promise<readonly MonitoringRule[]>
  readonly backtests: typeof store.listBacktests
  /**
   * Backtests the last version of a rule over some days and stores the result, without opening alerts. Refuses:
   * not_found, validation_failed (days).
   */
  readonly backtest: (given: {
    readonly id: string
    readonly from: string
    readonly until: string
    readonly staff: string
  }) => Promise<Backtest>
  /**
   * Requests a backtest of the last version, which a worker runs, and returns the rule. Refuses: not_found,
   * validation_failed (days, no person named, a run is in progress, `seen` is another version).
   */
  readonly askBacktest: (
    tx: Tx,
    given: SeenVersion & { readonly id: string } & Pick<BacktestRequest, 'from' | 'until' | 'staff'>,
  ) => Promise<MonitoringRule>
  /** Lists the backtest runs of a rule, newest first. */
  readonly runs: typeof store.listRuns
  /** Runs a due backtest, and returns the number of claimed runs. */
  readonly runStep: () => Promise<number>
  /**
   * Turns on the last version of a rule, and the earlier version off: one person proposes, another confirms. Refuses:
   * not_found, validation_failed (no backtest of this version, no person named, the same person, already on, `seen` is
   * another version).
   */
  readonly turnOn: (tx: Tx, given: RuleSwitch) => Promise<MonitoringRule>
  /**
   * Turns off the active version: one person proposes, another confirms. Refuses: not_found, validation_failed (not on, no
   * person named, the same person, `seen` is another version).
   */
  readonly turnOff: (tx: Tx, given: RuleSwitch) => Promise<MonitoringRule>
  /** Lists alerts of a partner after the cursor, oldest first. The cases with the same ids have their decisions. */
  readonly alerts: typeof store.alertsAfter
  /** Lists alerts of a partner, newest first. */
  readonly newestAlerts: typeof store.newestAlerts
  readonly rulesOfAlerts: typeof store.rulesOfAlerts
  /** Lists transactions of an alert after the cursor. */
  readonly hits: typeof store.listHits
  /** Finds payments by reference, for a report to an authority. */
  readonly payments: typeof patterns.paymentsByReferences
  /** Counts payouts of an alert: those that wait for its decision, those already sent or held otherwise (`left`), and ended ones. */
  readonly payoutStanding: (tx: Tx, partnerId: string, alertId: string) => Promise<PayoutCounts>
  /** Lists payouts that wait for the decision about an alert, oldest first, and sums all of them. */
  readonly waitingPayouts: (tx: Tx, partnerId: string, alertId: string, rowsMax: number) => Promise<WaitingPayouts>
  /** Lists the alerts that hold or held transactions. */
  readonly holdingAlerts: typeof store.holdingAlerts
  /** Evaluates `before` rules, opens their alerts, and returns which payouts alerts hold. */
  readonly findHolds: FindMonitoringHolds
  /** Reads changed transactions. Returns the number of partners with more to read. */
  readonly step: () => Promise<number>
}

type WaitingPayouts = {
  readonly payments: Awaited<ReturnType<typeof patterns.waitingPayments>>
  readonly sums: Awaited<ReturnType<typeof patterns.waitingSums>>
}

const partnersPerStepMax = 200

export function createMonitoring(deps: MonitoringDeps): Monitoring {
  const { db, clockDifferenceMsMax, partnerIds } = deps
  let waiting: string[] = []
  const rulesEverOn = async () =>
    (await store.allRules(db)).flatMap((row) =>
      row.onSince === null ? [] : [{ ...toActive(row), isOn: row.offSince === null }],
    )
  return {
    setRule: (tx, given) => setRule(deps, tx, given),
    rules: async (tx) => (await store.allRules(tx)).map(withState),
    backtests: store.listBacktests,
    backtest: (given) => backtest(deps, given),
    askBacktest: async (tx, { id, seen, ...asked }) => {
      const [last] = await lockRule(tx, id)
      refuseUnseen(last, seen)
      await requestBacktest(deps, tx, { ...asked, ruleId: id, version: last.version })
      return withState(last)
    },
    runs: store.listRuns,
    runStep: () => runDueBacktest(deps),
    turnOn: (tx, given) => turnOn(deps, tx, given),
    turnOff: (tx, given) => turnOff(deps, tx, given),
    alerts: store.alertsAfter,
    newestAlerts: store.newestAlerts,
    rulesOfAlerts: store.rulesOfAlerts,
    hits: store.listHits,
    payments: patterns.paymentsByReferences,
    payoutStanding: (tx, partnerId, alertId) =>
      patterns.countPayoutsOfHits(tx, partnerId, store.alertHits(partnerId, alertId)),
    waitingPayouts: async (tx, partnerId, alertId, rowsMax) => {
      const held = store.alertHits(partnerId, alertId)
      return {
        payments: await patterns.waitingPayments(tx, partnerId, held, rowsMax),
        sums: await patterns.waitingSums(tx, partnerId, held),
      }
    },
    holdingAlerts: store.holdingAlerts,
    findHolds: createFindHolds(deps, rulesEverOn),
    step: async () => {
      const on = (await store.activeRules(db)).map(toActive)
      if (on.length === 0) return 0
      const horizon = after(await oldestTransactionStart(db), -clockDifferenceMsMax)
      if (waiting.length === 0) waiting = [...(await partnerIds(db))]
      let behind = 0
      const failures: unknown[] = []
      for (const partnerId of waiting.splice(0, partnersPerStepMax))
        try {
          if (await readPartner(deps, partnerId, on, horizon)) behind += 1
        } catch (error) {
          failures.push(error)
        }
      // A partner whose transactions cannot be read does not affect others.
      if (failures.length > 0)
        throw new Error(`monitoring could not read ${failures.length} partners`, { cause: failures[0] })
      return behind + waiting.length
    },
  }
}

const refuse = (detail: string) => new Refusal('validation_failed', detail)

function withState(row: store.RuleRow): MonitoringRule {
  const { proposedAt, onSince, offProposedAt, offSince } = row
  const ofOn = offSince !== null ? 'Off' : offProposedAt !== null ? 'OffProposed' : 'On'
  const state = onSince !== null ? ofOn : proposedAt !== null ? 'Proposed' : 'Draft'
  return { ...row, state }
}

/** Locks the versions of a rule, the last first. */
async function lockRule(tx: Tx, id: string): Promise<readonly [store.RuleRow, ...store.RuleRow[]]> {
  const [last, ...others] = await store.lockRule(tx, id)
  if (last === undefined) throw new Refusal('not_found', 'No such rule.')
  return [last, ...others]
}

async function saveRule(tx: Tx, row: store.RuleRow): Promise<MonitoringRule> {
  await store.changeRule(tx, row)
  return withState(row)
}

/** Refuses a decision by a person who has not seen the current version. */
function refuseUnseen({ version }: store.RuleRow, seen: number | undefined): void {
  if (seen !== undefined && seen !== version)
    throw refuse(
      `This is version ${seen}, but a colleague has made or turned on version ${version}. Read version ${version} first.`,
    )
}

async function setRule(
  { clock }: MonitoringDeps,
  tx: Tx,
  { id, draft, staff, seen }: Parameters<Monitoring['setRule']>[1],
): Promise<MonitoringRule> {
  const last = id === undefined ? undefined : (await lockRule(tx, id))[0]
  if (last !== undefined) refuseUnseen(last, seen)
  const { name, settings, text } = draft
  const row = {
    id: id ?? newId(),
    version: (last?.version ?? 0) + 1,
    name,
    kind: settings.kind,
    settings: text,
    madeBy: staff,
    madeAt: clock.now(),
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

async function turnOn(
  { clock, judgeTwo }: MonitoringDeps,
  tx: Tx,
  { id, staff, seen }: RuleSwitch,
): Promise<MonitoringRule> {
  if (isEmptyName(staff)) throw refuse('State who turns it on.')
  const [last, ...others] = await lockRule(tx, id)
  refuseUnseen(last, seen)
  if (last.onSince !== null) throw refuse(`Version ${last.version} was already turned on. Create a new version.`)
  const tests = await store.listBacktests(tx, id)
  if (!tests.some(({ version }) => version === last.version))
    throw refuse(`Version ${last.version} does not have a backtest. Run "monitoring rule backtest" first.`)
  const now = clock.now()
  const { proposedBy } = last
  const not = proposedBy === null ? undefined : await judgeTwo(tx, { name: proposedBy }, { name: staff })
  // If the proposer may no longer propose, this person proposes it again.
  if (proposedBy === null || not?.who === 'author') return saveRule(tx, { ...last, proposedBy: staff, proposedAt: now })
  if (not !== undefined) throw refuse(not.why)
  for (const other of others)
    if (other.onSince !== null && other.offSince === null) await saveRule(tx, { ...other, offBy: staff, offSince: now })
  return saveRule(tx, { ...last, onBy: staff, onSince: now })
}

const toActive = ({ id, version, name, settings, onSince }: store.RuleRow): ActiveRule => ({
  id,
  version,
  name,
  settings: parseSettings(settings),
  onSince: onSince ?? new Date(0),
})

async function turnOff(
  { clock, judgeTwo }: MonitoringDeps,
  tx: Tx,
  { id, staff, seen }: RuleSwitch,
): Promise<MonitoringRule> {
  if (isEmptyName(staff)) throw refuse('State who turns it off.')
  const row = (await lockRule(tx, id)).find(({ onSince, offSince }) => onSince !== null && offSince === null)
  if (row === undefined) throw refuse('The rule is not on.')
  refuseUnseen(row, seen)
  const now = clock.now()
  const { offProposedBy } = row
  const not = offProposedBy === null ? undefined : await judgeTwo(tx, { name: offProposedBy }, { name: staff })
  if (offProposedBy === null || not?.who === 'author')
    return saveRule(tx, { ...row, offProposedBy: staff, offProposedAt: now })
  if (not !== undefined) throw refuse(not.why)
  return saveRule(tx, { ...row, offBy: staff, offSince: now })
}

/** Reads a page of a partner's changes before `horizon`, before which all database transactions have ended. True: there are more. */
async function readPartner(
  deps: MonitoringDeps,
  partnerId: string,
  on: readonly ActiveRule[],
  horizon: Date,
): Promise<boolean> {
  const since = new Date(Math.min(...on.map(({ onSince }) => onSince.getTime())))
  const start: ChangePlace = { changedAt: after(since, -1), transactionId: nilId }
  const placeIn = async (tx: Tx): Promise<ChangePlace> => {
    const place = await store.readProgress(tx, partnerId)
    return place === undefined || place.changedAt < start.changedAt ? start : place
  }
  // Most reads find nothing and do not need a transaction.
  const first = await patterns.changedAfter(deps.db, partnerId, await placeIn(deps.db), horizon, 1)
  if (first.length === 0) return false
  return deps.db.transaction(async (tx) => {
    if (!(await store.claimProgress(tx, partnerId, start))) return false
    const page = await patterns.changedAfter(tx, partnerId, await placeIn(tx), horizon, pageRows)
    const last = page.at(-1)
    if (last === undefined) return false
    const movements = await replaceSessions(tx, partnerId, page)
    for (const rule of on) {
      // `findHolds` evaluates payouts that have not begun. A payout that begins now changes, and is read again.
      const isLeftToGate = ({ isUnbegun }: Movement) => isUnbegun && rule.settings.when === 'before'
      const own = movements.filter((movement) => movement.changedAt >= rule.onSince && !isLeftToGate(movement))
      const hits = await evaluateRule(deps, tx, partnerId, rule.settings, own)
      if (hits.length > 0) await recordHits(deps, tx, partnerId, rule, hits, false)
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
  const [last] = (await store.allRules(db)).filter((row) => row.id === id)
  if (last === undefined) throw new Refusal('not_found', 'No such rule.')
  const days = readDays(from, until)
  const { examples, ...counted } = await backtestRule(deps, parseSettings(last.settings), days, () => Promise.resolve())
  const named = { ruleId: id, version: last.version, id: newId(), fromDay: from, untilDay: formatDay(days.before) }
  const row = { ...named, ...counted, ranBy: staff, ranAt: clock.now() }
  await store.insertBacktest(db, row)
  return { ...row, examples }
}

// Rules that are evaluated before a payout goes to the bank. The worker evaluates them after the payout was
// accepted: if two payouts exceed a sum only together, the later one is evaluated with the earlier one. Without such
// rules, no SQL runs.

/** A payout that a worker is about to begin. `isHeld`: it has waited for a decision. */
type BeginningPayout = {
  readonly partnerId: string
  readonly transactionId: string
  readonly isHeld?: boolean
}
/** `open`: two people have yet to decide. `refused`: they have refused the payout. */
type MonitoringHold = 'open' | 'refused'
type FindMonitoringHolds = (
  payouts: readonly BeginningPayout[],
) => Promise<(payout: BeginningPayout) => MonitoringHold | undefined>

/** A process applies a newly turned on rule within this time. */
const rulesAgeMsMax = 5 * secondMs

/** A version that is or was on: payouts that it found still wait after it was turned off. */
type EverActiveRule = ActiveRule & { readonly isOn: boolean }

function createFindHolds(
  deps: MonitoringDeps,
  rulesEverOn: () => Promise<readonly EverActiveRule[]>,
): FindMonitoringHolds {
  const { clock } = deps
  let known: { readonly rules: readonly EverActiveRule[]; readonly until: Date } | undefined
  const rulesBefore = async (): Promise<readonly EverActiveRule[]> => {
    const now = clock.now()
    if (known === undefined || now >= known.until)
      known = {
        rules: (await rulesEverOn()).filter(({ settings }) => settings.when === 'before'),
        until: after(now, rulesAgeMsMax),
      }
    return known.rules
  }
  return async (payouts) => {
    const found = new Map<string, MonitoringHold>()
    const rules = payouts.length === 0 ? [] : await rulesBefore()
    const isAsked = ({ partnerId, isHeld = false }: BeginningPayout) =>
      isHeld || rules.some(({ settings: { partners } }) => partners === null || partners.includes(partnerId))
    for (const [partnerId, own] of Map.groupBy(payouts.filter(isAsked), (payout) => payout.partnerId)) {
      const ids = own.map(({ transactionId }) => transactionId)
      for (const [id, hold] of await findPartnerHolds(deps, rules, partnerId, ids))
        found.set(partnerKey(partnerId, id), hold)
    }
    return ({ partnerId, transactionId }) => found.get(partnerKey(partnerId, transactionId))
  }
}

type PartnerHolds = ReadonlyMap<string, MonitoringHold>

async function findPartnerHolds(
  deps: MonitoringDeps,
  rules: readonly EverActiveRule[],
  partnerId: string,
  ids: readonly string[],
): Promise<PartnerHolds> {
  const standing = await standingHolds(deps, deps.db, partnerId, ids)
  const free = ids.filter((id) => !standing.has(id))
  const on = rules.filter(({ isOn }) => isOn)
  if (free.length === 0 || on.length === 0) return standing
  const page = await patterns.byIds(deps.db, partnerId, free)
  const hits: { readonly rule: ActiveRule; readonly own: readonly RuleHit[] }[] = []
  for (const rule of on) {
    const own = await evaluateRule(deps, deps.db, partnerId, rule.settings, page).catch((error: unknown) => {
      if (error instanceof Refusal && error.code === 'fx_rates_unavailable') return undefined
      throw error
    })
    // Without rates the rule cannot be evaluated: the payouts wait and are evaluated again later.
    if (own === undefined) return new Map([...free.map((id) => [id, 'open'] as const), ...standing])
    if (own.length > 0) hits.push({ rule, own })
  }
  if (hits.length === 0) return standing
  const matching = [...new Set(hits.flatMap(({ own }) => own.map(({ movement }) => movement.id)))]
  const opened = await deps.db.transaction(async (tx): Promise<PartnerHolds> => {
    // Another process opens alerts of this partner: the payouts wait and are evaluated again later.
    const isClaimed = await store.claimProgress(tx, partnerId, { changedAt: new Date(0), transactionId: nilId })
    if (!isClaimed) return new Map(matching.map((id) => [id, 'open']))
    for (const { rule, own } of hits) await recordHits(deps, tx, partnerId, rule, own, true)
    return standingHolds(deps, tx, partnerId, matching)
  })
  return new Map([...standing, ...opened])
}

/** Finds the holds of open and refused alerts. A payout that all its alerts have released is not held. */
async function standingHolds(
  { cases }: Pick<MonitoringDeps, 'cases'>,
  tx: Tx,
  partnerId: string,
  ids: readonly string[],
): Promise<PartnerHolds> {
  const rows = await store.holdingAlerts(tx, partnerId, ids)
  if (rows.length === 0) return new Map()
  const resolutions = await cases.resolutionsOf(tx, partnerId, [...new Set(rows.map(({ alertId }) => alertId))])
  const holds = new Map<string, MonitoringHold>()
  for (const { transactionId, alertId } of rows) {
    const resolution = resolutions.get(alertId) ?? null
    if (resolution === null) holds.set(transactionId, 'open')
    else if (resolution === 'refused' && !holds.has(transactionId)) holds.set(transactionId, 'refused')
  }
  return holds
}

// Alerts: one open case for each rule and subject. Further transactions join it until two people decide it.

/** Stores new hits of a rule, each with its alert. `holds`: the hits are payouts that wait for the decision. */
async function recordHits(
  { cases, clock }: Pick<MonitoringDeps, 'cases' | 'clock'>,
  tx: Tx,
  partnerId: string,
  rule: ActiveRule,
  hits: readonly RuleHit[],
  holds: boolean,
): Promise<void> {
  const known = await store.foundTransactionIds(
    tx,
    partnerId,
    rule.id,
    hits.map(({ movement: { transactionId } }) => transactionId),
  )
  const fresh = hits.filter(({ movement: { transactionId } }) => !known.has(transactionId))
  if (fresh.length === 0) return
  const now = clock.now()
  const bySubject = Map.groupBy(fresh, ({ subjectId }) => subjectId)
  const open = await findOpenAlerts({ cases }, tx, partnerId, rule.id, [...bySubject.keys()], holds)
  const opened = [...bySubject].flatMap(([subjectId, [first]]) =>
    open.has(subjectId) || first === undefined
      ? []
      : [{ first, row: { partnerId, id: newId(), ruleId: rule.id, version: rule.version, subjectId, openedAt: now } }],
  )
  if (opened.length > 0) {
    await store.insertAlerts(
      tx,
      opened.map(({ row }) => row),
    )
    await cases.record(
      tx,
      opened.map(({ row, first }) => alertCase(rule, row, first)),
    )
  }
  const alertOf = new Map([...open, ...opened.map(({ row }) => [row.subjectId, row.id] as const)])
  await store.insertHits(
    tx,
    [...bySubject].flatMap(([subjectId, own]) =>
      own.map(({ movement: { transactionId, reference }, evidence }) => ({
        partnerId,
        ruleId: rule.id,
        transactionId,
        alertId: alertOf.get(subjectId) ?? '',
        reference,
        evidence: JSON.stringify(evidenceJson(evidence, rule.settings.currency)),
        foundAt: now,
        holds,
      })),
    ),
  )
}

/** Finds undecided alerts by subject. A held payout does not join an alert with a proposal, because the proposer has not seen it. */
async function findOpenAlerts(
  { cases }: Pick<MonitoringDeps, 'cases'>,
  tx: Tx,
  partnerId: string,
  ruleId: string,
  subjectIds: readonly string[],
  holds: boolean,
): Promise<ReadonlyMap<string, string>> {
  const open = new Map<string, string>()
  for (const { id, subjectId } of await store.newestAlertsBySubject(tx, partnerId, ruleId, subjectIds)) {
    // The lock prevents a decision by a person who has not seen the transactions that join now.
    const found = await cases.hold(tx, partnerId, id)
    const isOpen = found !== undefined && found.resolution === null
    if (isOpen && (!holds || found.proposalId === null)) open.set(subjectId, id)
  }
  return open
}

const evidenceJson = ({ sum, ...evidence }: HitEvidence, currency: Currency) => ({
  ...evidence,
  sum: amountText(sum, currency),
  currency,
})

/**
 * Formats the subject: `partner ID`, `customer ID`, or `payee ID`, which is the oldest beneficiary with the account.
 */
const subjectText = (partnerId: string, subjectId: string, kind: string): string =>
  `${subjectId === partnerId ? 'partner' : kind === 'many_customers' ? 'payee' : 'customer'} ${subjectId}`

/** Builds the case of an alert, with the same id. It contains ids and references, but no names. */
function alertCase(
  { id: ruleId, version, name, settings }: ActiveRule,
  { partnerId, id, subjectId }: store.AlertRow,
  { movement, evidence }: RuleHit,
): NewCase {
  return {
    id,
    partnerId,
    kind: 'monitoring_alert',
    connector: 'ledger',
    notificationId: `monitoring ${id}`,
    subject: subjectText(partnerId, subjectId, settings.kind),
    report: {
      kind: 'monitoring',
      rule: { id: ruleId, version, name, kind: settings.kind, severity: settings.severity, when: settings.when },
      ...(movement.customerId === null ? {} : { customerId: movement.customerId }),
      reference: movement.reference,
      ...evidenceJson(evidence, settings.currency),
    },
    booked: null,
  }
}

/** Lists the jobs that read transactions and run backtests. */
export const monitoringJobs = (monitoring: Pick<Monitoring, 'step' | 'runStep'>): readonly Job[] => [
  defineJob({ name: 'monitoring.transactions', everyMs: minuteMs, run: monitoring.step }),
  defineJob({
    name: 'monitoring.backtests',
    due: store.runsDue,
    run: monitoring.runStep,
    age: { queue: 'backtests' },
  }),
]
