/** Makes quotes: concurrent requests share a transaction and the newest sheet. */
import type { BodyOf } from '@partner-payments/wire'
import { createNonceBatcher } from '../access/index.ts'
import {
  type Caller,
  notFound,
  type OpenNonce,
  readAmount,
  readCurrency,
  refuseField,
  Refusal,
} from '../kernel/api/index.ts'
import { after, amountMajorMax, amountText, newId, partnerKey } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'
import { midRateOf, rateText, type Sheet } from '../rates/index.ts'
import type { FxDeps } from './deps.ts'
import { answerOnce, keysOf, type KeyedCall, type Made, type Outcome, submitUntilAnswered } from './keys.ts'
import { type GivenAmount, type Pair, priceOf, quoteLifeMs, type QuoteKind } from './rules.ts'
import * as store from './store.ts'
import { termsOf } from './terms.ts'

export type QuoteRequest = Pair & {
  readonly partnerId: string
  readonly given: GivenAmount
  readonly kind: QuoteKind
  readonly customerId: string | null
}
type QuoteCall = QuoteRequest & KeyedCall & { readonly nonce: OpenNonce | undefined }

const quotesPerBatchMax = 128
const batchesUnderWayMax = 2
const secondBatchMin = 32

export function createQuoting(deps: FxDeps) {
  const { db, rates } = deps
  const batched = createNonceBatcher({
    db,
    read: async (tx: Tx, calls: readonly QuoteCall[]) => {
      const keys = keysOf(calls)
      const [found, sheet] = await Promise.all([
        keys.length > 0 ? store.quotesByKeys(tx, keys) : [],
        rates.current(tx).catch(refusalOnly),
      ])
      return { found, sheet }
    },
    work: (tx, calls, { found, sheet }) =>
      answerOnce({
        calls,
        found,
        keyed,
        pointer: '/headers/Idempotency-Key',
        work: (firstCalls) => makeQuotes(deps, tx, firstCalls, sheet),
      }),
    callsMax: quotesPerBatchMax,
    batchesMax: batchesUnderWayMax,
    secondBatchMin,
    planOnce: true,
    partnerOf: ({ partnerId }) => partnerId,
  })
  return async (
    caller: Caller,
    body: BodyOf<'createFxQuote'>,
    idempotencyKey: string | undefined,
    nonce?: OpenNonce,
  ): Promise<Made<store.QuoteRow>> => {
    const request = await readRequest(deps, caller.partnerId, body)
    const keyOfRequest = { idempotencyKey: idempotencyKey ?? null, requestFingerprint: fingerprintOf(request) }
    return submitUntilAnswered(batched, { ...request, ...keyOfRequest, nonce })
  }
}

function refusalOnly(error: unknown): Refusal {
  if (error instanceof Refusal) return error
  throw error
}

/** A quote has no reference: a refusal names its id. */
const keyed = ({ partnerId, id, idempotencyKey, requestFingerprint }: store.QuoteRow) => ({
  partnerId,
  idempotencyKey,
  requestFingerprint: requestFingerprint ?? '',
  reference: `the quote ${id}`,
})

const fingerprintOf = ({ sellCurrency, buyCurrency, given, kind, customerId }: QuoteRequest): string => {
  const amount = 'sellAmount' in given ? ['sell', given.sellAmount] : ['buy', given.buyAmount]
  return JSON.stringify([sellCurrency, buyCurrency, ...amount.map(String), kind, customerId])
}

/** Refuses: validation_failed, currency_not_supported, not_found (/customerId). */
async function readRequest(
  { db, customers }: FxDeps,
  partnerId: string,
  body: BodyOf<'createFxQuote'>,
): Promise<QuoteRequest> {
  const sellCurrency = readCurrency(body.sellCurrency, '/sellCurrency')
  const buyCurrency = readCurrency(body.buyCurrency, '/buyCurrency')
  if (sellCurrency === buyCurrency) throw invalid('/buyCurrency', 'must differ from sellCurrency')
  const given = readGiven(body, { sellCurrency, buyCurrency })
  const customerId = body.customerId === undefined ? null : await customers.presentIdOf(db, partnerId, body.customerId)
  if (customerId === undefined) throw notFound('customer', '/customerId')
  return { partnerId, sellCurrency, buyCurrency, given, kind: body.kind ?? 'firm', customerId }
}

