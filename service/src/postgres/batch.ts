/**
 * Many calls, one transaction: calls that arrive while a batch is under way form the next one, so that under load one
 * commit serves many and at rest nobody waits. Answers are given after the commit. What is refused is refused alone;
 * a batch that fails as a whole is run again partner by partner and call by call, so that a poisoned one fails alone,
 * too. A lock of one partner is waited for by that partner alone, beside the batches of the others.
 */
import { Refusal, Unreachable } from '../kernel/index.ts'
import type { Database, TransactionLimits, Tx } from './database.ts'
import { sqlState, stateOf } from './errors.ts'
import { KeyTaken } from './once.ts'

/** One result for each call, in their order; a Refusal is the call's answer, and nothing of the call is written. */
export type BatchWork<In, Out> = (tx: Tx, calls: readonly In[]) => Promise<readonly (Out | Refusal)[]>

type Waiting<In, Out> = {
  readonly call: In
  readonly resolve: (value: Out) => void
  readonly reject: (reason: unknown) => void
}

/** Far longer than a lock is held when all is well; what takes longer is waited for beside the line. */
const sharedLockTimeoutMs = 250

export type Batcher<In, Out> = (call: In) => Promise<Out>

export function createBatcher<In, Out>(options: {
  readonly db: Pick<Database, 'transaction'>
  readonly work: BatchWork<In, Out>
  readonly callsMax: number
  /** Batches under way at once: the next one prepares while the one before it commits. */
  readonly batchesMax: number
  /** Whose a call is. */
  readonly partnerOf: (call: In) => string
  /** Where the database is sharded by partner: a batch is of one partner. */
  readonly apart?: boolean | undefined
}): Batcher<In, Out> {
  const { db, work, callsMax, batchesMax, partnerOf, apart = false } = options
  let waiting: Waiting<In, Out>[] = []
  let underWay = 0
  let pumpSoon: NodeJS.Immediate | undefined
  const beside = new Set<string>()

  const settle = ({ resolve, reject }: Waiting<In, Out>, outcome: Out | Refusal) => {
    if (outcome instanceof Refusal) reject(outcome)
    else resolve(outcome)
  }
  const attempt = async (batch: readonly Waiting<In, Out>[], limits: TransactionLimits = {}) => {
    const calls = batch.map(({ call }) => call)
    const outcomes = await db.transaction((tx) => work(tx, calls), limits)
    batch.forEach((each, index) => settle(each, outcomes[index] as Out | Refusal))
  }

  const rejectAll = (batch: readonly Waiting<In, Out>[], error: unknown) => batch.forEach(({ reject }) => reject(error))
  /** Of one partner, after `error`. */
  const retry = async (batch: readonly Waiting<In, Out>[], error: unknown): Promise<void> => {
    // Whatever holds the partner's lock holds it for each of them.
    if (error instanceof Unreachable || stateOf(error) === sqlState.lockNotAvailable) rejectAll(batch, error)
    else if (batch.length > 1) for (const each of batch) await runAlone([each])
    // A key that was lost is held by now: looked up again, it is answered.
    else if (error instanceof KeyTaken) await attempt(batch).catch((again: unknown) => rejectAll(batch, again))
    else rejectAll(batch, error)
  }
  const runAlone = (batch: readonly Waiting<In, Out>[]) => attempt(batch).catch((error: unknown) => retry(batch, error))
  const runInLine = async (batch: readonly Waiting<In, Out>[]): Promise<void> => {
    try {
      await attempt(batch, { lockTimeoutMs: sharedLockTimeoutMs })
    } catch (error) {
      // A database that is away is away for each of them; a lost commit may have been carried out, and is not repeated.
      if (error instanceof Unreachable) return rejectAll(batch, error)
      const locked = stateOf(error) === sqlState.lockNotAvailable
      const partners = Map.groupBy(batch, ({ call }) => partnerOf(call))
      if (partners.size === 1 && !locked) return retry(batch, error)
      const groups = [...partners].map(([partner, group]) => runBeside(partner, group))
      if (!locked) await Promise.all(groups)
    }
  }
  /** Until these calls have their answers, the partner's further ones wait: it has one connection for its troubles. */
  const runBeside = async (partner: string, group: readonly Waiting<In, Out>[]): Promise<void> => {
    if (beside.has(partner)) {
      waiting = [...group, ...waiting]
      return
    }
    beside.add(partner)
    await runAlone(group)
    beside.delete(partner)
    pump()
  }

  const next = (): readonly Waiting<In, Out>[] => {
    const ready = waiting.filter(({ call }) => !beside.has(partnerOf(call)))
    const [first] = ready
    const partner = first && partnerOf(first.call)
    const together = apart ? ready.filter(({ call }) => partnerOf(call) === partner) : ready
    const batch = new Set(together.slice(0, callsMax))
    if (batch.size > 0) waiting = waiting.filter((each) => !batch.has(each))
    return [...batch]
  }

  const pump = () => {
    while (underWay < batchesMax && waiting.length > 0) {
      const batch = next()
      if (batch.length === 0) return
      underWay += 1
      void runInLine(batch).finally(() => {
        underWay -= 1
        pump()
      })
    }
  }

  return (call) =>
    new Promise<Out>((resolve, reject) => {
      waiting.push({ call, resolve, reject })
      // Calls of the same turn of the event loop travel together.
      pumpSoon ??= setImmediate(() => {
        pumpSoon = undefined
        pump()
      })
    })
}
