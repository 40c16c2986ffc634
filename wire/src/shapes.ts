/**
 * The small words of the contract: every group file is written with these. A limit is named here once, with its unit
 * last, and reaches validation, OpenAPI and the SDK from here.
 */
import Type, { type Static, type TProperties, type TSchema } from 'typebox'
import { type Decimal, isDecimal, isRawNumber } from './decimal.ts'

export const uuidPattern = '^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$'
/** PostgreSQL, like RFC 3339's calendar, knows no year 0. */
export const timestampPattern = '^(?!0000)\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$'
/** One @, something on either side, no white space; the mail itself is the proof (RFC 5321 section 4.5.3.1 lengths). */
export const emailPattern = '^[^\\s@]{1,64}@[^\\s@.]+(\\.[^\\s@.]+)+$'
export const serviceIdPattern = '^cus_[0-9a-hjkmnp-tv-z]{16}$'

export const referenceCharsMax = 140
export const idempotencyKeyCharsMax = 255
export const nameCharsMax = 140
export const aliasCharsMax = 70
export const urlCharsMax = 2048
export const emailCharsMax = 254

/** A closed object: a field that it does not name is refused, never dropped in silence. */
export const closed = <T extends TProperties>(properties: T, options: Record<string, unknown> = {}) =>
  Type.Object(properties, { additionalProperties: false, ...options })

export const text = (charsMax: number, options: Record<string, unknown> = {}) =>
  Type.String({ minLength: 1, maxLength: charsMax, ...options })

/** White space that is no control character. */
const blank = ' \\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff'

/**
 * One line of text: no control characters, and not only white space. It may travel in payment messages and mails. No
 * character fits two neighbouring parts, so that matching is linear: a body is judged whole, however long a field is.
 */
export const linePattern = `^[${blank}]*[^${blank}\\u0000-\\u001f\\u007f][^\\u0000-\\u001f\\u007f]*$`
export const line = (charsMax: number, options: Record<string, unknown> = {}) =>
  text(charsMax, { pattern: linePattern, ...options })

export const Uuid = Type.String({ format: 'uuid', pattern: uuidPattern })
export const Timestamp = Type.String({ format: 'date-time', pattern: timestampPattern })
export const CalendarDate = Type.String({ format: 'date', pattern: '^\\d{4}-\\d{2}-\\d{2}$' })
/** ISO 3166-1 alpha-2, judged against the list of countries by the room that takes it. */
export const CountryCode = Type.String({ pattern: '^[A-Z]{2}$' })
/** ISO 4217 alpha-3, or the code of a configured token. */
export const Currency = Type.String({ pattern: '^[A-Z]{3,5}$' })
export const Email = Type.String({ format: 'email', pattern: emailPattern, maxLength: emailCharsMax })
export const Url = text(urlCharsMax, { format: 'uri' })
export const Reference = line(referenceCharsMax)
export const IdempotencyKey = line(idempotencyKeyCharsMax)

/** A JSON number, exact. Judged by the money rules of the service, which name the pointer and the reason. */
export const Amount = Type.Refine(
  Type.Unsafe<Decimal>({ 'x-json-type': 'number' }),
  (value) => isDecimal(value),
  () => 'must be a JSON number',
)

/** What the partner hangs on a payment and gets back in its events: any JSON object of at most 4 KiB. */
export const customFieldsBytesMax = 4096
export const CustomFields = Type.Refine(
  Type.Record(Type.String(), Type.Unknown()),
  (value) => !isRawNumber(value) && JSON.stringify(value).length <= customFieldsBytesMax,
  () => 'must be an object of at most 4096 bytes',
)

export const nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()])
export const optional = Type.Optional
export const oneOf = <const T extends readonly string[]>(values: readonly [...T]) => Type.Enum<[...T]>(values)

/** A customer named in a body: its `guid` or its `serviceId`. */
export const CustomerRef = Type.String({
  pattern: `${uuidPattern}|${serviceIdPattern}`,
  description: "The customer's guid or serviceId",
})

/** The one form of every list: newest first, `nextCursor` null at the end. */
export const page = <T extends TSchema>(item: T) =>
  closed({ data: Type.Array(item), nextCursor: nullable(Type.String()), hasMore: Type.Boolean() })

export const listLimitMax = 100
export const listLimitDefault = 25
/** Query values arrive as text; `limit` is judged as text and read by the gateway's one reader of queries. */
export const pageQuery = {
  limit: optional(Type.String({ pattern: '^([1-9]|[1-9][0-9]|100)$', description: '1 to 100, default 25' })),
  cursor: optional(text(512)),
}

export { Type, type Static, type TSchema }
