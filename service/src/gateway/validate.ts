/** Schemas, compiled once: what a request says is judged by them, and each failure becomes a pointer and a code. */
import { type FieldError, type FieldErrorCode, isRawNumber, type TSchema } from '@partner-payments/wire'
import { Compile } from 'typebox/compile'
import type { TLocalizedValidationError } from 'typebox/error'
import { Settings } from 'typebox/system'
import { Refusal } from '../api/index.ts'

/** An answer lists this many errors at most: enough to mend a form, bounded against a hostile body. */
const errorsMax = 50
Settings.Set({ maxErrors: errorsMax })

/** Refuses (400): unknown_field where that is all that is wrong, else validation_failed. `prefix` starts each pointer. */
export type Validator = (value: unknown, prefix?: string) => void

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

/** True where the value satisfies the schema; for path parameters, whose failure is 404 and tells nothing more. */
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

const escapePointer = (key: string) => key.replaceAll('~', '~0').replaceAll('/', '~1')

function valueAt(root: unknown, pointer: string): unknown {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], root)
}

function toFieldErrors(error: TLocalizedValidationError, root: unknown): readonly FieldError[] {
  const { keyword, instancePath: pointer, params, message } = error
  const children = (names: readonly string[], code: FieldErrorCode, text: string) =>
    names.map((name) => ({ pointer: `${pointer}/${escapePointer(name)}`, code, message: text }))
  // A number where an object belongs is held as an object: say what it is, not what it lacks.
  if (isRawNumber(valueAt(root, pointer)) && (keyword === 'required' || keyword === 'additionalProperties'))
    return [{ pointer, code: 'wrong_type', message: 'must be object' }]
  switch (keyword) {
    case 'required':
      return children((params as { requiredProperties: string[] }).requiredProperties, 'required', 'is required')
    case 'additionalProperties':
      return children(
        (params as { additionalProperties: string[] }).additionalProperties,
        'unknown_field',
        'is not a known field',
      )
    case 'minLength':
      return [{ pointer, code: 'empty', message: 'must not be empty' }]
    // The branches of `nullable` and the echo of a closed object: the telling error stands beside them.
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

/** One error a field: the first, which is the plainest. */
function unique(errors: readonly FieldError[]): readonly FieldError[] {
  const seen = new Set<string>()
  return errors.filter(({ pointer }) => !seen.has(pointer) && seen.add(pointer))
}
