/** The operations of the group `fx`. */
import * as fx from '../fx.ts'
import { amount, resource, uniqueText } from './example.ts'
import type { Operation } from './operation.ts'
import { quoteId } from './params.ts'

export const fxOperations = {
  getFxRates: {
    tag: 'fx',
    method: 'GET',
    path: '/v1/fx/rates',
    query: fx.RatesQuery,
    response: fx.Rates,
    permission: 'fx:read',
    source: 'extension',
    summary: 'Retrieve exchange rates',
    description:
      'Returns the newest rates between `base` and every currency that it can be exchanged for. `midRate` is the rate ' +
      'of the source, `rate` that of a firm quote. The rates are not binding: only a quote fixes a rate. Rates ' +
      'that are too old are refused with 503 `fx_rates_unavailable`.',
    refusals: ['currency_not_supported', 'fx_rates_unavailable'],
    example: {},
  },
  createFxQuote: {
    tag: 'fx',
    method: 'POST',
    path: '/v1/fx/quotes',
    body: fx.FxQuoteCreate,
    response: fx.FxQuote,
    idempotency: 'header',
    makes: 'nothing',
    permission: 'fx:write',
    nonce: 'handler',
    audit: 'handler',
    source: 'extension',
    summary: 'Create an exchange quote',
    description:
      'Offers an exchange at a rate that holds until `expiresAt`. Give either `sellAmount` or `buyAmount`. For a given ' +
      '`sellAmount` the bought amount is rounded down. For a given `buyAmount` the sold amount is rounded up. The fee is ' +
      'a part of `sellAmount`. No money is reserved. Accept the quote once, by a conversion or by a payout in the ' +
      'bought currency. Idempotent by `Idempotency-Key`; without a key a repeated request creates another quote.',
    refusals: ['validation_failed', 'not_found', 'currency_not_supported', 'fx_rates_unavailable'],
    example: {
      body: {
        sellAmount: amount('100.00'),
        sellCurrency: 'EUR',
        buyCurrency: 'USD',
        kind: 'firm',
        customerId: resource('customer'),
      },
    },
  },
  getFxQuote: {
    tag: 'fx',
    method: 'GET',
    path: '/v1/fx/quotes/{quoteId}',
    params: quoteId,
    response: fx.FxQuote,
    permission: 'fx:read',
    source: 'extension',
    summary: 'Retrieve an exchange quote',
    description:
      'Returns the quote with its current status. A quote that was not accepted is `Expired` from `expiresAt` on.',
    refusals: ['not_found'],
    example: { params: { quoteId: resource('quote') } },
  },
  createFxConversion: {
    tag: 'fx',
    method: 'POST',
    path: '/v1/fx/conversions',
    body: fx.FxConversionCreate,
    response: fx.FxConversion,
    idempotency: 'body',
    makes: 'payment',
    permission: 'fx:write',
    nonce: 'handler',
    audit: 'handler',
    source: 'extension',
    summary: 'Create a conversion from a quote',
    description:
      'Accepts the quote and exchanges at once: the sold amount leaves its balance and the bought amount enters the ' +
      'other. The transaction has the category `Conversion` and is `Completed`. List conversions with ' +
      '`GET /v1/transactions?category=Conversion`. A quote is accepted once: any other attempt is refused with 422 ' +
      '`fx_quote_accepted`, which names the transaction. Idempotent by `idempotencyKey`. After a refused request, ' +
      'key and quote can be used again.',
    refusals: [
      'not_found',
      'fx_quote_expired',
      'fx_quote_accepted',
      'insufficient_funds',
      'account_blocked',
      'customer_not_verified',
      'balance_limit_exceeded',
    ],
    example: { body: { quoteId: resource('quote'), idempotencyKey: uniqueText(), reference: uniqueText() } },
  },
} as const satisfies Record<string, Operation>
