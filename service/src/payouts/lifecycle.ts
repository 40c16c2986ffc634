/** The table of transitions of a payout. The documentation page of lifecycles shows it. */
import { type ErrorKey, payouts, type SignedApproval } from '@partner-payments/wire'
import { dayMs, hourMs, minuteMs, partnerKey, secondMs, type Money } from '../kernel/index.ts'
import { type Actor, createLifecycle, type EventOf } from '../lifecycle/index.ts'
import type { Tx } from '../postgres/index.ts'
import * as store from './store.ts'

/**
 * `returned-in-part`: less money came back than was paid. A partial return implies settlement: apply `settled` first.
 * `settled-otherwise`: the bank has paid another amount.
 */
const reportKinds = ['settled', 'settled-otherwise', 'rejected', 'returned', 'returned-in-part'] as const

export const payoutLifecycle = createLifecycle({
  subject: 'payout',
  statuses: payouts.payoutStatuses,
  transitions: {
    accept: {
      from: [],
      to: 'Pending',
      cause: 'The partner requests the payout, and the balance covers it.',
      by: ['partner'],
      on: ['requested'],
      ledger: 'reserve',
      steps: ['Created', 'Reserved'],
      event: 'partner.customer.withdrawal.requested',
    },
    hold: {
      from: [],
      to: 'PendingApproval',
      cause: 'The partner requests a payout that a second person has to approve, and the balance covers it.',
      by: ['partner'],
      on: ['requested'],
      ledger: 'reserve',
      steps: ['Created', 'Reserved'],
      event: 'partner.customer.withdrawal.requested',
    },
    approve: {
      from: ['PendingApproval'],
      to: 'Pending',
      cause: 'Another service account of the partner approves the payout in time.',
      by: ['partner'],
      on: ['approved'],
      steps: ['Approval'],
    },
    decline: {
      from: ['PendingApproval'],
      to: 'Cancelled',
      cause: 'Another service account of the partner rejects the payout.',
      by: ['partner'],
      on: ['declined'],
      ledger: 'release',
      steps: ['Cancelled'],
      concludes: 'Cancelled',
    },
    lapse: {
      from: ['PendingApproval'],
      to: 'Cancelled',
      cause: 'No second person has approved the payout in time.',
      by: ['time'],
      on: ['lapsed'],
      ledger: 'release',
      steps: ['Expired'],
      concludes: 'Cancelled',
    },
    begin: {
      from: ['Pending'],
      to: 'Processing',
      cause: 'The worker records its first attempt. The bank receives the instruction after that.',
      by: ['worker'],
      on: ['attempt'],
      steps: ['Accepted'],
      event: 'partner.customer.withdrawal.accepted',
    },
    stop: {
      from: ['Pending'],
      to: 'Failed',
      cause:
        'Compliance confirmed that the beneficiary or the customer is on a sanctions list, and two persons have closed the case of the payout; or two persons have refused what a rule of monitoring holds.',
      by: ['worker'],
      on: ['stopped'],
      ledger: 'release',
      steps: ['Failed'],
      concludes: 'Unsuccessful',
      event: 'partner.customer.withdrawal.failed',
    },
    retry: {
      from: ['Processing'],
      to: 'Processing',
      cause:
        'The worker records a further attempt, that the bank was unreachable, or that its connector keeps the instruction until a later time.',
      by: ['worker'],
      on: ['attempt', 'unreachable', 'kept'],
      steps: [],
    },
    cancel: {
      from: ['Pending', 'PendingApproval'],
      to: 'Cancelled',
      cause:
        'The partner cancels the payout before the worker records its first attempt, the operator blocks its account, or the bank takes back the payment that it refunds.',
      by: ['partner', 'operator', 'bank'],
      on: ['cancelled'],
      ledger: 'release',
      steps: ['Cancelled'],
      concludes: 'Cancelled',
    },
    /** The implied transition ends the lease, which keeps other workers from sending the instruction again. */
    send: {
      from: ['Processing'],
      to: 'Sent',
      cause: 'The bank accepts the instruction. If its answer was lost, a notification about the payment proves it.',
      by: ['worker', 'bank'],
      on: ['accepted'],
      impliedBy: reportKinds,
      steps: ['Sent'],
      event: 'partner.customer.withdrawal.sent',
    },
    refuse: {
      from: ['Processing'],
      to: 'Failed',
      cause: 'The bank refuses the instruction, or does not have it after the last attempt.',
      by: ['worker'],
      on: ['refused'],
      ledger: 'release',
      steps: ['Failed'],
      concludes: 'Unsuccessful',
      event: 'partner.customer.withdrawal.failed',
    },
    settle: {
      from: ['Sent'],
      to: 'Completed',
      cause: 'The bank has paid.',
      by: ['bank'],
      on: ['settled', 'settled-otherwise'],
      impliedBy: ['returned-in-part'],
      ledger: 'post',
      steps: ['Settled'],
      concludes: 'Completed',
    },
    reject: {
      from: ['Sent'],
      to: 'Failed',
      cause: 'The bank rejects the payment that it had accepted.',
      by: ['bank'],
      on: ['rejected'],
      ledger: 'release',
      steps: ['Failed'],
      concludes: 'Unsuccessful',
      event: 'partner.customer.withdrawal.failed',
    },
    return: {
      from: ['Sent'],
      to: 'Returned',
      cause: 'The bank returns the money before it reports the settlement.',
      by: ['bank'],
      on: ['returned'],
      ledger: 'release',
      steps: ['Returned'],
      concludes: 'Unsuccessful',
      event: 'partner.customer.withdrawal.failed',
    },
    refund: {
      from: ['Completed'],
      to: 'Returned',
      cause: 'The bank returns the money after the settlement, or a part of it.',
      by: ['bank'],
      on: ['returned', 'returned-in-part'],
      ledger: 'refund',
      steps: ['Returned'],
    },
    confirm: {
      from: ['Returned'],
      to: 'Returned',
      cause: 'The bank reports the settlement after the return that undoes it.',
      by: ['bank'],
      on: ['settled', 'settled-otherwise'],
      steps: [],
    },
  },
  reports: {
    repeat: {
      settled: ['Completed'],
      rejected: ['Failed', 'Returned'],
      returned: ['Returned'],
    },
    // After the database was restored, a bank that already knows the payout reports it before it is submitted again.
    early: Object.fromEntries(reportKinds.map((kind) => [kind, ['Pending', 'PendingApproval'] as const])),
  },
})

