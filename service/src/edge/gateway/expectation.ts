/** States what came, and what a schema accepts: the allowed values, the format with an example, the bounds, the known fields. */
import {
  decimalText,
  formatMeanings,
  isDecimal,
  type Meaning,
  patternMeanings,
  type TSchema,
} from '@partner-payments/wire'

type SchemaLike = {
  readonly type?: string
  readonly enum?: readonly unknown[]
  readonly pattern?: string
  readonly format?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly properties?: Readonly<Record<string, TSchema>>
  readonly anyOf?: readonly TSchema[]
  readonly 'x-json-type'?: string
}

/** Names in one message. The largest object of the contract has fewer. */
const namesMax = 50

/** Begins with "must be". */
export function expectationOf(schema: TSchema): string {
  const { anyOf } = schema as SchemaLike
  // The only unions of the contract are nullable fields.
  const branch = anyOf?.find((each) => (each as SchemaLike).type !== 'null')
  return branch ? `must be ${meaningOf(branch as SchemaLike)}, or null` : `must be ${meaningOf(schema as SchemaLike)}`
}

function meaningOf(schema: SchemaLike): string {
  if (schema.enum)
    return schema.enum.length === 1 ? String(schema.enum[0]) : `one of ${listed(schema.enum.map(String))}`
  if (schema['x-json-type'] === 'number') return numberMeaning(schema)
  switch (schema.type) {
    case 'string':
      return stringMeaning(schema)
    case 'integer':
      return integerMeaning(schema)
    case 'array':
      return `an array${countMeaning(schema.minItems, schema.maxItems, 'item')}`
    case 'boolean':
      return 'true or false'
    default:
      return 'an object'
  }
}

function stringMeaning({ pattern = '', format = '', minLength, maxLength }: SchemaLike): string {
  const { is, example }: Meaning = patternMeanings[pattern] ?? formatMeanings[format] ?? { is: 'a string' }
  const length = countMeaning(minLength, maxLength, 'character')
  return `${is}${length}${example === undefined ? '' : `, for example ${example}`}`
}

/**
 * The schema checks the bounds before the money rules run: the message for a small number states the bound, not the
 * type.
 */
function numberMeaning({ minimum, maximum }: SchemaLike): string {
  const range = minimum === undefined || maximum === undefined ? '' : ` from ${minimum} to ${maximum}`
  return `a JSON number${range}, for example 12.50`
}

function integerMeaning({ minimum, maximum }: SchemaLike): string {
  if (minimum === undefined || maximum === undefined) return 'an integer'
  return minimum === maximum ? `the integer ${minimum}` : `an integer from ${minimum} to ${maximum}`
}

function countMeaning(least: number | undefined, most: number | undefined, unit: string): string {
  if (most === undefined) return least === undefined ? '' : ` of at least ${counted(least, unit)}`
  return least === undefined ? ` of at most ${counted(most, unit)}` : ` of ${least} to ${counted(most, unit)}`
}

const counted = (count: number, unit: string): string => `${count} ${count === 1 ? unit : `${unit}s`}`

/** The names that an object defines, for the refusal of an unknown one. */
export function knownNames(schema: TSchema, part: 'field' | 'parameter'): string {
  const names = Object.keys((schema as SchemaLike).properties ?? {})
  return names.length === 0 ? `it has no ${part}s` : `known ${part}s: ${listed(names)}`
}

const listed = (names: readonly string[]): string =>
  names.length <= namesMax
    ? names.join(', ')
    : `${names.slice(0, namesMax).join(', ')} and ${names.length - namesMax} more`

/** Longer texts are stated by their length. */
const shownCharsMax = 60
/** Fields whose content is not repeated in an answer. */
const secretNames = /(?:secret|password|token|pem|canonicalString)$/i
/** Characters that an answer shows by their code, so that they change no line and no direction of it. */
const hidden = /[\p{C}\u2028\u2029]/gu

const escaped = (text: string): string =>
  JSON.stringify(text).replace(hidden, (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`)

/** A value as a refusal repeats it. */
export function cameText(value: unknown, pointer: string): string {
  if (typeof value === 'string') {
    if (value === '') return 'empty'
    const isShown = value.length <= shownCharsMax && !secretNames.test(pointer)
    return isShown ? escaped(value) : `a text of ${counted(value.length, 'character')}`
  }
  if (isDecimal(value)) {
    const text = decimalText(value)
    return text.length <= shownCharsMax ? text : `a number of ${counted(text.length, 'character')}`
  }
  if (Array.isArray(value))
    return value.length === 0 ? 'an empty array' : `an array of ${counted(value.length, 'item')}`
  return typeof value === 'object' && value !== null ? 'an object' : String(value)
}

/** The first item of an array that is in it twice. */
export function repeatedText(value: unknown): string {
  const seen = new Set<string>()
  const items = Array.isArray(value) ? (value as readonly unknown[]) : []
  const repeated = items.find((item) => seen.size === seen.add(JSON.stringify(item)).size)
  return cameText(repeated, '')
}
