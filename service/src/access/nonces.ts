/** Consumes nonces in batches: in statements of their own, or in the transaction that carries out the request. */
import { type Nonce, type OpenNonce, Refusal } from '../kernel/api/index.ts'
import { type Clock, nilId, partnerKey } from '../kernel/index.ts'
import {
  type Batcher,
  type BatcherOptions,
  createBatcher,
  type Database,
  type Tx,
  withoutTransaction,
} from '../postgres/index.ts'
import * as store from './store.ts'

/** `fresh` is false for a replay. `durable` resolves when the nonce is on disk. */
export type ConsumedNonce = { readonly fresh: boolean; readonly durable: () => Promise<void> }

export type NonceRegister = {
  /**
   * Consumes a nonce. With `asyncCommit` the commit does not wait for the disk; send no answer before `durable` resolves,
   * which costs nothing if a durable commit followed.
   */
  readonly consumeNonce: (nonce: Nonce, asyncCommit: boolean) => Promise<ConsumedNonce>
  /** Deletes expired nonces in a bounded step; returns how many. Their timestamps are outside the window by then. */
  readonly sweepNonces: () => Promise<number>
}

const noncesPerBatchMax = 256
const batchesUnderWayMax = 2
const sweepNoncesMax = 10_000
const sweepPartnersMax = 100

export function createNonceRegister(deps: { readonly db: Database; readonly clock: Clock }): NonceRegister {
  const { db, clock } = deps
  const { unflushed } = db
  const batches = {
    work: consumeNonces,
    callsMax: noncesPerBatchMax,
    batchesMax: batchesUnderWayMax,
    partnerOf: ({ partnerId }: Nonce) => partnerId,
  }
  const consume = createBatcher({ ...batches, db })
  const consumeAsync = createBatcher({ ...batches, db: withoutTransaction(unflushed) })
  let sweptUpTo = nilId
  return {
    consumeNonce: async (nonce, asyncCommit) => {
      // On a sharded database a later commit on another shard would not flush the nonce.
      if (db.sharded || !asyncCommit) return { fresh: await consume(nonce), durable: () => Promise.resolve() }
      const fresh = await consumeAsync(nonce)
      const mark = unflushed.mark()
      return { fresh, durable: () => unflushed.flushed(mark) }
    },
    sweepNonces: async () => {
      const now = clock.now()
      const partnerIds = await store.partnersWithExpiredNonces(db, now, sweptUpTo, sweepPartnersMax)
      // The next sweep continues here: otherwise the first busy partners would take every sweep.
      sweptUpTo = partnerIds.length < sweepPartnersMax ? nilId : (partnerIds.at(-1) ?? nilId)
      let swept = 0
      for (const partnerId of partnerIds) swept += await store.deleteExpiredNonces(db, partnerId, now, sweepNoncesMax)
      return swept
    },
  }
}

/** True for each nonce that is new. Of two equal nonces in one batch, the second is a replay. */
async function consumeNonces(tx: Tx, nonces: readonly Nonce[]): Promise<readonly boolean[]> {
  if (nonces.length === 0) return []
  const keyOf = (row: Omit<Nonce, 'expiresAt'>) => partnerKey(row.partnerId, row.serviceAccountId, row.nonce)
  const fresh = new Set((await store.insertNonces(tx, nonces)).map(keyOf))
  return nonces.map((nonce) => fresh.delete(keyOf(nonce)))
}

/** `replays`: calls whose nonce was consumed before. */
type Checked<In, Read> = { readonly replays: ReadonlySet<In>; readonly read: Read }

/**
 * A batcher whose transactions also consume the nonces of their calls: a call and its nonce are committed together or not
 * at all. Refuses a replay (401 nonce_replayed) before `work` sees it.
 */
export function createNonceBatcher<In extends { readonly nonce: OpenNonce | undefined }, Out, Read>(
  options: BatcherOptions<In, Out, Read> & { readonly read: (tx: Tx, calls: readonly In[]) => Promise<Read> },
): Batcher<In, Out> {
  const batched = createBatcher<In, Out, Checked<In, Read>>({
    ...options,
    read: async (tx, calls) => {
      const open = calls.flatMap((call) => (call.nonce && !call.nonce.consumed ? [{ call, nonce: call.nonce }] : []))
      const consuming = consumeNonces(
        tx,
        open.map(({ nonce }) => nonce),
      )
      const [fresh, read] = await Promise.all([consuming, options.read(tx, calls)])
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
  // A result or a refusal comes after the commit. Any other failure has committed nothing.
  const markConsumed = ({ nonce }: In) => {
    if (nonce) nonce.consumed = true
  }
  return async (call) => {
    try {
      const outcome = await batched(call)
      markConsumed(call)
      return outcome
    } catch (error) {
      if (error instanceof Refusal) markConsumed(call)
      throw error
    }
  }
}
