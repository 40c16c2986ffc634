/** Nonces in numbers, in statements of their own or in the batches of those who write for them. */
import { type Nonce, type OpenNonce, Refusal } from '../api/index.ts'
import { type Batcher, type BatcherOptions, createBatcher, type Tx } from '../postgres/index.ts'
import * as store from './store.ts'

/** True for the first of each; of two that are the same in one batch the second is a replay like any other. */
export async function spendNonces(tx: Tx, nonces: readonly Nonce[]): Promise<readonly boolean[]> {
  if (nonces.length === 0) return []
  const keyOf = (row: Omit<Nonce, 'expiresAt'>) => `${row.partnerId} ${row.serviceAccountId} ${row.nonce}`
  const fresh = new Set((await store.insertNonces(tx, nonces)).map(keyOf))
  return nonces.map((nonce) => fresh.delete(keyOf(nonce)))
}

/** `replays`: calls whose nonce was spent before. */
type Spent<In, Read> = { readonly replays: ReadonlySet<In>; readonly read: Read }

/**
 * A batcher whose transactions also spend the nonces of their calls: what is written for a call and its nonce are there
 * together or not at all. A replay is refused (401 nonce_replayed), and the work never sees it.
 */
export function createSpendingBatcher<In extends { readonly nonce: OpenNonce | undefined }, Out, Read>(
  options: BatcherOptions<In, Out, Read> & { readonly read: (tx: Tx, calls: readonly In[]) => Promise<Read> },
): Batcher<In, Out> {
  const batched = createBatcher<In, Out, Spent<In, Read>>({
    ...options,
    read: async (tx, calls) => {
      const open = calls.flatMap((call) => (call.nonce && !call.nonce.spent ? [{ call, nonce: call.nonce }] : []))
      const spending = spendNonces(
        tx,
        open.map(({ nonce }) => nonce),
      )
      const [fresh, read] = await Promise.all([spending, options.read(tx, calls)])
      return { replays: new Set(open.filter((_, index) => !fresh[index]).map(({ call }) => call)), read }
    },
    work: async (tx, calls, { replays, read }, line) => {
      if (replays.size === 0) return options.work(tx, calls, read, line)
      const admitted = calls.filter((call) => !replays.has(call))
      const outcomes = await options.work(tx, admitted, read, line)
      const byCall = new Map(admitted.map((call, index) => [call, outcomes[index] as Out | Refusal]))
      return calls.map((call) =>
        replays.has(call) ? new Refusal('nonce_replayed') : (byCall.get(call) as Out | Refusal),
      )
    },
  })
  // An answer, a refusal too, is given after the commit; every other failure has left nothing.
  const spent = ({ nonce }: In) => {
    if (nonce) nonce.spent = true
  }
  return async (call) => {
    try {
      const outcome = await batched(call)
      spent(call)
      return outcome
    } catch (error) {
      if (error instanceof Refusal) spent(call)
      throw error
    }
  }
}
