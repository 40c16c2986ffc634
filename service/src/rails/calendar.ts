/** Computes when a bank accepts credit transfers, and on which day it executes them. Pure. */
import { assert, type Currency } from '../kernel/index.ts'

/** A bank accepts credit transfers on days when the currency settles, from `opensAt` to `cutOffAt`, in minutes after midnight. */
export type Calendar = {
  readonly timeZone: string
  readonly opensAt: number
  readonly cutOffAt: number
  /** Further days on which the bank is closed, `YYYY-MM-DD`. */
  readonly closedDays: ReadonlySet<string>
}

/** The bank executes payments received before `cutOffAt` on `date`, `YYYY-MM-DD`. */
export type BankWindow = { readonly opensAt: Date; readonly cutOffAt: Date; readonly date: string }

/** Limits the search, in case the configured closed days never end. */
const closedDaysMax = 1000

/** Computes Easter Sunday in the Gregorian calendar (Meeus, Astronomical Algorithms, chapter 8). */
export function easterSunday(year: number): Temporal.PlainDate {
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

/** Counts the days from Easter Sunday. */
const daysFromEaster = (day: Temporal.PlainDate): number =>
  easterSunday(day.year).until(day, { largestUnit: 'days' }).days

/** TARGET is closed on New Year's Day, Labour Day, Christmas Day and the day after. */
const fixedClosings: ReadonlySet<string> = new Set(['01-01', '05-01', '12-25', '12-26'])

/** Reports whether TARGET is open. It closes on weekends, fixed days, Good Friday and Easter Monday (Guideline ECB/2022/8, annex I). */
export function isTargetDay(day: Temporal.PlainDate): boolean {
  if (day.dayOfWeek >= 6 || fixedClosings.has(day.toString().slice(5))) return false
  const easter = daysFromEaster(day)
  return easter !== -2 && easter !== 1
}

/**
 * Exceptions of single years: moved or added holidays (`closed`), and holidays that were moved away (`open`). Source: Royal
 * proclamations under the Banking and Financial Dealings Act 1971.
 */
const ukExceptions = {
  closed: new Set(['2020-05-08', '2022-06-02', '2022-06-03', '2022-09-19', '2023-05-08']),
  open: new Set(['2020-05-04', '2022-05-30']),
}

/**
 * Reports whether CHAPS and Bacs are open. They close on weekends and the bank holidays of England and Wales (Banking and Financial Dealings
 * Act 1971, schedule 1). A fixed holiday on a weekend moves to the next weekday that is not a holiday.
 */
function isUkDay(day: Temporal.PlainDate): boolean {
  const { dayOfWeek, day: date, month } = day
  if (dayOfWeek >= 6 || ukExceptions.closed.has(day.toString())) return false
  if (ukExceptions.open.has(day.toString())) return true
  const easter = daysFromEaster(day)
  if (easter === -2 || easter === 1) return false
  if (month === 1) return !(date === 1 || (dayOfWeek === 1 && date <= 3))
  // Boxing Day gives way to Christmas Day: both on a weekend are Monday 27 and Tuesday 28.
  if (month === 12) return !(date === 25 || date === 26 || (date <= 28 && date > 26 && dayOfWeek <= 2))
  const isMonday = dayOfWeek === 1
  const isLast = date + 7 > day.daysInMonth
  return !(isMonday && ((month === 5 && (date <= 7 || isLast)) || (month === 8 && isLast)))
}

/** The month and the number of its Monday; 5 is the last. */
const usMondays = new Set(['1 3', '2 3', '5 5', '9 1', '10 2'])
/** New Year's Day, Juneteenth (since 2022 at the Federal Reserve), Independence Day, Veterans Day, Christmas Day. */
const usDates = new Set(['1 1', '6 19', '7 4', '11 11', '12 25'])
const isUsDate = ({ month, day, year }: Temporal.PlainDate): boolean =>
  usDates.has(`${month} ${day}`) && (month !== 6 || year >= 2022)

/**
 * Reports whether Fedwire is open. It closes on weekends and federal holidays (Federal Reserve Bank Services, holiday schedule). A holiday on a
 * Sunday is observed on Monday. For a holiday on a Saturday, banks are open on Friday.
 */
function isUsDay(day: Temporal.PlainDate): boolean {
  const { dayOfWeek, day: date, month } = day
  if (dayOfWeek >= 6 || isUsDate(day)) return false
  const week = Math.ceil(date / 7)
  if (dayOfWeek === 4) return !(month === 11 && week === 4)
  if (dayOfWeek !== 1) return true
  const isLast = date + 7 > day.daysInMonth
  return !(usMondays.has(`${month} ${month === 5 && isLast ? 5 : week}`) || isUsDate(day.subtract({ days: 1 })))
}

/** Reports whether payments of a currency settle on a day. Tokens settle every day. */
const settlementDays: Readonly<Record<Currency, (day: Temporal.PlainDate) => boolean>> = {
  EUR: isTargetDay,
  GBP: isUkDay,
  USD: isUsDay,
  EURC: () => true,
  USDC: () => true,
}
export const isSettlementDay = (currency: Currency, day: Temporal.PlainDate): boolean => settlementDays[currency](day)

/** Finds the first day, from `day` on, on which all these currencies settle, `YYYY-MM-DD`. */
export function firstSettlementDay(currenciesMoved: readonly Currency[], day: string): string {
  let found = Temporal.PlainDate.from(day)
  while (!currenciesMoved.every((currency) => isSettlementDay(currency, found))) found = found.add({ days: 1 })
  return found.toString()
}

/** Finds the window that is open at `at` for a currency, or else the next one. At the cut-off the window is closed. */
export function nextWindow(
  at: Date,
  { timeZone, opensAt, cutOffAt, closedDays }: Calendar,
  currency: Currency,
): BankWindow {
  let day = localDay(at, timeZone)
  for (let days = 0; ; days += 1, day = day.add({ days: 1 })) {
    assert(days < closedDaysMax, 'the bank is open on some day')
    if (!isSettlementDay(currency, day) || closedDays.has(day.toString())) continue
    const window = { opensAt: localTime(day, opensAt, timeZone), cutOffAt: localTime(day, cutOffAt, timeZone) }
    // A clock change can leave a window empty.
    if (window.opensAt < window.cutOffAt && at < window.cutOffAt) return { ...window, date: day.toString() }
  }
}

/** Finds the last day that the statement of `day` covers: a bank lists the entries of closed days on its next open day. */
export function lastDayOnStatement(
  day: string,
  { closedDays }: Pick<Calendar, 'closedDays'>,
  currency: Currency,
): string {
  const isOpen = (one: Temporal.PlainDate) => isSettlementDay(currency, one) && !closedDays.has(one.toString())
  let listed = Temporal.PlainDate.from(day)
  for (let days = 0; !isOpen(listed) && days < closedDaysMax; days += 1) listed = listed.subtract({ days: 1 })
  return listed.toString()
}

/** Computes the earliest time, from `at` on, at which the bank accepts a credit transfer in a currency. */
export function earliestSubmission(at: Date, calendar: Calendar, currency: Currency): Date {
  const { opensAt } = nextWindow(at, calendar, currency)
  return opensAt <= at ? at : opensAt
}

/** Returns the day in the bank's time zone, `YYYY-MM-DD`. */
export const bankDay = (at: Date, { timeZone }: Pick<Calendar, 'timeZone'>): string => localDay(at, timeZone).toString()

const localDay = (at: Date, timeZone: string): Temporal.PlainDate =>
  Temporal.Instant.fromEpochMilliseconds(at.getTime()).toZonedDateTimeISO(timeZone).toPlainDate()

/** Converts a local time. 24:00 begins the next day; a skipped time is one hour later; a repeated time is its first occurrence. */
function localTime(day: Temporal.PlainDate, minutes: number, timeZone: string): Date {
  const isNext = minutes === 24 * 60
  const plainTime = new Temporal.PlainTime(isNext ? 0 : Math.floor(minutes / 60), minutes % 60)
  const { epochMilliseconds } = (isNext ? day.add({ days: 1 }) : day).toZonedDateTime({ timeZone, plainTime })
  return new Date(epochMilliseconds)
}
