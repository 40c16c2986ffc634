/** How long payouts have been in a status or waited for a person: for metrics, alerts and the queue of the desk. */
import type { TimelineStep } from '@partner-payments/wire'
import { after, type Currency, dayMs, type Minor, minuteMs } from '../kernel/index.ts'
import { oldestByStatus, type OldestUnfinishedPayment, type UnfinishedPayment } from '../lifecycle/index.ts'
import type { Hold, TransactionView } from '../transactions/index.ts'
import type { PayoutsDeps } from './deps.ts'
import { payoutAgeLimitsMs, payoutLifecycle } from './lifecycle.ts'
import { type PayoutStatus, retryDelayMsMax } from './rules.ts'
import { type PayoutRow, findPayoutsByIds } from './store.ts'
import {
  heldPayouts,
  oldestInScreening,
  readOldestByStatus,
  oldestOfStatuses,
  type PartnerStatus,
  unfinishedByIds,
  type WaitingPayoutRow,
} from './store-held.ts'

/**
 * `held`: screening or monitoring holds it. `unknown`: the bank has not answered an attempt, and is asked again.
 * `stands`: it has been in its status for too long.
 */
type WaitingPayout = {
  readonly partnerId: string
  readonly id: string
  readonly transactionId: string
  readonly why: 'held' | 'unknown' | 'stands'
  readonly status: string
  readonly amount: Minor
  readonly currency: Currency
  readonly since: Date
}

export type PayoutAges = {
  /** Finds the oldest payout in each unfinished status, of the given partners. */
  readonly oldestUnfinished: (partnerIds: readonly string[]) => Promise<readonly OldestUnfinishedPayment[]>
  /** Returns when the oldest waiting payout began to wait for a decision about a name. Null: no payout waits. */
  readonly oldestInScreening: () => Promise<Date | null>
  /** Lists payouts that wait for a person, oldest first: up to `rowsMax` held ones, and as many others. */
  readonly waiting: (partnerIds: readonly string[], rowsMax: number) => Promise<readonly WaitingPayout[]>
  /** Lists those of these payouts that wait for a person. */
  readonly waitingOf: (partnerId: string, ids: readonly string[]) => Promise<readonly WaitingPayout[]>
  /** Finds the payout of a transaction and why it waits. `hold`: undefined if it has ended. */
  readonly holdOfTransaction: (
    transaction: TransactionView,
  ) => Promise<{ readonly payout: PayoutRow; readonly hold: Hold | undefined } | undefined>
}

type Deps = Pick<PayoutsDeps, 'db' | 'clock' | 'connectorOf'>
type Status = keyof typeof payoutAgeLimitsMs

/** A payout that is due later than this is kept by its connector: the delays between attempts are shorter. */
const keptMsMin = 10 * minuteMs
/** Partners of one statement, which looks up each of them in each status. */
const partnersPerLookMax = 1000
/** Payouts of a partner in a status: a person needs no more to see that they are stuck. */
const payoutsEachMax = 20
/** A younger payout may be on its way to the bank now. */
const unknownMsMin = minuteMs

const statuses = Object.keys(payoutAgeLimitsMs) as Status[]

export function createPayoutAges(deps: Deps): PayoutAges {
  const { db, clock } = deps
  const classified = (rows: readonly WaitingPayoutRow[]) => rows.flatMap((row) => waitingOf(row, clock.now()) ?? [])
  return {
    oldestUnfinished: async (partnerIds) =>
      oldestByStatus(payoutLifecycle.subject, payoutAgeLimitsMs, await readOldest(deps, partnerIds), clock.now()),
    oldestInScreening: () => oldestInScreening(db),
    waiting: async (partnerIds, rowsMax) => {
      const held = classified(await heldPayouts(db, rowsMax))
      const oldest = await readOldest(deps, partnerIds)
      const others = classified(await readWaiting(deps, possiblyWaiting(oldest, clock.now()).slice(0, rowsMax)))
      return [...held, ...oldestFirst(others.filter(({ why }) => why !== 'held')).slice(0, rowsMax)]
    },
    waitingOf: async (partnerId, ids) => classified(await unfinishedByIds(db, partnerId, ids)),
    holdOfTransaction: async ({ row: { partnerId, reference, endToEndId }, timeline }) => {
      const known = { ids: [], endToEndIds: endToEndId === null ? [] : [endToEndId], references: [reference] }
      const payout = (await findPayoutsByIds(db, partnerId, known)).find((each) => each.reference === reference)
      if (payout === undefined) return undefined
      // Read for every payout that waits for the worker, held or not.
      const [row] = payout.status === 'Pending' ? await unfinishedByIds(db, payout.partnerId, [payout.id]) : []
      const isHeld = (row?.screeningSince ?? null) !== null
      const steps = timeline.map(({ step }) => step)
      const held = { payout, steps, isHeld, connectorOf: deps.connectorOf, now: clock.now() }
      return { payout, hold: holdIn[payout.status](held) }
    },
  }
}

type HeldPayout = Pick<Deps, 'connectorOf'> & {
  readonly payout: PayoutRow
  readonly steps: readonly TimelineStep[]
  readonly isHeld: boolean
  readonly now: Date
}

