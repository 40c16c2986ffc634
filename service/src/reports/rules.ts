/** Pure: the formats of reports, the checks of requests, and the periods of schedules. */
import {
  type BodyOf,
  type FieldError,
  reportMatrix,
  type ReportFormat,
  type ReportFrequency,
  type ReportKind,
  reportMediaTypes,
} from '@partner-payments/wire'
import { parseCurrency, parseTime, Refusal, refuseFields } from '../kernel/api/index.ts'
import { type Currency, isCurrency, isFiat } from '../kernel/index.ts'

/** Open reports of a partner. Further requests are refused, so that a partner cannot fill the queue. */
export const openReportsMax = 50
export const schedulesMax = 20
/** Further attempts would fail as well. */
export const attemptsMax = 5
/** A longer PDF would have thousands of pages, which programs cannot open. */
export const pdfLinesMax = 100_000

export type ReportSpec = {
  readonly kind: ReportKind
  readonly format: ReportFormat
  readonly currency: Currency | null
}
export type Period = { readonly from: Date; readonly to: Date }

/** The report can never be written in its format. The partner reads the message, which says what to do. */
export class ReportImpossible extends Error {
  override readonly name = 'ReportImpossible'
}

type SpecInput = {
  readonly kind: ReportKind
  readonly format: ReportFormat
  readonly currency?: string
  readonly customerId?: string
}

/** Reads kind, format and currency. Refuses: report_format_not_supported, validation_failed (currency, customerId), currency_not_supported. */
export function readSpec({ kind, format, currency: code, customerId }: SpecInput): ReportSpec {
  const formats = reportMatrix[kind]
  if (!formats.includes(format))
    throw new Refusal('report_format_not_supported', `A ${kind} report is available as ${formats.join(', ')}.`, {
      errors: [{ pointer: '/format', code: 'invalid_value', message: `must be one of ${formats.join(', ')}` }],
    })
  const token = code !== undefined && isCurrency(code) && !isFiat(code)
  const isBankStatement = format === 'camt.053' || format === 'camt.053.001.02'
  if (isBankStatement && token)
    throw new Refusal('report_format_not_supported', 'camt.053 supports currencies of ISO 4217, not tokens.', {
      errors: [{ pointer: '/currency', code: 'invalid_value', message: 'must be a currency of ISO 4217' }],
    })
  const errors: FieldError[] = []
  const oneCurrency = kind === 'statement' && (format === 'pdf' || isBankStatement)
  if (oneCurrency && code === undefined)
    errors.push({ pointer: '/currency', code: 'required', message: `is required for a ${format} statement` })
  if (kind === 'reconciliation' && customerId !== undefined)
    errors.push({ pointer: '/customerId', code: 'invalid_value', message: 'must be absent for a reconciliation' })
  refuseFields(errors)
  return { kind, format, currency: code === undefined ? null : parseCurrency(code) }
}

/** Reads a period, which must have ended, because its content could still change. The earliest year is 0001. Refuses: validation_failed. */
export function readPeriod({ from, to }: Pick<BodyOf<'createReport'>, 'from' | 'to'>, now: Date): Period {
  const period = { from: parseTime(from), to: parseTime(to) }
  const errors: FieldError[] = []
  if (period.to > now) errors.push({ pointer: '/to', code: 'out_of_range', message: 'must not be in the future' })
  if (period.from >= period.to)
    errors.push({ pointer: '/to', code: 'out_of_range', message: 'must be later than `from`' })
  refuseFields(errors)
  return period
}

/** Reads a time zone. Refuses: validation_failed (timeZone). */
export function readTimeZone(name: string): string {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone
  } catch {
    refuseFields([{ pointer: '/timeZone', code: 'invalid_value', message: 'must be an IANA time zone' }])
    throw new Refusal('validation_failed')
  }
}

const lengths: Readonly<Record<ReportFrequency, Temporal.DurationLike>> = {
  daily: { days: 1 },
  weekly: { weeks: 1 },
  monthly: { months: 1 },
}

/** Finds the first end of a period after a moment: midnight in the time zone, of a Monday or the first of a month if needed. */
export function nextPeriodEnd(frequency: ReportFrequency, timeZone: string, after: Date): Date {
  const local = Temporal.Instant.fromEpochMilliseconds(after.getTime()).toZonedDateTimeISO(timeZone)
  const day = local.toPlainDate()
  const begun =
    frequency === 'monthly'
      ? day.with({ day: 1 })
      : frequency === 'weekly'
        ? day.subtract({ days: day.dayOfWeek - 1 })
        : day
  return midnight(begun.add(lengths[frequency]), timeZone)
}

export function periodBefore(frequency: ReportFrequency, timeZone: string, end: Date): Period {
  const day = Temporal.Instant.fromEpochMilliseconds(end.getTime()).toZonedDateTimeISO(timeZone).toPlainDate()
  return { from: midnight(day.subtract(lengths[frequency]), timeZone), to: end }
}

/** Finds the start of a day, which is later than midnight where the clocks go forward at midnight. */
const midnight = (day: Temporal.PlainDate, timeZone: string): Date =>
  new Date(day.toZonedDateTime({ timeZone }).startOfDay().epochMilliseconds)

/** Builds the name of the file, such as `statement-EUR-2026-01-01-2026-02-01.csv`. */
export function reportFileName({ kind, format, currency }: ReportSpec, { from, to }: Period): string {
  const day = (moment: Date) => moment.toISOString().slice(0, 10)
  const ending = reportMediaTypes[format] === 'application/xml' ? `${format}.xml` : format
  return [kind, ...(currency === null ? [] : [currency]), day(from), day(to)].join('-') + `.${ending}`
}
