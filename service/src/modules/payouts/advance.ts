/**
 * The only writer of a payout's progress: the engine of lifecycles with the table of payouts. One transaction applies a batch
 * of triggers and writes all transitions together. A duplicate changes nothing.
 */
import type { ErrorKey } from '@partner-payments/wire'
import type { NewCase } from '../../cases/index.ts'
import { after, type Minor, partnerKey, present } from '../../kernel/index.ts'
import type { NewEvent } from '../../events/index.ts'
import { type Entry, entryOf } from '../../ledger/index.ts'
import { type Actor, type Advanced, createEngine, type Move as Transit } from '../../lifecycle/index.ts'
import type { Tx } from '../../postgres/index.ts'
import type { Money } from '../../rails/index.ts'
import type { Payer } from '../customers/index.ts'
import type { Cause, Move, NewTransaction } from '../transactions/index.ts'
import { giveBack } from '../payout-controls/counting.ts'
import type { PayoutsDeps } from './deps.ts'
import { failed, withdrawal } from './events.ts'
import { leaseMs, type PayoutEvent, payoutLifecycle } from './lifecycle.ts'
import { createAdvanceRecalls } from '../recalls/advance.ts'
import { type RecallsOfPayouts, recallsBehind, type ReturnOfPayout, settleRecalls } from '../recalls/returned.ts'
import { endToEndIdSent, partyOf, retryDelayAfter, typesOf } from './rules.ts'
import * as store from './store.ts'
import type { Decision } from './store-approvals.ts'
import * as storeApprovals from './store-approvals.ts'

/** `reasonCode`: the bank's, of ISO 20022. */
export type Failure = {
  readonly errorKey: ErrorKey
  readonly details: string
  readonly reasonCode?: string | null
}

/** What a worker does under its lease. Changes nothing once another worker has the lease. */
type UnderLease =
  | { readonly kind: 'attempt' | 'unreachable' }
  | { readonly kind: 'kept'; readonly until: Date }
  | { readonly kind: 'accepted'; readonly transactionHash?: string }
  | { readonly kind: 'refused' | 'stopped'; readonly failure: Failure }
/** A service account of the partner. */
export type Person = { readonly id: string; readonly name: string }
/** What a second person decides about a payout that waits for it. */
type Decided = {
  readonly kind: 'approved' | 'declined'
  readonly by: Person
  readonly reason: string | null
}
/** What the bank reports. The status of the payout decides whether it applies. */
type Notified = { readonly report: BankReport } & (
  | { readonly kind: 'settled'; readonly transactionHash?: string }
  | { readonly kind: 'rejected' | 'returned'; readonly failure: Failure }
)
/** Which notification it is, and the money that it names, if it does. */
export type BankReport = { readonly connector: string; readonly notificationId: string; readonly money?: Money }

export type PayoutTrigger = { readonly partnerId: string } & (
  | (UnderLease & { readonly payoutId: string; readonly leaseId: string })
  | (Notified & { readonly instructionId: string })
  | { readonly kind: 'cancelled'; readonly payoutId: string; readonly canceller: 'operator' | Person | undefined }
  | { readonly kind: 'lapsed'; readonly payoutId: string }
  | (Decided & { readonly payoutId: string })
)

/** The payout ids of the instructions that a batch names. They never change, so that no lock protects them. */
type Instructions = ReadonlyMap<string, string>

export const readInstructions = async (tx: Tx, triggers: readonly PayoutTrigger[]): Promise<Instructions> => {
  const named = triggers.flatMap((trigger) => ('instructionId' in trigger ? [trigger] : []))
  if (named.length === 0) return new Map()
  const rows = await store.payoutsOfInstructions(
    tx,
    named.map(({ partnerId, instructionId }) => ({ partnerId, endToEndId: instructionId.replaceAll('-', '') })),
  )
  const found = rows.map(({ partnerId, endToEndId, id }) => [partnerKey(partnerId, endToEndId), id] as const)
  return new Map(found)
}

/** Without a row: submitted by a process of an earlier version, during an upgrade, under the payout's own id. */
const payoutIdOf = (trigger: PayoutTrigger, instructions: Instructions): string => {
  if ('payoutId' in trigger) return trigger.payoutId
  const { partnerId, instructionId } = trigger
  return instructions.get(partnerKey(partnerId, instructionId.replaceAll('-', ''))) ?? instructionId
}

