/**
 * The expected events of each payment outcome, in order. The reconciliation compares the received events with this table.
 */
import type { Transaction, WebhookEvent } from '@partner-payments/sdk'

export type EventName = WebhookEvent['data']['eventType']

/** The final status of a payment and its events, in order. */
export type Ending = { readonly status: Transaction['status']; readonly events: readonly EventName[] }

const deposit = {
  created: 'partner.customer.deposit.created',
  initiated: 'partner.customer.deposit.initiated',
  submitted: 'partner.customer.deposit.submitted',
  accepted: 'partner.customer.deposit.accepted',
  failed: 'partner.customer.deposit.failed',
  completed: 'partner.customer.deposit.completed',
  expired: 'partner.customer.deposit.expired',
} as const
const withdrawal = {
  requested: 'partner.customer.withdrawal.requested',
  accepted: 'partner.customer.withdrawal.accepted',
  sent: 'partner.customer.withdrawal.sent',
  failed: 'partner.customer.withdrawal.failed',
} as const
const changed = 'transaction.status.changed'

const started = [deposit.created, deposit.initiated, deposit.submitted] as const
const sent = [withdrawal.requested, withdrawal.accepted, withdrawal.sent] as const

export const endings = {
  'deposit completed': { status: 'Completed', events: [...started, deposit.accepted, deposit.completed, changed] },
  /** Money on a customer's IBAN that no deposit waited for. */
  'credit booked': { status: 'Completed', events: [deposit.accepted, deposit.completed, changed] },
  'deposit failed': { status: 'Unsuccessful', events: [...started, deposit.failed, changed] },
  'deposit expired': { status: 'Expired', events: [deposit.created, deposit.expired, changed] },
  'customer payout settled': { status: 'Completed', events: [...sent, changed] },
  'customer payout sent': { status: 'Pending', events: sent },
  'customer payout rejected': { status: 'Unsuccessful', events: [...sent, withdrawal.failed, changed] },
  /** Refused in the acknowledgement: the bank never accepted the instruction. */
  'customer payout refused': {
    status: 'Unsuccessful',
    events: [withdrawal.requested, withdrawal.accepted, withdrawal.failed, changed],
  },
  'own payout settled': { status: 'Completed', events: [changed] },
  refund: { status: 'Completed', events: [changed] },
} as const satisfies Record<string, Ending>

export const eventNames: readonly EventName[] = [
  ...Object.values(deposit),
  ...Object.values(withdrawal),
  changed,
] as const

/** The transaction status that a final event implies. */
export const statusImpliedBy: Readonly<Partial<Record<EventName, Transaction['status']>>> = {
  [deposit.completed]: 'Completed',
  [deposit.failed]: 'Unsuccessful',
  [deposit.expired]: 'Expired',
  [withdrawal.failed]: 'Unsuccessful',
}

/** Shortens `partner.customer.deposit.created` to `created`, so that the table fits a terminal. */
export const shortName = (name: string): string => name.split('.').at(-1) ?? name
