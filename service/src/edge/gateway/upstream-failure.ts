/** Tells a process that does not answer in time (504) from one that cannot be reached (502). */
import { Unreachable } from '../../kernel/api/index.ts'

const lateCodes = new Set([
  'FST_REPLY_FROM_GATEWAY_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'UND_ERR_CONNECT_TIMEOUT',
  'ETIMEDOUT',
])

/** `upstream` names the process: `the api process`. */
export function toUnreachable(error: unknown, upstream: string): Unreachable {
  if (error instanceof Unreachable) return error
  const { code, statusCode, cause } = error as { code?: string; statusCode?: number; cause?: { code?: string } }
  const late = statusCode === 504 || lateCodes.has(code ?? '') || lateCodes.has(cause?.code ?? '')
  return new Unreachable(
    late ? 'downstream_timeout' : 'downstream_unreachable',
    late ? `${upstream} does not answer in time` : `${upstream} cannot be reached`,
    error,
  )
}
