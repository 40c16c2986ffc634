/** Pure: the states of a payout, the fingerprint of a request, the rail of a currency. */
import type { payouts, Rail } from '@partner-payments/wire'
import { Refusal } from '../../api/index.ts'
import { currencies, type Currency, isFiat, type Minor, minuteMs, secondMs } from '../../kernel/index.ts'

export type PayoutStatus = (typeof payouts.payoutStatuses)[number]

const transitions = {
  Pending: ['Processing', 'Failed'],
  PendingApproval: ['Pending', 'Cancelled'],
  Processing: ['Sent', 'Failed'],
  Sent: ['Completed', 'Failed', 'Returned'],
  Completed: ['Returned'],
  Failed: [],
  Returned: [],
  Cancelled: [],
} as const satisfies Record<PayoutStatus, readonly PayoutStatus[]>

export function mayMove(from: PayoutStatus, to: PayoutStatus): boolean {
  return (transitions[from] as readonly PayoutStatus[]).includes(to)
}

/** Whether the money of a payout in this status is reserved. */
export const holdsReserve = (status: PayoutStatus) =>
  status === 'Pending' || status === 'PendingApproval' || status === 'Processing' || status === 'Sent'

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

/** Delays between attempts while the bank is unreachable. After the last attempt an instruction that never arrived fails. */
const retryDelaysMs = [1, 2, 5, 15, 60].map((seconds) => seconds * secondMs)
const longRetryDelayMs = 5 * minuteMs
export const sendAttemptsMax = 300

export function retryDelayAfter(attempts: number): number {
  return retryDelaysMs[attempts - 1] ?? longRetryDelayMs
}
