/** The verbs of fx. */
import type { BodyOf } from '@partner-payments/wire'
import { type Caller, notFound, type OpenNonce, readCurrency, refuseField, type Refusal } from '../kernel/api/index.ts'
import type { Currency } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'
import { currenciesOf, midRateOf, type Rate, type Sheet } from '../rates/index.ts'
import { type Acceptances, createAcceptances } from './acceptance.ts'
import { createConverting } from './conversions.ts'
import type { FxDeps } from './deps.ts'
import type { Made } from './keys.ts'
import { createLargestBalances } from './largest-balances.ts'
import { createQuoting } from './quotes.ts'
import { type QuoteStatus, rateWithMargin, statusOf } from './rules.ts'
import * as store from './store.ts'
import { termsOf } from './terms.ts'

export type CurrencyRate = {
  readonly currency: Currency
  readonly midRate: Rate
  readonly rate: Rate
  readonly marginBasisPoints: number
}
export type QuoteView = {
  readonly row: store.QuoteRow
  readonly status: QuoteStatus
  /** The refusal of a conversion by an open quote, if it were made now: the customer would hold more than its largest balance. */
  readonly refusal?: Refusal | undefined
}

export type Fx = Acceptances & {
  /**
   * The newest rates of one currency against all others. Refuses: validation_failed and currency_not_supported (base),
   * fx_rates_unavailable.
   */
  readonly rates: (base?: string) => Promise<{
    readonly base: Currency
    readonly sheet: Sheet
    readonly rates: readonly CurrencyRate[]
  }>
  /**
   * Makes a quote. Refuses: validation_failed, currency_not_supported, not_found (customerId), fx_rates_unavailable,
   * idempotency_key_reused, request_in_progress. Consumes an open nonce together with the quote or its refusal, and then also
   * refuses: nonce_replayed.
   */
  readonly quote: (
    caller: Caller,
    body: BodyOf<'createFxQuote'>,
    idempotencyKey?: string,
    nonce?: OpenNonce,
  ) => Promise<Made<QuoteView>>
  /** Refuses: not_found. */
  readonly get: (partnerId: string, id: string) => Promise<QuoteView>
  /**
   * Deletes the open quotes of a customer before its erasure locks the balance: no further conversion is made for it.
   */
  readonly deleteOpenQuotesOf: typeof store.deleteOpenQuotesOf
  /** Pages through a customer's quotes in their order, for its export. */
  readonly quotesOf: (
    tx: Tx,
    partnerId: string,
    customerId: string,
    afterId: string,
    rowsMax: number,
  ) => Promise<readonly QuoteView[]>
  /**
   * Accepts a quote and exchanges at once. Refuses: not_found (quoteId), fx_quote_expired, fx_quote_accepted,
   * insufficient_funds, balance_limit_exceeded, idempotency_key_reused, request_in_progress, and nonce_replayed as `quote`.
   */
  readonly convert: (
    caller: Caller,
    body: BodyOf<'createFxConversion'>,
    ip: string,
    nonce?: OpenNonce,
  ) => Promise<Made<store.Conversion>>
}

export function createFx(deps: FxDeps): Fx {
  const { db, clock, rates, terms } = deps
  const quote = createQuoting(deps)
  const { look } = createLargestBalances(deps)
  return {
    ...createAcceptances(deps),
    rates: async (text = 'EUR') => {
      const base = readCurrency(text, '/query/base')
      const sheet = await rates.current(db)
      const others = currenciesOf(sheet.quotes).filter((currency) => currency !== base)
      const found = others.flatMap((currency) => {
        const midRate = midRateOf(sheet.quotes, base, currency)
        if (midRate === undefined) return []
        const { marginBasisPoints } = termsOf(terms, { sellCurrency: base, buyCurrency: currency }, 'firm')
        return [{ currency, midRate, rate: rateWithMargin(midRate, marginBasisPoints), marginBasisPoints }]
      })
      if (found.length === 0) throw noRates(base)
      return { base, sheet, rates: found }
    },
    quote: async (caller, body, idempotencyKey, nonce) => {
      const { row, replayed } = await quote(caller, body, idempotencyKey, nonce)
      // A replay repeats the first answer: the status is Open, whatever the quote is now.
      return { row: { row: { ...row, acceptedBy: null }, status: 'Open', refusal: await look(row) }, replayed }
    },
    get: async (partnerId, id) => {
      const row = await store.quoteById(db, partnerId, id)
      if (row === undefined) throw notFound('quote')
      const status = statusOf(row, clock.now())
      return { row, status, refusal: status === 'Open' ? await look(row) : undefined }
    },
    deleteOpenQuotesOf: store.deleteOpenQuotesOf,
    quotesOf: async (...page) =>
      (await store.quotesOfCustomer(...page)).map((row) => ({ row, status: statusOf(row, clock.now()) })),
    convert: createConverting(deps),
  }
}

const noRates = (base: Currency) =>
  refuseField(
    { pointer: '/query/base', code: 'invalid_value', message: `${base} has no rate in this service` },
    'currency_not_supported',
  )
