/**
 * Evaluates balances with monitors. A step reads some balances in one statement without locks, then the transfers of
 * those whose partner moved money. One transaction then writes, for many balances, the new positions, the crossings,
 * their events and their mails. It locks each balance, and skips balances that another worker has locked. If the
 * process ends, all of it is rolled back.
 *
 * Transfers are evaluated in the order of their ids, and only up to a time before which no further transfer can appear
 * (README.md of the ledger).
 */
import { after, type Clock, firstIdOf, type Log, idTime, newId, nilId, toJsonAmount } from '../../kernel/index.ts'
import type { Ledger, MovementPage, AccountStanding } from '../../ledger/index.ts'
import { groupByShard, type Database, oldestTransactionStart, type Tx } from '../../postgres/index.ts'
import { type MembersByAddress, queueMonitorMails } from './mail.ts'
import { type Crossing, evaluateMonitors, type BalanceEvaluation, rearmThreshold } from './rules.ts'
import * as store from './store.ts'
import type { EventOutbox, EventPayload } from '../../events/index.ts'
import type { Cursors } from '../../kernel/api/index.ts'
import type { MailQueue } from '../../mail/index.ts'

/** Balances with unread transfers that a step processes. They take turns, so that none delays the others. */
const behindPerStepMax = 64
const start: store.BalanceKey = { partnerId: nilId, accountId: nilId }

export type MonitorStep = {
  readonly monitorStep: () => Promise<number>
  readonly evaluatedUntil: () => Date
}

export function createMonitorStep(deps: MonitorsDeps): MonitorStep {
  const { db, clock, limits = limitsDefault } = deps
  const round = createRound(clock)
  const evaluateAll = createBatches(deps, limits)
  let last = start
  return {
    evaluatedUntil: round.evaluatedUntil,
    monitorStep: async () => {
      const certain = await allVisibleBefore(db, deps)
      const end = firstIdOf(certain)
      round.begin(idTime(newId()).getTime() - deps.clockDifferenceMsMax - certain.getTime())
      const found = await store.listMonitored(db, last, limits.balancesPerLookMax)
      const due = await findDue(deps, found, end)
      const keys = [...round.takeBehind(behindPerStepMax), ...due].map((key) => [key.accountId, key] as const)
      const outcome = await evaluateAll([...new Map(keys).values()], end)
      const isLast = found.length < limits.balancesPerLookMax
      last = isLast ? start : (found.at(-1) ?? start)
      round.record(outcome, isLast)
      return isLast && round.isComplete() ? 0 : 1
    },
  }
}

/** `partial`: balances with more transfers to read at once. `failed`: balances that the next round reads again. */
type StepOutcome = { readonly partial: readonly store.BalanceKey[]; readonly failed: number }

/**
 * Tracks the rounds of one process over all balances. After a restart a new round begins, because the positions are in
 * the database.
 */
function createRound(clock: Clock) {
  const behind = new Map<string, store.BalanceKey>()
  let completeUntil = clock.now()
  let startedAt: Date | undefined
  let hasFailed = false
  return {
    /**
     * Returns the start of the last round that evaluated all balances, minus the delay caused by an open transaction.
     */
    evaluatedUntil: () => completeUntil,
    /** Begins a step. `heldBackMs`: the age of the oldest open transaction of the database. */
    begin: (heldBackMs: number) => {
      startedAt ??= after(clock.now(), -Math.max(0, heldBackMs))
    },
    isComplete: () => behind.size === 0,
    takeBehind: (keysMax: number): readonly store.BalanceKey[] => {
      const taken = [...behind].slice(0, keysMax)
      for (const [name] of taken) behind.delete(name)
      return taken.map(([, key]) => key)
    },
    record: ({ partial, failed }: StepOutcome, isLast: boolean) => {
      for (const key of partial) behind.set(key.accountId, key)
      hasFailed ||= failed > 0
      if (!isLast || behind.size > 0) return
      if (!hasFailed) completeUntil = startedAt ?? completeUntil
      startedAt = undefined
      hasFailed = false
    },
  }
}

/** Splits keys into batches. On a sharded database a batch has the keys of one partner. */
function splitKeys<T extends store.BalanceKey>(db: Database, keys: readonly T[], keysMax: number): readonly T[][] {
  return groupByShard(db, keys).flatMap((group) =>
    Array.from({ length: Math.ceil(group.length / keysMax) }, (_, at) => group.slice(at * keysMax, (at + 1) * keysMax)),
  )
}

