/**
 * What causes which event, in order: the table of the contract, for every payment of the day. The reconciliation holds
 * what arrived against it.
 */
import type { Transaction, WebhookEvent } from '@partner-payments/sdk'

export type EventName = WebhookEvent['data']['eventType']

/** How a payment ends, and the events on its way there. */
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
  'deposit failed': { status: 'Unsuccessful', events: [...started, deposit.failed, changed] },
  'deposit expired': { status: 'Expired', events: [deposit.created, deposit.expired, changed] },
  'customer payout settled': { status: 'Completed', events: [...sent, changed] },
  'customer payout sent': { status: 'Pending', events: sent },
  'customer payout rejected': { status: 'Unsuccessful', events: [...sent, withdrawal.failed, changed] },
  /** In the acknowledgement: the bank never took the instruction. */
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

/** What the last word on a payment says of its transaction. */
export const statusSaidBy: Readonly<Partial<Record<EventName, Transaction['status']>>> = {
  [deposit.completed]: 'Completed',
  [deposit.failed]: 'Unsuccessful',
  [deposit.expired]: 'Expired',
  [withdrawal.failed]: 'Unsuccessful',
}

/** `partner.customer.deposit.created` is `created`, for a table that fits a terminal. */
export const shortName = (name: string): string => name.split('.').at(-1) ?? name
