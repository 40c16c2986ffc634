/**
 * A verb that runs once per idempotency key. The key lives for ever on the row that the verb makes, under a unique
 * constraint; a concurrent twin waits there for the first and then gets its answer. What is refused leaves nothing, so
 * the same key can be tried again.
 */
import { Refusal } from '../api/index.ts'
import { sqlState, stateOf } from './errors.ts'

export type Keyed = { readonly requestFingerprint: string; readonly reference: string }

/** Thrown by `make` inside its transaction, to roll it back: another request has won the key. */
export class KeyTaken extends Error {
  override readonly name = 'KeyTaken'
}

/** Refuses: idempotency_key_reused (422), naming the reference, where the key of `row` belongs to another request. */
export function replayOf<T extends Keyed>(row: T, requestFingerprint: string): T {
  if (row.requestFingerprint === requestFingerprint) return row
  throw new Refusal(
    'idempotency_key_reused',
    `The key belongs to another request; its reference is ${row.reference}.`,
    {
      errors: [{ pointer: '/idempotencyKey', code: 'exists', message: `was used for ${row.reference}` }],
    },
  )
}

const inProgress = () => new Refusal('request_in_progress', undefined, { headers: { 'retry-after': '1' } })

/** A lock that was not had in time is somebody else's request under way; every other failure passes through. */
export function asInProgress(error: unknown): unknown {
  return stateOf(error) === sqlState.lockNotAvailable ? inProgress() : error
}

/**
 * Refuses: idempotency_key_reused (422, naming the reference) where the key belongs to another request;
 * request_in_progress (409) where the twin does not end in time.
 */
export async function once<T extends Keyed>(options: {
  readonly requestFingerprint: string
  /** The row of the key; undefined where there is none, or no key. */
  readonly find: () => Promise<T | undefined>
  readonly make: () => Promise<T>
}): Promise<{ readonly row: T; readonly replayed: boolean }> {
  const { requestFingerprint, find, make } = options
  const before = await find()
  if (before) return { row: replayOf(before, requestFingerprint), replayed: true }
  try {
    return { row: await make(), replayed: false }
  } catch (error) {
    if (!(error instanceof KeyTaken)) throw asInProgress(error)
    const winner = await find()
    if (!winner) throw inProgress()
    return { row: replayOf(winner, requestFingerprint), replayed: true }
  }
}
