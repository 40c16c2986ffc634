/** The time of the daily mail in the zone of a person. */

const zones: ReadonlySet<string> = new Set(['UTC', ...Intl.supportedValuesOf('timeZone')])
export const zoneNames: readonly string[] = [...zones]
export const isZone = (text: string): boolean => zones.has(text)

/** Finds the next start of an hour in a zone. An hour that a clock change skips begins after the change. */
export function nextDailyTime(now: Date, zone: string, hour: number): Date {
  const day = Temporal.Instant.fromEpochMilliseconds(now.getTime()).toZonedDateTimeISO(zone).toPlainDate()
  const at = (each: Temporal.PlainDate): Date =>
    new Date(each.toZonedDateTime({ timeZone: zone, plainTime: new Temporal.PlainTime(hour) }).epochMilliseconds)
  const today = at(day)
  return today > now ? today : at(day.add({ days: 1 }))
}
