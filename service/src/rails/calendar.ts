/** Pure: when a bank accepts credit transfers, and on which day it executes them. */
import { assert } from '../kernel/index.ts'

/**
 * A bank accepts credit transfers on days when TARGET is open, from `opensAt` to `cutOffAt` of its time zone: minutes
 * after midnight.
 */
export type Calendar = {
  readonly timeZone: string
  readonly opensAt: number
  readonly cutOffAt: number
  /** Days on which the bank is closed in addition to those of TARGET: `YYYY-MM-DD`. */
  readonly closedDays: ReadonlySet<string>
}

/** Payments that the bank has before `cutOffAt` are executed on `date`, `YYYY-MM-DD`. */
export type Window = { readonly opensAt: Date; readonly cutOffAt: Date; readonly date: string }

/**
 * No bank is closed for this long. Without the limit, days that are closed by configuration could be searched for ever.
 */
const closedDaysMax = 1000

/** Sunday of Easter in the Gregorian calendar (Meeus, Astronomical Algorithms, chapter 8). */
export function easterOf(year: number): Temporal.PlainDate {
  const golden = year % 19
  const century = Math.floor(year / 100)
  const ofCentury = year % 100
  const correction = Math.floor((century - Math.floor((century + 8) / 25) + 1) / 3)
  const moon = (19 * golden + century - Math.floor(century / 4) - correction + 15) % 30
  const sunday = (32 + 2 * (century % 4) + 2 * Math.floor(ofCentury / 4) - moon - (ofCentury % 4)) % 7
  const late = Math.floor((golden + 11 * moon + 22 * sunday) / 451)
  const days = moon + sunday - 7 * late + 114
  return new Temporal.PlainDate(year, Math.floor(days / 31), (days % 31) + 1)
}

/** TARGET is closed on them in every year: New Year's Day, Labour Day, Christmas Day and the day after. */
const fixedClosings: ReadonlySet<string> = new Set(['01-01', '05-01', '12-25', '12-26'])

/** Guideline ECB/2022/8, annex I: Saturdays, Sundays, the fixed days, Good Friday and Easter Monday. */
export function isTargetDay(day: Temporal.PlainDate): boolean {
  if (day.dayOfWeek >= 6 || fixedClosings.has(day.toString().slice(5))) return false
  const fromEaster = easterOf(day.year).until(day, { largestUnit: 'days' }).days
  return fromEaster !== -2 && fromEaster !== 1
}

/** The window that is open at `at`, or else the next one. At the cut-off it is closed. */
export function nextWindow(at: Date, { timeZone, opensAt, cutOffAt, closedDays }: Calendar): Window {
  let day = localDay(at, timeZone)
  for (let days = 0; ; days += 1, day = day.add({ days: 1 })) {
    assert(days < closedDaysMax, 'the bank is open on some day')
    if (!isTargetDay(day) || closedDays.has(day.toString())) continue
    const window = { opensAt: momentOf(day, opensAt, timeZone), cutOffAt: momentOf(day, cutOffAt, timeZone) }
    // A change of the clocks can leave a short window without any time.
    if (window.opensAt < window.cutOffAt && at < window.cutOffAt) return { ...window, date: day.toString() }
  }
}

/**
 * The last day whose statement is the one of `day` or an earlier one: a bank lists entries of closed days on its next
 * day.
 */
export function lastListedOn(day: string, { closedDays }: Pick<Calendar, 'closedDays'>): string {
  const isOpen = (one: Temporal.PlainDate) => isTargetDay(one) && !closedDays.has(one.toString())
  let listed = Temporal.PlainDate.from(day)
  for (let days = 0; !isOpen(listed) && days < closedDaysMax; days += 1) listed = listed.subtract({ days: 1 })
  return listed.toString()
}

/** The earliest time, from `at` on, at which the bank accepts a credit transfer. */
export function openFrom(at: Date, calendar: Calendar): Date {
  const { opensAt } = nextWindow(at, calendar)
  return opensAt <= at ? at : opensAt
}

/** The day of the bank, `YYYY-MM-DD`: instant payments are executed at once. */
export const dayOf = (at: Date, { timeZone }: Pick<Calendar, 'timeZone'>): string => localDay(at, timeZone).toString()

const localDay = (at: Date, timeZone: string): Temporal.PlainDate =>
  Temporal.Instant.fromEpochMilliseconds(at.getTime()).toZonedDateTimeISO(timeZone).toPlainDate()

/**
 * 24:00 is the beginning of the next day. A time that the clocks skip is one hour later; of a repeated time the first
 * one counts.
 */
function momentOf(day: Temporal.PlainDate, minutes: number, timeZone: string): Date {
  const isNext = minutes === 24 * 60
  const plainTime = new Temporal.PlainTime(isNext ? 0 : Math.floor(minutes / 60), minutes % 60)
  const { epochMilliseconds } = (isNext ? day.add({ days: 1 }) : day).toZonedDateTime({ timeZone, plainTime })
  return new Date(epochMilliseconds)
}
