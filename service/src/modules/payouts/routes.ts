/** Operation id -> service call and shape. */
import type { ResponseOf } from '@partner-payments/wire'
import type { Handlers } from '../../api/index.ts'
import { writeAmount } from '../../kernel/index.ts'
import type { Payouts } from './service.ts'
import type { PayoutRow } from './store.ts'

export function payoutsRoutes(payouts: Payouts): Handlers<'payouts'> {
  return {
    createFiatPayout: async ({ caller, body, ip, nonce }) => {
      const { payout, replayed } = await payouts.create(caller, body, ip, nonce)
      return {
        // A replay repeats the first answer, so that the status is Pending whatever the payout is now.
        body: { ...documented(payout), status: 'Pending', idempotencyKey: body.idempotencyKey },
        headers: headersOf(payout, replayed),
      }
    },
    createFxPayout: async ({ caller, body, ip }) => {
      const { payout, replayed } = await payouts.createFx(caller, body, ip)
      const { idempotencyKey } = body
      const answer = { ...documented(payout), ...soldFor(payout), status: 'Pending', idempotencyKey } as const
      return { body: answer, headers: headersOf(payout, replayed) }
    },
    getPayout: async ({ caller, params }) => ({ body: toRecord(await payouts.get(caller.partnerId, params.id)) }),
    cancelPayout: async ({ caller, params }) => ({ body: toRecord(await payouts.cancel(caller.partnerId, params.id)) }),
    listPayouts: async ({ caller, query }) => {
      const page = await payouts.list(caller.partnerId, query)
      return { body: { ...page, data: page.data.map(toRecord) } }
    },
  }
}

const headersOf = ({ reference }: PayoutRow, replayed: boolean) => ({
  location: `/v1/transactions/${encodeURIComponent(reference)}`,
  ...(replayed ? { 'idempotent-replayed': 'true' } : {}),
})

const soldFor = ({ soldAmount, soldCurrency, quoteId }: PayoutRow) =>
  soldAmount === null || soldCurrency === null || quoteId === null
    ? {}
    : { sellAmount: writeAmount(soldAmount, soldCurrency), sellCurrency: soldCurrency, quoteId }

function documented(payout: PayoutRow) {
  return {
    amount: writeAmount(payout.amount, payout.currency),
    beneficiaryAccount: payout.creditorAccount,
    beneficiaryName: payout.creditorName,
    currency: payout.currency,
    reference: payout.reference,
    status: payout.status,
  }
}

function toRecord(payout: PayoutRow): ResponseOf<'getPayout'> {
  return {
    id: payout.id,
    ...documented(payout),
    ...soldFor(payout),
    endToEndId: payout.endToEndId,
    rail: payout.rail,
    createdAt: payout.createdAt.toISOString(),
    updatedAt: payout.updatedAt.toISOString(),
    ...(payout.idempotencyKey === null ? {} : { idempotencyKey: payout.idempotencyKey }),
    ...(payout.beneficiaryId === null ? {} : { beneficiaryId: payout.beneficiaryId }),
    ...(payout.customerId === null ? {} : { customerId: payout.customerId }),
    ...(payout.transactionHash === null ? {} : { transactionHash: payout.transactionHash }),
    ...(payout.errorKey === null ? {} : { errorKey: payout.errorKey }),
  }
}