/** Finds due balances: the partner moved money, a monitor starts, the account was closed, or its sums differ. */
async function findDue(
  { db, ledger, limits = limitsDefault }: MonitorsDeps,
  rows: readonly store.BalanceRow[],
  end: string,
): Promise<readonly store.BalanceRow[]> {
  const due: store.BalanceRow[] = []
  for (const part of splitKeys(db, rows, limits.balancesPerLookMax)) {
    const standings = await ledger.standings(db, part, end)
    due.push(...part.filter((row) => isDue(row, standings.get(row.accountId), end)))
  }
  return due
}

function isDue(row: store.BalanceRow, standing: AccountStanding | undefined, end: string): boolean {
  if (row.startsUntil > row.position && row.startsUntil < end) return true
  return standing !== undefined && (standing.hasMoved || hasClosed(row, standing) || hasWrongSums(row, standing))
}
const hasClosed = ({ startsUntil, position }: store.BalanceRow, { isClosed, isQuiet }: AccountStanding): boolean =>
  isClosed && isQuiet && startsUntil <= position

/**
 * Reports whether a transfer appeared among those already evaluated: the clock of a process was wrong by more than the
 * setting permits.
 */
const hasWrongSums = (row: store.BalanceRow, { isQuiet, posted, reserved }: AccountStanding): boolean =>
  isQuiet && (row.posted !== posted || row.reserved !== reserved)

function createBatches(deps: MonitorsDeps, limits: MonitorLimits) {
  const { db, log } = deps
  const attempt = (keys: readonly store.BalanceKey[], end: string) =>
    db.transaction((tx) => evaluateBatch(deps, limits, tx, keys, end))
  return async (keys: readonly store.BalanceKey[], end: string): Promise<StepOutcome> => {
    const partial: store.BalanceKey[] = []
    let failed = 0
    for (const part of splitKeys(db, keys, limits.balancesPerBatchMax))
      try {
        partial.push(...(await attempt(part, end)))
      } catch {
        // A balance that cannot be evaluated does not delay those of other partners.
        for (const key of part)
          try {
            partial.push(...(await attempt([key], end)))
          } catch (error) {
            failed += 1
            log.error({ err: error, ...key }, 'could not evaluate monitors of a balance; will retry')
          }
      }
    return { partial, failed }
  }
}

/** Evaluates a batch. Returns the balances of which more can be read at once. */
async function evaluateBatch(
  deps: MonitorsDeps,
  limits: MonitorLimits,
  tx: Tx,
  keys: readonly store.BalanceKey[],
  end: string,
): Promise<readonly store.BalanceKey[]> {
  const { clock, eventOutbox, ledger } = deps
  const claimed = (await store.claimBalances(tx, keys)).filter(({ position }) => position < end)
  if (claimed.length === 0) return []
  const transfersMax = Math.max(1, Math.floor(limits.transfersPerBatchMax / claimed.length))
  const standings = await ledger.standings(tx, claimed, end)
  const pages = await ledger.movementsBehind(tx, claimed, end, transfersMax)
  const monitors = Map.groupBy(await store.listOpenMonitors(tx, claimed), ({ accountId }) => accountId)
  const now = clock.now()
  const results = claimed.map((row) => {
    const page = pages.get(row.accountId) ?? { movements: [], readTo: undefined }
    const reading = { row, page, standing: standings.get(row.accountId), end }
    return evaluateBalance(deps, reading, monitors.get(row.accountId) ?? [], limits.crossingsPerBalanceMax, now)
  })
  const crossings = results.flatMap((result) => result.crossings)
  store.moveBalances(
    tx,
    results.map(({ balance }) => balance),
  )
  store.updateMonitors(
    tx,
    results.flatMap((result) => result.monitors),
  )
  store.insertCrossings(tx, crossings)
  appendCrossed(eventOutbox, tx, crossings, now)
  await queueMonitorMails(deps, tx, crossings)
  return results.filter(({ isPartial }) => isPartial).map(({ balance }) => balance)
}

type BalanceRead = {
  readonly row: store.BalanceRow
  readonly page: MovementPage
  readonly standing: AccountStanding | undefined
  readonly end: string
}

