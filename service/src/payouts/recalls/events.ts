/** The data of the event of a recall. */
import type { EventData } from '@partner-payments/wire'
import type { NewEvent } from '../../events/index.ts'
import { writeAmount } from '../../kernel/index.ts'
import { leftBalance, type PayoutRow } from '../index.ts'
import type { RecallRow } from './store.ts'

type Data = Omit<EventData<'payout.recall.updated'>, 'eventType' | 'timestamp'>

const dataOf = (recall: RecallRow, payout: PayoutRow): Data => ({
  ...leftBalance(payout),
  customFields: null,
  idempotencyKey: null,
  reference: recall.payoutReference,
  websiteReference: null,
  payoutId: recall.payoutId,
  recallId: recall.id,
  reason: recall.reason,
  status: recall.status,
  answerCode: recall.answerCode,
  answerDueOn: recall.answerDueOn,
  settledAmount: recall.settledAmount === null ? null : writeAmount(recall.settledAmount, recall.currency),
  settledCurrency: recall.currency,
  returnReference: recall.returnReference,
})

export const recallUpdated = (recall: RecallRow, payout: PayoutRow, now: Date): NewEvent<'payout.recall.updated'> => ({
  partnerId: recall.partnerId,
  type: 'payout.recall.updated',
  occurredAt: now,
  data: dataOf(recall, payout),
})
