/** Pure: the states of a payout, the fingerprint of a request, the rail of a currency, the id of its instruction. */
import { createHash } from 'node:crypto'
import type { payouts, Rail } from '@partner-payments/wire'
import { Refusal } from '../../api/index.ts'
import { currencies, type Currency, isFiat, type Minor, minuteMs, secondMs } from '../../kernel/index.ts'

export type PayoutStatus = (typeof payouts.payoutStatuses)[number]

/** Every operation that accepts payouts. Each has idempotency keys of its own. */
export const payoutOperations = ['createFiatPayout', 'simulateWithdrawal'] as const
export type PayoutOperation = (typeof payoutOperations)[number]

/** Equal for requests that ask for the same payout: `100` and `100.00` are one amount. */
export function fingerprintOf(request: {
  readonly amount: Minor
  readonly currency: Currency
  readonly beneficiaryId?: string
  readonly customerId?: string
  readonly reference?: string | null
  readonly outcome?: string
}): string {
  const { amount, currency, beneficiaryId, customerId, reference, outcome } = request
  return JSON.stringify([amount.toString(), currency, beneficiaryId?.toLowerCase(), customerId, reference, outcome])
}

/** Refuses: currency_not_supported. */
export function requireFiat(currency: Currency): void {
  if (!isFiat(currency))
    throw new Refusal('currency_not_supported', `${currency} is not paid by this operation.`, {
      errors: [
        {
          pointer: '/currency',
          code: 'invalid_value',
          message: `must be one of ${Object.keys(currencies).filter(isFiat).join(', ')}`,
        },
      ],
    })
}

/** SEPA carries euro, SWIFT every other currency. */
export function railOf(currency: Currency): Rail {
  return currency === 'EUR' ? 'Sepa' : 'Swift'
}

/**
 * The end-to-end id, 32 hexadecimal digits: ISO 20022 permits 35 characters (Max35Text). It is also the id of the instruction.
 * Derived from the partner, the operation and the idempotency key, so that a bank recognises a payout that its partner
 * repeats after the database was restored to an earlier time. Without a key, the payout's id.
 */
export function endToEndIdOf(payout: {
  readonly id: string
  readonly partnerId: string
  readonly operation: string
  readonly idempotencyKey: string | null
}): string {
  const { id, partnerId, operation, idempotencyKey } = payout
  if (idempotencyKey === null) return id.replaceAll('-', '')
  const hash = createHash('sha256')
    .update(JSON.stringify([partnerId, operation, idempotencyKey]))
    .digest('hex')
  // A UUID of version 8 (RFC 9562), so that it never equals the id of another payout.
  return `${hash.slice(0, 12)}8${hash.slice(13, 16)}8${hash.slice(17, 32)}`
}

/** The id under which the bank knows the payout, as a UUID. */
export const instructionIdOf = ({ endToEndId }: { readonly endToEndId: string }): string =>
  endToEndId.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')

/** Delays between attempts while the bank is unreachable. After the last attempt an instruction that never arrived fails. */
const retryDelaysMs = [1, 2, 5, 15, 60].map((seconds) => seconds * secondMs)
const longRetryDelayMs = 5 * minuteMs
export const sendAttemptsMax = 300

export function retryDelayAfter(attempts: number): number {
  return retryDelaysMs[attempts - 1] ?? longRetryDelayMs
}
