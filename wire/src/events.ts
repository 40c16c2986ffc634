/**
 * The twelve emitted events and the Version 2 envelope. Source: interface document, Events. A nullable field (S?, TS?)
 * is always present, as null when there is nothing; names, order and nullability are wire values.
 */
import { Amount, type Static, Timestamp, Type, Uuid, closed, nullable } from './shapes.ts'

const S = Type.String()
const SN = nullable(S)
const TSN = nullable(Timestamp)

const common = {
  eventType: S,
  timestamp: Timestamp,
  amount: Amount,
  currency: S,
  customFields: nullable(Type.Record(Type.String(), Type.Unknown())),
  idempotencyKey: SN,
  reference: S,
  websiteReference: SN,
}
const customer = { ...common, customerId: S }
const session = { endToEndId: S, paymentMethod: S, sessionId: S }
const owner = { customerGuid: SN, partnerCustomerId: SN }
const debtor = { debtorAccount: S, debtorAddress: SN, debtorBic: S, debtorCountryCode: S, debtorName: S }
const withdrawal = {
  ...customer,
  creditorAccount: S,
  creditorAddress: SN,
  creditorBic: SN,
  creditorCountryCode: S,
  creditorName: S,
  customerEmail: S,
  customerIpAddress: S,
  customerIpCountryCode: S,
  withdrawalReason: S,
  ...owner,
}

const event = <D>(firesWhen: string, data: D) => ({ firesWhen, data })

export const events = {
  'partner.customer.deposit.created': event(
    'a deposit is created for a customer and awaits payment',
    closed({
      ...customer,
      ...owner,
      ...session,
      customerCitizenshipCountryCode: SN,
      customerEmail: S,
      customerFullName: SN,
      customerResidenceAddress: SN,
      partnerName: S,
      paymentCountryCode: SN,
    }),
  ),
  'partner.customer.deposit.initiated': event(
    'the customer has started the payment',
    closed({ ...customer, ...owner, ...session, customerEmail: S, paymentCountryCode: S, userIpAddress: S }),
  ),
  'partner.customer.deposit.submitted': event(
    'the payment is submitted to the bank',
    closed({ ...customer, ...owner, ...session, customerEmail: S, customerIpAddress: S, paymentCountryCode: S }),
  ),
  'partner.customer.deposit.accepted': event(
    'the incoming payment is accepted and reconciled against the bank',
    closed({ ...customer, ...owner, ...session, ...debtor, customerEmail: SN, paymentCountryCode: SN }),
  ),
  'partner.customer.deposit.failed': event(
    'the deposit could not be processed',
    closed({
      ...customer,
      ...owner,
      ...session,
      customerEmail: S,
      customerIpAddress: S,
      errorDetails: SN,
      paymentCountryCode: S,
    }),
  ),
  'partner.customer.deposit.completed': event(
    'funds settled and balance credited; the event on which the customer is credited',
    closed({
      ...customer,
      ...owner,
      ...session,
      ...debtor,
      blockchainTransactionHash: SN,
      customerEmail: SN,
      paymentCountryCode: SN,
    }),
  ),
  'partner.customer.deposit.expired': event(
    'the deposit was not funded in time; terminal, no later completed event follows for the reference',
    closed({ ...customer, ...owner, currency: SN, createdAt: TSN, endToEndId: SN, expiryDate: TSN }),
  ),
  'partner.customer.withdrawal.requested': event('a withdrawal is requested for a customer', closed(withdrawal)),
  'partner.customer.withdrawal.accepted': event('the withdrawal is accepted for processing', closed(withdrawal)),
  'partner.customer.withdrawal.sent': event("the withdrawal is sent to the beneficiary's bank", closed(withdrawal)),
  'partner.customer.withdrawal.failed': event(
    'the withdrawal could not be completed',
    closed({ ...withdrawal, errorDetails: SN }),
  ),
  'transaction.status.changed': event(
    'a transaction moves to a new status (deposits and withdrawals alike)',
    closed({
      ...common,
      customerGuid: SN,
      originatingTransactionReference: SN,
      partnerGuid: SN,
      status: S,
      transactionHash: SN,
      transactionType: S,
    }),
  ),
} as const

export type EventName = keyof typeof events
export type EventData<N extends EventName> = Static<(typeof events)[N]['data']>
export const eventNames = Object.keys(events) as readonly EventName[]
export const isEventName = (name: string): name is EventName => Object.hasOwn(events, name)

/** Contract page, Silences: `paymentMethod` in events. */
export const paymentMethods = ['SepaCreditTransfer', 'SepaInstant', 'Swift', 'Wallet', 'Internal'] as const
export type PaymentMethod = (typeof paymentMethods)[number]

/** Interface document, Events: every delivery is exactly these two fields. */
export const Envelope = closed({ eventId: Uuid, data: Type.Record(Type.String(), Type.Unknown()) })
