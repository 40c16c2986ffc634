/** States what a schema accepts: the allowed values, the format with an example, the bounds, the known fields. */
import { formatMeanings, type Meaning, patternMeanings, type TSchema } from '@partner-payments/wire'

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
  const counted = (count: number) => `${count} ${count === 1 ? unit : `${unit}s`}`
  if (most === undefined) return least === undefined ? '' : ` of at least ${counted(least)}`
  return least === undefined ? ` of at most ${counted(most)}` : ` of ${least} to ${counted(most)}`
}

/** The names that an object defines, for the refusal of an unknown one. */
export function knownNames(schema: TSchema, part: 'field' | 'parameter'): string {
  const names = Object.keys((schema as SchemaLike).properties ?? {})
  return names.length === 0 ? `it has no ${part}s` : `known ${part}s: ${listed(names)}`
}

const listed = (names: readonly string[]): string =>
  names.length <= namesMax
    ? names.join(', ')
    : `${names.slice(0, namesMax).join(', ')} and ${names.length - namesMax} more`
