/** Samples of all events, for test deliveries and documentation. A test validates each against the contract. */
import type { EventData, EventName } from '@partner-payments/wire'
import { after, dayMs, minuteMs, newId, randomText, toJsonAmount } from '../kernel/index.ts'

type SampleContext = { readonly partnerId: string; readonly partnerName: string; readonly now: Date }

/** The fields of an event that its module sets. The event outbox adds the others. */
export type EventPayload<N extends EventName> = Omit<EventData<N>, 'eventType' | 'timestamp'>

const common = (reference: string, minor: bigint) => ({
  amount: toJsonAmount(minor, 'EUR'),
  currency: 'EUR',
  customFields: { order: 'sample' } as Record<string, unknown>,
  idempotencyKey: null,
  reference,
  websiteReference: 'sample-order',
})

/** RFC 2606 reserves the domain: no mail can be delivered. */
const customerEmail = 'ada@example.com'
/** RFC 5737: an address of a documentation range. */
const ipAddress = '192.0.2.1'

const deposit = () => ({
  ...common('SAMPLE-DEPOSIT', 10_000n),
  customerId: `cus_${randomText(16)}`,
  customerGuid: newId(),
  partnerCustomerId: 'sample-customer',
})

const session = () => ({
  endToEndId: 'NOTPROVIDED',
  paymentMethod: 'SepaCreditTransfer',
  sessionId: newId(),
  paymentCountryCode: 'DE',
})

const debtor = {
  debtorAccount: 'DE89370400440532013000',
  debtorAddress: null,
  debtorBic: 'COBADEFFXXX',
  debtorCountryCode: 'DE',
  debtorName: 'Ada Lovelace',
}

const withdrawal = () => ({
  ...common('SAMPLE-WITHDRAWAL', 2_500n),
  customFields: null,
  idempotencyKey: 'sample-key',
  websiteReference: null,
  customerId: `cus_${randomText(16)}`,
  creditorAccount: 'NL91ABNA0417164300',
  creditorAddress: null,
  creditorBic: 'ABNANL2A',
  creditorCountryCode: 'NL',
  creditorName: 'Grace Hopper',
  customerEmail,
  customerIpAddress: ipAddress,
  customerIpCountryCode: 'GB',
  withdrawalReason: 'Sample',
  customerGuid: newId(),
  partnerCustomerId: 'sample-customer',
})

const standingOrder = () => {
  const id = newId()
  return {
    ...common(id, 2_500n),
    customFields: null,
    websiteReference: 'Rent',
    beneficiaryId: newId(),
  }
}

