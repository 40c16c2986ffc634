/** Exchange of currencies: rates, quotes that hold for a time, and conversions. All operations are extensions. */
import { type Decimal, isDecimal } from './decimal.ts'
import {
  Amount,
  CalendarDate,
  Currency,
  CustomerRef,
  IdempotencyKey,
  PaymentAmount,
  Reference,
  Timestamp,
  Type,
  Uuid,
  closed,
  described,
  oneOf,
  optional,
} from './shapes.ts'
import { transactionStatuses } from './transactions.ts'

export const quoteKinds = ['firm', 'held'] as const
export const quoteStatuses = ['Open', 'Accepted', 'Expired'] as const

/** An exact JSON number: the price of one unit of a currency in another currency. */
export const Rate = Type.Refine(
  Type.Unsafe<Decimal>({ 'x-json-type': 'number' }),
  (value) => isDecimal(value),
  () => 'must be a JSON number, for example 1.0823',
)

const basisPoints = described(Type.Integer(), 'The margin in basis points of `midRate`: 100 are one percent.')

const RateOfCurrency = closed({
  currency: described(Currency, 'The currency that one unit of `base` buys.'),
  midRate: described(Rate, 'Units of `currency` for one unit of `base`, without margin.'),
  rate: described(Rate, 'The rate of a firm quote now, with margin, at most 8 significant digits.'),
  marginBasisPoints: basisPoints,
})
export const Rates = closed({
  base: described(Currency, 'The currency that is sold.'),
  source: described(Type.String(), 'Source of the rates.'),
  asOf: described(Timestamp, 'The time at which the rates held, by their source.'),
  rates: described(Type.Array(RateOfCurrency), 'One entry for each currency that `base` can be exchanged for.'),
})
export const RatesQuery = closed({
  base: described(optional(Currency), 'The currency that is sold. Default: EUR.'),
})

const givenAmount = (verb: string, currency: string) =>
  `Amount to ${verb} in major units of \`${currency}\`: at most 10,000,000.00. Give exactly one of the two amounts.`

export const FxQuoteCreate = closed({
  sellCurrency: described(Currency, 'The currency that leaves the balance.', { examples: ['EUR'] }),
  buyCurrency: described(Currency, 'The currency that is bought. Must differ from `sellCurrency`.', {
    examples: ['USD'],
  }),
  sellAmount: described(optional(PaymentAmount), givenAmount('sell, the fee included,', 'sellCurrency'), {
    examples: [100],
  }),
  buyAmount: described(optional(PaymentAmount), givenAmount('buy', 'buyCurrency')),
  kind: described(
    optional(oneOf(quoteKinds)),
    '`firm`: holds for 45 seconds. `held`: holds for 30 minutes, at a wider margin. Default: `firm`.',
  ),
  customerId: described(
    optional(CustomerRef),
    'The customer whose money is exchanged: its `guid` or its `serviceId`. Without it, the money of the partner.',
  ),
})

const Margin = closed({
  amount: described(Amount, 'Additional amount that `midRate` would have bought, in major units of `currency`.'),
  currency: described(Currency, 'The bought currency.'),
  basisPoints,
})
const Fee = closed({
  amount: described(Amount, 'Part of `sellAmount` that is not exchanged, in major units of `currency`.'),
  currency: described(Currency, 'The sold currency.'),
})

const exchanged = {
  sellCurrency: described(Currency, 'The currency that leaves the balance.'),
  sellAmount: described(Amount, 'Amount that leaves the balance, with the fee, in major units of `sellCurrency`.'),
  buyCurrency: described(Currency, 'The currency that is bought.'),
  buyAmount: described(Amount, 'Bought amount, in major units of `buyCurrency`.'),
  rate: described(Rate, 'Units of `buyCurrency` for one unit of `sellCurrency`, with the margin taken off.'),
  fee: described(Fee, 'The fee, in the sold currency. Zero if there is none.'),
}

