/**
 * The only writer of a payout's progress: the lifecycle engine with the table of payouts. One transaction applies a
 * batch of triggers and writes all transitions together. A duplicate changes nothing.
 */
import { Refusal } from '../kernel/api/index.ts'
import type { Cases, NewCase } from '../cases/index.ts'
import { after, type Clock, type Minor, partnerKey, present, type RowKey } from '../kernel/index.ts'
import type { EventOutbox, NewEvent } from '../events/index.ts'
import type { FactQueue } from '../inbox/index.ts'
import { type Entry, singleEntry, type Ledger } from '../ledger/index.ts'
import { type TriggerOutcome, createEngine, type PaymentTransition } from '../lifecycle/index.ts'
import type { Database, Tx } from '../postgres/index.ts'
import type { Customers, Payer } from '../parties/customers/index.ts'
import { countApprovals, releaseLimits } from './controls/index.ts'
import type { StepCause, NewTransaction, TransactionMove, Transactions } from '../transactions/index.ts'
import { toFailedWithdrawalData, toWithdrawalData } from './events.ts'
import {
  actorOf,
  type BankReport,
  type PayoutFailure,
  isStillValid,
  type InstructionPayouts,
  isForeignReport,
  transitionKind,
  leaseMs,
  type PayoutEvent,
  payoutIdOf,
  payoutLifecycle,
  type PayoutTrigger,
  type Person,
} from './lifecycle.ts'
import { endToEndIdSent, creditorParty, retryDelayAfter, transactionTypes } from './rules.ts'
import * as store from './store.ts'
import * as storeApprovals from './store-approvals.ts'
import type { Rates } from '../rates/index.ts'
import type { Screening } from '../screening/index.ts'
import type { Beneficiaries } from '../parties/beneficiaries/index.ts'
import type { Monitoring } from '../monitoring/index.ts'

export function createPayoutEngine(deps: PayoutLifeDeps) {
  const apply = createEngine({
    clock: deps.clock,
    lifecycle: payoutLifecycle,
    lock: store.lockPayouts,
    actorOf,
    kindOf: transitionKind,
    isForeign: (payout, trigger) => 'report' in trigger && isForeignReport(payout, trigger),
    holds: isStillValid,
    findRefused: (tx, moves, now) => refusedApprovals(deps, tx, moves, now),
    write: (tx, moves, now) => write(deps, tx, moves, now),
  })
  return (
    tx: Tx,
    triggers: readonly PayoutTrigger[],
    instructions: InstructionPayouts,
  ): Promise<readonly (TriggerOutcome | Refusal)[]> =>
    apply(
      tx,
      triggers.map((trigger) => ({
        key: { partnerId: trigger.partnerId, id: payoutIdOf(trigger, instructions) },
        trigger,
      })),
    )
}

type WrittenMove = {
  readonly payout: store.PayoutRow
  readonly move: PayoutMove['transition']
  readonly failure?: PayoutFailure
  readonly report?: BankReport
  readonly kind: PayoutTrigger['kind']
  readonly transactionHash: string | null
  readonly cause: StepCause
  /** Bulk that an approver has rejected as a whole. */
  readonly bulkId: string | undefined
}

/** Returns the transaction hash of the trigger. Null: it has none, or only implies this transition. */
const transactionHashOf = ({ trigger, implied }: PayoutMove): string | null =>
  implied || !('transactionHash' in trigger) ? null : (trigger.transactionHash ?? null)

function approverIn(trigger: PayoutTrigger): Person | undefined {
  if ('by' in trigger) return trigger.by
  return trigger.kind === 'cancelled' && typeof trigger.canceller !== 'string' ? trigger.canceller : undefined
}

/**
 * Builds the data that a transition writes. An implied transition is not the subject of the trigger, and has no
 * failure.
 */
const toWrittenMove = (transit: PayoutMove): WrittenMove => {
  const { row: payout, trigger, transition: move, implied, actor } = transit
  const { reasonCode: reason = null, bankText = null } = 'failure' in trigger && !implied ? trigger.failure : {}
  const by = approverIn(trigger)
  return {
    payout,
    move,
    kind: trigger.kind,
    transactionHash: transactionHashOf(transit),
    cause: { actor, reason, bankText, ...(by && { by }) },
    bulkId: 'bulkId' in trigger ? trigger.bulkId : undefined,
    ...('failure' in trigger && !implied ? { failure: trigger.failure } : {}),
    ...('report' in trigger && !implied ? { report: trigger.report } : {}),
  }
}

