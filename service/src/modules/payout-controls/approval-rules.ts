/** Pure: which payouts wait for a second person, why, and for how long. */
import { after, amountText, type Currency, hourMs, type Minor } from '../../kernel/index.ts'

/** A payout waits if it is above the amount, or if its beneficiary is younger. Null: that does not matter. */
export type ApprovalRule = {
  readonly partnerId: string
  readonly id: string
  readonly currency: Currency
  readonly aboveAmount: Minor | null
  readonly beneficiaryHours: number | null
  readonly expiresHours: number
}

/** Why a payout waits, in a word and in a sentence, and until when. */
export type NeededApproval = {
  readonly cause: 'amount' | 'beneficiary'
  readonly because: string
  readonly expiresAt: Date
}

type Held = {
  readonly partnerId: string
  readonly currency: Currency
  readonly amount: Minor
  /** When the beneficiary was created. Null: the payout has none. */
  readonly beneficiarySince: Date | null
}

export function approvalOf(rules: readonly ApprovalRule[], payout: Held, now: Date): NeededApproval | null {
  const { partnerId, currency, amount, beneficiarySince } = payout
  const rule = rules.find((each) => each.partnerId === partnerId && each.currency === currency)
  if (rule === undefined) return null
  const { aboveAmount, beneficiaryHours, expiresHours } = rule
  const expiresAt = after(now, expiresHours * hourMs)
  if (aboveAmount !== null && amount > aboveAmount) {
    const because = `The amount is above ${amountText(aboveAmount, currency)} ${currency}.`
    return { cause: 'amount', because, expiresAt }
  }
  if (beneficiaryHours === null || beneficiarySince === null) return null
  if (after(beneficiarySince, beneficiaryHours * hourMs) <= now) return null
  const because = `The beneficiary was created less than ${beneficiaryHours} hours ago.`
  return { cause: 'beneficiary', because, expiresAt }
}