export function createAdvance(deps: PayoutsDeps) {
  const apply = createEngine({
    clock: deps.clock,
    lifecycle: payoutLifecycle,
    lock: store.lockPayouts,
    actorOf,
    kindOf,
    isForeign: (payout, trigger) => 'report' in trigger && isForeign(payout, trigger),
    holds,
    write: (tx, moves, now) => write(deps, tx, moves, now),
  })
  return (tx: Tx, triggers: readonly PayoutTrigger[], instructions: Instructions): Promise<readonly Advanced[]> =>
    apply(
      tx,
      triggers.map((trigger) => ({
        key: { partnerId: trigger.partnerId, id: payoutIdOf(trigger, instructions) },
        trigger,
      })),
    )
}

function actorOf(trigger: PayoutTrigger): Actor {
  if ('leaseId' in trigger) return 'worker'
  if ('report' in trigger) return 'bank'
  if (trigger.kind === 'cancelled' && trigger.canceller === 'operator') return 'operator'
  return trigger.kind === 'lapsed' ? 'time' : 'partner'
}

/** Under the lock: a lease is not lost, a report repeats none, and an approval comes before its time has ended. */
function holds(payout: store.PayoutRow, trigger: PayoutTrigger, now: Date): boolean {
  const { leaseId, approvalExpiresAt } = payout
  if ('leaseId' in trigger) return leaseId === trigger.leaseId
  if ('report' in trigger) {
    const [{ notificationId, money }, before] = [trigger.report, reportedBy(payout, trigger)]
    return before === null || (before !== notificationId && (trigger.kind !== 'settled' || money !== undefined))
  }
  if (trigger.kind === 'lapsed') return approvalExpiresAt !== null && approvalExpiresAt <= now
  return !('by' in trigger) || (approvalExpiresAt !== null && now < approvalExpiresAt)
}

type Reporting = PayoutTrigger & Notified

/** The notification by which the bank has reported the same of the payout before. */
const reportedBy = ({ settledBy, endedBy }: store.PayoutRow, { kind }: Reporting): string | null =>
  kind === 'settled' ? settledBy : endedBy

function kindOf({ amount }: store.PayoutRow, trigger: PayoutTrigger) {
  const more = 'report' in trigger ? (trigger.report.money?.amount ?? amount) - amount : 0n
  if (trigger.kind === 'settled') return more === 0n ? trigger.kind : 'settled-otherwise'
  return trigger.kind === 'returned' && more < 0n ? 'returned-in-part' : trigger.kind
}

/**
 * The report names the payout, and another bank carries it; or it is in another currency, or of no money at all; or the bank has
 * reported the same before by another notification, so that this money has moved besides.
 */
function isForeign(payout: store.PayoutRow, trigger: Reporting): boolean {
  const { connector, money } = trigger.report
  if (connector !== payout.connector) return true
  return (
    money !== undefined &&
    (money.currency !== payout.currency || money.amount <= 0n || reportedBy(payout, trigger) !== null)
  )
}

type PayoutMove = Transit<store.PayoutRow, PayoutTrigger, PayoutEvent>
type Written = {
  readonly payout: store.PayoutRow
  readonly move: PayoutMove['transition']
  readonly failure?: Failure
  readonly report?: BankReport
  readonly kind: PayoutTrigger['kind']
  readonly transactionHash: string | null
  readonly cause: Cause
}

/** Null: the trigger names none, or implies this transition. */
const hashOf = ({ trigger, implied }: PayoutMove): string | null =>
  implied || !('transactionHash' in trigger) ? null : (trigger.transactionHash ?? null)

function personOf(trigger: PayoutTrigger): Person | undefined {
  if ('by' in trigger) return trigger.by
  return trigger.kind === 'cancelled' && trigger.canceller !== 'operator' ? trigger.canceller : undefined
}

/** An implied transition is not what the trigger reports, so that it has no failure. */
const toWritten = (transit: PayoutMove): Written => {
  const { row: payout, trigger, transition: move, implied, actor } = transit
  const reason = 'failure' in trigger && !implied ? (trigger.failure.reasonCode ?? null) : null
  const by = personOf(trigger)
  return {
    payout,
    move,
    kind: trigger.kind,
    transactionHash: hashOf(transit),
    cause: { actor, reason, ...(by && { by }) },
    ...('failure' in trigger && !implied ? { failure: trigger.failure } : {}),
    ...('report' in trigger && !implied ? { report: trigger.report } : {}),
  }
}

