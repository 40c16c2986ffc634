/** Compiles schemas into validators. Each failure becomes a pointer, a code, and a message that states what is expected. */
import { type FieldError, type FieldErrorCode, isRawNumber, type TSchema } from '@partner-payments/wire'
import { Compile } from 'typebox/compile'
import type { TLocalizedValidationError } from 'typebox/error'
import { Settings } from 'typebox/system'
import { Refusal } from '../../kernel/api/index.ts'
import { cameText, expectationOf, knownNames, repeatedText } from './expectation.ts'
import { escapePointer, valueAt } from './pointer.ts'

/** The errors in one response: enough to correct a form, bounded against a hostile body. */
const errorsMax = 50
Settings.Set({ maxErrors: errorsMax })

/** Refuses (400): unknown_field if every error is one, else validation_failed. `prefix` begins each pointer. */
type Validator = (value: unknown, prefix?: string) => void

export function compileValidator(schema: TSchema, part: Part = 'field'): Validator {
  const compiled = Compile(schema)
  return (value, prefix = '') => {
    if (compiled.Check(value)) return
    const errors = unique(compiled.Errors(value).flatMap((error) => toFieldErrors(error, value, { schema, part })))
    const shown = errors.slice(0, errorsMax).map((error) => ({ ...error, pointer: prefix + error.pointer }))
    const code =
      shown.length > 0 && shown.every((error) => error.code === 'unknown_field') ? 'unknown_field' : 'validation_failed'
    const [first] = shown
    throw new Refusal(code, first ? `${first.pointer || 'The body'}: ${first.message}` : undefined, { errors: shown })
  }
}

/** Compiles the check of path parameters: a mismatch is 404, without field errors. */
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
  // A number is represented as an object: where an object is required, report its type and not the missing fields.
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
    // These repeat an error of a nullable field or of a closed object that is reported by itself.
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

/** The schema of the field that was refused: for a branch of a nullable field, the nullable schema. */
const fieldAt = (schema: TSchema, schemaPath: string): TSchema =>
  valueAt(schema, schemaPath.slice(1).replace(/\/anyOf\/\d+$/, '')) as TSchema

const propertyOf = (schema: TSchema, name: string): TSchema =>
  (schema as unknown as { readonly properties: Readonly<Record<string, TSchema>> }).properties[name] as TSchema

/** The first error of each field, which is the most specific. */
function unique(errors: readonly FieldError[]): readonly FieldError[] {
  const seen = new Set<string>()
  return errors.filter(({ pointer }) => !seen.has(pointer) && seen.add(pointer))
}
