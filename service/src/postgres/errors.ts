/**
 * Classifies PostgreSQL's errors by SQLSTATE, never by their text. The name of a constraint may end with the number of
 * a shard.
 */
import { Unreachable } from '../kernel/api/index.ts'

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

export function sqlStateOf(error: unknown): string | undefined {
  const code = (error as DatabaseErrorLike | null)?.code
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : undefined
}

/**
 * Reports whether `error` violates the constraint `name` (or its copy on a shard, `name_102049`). An error of a shard
 * may lack the name. Then only the state is compared, so the caller must know that no other constraint can fail.
 */
export function violates(error: unknown, state: string, name: string): boolean {
  if (sqlStateOf(error) !== state) return false
  const constraint = (error as DatabaseErrorLike | null)?.constraint
  return (
    constraint === undefined || (typeof constraint === 'string' && new RegExp(`^${name}(_\\d+)?$`).test(constraint))
  )
}

/**
 * States of a server that is not available: 08 (connection), 57P0x (shutdown, crash, starting), 53300 (too many
 * connections). 25P03: the server closed a connection whose transaction was idle too long. 58: the server's files are
 * missing or its disk fails.
 */
const awayStates = /^(08...|57P0[1-5]|53300|25P03|58...)$/
/**
 * States of a server that answers but cannot store data: disk full, input or output error, out of memory, read only.
 */
const storageStates = new Map([
  ['53100', 'the disk of the database is full'],
  ['58030', 'the database reports an input or output error'],
  ['53200', 'the database is out of memory'],
  ['25006', 'the database is read only'],
])
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

/** Converts errors of an unavailable, slow or read-only database to `Unreachable`. Returns other errors unchanged. */
export function classify(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof Unreachable) return error
  const code = (error as DatabaseErrorLike).code
  const refusal = storageStates.get(String(code))
  if (refusal !== undefined) return new Unreachable('storage_unavailable', refusal, error)
  // The driver's own errors have a text but no code.
  if (code === 'ETIMEDOUT' || code === sqlState.queryCanceled || lateText.test(error.message))
    return new Unreachable('downstream_timeout', 'the database does not answer in time', error)
  const away = typeof code === 'string' ? awayStates.test(code) || awayCodes.has(code) : awayText.test(error.message)
  return away ? new Unreachable('downstream_unreachable', 'the database cannot be reached', error) : error
}

/**
 * Reports SQLSTATE class 22: a value that PostgreSQL cannot represent, for example a time out of range. The request
 * schemas should have refused such a value with a pointer.
 */
export const isDataException = (error: unknown): boolean => sqlStateOf(error)?.startsWith('22') === true

/** Reports whether PostgreSQL refused a write as read only, also after `classify` has converted the error. */
export const isReadOnly = (error: unknown): boolean =>
  sqlStateOf(error instanceof Unreachable ? error.cause : error) === sqlState.readOnlyTransaction

/**
 * Constraints on rows that a transaction reads without a lock, so that another transaction may change them before the
 * commit. A retry reads them again. test/model/constraints.test.ts lists the other constraints that a race can violate.
 */
const racedConstraints = ['accounts_judged_by_state', 'accounts_closed_is_empty'] as const

const isRaced = (error: unknown): boolean =>
  racedConstraints.some(
    (name) => (error as DatabaseErrorLike).constraint !== undefined && violates(error, sqlState.checkViolation, name),
  )

export const isRetryable = (error: unknown): boolean => {
  const state = sqlStateOf(error)
  return (
    state === sqlState.serializationFailure ||
    state === sqlState.deadlock ||
    (state === sqlState.checkViolation && isRaced(error))
  )
}

/**
 * Reports whether a concurrent transaction interfered, so that a retry may succeed. The failed transaction wrote no rows.
 */
export const isConflict = (error: unknown): boolean => {
  const state = sqlStateOf(error)
  return isRetryable(error) || state === sqlState.uniqueViolation || state === sqlState.foreignKeyViolation
}