async function write(deps: PayoutsDeps, tx: Tx, moves: readonly PayoutMove[], now: Date): Promise<void> {
  const { cases, ledger, transactions } = deps
  const written = moves.map(toWritten)
  const changes = moves.map((move) => changeOf(move, now))
  store.updatePayouts(tx, changes, now)
  decideApprovals(
    tx,
    moves.filter(({ row }) => row.status === 'PendingApproval'),
    now,
  )
  await appendEvents(deps, tx, written, now)
  // Before the transactions, which whatever locks a recall locks behind it.
  const recalls = await recallsBehind(
    tx,
    written.flatMap(({ payout, move }) => (move.ledger === 'refund' ? [payout] : [])),
  )
  const refunds = openRefunds(deps, tx, written, recalls)
  await transactions.moveMany(tx, [...written.flatMap(transactionMove), ...refunds.map(({ move }) => move)])
  await settleRecalls(tx, createAdvanceRecalls(deps), recalls, refunds)
  for (const { payout, move, cause } of written)
    if (move.ledger === 'refund') {
      const { partnerId, transactionId: id } = payout
      const caused = { ...cause, ...recalledBy(recalls, payout) }
      for (const step of move.steps) await transactions.noteAfterEnd(tx, { partnerId, id }, step, caused)
    }
  await giveBack(
    tx,
    written.flatMap(({ payout, move }) => (move.ledger === 'release' ? [payout] : [])),
  )
  const ends = written.flatMap(({ payout: { partnerId, reserveId }, move }) =>
    move.ledger === 'post' || move.ledger === 'release' ? [{ partnerId, entryId: reserveId, kind: move.ledger }] : [],
  )
  const differences = written.flatMap(differenceOf)
  const suspended = differences.length > 0 ? await cases.record(tx, differences) : []
  // Last, because it locks the balances that all other payments of the partner need.
  const credits = refunds.map(({ credit }) => credit)
  await ledger.settleMany(tx, ends, [...credits, ...suspended])
}

const decisions = { approved: 'approved', declined: 'rejected', lapsed: 'expired', cancelled: 'cancelled' } as const
const decisionOf = ({ kind }: PayoutTrigger): Decision =>
  present(kind in decisions ? decisions[kind as keyof typeof decisions] : undefined, 'a decision ends the wait')

/** Whatever ends the wait of a payout ends its approval. */
function decideApprovals(tx: Tx, moves: readonly PayoutMove[], now: Date): void {
  if (moves.length === 0) return
  const decided = moves.map(({ row: { partnerId, id: payoutId }, trigger }) => {
    const { by = null, reason = null } = 'by' in trigger ? trigger : {}
    const decision = decisionOf(trigger)
    return { partnerId, payoutId, decision, decidedBy: by?.id ?? null, decidedName: by?.name ?? null, reason }
  })
  storeApprovals.decideApprovals(tx, decided, now)
}

/** What comes back at most: the partner gets no more than it paid, and no more than the bank sent. */
const refundedOf = ({ payout: { amount }, report }: Written): Minor =>
  report?.money !== undefined && report.money.amount < amount ? report.money.amount : amount

/**
 * The bank booked another amount than was instructed. The payment moves as instructed; what the bank kept or took besides is
 * between its settlement account and suspense, with a case. A return of a part has a case without money: only the part came.
 * A payment that has not settled when it ends is booked by neither side, or by both with its amount.
 */
function differenceOf(written: Written): readonly NewCase[] {
  const { payout, move, report } = written
  const { partnerId, id: subject, amount, currency } = payout
  if (report?.money === undefined || report.money.amount === amount) return []
  const { connector, notificationId, money } = report
  const isPaid = written.kind === 'settled'
  const more = isPaid ? amount - money.amount : money.amount - (move.ledger === 'refund' ? refundedOf(written) : amount)
  const booked = more === 0n ? null : { currency, amount: more }
  const told = { status: move.to, money, instructed: { currency, amount } }
  return [{ partnerId, kind: 'amount_differs', connector, notificationId, subject, report: told, booked }]
}

function changeOf(transit: PayoutMove, now: Date): store.PayoutChange {
  const { payout, move, failure, report, kind } = toWritten(transit)
  const notificationId = report?.notificationId ?? null
  return {
    partnerId: payout.partnerId,
    id: payout.id,
    fromStatus: payout.status,
    status: move.to,
    errorKey: failure?.errorKey ?? move.errorKey ?? payout.errorKey,
    errorDetails: failure?.details ?? payout.errorDetails,
    transactionHash: hashOf(transit),
    settledBy: kind === 'settled' ? notificationId : null,
    endedBy: kind === 'settled' ? null : notificationId,
    ...scheduleOf(transit, now),
  }
}

/** An attempt keeps the lease. After an unreachable bank, or one that opens later, the payout is due again. All else ends both. */
function scheduleOf({ row, trigger }: PayoutMove, now: Date) {
  const { sendAttempts } = row
  if (trigger.kind === 'attempt')
    return { leaseId: trigger.leaseId, dueAt: after(now, leaseMs), sendAttempts: sendAttempts + 1 }
  if (trigger.kind === 'kept') return { leaseId: null, dueAt: trigger.until, sendAttempts }
  if (trigger.kind === 'approved') return { leaseId: null, dueAt: now, sendAttempts }
  const dueAt = trigger.kind === 'unreachable' ? after(now, retryDelayAfter(sendAttempts)) : null
  return { leaseId: null, dueAt, sendAttempts }
}

