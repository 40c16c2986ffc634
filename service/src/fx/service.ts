/** The operations of fx. */
import type { BodyOf } from '@partner-payments/wire'
import {
  type Caller,
  notFound,
  type OpenNonce,
  parseAmount,
  parseCurrency,
  Refusal,
  refuseField,
  refuseInvalid,
} from '../kernel/api/index.ts'
import { after, amountMajorMax, amountText, type Currency, newId, partnerKey } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'
import { currenciesOf, type FxTerms, findMidRate, type Rate, formatRate, type StoredSheet } from '../rates/index.ts'
import { type QuoteAcceptances, createAcceptances } from './acceptance.ts'
import {
  answerKeyedCalls,
  createConversionSubmitter,
  createLargestBalances,
  type FxDeps,
  type KeyedCall,
  batchKeys,
  type CallResult,
  type CallOutcome,
  submitUntilAnswered,
} from './conversions.ts'
import {
  type FixedAmount,
  type CurrencyPair,
  computePrice,
  type QuoteKind,
  quoteLifeMs,
  type QuoteStatus,
  rateWithMargin,
  quoteStatus,
  type QuoteTerms,
} from './rules.ts'
import * as store from './store.ts'
import { createNonceBatcher } from '../access/index.ts'

export type CurrencyRate = {
  readonly currency: Currency
  readonly midRate: Rate
  readonly rate: Rate
  readonly marginBasisPoints: number
}
export type QuoteView = {
  readonly row: store.QuoteRow
  readonly status: QuoteStatus
  /**
   * Refusal that a conversion of an open quote would get now: the customer is not verified, or would exceed its maximum
   * balance.
   */
  readonly refusal?: Refusal | undefined
}

export type Fx = QuoteAcceptances & {
  /**
   * Reads the newest rates of one currency against all others. Refuses: validation_failed and currency_not_supported
   * (base), fx_rates_unavailable.
   */
  readonly rates: (base?: string) => Promise<{
    readonly base: Currency
    readonly sheet: StoredSheet
    readonly rates: readonly CurrencyRate[]
  }>
  /**
   * Creates a quote. Consumes an open nonce together with the quote or its refusal. Refuses: validation_failed,
   * currency_not_supported, not_found (customerId), fx_rates_unavailable, idempotency_key_reused, request_in_progress,
   * and nonce_replayed if a nonce is given.
   */
  readonly quote: (
    caller: Caller,
    body: BodyOf<'createFxQuote'>,
    idempotencyKey?: string,
    nonce?: OpenNonce,
  ) => Promise<CallResult<QuoteView>>
  /** Reads a quote. Refuses: not_found. */
  readonly get: (partnerId: string, id: string) => Promise<QuoteView>
  /** Deletes the open quotes of a customer before its erasure locks the balance: no further conversion can use them. */
  readonly deleteOpenQuotesOf: typeof store.deleteOpenQuotesOfCustomer
  /** Lists a page of a customer's quotes, for its export. */
  readonly quotesOf: (
    tx: Tx,
    partnerId: string,
    customerId: string,
    afterId: string,
    rowsMax: number,
  ) => Promise<readonly QuoteView[]>
  /**
   * Accepts a quote and converts at once. Refuses: not_found (quoteId), fx_quote_expired, fx_quote_accepted,
   * insufficient_funds, account_blocked, customer_not_verified, balance_limit_exceeded, idempotency_key_reused,
   * request_in_progress, and nonce_replayed as `quote` does.
   */
  readonly convert: (
    caller: Caller,
    body: BodyOf<'createFxConversion'>,
    ip: string,
    nonce?: OpenNonce,
  ) => Promise<CallResult<store.Conversion>>
}