async function write(deps: PayoutLifeDeps, tx: Tx, moves: readonly PayoutMove[], now: Date): Promise<void> {
  const { cases, ledger, transactions } = deps
  const written = moves.map(toWrittenMove)
  const changes = moves.map((move) => changeOf(move, now))
  store.updatePayouts(tx, changes, now)
  decideApprovals(
    tx,
    moves.filter(({ row }) => row.status === 'PendingApproval'),
    now,
  )
  await appendEvents(deps, tx, written, now)
  await reportEndedRefunds(deps, tx, written, now)
  deps.facts.append(tx, [...written.flatMap(endNotification), ...rejectionNotifications(written)])
  const refunded = written.filter(({ move }) => move.ledger === 'refund')
  // Lock order: payouts, counters of approvers (maxima.ts), recalls, transactions, other counters, accounts.
  const recalls = await deps.recalls.lock(
    tx,
    refunded.map(({ payout }) => payout),
  )
  const refunds = openRefunds(deps, tx, refunded, recalls)
  await transactions.moveMany(tx, [...written.flatMap(transactionMove), ...refunds.map(({ move }) => move)])
  const ofRecalls = refunds.flatMap(({ recallReturn }) => recallReturn ?? [])
  if (ofRecalls.length > 0) await deps.recalls.settle(tx, ofRecalls)
  for (const { payout, move, cause } of refunded) {
    const { partnerId, transactionId: id } = payout
    const caused = { ...cause, ...recallCause(recalls, payout) }
    for (const step of move.steps) await transactions.addStepAfterEnd(tx, { partnerId, id }, step, caused)
  }
  await releaseLimits(
    tx,
    written.flatMap(({ payout, move }) => (move.ledger === 'release' ? [payout] : [])),
  )
  const ends = written.flatMap(({ payout: { partnerId, reserveId }, move }) =>
    move.ledger === 'post' || move.ledger === 'release' ? [{ partnerId, entryId: reserveId, kind: move.ledger }] : [],
  )
  const differences = written.flatMap(differenceCases)
  const suspended = differences.length > 0 ? await cases.record(tx, differences) : []
  // Last, because it locks the balances, which all other payments of the partner need.
  const credits = refunds.map(({ credit }) => credit)
  await ledger.settleMany(tx, ends, [...credits, ...suspended])
}

const decisions = { approved: 'approved', declined: 'rejected', lapsed: 'expired', cancelled: 'cancelled' } as const
const decisionOf = ({ kind }: PayoutTrigger): storeApprovals.ApprovalDecision =>
  present(
    kind in decisions ? decisions[kind as keyof typeof decisions] : undefined,
    `trigger ${kind} decides no approval`,
  )

/** Closes the approvals of payouts that leave PendingApproval. */
function decideApprovals(tx: Tx, moves: readonly PayoutMove[], now: Date): void {
  if (moves.length === 0) return
  const decided = moves.map(({ row: { partnerId, id: payoutId }, trigger }) => {
    const { by = null, reason = null } = 'by' in trigger ? trigger : {}
    const decision = decisionOf(trigger)
    return { partnerId, payoutId, decision, decidedBy: by?.id ?? null, decidedName: by?.name ?? null, reason }
  })
  storeApprovals.decideApprovals(tx, decided, now)
}

/** Returns the refunded amount: no more than the partner paid, and no more than the bank sent. */
const refundedAmount = ({ payout: { amount }, report }: WrittenMove): Minor =>
  report?.money !== undefined && report.money.amount < amount ? report.money.amount : amount

/**
 * Finds payments of which the bank booked another amount than instructed. The payment moves as instructed; the
 * difference is booked between the bank's settlement account and suspense, with a case. A partial return has a case
 * without money, because only that part came. A payment that ends before it is settled is not booked.
 */
function differenceCases(written: WrittenMove): readonly NewCase[] {
  const { payout, move, report } = written
  const { partnerId, id: subject, amount, currency } = payout
  if (report?.money === undefined || report.money.amount === amount) return []
  const { connector, notificationId, money } = report
  const isPaid = written.kind === 'settled'
  const more = isPaid
    ? amount - money.amount
    : money.amount - (move.ledger === 'refund' ? refundedAmount(written) : amount)
  const booked = more === 0n ? null : { currency, amount: more }
  const told = { status: move.to, money, instructed: { currency, amount } }
  return [{ partnerId, kind: 'amount_differs', connector, notificationId, subject, report: told, booked }]
}

