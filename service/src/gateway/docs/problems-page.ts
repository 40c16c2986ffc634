/** The page of problems: the catalogue of problem codes and the operations that return each code. */
import {
  bodyCodesOf,
  type ProblemCode,
  fieldErrorCodes,
  operationIds,
  operations,
  ownCodesOf,
  problems,
  sharedCodes,
} from '@partner-payments/wire'
import { markdownTable } from '../../kernel/index.ts'

const bodyCodes: ReadonlySet<ProblemCode> = new Set(operationIds.flatMap((id) => bodyCodesOf(operations[id])))
const isShared = (code: ProblemCode) => sharedCodes.some((shared) => shared === code)

function returnedBy(code: ProblemCode): string {
  if (isShared(code)) return 'every operation'
  if (bodyCodes.has(code)) return 'every operation with a body'
  const ids = operationIds.filter((id) => ownCodesOf(operations[id]).includes(code))
  return ids.length === 0 ? 'the gateway' : ids.map((id) => `\`${id}\``).join(', ')
}

export function problemsPage(): string {
  const codes = Object.keys(problems) as readonly ProblemCode[]
  return `# Problems

Error responses are \`application/problem+json\` (RFC 9457) with \`type\`, \`title\`, \`status\`, \`detail\` and \`instance\`. Three
fields are additions: \`code\`, \`requestId\` and, for invalid fields, \`errors\`. Programs should branch on \`code\`. \`title\` and
\`detail\` are for people and may change. \`type\` is \`/problems/<code>\`, the path of a page of the service with
the cause, the cure and an example.

\`detail\` below is the default text. An operation may return a more specific one.

${markdownTable(
  ['status', 'code', 'title', 'detail', 'returned by'],
  codes.map((code) => {
    const { status, title, detail } = problems[code]
    return [String(status), `\`${code}\``, title, detail, returnedBy(code)]
  }),
)}

## Field errors

Each entry of \`errors\` is \`{pointer, code, message}\`. \`pointer\` is an RFC 6901 JSON pointer into the body, or begins with
\`/query\` or \`/path\`. The field error codes are ${fieldErrorCodes.map((code) => `\`${code}\``).join(', ')}.
`
}
