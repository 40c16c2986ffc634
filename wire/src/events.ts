/**
 * The emitted events and the Version 2 envelope. Source: interface document, Events, for the twelve `documented` ones. A
 * nullable field (S?, TS?) is always present. Names, order and nullability are part of the contract.
 */
import { Amount, type Static, Timestamp, Type, closed, described, nullable } from './shapes.ts'

const text = (description: string) => described(Type.String(), description)
const textOrNull = (description: string) => described(nullable(Type.String()), description)
const timeOrNull = (description: string) => described(nullable(Timestamp), description)

const common = {
  eventType: text('Name of the event type.'),
  timestamp: described(Timestamp, 'Time at which the event occurred.'),
  amount: described(Amount, 'Amount of the transaction in major units of `currency`. Parse it as a decimal.'),
  currency: text('Currency of `amount`: ISO 4217 alpha-3, or a token code.'),
  customFields: described(
    nullable(Type.Record(Type.String(), Type.Unknown())),
    'The JSON object that you attached to the payment. Null without one.',
  ),
  idempotencyKey: textOrNull('The idempotency key of the request that created the transaction. Null without one.'),
  reference: text('Reference of the transaction, as in `GET /v1/transactions/{reference}`.'),
  websiteReference: textOrNull('Your own reference of the payment. Null without one.'),
}
const customer = { ...common, customerId: text('The `serviceId` of the customer.') }
const session = {
  endToEndId: text('End-to-end identifier in the payment message.'),
  paymentMethod: text('How the money moves: `SepaCreditTransfer`, `SepaInstant`, `Swift`, `Wallet` or `Internal`.'),
  sessionId: text('Identifies the payment session.'),
}
const customerIds = {
  customerGuid: textOrNull('The `guid` of the customer. Null without a customer.'),
  partnerCustomerId: textOrNull('Your identifier of the customer. Null without one.'),
}
const customerEmail = text('Email address of the customer. Empty without one.')
const customerEmailOrNull = textOrNull('Email address of the customer. Null without one.')
const customerIpAddress = text('IP address from which the payment was requested, IPv4 or IPv6.')
const paymentCountryCode = text("Country of the payer's account, ISO 3166-1 alpha-2.")
const paymentCountryCodeOrNull = textOrNull("Country of the payer's account, ISO 3166-1 alpha-2. Null if unknown.")
const errorDetails = textOrNull('Reason for the failure, for people. Null if the bank gave no reason.')
const debtor = {
  debtorAccount: text('IBAN of the payer.'),
  debtorAddress: textOrNull('Postal address of the payer. Null if unknown.'),
  debtorBic: text("BIC of the payer's bank, ISO 9362."),
  debtorCountryCode: text("Country of the payer's account, ISO 3166-1 alpha-2."),
  debtorName: text('Name of the payer.'),
}
const withdrawal = {
  ...customer,
  creditorAccount: text('IBAN of the beneficiary.'),
  creditorAddress: textOrNull('Postal address of the beneficiary. Null if unknown.'),
  creditorBic: textOrNull("BIC of the beneficiary's bank, ISO 9362. Null if unknown."),
  creditorCountryCode: text("Country of the beneficiary's account, ISO 3166-1 alpha-2."),
  creditorName: text('Name of the beneficiary.'),
  customerEmail,
  customerIpAddress,
  customerIpCountryCode: text('Country of the customer, ISO 3166-1 alpha-2. `ZZ` if unknown.'),
  withdrawalReason: text('Text that the beneficiary reads on the statement. Empty without one.'),
  ...customerIds,
}

/** Fields of the events of a standing order: there is no payout, and therefore no transaction. */
const standingOrder = {
  ...common,
  customFields: described(nullable(Type.Record(Type.String(), Type.Unknown())), 'Null.'),
  idempotencyKey: textOrNull('Null.'),
  reference: text('The `id` of the standing order.'),
  websiteReference: textOrNull('The `reference` of the standing order. Null without one.'),
  beneficiaryId: text('The beneficiary of the standing order.'),
}

const event = <D>(firesWhen: string, data: D) => ({ firesWhen, data, source: 'documented' as const })
const extension = <D>(firesWhen: string, data: D) => ({ firesWhen, data, source: 'extension' as const })

