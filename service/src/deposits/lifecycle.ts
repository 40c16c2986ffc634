/** The table of transitions of a deposit. The documentation page of lifecycles shows it. */
import { dayMs } from '../kernel/index.ts'
import { createLifecycle, type EventOf, findTransition } from '../lifecycle/index.ts'
import type { BankNotification, Credit } from '../rails/index.ts'

export const depositStatuses = [
  'Created',
  'Initiated',
  'Submitted',
  'PartiallyPaid',
  'Accepted',
  'Screening',
  'Completed',
  'Failed',
  'Expired',
] as const
export type DepositStatus = (typeof depositStatuses)[number]

/** Statuses in which a deposit accepts parts, and no name is under review. */
export const awaitingParts = ['Created', 'Initiated', 'Submitted', 'PartiallyPaid', 'Accepted'] as const

export const depositLifecycle = createLifecycle({
  subject: 'deposit',
  statuses: depositStatuses,
  transitions: {
    open: {
      from: [],
      to: 'Created',
      cause: 'A customer is expected to pay in: a checkout session, or in the sandbox a simulation, opens the deposit.',
      by: ['partner'],
      on: ['requested'],
      steps: ['Created'],
      event: 'partner.customer.deposit.created',
    },
    initiate: {
      from: ['Created'],
      to: 'Initiated',
      cause: 'The customer has begun the payment.',
      by: ['bank'],
      on: ['deposit.initiated'],
      steps: ['Initiated'],
      event: 'partner.customer.deposit.initiated',
    },
    submit: {
      from: ['Initiated'],
      to: 'Submitted',
      cause: "The customer's bank has the payment, which can no longer expire.",
      by: ['bank'],
      on: ['deposit.submitted'],
      steps: ['Submitted'],
      event: 'partner.customer.deposit.submitted',
    },
    accept: {
      from: ['Submitted'],
      to: 'Accepted',
      cause: 'The bank accepts the payment and names its debtor.',
      by: ['bank'],
      on: ['deposit.accepted'],
      steps: ['Accepted'],
      event: 'partner.customer.deposit.accepted',
    },
    book: {
      from: [],
      to: 'Accepted',
      cause: 'Money is on an account of the customer or of the partner, and no deposit waits for it.',
      by: ['bank'],
      on: ['booked'],
      steps: ['Created', 'Accepted'],
      event: 'partner.customer.deposit.accepted',
    },
    arrive: {
      from: ['Created', 'Initiated', 'Submitted'],
      to: 'Accepted',
      cause: 'The money is on our account at the bank, regardless of earlier reports about the payment.',
      by: ['bank'],
      on: [],
      impliedBy: ['credit', 'credit-misfit'],
      steps: ['Accepted'],
      event: 'partner.customer.deposit.accepted',
    },
    gather: {
      from: [...awaitingParts],
      to: 'PartiallyPaid',
      cause: 'A part of the money of a checkout session has arrived. It waits on an account of its own for the rest.',
      by: ['bank'],
      on: ['part'],
      steps: ['PartReceived'],
      event: 'checkout.part.updated',
    },
    fulfil: {
      from: [...awaitingParts],
      to: 'Completed',
      cause: 'The parts of the money add up to the amount. A surplus goes to suspense, with a case.',
      by: ['bank'],
      on: ['part-last'],
      ledger: 'credit',
      steps: ['PartReceived', 'Accepted', 'Settled', 'Credited'],
      concludes: 'Completed',
      event: 'partner.customer.deposit.completed',
    },
    holdPart: {
      from: [...awaitingParts, 'Screening'],
      to: 'Screening',
      cause:
        'A part has arrived, and the name of the customer or of a payer is on a sanctions list, or data of the payer are missing. The part goes to suspense, with a case.',
      by: ['bank'],
      on: ['part-held'],
      steps: ['Screening'],
    },
    refusePart: {
      from: [...awaitingParts],
      to: 'Failed',
      cause: 'A part has arrived, and the account accepts no money. All parts go to suspense, each with a case.',
      by: ['bank'],
      on: ['part-refused'],
      steps: ['Failed'],
      concludes: 'Unsuccessful',
      event: 'partner.customer.deposit.failed',
      errorKey: 'Failed',
    },
    resume: {
      from: ['Screening'],
      to: 'PartiallyPaid',
      cause: 'Compliance cleared the names of the parts that have arrived, and the rest is missing.',
      by: ['worker'],
      on: ['part-cleared'],
      steps: ['PartReceived'],
      event: 'checkout.part.updated',
    },
    settle: {
      from: ['Accepted'],
      to: 'Completed',
      cause: 'The bank has booked the money.',
      by: ['bank'],
      on: ['deposit.settled', 'credit'],
      ledger: 'credit',
      steps: ['Settled', 'Credited'],
      concludes: 'Completed',
      event: 'partner.customer.deposit.completed',
    },
    hold: {
      from: ['Accepted'],
      to: 'Screening',
      cause:
        'The bank has booked the money, and the name of the customer or of the payer is on a sanctions list, or data of the payer are missing. The money goes to suspense, with a case.',
      by: ['bank'],
      on: ['held'],
      steps: ['Screening'],
    },
    release: {
      from: ['Screening'],
      to: 'Completed',
      cause: 'Compliance cleared the names, or has the data of the payer.',
      by: ['worker'],
      on: ['cleared'],
      ledger: 'credit',
      steps: ['Settled', 'Credited'],
      concludes: 'Completed',
      event: 'partner.customer.deposit.completed',
    },
    freeze: {
      from: ['Screening'],
      to: 'Failed',
      cause:
        'Compliance confirmed a sanctions match, data of the payer stay missing, or the account accepts no money. The money stays in suspense until the case is resolved; without data of the payer it goes back.',
      by: ['worker'],
      on: ['confirmed'],
      steps: ['Failed'],
      concludes: 'Unsuccessful',
      event: 'partner.customer.deposit.failed',
      errorKey: 'Failed',
    },
    withdraw: {
      from: ['Screening'],
      to: 'Failed',
      cause: 'The bank reverses the money before compliance has decided.',
      by: ['bank'],
      on: ['reversed'],
      steps: ['Failed'],
      concludes: 'Unsuccessful',
      event: 'partner.customer.deposit.failed',
      errorKey: 'BankRejection',
    },
    fail: {
      from: ['Created', 'Initiated', 'Submitted', 'Accepted'],
      to: 'Failed',
      cause: 'The bank reports that the payment failed.',
      by: ['bank'],
      on: ['deposit.failed'],
      steps: ['Failed'],
      concludes: 'Unsuccessful',
      event: 'partner.customer.deposit.failed',
      errorKey: 'BankRejection',
    },
    misfit: {
      from: ['Accepted'],
      to: 'Failed',
      cause:
        'The bank has booked another amount or currency, or the account accepts no money. The money goes to suspense, with a case.',
      by: ['bank'],
      on: ['misfit', 'credit-misfit'],
      steps: ['Failed'],
      concludes: 'Unsuccessful',
      event: 'partner.customer.deposit.failed',
      errorKey: 'Failed',
    },
    expire: {
      from: ['Created', 'Initiated', 'PartiallyPaid'],
      to: 'Expired',
      cause:
        'The customer has not paid in time, or the partner ends the checkout session. Parts go to suspense, each with a case.',
      by: ['time', 'partner'],
      on: ['expired', 'ended'],
      steps: ['Expired'],
      concludes: 'Expired',
      event: 'partner.customer.deposit.expired',
      errorKey: 'Expired',
    },
  },
  reports: {
    repeat: {
      'deposit.initiated': [
        'Initiated',
        'Submitted',
        'PartiallyPaid',
        'Accepted',
        'Screening',
        'Completed',
        'Failed',
        'Expired',
      ],
      'deposit.submitted': ['Submitted', 'PartiallyPaid', 'Accepted', 'Screening', 'Completed', 'Failed', 'Expired'],
      'deposit.accepted': ['PartiallyPaid', 'Accepted', 'Screening', 'Completed', 'Failed', 'Expired'],
      'deposit.settled': ['Screening', 'Completed'],
      'deposit.failed': ['PartiallyPaid', 'Failed', 'Expired'],
    },
    early: {
      'deposit.submitted': ['Created'],
      'deposit.accepted': ['Created', 'Initiated'],
      'deposit.settled': ['Created', 'Initiated', 'Submitted'],
      misfit: ['Created', 'Initiated', 'Submitted'],
    },
  },
})

