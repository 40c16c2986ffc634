/**
 * A verb that runs once per idempotency key. The key lives for ever on the row that the verb makes, under a unique
 * constraint; a concurrent twin waits there for the first and then gets its answer. What is refused leaves nothing, so
 * the same key can be tried again.
 */
import { Refusal } from '../kernel/index.ts'
import { sqlState, stateOf } from './errors.ts'

export type Keyed = { readonly requestHash: string; readonly reference: string }

/** Thrown by `make` inside its transaction, to roll it back: another request has won the key. */
export class KeyTaken extends Error {
  override readonly name = 'KeyTaken'
}

/**
 * Refuses: idempotency_key_reused (422, naming the reference) where the key belongs to another request;
 * request_in_progress (409) where the twin does not end in time.
 */
export async function once<T extends Keyed>(options: {
  readonly requestHash: string
  /** The row of the key; undefined where there is none, or no key. */
  readonly find: () => Promise<T | undefined>
  readonly make: () => Promise<T>
}): Promise<{ readonly row: T; readonly replayed: boolean }> {
  const { requestHash, find, make } = options
  const replay = (row: T) => {
    if (row.requestHash === requestHash) return { row, replayed: true }
    throw new Refusal(
      'idempotency_key_reused',
      `The key belongs to another request; its reference is ${row.reference}.`,
      {
        errors: [{ pointer: '/idempotencyKey', code: 'exists', message: `was used for ${row.reference}` }],
      },
    )
  }
  const before = await find()
  if (before) return replay(before)
  try {
    return { row: await make(), replayed: false }
  } catch (error) {
    if (stateOf(error) === sqlState.lockNotAvailable)
      throw new Refusal('request_in_progress', undefined, { headers: { 'retry-after': '1' } })
    if (!(error instanceof KeyTaken)) throw error
    const winner = await find()
    if (!winner) throw new Refusal('request_in_progress', undefined, { headers: { 'retry-after': '1' } })
    return replay(winner)
  }
}
