/** The transitions of a payout: the only ones that exist. The page of lifecycles shows them. */
import { payouts } from '@partner-payments/wire'
import { dayMs, hourMs, minuteMs, secondMs } from '../kernel/index.ts'
import { createLifecycle, type EventOf } from '../lifecycle/index.ts'

/**
 * `returned-in-part`: less comes back than was paid. A partial return implies settlement, so that `settled` is applied
 * first. `settled-otherwise`: the bank has paid another amount.
 */
const reported = ['settled', 'settled-otherwise', 'rejected', 'returned', 'returned-in-part'] as const

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
      impliedBy: reported,
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
    // A bank that knows the payout from before the database was restored reports it before it is submitted again.
    early: Object.fromEntries(reported.map((kind) => [kind, ['Pending', 'PendingApproval'] as const])),
  },
})

export type PayoutEvent = EventOf<typeof payoutLifecycle>

/** Longer than an attempt at a bank, and short enough that another worker soon takes over a killed worker's payouts. */
export const leaseMs = 15 * secondMs

/**
 * How old a payout in a status may be before an operator looks at it. `Sent`: a SEPA credit transfer takes a bank day, and a
 * long weekend has four days without one.
 */
export const payoutAgeLimitsMs = {
  Pending: 5 * minuteMs,
  Processing: hourMs,
  Sent: 5 * dayMs,
} as const
