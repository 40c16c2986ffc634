/** Pure: which part of a payment can be refunded, and to which account. */
import type { payouts } from '@partner-payments/wire'
import { refuseField, Refusal } from '../../api/index.ts'
import { amountText, type Currency, type Minor } from '../../kernel/index.ts'
import { type IncomingDebtor, isIban, readDomestic } from '../../rails/index.ts'
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
  const payer = debtor === null ? undefined : (JSON.parse(debtor) as IncomingDebtor)
  const name = payer?.name.trim() ?? ''
  const account = payer?.account ?? ''
  if (payer === undefined || name === '' || (!isIban(account) && readDomestic(account) === undefined))
    throw new Refusal(
      'payer_account_unknown',
      'The bank named no account with the payment that can be paid. Send the money by a payout to a beneficiary.',
    )
  return { name, account, bic: payer.bic === '' ? null : payer.bic, country: payer.countryCode }
}

/** Equal for requests that ask for the same refund: `5` and `5.00` are one amount. */
export const refundFingerprintOf = (request: {
  readonly sessionId: string
  readonly amount: Minor
  readonly reference: string | null
  readonly reason: string | null
}): string =>
  JSON.stringify([request.sessionId.toLowerCase(), request.amount.toString(), request.reference, request.reason])
