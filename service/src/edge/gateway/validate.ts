/**
 * Compiles schemas into validators. A validator reports each failure with a pointer, a code and a message that states
 * the expected value.
 */
import {
  decimalText,
  type FieldError,
  type FieldErrorCode,
  formatMeanings,
  isDecimal,
  isRawNumber,
  type Meaning,
  patternMeanings,
  type TSchema,
} from '@partner-payments/wire'
import type { TLocalizedValidationError } from 'typebox/error'
// Not `typebox/compile`, which loads 450 more files for codecs that the service does not use.
import { Compile } from 'typebox/schema'
import { Settings } from 'typebox/system'
import { Refusal } from '../../kernel/api/index.ts'
import { escapePointer, valueAt } from './json.ts'

/** Maximum number of errors in one response: enough to correct a form, and a limit against a hostile body. */
const errorsMax = 50
Settings.Set({ maxErrors: errorsMax })

/**
 * Refuses (400): unknown_field if all errors are unknown fields, else validation_failed. Each pointer begins with
 * `prefix`.
 */
type Validator = (value: unknown, prefix?: string) => void

export function compileValidator(schema: TSchema, part: Part = 'field'): Validator {
  const compiled = Compile(schema)
  return (value, prefix = '') => {
    if (compiled.Check(value)) return
    const [, found] = compiled.Errors(value)
    const errors = unique(found.flatMap((error) => toFieldErrors(error, value, { schema, part })))
    const shown = errors.slice(0, errorsMax).map((error) => ({ ...error, pointer: prefix + error.pointer }))
    const code =
      shown.length > 0 && shown.every((error) => error.code === 'unknown_field') ? 'unknown_field' : 'validation_failed'
    const [first] = shown
    throw new Refusal(code, first ? `${first.pointer || 'The body'}: ${first.message}` : undefined, { errors: shown })
  }
}

/** Compiles the check of path parameters. A mismatch is a 404 without field errors. */
export function compileCheck(schema: TSchema): (value: unknown) => boolean {
  const compiled = Compile(schema)
  return (value) => compiled.Check(value)
}

const codes: Readonly<Record<string, FieldErrorCode>> = {
  maxLength: 'too_long',
  pattern: 'invalid_format',
  format: 'invalid_format',
  enum: 'invalid_value',
  const: 'invalid_value',
  minimum: 'out_of_range',
  maximum: 'out_of_range',
  minItems: 'too_few',
  maxItems: 'too_many',
}

type Part = 'field' | 'parameter'

function toFieldErrors(
  error: TLocalizedValidationError,
  root: unknown,
  { schema, part }: { readonly schema: TSchema; readonly part: Part },
): readonly FieldError[] {
  const { keyword, instancePath: pointer, params, message } = error
  const refused = valueAt(schema, error.schemaPath.slice(1)) as TSchema
  const came = `is ${cameText(valueAt(root, pointer), pointer)}`
  const expected = `${came}, ${expectationOf(fieldAt(schema, error.schemaPath))}`
  const child = (name: string, code: FieldErrorCode, text: string): FieldError => ({
    pointer: `${pointer}/${escapePointer(name)}`,
    code,
    message: text,
  })
  // A number is represented as an object: if an object is required, report the wrong type, not the missing fields.
  if (isRawNumber(valueAt(root, pointer)) && (keyword === 'required' || keyword === 'additionalProperties'))
    return [{ pointer, code: 'wrong_type', message: expected }]
  switch (keyword) {
    case 'required':
      return (params as { requiredProperties: string[] }).requiredProperties.map((name) =>
        child(name, 'required', `is required; ${expectationOf(propertyOf(refused, name))}`),
      )
    case 'additionalProperties':
      return (params as { additionalProperties: string[] }).additionalProperties.map((name) =>
        child(name, 'unknown_field', `is not a ${part} of this operation; ${knownNames(refused, part)}`),
      )
    case 'minLength':
      return [{ pointer, code: 'empty', message: `is empty, ${expectationOf(fieldAt(schema, error.schemaPath))}` }]
    // Skips errors that repeat those of a nullable field or a closed object.
    case 'anyOf':
    case 'boolean':
      return []
    case 'type':
      if ((params as { type: unknown }).type === 'null') return []
      return [{ pointer, code: 'wrong_type', message: expected }]
    case 'uniqueItems':
      return [
        {
          pointer,
          code: 'invalid_value',
          message: `has ${repeatedText(valueAt(root, pointer))} twice, must not contain duplicates`,
        },
      ]
    // The schema states its own message.
    case '~refine':
      return [{ pointer, code: 'wrong_type', message: `${came}, ${message}` }]
    default:
      return [{ pointer, code: codes[keyword] ?? 'invalid_value', message: expected }]
  }
}

/** Finds the schema of the invalid field. For a branch of a nullable field, this is the nullable schema. */
const fieldAt = (schema: TSchema, schemaPath: string): TSchema =>
  valueAt(schema, schemaPath.slice(1).replace(/\/anyOf\/\d+$/, '')) as TSchema

const propertyOf = (schema: TSchema, name: string): TSchema =>
  (schema as unknown as { readonly properties: Readonly<Record<string, TSchema>> }).properties[name] as TSchema

/** Returns the first error of each field, which is the most specific. */
function unique(errors: readonly FieldError[]): readonly FieldError[] {
  const seen = new Set<string>()
  return errors.filter(({ pointer }) => !seen.has(pointer) && seen.add(pointer))
}

// Describes the received value and what the schema accepts: allowed values, the format with an example, limits, known fields.

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

/** Maximum number of field names in one message. The largest object of the contract has fewer. */
const namesMax = 50

/** Describes the expected value, beginning with "must be". */
function expectationOf(schema: TSchema): string {
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
 * Describes an amount. The schema checks the limits before the money rules, so the message for a too small number
 * states the limit, not the type.
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

/** Lists the known names of an object, for the refusal of an unknown name. */
function knownNames(schema: TSchema, part: 'field' | 'parameter'): string {
  const names = Object.keys((schema as SchemaLike).properties ?? {})
  return names.length === 0 ? `it has no ${part}s` : `known ${part}s: ${listed(names)}`
}

const listed = (names: readonly string[]): string =>
  names.length <= namesMax
    ? names.join(', ')
    : `${names.slice(0, namesMax).join(', ')} and ${names.length - namesMax} more`

/** Longer texts are reported by their length only. */
const shownCharsMax = 60
/** Fields whose values an answer does not repeat. */
const secretNames = /(?:secret|password|token|pem|canonicalString)$/i
/** Characters that an answer shows as codes, because they could change its lines or text direction. */
const hidden = /[\p{C}\u2028\u2029]/gu

const escaped = (text: string): string =>
  JSON.stringify(text).replace(hidden, (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`)

function cameText(value: unknown, pointer: string): string {
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

/** Finds the first duplicate item of an array. */
function repeatedText(value: unknown): string {
  const seen = new Set<string>()
  const items = Array.isArray(value) ? (value as readonly unknown[]) : []
  const repeated = items.find((item) => seen.size === seen.add(JSON.stringify(item)).size)
  return cameText(repeated, '')
}
