/** Times and dates as the publishers write them. */

const isoTime = /^(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d:\d\d)(?:\.\d+)?)?(Z|[+-]\d\d:\d\d)?$/

/** A time without a zone is UTC. */
export function readIsoTime(text: string): Date | undefined {
  const [, day, time = '00:00:00', zone = 'Z'] = isoTime.exec(text.trim()) ?? []
  const read = new Date(`${day}T${time}${zone}`)
  return day === undefined || Number.isNaN(read.getTime()) ? undefined : read
}

/** `12/31/2026`. */
export function readAmericanDay(text: string): Date | undefined {
  const [, month, day, year] = /^(\d\d)\/(\d\d)\/(\d{4})$/.exec(text.trim()) ?? []
  return year === undefined ? undefined : readIsoTime(`${year}-${month}-${day}`)
}

/** A day of the calendar; months count from 1. */
export type Day = { readonly year: number; readonly month: number; readonly day: number }

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** The number of days of a month. */
export const daysOf = (year: number, month: number): number => new Date(Date.UTC(year, month, 0)).getUTCDate()

const sdnDay = ({ year, month, day }: Day) => `${String(day).padStart(2, '0')} ${months[month - 1]} ${year}`

/** Reads a day as SDN.XML writes it, as `YYYY-MM-DD`. Undefined: another text, also a month or a period. */
export function readSdnDay(text: string): string | undefined {
  const [, day, name = '', year] = /^(\d\d) ([A-Z][a-z]{2}) (\d{4})$/.exec(text) ?? []
  const month = months.indexOf(name) + 1
  return month === 0 ? undefined : `${year}-${String(month).padStart(2, '0')}-${day}`
}

/** A period as SDN.XML writes it: `07 Oct 1954`, `Oct 1954`, `1954`, `1954 to 1956`, `07 Oct 1954 to 09 Jan 1955`. */
export function sdnPeriod(first: Day, last: Day): string {
  const isSameMonth = first.year === last.year && first.month === last.month
  if (isSameMonth && first.day === last.day) return sdnDay(first)
  if (first.month === 1 && first.day === 1 && last.month === 12 && last.day === 31)
    return first.year === last.year ? String(first.year) : `${first.year} to ${last.year}`
  if (isSameMonth && first.day === 1 && last.day === daysOf(last.year, last.month))
    return `${months[first.month - 1]} ${first.year}`
  return `${sdnDay(first)} to ${sdnDay(last)}`
}