const samples: { readonly [N in EventName]: (context: SampleContext) => EventPayload<N> } = {
  'partner.customer.deposit.created': ({ partnerName }) => ({
    ...deposit(),
    ...session(),
    customerCitizenshipCountryCode: 'GB',
    customerEmail,
    customerFullName: 'Ada Lovelace',
    customerResidenceAddress: '12 St James Square, London',
    partnerName,
  }),
  'partner.customer.deposit.initiated': () => ({
    ...deposit(),
    ...session(),
    customerEmail,
    userIpAddress: ipAddress,
  }),
  'partner.customer.deposit.submitted': () => ({
    ...deposit(),
    ...session(),
    customerEmail,
    customerIpAddress: ipAddress,
  }),
  'partner.customer.deposit.accepted': () => ({ ...deposit(), ...session(), ...debtor, customerEmail }),
  'partner.customer.deposit.failed': () => ({
    ...deposit(),
    ...session(),
    customerEmail,
    customerIpAddress: ipAddress,
    errorDetails: 'The payment was refused.',
  }),
  'partner.customer.deposit.completed': () => ({
    ...deposit(),
    ...session(),
    ...debtor,
    customerEmail,
    blockchainTransactionHash: null,
  }),
  'partner.customer.deposit.expired': ({ now }) => ({
    ...deposit(),
    createdAt: now.toISOString(),
    endToEndId: 'NOTPROVIDED',
    expiryDate: after(now, dayMs).toISOString(),
  }),
  'partner.customer.withdrawal.requested': withdrawal,
  'partner.customer.withdrawal.accepted': withdrawal,
  'partner.customer.withdrawal.sent': withdrawal,
  'partner.customer.withdrawal.failed': () => ({ ...withdrawal(), errorDetails: 'The account is closed.' }),
  'transaction.status.changed': ({ partnerId }) => ({
    ...common('SAMPLE-TRANSACTION', 10_000n),
    customerGuid: newId(),
    originatingTransactionReference: null,
    partnerGuid: partnerId,
    status: 'Completed',
    transactionHash: null,
    transactionType: 'PartnerCustomerDeposit',
  }),
  'beneficiary.verification.worsened': () => {
    const beneficiaryId = newId()
    return {
      ...common(beneficiaryId, 0n),
      customFields: null,
      websiteReference: null,
      beneficiaryAccount: 'NL91ABNA0417164300',
      beneficiaryId,
      beneficiaryName: 'Grace Hoper',
      matchedName: 'Grace Hopper',
      previousResult: 'Match',
      result: 'CloseMatch',
      verificationId: newId(),
    }
  },
  'customer.verification.updated': () => ({
    ...common(newId(), 0n),
    customFields: null,
    websiteReference: null,
    customerGuid: newId(),
    customerId: `cus_${randomText(16)}`,
    kinds: ['Document'],
    partnerCustomerId: 'sample-customer',
    reason: null,
    status: 'Approved',
    verificationState: 'Complete',
  }),
  'payout.recall.updated': () => ({
    ...common('SAMPLE-WITHDRAWAL', 2_500n),
    customFields: null,
    websiteReference: null,
    payoutId: newId(),
    recallId: newId(),
    reason: 'FRAD',
    status: 'Refused',
    answerCode: 'NOAS',
    answerDueOn: '2026-02-20',
    settledAmount: null,
    settledCurrency: 'EUR',
    returnReference: null,
  }),
  'checkout.part.updated': () => ({
    ...deposit(),
    ...debtor,
    partId: newId(),
    partAmount: toJsonAmount(4_000n, 'EUR'),
    paidAmount: toJsonAmount(4_000n, 'EUR'),
    remainingAmount: toJsonAmount(6_000n, 'EUR'),
    sessionId: newId(),
    status: 'Held',
  }),
  'checkout.session.opened': () => ({
    ...common('SAMPLE-SESSION', 2500n),
    ...{
      customerId: 'cus_sample',
      customerGuid: newId(),
      partnerCustomerId: null,
      creditorReference: 'RF18539007547034',
    },
    ...{ linkId: newId(), payerEmail: null, payerName: 'Ada Lovelace', sessionId: newId() },
  }),
  'checkout.late.payment.updated': ({ now }) => ({
    ...common('SAMPLE-SESSION', 4990n),
    ...{ customFields: null, idempotencyKey: null, acceptedReference: null, chooseBy: now.toISOString() },
    ...{ lateAmount: toJsonAmount(4_990n, 'EUR'), lateCurrency: 'EUR' },
    ...{ latePaymentId: newId(), reason: 'AfterEnd', sessionId: newId(), status: 'Waiting' },
  }),
  'checkout.refund.updated': () => ({
    ...common('SAMPLE-REFUND', 990n),
    customFields: null,
    websiteReference: null,
    refundId: newId(),
    sessionId: newId(),
    status: 'Completed',
  }),
  'account.balance.crossed': ({ now }) => ({
    ...common(newId(), 95_000n),
    customFields: null,
    websiteReference: 'Float is low',
    accountId: newId(),
    crossedAt: now.toISOString(),
    direction: 'Below',
    kind: 'Triggered',
    measure: 'Posted',
    rearmAt: toJsonAmount(150_000n, 'EUR'),
    threshold: toJsonAmount(100_000n, 'EUR'),
    transactionReference: 'SAMPLE-WITHDRAWAL',
  }),
  'standing.order.failed': ({ now }) => ({
    ...standingOrder(),
    date: now.toISOString().slice(0, 10),
    nextAttemptAt: after(now, 15 * minuteMs).toISOString(),
    problemCode: 'insufficient_funds',
    problemDetail: 'The available balance is lower than the amount.',
    status: 'Retrying',
  }),
  'standing.order.ended': () => ({ ...standingOrder(), endReason: 'Completed' }),
}

/** Returns the sample of an event type, without `eventType` and `timestamp`. */
export const sampleEvent = <N extends EventName>(type: N, context: SampleContext): EventPayload<N> =>
  samples[type](context)
