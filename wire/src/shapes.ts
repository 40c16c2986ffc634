/**
 * The schema types that all operation groups share, and their limits. Validation, the OpenAPI document and the SDK use
 * the limits from here. The name of a limit ends with its unit.
 */
import type { Static, TProperties, TSchema } from 'typebox'
import { type Decimal, isDecimal, isRawNumber } from './decimal.ts'
import { Type } from './type.ts'

export const uuidPattern = '^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$'
/** Excludes year 0, which PostgreSQL and the calendar of RFC 3339 do not have. */
export const timestampPattern = '^(?!0000)\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$'
/**
 * A time in a request: RFC 3339 in UTC, with any fraction. Excludes leap seconds, which PostgreSQL cannot store. The format `date-time`
 * checks the calendar.
 */
export const timeInputPattern = '^(?!0000)\\d{4}-\\d{2}-\\d{2}[Tt]\\d{2}:\\d{2}:[0-5]\\d(?:\\.\\d+)?(?:[Zz]|[+-]00:00)$'
/** One `@`, no white space, lengths of RFC 5321 section 4.5.3.1. Only a delivered email proves an address. */
export const emailPattern = '^[^\\s@]{1,64}@[^\\s@.]+(\\.[^\\s@.]+)+$'
export const serviceIdPattern = '^cus_[0-9a-hjkmnp-tv-z]{16}$'
const customerRefPattern = `${uuidPattern}|${serviceIdPattern}`
/** Patterns of identifiers whose case does not matter. The gateway converts them to lower case. */
export const identifierPatterns: ReadonlySet<string> = new Set([uuidPattern, customerRefPattern])

export const referenceCharsMax = 140
export const idempotencyKeyCharsMax = 255
export const nameCharsMax = 140
export const aliasCharsMax = 70
export const urlCharsMax = 2048
export const emailCharsMax = 254

/** Adds the required description of a property: its meaning, its unit or format, and when it is absent. */
export const described = <T extends TSchema>(
  schema: T,
  description: string,
  options: Record<string, unknown> = {},
): T => Type.With(schema, { description, ...options }) as unknown as T

/** Describes a status by the meanings of its values. */
export const meaningsText = (meanings: Readonly<Record<string, string>>): string =>
  Object.entries(meanings)
    .map(([status, meaning]) => `\`${status}\`: ${meaning}.`)
    .join(' ')

/** An object that refuses unknown fields instead of ignoring them. */
export const closed = <T extends TProperties>(properties: T, options: Record<string, unknown> = {}) =>
  Type.Object(properties, { additionalProperties: false, ...options })

export const text = (charsMax: number, options: Record<string, unknown> = {}) =>
  Type.String({ minLength: 1, maxLength: charsMax, ...options })

/** Signature of secp256k1 as 65 bytes: r, s and v. */
export const walletSignaturePattern = '^0x[0-9a-fA-F]{130}$'

/** White space and zero-width characters, without control characters. */
const blank = ' \\u00a0\\u1680\\u2000-\\u200b\\u202f\\u205f\\u2060\\u3000\\ufeff'
/** Control characters, line ends, and marks that reverse text, with which an approver would read another name than the bank. */
const control = '\\u0000-\\u001f\\u007f-\\u009f\\u2028-\\u202e\\u2066-\\u2069'

/**
 * One line of text without control characters and not only white space, because payment messages and emails contain it.
 * Adjacent parts of the pattern share no character, so that matching takes linear time on a long field.
 */
export const singleLinePattern = `^[${blank}]*[^${blank}${control}][^${control}]*$`
export const singleLine = (charsMax: number, options: Record<string, unknown> = {}) =>
  text(charsMax, { pattern: singleLinePattern, ...options })

export const Uuid = Type.String({ format: 'uuid', pattern: uuidPattern })
export const Timestamp = Type.String({ format: 'date-time', pattern: timestampPattern })
/** Digits after the milliseconds are dropped. */
export const timeInput = (description: string) =>
  Type.String({
    format: 'date-time',
    pattern: timeInputPattern,
    description: `${description}. An RFC 3339 time in UTC; digits after the milliseconds are dropped.`,
  })
const calendarDatePattern = '^\\d{4}-\\d{2}-\\d{2}$'
export const CalendarDate = Type.String({ format: 'date', pattern: calendarDatePattern })
/** The time of a day, in 24 hours. */
export const dayTimePattern = '^(?:[01]\\d|2[0-3]):[0-5]\\d(?::[0-5]\\d)?$'
export const colourPattern = '^#[0-9a-fA-F]{6}$'
export const countryCodePattern = '^[A-Z]{2}$'
const currencyPattern = '^[A-Z]{3,5}$'
/** ISO 3166-1 alpha-2. The module that receives the code checks that the country exists. */
export const CountryCode = Type.String({ pattern: countryCodePattern })
/** ISO 4217 alpha-3, or the code of a configured token. */
export const Currency = Type.String({ pattern: currencyPattern })
export const Email = Type.String({ format: 'email', pattern: emailPattern, maxLength: emailCharsMax })
export const Url = text(urlCharsMax, { format: 'uri' })
/** Excludes `.` and `..`, which URLs normalise away (RFC 3986 section 5.2.4). */
const referencePattern = `^(?!\\.{1,2}$)${singleLinePattern.slice(1)}`
export const Reference = text(referenceCharsMax, { pattern: referencePattern, examples: ['INV-2026-0042'] })
export const IdempotencyKey = singleLine(idempotencyKeyCharsMax, { examples: ['payout-2026-0042'] })
export const Iban = Type.String({ examples: ['NL91ABNA0417164300'] })
export const Bic = Type.String({ examples: ['ABNANL2A'] })

