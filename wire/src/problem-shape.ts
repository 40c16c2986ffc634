/** The body of a problem (RFC 9457). Sources: interface document, Errors; the contract page for the additions. */
import { type ProblemCode, problems } from './problems.ts'
import { Type, closed, described, optional } from './shapes.ts'
import { type SignatureMistake, signatureMistakes } from './signature-mistakes.ts'

/** The reasons for which a field is refused. `pointer` is an RFC 6901 JSON pointer into the body, `/query`, `/path` or `/headers`. */
export const fieldErrorCodes = [
  'required',
  'unknown_field',
  'duplicate_key',
  'wrong_type',
  'empty',
  'too_long',
  'too_few',
  'too_many',
  'invalid_format',
  'invalid_value',
  'invalid_character',
  'out_of_range',
  'too_precise',
  'exists',
] as const
export type FieldErrorCode = (typeof fieldErrorCodes)[number]
export type FieldError = { readonly pointer: string; readonly code: FieldErrorCode; readonly message: string }

const FieldErrorEntry = closed({
  pointer: described(
    Type.String(),
    'RFC 6901 JSON pointer to the field in the body. Begins with `/query` or `/path` for a parameter.',
  ),
  code: described(Type.Enum([...fieldErrorCodes]), 'Code of the error.'),
  message: described(Type.String(), 'Explanation of the fault, for people. The text may change.'),
})

export const LikelyMistake = Type.Enum(Object.keys(signatureMistakes) as [SignatureMistake, ...SignatureMistake[]])

/**
 * The five documented fields, and additions: `code`, `requestId`, for invalid fields `errors`, and for a refused signature
 * in the sandbox `canonicalString` and `likelyMistake`.
 */
export const Problem = closed({
  type: described(Type.String(), 'Path of the page that explains the problem: its cause, its cure and an example.', {
    format: 'uri-reference',
    examples: ['/problems/insufficient_funds'],
  }),
  title: described(Type.String(), 'Short summary of the problem, for people. The same for every problem of the code.'),
  status: described(Type.Integer(), 'HTTP status of the response.'),
  detail: described(Type.String(), 'Explanation of the error and its remedy, for people. The text may change.'),
  instance: described(Type.String(), 'Path of the request.'),
  code: described(
    Type.Enum(Object.keys(problems) as [ProblemCode, ...ProblemCode[]]),
    'Identifies the kind of problem. Branch on this field.',
  ),
  requestId: described(Type.String(), 'Identifies the request in the logs of the service. Equal to `X-Request-Id`.'),
  errors: described(
    optional(Type.Array(FieldErrorEntry)),
    'The refused fields, at most 50. Absent if no field is to blame.',
  ),
  canonicalString: described(
    optional(Type.String()),
    'The canonical string that the service computed. Only for a refused signature in the sandbox.',
  ),
  likelyMistake: described(
    optional(LikelyMistake),
    'The mistake that explains the refused signature. Only in the sandbox, and absent if the service knows none.',
  ),
})