const invalid = (pointer: string, message: string) => refuseField({ pointer, code: 'invalid_value', message })

function readGiven(
  { sellAmount, buyAmount }: BodyOf<'createFxQuote'>,
  { sellCurrency, buyCurrency }: Pair,
): GivenAmount {
  if (sellAmount !== undefined && buyAmount !== undefined)
    throw invalid('/buyAmount', 'must be absent if sellAmount is given')
  if (sellAmount !== undefined) return { sellAmount: readAmount(sellAmount, sellCurrency, '/sellAmount') }
  if (buyAmount !== undefined) return { buyAmount: readAmount(buyAmount, buyCurrency, '/buyAmount') }
  throw refuseField({ pointer: '/sellAmount', code: 'required', message: 'is required unless buyAmount is given' })
}

async function makeQuotes(
  deps: FxDeps,
  tx: Tx,
  calls: readonly QuoteCall[],
  sheet: Sheet | Refusal,
): Promise<ReadonlyMap<QuoteCall, Outcome<store.QuoteRow>>> {
  // The customer's erasure waits, and deletes the quote. A customer that was erased since the request was read gets
  // none.
  const customers = await deps.customers.heldPayersByIds(
    tx,
    calls.flatMap(({ partnerId, customerId }) => (customerId === null ? [] : [{ partnerId, id: customerId }])),
  )
  const isErased = ({ partnerId, customerId }: QuoteCall) =>
    customerId !== null && customers.get(partnerKey(partnerId, customerId))?.isErased !== false
  const now = deps.clock.now()
  const judge = (call: QuoteCall, found: Sheet) =>
    isErased(call) ? notFound('customer', '/customerId') : quoteOf(deps, call, found, now)
  const made = calls.map((call) => [call, sheet instanceof Refusal ? sheet : judge(call, sheet)] as const)
  const rows = made.flatMap(([, row]) => (row instanceof Refusal ? [] : [row]))
  if (rows.length > 0) store.insertQuotes(tx, rows)
  return new Map(made.map(([call, row]) => [call, row instanceof Refusal ? row : { row, replayed: false }]))
}

/** Creates the quote of a call, or its refusal: currency_not_supported, validation_failed. */
function quoteOf({ terms }: FxDeps, call: QuoteCall, sheet: Sheet, now: Date): store.QuoteRow | Refusal {
  const { partnerId, sellCurrency, buyCurrency, given, kind, customerId } = call
  const mid = midRateOf(sheet.quotes, sellCurrency, buyCurrency)
  if (mid === undefined) return noRate(sheet, call)
  const agreed = termsOf(terms, call, kind)
  const price = priceOf(call, given, mid, agreed)
  if (price === 'too_small' || price === 'too_large') return outOfRange(call, price)
  const { rate, ...amounts } = price
  return {
    partnerId,
    id: newId(),
    kind,
    sellCurrency,
    buyCurrency,
    ...amounts,
    midRate: rateText(mid),
    rate: rateText(rate),
    marginBasisPoints: agreed.marginBasisPoints,
    sheetId: sheet.id,
    idempotencyKey: call.idempotencyKey,
    requestFingerprint: call.idempotencyKey === null ? null : call.requestFingerprint,
    customerId,
    createdAt: now,
    expiresAt: after(now, quoteLifeMs[kind]),
    acceptedAt: null,
    acceptedBy: null,
  }
}

function noRate({ quotes }: Sheet, { sellCurrency }: Pair): Refusal {
  const pointer = midRateOf(quotes, sellCurrency, 'EUR') === undefined ? '/sellCurrency' : '/buyCurrency'
  return refuseField(
    { pointer, code: 'invalid_value', message: 'has no rate in this service' },
    'currency_not_supported',
  )
}

function outOfRange({ given, sellCurrency, buyCurrency }: QuoteCall, price: 'too_small' | 'too_large'): Refusal {
  const [pointer, other] = 'sellAmount' in given ? ['/sellAmount', buyCurrency] : ['/buyAmount', sellCurrency]
  const message =
    price === 'too_small'
      ? `buys less than ${amountText(1n, buyCurrency)} ${buyCurrency}`
      : `must not make more than ${amountMajorMax}.00 ${other}`
  return refuseField({ pointer, code: 'out_of_range', message })
}