export type DepositEvent = EventOf<typeof depositLifecycle>

/**
 * The time without a final status after which an operator checks a payment that the bank has. Deposits that the bank
 * does not have expire.
 */
export const heldMsMax = 5 * dayMs

export const mayExpire = (status: DepositStatus): boolean =>
  findTransition(depositLifecycle, status, 'expired') !== undefined

export type DepositNotification = Extract<BankNotification, { readonly kind: `deposit.${string}` }>
/** Triggers that change the status of a deposit. Connectors do not report expiries and decisions. */
export type DepositTrigger =
  | (DepositNotification & { readonly connector: string })
  | DepositCreditTrigger
  | ReversalTrigger
  | ExpiryTrigger
  | DecisionTrigger
/** A credit that names the deposit. `id`: of the notification; `subjectId`: of the deposit. */
export type DepositCreditTrigger = Pick<Credit, 'money' | 'debtor' | 'transactionHash'> & {
  readonly kind: 'credit'
  readonly connector: string
  readonly partnerId: string
  readonly id: string
  readonly subjectId: string
  readonly creditId: string
  /** Account, remittance and reference of a credit, for its case if the account refuses it. */
  readonly origin: { readonly account: string; readonly remittance: string | null; readonly endToEndId: string | null }
  /** An operator has decided about the owner: a block does not stop the credit. */
  readonly isDecided: boolean
}
/** The bank takes back the money of a deposit that waits for a decision about a name. */
export type ReversalTrigger = {
  readonly kind: 'reversed'
  readonly connector: string
  readonly partnerId: string
  /** Id of the notification. */
  readonly id: string
  readonly subjectId: string
  readonly details: string
}
/** A deposit has expired, or the partner ends it. */
type ExpiryTrigger = { readonly kind: 'expired' | 'ended'; readonly partnerId: string; readonly subjectId: string }

/** Applies the decisions about the names of a waiting deposit. The engine treats a confirmed match as `confirmed`. */
export type DecisionTrigger = { readonly kind: 'cleared'; readonly partnerId: string; readonly subjectId: string }
