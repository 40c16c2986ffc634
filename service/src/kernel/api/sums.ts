/** Sums of filtered lists. A sum reads one row more than it may, so that it knows whether others match. */
import { sumRowsMax } from '@partner-payments/wire'
import { type Currency, type Minor, writeAmount } from '../index.ts'

export type CurrencySum = { readonly currency: Currency; readonly count: bigint; readonly amount: Minor }
/** `capped`: more rows match than were read. */
export type Sums<Sum = CurrencySum> = { readonly data: readonly Sum[]; readonly capped: boolean }

/** The rows that the statement of a sum reads. */
export const sumRowsRead = sumRowsMax + 1

export const sumsOf = <Sum extends CurrencySum>(data: readonly Sum[]): Sums<Sum> => ({
  data,
  capped: data.reduce((sum, { count }) => sum + count, 0n) > sumRowsMax,
})

export const writeSums = <Sum extends CurrencySum>({ data, capped }: Sums<Sum>) => ({
  data: data.map((sum) => ({ ...sum, count: Number(sum.count), amount: writeAmount(sum.amount, sum.currency) })),
  capped,
})
