/** Samples of the events of withdrawals: a payment that never was, told by the code that tells the real ones. */
import type { EventName } from '@partner-payments/wire'
import { newId } from '../../kernel/index.ts'
import { samplePayer } from '../customers/index.ts'
import type { SampleContext, Samples } from '../webhooks/index.ts'
import { failed, withdrawal } from './events.ts'
import type { PayoutRow } from './store.ts'

const samplePayout = ({ partnerId, now }: SampleContext): PayoutRow => ({
  partnerId,
  id: newId(),
  operation: 'sample',
  idempotencyKey: 'sample-key',
  requestFingerprint: '',
  transactionId: newId(),
  reference: 'SAMPLE-WITHDRAWAL',
  reserveId: newId(),
  beneficiaryId: newId(),
  customerId: newId(),
  amount: 2_500n,
  currency: 'EUR',
  creditorName: 'Grace Hopper',
  creditorAccount: 'NL91ABNA0417164300',
  creditorBic: 'ABNANL2A',
  creditorCountry: 'NL',
  remittance: 'Sample',
  rail: 'Sepa',
  endToEndId: 'NOTPROVIDED',
  ipAddress: '192.0.2.1',
  simulatedOutcome: null,
  status: 'Pending',
  errorKey: null,
  errorDetails: null,
  sendAttempts: 0,
  dueAt: null,
  leaseId: null,
  createdAt: now,
  updatedAt: now,
})

const sample = (context: SampleContext) => withdrawal(samplePayout(context), samplePayer(context.now))

export const withdrawalSamples: Samples<Extract<EventName, `partner.customer.withdrawal.${string}`>> = {
  'partner.customer.withdrawal.requested': sample,
  'partner.customer.withdrawal.accepted': sample,
  'partner.customer.withdrawal.sent': sample,
  'partner.customer.withdrawal.failed': (context) => failed(sample(context), 'The account is closed.'),
}
