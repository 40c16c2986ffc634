/** Pure: whether a beneficiary is too new to be paid. */
import { Refusal } from '../../kernel/api/index.ts'
import { after, type Currency, hourMs } from '../../kernel/index.ts'

/** A beneficiary is paid in the currency only after it has been unchanged for this many hours. */
export type CoolingOff = {
  readonly partnerId: string
  readonly id: string
  readonly currency: Currency
  readonly hours: number
}

type Paid = {
  readonly partnerId: string
  readonly currency: Currency
  /** The time since which the beneficiary has its account and its name. Null: the payout has none. */
  readonly unchangedSince: Date | null
}

/** Null: no rule applies to the payout. Undefined: the time has passed. Otherwise the time from which the beneficiary can be paid. */
export function coolingOffOf(rules: readonly CoolingOff[], payout: Paid, now: Date): Date | undefined | null {
  const { partnerId, currency, unchangedSince } = payout
  const rule = rules.find((each) => each.partnerId === partnerId && each.currency === currency)
  if (rule === undefined || unchangedSince === null) return null
  const from = after(unchangedSince, rule.hours * hourMs)
  return from <= now ? undefined : from
}

export function refuseCoolingOff(from: Date): Refusal {
  const time = from.toISOString()
  return new Refusal(
    'beneficiary_cooling_off',
    `The beneficiary is new or has a new name. It can be paid from ${time}.`,
    {
      errors: [{ pointer: '/beneficiaryId', code: 'invalid_value', message: `can be paid from ${time}` }],
    },
  )
}