function evaluateBalance(
  { log }: MonitorsDeps,
  { row, page, standing, end }: BalanceRead,
  monitors: readonly store.MonitorRow[],
  crossingsMax: number,
  now: Date,
): BalanceEvaluation {
  const { movements, readTo = end } = page
  const isStill = standing !== undefined && movements.length === 0
  if (isStill && hasWrongSums(row, standing)) {
    const { partnerId, accountId } = row
    log.error({ partnerId, accountId }, 'monitored balance differs from its transfers; evaluated as recorded')
    const { posted, reserved } = standing
    // No transfer follows: the current balance shows what the monitors missed.
    const missed = { id: readTo, posted: posted - row.posted, reserved: reserved - row.reserved, together: undefined }
    return evaluateMonitors(
      { balance: row, monitors, movements: [{ ...missed, reference: null }], readTo },
      crossingsMax,
    )
  }
  if (isStill && hasClosed(row, standing)) {
    const ended = { state: 'Ended', endReason: 'AccountClosed', endedAt: now } as const
    const balance = { ...row, monitors: 0 }
    return { balance, monitors: monitors.map((monitor) => ({ ...monitor, ...ended })), crossings: [], isPartial: false }
  }
  const evaluation = evaluateMonitors({ balance: row, monitors, movements, readTo }, crossingsMax)
  return page.readTo === undefined ? evaluation : { ...evaluation, isPartial: true }
}

function toCrossedEvent({
  monitor,
  kind,
  balance,
  reference,
  crossedAt,
}: Crossing): EventPayload<'account.balance.crossed'> {
  const { id, accountId, currency, direction, measure, threshold, description } = monitor
  return {
    amount: toJsonAmount(balance, currency),
    currency,
    customFields: null,
    idempotencyKey: null,
    reference: id,
    websiteReference: description,
    accountId,
    crossedAt: crossedAt.toISOString(),
    direction,
    kind,
    measure,
    rearmAt: toJsonAmount(rearmThreshold(monitor), currency),
    threshold: toJsonAmount(threshold, currency),
    transactionReference: reference,
  }
}

/** Appends an event for each crossing of a monitor that sends events. */
function appendCrossed(
  eventOutbox: Pick<EventOutbox, 'appendMany'>,
  tx: Tx,
  crossings: readonly Crossing[],
  now: Date,
): void {
  eventOutbox.appendMany(
    tx,
    crossings
      .filter(({ monitor }) => monitor.sendsEvent)
      .map((crossing) => ({
        partnerId: crossing.partnerId,
        type: 'account.balance.crossed' as const,
        occurredAt: now,
        data: toCrossedEvent(crossing),
      })),
  )
}

export type MonitorsDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  readonly cursors: Cursors
  readonly eventOutbox: Pick<EventOutbox, 'appendMany'>
  readonly ledger: Pick<Ledger, 'balances' | 'balancesAt' | 'movementsBehind' | 'standings'>
  readonly mail: Pick<MailQueue, 'enqueue'>
  /** Finds the members of a partner's team with these addresses, by the address as passed. */
  readonly membersByAddress: MembersByAddress
  /**
   * REPORT_CLOCK_DIFFERENCE_MS: the largest difference between the clocks of the processes, which create the ids, and
   * that of the database.
   */
  readonly clockDifferenceMsMax: number
  /** Tests set smaller limits. */
  readonly limits?: MonitorLimits
}

type MonitorLimits = {
  /** Balances that one statement reads without a lock. */
  readonly balancesPerLookMax: number
  /** Balances that one transaction evaluates. */
  readonly balancesPerBatchMax: number
  /** Transfers that one transaction reads, in about 20 ms. */
  readonly transfersPerBatchMax: number
  /** Crossings of one balance in one transaction. Each crossing is a row, an event and mails. */
  readonly crossingsPerBalanceMax: number
}
const limitsDefault: MonitorLimits = {
  balancesPerLookMax: 500,
  balancesPerBatchMax: 32,
  transfersPerBatchMax: 8_000,
  crossingsPerBalanceMax: 200,
}

/** Returns the time before which all transfers are visible to the next statement (README.md of the ledger). */
export const allVisibleBefore = async (tx: Tx, { clockDifferenceMsMax }: Pick<MonitorsDeps, 'clockDifferenceMsMax'>) =>
  after(await oldestTransactionStart(tx), -clockDifferenceMsMax)