const noHold = () => undefined
/** Hold of a payout by status. */
const holdIn: Readonly<Record<PayoutStatus, (held: HeldPayout) => Hold | undefined>> = {
  PendingApproval: ({ payout }) => ({ kind: 'approval', by: payout.approvalExpiresAt }),
  Pending: ({ isHeld, payout, now }) =>
    isHeld ? { kind: 'decision', by: null } : { kind: 'sending', by: futureTime(payout.dueAt, now) },
  Processing: ({ payout, now }) =>
    payout.dueAt !== null && !isRetried(payout)
      ? { kind: 'bankWindow', by: futureTime(payout.dueAt, now) }
      : { kind: 'bankAnswer', by: null },
  Sent: holdAtBank,
  Completed: noHold,
  Failed: noHold,
  Returned: noHold,
  Cancelled: noHold,
}

const futureTime = (time: Date | null, now: Date): Date | null => (time !== null && time > now ? time : null)

/**
 * Returns why the bank still has the payment, and until when. A bank that found another payee name keeps the payment. Otherwise the
 * forecast at the time of submission gives the day.
 */
function holdAtBank({ payout, steps, connectorOf, now }: HeldPayout): Hold {
  const checked = steps.findLast((step) => step.startsWith('Payee'))
  if (checked === 'PayeeNotMatched' || checked === 'PayeeMatchedClosely') return { kind: 'payeeCheck', by: null }
  const forecast = connectorOf(payout.connector)?.forecast(payout, payout.updatedAt)
  if (forecast?.possible !== true) return { kind: 'execution', by: null }
  if (forecast.submitsAt > now) return { kind: 'bankWindow', by: forecast.submitsAt }
  const endOfDay = after(new Date(`${forecast.arrivesOn ?? forecast.valueDate}T00:00:00Z`), dayMs)
  return { kind: 'execution', by: futureTime(endOfDay, now) }
}

/**
 * Reports whether the due time is the delay of another attempt, rather than the time until which a connector keeps the
 * payout.
 */
const isRetried = ({ dueAt, updatedAt }: Pick<WaitingPayoutRow, 'dueAt' | 'updatedAt'>): boolean =>
  dueAt !== null && dueAt.getTime() - updatedAt.getTime() <= retryDelayMsMax

const oldestFirst = <T extends { readonly since: Date }>(rows: readonly T[]): readonly T[] =>
  rows.toSorted((a, b) => a.since.getTime() - b.since.getTime())

/** Finds the oldest payout of each partner in each status. */
async function readOldest({ db, clock }: Deps, partnerIds: readonly string[]): Promise<readonly UnfinishedPayment[]> {
  const rows: UnfinishedPayment[] = []
  const size = db.sharded ? 1 : partnersPerLookMax
  const keptBeyond = after(clock.now(), keptMsMin)
  for (let from = 0; from < partnerIds.length; from += size)
    rows.push(...(await readOldestByStatus(db, partnerIds.slice(from, from + size), statuses, keptBeyond)))
  return rows
}

/** Lists the partners and statuses in which a payout may wait for a person, the longest wait first. */
const possiblyWaiting = (oldest: readonly UnfinishedPayment[], now: Date): readonly PartnerStatus[] =>
  oldestFirst(oldest)
    .map((row) => ({ ...row, status: row.status as Status }))
    .filter(({ status, since }) => {
      const limitMs = status === 'Processing' ? unknownMsMin : payoutAgeLimitsMs[status]
      // A payout that its connector keeps may precede others.
      return since > now || now.getTime() - since.getTime() > limitMs
    })
    .map(({ partnerId, status }) => ({ partnerId, status }))

async function readWaiting({ db }: Deps, wanted: readonly PartnerStatus[]): Promise<readonly WaitingPayoutRow[]> {
  if (wanted.length === 0) return []
  if (!db.sharded) return oldestOfStatuses(db, wanted, payoutsEachMax)
  const rows: WaitingPayoutRow[] = []
  for (const one of wanted) rows.push(...(await oldestOfStatuses(db, [one], payoutsEachMax)))
  return rows
}

/** Returns why the payout waits for a person. Undefined: it does not. */
function waitingOf(row: WaitingPayoutRow, now: Date): WaitingPayout | undefined {
  const { partnerId, id, transactionId, status, amount, currency } = row
  const { createdAt, dueAt, leaseId, sendAttempts, screeningSince } = row
  const found = (why: WaitingPayout['why'], since: Date) => ({
    partnerId,
    id,
    transactionId,
    why,
    status,
    amount,
    currency,
    since,
  })
  if (status === 'Pending' && screeningSince !== null && dueAt !== null) return found('held', screeningSince)
  const ageMs = (since: Date) => now.getTime() - since.getTime()
  if (
    status === 'Processing' &&
    leaseId === null &&
    sendAttempts > 0 &&
    isRetried(row) &&
    ageMs(createdAt) > unknownMsMin
  )
    return found('unknown', createdAt)
  const since = dueAt !== null && ageMs(dueAt) < -keptMsMin ? dueAt : createdAt
  const limitMs = status in payoutAgeLimitsMs ? payoutAgeLimitsMs[status as Status] : undefined
  return limitMs !== undefined && ageMs(since) > limitMs ? found('stands', since) : undefined
}
