/** Maps API operations to module operations and response shapes. */
import { type RawNumber, rawNumber, type ResponseOf } from '@partner-payments/wire'
import { replayHeaders } from '../idempotency/index.ts'
import type { Handlers } from '../kernel/api/index.ts'
import { toJsonAmount } from '../kernel/index.ts'
import { firstSettlementDay } from '../rails/index.ts'
import { type Rate, formatRate } from '../rates/index.ts'
import type { Fx, QuoteView } from './service.ts'
import type { Conversion, QuoteRow } from './store.ts'

const writeRate = (rate: Rate): RawNumber => rawNumber(formatRate(rate))

export function fxRoutes(fx: Fx): Handlers<'fx'> {
  return {
    getFxRates: async ({ query }) => {
      const { base, sheet, rates } = await fx.rates(query.base)
      const { source, asOf } = sheet
      const written = rates.map((each) => ({ ...each, midRate: writeRate(each.midRate), rate: writeRate(each.rate) }))
      return { body: { base, source, asOf: asOf.toISOString(), rates: written } }
    },
    createFxQuote: async ({ caller, body, idempotencyKey, nonce }) => {
      const { row, replayed } = await fx.quote(caller, body, idempotencyKey, nonce)
      return { body: toQuote(row), ...(replayed ? { headers: replayHeaders } : {}) }
    },
    getFxQuote: async ({ caller, params }) => ({ body: toQuote(await fx.get(caller.partnerId, params.quoteId)) }),
    createFxConversion: async ({ caller, body, ip, nonce }) => {
      const { row, replayed } = await fx.convert(caller, body, ip, nonce)
      return {
        body: toConversion(row),
        headers: {
          location: `/v1/transactions/${encodeURIComponent(row.reference)}`,
          ...(replayed ? replayHeaders : {}),
        },
      }
    },
  }
}

type ExchangedAmounts = Pick<
  QuoteRow,
  'sellCurrency' | 'sellAmount' | 'buyCurrency' | 'buyAmount' | 'rate' | 'feeAmount' | 'createdAt'
>

const toExchanged = ({
  sellCurrency,
  sellAmount,
  buyCurrency,
  buyAmount,
  rate,
  feeAmount,
  createdAt,
}: ExchangedAmounts) => ({
  sellCurrency,
  sellAmount: toJsonAmount(sellAmount, sellCurrency),
  buyCurrency,
  buyAmount: toJsonAmount(buyAmount, buyCurrency),
  rate: rawNumber(rate),
  fee: { amount: toJsonAmount(feeAmount, sellCurrency), currency: sellCurrency },
  createdAt: createdAt.toISOString(),
  valueDate: firstSettlementDay([sellCurrency, buyCurrency], createdAt.toISOString().slice(0, 10)),
})

export function toQuote({ row, status, refusal }: QuoteView): ResponseOf<'getFxQuote'> {
  const { buyCurrency, marginAmount, marginBasisPoints, customerId, acceptedBy } = row
  return {
    id: row.id,
    status,
    kind: row.kind,
    ...toExchanged(row),
    midRate: rawNumber(row.midRate),
    margin: {
      amount: toJsonAmount(marginAmount, buyCurrency),
      currency: buyCurrency,
      basisPoints: marginBasisPoints,
    },
    expiresAt: row.expiresAt.toISOString(),
    ...(customerId === null ? {} : { customerId }),
    ...(acceptedBy === null ? {} : { acceptedBy }),
    ...(refusal === undefined
      ? {}
      : {
          conversionRefusal:
            refusal.code === 'customer_not_verified' ? refusal.code : ('balance_limit_exceeded' as const),
        }),
  }
}

const toConversion = (row: Conversion): ResponseOf<'createFxConversion'> => ({
  reference: row.reference,
  status: 'Completed',
  quoteId: row.quoteId,
  ...toExchanged(row),
  idempotencyKey: row.idempotencyKey,
})