const valueDateText =
  'The first day, from that of `createdAt` (UTC) on, on which both currencies settle: TARGET for EUR, London for GBP, the Federal Reserve for USD.'

export const FxQuote = closed({
  id: described(Uuid, 'Identifies the quote.'),
  status: described(
    oneOf(quoteStatuses),
    '`Open`: it can be accepted. `Accepted`: it was accepted once. `Expired`: it was not accepted before `expiresAt`.',
  ),
  kind: described(oneOf(quoteKinds), '`firm`: holds for 45 seconds. `held`: holds for 30 minutes.'),
  ...exchanged,
  midRate: described(Rate, 'The rate of the source between the two currencies, without margin.'),
  margin: described(Margin, 'The difference between `midRate` and `rate`, for what is exchanged.'),
  createdAt: described(Timestamp, 'Time of creation.'),
  expiresAt: described(Timestamp, 'Expiry of the quote: it cannot be accepted from this time on.'),
  valueDate: described(CalendarDate, valueDateText),
  customerId: described(optional(Uuid), 'The `guid` of the customer. Absent for the money of the partner.'),
  acceptedBy: described(
    optional(Type.String()),
    'Reference of the transaction that has accepted the quote. Absent before.',
  ),
  conversionRefusal: described(
    optional(oneOf(['balance_limit_exceeded', 'customer_not_verified'])),
    'Code of the problem with which a conversion would be refused now. `balance_limit_exceeded`: the customer would hold more than its ' +
      'largest balance; a payout can accept the quote nevertheless. `customer_not_verified`: the customer may not exchange. Absent otherwise.',
  ),
})

export const FxConversionCreate = closed({
  quoteId: described(Uuid, 'The quote to accept. A quote can be accepted once, before it expires.'),
  idempotencyKey: described(
    IdempotencyKey,
    'Your key of this conversion, 1 to 255 characters, unique among your conversions. Repeat it to retry.',
    { examples: ['conversion-2026-0042'] },
  ),
  reference: described(
    optional(Reference),
    'The transaction reference, 1 to 140 characters, if you have not used it before.',
  ),
})
export const FxConversion = closed({
  reference: described(
    Type.String(),
    'Reference of the transaction. Find the conversion by it at `GET /v1/transactions/{reference}`.',
  ),
  status: described(oneOf(transactionStatuses), 'Status of the transaction: `Completed`.'),
  quoteId: described(Uuid, 'The quote that was accepted.'),
  ...exchanged,
  idempotencyKey: described(Type.String(), 'The idempotency key of the request.'),
  createdAt: described(Timestamp, 'Time of the conversion.'),
  valueDate: described(CalendarDate, valueDateText),
})

/** A rate of the sandbox, set by a request. */
export const SimulatedRate = closed({
  base: described(optional(Currency), 'The currency that is sold. Give `base` and `quote` together.', {
    examples: ['EUR'],
  }),
  quote: described(optional(Currency), 'The currency that one unit of `base` buys.', { examples: ['USD'] }),
  rate: described(
    optional(Rate),
    'Units of `quote` for one unit of `base`: a mid rate, without margin. From 0.000001 to 1,000,000 with at most 10 decimal digits. Without it, the pair follows the simulated market again.',
    { examples: [1.25] },
  ),
  stale: described(
    optional(Type.Boolean()),
    'True stops the rates: quotes are refused with 503 `fx_rates_unavailable`. False starts them again.',
  ),
})
const RateByHand = closed({
  currency: described(Currency, 'The currency that one euro buys.'),
  rate: described(Rate, 'Units of `currency` for one euro.'),
})
export const SimulatedRates = closed({
  asOf: described(Timestamp, 'Time from which the change applies.'),
  stale: described(Type.Boolean(), 'True while the rates are stopped.'),
  setByHand: described(
    Type.Array(RateByHand),
    'Every rate of the sandbox that was set by hand, for one euro, by whichever partner.',
  ),
})
