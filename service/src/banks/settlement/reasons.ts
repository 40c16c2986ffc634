/** The reason why a bank refused, rejected or returned a payment, as partners read it. */
import { bankTextOf, withBankText } from '../../rails/index.ts'

type Reason = {
  readonly details: string
  readonly reasonCode: string | null
  readonly bankText?: string | null | undefined
}

/** The words of a bank come from outside, whichever connector carries them. */
export const plainText = (bankText: string | null | undefined): string | null =>
  typeof bankText === 'string' ? bankTextOf([bankText]) : null

/**
 * The details with the bank's code, by which a partner's support can ask the bank, and its own words: `The account does not exist. (AC01)
 * The bank says: “Account unknown”`.
 */
export function asTold<T extends Reason>(reason: T): T & { readonly bankText: string | null } {
  const { details, reasonCode } = reason
  const bankText = plainText(reason.bankText)
  const coded = reasonCode === null ? details : `${details} (${reasonCode})`
  return { ...reason, details: withBankText(coded, bankText), bankText }
}
