/** Operation id -> verb -> shape, for recalls. */
import type { ResponseOf } from '@partner-payments/wire'
import type { Handlers } from '../../api/index.ts'
import type { Idempotency } from '../../idempotency/index.ts'
import { reasonOf } from '../../iso20022/index.ts'
import { writeAmount } from '../../kernel/index.ts'
import type { Recalls } from './service.ts'
import type { RecallRow } from './store.ts'

export const recallsRoutes = (recalls: Recalls, idempotency: Idempotency): Handlers<'recalls'> => ({
  createPayoutRecall: idempotency.handler('createPayoutRecall', async ({ caller, params, body }, tx) => {
    const recall = await recalls.create(caller, params.id, body, tx)
    return { body: toWire(recall), created: `the recall ${recall.id}`, customerId: recall.customerId }
  }),
  listPayoutRecalls: async ({ caller, params }) => ({
    body: { data: (await recalls.list(caller.partnerId, params.id)).map(toWire) },
  }),
  getPayoutRecall: async ({ caller, params }) => ({
    body: toWire(await recalls.get(caller.partnerId, params.id, params.recallId)),
  }),
})

function toWire(recall: RecallRow): ResponseOf<'getPayoutRecall'> {
  const { amount, currency, details, answerCode, answerDueOn, settledAmount, returnReference } = recall
  return {
    id: recall.id,
    payoutId: recall.payoutId,
    payoutReference: recall.payoutReference,
    reason: recall.reason,
    ...(details === null ? {} : { text: details }),
    status: recall.status,
    amount: writeAmount(amount, currency),
    currency,
    requestedAt: recall.requestedAt.toISOString(),
    requestedBy: recall.requestedName,
    requestDueOn: recall.requestDueOn,
    ...times(recall),
    ...(answerDueOn === null ? {} : { answerDueOn }),
    ...(answerCode === null ? {} : { answer: { code: answerCode, text: reasonOf(answerCode).details } }),
    ...(settledAmount === null
      ? {}
      : { settledAmount: writeAmount(settledAmount, currency), fee: writeAmount(amount - settledAmount, currency) }),
    ...(returnReference === null ? {} : { returnReference }),
  }
}

/** The times that are set. */
function times({ sentAt, answeredAt, expiredAt, returnedAt }: RecallRow) {
  return {
    ...(sentAt === null ? {} : { sentAt: sentAt.toISOString() }),
    ...(answeredAt === null ? {} : { answeredAt: answeredAt.toISOString() }),
    ...(expiredAt === null ? {} : { expiredAt: expiredAt.toISOString() }),
    ...(returnedAt === null ? {} : { returnedAt: returnedAt.toISOString() }),
  }
}
