/** A sample of the event of transactions: a payment that never was, told by the code that tells the real ones. */
import { newId } from '../../kernel/index.ts'
import type { SampleContext, Samples } from '../webhooks/index.ts'
import { statusChanged } from './events.ts'
import type { TransactionRow } from './store.ts'

const sampleTransaction = ({ partnerId, now }: SampleContext): TransactionRow => ({
  partnerId,
  id: newId(),
  reference: 'SAMPLE-TRANSACTION',
  amount: 10_000n,
  currency: 'EUR',
  category: 'Deposit',
  direction: 'Inward',
  method: 'Fiat',
  partyType: 'Customer',
  type: 'PartnerCustomerDeposit',
  status: 'Completed',
  errorKey: null,
  rail: 'Sepa',
  customerId: newId(),
  beneficiaryId: null,
  beneficiaryAlias: null,
  endToEndId: 'NOTPROVIDED',
  sessionId: null,
  websiteReference: 'sample-order',
  userReference: null,
  idempotencyKey: null,
  description: null,
  originatingReference: null,
  creditor: null,
  debtor: null,
  partnerUser: null,
  timeline: '[]',
  createdAt: now,
  updatedAt: now,
})

export const transactionSamples: Samples<'transaction.status.changed'> = {
  'transaction.status.changed': (context) =>
    statusChanged(sampleTransaction(context), 'Completed', { order: 'sample' }),
}
