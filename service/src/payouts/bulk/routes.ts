/** Maps API operations to module operations and response shapes, for bulks. */
import { bulkPayouts as wire, type ResponseOf } from '@partner-payments/wire'
import { type Handlers, writePage, createRecordWriter } from '../../kernel/api/index.ts'
import { toJsonAmount } from '../../kernel/index.ts'
import { type BulkDecision, toProblem, type BulkAwaitingApproval } from '../index.ts'
import type { Bulk, BulkItem, BulkPayouts } from './service.ts'

export function bulkPayoutsRoutes(bulkPayouts: BulkPayouts): Handlers<'bulkPayouts'> {
  return {
    createBulkPayout: async ({ caller, body, ip }) => toAnswer(await bulkPayouts.create(caller, body, ip)),
    createBulkPayoutFromFile: async ({ caller, body, ip }) =>
      toAnswer(await bulkPayouts.createFromFile(caller, body, ip)),
    listBulkPayouts: async ({ caller, query }) => writePage(await bulkPayouts.list(caller.partnerId, query), toWire),
    getBulkPayout: async ({ caller, params }) => ({
      body: toWire(await bulkPayouts.get(caller.partnerId, params.bulkId)),
    }),
    listBulkPayoutItems: async ({ caller, params, query }) => {
      const items = await bulkPayouts.items(caller.partnerId, params.bulkId, query.status)
      return { body: { data: items.map(toItem) } }
    },
    getBulkPayoutApproval: async ({ caller, params }) => ({
      body: toApproval(await bulkPayouts.waiting(caller.partnerId, params.bulkId)),
    }),
    approveBulkPayout: async ({ caller, params, body }) => ({
      body: toDecision(await bulkPayouts.approve(caller, params.bulkId, body.payouts)),
    }),
    rejectBulkPayout: async ({ caller, params, body }) => ({
      body: toDecision(await bulkPayouts.reject(caller, params.bulkId, body.payouts, body.reason)),
    }),
  }
}

const toApproval = (waiting: BulkAwaitingApproval | undefined): ResponseOf<'getBulkPayoutApproval'> =>
  waiting === undefined
    ? { payouts: 0, totals: [], needsPasskey: false }
    : {
        payouts: waiting.payouts.length,
        totals: waiting.totals.map(({ amount, currency }) => ({ amount: toJsonAmount(amount, currency), currency })),
        needsPasskey: waiting.needsPasskey,
        expiresAt: waiting.expiresAt.toISOString(),
      }

const toDecision = ({ decided, refused }: BulkDecision): ResponseOf<'approveBulkPayout'> => ({
  payouts: decided,
  refused: refused.map(({ payoutId, refusal }) => {
    const { problemCode: code, problemDetail: detail } = toProblem(refusal)
    return { payoutId, problem: { code, detail } }
  }),
})

const toAnswer = ({ bulk, replayed }: { readonly bulk: Bulk; readonly replayed: boolean }) => ({
  body: toWire(bulk),
  headers: {
    location: `/v1/payouts/bulk/${bulk.id}`,
    ...(replayed ? { 'idempotent-replayed': 'true' } : {}),
  },
})

const toWire = createRecordWriter(wire.BulkPayout)

const writeItem = createRecordWriter(wire.BulkPayoutItem)
const toItem = ({ reference, transactionReference, problemCode, problemDetail, ...item }: BulkItem) =>
  writeItem({
    ...item,
    amount: toJsonAmount(item.amount, item.currency),
    userReference: reference,
    reference: transactionReference,
    problem: problemCode === null ? null : { code: problemCode, detail: problemDetail ?? '' },
  })
