/** The exchange of the full demo: quotes, a conversion, a payout in another currency, and a source of rates that fails. */
import { randomUUID } from 'node:crypto'
import { ApiProblem, type Client } from '@partner-payments/sdk'
import { minorOf } from '../money.ts'
import type { Check } from '../reconcile.ts'
import type { Stage } from './stage.ts'

type Conversion = {
  readonly sellCurrency: string
  readonly sellAmount: string
  readonly buyCurrency: string
  readonly buyAmount: string
}

const topic = 'exchange'
const currencies = ['EUR', 'USD'] as const

export async function exchangeMoney({
  client,
  print,
  until,
}: Pick<Stage, 'client' | 'print' | 'until'>): Promise<readonly Check[]> {
  const before = await balancesOf(client)
  const { source, rates } = await client.fx.getRates({ base: 'EUR' })
  print(topic, `rates by ${source}: ${rates.map(({ currency, midRate }) => `${currency} ${midRate}`).join(', ')}`)
  const quote = await client.fx.createQuote({ sellCurrency: 'EUR', buyCurrency: 'USD', sellAmount: '1000.00' })
  print(topic, `quote ${lineOf(quote)}, margin ${quote.margin.amount} ${quote.margin.currency}, ${quote.status}`)
  const order = { quoteId: quote.id, idempotencyKey: randomUUID() }
  const conversion = await client.fx.createConversion(order)
  const again = await client.fx.createConversion(order)
  print(topic, `conversion ${conversion.reference}, ${conversion.status}`)
  const second = await refusalOf(() => client.fx.createConversion({ ...order, idempotencyKey: randomUUID() }))
  print(topic, `the same quote again: ${second}`)
  const payout = await payInDollars(client)
  print(topic, `payout of ${lineOf(payout.quote)} to a beneficiary in USD`)
  const paid = await until('the payout in another currency ends', async () => {
    const transaction = await client.transactions.get(payout.reference)
    return transaction.status !== 'Pending' && transaction
  })
  const refused = await withoutRates(client)
  print(topic, `without fresh rates: ${refused}`)
  const converted = await client.transactions.get(conversion.reference)
  return [
    check('an exchange is accepted once', `${conversion.reference} has the quote`, [
      [again.reference === conversion.reference, 'a repeated key made another conversion'],
      [second === 'fx_quote_accepted', `a second accept was answered ${second}`],
      [(await client.fx.getQuote(quote.id)).acceptedBy === conversion.reference, 'the quote names another transaction'],
    ]),
    check('transactions show both amounts of an exchange', `${conversion.reference} and ${payout.reference}`, [
      [converted.category === 'Conversion' && converted.status === 'Completed', 'the conversion is not completed'],
      [converted.hasFx && converted.userAmount === quote.buyAmount, 'the conversion has another bought amount'],
      [paid.hasFx && paid.status === 'Completed', `the payout is ${paid.status}`],
      [paid.fxQuoteExpiryTime === payout.quote.expiresAt, 'the payout has another quote'],
    ]),
    check(
      'balances follow the quotes to the cent',
      'EUR and USD',
      differences(before, await balancesOf(client), [quote], [payout.quote]),
    ),
    check('an old rate is never quoted', refused, [[refused === 'fx_rates_unavailable', `answered ${refused}`]]),
  ]
}

const lineOf = ({ sellAmount, sellCurrency, buyAmount, buyCurrency }: Conversion) =>
  `${sellAmount} ${sellCurrency} for ${buyAmount} ${buyCurrency}`

async function payInDollars(client: Client) {
  const { id } = await client.beneficiaries.create({
    name: 'Dollar Supplier',
    iban: 'NL91ABNA0417164300',
    currency: 'USD',
    address: { city: 'Utrecht', country: 'NL' },
  })
  const quote = await client.fx.createQuote({
    sellCurrency: 'EUR',
    buyCurrency: 'USD',
    buyAmount: '250.00',
    kind: 'held',
  })
  const order = { quoteId: quote.id, beneficiaryId: id, idempotencyKey: randomUUID() }
  return { quote, ...(await client.payouts.createFx(order)) }
}

/** Stops the rates for as long as one quote is asked for. */
async function withoutRates(client: Client): Promise<string> {
  await client.simulations.setFxRates({ stale: true })
  try {
    return await refusalOf(() =>
      client.fx.createQuote({ sellCurrency: 'EUR', buyCurrency: 'USD', sellAmount: '1.00' }, { retries: 0 }),
    )
  } finally {
    await client.simulations.setFxRates({ stale: false })
  }
}

async function refusalOf(request: () => Promise<unknown>): Promise<string> {
  try {
    await request()
  } catch (error) {
    if (error instanceof ApiProblem) return error.code
    throw error
  }
  return 'no refusal'
}

type Balances = ReadonlyMap<string, bigint>
async function balancesOf(client: Client): Promise<Balances> {
  const { data } = await client.accounts.list()
  // Tokens have more digits.
  const own = data.filter(({ currency }) => currencies.some((each) => each === currency))
  return new Map(own.map(({ currency, posted }) => [currency, minorOf(posted)]))
}

type Claim = readonly [holds: boolean, otherwise: string]
const check = (title: string, agreed: string, claims: readonly Claim[]): Check => ({
  title,
  agreed,
  differences: claims.flatMap(([holds, otherwise]) => (holds ? [] : [otherwise])),
})

/** A conversion moves both balances; a payout takes what was sold, and what was bought goes to the beneficiary. */
function differences(
  before: Balances,
  after: Balances,
  conversions: readonly Conversion[],
  payouts: readonly Conversion[],
): readonly Claim[] {
  const moved = new Map<string, bigint>()
  const add = (currency: string, minor: bigint) => void moved.set(currency, (moved.get(currency) ?? 0n) + minor)
  for (const { sellCurrency, sellAmount } of [...conversions, ...payouts]) add(sellCurrency, -minorOf(sellAmount))
  for (const { buyCurrency, buyAmount } of conversions) add(buyCurrency, minorOf(buyAmount))
  return currencies.map((currency) => {
    const change = (after.get(currency) ?? 0n) - (before.get(currency) ?? 0n)
    return [change === (moved.get(currency) ?? 0n), `${currency} changed by ${change}, expected ${moved.get(currency)}`]
  })
}
