/** PostgreSQL's errors by SQLSTATE, never by their text. The name of a constraint may carry the number of its shard. */
import { Unreachable } from '../api/index.ts'

export const sqlState = {
  uniqueViolation: '23505',
  foreignKeyViolation: '23503',
  checkViolation: '23514',
  serializationFailure: '40001',
  deadlock: '40P01',
  lockNotAvailable: '55P03',
  readOnlyTransaction: '25006',
  inFailedTransaction: '25P02',
  queryCanceled: '57014',
} as const

type DatabaseErrorLike = { readonly code?: unknown; readonly constraint?: unknown; readonly message?: unknown }

export function stateOf(error: unknown): string | undefined {
  const code = (error as DatabaseErrorLike | null)?.code
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : undefined
}

/**
 * Whether `error` is a violation of the constraint `name` (or of its copy on a shard, `name_102049`). An error that a shard
 * reports names no constraint; then the state decides, so a caller must know that no other constraint can fail.
 */
export function violates(error: unknown, state: string, name: string): boolean {
  if (stateOf(error) !== state) return false
  const constraint = (error as DatabaseErrorLike | null)?.constraint
  return (
    constraint === undefined || (typeof constraint === 'string' && new RegExp(`^${name}(_\\d+)?$`).test(constraint))
  )
}

/**
 * The server is not available: 08 (connection), 57P0x (shutdown, crash, starting), 53300 (too many connections). 25P03: it
 * has ended a connection whose transaction was idle too long.
 */
const awayStates = /^(08...|57P0[1-5]|53300|25P03)$/
const awayCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ENOTFOUND',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EAI_AGAIN',
])
const awayText = /Connection terminated|Client has encountered a connection error|not queryable/
const lateText = /timeout exceeded when trying to connect|Query read timeout|connection timeout/i

/** Converts errors of an unavailable or slow database to `Unreachable`. Returns other errors unchanged. */
export function classify(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof Unreachable) return error
  const code = (error as DatabaseErrorLike).code
  // The driver gives its own errors a text and no code.
  if (code === 'ETIMEDOUT' || code === sqlState.queryCanceled || lateText.test(error.message))
    return new Unreachable('downstream_timeout', 'the database does not answer in time', error)
  const away = typeof code === 'string' ? awayStates.test(code) || awayCodes.has(code) : awayText.test(error.message)
  return away ? new Unreachable('downstream_unreachable', 'the database cannot be reached', error) : error
}

export const isRetryable = (error: unknown): boolean => {
  const state = stateOf(error)
  return state === sqlState.serializationFailure || state === sqlState.deadlock
}