/** A refund adds its step to a transaction that has ended (`noteAfterEnd`). */
function transactionMove({ payout, failure, move, transactionHash, cause }: Written): readonly Move[] {
  const { partnerId, transactionId: id } = payout
  const { steps, concludes } = move
  if (move.ledger === 'refund' || steps.length === 0) return []
  const stepped = { partnerId, id, steps, ...cause, ...(transactionHash === null ? {} : { transactionHash }) }
  if (concludes === undefined) return [stepped]
  const errorKey = failure?.errorKey ?? move.errorKey
  return [{ ...stepped, conclusion: { status: concludes, ...(errorKey === undefined ? {} : { errorKey }) } }]
}

/** The events of customers' withdrawals. A payout of the partner's own has only the event of its status. */
async function appendEvents(
  { customers, eventOutbox }: PayoutsDeps,
  tx: Tx,
  written: readonly Written[],
  now: Date,
): Promise<void> {
  const told = written.flatMap(({ payout, failure, move }) => {
    const { partnerId, customerId } = payout
    const { event } = move
    return customerId === null || event === undefined
      ? []
      : [{ payout, failure, event, key: { partnerId, id: customerId } }]
  })
  if (told.length === 0) return
  const payers = await customers.payersByIds(
    tx,
    told.map(({ key }) => key),
  )
  const events = told.map(({ payout, failure, event, key }): WithdrawalEvent => {
    const payer = present(payers.get(partnerKey(key.partnerId, key.id)), 'the customer of a payout exists')
    return eventOf(payout, payer, event, failure, now)
  })
  eventOutbox.appendMany(tx, events)
}

type WithdrawalEvent = { [N in PayoutEvent]: NewEvent<N> }[PayoutEvent]

function eventOf(
  payout: store.PayoutRow,
  payer: Payer,
  type: PayoutEvent,
  failure: Failure | undefined,
  now: Date,
): WithdrawalEvent {
  const origin = { partnerId: payout.partnerId, occurredAt: now }
  const data = withdrawal(payout, payer)
  return type === 'partner.customer.withdrawal.failed'
    ? { ...origin, type, data: failed(data, failure?.details ?? null) }
    : { ...origin, type, data }
}

type Refund = ReturnOfPayout & { readonly move: Move; readonly credit: Entry }

const recalledBy = (recalls: RecallsOfPayouts, { partnerId, id }: store.PayoutRow): Pick<Cause, 'recallId'> => {
  const recall = recalls.get(partnerKey(partnerId, id))
  return recall === undefined ? {} : { recallId: recall.id }
}

/** After settlement: new transactions, which complete at once and name the transactions that they refund. */
function openRefunds(
  { transactions }: PayoutsDeps,
  tx: Tx,
  written: readonly Written[],
  recalls: RecallsOfPayouts,
): readonly Refund[] {
  const refunded = written.filter(({ move }) => move.ledger === 'refund')
  const opened = transactions.openMany(tx, refunded.map(refundOf), new Set())
  return refunded.map((one, index) => {
    const { payout, cause } = one
    const { id, reference } = present(opened[index], 'each refund has a transaction')
    const { partnerId, currency, customerId, connector } = payout
    const amount = refundedOf(one)
    const moved = { partnerId, currency, amount, partyId: customerId ?? partnerId, reference }
    const accounts = { debit: `settlement.${connector}`, credit: 'balance' } as const
    const caused = { ...cause, ...recalledBy(recalls, payout) }
    return {
      payout,
      amount,
      reference,
      move: { partnerId, id, steps: ['Settled', 'Credited'], ...caused, conclusion: { status: 'Completed' } },
      credit: entryOf('direct', { ...moved, ...accounts }),
    }
  })
}

const refundOf = (written: Written): NewTransaction => toRefund(written.payout, refundedOf(written))

const toRefund = (payout: store.PayoutRow, amount: Minor): NewTransaction => ({
  partnerId: payout.partnerId,
  reference: null,
  amount,
  currency: payout.currency,
  category: 'Deposit',
  direction: 'Inward',
  type: typesOf({ ...payout, isExchanged: payout.quoteId !== null }).refund,
  rail: payout.rail,
  customerId: payout.customerId,
  steps: ['Created'],
  actor: 'bank',
  endToEndId: endToEndIdSent(payout),
  originatingReference: payout.reference,
  description: `Return of ${payout.reference}`,
  debtor: partyOf({
    name: payout.creditorName,
    account: payout.creditorAccount,
    bic: null,
    country: payout.creditorCountry,
    currency: payout.currency,
  }),
})
