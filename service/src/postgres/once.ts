/**
 * Runs an operation once per idempotency key. The created row stores the key for ever, under a unique constraint. A
 * concurrent duplicate waits at that constraint and gets the answer of the first request. A refused request does not
 * use up its key.
 */
import { Refusal } from '../kernel/api/index.ts'
import { sqlState, sqlStateOf } from './errors.ts'

export type IdempotentRow = {
  readonly requestFingerprint: string
  /** Describes the resource that the first request created. */
  readonly reference: string
}

/** Thrown by `make` to roll back its transaction, because another request has used the key. */
export class KeyTaken extends Error {
  override readonly name = 'KeyTaken'
}

/**
 * Returns `row` if the key belongs to the same request. Refuses: idempotency_key_reused (422, names the reference) if
 * it belongs to another request. `pointer` points to the key in the request.
 */
export function replayRow<T extends IdempotentRow>(row: T, requestFingerprint: string, pointer = '/idempotencyKey'): T {
  const { reference } = row
  if (row.requestFingerprint === requestFingerprint) return row
  throw new Refusal(
    'idempotency_key_reused',
    `The key belongs to another request, which created ${reference}. Use a new key for a new request.`,
    { errors: [{ pointer, code: 'exists', message: `was used for ${reference}` }] },
  )
}

export const requestInProgress = () =>
  new Refusal('request_in_progress', undefined, { headers: { 'retry-after': '1' } })

/** Converts a lock time-out to request_in_progress. Returns other errors unchanged. */
export function toRequestInProgress(error: unknown): unknown {
  return sqlStateOf(error) === sqlState.lockNotAvailable ? requestInProgress() : error
}

/**
 * Runs `make` once per key. Refuses: idempotency_key_reused (422, names the reference) if the key belongs to another request;
 * request_in_progress (409) if a concurrent duplicate does not end in time.
 */
export async function oncePerKey<T extends IdempotentRow>(options: {
  readonly requestFingerprint: string
  /** See `replayRow`. */
  readonly pointer?: string
  /** Finds the row of the key. Undefined: there is no row, or the request has no key. */
  readonly find: () => Promise<T | undefined>
  readonly make: () => Promise<T>
}): Promise<{ readonly row: T; readonly replayed: boolean }> {
  const { requestFingerprint, pointer, find, make } = options
  const before = await find()
  if (before) return { row: replayRow(before, requestFingerprint, pointer), replayed: true }
  try {
    return { row: await make(), replayed: false }
  } catch (error) {
    if (!(error instanceof KeyTaken)) throw toRequestInProgress(error)
    const winner = await find()
    if (!winner) throw requestInProgress()
    return { row: replayRow(winner, requestFingerprint, pointer), replayed: true }
  }
}