function changeOf(transit: PayoutMove, now: Date): store.PayoutChange {
  const { payout, move, failure, report, kind } = toWrittenMove(transit)
  const notificationId = report?.notificationId ?? null
  return {
    partnerId: payout.partnerId,
    id: payout.id,
    fromStatus: payout.status,
    status: move.to,
    errorKey: failure?.errorKey ?? move.errorKey ?? payout.errorKey,
    errorDetails: failure?.details ?? payout.errorDetails,
    transactionHash: transactionHashOf(transit),
    settledBy: kind === 'settled' ? notificationId : null,
    endedBy: kind === 'settled' ? null : notificationId,
    ...scheduleOf(transit, now),
  }
}

/**
 * Schedules the next attempt. An attempt keeps the lease. If the bank is unreachable or opens later, the payout is due
 * again. Every other trigger ends the lease and the schedule.
 */
function scheduleOf({ row, trigger }: PayoutMove, now: Date) {
  const { sendAttempts } = row
  if (trigger.kind === 'attempt')
    return { leaseId: trigger.leaseId, dueAt: after(now, leaseMs), sendAttempts: sendAttempts + 1 }
  if (trigger.kind === 'kept') return { leaseId: null, dueAt: trigger.until, sendAttempts }
  if (trigger.kind === 'approved') return { leaseId: null, dueAt: now, sendAttempts }
  const dueAt = trigger.kind === 'unreachable' ? after(now, retryDelayAfter(sendAttempts)) : null
  return { leaseId: null, dueAt, sendAttempts }
}

/** Returns the steps to add to the transaction. None for a refund, whose transaction has ended (`noteAfterEnd`). */
function transactionMove({ payout, failure, move, transactionHash, cause }: WrittenMove): readonly TransactionMove[] {
  const { partnerId, transactionId: id } = payout
  const { steps, concludes } = move
  if (move.ledger === 'refund' || steps.length === 0) return []
  const stepped = { partnerId, id, steps, ...cause, ...(transactionHash === null ? {} : { transactionHash }) }
  if (concludes === undefined) return [stepped]
  const errorKey = failure?.errorKey ?? move.errorKey
  return [{ ...stepped, conclusion: { status: concludes, ...(errorKey === undefined ? {} : { errorKey }) } }]
}

/** Appends the events of customers' withdrawals. A partner's own payout only has the event of its status. */
async function appendEvents(
  { customers, eventOutbox }: PayoutLifeDeps,
  tx: Tx,
  written: readonly WrittenMove[],
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
    const payer = present(
      payers.get(partnerKey(key.partnerId, key.id)),
      `no customer ${key.id} for payout ${payout.id}`,
    )
    return eventOf(payout, payer, event, failure, now)
  })
  eventOutbox.appendMany(tx, events)
}

const endedRefunds: ReadonlySet<string> = new Set(['Completed', 'Failed', 'Returned', 'Cancelled'])

const notifiedEnds: Readonly<Partial<Record<store.PayoutRow['status'], 'payout.failed' | 'payout.returned'>>> = {
  Failed: 'payout.failed',
  Returned: 'payout.returned',
}

/**
 * Creates the notification of a payout's end, unless a team member has caused it. Refunds of sessions:
 * `checkout/refunds.ts`.
 */
function endNotification({ payout: { partnerId, id: subject, status, operation }, move, kind }: WrittenMove) {
  if (operation === 'createCheckoutRefund' || move.to === status) return []
  const type = kind === 'lapsed' ? 'payout.lapsed' : notifiedEnds[move.to]
  return type === undefined ? [] : [{ partnerId, type, subject, occasion: `${subject} ${move.to}` } as const]
}

/**
 * Creates the notifications of rejections for their requesters. A bulk that is rejected as a whole is one notification.
 */
const rejectionNotifications = (written: readonly WrittenMove[]) =>
  written.flatMap(({ kind, payout: { partnerId, id }, cause, bulkId }) => {
    if (kind !== 'declined') return []
    const told =
      bulkId === undefined
        ? { type: 'payout.rejected' as const, subject: id }
        : { type: 'bulk.rejected' as const, subject: bulkId }
    return [{ ...told, partnerId, facts: { by: cause.by?.name ?? null } }]
  })

/** Reports the refunds of checkout sessions that have ended, or came back after that. */
async function reportEndedRefunds(
  { checkoutRefunds }: PayoutLifeDeps,
  tx: Tx,
  written: readonly WrittenMove[],
  now: Date,
): Promise<void> {
  const ended = written.filter(
    ({ payout: { operation }, move }) => operation === 'createCheckoutRefund' && endedRefunds.has(move.to),
  )
  if (ended.length === 0) return
  await checkoutRefunds.appendEnded(
    tx,
    ended.map(({ payout, move }) => ({ ...payout, status: move.to })),
    now,
  )
}

