/** The meaning of a bank's reason code for a partner. */
import type { ErrorKey } from '@partner-payments/wire'
import { paymentReasons, type ReasonRow } from './reason-codes.ts'
import { messageReasons } from './reason-messages.ts'

export type BankReason = {
  readonly errorKey: ErrorKey
  /** A sentence for the partner. */
  readonly details: string
  /** The refusal of an instant payment concerns only the instant scheme: it may be sent as a credit transfer. */
  readonly retryAsCreditTransfer: boolean
  /** The bank refuses a repetition. The first payment may still be executed, so that the refusal ends nothing. */
  readonly isDuplicate: boolean
}

export const reasons: Readonly<Record<string, ReasonRow>> = { ...paymentReasons, ...messageReasons }
const unlisted: ReasonRow = ['BankRejection', 'The bank refused the payment.']

/** A code that is not listed, or a bank's own, is a rejection by the bank. */
export function reasonOf(code: string): BankReason {
  const [errorKey, details, more] = (Object.hasOwn(reasons, code) ? reasons[code] : undefined) ?? unlisted
  return { errorKey, details, retryAsCreditTransfer: more === 'retry', isDuplicate: more === 'duplicate' }
}
