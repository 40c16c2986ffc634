/** Pure: which payouts wait for a second person, why, and for how long. */
import { after, amountText, type Currency, hourMs, type Minor } from '../../kernel/index.ts'
import type { PayeeCheck } from '../../parties/beneficiaries/index.ts'
import { countsAs, type Side } from './sides.ts'

/**
 * Criteria by which a payout waits: it is above an amount; its beneficiary is too new; it would take what leaves on a day (UTC) without an
 * approval above a sum; the sum of its bulk is above an amount; or its beneficiary was found not to be the account holder. Null: the criterion
 * does not apply.
 */
export type ApprovalRule = {
  readonly partnerId: string
  readonly id: string
  readonly currency: Currency
  /** True: payouts in every currency are judged by their amount in `currency`. */
  readonly allCurrencies: boolean
  readonly aboveAmount: Minor | null
  readonly aboveDayAmount: Minor | null
  readonly aboveBulkAmount: Minor | null
  readonly beneficiaryHours: number | null
  readonly payeeMismatch: boolean
  /** The sum that one person may approve on a day (UTC). Null: any sum. */
  readonly perPersonAmount: Minor | null
  readonly expiresHours: number
  /** True if only a person with a passkey may approve. */
  readonly needsPasskey: boolean
}

/** The reason why a payout waits, as a word and as a sentence, and the end of the wait. */
export type NeededApproval = {
  readonly cause: 'amount' | 'day' | 'bulk' | 'beneficiary' | 'payee'
  readonly because: string
  readonly expiresAt: Date
  readonly needsPasskey: boolean
}

type Held = Omit<Side, 'pointer'> & {
  readonly partnerId: string
  /** When the beneficiary was created. Null: the payout has none. */
  readonly beneficiarySince: Date | null
  /** The last result for the name and the account of the beneficiary. Null: there is none. */
  readonly payeeCheck: PayeeCheck | null
  /** The sum of its bulk, in this currency or over all. Null: it is in none. */
  readonly bulkSum: Minor | null
}

/** The words for what a result means. Null: the name is that of the account. */
export const payeeMismatches: Readonly<Record<PayeeCheck, string | null>> = {
  match: null,
  close_match: 'The name of the beneficiary is not exactly that of the account.',
  no_match: 'The name of the beneficiary does not match the account.',
}

/** The rule of a currency, or the one over all currencies. */
const ruleFor = (
  rules: readonly ApprovalRule[],
  { partnerId, currency, name }: Pick<Held, 'partnerId' | 'currency' | 'name'>,
) =>
  rules.find(
    (each) => each.partnerId === partnerId && each.currency === currency && each.allCurrencies === (name === 'all'),
  )

export function approvalOf(rules: readonly ApprovalRule[], payout: Held, now: Date): NeededApproval | null {
  const { currency, amount, beneficiarySince, payeeCheck, bulkSum } = payout
  const rule = ruleFor(rules, payout)
  if (rule === undefined) return null
  const { aboveAmount, aboveBulkAmount, beneficiaryHours, payeeMismatch, expiresHours, needsPasskey } = rule
  const expiresAt = after(now, expiresHours * hourMs)
  // First, because the approver has to know it.
  const mismatch = payeeMismatch && payeeCheck !== null ? payeeMismatches[payeeCheck] : null
  if (mismatch !== null) return { cause: 'payee', because: mismatch, expiresAt, needsPasskey }
  if (aboveAmount !== null && amount > aboveAmount) {
    const because = `The amount is above ${amountText(aboveAmount, currency)} ${currency}.${countsAs(payout)}`
    return { cause: 'amount', because, expiresAt, needsPasskey }
  }
  if (aboveBulkAmount !== null && bulkSum !== null && bulkSum > aboveBulkAmount) {
    const because = `The payouts of the bulk are above ${amountText(aboveBulkAmount, currency)} ${currency}.`
    return { cause: 'bulk', because, expiresAt, needsPasskey }
  }
  if (beneficiaryHours === null || beneficiarySince === null) return null
  if (after(beneficiarySince, beneficiaryHours * hourMs) <= now) return null
  const because = `The beneficiary was created less than ${beneficiaryHours} hours ago.`
  return { cause: 'beneficiary', because, expiresAt, needsPasskey }
}

/** Reads what may leave on a day without an approval, and the approval that a payout beyond it needs. Undefined: any sum. */
export function dayApprovalOf(
  rules: readonly ApprovalRule[],
  payout: Omit<Side, 'pointer'> & { readonly partnerId: string },
  now: Date,
): { readonly amount: Minor; readonly needed: NeededApproval } | undefined {
  const { currency } = payout
  const rule = ruleFor(rules, payout)
  if (rule === undefined || rule.aboveDayAmount === null) return undefined
  const { aboveDayAmount: amount, expiresHours, needsPasskey } = rule
  const because = `The payouts of this day (UTC) without an approval are above ${amountText(amount, currency)} ${currency}.${countsAs(payout)}`
  return { amount, needed: { cause: 'day', because, expiresAt: after(now, expiresHours * hourMs), needsPasskey } }
}
