/** Pure: which part of a payment can be refunded, and to which account. */
import { ownJson, type payouts } from '@partner-payments/wire'
import { refuseField, Refusal } from '../kernel/api/index.ts'
import { amountText, type Currency, type Minor } from '../kernel/index.ts'
import { type IncomingDebtor, isIban, readDomestic } from '../rails/index.ts'
import type { InParts, Part } from '../deposits/index.ts'
import type { Creditor } from '../payouts/index.ts'

type Status = (typeof payouts.payoutStatuses)[number]

/** The money of these did not reach the payer, or came back. */
const withoutMoney: ReadonlySet<Status> = new Set(['Failed', 'Returned', 'Cancelled'])

/** The sum of the refunds that are made or on their way. */
export const refundedOf = (refunds: readonly { readonly status: Status; readonly amount: Minor }[]): Minor =>
  refunds.reduce((sum, { status, amount }) => (withoutMoney.has(status) ? sum : sum + amount), 0n)

/** State of a refund that a payer learns. `failed`: the money did not arrive, and the partner has it. */
export type PayerState = 'underWay' | 'sent' | 'failed'

/**
 * Undefined: the payer does not see it, because the partner has not decided yet, or has decided otherwise. What waits for a name or a rule is
 * under way, as for the partner.
 */
const payerStates: Readonly<Record<Status, PayerState | undefined>> = {
  PendingApproval: undefined,
  Cancelled: undefined,
  Pending: 'underWay',
  Processing: 'underWay',
  Sent: 'underWay',
  Completed: 'sent',
  Failed: 'failed',
  Returned: 'failed',
}
export const payerStateOf = (status: Status): PayerState | undefined => payerStates[status]

/** Refuses: refund_exceeds_payment. */
export function requireLeft(amount: Minor, { paid, refunded, currency }: Paid): void {
  const left = paid - refunded
  if (amount <= left) return
  const message = `must be at most ${amountText(left, currency)} ${currency}, which is not refunded yet`
  throw refuseField({ pointer: '/amount', code: 'out_of_range', message }, 'refund_exceeds_payment')
}
type Paid = { readonly paid: Minor; readonly refunded: Minor; readonly currency: Currency }

/** The account that paid, as the bank named it with the payment. Refuses: payer_account_unknown. */
export function payerOf(debtor: string | null, isErased: boolean): Creditor {
  if (isErased) throw new Refusal('payer_account_unknown', 'The customer was erased, and gets no payments.')
  const payer = debtor === null ? null : ownJson<IncomingDebtor | null>(debtor)
  const name = payer?.name.trim() ?? ''
  const account = payer?.account ?? ''
  if (payer === null || name === '' || (!isIban(account) && readDomestic(account) === undefined))
    throw new Refusal(
      'payer_account_unknown',
      'The bank named no account with the payment that can be paid. Send the money by a payout to a beneficiary.',
    )
  return { name, account, bic: payer.bic === '' ? null : payer.bic, country: payer.countryCode }
}

/**
 * The part that is refunded: the named one, or the only one. Undefined: the session takes one payment. Refuses: checkout_session_not_paid,
 * validation_failed.
 */
export function refundedPart({ inParts, status, parts }: InParts, partId: string | null): Part | undefined {
  const credited = parts.filter((part) => part.status === 'Credited')
  const [only, ...others] = credited
  if (inParts && (status !== 'Completed' || only === undefined)) throw new Refusal('checkout_session_not_paid')
  if (partId === null) {
    if (others.length === 0) return only
    throw refuseField({ pointer: '/partId', code: 'required', message: 'is required: several parts paid the session' })
  }
  const named = credited.find(({ id }) => id === partId.toLowerCase())
  if (named !== undefined) return named
  throw refuseField({
    pointer: '/partId',
    code: 'invalid_value',
    message: 'names no part that you have received and the bank has not taken back',
  })
}

/** Equal for requests that ask for the same refund: `5` and `5.00` are one amount. */
export const refundFingerprintOf = (request: {
  readonly sessionId: string
  readonly partId: string | null
  readonly amount: Minor
  readonly reference: string | null
  readonly reason: string | null
}): string =>
  JSON.stringify([
    ...[request.sessionId.toLowerCase(), request.amount.toString(), request.reference, request.reason],
    // Absent in the fingerprints of the version before.
    ...(request.partId === null ? [] : [request.partId.toLowerCase()]),
  ])
