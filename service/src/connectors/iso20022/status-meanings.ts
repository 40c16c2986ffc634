/** Pure: what the statuses and reasons of a bank mean for a payment. */
import { type Reason, reasonOf, type StatusMeaning, statusOf } from '../../iso20022/index.ts'
import { bankTextOf } from '../../rails/index.ts'

/** `duplicate`: the bank refuses a payment that it has already, and does not say what becomes of the first one. */
export type Meaning = Exclude<StatusMeaning, 'part'> | 'duplicate'

/** Undefined: the status says nothing about a payment that it does not name, or is not known. */
export function meaningOf(status: string | undefined, reasons: readonly Reason[]): Meaning | undefined {
  const meaning = statusOf(status ?? '')?.meaning
  if (meaning === 'part') return undefined
  const isRepetition = reasons.some(({ code, proprietary }) => reasonOf(code ?? proprietary ?? '').isDuplicate)
  return meaning === 'rejected' && isRepetition ? 'duplicate' : meaning
}

export const reasonText = (reasons: readonly Reason[]): string =>
  reasons
    .map(({ code, proprietary, texts }) => bankTextOf([code ?? proprietary ?? '', ...texts]) ?? '')
    .filter((text) => text !== '')
    .join('; ') || 'without a reason'

/** The bank's own words about a payment. The code is told apart. */
export const wordsOf = (reasons: readonly Reason[]): string | null => bankTextOf(reasons.flatMap(({ texts }) => texts))
