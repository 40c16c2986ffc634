/** The problem responses of an operation, by status: its own codes and the codes that all operations share. */
import {
  bodyCodesOf,
  type Operation,
  specificCodes,
  type ProblemCode,
  problemPath,
  problems,
  sharedCodes,
} from '@partner-payments/wire'
import { recorded } from './examples.ts'
import { ref } from './schema.ts'

const statusNames: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  408: 'RequestTimeout',
  409: 'Conflict',
  410: 'Gone',
  413: 'ContentTooLarge',
  415: 'UnsupportedMediaType',
  416: 'RangeNotSatisfiable',
  422: 'UnprocessableContent',
  429: 'TooManyRequests',
  431: 'RequestHeaderFieldsTooLarge',
  500: 'InternalServerError',
  501: 'NotImplemented',
  502: 'BadGateway',
  503: 'ServiceUnavailable',
  504: 'GatewayTimeout',
}

const retryable: ReadonlySet<number> = new Set([429, 503])

function byStatus(codes: readonly ProblemCode[]): ReadonlyMap<number, readonly ProblemCode[]> {
  const result = new Map<number, ProblemCode[]>()
  for (const code of new Set(codes)) {
    const { status } = problems[code]
    result.set(status, [...(result.get(status) ?? []), code])
  }
  return result
}

export function codesOf(operation: Operation): ReadonlyMap<number, readonly ProblemCode[]> {
  return byStatus([...sharedCodes, ...bodyCodesOf(operation), ...specificCodes(operation)])
}

function responseObject(status: number, codes: readonly ProblemCode[]) {
  return {
    description: codes.map((code) => `\`${code}\`: ${problems[code].title}.`).join(' '),
    headers: {
      'X-Request-Id': ref('headers', 'RequestId'),
      ...(retryable.has(status) && { 'Retry-After': ref('headers', 'RetryAfter') }),
    },
    content: {
      'application/problem+json': {
        schema: ref('schemas', 'Problem'),
        examples: Object.fromEntries(codes.map((code) => [code, ref('examples', code)])),
      },
    },
    'x-codes': codes,
  }
}

const shared = byStatus(sharedCodes)
const sameCodes = (a: readonly ProblemCode[], b: readonly ProblemCode[]) => a.join() === b.join()

/** References a shared response. If the operation adds codes to the status, writes the response inline. */
export function responseOf(status: number, codes: readonly ProblemCode[]) {
  const name = statusNames[status]
  if (name === undefined) throw new Error(`no name for the status ${status}`)
  return sameCodes(codes, shared.get(status) ?? []) ? ref('responses', name) : responseObject(status, codes)
}

export function sharedResponses() {
  return Object.fromEntries(
    [...shared].map(([status, codes]) => [statusNames[status] ?? String(status), responseObject(status, codes)]),
  )
}

/** One recorded body for every code. A code that is new since the last recording has its default text. */
export function examples() {
  const codes = Object.keys(problems) as readonly ProblemCode[]
  return Object.fromEntries(
    codes.map((code) => {
      const { status, title, detail } = problems[code]
      const standard = { type: problemPath(code), title, status, detail, instance: '/v1/payouts/fiat', code }
      return [code, { summary: title, value: recorded.problems[code] ?? standard }]
    }),
  )
}