export function createFx(deps: FxDeps): Fx {
  const { db, clock, rates, terms } = deps
  const quote = createQuoteMaker(deps)
  const { look } = createLargestBalances(deps)
  return {
    ...createAcceptances(deps),
    rates: async (text = 'EUR') => {
      const base = parseCurrency(text, '/query/base')
      const sheet = await rates.current(db)
      const others = currenciesOf(sheet.quotes).filter((currency) => currency !== base)
      const found = others.flatMap((currency) => {
        const midRate = findMidRate(sheet.quotes, base, currency)
        if (midRate === undefined) return []
        const { marginBasisPoints } = quoteTerms(terms, { sellCurrency: base, buyCurrency: currency }, 'firm')
        return [{ currency, midRate, rate: rateWithMargin(midRate, marginBasisPoints), marginBasisPoints }]
      })
      if (found.length === 0) throw refuseNoRates(base)
      return { base, sheet, rates: found }
    },
    quote: async (caller, body, idempotencyKey, nonce) => {
      const { row, replayed } = await quote(caller, body, idempotencyKey, nonce)
      // A replay repeats the first answer: the status is Open.
      return { row: { row: { ...row, acceptedBy: null }, status: 'Open', refusal: await look(row) }, replayed }
    },
    get: async (partnerId, id) => {
      const row = await store.quoteById(db, partnerId, id)
      if (row === undefined) throw notFound('quote')
      const status = quoteStatus(row, clock.now())
      return { row, status, refusal: status === 'Open' ? await look(row) : undefined }
    },
    deleteOpenQuotesOf: store.deleteOpenQuotesOfCustomer,
    quotesOf: async (...page) =>
      (await store.quotesOfCustomer(...page)).map((row) => ({ row, status: quoteStatus(row, clock.now()) })),
    convert: createConversionSubmitter(deps),
  }
}

const refuseNoRates = (base: Currency) =>
  refuseField(
    { pointer: '/query/base', code: 'invalid_value', message: `${base} has no exchange rate` },
    'currency_not_supported',
  )

// Creates quotes: concurrent requests share a transaction and the newest sheet.

type QuoteRequest = CurrencyPair & {
  readonly partnerId: string
  readonly given: FixedAmount
  readonly kind: QuoteKind
  readonly customerId: string | null
}
type QuoteCall = QuoteRequest & KeyedCall & { readonly nonce: OpenNonce | undefined }

const quotesPerBatchMax = 128
const batchesUnderWayMax = 2
const secondBatchMin = 32

