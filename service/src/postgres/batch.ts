/**
 * Many calls, one transaction: calls that arrive while a batch is under way form the next one, so that under load one
 * commit serves many and at rest nobody waits. Answers are given after the commit. What is refused is refused alone;
 * a batch that fails as a whole is run again call by call, so that a poisoned one fails alone, too.
 */
import { Refusal, Unreachable } from '../kernel/index.ts'
import type { Database, Tx } from './database.ts'
import { KeyTaken } from './once.ts'

/** One result for each call, in their order; a Refusal is the call's answer, and nothing of the call is written. */
export type BatchWork<In, Out> = (tx: Tx, calls: readonly In[]) => Promise<readonly (Out | Refusal)[]>

type Waiting<In, Out> = {
  readonly call: In
  readonly resolve: (value: Out) => void
  readonly reject: (reason: unknown) => void
}

export type Batcher<In, Out> = (call: In) => Promise<Out>

export function createBatcher<In, Out>(options: {
  readonly db: Pick<Database, 'transaction'>
  readonly work: BatchWork<In, Out>
  readonly callsMax: number
  /** Batches under way at once: the next one prepares while the one before it commits. */
  readonly batchesMax: number
  /** Where the database is sharded by partner: a batch is of one partner, and this tells whose a call is. */
  readonly partnerOf?: ((call: In) => string) | undefined
}): Batcher<In, Out> {
  const { db, work, callsMax, batchesMax, partnerOf } = options
  let waiting: Waiting<In, Out>[] = []
  let underWay = 0

  const settle = ({ resolve, reject }: Waiting<In, Out>, outcome: Out | Refusal) => {
    if (outcome instanceof Refusal) reject(outcome)
    else resolve(outcome)
  }
  const attempt = async (batch: readonly Waiting<In, Out>[]) => {
    const outcomes = await db.transaction((tx) =>
      work(
        tx,
        batch.map(({ call }) => call),
      ),
    )
    batch.forEach((each, index) => settle(each, outcomes[index] as Out | Refusal))
  }

  const run = async (batch: readonly Waiting<In, Out>[]): Promise<void> => {
    try {
      await attempt(batch)
    } catch (error) {
      // A database that is away is away for each of them; a lost commit may have been carried out, and is not repeated.
      const alone = batch.length === 1 && !(error instanceof KeyTaken)
      if (alone || error instanceof Unreachable) batch.forEach(({ reject }) => reject(error))
      else for (const each of batch) await attempt([each]).catch(each.reject)
    }
  }

  const next = (): readonly Waiting<In, Out>[] => {
    const [first] = waiting
    const partner = first && partnerOf?.(first.call)
    const together = partnerOf ? waiting.filter(({ call }) => partnerOf(call) === partner) : waiting
    const batch = new Set(together.slice(0, callsMax))
    waiting = waiting.filter((each) => !batch.has(each))
    return [...batch]
  }

  const pump = () => {
    while (underWay < batchesMax && waiting.length > 0) {
      underWay += 1
      void run(next()).finally(() => {
        underWay -= 1
        pump()
      })
    }
  }

  return (call) =>
    new Promise<Out>((resolve, reject) => {
      waiting.push({ call, resolve, reject })
      // Calls of the same turn of the event loop travel together.
      if (waiting.length === 1) setImmediate(pump)
    })
}
