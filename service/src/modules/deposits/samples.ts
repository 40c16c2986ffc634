/** Samples of the events of deposits: a payment that never was, told by the code that tells the real ones. */
import type { EventName } from '@partner-payments/wire'
import { after, dayMs, newId } from '../../kernel/index.ts'
import { sampleCustomer } from '../customers/index.ts'
import type { SampleContext, Samples } from '../webhooks/index.ts'
import * as events from './events.ts'
import type { DepositRow } from './store.ts'

const debtor = {
  account: 'DE89370400440532013000',
  bic: 'COBADEFFXXX',
  name: 'Ada Lovelace',
  countryCode: 'DE',
  address: null,
}

const sampleDeposit = ({ partnerId, now }: SampleContext): DepositRow => ({
  partnerId,
  id: newId(),
  operation: 'sample',
  idempotencyKey: null,
  requestFingerprint: '',
  transactionId: newId(),
  reference: 'SAMPLE-DEPOSIT',
  customerId: newId(),
  amount: 10_000n,
  currency: 'EUR',
  status: 'Created',
  sessionId: newId(),
  endToEndId: 'NOTPROVIDED',
  paymentMethod: 'SepaCreditTransfer',
  paymentCountry: 'DE',
  ipAddress: '192.0.2.1',
  websiteReference: 'sample-order',
  customFields: '{"order":"sample"}',
  debtor: JSON.stringify(debtor),
  errorDetails: null,
  expiresAt: after(now, dayMs),
  expiryDate: after(now, dayMs),
  createdAt: now,
  updatedAt: now,
})

export const depositSamples: Samples<Extract<EventName, `partner.customer.deposit.${string}`>> = {
  'partner.customer.deposit.created': (context) =>
    events.created(sampleDeposit(context), sampleCustomer(context.now), context.partnerName),
  'partner.customer.deposit.initiated': (context) =>
    events.initiated(sampleDeposit(context), sampleCustomer(context.now)),
  'partner.customer.deposit.submitted': (context) =>
    events.submitted(sampleDeposit(context), sampleCustomer(context.now)),
  'partner.customer.deposit.accepted': (context) =>
    events.accepted(sampleDeposit(context), sampleCustomer(context.now), debtor),
  'partner.customer.deposit.failed': (context) =>
    events.failed(sampleDeposit(context), sampleCustomer(context.now), 'The payment was refused.'),
  'partner.customer.deposit.completed': (context) =>
    events.completed(sampleDeposit(context), sampleCustomer(context.now), debtor),
  'partner.customer.deposit.expired': (context) => events.expired(sampleDeposit(context), sampleCustomer(context.now)),
}