type WithdrawalEvent = { [N in PayoutEvent]: NewEvent<N> }[PayoutEvent]

function eventOf(
  payout: store.PayoutRow,
  payer: Payer,
  type: PayoutEvent,
  failure: PayoutFailure | undefined,
  now: Date,
): WithdrawalEvent {
  const origin = { partnerId: payout.partnerId, occurredAt: now }
  const data = toWithdrawalData(payout, payer)
  return type === 'partner.customer.withdrawal.failed'
    ? { ...origin, type, data: toFailedWithdrawalData(data, failure?.details ?? null) }
    : { ...origin, type, data }
}

/** Recalls by `partnerKey(partnerId, payoutId)`. */
type RecallsOfPayouts = ReadonlyMap<string, { readonly id: string }>

type Refund = {
  readonly move: TransactionMove
  readonly credit: Entry
  readonly recallReturn: RecallSettlement | undefined
}

const recallCause = (recalls: RecallsOfPayouts, { partnerId, id }: store.PayoutRow): Pick<StepCause, 'recallId'> => {
  const recall = recalls.get(partnerKey(partnerId, id))
  return recall === undefined ? {} : { recallId: recall.id }
}

/** Opens new, completed transactions that name the transactions that they refund. */
function openRefunds(
  { transactions }: PayoutLifeDeps,
  tx: Tx,
  refunded: readonly WrittenMove[],
  recalls: RecallsOfPayouts,
): readonly Refund[] {
  const opened = transactions.openMany(tx, refunded.map(refundOf), new Set())
  return refunded.map((one, index) => {
    const { payout, cause } = one
    const { id, reference } = present(opened[index], `no refund transaction for payout ${payout.id}`)
    const { partnerId, currency, customerId, connector } = payout
    const amount = refundedAmount(one)
    const moved = { partnerId, currency, amount, partyId: customerId ?? partnerId, reference }
    const accounts = { debit: `settlement.${connector}`, credit: 'balance' } as const
    const recalled = recallCause(recalls, payout)
    const { recallId } = recalled
    const caused = { ...cause, ...recalled }
    return {
      recallReturn: recallId === undefined ? undefined : { partnerId, recallId, amount, reference },
      move: { partnerId, id, steps: ['Settled', 'Credited'], ...caused, conclusion: { status: 'Completed' } },
      credit: singleEntry('bank', { ...moved, ...accounts }),
    }
  })
}

const refundOf = (written: WrittenMove): NewTransaction => toRefund(written.payout, refundedAmount(written))

const toRefund = (payout: store.PayoutRow, amount: Minor): NewTransaction => ({
  partnerId: payout.partnerId,
  reference: null,
  amount,
  currency: payout.currency,
  category: 'Deposit',
  direction: 'Inward',
  type: transactionTypes({ ...payout, isExchanged: payout.quoteId !== null }).refund,
  rail: payout.rail,
  customerId: payout.customerId,
  steps: ['Created'],
  actor: 'bank',
  endToEndId: endToEndIdSent(payout),
  originatingReference: payout.reference,
  description: `Return of ${payout.reference}`,
  debtor: creditorParty({
    name: payout.creditorName,
    account: payout.creditorAccount,
    bic: null,
    country: payout.creditorCountry,
    currency: payout.currency,
  }),
})

export type PayoutLifeDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly ledger: Ledger
  readonly eventOutbox: EventOutbox
  readonly facts: FactQueue
  readonly customers: Customers
  readonly beneficiaries: Pick<Beneficiaries, 'recordCheck' | 'payeesByIds'>
  readonly transactions: Transactions
  readonly screening: Pick<Screening, 'holdsOf' | 'partiesOfPayments'>
  readonly monitoring: Pick<Monitoring, 'findHolds'>
  readonly cases: Pick<Cases, 'byId' | 'record' | 'release'>
  /** Reports whether a person or an API key of the partner may create and approve payouts now. */
  readonly mayPay: PayoutPermissionCheck
  readonly rates: Pick<Rates, 'converter'>
  readonly recalls: RecallReturns
  readonly checkoutRefunds: RefundEvents
  /** The setting PAYOUT_ATTEMPTS_MAX. */
  readonly attemptsMax: number
}