/** An exact JSON number. The money rules of the service check its range and its precision. */
export const Amount = Type.Refine(
  Type.Unsafe<Decimal>({ 'x-json-type': 'number' }),
  (value) => isDecimal(value),
  () => 'must be a JSON number, for example 12.50',
)

/** An amount in a query, where every value is a text. It has enough digits for every stored amount. */
const amountTextPattern = '^(?:0|[1-9]\\d{0,11})(?:\\.\\d{1,6})?$'
export const AmountText = Type.String({ pattern: amountTextPattern, examples: ['12.50'] })

/**
 * The amount of a payment in a request. The bounds document what the money rules of the service check; the keywords have
 * no effect on validation, because an amount is not a binary number there.
 */
const paymentAmountMin = 0.01
const paymentAmountMax = 10_000_000
export const PaymentAmount = Type.With(Amount, {
  minimum: paymentAmountMin,
  maximum: paymentAmountMax,
}) as unknown as typeof Amount

/** A JSON object of at most 4 KiB that the partner attaches to a payment and that the events of the payment return. */
export const customFieldsBytesMax = 4096
export const CustomFields = Type.Refine(
  Type.Record(Type.String(), Type.Unknown()),
  (value) => !isRawNumber(value) && JSON.stringify(value).length <= customFieldsBytesMax,
  () => 'must be an object of at most 4096 bytes',
)

export const nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()])
export const optional = Type.Optional
export const oneOf = <const T extends readonly string[]>(values: readonly [...T]) => Type.Enum<[...T]>(values)

/** Identifies a customer by its `guid` or its `serviceId`. */
export const CustomerRef = Type.String({
  pattern: customerRefPattern,
  description: 'The `guid` or the `serviceId` of the customer.',
})

/** The response of every list: newest first. `nextCursor` is null on the last page. */
export const page = <T extends TSchema>(item: T) =>
  closed({
    data: described(Type.Array(item), 'The items of the page, newest first.'),
    nextCursor: described(
      nullable(Type.String()),
      'Opaque. Pass the value as `cursor` to get the next page. Null on the last page.',
    ),
    hasMore: described(Type.Boolean(), 'True if there is another page.'),
  })

export const listLimitMax = 100
export const listLimitDefault = 25
const limitPattern = '^([1-9]|[1-9][0-9]|100)$'
/** Query values are strings. This schema checks `limit` as a string; the cursor code parses it. */
export const pageQuery = {
  limit: optional(Type.String({ pattern: limitPattern, description: 'Items per page, 1 to 100. Default: 25.' })),
  cursor: optional(text(512, { description: 'The `nextCursor` of the previous page. Omit it for the first page.' })),
}

export const operationIdPattern = '^[A-Za-z]{1,64}$'
export const problemCodePattern = '^[a-z_]{1,64}$'
export const requestIdPattern = '^[A-Za-z0-9._-]{1,64}$'

/** Description of a string with a pattern or a format. Refusals quote it after "must be". */
export type Meaning = { readonly is: string; readonly example?: string }
const uuidExample = '019aa8c4-6e4f-7a12-8d3e-2b1c5f7a9e10'
export const patternMeanings: Readonly<Record<string, Meaning>> = {
  [uuidPattern]: { is: 'a UUID', example: uuidExample },
  [customerRefPattern]: { is: "the customer's guid or serviceId", example: `${uuidExample} or cus_4f6h8jk2m9npqrst` },
  [serviceIdPattern]: { is: "the customer's serviceId", example: 'cus_4f6h8jk2m9npqrst' },
  [timeInputPattern]: {
    is: 'a date with a time in UTC (RFC 3339, years 0001 to 9999, no leap second)',
    example: '2026-11-22T00:00:00Z',
  },
  [walletSignaturePattern]: {
    is: 'the signature of a wallet: 0x and 130 hexadecimal digits',
    example: `0x${'ab'.repeat(65)}`,
  },
  [calendarDatePattern]: { is: 'a date YYYY-MM-DD', example: '1990-12-31' },
  [dayTimePattern]: { is: 'a time of the day', example: '06:00' },
  [colourPattern]: { is: 'a colour as #rrggbb', example: '#7a1f3d' },
  [countryCodePattern]: { is: 'an ISO 3166-1 alpha-2 country code in upper case', example: 'DE' },
  [amountTextPattern]: { is: 'a decimal number without sign or exponent', example: '12.50' },
  [currencyPattern]: { is: 'a currency code in upper case', example: 'EUR' },
  [emailPattern]: { is: 'an email address', example: 'name@example.com' },
  [singleLinePattern]: { is: 'one line of text without control characters' },
  [referencePattern]: {
    is: 'one line of text without control characters, and neither "." nor ".."',
    example: 'INV-2026-0042',
  },
  [operationIdPattern]: { is: 'the operationId of an operation', example: 'createFiatPayout' },
  [problemCodePattern]: { is: 'the code of a problem', example: 'insufficient_funds' },
  [requestIdPattern]: { is: 'the X-Request-Id of a request', example: uuidExample },
  [limitPattern]: { is: `an integer from 1 to ${listLimitMax}` },
}
/** Meanings of formats without a pattern. */
export const formatMeanings: Readonly<Record<string, Meaning>> = {
  uri: { is: 'an absolute URL', example: 'https://partner.example.com/webhooks' },
}

export { Type, type Static, type TSchema }
