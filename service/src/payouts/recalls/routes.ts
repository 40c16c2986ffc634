/** Maps API operations to module operations and response shapes, for recalls. */
import { recalls as wire } from '@partner-payments/wire'
import { type Handlers, createRecordWriter } from '../../kernel/api/index.ts'
import type { Idempotency } from '../../idempotency/index.ts'
import { explainReason } from '../../iso20022/index.ts'
import { toJsonAmount } from '../../kernel/index.ts'
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

const writeRecall = createRecordWriter(wire.PayoutRecall)
const toWire = ({ amount, currency, settledAmount, answerCode, ...recall }: RecallRow) =>
  writeRecall({
    ...recall,
    text: recall.details,
    amount: toJsonAmount(amount, currency),
    currency,
    requestedBy: recall.requestedName,
    answer: answerCode === null ? null : { code: answerCode, text: explainReason(answerCode).details },
    bankText: recall.answerText,
    settledAmount: settledAmount === null ? null : toJsonAmount(settledAmount, currency),
    fee: settledAmount === null ? null : toJsonAmount(amount - settledAmount, currency),
  })
