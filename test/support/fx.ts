/** Exchange on a test service: partners with money in two currencies, quotes and conversions. */
import { rawNumber } from '@partner-payments/wire'
import { createFx, type Fx } from '../../service/src/fx/index.ts'
import { type Currency, newId } from '../../service/src/kernel/index.ts'
import type { FxTerms } from '../../service/src/rates/index.ts'
import { addPartner, ip, type Service, type TestPartner } from './composition.ts'

/** A partner with 1,000.00 in each of some currencies. Makes the newest sheet of the sandbox. */
export async function addTrader(service: Service, currencies: readonly Currency[] = ['EUR']): Promise<TestPartner> {
  await service.rates.prepare()
  const partner = await addPartner(service)
  for (const currency of currencies)
    await service.db.transaction((tx) =>
      service.deposits.creditPartner(tx, partner.partnerId, {
        debit: 'settlement.sandbox',
        currency,
        amount: 100_000n,
      }),
    )
  return partner
}

export type QuoteFields = {
  readonly sell?: Currency
  readonly buy?: Currency
  readonly sellAmount?: string
  readonly buyAmount?: string
  readonly kind?: 'firm' | 'held'
  readonly customerId?: string
}

/** Sells 100.00 EUR for USD unless the fields say otherwise. */
export function quoteBody({ sell = 'EUR', buy = 'USD', sellAmount, buyAmount, ...rest }: QuoteFields = {}) {
  const given = sellAmount === undefined && buyAmount === undefined ? '100.00' : sellAmount
  return {
    sellCurrency: sell,
    buyCurrency: buy,
    ...(given === undefined ? {} : { sellAmount: rawNumber(given) }),
    ...(buyAmount === undefined ? {} : { buyAmount: rawNumber(buyAmount) }),
    ...rest,
  }
}

export const quote = async ({ fx }: { readonly fx: Fx }, { caller }: TestPartner, fields: QuoteFields = {}) =>
  (await fx.quote(caller, quoteBody(fields))).row

export const convert = (
  { fx }: { readonly fx: Fx },
  { caller }: TestPartner,
  quoteId: string,
  { idempotencyKey = newId(), reference }: { readonly idempotencyKey?: string; readonly reference?: string } = {},
) => fx.convert(caller, { quoteId, idempotencyKey, ...(reference === undefined ? {} : { reference }) }, ip)

/** The same service with other margins and fees. */
export const withTerms = (service: Service, terms: Partial<FxTerms>): { readonly fx: Fx } => ({
  fx: createFx({
    ...service,
    terms: { FX_MARGIN: { others: 50, pairs: new Map() }, FX_HELD_MARGIN: 50, FX_FEE: new Map(), ...terms },
  }),
})

/** Reads the balances of the partner's accounts: `balance EUR` -> minor units. */
export async function accountsOf({ db, ledger }: Service, { partnerId }: TestPartner): Promise<Record<string, bigint>> {
  const accounts = await ledger.balancesAt(db, partnerId, undefined)
  return Object.fromEntries(accounts.map(({ name, currency, posted }) => [`${name} ${currency}`, posted]))
}
