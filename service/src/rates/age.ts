/** Pure: the age of a sheet. If rates are published only on TARGET days, other days do not count. */
import { dayMs } from '../kernel/index.ts'
import type { RateSource } from './port.ts'

/** Above this many days the exact age has no meaning. */
const daysMax = 60

export function ageMs(asOf: Date, now: Date, publishes: RateSource['publishes']): number {
  const whole = Math.max(0, now.getTime() - asOf.getTime())
  if (publishes === 'always' || whole > daysMax * dayMs) return whole
  let closed = 0
  for (let day = startOfDay(asOf.getTime()); day < now.getTime(); day += dayMs)
    if (isClosed(new Date(day))) closed += Math.min(now.getTime(), day + dayMs) - Math.max(asOf.getTime(), day)
  return whole - closed
}

const startOfDay = (ms: number) => Math.floor(ms / dayMs) * dayMs

/**
 * The days on which TARGET rests, and the ECB publishes no rates: Saturdays, Sundays, 1 January, Good Friday, Easter Monday,
 * 1 May, 25 and 26 December (ECB, TARGET closing days).
 */
function isClosed(day: Date): boolean {
  const weekday = day.getUTCDay()
  if (weekday === 0 || weekday === 6) return true
  const date = day.toISOString().slice(5, 10)
  if (['01-01', '05-01', '12-25', '12-26'].includes(date)) return true
  const fromEaster = (day.getTime() - easterSunday(day.getUTCFullYear())) / dayMs
  return fromEaster === -2 || fromEaster === 1
}

/** The anonymous Gregorian computus (Meeus, Jones, Butcher). */
function easterSunday(year: number): number {
  const golden = year % 19
  const century = Math.floor(year / 100)
  const inCentury = year % 100
  const correction = Math.floor((8 * century + 13) / 25)
  const epact = (19 * golden + century - Math.floor(century / 4) - correction + 15) % 30
  const weekday = (32 + 2 * (century % 4) + 2 * Math.floor(inCentury / 4) - epact - (inCentury % 4)) % 7
  const late = Math.floor((golden + 11 * epact + 22 * weekday) / 451)
  const sum = epact + weekday - 7 * late + 114
  return Date.UTC(year, Math.floor(sum / 31) - 1, (sum % 31) + 1)
}