export type PayoutEvent = EventOf<typeof payoutLifecycle>

/** Longer than an attempt at a bank, and short enough that another worker soon takes over a killed worker's payouts. */
export const leaseMs = 15 * secondMs

/**
 * Permitted age of a payout by status, after which an operator looks at it. `Sent`: a SEPA credit transfer takes a bank
 * day, and a long weekend has four days without one.
 */
export const payoutAgeLimitsMs = {
  Pending: 5 * minuteMs,
  Processing: hourMs,
  Sent: 5 * dayMs,
} as const

// Triggers of a payout: requests of workers, of the bank, of people and by deadlines; who causes each, and whether it
// applies.

/** `reasonCode`: the bank's ISO 20022 code; `bankText`: the bank's own text, at the end of `details`. */
export type PayoutFailure = {
  readonly errorKey: ErrorKey
  readonly details: string
  readonly reasonCode?: string | null
  readonly bankText?: string | null
}

/** Step of a worker under its lease. Changes nothing once another worker has the lease. */
type UnderLease =
  /** `dueAt`: the payout has no lease. The attempt takes the lease if the due time has not changed since the read. */
  | { readonly kind: 'attempt'; readonly dueAt?: Date }
  | { readonly kind: 'unreachable' }
  | { readonly kind: 'kept'; readonly until: Date }
  | { readonly kind: 'accepted'; readonly transactionHash?: string }
  | { readonly kind: 'refused' | 'stopped'; readonly failure: PayoutFailure }
/** Service account of the partner, or member of its team. */
export type Person = {
  readonly id: string
  readonly name: string
  /** Evidence that the person has confirmed the decision. */
  readonly confirmation?: SignedApproval | undefined
}
/** `bank`: it has taken back the payment that the payout refunds. Undefined: the partner. */
type Canceller = 'operator' | 'bank' | Person | undefined
/** Decision of a second person about a waiting payout. */
type PersonDecision = {
  readonly kind: 'approved' | 'declined'
  readonly by: Person
  readonly reason: string | null
  /** Bulk that is rejected as a whole. */
  readonly bulkId?: string | undefined
}
/** Report of the bank. The status of the payout decides whether it applies. */
type ReportTrigger = { readonly report: BankReport } & (
  | { readonly kind: 'settled'; readonly transactionHash?: string }
  | { readonly kind: 'rejected' | 'returned'; readonly failure: PayoutFailure }
)
/** Notification of the bank, and the money in it, if any. */
export type BankReport = { readonly connector: string; readonly notificationId: string; readonly money?: Money }

