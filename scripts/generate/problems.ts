/** `docs/problems.md`: the closed catalogue of refusals, and which operations raise each. */
import {
  type Operation,
  type ProblemCode,
  fieldErrorCodes,
  operationIds,
  operations,
  problems,
} from '@partner-payments/wire'
import { generatedMark, table } from './markdown.ts'
import { sharedCodes } from './refusals.ts'

const bodyCodes: ReadonlySet<ProblemCode> = new Set([
  'malformed_json',
  'body_required',
  'duplicate_key',
  'nesting_too_deep',
])
const isShared = (code: ProblemCode) => sharedCodes.some((shared) => shared === code)

function raisedBy(code: ProblemCode): string {
  if (isShared(code)) return 'every operation'
  if (bodyCodes.has(code)) return 'every operation with a body'
  const ids = operationIds.filter((id) => (operations[id] as Operation).refusals.includes(code))
  return ids.length === 0 ? 'the gateway' : ids.map((id) => `\`${id}\``).join(', ')
}

export function problemsPage(): string {
  const codes = Object.keys(problems) as readonly ProblemCode[]
  return `# Problems

${generatedMark}

A refusal is answered as \`application/problem+json\`: \`type\`, \`title\`, \`status\`, \`detail\`, \`instance\`, and our additions
\`code\`, \`requestId\` and, where fields are at fault, \`errors\`. Act on \`code\`; \`title\` and \`detail\` are for people and may
change. \`type\` is \`urn:partner-payments:problem:<code>\`.

${table(
  ['status', 'code', 'title', 'raised by'],
  codes.map((code) => [String(problems[code].status), `\`${code}\``, problems[code].title, raisedBy(code)]),
)}

## Field errors

Each entry of \`errors\` is \`{pointer, code, message}\`: \`pointer\` is an RFC 6901 JSON pointer into the body, or begins with
\`/query\` or \`/path\`. The codes are ${fieldErrorCodes.map((code) => `\`${code}\``).join(', ')}.
`
}
