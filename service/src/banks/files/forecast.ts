/** Pure: the forecast of a payment that the bank's connector receives at a time. */
import { after, secondMs } from '../../kernel/index.ts'
import { dayOf, type Forecast, type ForecastPayment, isTargetDay, nextWindow } from '../../rails/index.ts'
import type { BankRules } from './deps.ts'
import { chooseScheme, isRefused, isSepa } from './schemes.ts'

/** SCT Inst rulebook 2025, section 4.2.3: the beneficiary has the money within ten seconds. */
const instantMs = 10 * secondMs

export function forecastOf(payment: ForecastPayment, at: Date, rules: BankRules): Forecast {
  const { opensAt, cutOffAt, date } = nextWindow(at, rules, payment.currency)
  const choice = chooseScheme(payment, rules, date)
  if (isRefused(choice)) return { possible: false, errorKey: choice.errorKey, details: choice.details }
  if (choice.applied === 'Instant') {
    const arrivesAt = after(at, rules.instantWindowMs + instantMs)
    const days = { valueDate: dayOf(at, rules), arrivesOn: dayOf(arrivesAt, rules) }
    return { possible: true, method: 'SepaInstant', cutOffAt: null, submitsAt: at, ...days }
  }
  const goesBySepa = isSepa(payment)
  return {
    possible: true,
    method: goesBySepa ? 'SepaCreditTransfer' : 'Swift',
    cutOffAt,
    submitsAt: opensAt > at ? opensAt : at,
    valueDate: date,
    arrivesOn: goesBySepa ? nextTargetDay(date) : null,
  }
}

/** Directive (EU) 2015/2366, article 83(1): by the end of the business day after the execution. */
function nextTargetDay(date: string): string {
  let day = Temporal.PlainDate.from(date).add({ days: 1 })
  while (!isTargetDay(day)) day = day.add({ days: 1 })
  return day.toString()
}
