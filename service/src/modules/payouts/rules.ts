/** Pure: the states of a payout, what makes two requests the same, which rail carries a currency. */
import type { payouts, Rail } from '@partner-payments/wire'
import { Refusal } from '../../api/index.ts'
import { type Currency, isFiat, type Minor, minuteMs, secondMs } from '../../kernel/index.ts'

export type PayoutStatus = (typeof payouts.payoutStatuses)[number]

export const transitions = {
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

/** A payout whose money is still reserved. */
export const holdsReserve = (status: PayoutStatus) =>
  status === 'Pending' || status === 'PendingApproval' || status === 'Processing' || status === 'Sent'

/** Two requests are the same when what they ask for is the same: `100` and `100.00` are one amount. */
export function sameness(request: {
  readonly amount: Minor
  readonly currency: Currency
  readonly beneficiaryId?: string
  readonly customerId?: string
  readonly reference?: string
  readonly outcome?: string
}): string {
  const { amount, currency, beneficiaryId, customerId, reference, outcome } = request
  return JSON.stringify([amount.toString(), currency, beneficiaryId?.toLowerCase(), customerId, reference, outcome])
}

/** Refuses: currency_not_supported. */
export function requireFiat(currency: Currency): void {
  if (!isFiat(currency))
    throw new Refusal('currency_not_supported', `${currency} is not paid by this operation.`, {
      errors: [{ pointer: '/currency', code: 'invalid_value', message: 'is not a fiat currency' }],
    })
}

/** SEPA carries euro; everything else goes by SWIFT. */
export function railOf(currency: Currency): Rail {
  return currency === 'EUR' ? 'Sepa' : 'Swift'
}

/** Rests between tries at a bank that cannot be reached; after the last the instruction is given up, if it never arrived. */
const restsMs = [1, 2, 5, 15, 60].map((seconds) => seconds * secondMs)
const longRestMs = 5 * minuteMs
export const sendAttemptsMax = 300

export function restAfter(attempts: number): number {
  return restsMs[attempts - 1] ?? longRestMs
}
