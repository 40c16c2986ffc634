/** Compiles schemas into validators. Each validation failure becomes a pointer and a code. */
import { type FieldError, type FieldErrorCode, isRawNumber, type TSchema } from '@partner-payments/wire'
import { Compile } from 'typebox/compile'
import type { TLocalizedValidationError } from 'typebox/error'
import { Settings } from 'typebox/system'
import { Refusal } from '../api/index.ts'
import { escapePointer, valueAt } from './pointer.ts'

/** The errors in one response: enough to correct a form, bounded against a hostile body. */
const errorsMax = 50
Settings.Set({ maxErrors: errorsMax })

/** Refuses (400): unknown_field if every error is one, else validation_failed. `prefix` begins each pointer. */
type Validator = (value: unknown, prefix?: string) => void

export function compileValidator(schema: TSchema): Validator {
  const compiled = Compile(schema)
  return (value, prefix = '') => {
    if (compiled.Check(value)) return
    const errors = unique(compiled.Errors(value).flatMap((error) => toFieldErrors(error, value)))
    const shown = errors.slice(0, errorsMax).map((error) => ({ ...error, pointer: prefix + error.pointer }))
    const code =
      shown.length > 0 && shown.every((error) => error.code === 'unknown_field') ? 'unknown_field' : 'validation_failed'
    const [first] = shown
    throw new Refusal(code, first ? `${first.pointer || 'The body'}: ${first.message}` : undefined, { errors: shown })
  }
}

/** For path parameters: a mismatch is 404, without field errors. */
export function compileCheck(schema: TSchema): (value: unknown) => boolean {
  const compiled = Compile(schema)
  return (value) => compiled.Check(value)
}

const codes: Readonly<Record<string, FieldErrorCode>> = {
  type: 'wrong_type',
  '~refine': 'wrong_type',
  maxLength: 'too_long',
  pattern: 'invalid_format',
  format: 'invalid_format',
  enum: 'invalid_value',
  const: 'invalid_value',
  minimum: 'out_of_range',
  maximum: 'out_of_range',
  minItems: 'too_few',
  maxItems: 'too_many',
  uniqueItems: 'invalid_value',
}

function toFieldErrors(error: TLocalizedValidationError, root: unknown): readonly FieldError[] {
  const { keyword, instancePath: pointer, params, message } = error
  const children = (names: readonly string[], code: FieldErrorCode, text: string) =>
    names.map((name) => ({ pointer: `${pointer}/${escapePointer(name)}`, code, message: text }))
  // A number is represented as an object: where an object is required, report its type and not the missing fields.
  if (isRawNumber(valueAt(root, pointer)) && (keyword === 'required' || keyword === 'additionalProperties'))
    return [{ pointer, code: 'wrong_type', message: 'must be object' }]
  switch (keyword) {
    case 'required':
      return children((params as { requiredProperties: string[] }).requiredProperties, 'required', 'is required')
    case 'additionalProperties':
      return children(
        (params as { additionalProperties: string[] }).additionalProperties,
        'unknown_field',
        'is not a field of this operation',
      )
    case 'minLength':
      return [{ pointer, code: 'empty', message: 'must not be empty' }]
    // These repeat an error of a nullable field or of a closed object that is reported by itself.
    case 'anyOf':
    case 'boolean':
      return []
    case 'type':
      if ((params as { type: unknown }).type === 'null') return []
      return [{ pointer, code: 'wrong_type', message }]
    default:
      return [
        {
          pointer,
          code: codes[keyword] ?? 'invalid_value',
          message: keyword === 'pattern' ? 'has the wrong format' : message,
        },
      ]
  }
}

/** The first error of each field, which is the most specific. */
function unique(errors: readonly FieldError[]): readonly FieldError[] {
  const seen = new Set<string>()
  return errors.filter(({ pointer }) => !seen.has(pointer) && seen.add(pointer))
}
