/** Pure: which payouts wait for a second person, why, and for how long. */
import { after, amountText, type Currency, hourMs, type Minor } from '../../kernel/index.ts'

/** A payout waits if it is above the amount, or if its beneficiary is younger. Null: the criterion does not apply. */
export type ApprovalRule = {
  readonly partnerId: string
  readonly id: string
  readonly currency: Currency
  readonly aboveAmount: Minor | null
  readonly beneficiaryHours: number | null
  readonly expiresHours: number
  /** Whether only a person with a passkey may approve. */
  readonly needsPasskey: boolean
}

/** The reason why a payout waits, as a word and as a sentence, and the end of the wait. */
export type NeededApproval = {
  readonly cause: 'amount' | 'beneficiary'
  readonly because: string
  readonly expiresAt: Date
  readonly needsPasskey: boolean
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
  const { aboveAmount, beneficiaryHours, expiresHours, needsPasskey } = rule
  const expiresAt = after(now, expiresHours * hourMs)
  if (aboveAmount !== null && amount > aboveAmount) {
    const because = `The amount is above ${amountText(aboveAmount, currency)} ${currency}.`
    return { cause: 'amount', because, expiresAt, needsPasskey }
  }
  if (beneficiaryHours === null || beneficiarySince === null) return null
  if (after(beneficiarySince, beneficiaryHours * hourMs) <= now) return null
  const because = `The beneficiary was created less than ${beneficiaryHours} hours ago.`
  return { cause: 'beneficiary', because, expiresAt, needsPasskey }
}
