/** Pure: the dates of a standing order. All times are UTC, so that a daylight-saving change moves no payout. */
import { type BodyOf, type FieldError, type standingOrders } from '@partner-payments/wire'
import { refuseField, refuseFields } from '../../kernel/api/index.ts'
import { after, assert, type Currency, dayMs, secondMs } from '../../kernel/index.ts'
import { isSettlementDay } from '../../rails/index.ts'

export type OrderFrequency = (typeof standingOrders.orderFrequencies)[number]
export type BusinessDayRule = (typeof standingOrders.businessDayRules)[number]

/** Dates are `YYYY-MM-DD`. */
export type OrderSchedule = {
  /** The currency determines the business days. */
  readonly currency: Currency
  readonly frequency: OrderFrequency
  readonly startsOn: string
  readonly secondOfDay: number
  /** Null unless `Monthly`. */
  readonly dayOfMonth: number | null
  /** Last possible date. */
  readonly endsOn: string | null
  /** Number of dates. */
  readonly dates: number | null
  readonly businessDays: BusinessDayRule
}
/** Position in a schedule: the index of a date, and the number of earlier dates. */
export type SchedulePosition = { readonly index: number; readonly number: number }
export type Occurrence = SchedulePosition & { readonly date: string; readonly executesAt: Date }

export const firstPosition: SchedulePosition = { index: 0, number: 0 }
export const nextPosition = ({ index, number }: SchedulePosition): SchedulePosition => ({
  index: index + 1,
  number: number + 1,
})

const secondOfDayDefault = 6 * 3600
const yearsAheadMax = 5
/** No calendar of a currency has this many closed days in a row. */
const closedDaysMax = 10

/** Finds the first date at or after a position. Undefined: the schedule has none. */
export function occurrenceFrom(schedule: OrderSchedule, { index, number }: SchedulePosition): Occurrence | undefined {
  if (schedule.dates !== null && number >= schedule.dates) return undefined
  for (let at = index; ; at += 1) {
    const day = dayAt(schedule, at)
    if (day === undefined) return undefined
    const date = day.toString()
    if (schedule.endsOn !== null && date > schedule.endsOn) return undefined
    if (isOmitted(schedule, day)) continue
    return { index: at, number, date, executesAt: timeOnDay(toBusinessDay(schedule, day), schedule.secondOfDay) }
  }
}

/** Finds the first date whose payout is not due before a time. */
export function occurrenceSince(
  schedule: OrderSchedule,
  position: SchedulePosition,
  time: Date,
): Occurrence | undefined {
  let found = occurrenceFrom(schedule, position)
  while (found !== undefined && found.executesAt < time) found = occurrenceFrom(schedule, nextPosition(found))
  return found
}

export function occurrencesFrom(
  schedule: OrderSchedule,
  position: SchedulePosition,
  datesMax: number,
): readonly Occurrence[] {
  const found: Occurrence[] = []
  let next = occurrenceFrom(schedule, position)
  while (next !== undefined && found.length < datesMax) {
    found.push(next)
    next = occurrenceFrom(schedule, nextPosition(next))
  }
  return found
}

function dayAt({ frequency, startsOn, dayOfMonth }: OrderSchedule, index: number): Temporal.PlainDate | undefined {
  const start = Temporal.PlainDate.from(startsOn)
  if (frequency === 'Once') return index === 0 ? start : undefined
  if (frequency === 'Daily') return start.add({ days: index })
  if (frequency === 'Weekly') return start.add({ weeks: index })
  // 29 February becomes the 28th in other years.
  if (frequency === 'Yearly') return start.add({ years: index })
  const inMonth = start.with({ day: dayOfMonth ?? start.day })
  const isBefore = Temporal.PlainDate.compare(inMonth, start) < 0
  return start
    .with({ day: 1 })
    .add({ months: isBefore ? index + 1 : index })
    .with({ day: dayOfMonth ?? start.day })
}

/** Reports whether a daily schedule omits a closed day, because the next business day has its own date. */
const isOmitted = ({ currency, frequency, businessDays }: OrderSchedule, day: Temporal.PlainDate): boolean =>
  frequency === 'Daily' && businessDays !== 'None' && !isSettlementDay(currency, day)

