/** Pure: the fee of a payout. */
import type { Rail } from '@partner-payments/wire'
import type { Currency, Minor } from '../../kernel/index.ts'

export const feeRails = ['any', 'Sepa', 'Swift', 'Wallet'] as const

/** Amounts in minor units of `currency`; 10,000 basis points are 100 %. */
export type FeeRule = {
  readonly partnerId: string
  readonly id: string
  readonly currency: Currency
  /** `any`: for a rail without a rule of its own. */
  readonly rail: (typeof feeRails)[number]
  readonly fixedAmount: Minor
  readonly basisPoints: number
  readonly minAmount: Minor
  /** Null: none. */
  readonly maxAmount: Minor | null
  /** The rule holds from then until the next one of the same rail. */
  readonly validFrom: Date
}

type Charged = { readonly partnerId: string; readonly currency: Currency; readonly rail: Rail; readonly amount: Minor }

/** The newest rule of the rail that holds at a time; without one, the newest rule of any rail. */
function ruleOf(rules: readonly FeeRule[], { partnerId, currency, rail }: Charged, now: Date): FeeRule | undefined {
  const valid = rules.filter(
    (rule) => rule.partnerId === partnerId && rule.currency === currency && rule.validFrom <= now,
  )
  const newest = (of: FeeRule['rail']) =>
    valid.filter((rule) => rule.rail === of).toSorted((a, b) => b.validFrom.getTime() - a.validFrom.getTime())[0]
  return newest(rail) ?? newest('any')
}

export type FeeInForce = {
  readonly rule: FeeRule
  /** False: it begins later. */
  readonly isInForce: boolean
  /** When the next rule of the same currency and rail begins. Null: none is set. */
  readonly validUntil: Date | null
}

/** The rules in force now or later, in the given order: those of a currency and rail are oldest first. */
export function feesInForce(rules: readonly FeeRule[], now: Date): readonly FeeInForce[] {
  return rules.flatMap((rule, at) => {
    const next = rules[at + 1]
    const isReplaced = next !== undefined && next.currency === rule.currency && next.rail === rule.rail
    const validUntil = isReplaced ? next.validFrom : null
    if (validUntil !== null && validUntil <= now) return []
    return [{ rule, isInForce: rule.validFrom <= now, validUntil }]
  })
}

const whole = 10_000n

/** Fixed part and share, the share rounded up to the minor unit, within the bounds of the rule. Zero: no rule holds. */
export function feeOf(rules: readonly FeeRule[], charged: Charged, now: Date): Minor {
  const rule = ruleOf(rules, charged, now)
  if (rule === undefined) return 0n
  const { fixedAmount, basisPoints, minAmount, maxAmount } = rule
  const fee = fixedAmount + (charged.amount * BigInt(basisPoints) + whole - 1n) / whole
  const atLeast = fee < minAmount ? minAmount : fee
  return maxAmount !== null && atLeast > maxAmount ? maxAmount : atLeast
}
