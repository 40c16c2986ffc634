/**
 * The twelve emitted events and the Version 2 envelope. Source: interface document, Events. A nullable field (S?, TS?)
 * is always present. Names, order and nullability are part of the contract.
 */
import { Amount, type Static, Timestamp, Type, closed, nullable } from './shapes.ts'

const Text = Type.String()
const NullableText = nullable(Text)
const NullableTimestamp = nullable(Timestamp)

const common = {
  eventType: Text,
  timestamp: Timestamp,
  amount: Amount,
  currency: Text,
  customFields: nullable(Type.Record(Type.String(), Type.Unknown())),
  idempotencyKey: NullableText,
  reference: Text,
  websiteReference: NullableText,
}
const customer = { ...common, customerId: Type.String({ description: "The customer's serviceId" }) }
const CustomerGuid = nullable(Type.String({ description: "The customer's guid" }))
const session = { endToEndId: Text, paymentMethod: Text, sessionId: Text }
const customerIds = {
  customerGuid: CustomerGuid,
  partnerCustomerId: nullable(Type.String({ description: "The partner's own identifier of the customer" })),
}
const debtor = {
  debtorAccount: Text,
  debtorAddress: NullableText,
  debtorBic: Text,
  debtorCountryCode: Text,
  debtorName: Text,
}
const withdrawal = {
  ...customer,
  creditorAccount: Text,
  creditorAddress: NullableText,
  creditorBic: NullableText,
  creditorCountryCode: Text,
  creditorName: Text,
  customerEmail: Text,
  customerIpAddress: Text,
  customerIpCountryCode: Text,
  withdrawalReason: Text,
  ...customerIds,
}

const event = <D>(firesWhen: string, data: D) => ({ firesWhen, data })

export const events = {
  'partner.customer.deposit.created': event(
    'a deposit is created for a customer and awaits payment',
    closed({
      ...customer,
      ...customerIds,
      ...session,
      customerCitizenshipCountryCode: NullableText,
      customerEmail: Text,
      customerFullName: NullableText,
      customerResidenceAddress: NullableText,
      partnerName: Text,
      paymentCountryCode: NullableText,
    }),
  ),
  'partner.customer.deposit.initiated': event(
    'the customer has started the payment',
    closed({
      ...customer,
      ...customerIds,
      ...session,
      customerEmail: Text,
      paymentCountryCode: Text,
      userIpAddress: Text,
    }),
  ),
  'partner.customer.deposit.submitted': event(
    'the payment is submitted to the bank',
    closed({
      ...customer,
      ...customerIds,
      ...session,
      customerEmail: Text,
      customerIpAddress: Text,
      paymentCountryCode: Text,
    }),
  ),
  'partner.customer.deposit.accepted': event(
    'the incoming payment is accepted and reconciled against the bank',
    closed({
      ...customer,
      ...customerIds,
      ...session,
      ...debtor,
      customerEmail: NullableText,
      paymentCountryCode: NullableText,
    }),
  ),
  'partner.customer.deposit.failed': event(
    'the deposit could not be processed',
    closed({
      ...customer,
      ...customerIds,
      ...session,
      customerEmail: Text,
      customerIpAddress: Text,
      errorDetails: NullableText,
      paymentCountryCode: Text,
    }),
  ),
  'partner.customer.deposit.completed': event(
    'funds settled and balance credited; the event on which the customer is credited',
    closed({
      ...customer,
      ...customerIds,
      ...session,
      ...debtor,
      blockchainTransactionHash: NullableText,
      customerEmail: NullableText,
      paymentCountryCode: NullableText,
    }),
  ),
  'partner.customer.deposit.expired': event(
    'the deposit was not funded in time; terminal, no later completed event follows for the reference',
    closed({
      ...customer,
      ...customerIds,
      currency: NullableText,
      createdAt: NullableTimestamp,
      endToEndId: NullableText,
      expiryDate: NullableTimestamp,
    }),
  ),
  'partner.customer.withdrawal.requested': event('a withdrawal is requested for a customer', closed(withdrawal)),
  'partner.customer.withdrawal.accepted': event('the withdrawal is accepted for processing', closed(withdrawal)),
  'partner.customer.withdrawal.sent': event("the withdrawal is sent to the beneficiary's bank", closed(withdrawal)),
  'partner.customer.withdrawal.failed': event(
    'the withdrawal could not be completed',
    closed({ ...withdrawal, errorDetails: NullableText }),
  ),
  'transaction.status.changed': event(
    'a transaction moves to a new status (deposits and withdrawals alike)',
    closed({
      ...common,
      customerGuid: CustomerGuid,
      originatingTransactionReference: NullableText,
      partnerGuid: NullableText,
      status: Text,
      transactionHash: NullableText,
      transactionType: Text,
    }),
  ),
} as const

export type EventName = keyof typeof events
export type EventData<N extends EventName> = Static<(typeof events)[N]['data']>
export const eventNames = Object.keys(events) as readonly EventName[]
export const isEventName = (name: string): name is EventName => Object.hasOwn(events, name)

/** Contract page, Silences: the values of `paymentMethod` in events. */
export const paymentMethods = ['SepaCreditTransfer', 'SepaInstant', 'Swift', 'Wallet', 'Internal'] as const
export type PaymentMethod = (typeof paymentMethods)[number]