export type PayoutTrigger = { readonly partnerId: string } & (
  | (UnderLease & { readonly payoutId: string; readonly leaseId: string })
  | (ReportTrigger & { readonly instructionId: string })
  | { readonly kind: 'cancelled'; readonly payoutId: string; readonly canceller: Canceller }
  | { readonly kind: 'lapsed'; readonly payoutId: string }
  | (PersonDecision & { readonly payoutId: string })
)

/** Payout ids of the instructions in a batch. They never change, so that no lock is needed. */
export type InstructionPayouts = ReadonlyMap<string, string>

export const readInstructions = async (tx: Tx, triggers: readonly PayoutTrigger[]): Promise<InstructionPayouts> => {
  const named = triggers.flatMap((trigger) => ('instructionId' in trigger ? [trigger] : []))
  if (named.length === 0) return new Map()
  const rows = await store.payoutsOfInstructions(
    tx,
    named.map(({ partnerId, instructionId }) => ({ partnerId, endToEndId: instructionId.replaceAll('-', '') })),
  )
  const found = rows.map(({ partnerId, endToEndId, id }) => [partnerKey(partnerId, endToEndId), id] as const)
  return new Map(found)
}

/**
 * Returns the payout of a trigger. During an upgrade, a process of an earlier version submits an instruction under the
 * payout's own id, and stores no row for it.
 */
export const payoutIdOf = (trigger: PayoutTrigger, instructions: InstructionPayouts): string => {
  if ('payoutId' in trigger) return trigger.payoutId
  const { partnerId, instructionId } = trigger
  return instructions.get(partnerKey(partnerId, instructionId.replaceAll('-', ''))) ?? instructionId
}

export function actorOf(trigger: PayoutTrigger): Actor {
  if ('leaseId' in trigger) return 'worker'
  if ('report' in trigger) return 'bank'
  if (trigger.kind === 'cancelled' && typeof trigger.canceller === 'string') return trigger.canceller
  return trigger.kind === 'lapsed' ? 'time' : 'partner'
}

/**
 * Reports whether a trigger is still valid under the lock: the lease is not lost, the report is not a repetition, and
 * the approval is not too late.
 */
export function isStillValid(payout: store.PayoutRow, trigger: PayoutTrigger, now: Date): boolean {
  const { leaseId, approvalExpiresAt } = payout
  // Every other worker, decision and command that claims or postpones the payout changes its due time.
  if (trigger.kind === 'attempt' && trigger.dueAt !== undefined)
    return payout.status === 'Pending' && payout.dueAt?.getTime() === trigger.dueAt.getTime()
  if ('leaseId' in trigger) return leaseId === trigger.leaseId
  if ('report' in trigger) {
    const [{ notificationId, money }, before] = [trigger.report, reportedBy(payout, trigger)]
    return before === null || (before !== notificationId && (trigger.kind !== 'settled' || money !== undefined))
  }
  if (trigger.kind === 'lapsed') return approvalExpiresAt !== null && approvalExpiresAt <= now
  return !('by' in trigger) || (approvalExpiresAt !== null && now < approvalExpiresAt)
}

type ReportOfPayout = PayoutTrigger & ReportTrigger

/** Returns the id of the notification with which the bank has already reported the same. */
const reportedBy = ({ settledBy, endedBy }: store.PayoutRow, { kind }: ReportOfPayout): string | null =>
  kind === 'settled' ? settledBy : endedBy

export function transitionKind({ amount }: store.PayoutRow, trigger: PayoutTrigger) {
  const more = 'report' in trigger ? (trigger.report.money?.amount ?? amount) - amount : 0n
  if (trigger.kind === 'settled') return more === 0n ? trigger.kind : 'settled-otherwise'
  return trigger.kind === 'returned' && more < 0n ? 'returned-in-part' : trigger.kind
}

/**
 * Reports whether a report does not belong to its payout: another bank carries the payout; the currency differs; the
 * report names no money; or another notification has already reported the same, so that this money moved in addition.
 */
export function isForeignReport(payout: store.PayoutRow, trigger: ReportOfPayout): boolean {
  const { connector, money } = trigger.report
  if (connector !== payout.connector) return true
  return (
    money !== undefined &&
    (money.currency !== payout.currency || money.amount <= 0n || reportedBy(payout, trigger) !== null)
  )
}