function toBusinessDay({ currency, businessDays }: OrderSchedule, date: Temporal.PlainDate): Temporal.PlainDate {
  if (businessDays === 'None') return date
  const step = { days: businessDays === 'Following' ? 1 : -1 }
  let day = date
  for (let days = 0; !isSettlementDay(currency, day); days += 1) {
    assert(days < closedDaysMax, `no business day within ${closedDaysMax} days`)
    day = day.add(step)
  }
  return day
}

const timeOnDay = (day: Temporal.PlainDate, secondOfDay: number): Date =>
  after(new Date(`${day.toString()}T00:00:00Z`), secondOfDay * secondMs)

/** Returns the end of the day, in UTC. */
export const midnightAfter = (time: Date): Date => after(new Date(time.getTime() - (time.getTime() % dayMs)), dayMs)

export function formatTimeOfDay(secondOfDay: number): string {
  const digits = (value: number) => String(Math.floor(value)).padStart(2, '0')
  return `${digits(secondOfDay / 3600)}:${digits((secondOfDay % 3600) / 60)}:${digits(secondOfDay % 60)}`
}

function secondsOf(time: string): number {
  const [hours = 0, minutes = 0, seconds = 0] = time.split(':').map(Number)
  return hours * 3600 + minutes * 60 + seconds
}

/** Parses the schedule of an order. Refuses: validation_failed, with a pointer to each wrong field. */
export function parseSchedule(
  input: BodyOf<'createStandingOrder'>['schedule'],
  currency: Currency,
  now: Date,
): { readonly schedule: OrderSchedule; readonly occurrence: Occurrence } {
  const { frequency, startsOn, time, dayOfMonth, endsOn = null, count = null, businessDays = 'Following' } = input
  refuseFields(fieldErrors(input, now))
  const schedule: OrderSchedule = {
    currency,
    frequency,
    startsOn,
    secondOfDay: time === undefined ? secondOfDayDefault : secondsOf(time),
    dayOfMonth: frequency === 'Monthly' ? (dayOfMonth ?? Temporal.PlainDate.from(startsOn).day) : null,
    endsOn,
    dates: count,
    businessDays,
  }
  const occurrence = occurrenceFrom(schedule, firstPosition)
  if (occurrence === undefined) throw refuseSchedule('endsOn', 'leaves no date in the schedule')
  if (occurrence.executesAt <= now)
    throw refuseSchedule(
      'startsOn',
      `must lie ahead: the first payout would have been made at ${occurrence.executesAt.toISOString()}`,
    )
  return { schedule, occurrence }
}

function fieldErrors(
  { frequency, startsOn, dayOfMonth, endsOn, count }: BodyOf<'createStandingOrder'>['schedule'],
  now: Date,
): readonly FieldError[] {
  const errors: FieldError[] = []
  const add = (field: string, message: string, code: FieldError['code'] = 'invalid_value') =>
    errors.push({ pointer: `/schedule/${field}`, code, message })
  const today = Temporal.PlainDate.from(now.toISOString().slice(0, 10))
  if (startsOn < today.toString()) add('startsOn', 'must not be in the past', 'out_of_range')
  if (startsOn > today.add({ years: yearsAheadMax }).toString())
    add('startsOn', `must be within ${yearsAheadMax} years`, 'out_of_range')
  if (dayOfMonth !== undefined && frequency !== 'Monthly') add('dayOfMonth', 'is only for the frequency Monthly')
  if (endsOn !== undefined && frequency === 'Once') add('endsOn', 'must be absent: the frequency Once has one date')
  else if (endsOn !== undefined && endsOn < startsOn) add('endsOn', 'must not be before `startsOn`', 'out_of_range')
  if (count !== undefined && frequency === 'Once') add('count', 'must be absent: the frequency Once has one date')
  else if (count !== undefined && endsOn !== undefined) add('count', 'must be absent if `endsOn` is given')
  return errors
}

const refuseSchedule = (field: string, message: string) =>
  refuseField({ pointer: `/schedule/${field}`, code: 'out_of_range', message })