export const events = {
  'partner.customer.deposit.created': event(
    'a deposit is created for a customer and awaits payment',
    closed({
      ...customer,
      ...customerIds,
      ...session,
      customerCitizenshipCountryCode: textOrNull(
        'Country of citizenship of the customer, ISO 3166-1 alpha-2. Null if unknown.',
      ),
      customerEmail,
      customerFullName: textOrNull('Full name of the customer. Null if unknown.'),
      customerResidenceAddress: textOrNull('Residential address of the customer. Null if unknown.'),
      partnerName: text('Your name as a partner.'),
      paymentCountryCode: paymentCountryCodeOrNull,
    }),
  ),
  'partner.customer.deposit.initiated': event(
    'the customer has started the payment',
    closed({
      ...customer,
      ...customerIds,
      ...session,
      customerEmail,
      paymentCountryCode,
      userIpAddress: text('IP address from which the customer started the payment, IPv4 or IPv6.'),
    }),
  ),
  'partner.customer.deposit.submitted': event(
    'the payment is submitted to the bank',
    closed({
      ...customer,
      ...customerIds,
      ...session,
      customerEmail,
      customerIpAddress,
      paymentCountryCode,
    }),
  ),
  'partner.customer.deposit.accepted': event(
    'the incoming payment is accepted and reconciled against the bank',
    closed({
      ...customer,
      ...customerIds,
      ...session,
      ...debtor,
      customerEmail: customerEmailOrNull,
      paymentCountryCode: paymentCountryCodeOrNull,
    }),
  ),
  'partner.customer.deposit.failed': event(
    'the deposit could not be processed',
    closed({
      ...customer,
      ...customerIds,
      ...session,
      customerEmail,
      customerIpAddress,
      errorDetails,
      paymentCountryCode,
    }),
  ),
  'partner.customer.deposit.completed': event(
    'funds settled and balance credited; the event on which the customer is credited',
    closed({
      ...customer,
      ...customerIds,
      ...session,
      ...debtor,
      blockchainTransactionHash: textOrNull('Hash of the blockchain transaction. Null for fiat payments.'),
      customerEmail: customerEmailOrNull,
      paymentCountryCode: paymentCountryCodeOrNull,
    }),
  ),
  'partner.customer.deposit.expired': event(
    'the deposit was not funded in time; terminal, no later completed event follows for the reference',
    closed({
      ...customer,
      ...customerIds,
      currency: textOrNull('Currency of `amount`. Null if unknown.'),
      createdAt: timeOrNull('Time at which the deposit was created.'),
      endToEndId: textOrNull('End-to-end identifier of the expected payment. Null without one.'),
      expiryDate: timeOrNull('Time at which the deposit expired.'),
    }),
  ),
  'partner.customer.withdrawal.requested': event('a withdrawal is requested for a customer', closed(withdrawal)),
  'partner.customer.withdrawal.accepted': event('the withdrawal is accepted for processing', closed(withdrawal)),
  'partner.customer.withdrawal.sent': event("the withdrawal is sent to the beneficiary's bank", closed(withdrawal)),
  'partner.customer.withdrawal.failed': event(
    'the withdrawal could not be completed',
    closed({ ...withdrawal, errorDetails }),
  ),
  'transaction.status.changed': event(
    'a transaction moves to a new status (deposits and withdrawals alike)',
    closed({
      ...common,
      customerGuid: textOrNull('The `guid` of the customer. Null for a transaction of the partner itself.'),
      originatingTransactionReference: textOrNull('Reference of the payout that a refund returns. Null otherwise.'),
      partnerGuid: textOrNull('Your identifier as a partner.'),
      status: text('The new status: `Completed`, `Unsuccessful`, `Cancelled` or `Expired`.'),
      transactionHash: textOrNull('Hash of the blockchain transaction. Null for fiat payments.'),
      transactionType: text('The `type` of the transaction, for example `PartnerCustomerDeposit`.'),
    }),
  ),
  'beneficiary.verification.worsened': extension(
    'a verification of payee was renewed, and its answer is worse than the last one: `CloseMatch` or `NoMatch`',
    closed({
      ...common,
      currency: text('Currency of the beneficiary.'),
      customFields: described(nullable(Type.Record(Type.String(), Type.Unknown())), 'Null.'),
      idempotencyKey: textOrNull('Null.'),
      reference: text('The `id` of the beneficiary.'),
      websiteReference: textOrNull('Null.'),
      beneficiaryAccount: text('IBAN of the beneficiary.'),
      beneficiaryId: text('Identifies the beneficiary.'),
      beneficiaryName: text('Name of the beneficiary that was verified.'),
      matchedName: textOrNull('The name of the account. Null unless `result` is `CloseMatch`.'),
      previousResult: text('The last answer: `Match` or `CloseMatch`.'),
      result: text('The new answer: `CloseMatch` or `NoMatch`.'),
      verificationId: text(
        'Identifies the verification, as in `GET /v1/beneficiaries/verifications/{verificationId}`.',
      ),
    }),
  ),
  'customer.verification.updated': extension(
    'an identity verification of a customer is open at the provider, is decided, lapses, fails or expires',
    closed({
      ...common,
      currency: text('`EUR`: the event is about no money, and `amount` is 0.'),
      customFields: described(nullable(Type.Record(Type.String(), Type.Unknown())), 'Null.'),
      idempotencyKey: textOrNull('Null.'),
      reference: text('The `id` of the identity verification.'),
      websiteReference: textOrNull('Null.'),
      customerGuid: text('The `guid` of the customer.'),
      customerId: text('The `serviceId` of the customer.'),
      kinds: described(Type.Array(Type.String()), 'The proofs that are asked for: `Document`, `Address` or `Company`.'),
      partnerCustomerId: textOrNull('Your identifier of the customer. Null without one.'),
      reason: textOrNull('Reason why it was declined or has failed. Null otherwise.'),
      status: text('`Open`, `Processing`, `Approved`, `Declined`, `Lapsed`, `Expired` or `Failed`.'),
      verificationState: text('State of the customer now: `Complete`, `Incomplete` or `Invalid`.'),
    }),
  ),
  'payout.recall.updated': extension(
    'a recall of a payout is requested, sent, accepted, refused or expired, or its money is booked',
    closed({
      ...common,
      customFields: described(nullable(Type.Record(Type.String(), Type.Unknown())), 'Null.'),
      idempotencyKey: textOrNull('Null.'),
      websiteReference: textOrNull('Null.'),
      payoutId: text('The `id` of the payout.'),
      recallId: text('The `id` of the recall.'),
      reason: text('The reason of the request: a code of ISO 20022, such as `FRAD`.'),
      status: text('`Requested`, `Sent`, `Accepted`, `Refused` or `Expired`.'),
      answerCode: textOrNull("The bank's code of ISO 20022. Null without one."),
      answerDueOn: textOrNull('Last day for the answer, `YYYY-MM-DD`. Null until the bank has the request.'),
      settledAmount: described(
        nullable(Amount),
        'Returned amount, in major units of `settledCurrency`. Null until it is booked.',
      ),
      settledCurrency: text(
        'Currency in which the payout was paid and comes back: `currency`, unless it was bought by a quote.',
      ),
      returnReference: textOrNull('Reference of the transaction that brought the money back. Null until it is booked.'),
    }),
  ),
  'checkout.part.updated': extension(
    'a part of a checkout session is received, or the bank takes it back',
    closed({
      ...customer,
      ...customerIds,
      ...debtor,
      amount: described(Amount, 'Amount of the session in major units of `currency`. Parse it as a decimal.'),
      paidAmount: described(Amount, 'Sum of the parts that count now, in major units of `currency`.'),
      partAmount: described(Amount, 'Amount of the part, in major units of `currency`.'),
      partId: text('The `partId` of the part.'),
      remainingAmount: described(Amount, 'Amount that is still to be paid, in major units of `currency`.'),
      sessionId: session.sessionId,
      status: text('`Held`, `Credited` if it completes the session, or `Reversed`.'),
    }),
  ),
  'checkout.session.opened': extension(
    'a payer opens a checkout session by a payment link',
    closed({
      ...customer,
      ...customerIds,
      amount: described(Amount, 'Amount of the session in major units of `currency`. Parse it as a decimal.'),
      creditorReference: text('Creditor reference that the payer states.'),
      linkId: text('The `linkId` of the payment link.'),
      payerEmail: textOrNull('Email address that the payer has typed. It is not verified. Null without one.'),
      payerName: text('Name that the payer has typed.'),
      sessionId: text('The `sessionId` of the checkout session.'),
    }),
  ),
  'checkout.late.payment.updated': extension(
    'money arrives that does not fit its checkout session, is accepted, goes back, or is left to the operator',
    closed({
      ...common,
      amount: described(Amount, 'Amount of the session in major units of `currency`. Parse it as a decimal.'),
      lateAmount: described(Amount, 'Amount of the money in major units of `lateCurrency`. Parse it as a decimal.'),
      lateCurrency: text('Currency of the money, ISO 4217 alpha-3.'),
      customFields: described(nullable(Type.Record(Type.String(), Type.Unknown())), 'Null.'),
      idempotencyKey: textOrNull('Null.'),
      reference: text('Reference of the transaction of the session.'),
      websiteReference: textOrNull('Your own reference of the session. Null without one.'),
      acceptedReference: textOrNull('Reference of the transaction of accepted money. Null if it is not accepted.'),
      chooseBy: described(Timestamp, 'Time until which you may choose. Then the operator decides.'),
      latePaymentId: text('The `latePaymentId` of the money.'),
      reason: text('`AfterEnd`, `SecondPayment`, `OtherAmount`, `Surplus` or `Incomplete`.'),
      sessionId: text('The `sessionId` of the checkout session.'),
      status: text('`Waiting`, `Accepted`, `Returning`, `Returned` or `WithOperator`.'),
    }),
  ),
  'checkout.refund.updated': extension(
    'a refund of a checkout session is created, completed, failed, returned or cancelled',
    closed({
      ...common,
      customFields: described(nullable(Type.Record(Type.String(), Type.Unknown())), 'Null.'),
      idempotencyKey: textOrNull('The idempotency key of the refund.'),
      reference: text('Reference of the transaction of the refund.'),
      websiteReference: textOrNull('Null.'),
      refundId: text('The `refundId` of the refund.'),
      sessionId: text('The `sessionId` of the checkout session.'),
      status: text(
        '`Pending` or `PendingApproval` when it is created; `Completed`, `Failed`, `Returned` or `Cancelled`.',
      ),
    }),
  ),
  'account.balance.crossed': extension(
    'a balance crosses the threshold of a monitor, or comes back',
    closed({
      ...common,
      amount: described(Amount, 'The balance after the entry, in major units of `currency`. Parse it as a decimal.'),
      currency: text('Currency of the balance: ISO 4217 alpha-3, or a token code.'),
      customFields: described(nullable(Type.Record(Type.String(), Type.Unknown())), 'Null.'),
      idempotencyKey: textOrNull('Null.'),
      reference: text('The `id` of the monitor.'),
      websiteReference: textOrNull('The `description` of the monitor. Null without one.'),
      accountId: text('The `id` of the balance.'),
      crossedAt: described(Timestamp, 'When the money moved, as in the entries of the account.'),
      direction: text('The direction of the monitor: `Below` or `Above`.'),
      kind: text('`Triggered`: the balance crossed `threshold`. `Rearmed`: it came back to `rearmAt`.'),
      measure: text('Watched sum: `Posted` or `Available`.'),
      rearmAt: described(Amount, 'Balance that rearms the monitor, in major units.'),
      threshold: described(Amount, 'The threshold of the monitor, in major units.'),
      transactionReference: textOrNull(
        'Reference of the transaction that moved the money. Null if the balance stood so when the monitor started.',
      ),
    }),
  ),
  'standing.order.failed': extension(
    'a payout of a standing order was not made on its date: it is tried again, has failed or was skipped',
    closed({
      ...standingOrder,
      date: text('Date of the schedule, `YYYY-MM-DD`.'),
      nextAttemptAt: timeOrNull('When it is tried again. Null if it is not.'),
      problemCode: textOrNull('The code of the refusal. Null if it was skipped.'),
      problemDetail: textOrNull('Explanation of the refusal, for people. Null if it was skipped.'),
      status: text('`Retrying`, sent once for a date; `Failed` or `Skipped`.'),
    }),
  ),
  'standing.order.ended': extension(
    'a standing order ends',
    closed({
      ...standingOrder,
      endReason: text('`Completed`, `Cancelled` or `BeneficiaryDeleted`.'),
    }),
  ),
} as const