function createQuoteMaker(deps: FxDeps) {
  const { db, rates } = deps
  const batched = createNonceBatcher({
    db,
    read: async (tx: Tx, calls: readonly QuoteCall[]) => {
      const keys = batchKeys(calls)
      const [found, sheet] = await Promise.all([
        keys.length > 0 ? store.quotesByIdempotencyKeys(tx, keys) : [],
        rates.current(tx).catch(refusalOnly),
      ])
      return { found, sheet }
    },
    work: (tx, calls, { found, sheet }) =>
      answerKeyedCalls({
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
  ): Promise<CallResult<store.QuoteRow>> => {
    const request = await readRequest(deps, caller.partnerId, body)
    const keyOfRequest = { idempotencyKey: idempotencyKey ?? null, requestFingerprint: quoteFingerprint(request) }
    return submitUntilAnswered(batched, { ...request, ...keyOfRequest, nonce })
  }
}

function refusalOnly(error: unknown): Refusal {
  if (error instanceof Refusal) return error
  throw error
}

/** Returns the idempotency fields of a quote. A quote has no reference, so a refusal names its id. */
const keyed = ({ partnerId, id, idempotencyKey, requestFingerprint }: store.QuoteRow) => ({
  partnerId,
  idempotencyKey,
  requestFingerprint: requestFingerprint ?? '',
  reference: `the quote ${id}`,
})

const quoteFingerprint = ({ sellCurrency, buyCurrency, given, kind, customerId }: QuoteRequest): string => {
  const amount = 'sellAmount' in given ? ['sell', given.sellAmount] : ['buy', given.buyAmount]
  return JSON.stringify([sellCurrency, buyCurrency, ...amount.map(String), kind, customerId])
}

/** Reads a request. Refuses: validation_failed, currency_not_supported, not_found (/customerId). */
async function readRequest(
  { db, customers }: FxDeps,
  partnerId: string,
  body: BodyOf<'createFxQuote'>,
): Promise<QuoteRequest> {
  const sellCurrency = parseCurrency(body.sellCurrency, '/sellCurrency')
  const buyCurrency = parseCurrency(body.buyCurrency, '/buyCurrency')
  if (sellCurrency === buyCurrency) throw refuseInvalid('/buyCurrency', 'must differ from sellCurrency')
  const given = readGiven(body, { sellCurrency, buyCurrency })
  const customerId =
    body.customerId === undefined ? null : await customers.resolvePresentId(db, partnerId, body.customerId)
  if (customerId === undefined) throw notFound('customer', '/customerId')
  return { partnerId, sellCurrency, buyCurrency, given, kind: body.kind ?? 'firm', customerId }
}

function readGiven(
  { sellAmount, buyAmount }: BodyOf<'createFxQuote'>,
  { sellCurrency, buyCurrency }: CurrencyPair,
): FixedAmount {
  if (sellAmount !== undefined && buyAmount !== undefined)
    throw refuseInvalid('/buyAmount', 'must be absent if sellAmount is given')
  if (sellAmount !== undefined) return { sellAmount: parseAmount(sellAmount, sellCurrency, '/sellAmount') }
  if (buyAmount !== undefined) return { buyAmount: parseAmount(buyAmount, buyCurrency, '/buyAmount') }
  throw refuseField({ pointer: '/sellAmount', code: 'required', message: 'is required unless buyAmount is given' })
}

async function makeQuotes(
  deps: FxDeps,
  tx: Tx,
  calls: readonly QuoteCall[],
  sheet: StoredSheet | Refusal,
): Promise<ReadonlyMap<QuoteCall, CallOutcome<store.QuoteRow>>> {
  // The customer's erasure waits, and then deletes the quote. A customer that was erased after the read gets no quote.
  const customers = await deps.customers.heldPayersByIds(
    tx,
    calls.flatMap(({ partnerId, customerId }) => (customerId === null ? [] : [{ partnerId, id: customerId }])),
  )
  const isErased = ({ partnerId, customerId }: QuoteCall) =>
    customerId !== null && customers.get(partnerKey(partnerId, customerId))?.isErased !== false
  const now = deps.clock.now()
  const judge = (call: QuoteCall, found: StoredSheet) =>
    isErased(call) ? notFound('customer', '/customerId') : toQuoteRow(deps, call, found, now)
  const made = calls.map((call) => [call, sheet instanceof Refusal ? sheet : judge(call, sheet)] as const)
  const rows = made.flatMap(([, row]) => (row instanceof Refusal ? [] : [row]))
  if (rows.length > 0) store.insertQuotes(tx, rows)
  return new Map(made.map(([call, row]) => [call, row instanceof Refusal ? row : { row, replayed: false }]))
}

/** Creates the quote of a call, or its refusal: currency_not_supported, validation_failed. */
function toQuoteRow({ terms }: FxDeps, call: QuoteCall, sheet: StoredSheet, now: Date): store.QuoteRow | Refusal {
  const { partnerId, sellCurrency, buyCurrency, given, kind, customerId } = call
  const mid = findMidRate(sheet.quotes, sellCurrency, buyCurrency)
  if (mid === undefined) return refuseNoRate(sheet, call)
  const agreed = quoteTerms(terms, call, kind)
  const price = computePrice(call, given, mid, agreed)
  if (price === 'too_small' || price === 'too_large') return refuseOutOfRange(call, price)
  const { rate, ...amounts } = price
  return {
    partnerId,
    id: newId(),
    kind,
    sellCurrency,
    buyCurrency,
    ...amounts,
    midRate: formatRate(mid),
    rate: formatRate(rate),
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

function refuseNoRate({ quotes }: StoredSheet, { sellCurrency }: CurrencyPair): Refusal {
  const pointer = findMidRate(quotes, sellCurrency, 'EUR') === undefined ? '/sellCurrency' : '/buyCurrency'
  return refuseField({ pointer, code: 'invalid_value', message: 'has no exchange rate' }, 'currency_not_supported')
}

function refuseOutOfRange({ given, sellCurrency, buyCurrency }: QuoteCall, price: 'too_small' | 'too_large'): Refusal {
  const [pointer, other] = 'sellAmount' in given ? ['/sellAmount', buyCurrency] : ['/buyAmount', sellCurrency]
  const message =
    price === 'too_small'
      ? `buys less than ${amountText(1n, buyCurrency)} ${buyCurrency}`
      : `must not make more than ${amountMajorMax}.00 ${other}`
  return refuseField({ pointer, code: 'out_of_range', message })
}

// Charges of the operator for a quote, by pair and kind.

const noFee = { fixed: 0n, basisPoints: 0 } as const

/** Returns the margin and the fee of a quote. A held quote costs more, because the operator bears the risk for longer. */
function quoteTerms(settings: FxTerms, pair: CurrencyPair, kind: QuoteKind): QuoteTerms {
  const { FX_MARGIN: margins, FX_HELD_MARGIN: heldMargin, FX_FEE: fees } = settings
  const firm = margins.pairs.get(pairName(pair)) ?? margins.others
  return {
    marginBasisPoints: kind === 'firm' ? firm : firm + heldMargin,
    fee: fees.get(pair.sellCurrency) ?? noFee,
  }
}

const pairName = ({ sellCurrency, buyCurrency }: CurrencyPair): `${Currency}/${Currency}` =>
  `${sellCurrency}/${buyCurrency}`