export type PayoutPermissionCheck = (tx: Tx, partnerId: string, id: string) => Promise<boolean>

/** Recalls that return the money of payouts. Implemented by `payouts/recalls`, a module above this one. */
export type RecallReturns = {
  /**
   * Locks the recalls of payouts that the caller has locked, by `partnerKey(partnerId, payoutId)`. A payout without a
   * recall is absent.
   */
  readonly lock: (tx: Tx, payouts: readonly RowKey[]) => Promise<ReadonlyMap<string, { readonly id: string }>>
  /** Settles recalls that the caller has locked, each by the transaction that returns the money. */
  readonly settle: (tx: Tx, returns: readonly RecallSettlement[]) => Promise<void>
}
/** Refunds of checkout sessions by payouts. Implemented by `checkout`, a module above this one. */
export type RefundEvents = {
  /** Appends the event of each refund. `ended`: its payout, with the status to which it moves. */
  readonly appendEnded: (tx: Tx, ended: readonly store.PayoutRow[], now: Date) => Promise<void>
}
type RecallSettlement = {
  readonly partnerId: string
  readonly recallId: string
  readonly amount: Minor
  readonly reference: string
}

// Checks approvals against the daily maximum of each approver, and gives back the amounts of payouts that end without a
// settlement.

type PayoutMove = PaymentTransition<store.PayoutRow, PayoutTrigger, PayoutEvent>

/** Reports whether a payout that a second person has approved ends without a settlement. */
const endsUnsettled = ({ row, transition }: PayoutMove) =>
  transition.ledger === 'release' && row.approvalExpiresAt !== null && row.status !== 'PendingApproval'

/**
 * Refuses approvals by people who lost the right (permission_denied) or exceed their maximum
 * (approver_limit_exceeded), and counts the others. Sends no statement for a batch without approvals and without ends
 * of approved payouts.
 */
async function refusedApprovals(
  deps: Pick<PayoutLifeDeps, 'mayPay' | 'rates'>,
  tx: Tx,
  moves: readonly PayoutMove[],
  now: Date,
): Promise<ReadonlyMap<PayoutMove, Refusal>> {
  const refused = new Map<PayoutMove, Refusal>()
  const given = moves.flatMap((move) => {
    const { row: payout, trigger } = move
    return trigger.kind === 'approved' ? [{ move, payout, by: trigger.by }] : []
  })
  const lost = await approversWithoutRight(deps, tx, given)
  for (const { move, by } of given) if (lost.has(by.id)) refused.set(move, rightLostText(by.name))
  const approvals = given.filter(({ move }) => !refused.has(move))
  const ended = moves.filter(endsUnsettled).map(({ row }) => row)
  if (approvals.length === 0 && ended.length === 0) return refused
  const counted = new Map(
    (await storeApprovals.countedApprovals(tx, ended)).map((row) => [partnerKey(row.partnerId, row.payoutId), row]),
  )
  const returned = ended.flatMap((payout) => {
    const row = counted.get(partnerKey(payout.partnerId, payout.id))
    if (row === undefined) return []
    const { decidedBy: id, decidedName: name, decidedAt, countedIn } = row
    return [{ payout, by: { id, name }, decidedAt, countedIn }]
  })
  const judged = await countApprovals(deps, tx, approvals, returned, now)
  const kept = judged.flatMap((answer, index) => {
    const approval = approvals[index]
    if (approval === undefined) return []
    if ('refusal' in answer) refused.set(approval.move, answer.refusal)
    else if (answer.countedIn !== undefined) {
      const { partnerId, id: payoutId } = approval.payout
      return [{ partnerId, payoutId, countedIn: answer.countedIn }]
    }
    return []
  })
  if (kept.length > 0) storeApprovals.recordCounters(tx, kept)
  return refused
}

const rightLostText = (name: string) =>
  new Refusal('permission_denied', `${name} may no longer approve payouts. Another person must approve this one.`)

/** Finds the approvers who lost the right since they decided, by the rows of this transaction. */
async function approversWithoutRight(
  { mayPay }: Pick<PayoutLifeDeps, 'mayPay'>,
  tx: Tx,
  approvals: readonly { readonly payout: store.PayoutRow; readonly by: { readonly id: string } }[],
): Promise<ReadonlySet<string>> {
  const persons = new Map(approvals.map(({ payout: { partnerId }, by }) => [by.id, partnerId]))
  const lost = new Set<string>()
  for (const [id, partnerId] of persons) if (!(await mayPay(tx, partnerId, id))) lost.add(id)
  return lost
}