export type EventName = keyof typeof events
export type EventData<N extends EventName> = Static<(typeof events)[N]['data']>
export const eventNames = Object.keys(events) as readonly EventName[]
export const isEventName = (name: string): name is EventName => Object.hasOwn(events, name)
/**
 * Returns the field of a subscription that delivers an event type. Interface document, Endpoints, rule 3: `events` delivers only the event
 * types of the document. Extensions have a separate field. In both fields "*" means all types, also later ones. The feed has every event.
 * Undefined: the event type does not exist.
 */
export function subscriptionField(name: EventName): SubscriptionField
export function subscriptionField(name: string): SubscriptionField | undefined
export function subscriptionField(name: string): SubscriptionField | undefined {
  return isEventName(name) ? subscriptionFields[events[name].source] : undefined
}
const subscriptionFields = { documented: 'events', extension: 'extensionEvents' } as const
export type SubscriptionField = (typeof subscriptionFields)[keyof typeof subscriptionFields]
/** Names of event types, or only "*", in each field of a subscription. */
export type SubscribedEvents = Readonly<Record<SubscriptionField, readonly string[]>>

/** Contract page, Silences: the values of `paymentMethod` in events. */
export const paymentMethods = ['SepaCreditTransfer', 'SepaInstant', 'Swift', 'Wallet', 'Internal'] as const
export type PaymentMethod = (typeof paymentMethods)[number]
