/** SQL of the sums of payouts, and of their fees. */
import type { CurrencySum } from '../kernel/api/index.ts'
import type { Currency, Minor } from '../kernel/index.ts'
import { sql, type Tx } from '../postgres/index.ts'
import { pageOf, type PayoutFilter } from './store.ts'

/** Sums the first rows of a list, by its index. */
export function sumPayouts(
  tx: Tx,
  partnerId: string,
  filter: PayoutFilter,
  rowsMax: number,
): Promise<readonly CurrencySum[]> {
  return tx.rows<CurrencySum>(sql`/* payouts.sumPayouts */
    select currency, count(*) as count, sum(amount)::bigint as amount
    from (select ${pageOf(partnerId, filter, null, rowsMax)}) as counted group by currency order by currency`)
}

export type PayoutFeeRow = {
  readonly reference: string
  readonly feeAmount: Minor
  readonly currency: Currency
}

/** Reads the fees of the payouts with these end-to-end ids. May return payouts of others that share an id. */
export function feesOf(tx: Tx, partnerId: string, endToEndIds: readonly string[]): Promise<readonly PayoutFeeRow[]> {
  return tx.rows(sql`/* payouts.feesOf */
    select reference, fee_amount, coalesce(sold_currency, currency) as currency from payouts.payouts
    where partner_id = ${partnerId} and fee_amount is not null
      and (end_to_end_id = any(${endToEndIds}::text[]) or partner_end_to_end_id = any(${endToEndIds}::text[]))`)
}
