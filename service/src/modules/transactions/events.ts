/** Domain -> event `data`. */
import type { EventData, TransactionStatus } from '@partner-payments/wire'
import { writeAmount } from '../../kernel/index.ts'
import type { Moved } from './store.ts'

export function statusChanged(
  row: Moved,
  status: TransactionStatus,
  customFields: Record<string, unknown> | null,
): Omit<EventData<'transaction.status.changed'>, 'eventType' | 'timestamp'> {
  return {
    amount: writeAmount(row.amount, row.currency),
    currency: row.currency,
    customFields,
    idempotencyKey: row.idempotencyKey,
    reference: row.reference,
    websiteReference: row.websiteReference,
    customerGuid: row.customerId,
    originatingTransactionReference: row.originatingReference,
    partnerGuid: row.partnerId,
    status,
    transactionHash: row.transactionHash,
    transactionType: row.type,
  }
}
