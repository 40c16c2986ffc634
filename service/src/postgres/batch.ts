/**
 * Many calls, one transaction: calls that arrive while a batch is under way form the next one, so that under load one
 * commit serves many and at rest nobody waits. Answers are given after the commit. What is refused is refused alone;
 * a batch that fails as a whole is run again partner by partner and call by call, so that a poisoned one fails alone,
 * too. A lock of one partner is waited for by that partner alone, beside the batches of the others.
 */
import { Refusal, Unreachable } from '../api/index.ts'
import type { Database } from './database.ts'
import { sqlState, stateOf } from './errors.ts'
import { KeyTaken } from './once.ts'
import type { Tx } from './tx.ts'

/** Where a batch stands among the others of its line. Of those that run alone, after a failure, there is no line. */
export type Line = {
  /** Resolves when every batch before this one has ended. */
  readonly turn: () => Promise<void>
  /** Resolves when this one has ended, whichever way. */
  readonly ended: Promise<void>
}

/**
 * One result for each call, in their order; a Refusal is the call's answer, and nothing of the call is written. `read` is
 * what the batcher's own `read` has found. Work that depends on what the batches before it do waits for its turn.
 */
export type BatchWork<In, Out, Read = undefined> = (
  tx: Tx,
  calls: readonly In[],
  read: Read,
  line: Line | undefined,
) => Promise<readonly (Out | Refusal)[]>

type Waiting<In, Out> = {
  readonly call: In
  readonly resolve: (value: Out) => void
  readonly reject: (reason: unknown) => void
}

/** Far longer than a lock is held when all is well; what takes longer is waited for beside the line. */
const sharedLockTimeoutMs = 250

/** A small batch costs nearly as much as a large one, and two that follow each other closely mostly wait for the same disk. */
const secondBatchMinDefault = 64

/** A key or an amount that somebody else has taken since it was read. */
const lostStates: ReadonlySet<string | undefined> = new Set([sqlState.uniqueViolation, sqlState.checkViolation])

export type Batcher<In, Out> = (call: In) => Promise<Out>

export type BatcherOptions<In, Out, Read = undefined> = {
  readonly db: Pick<Database, 'transaction'>
  /**
   * Reads what the work needs and what no lock protects, while the batch before is still at work: `before` of the
   * transaction. What that one has changed meanwhile must end in a violation of a constraint: the batch is then run again,
   * after it and out of line.
   */
  readonly read?: (tx: Tx, calls: readonly In[]) => Promise<Read>
  readonly work: BatchWork<In, Out, Read>
  readonly callsMax: number
  /** Batches under way at once. */
  readonly batchesMax: number
  /** Beside another batch a further one begins with this many calls. */
  readonly secondBatchMin?: number
  /** Whose a call is. */
  readonly partnerOf: (call: In) => string
  /** Where the database is sharded by partner: a batch is of one partner. */
  readonly apart?: boolean | undefined
  /** Of each transaction: as in `TransactionOptions`. */
  readonly byIndex?: boolean
  readonly planOnce?: boolean
}

export function createBatcher<In, Out, Read = undefined>(options: BatcherOptions<In, Out, Read>): Batcher<In, Out> {
  const { db, read, work, callsMax, batchesMax, partnerOf, apart = false, byIndex = false, planOnce = false } = options
  const { secondBatchMin = secondBatchMinDefault } = options
  let waiting: Waiting<In, Out>[] = []
  let turn: Promise<void> = Promise.resolve()
  let underWay = 0
  let pumpSoon: NodeJS.Immediate | undefined
  const beside = new Set<string>()

  const settle = ({ resolve, reject }: Waiting<In, Out>, outcome: Out | Refusal) => {
    if (outcome instanceof Refusal) reject(outcome)
    else resolve(outcome)
  }
  const attempt = async (batch: readonly Waiting<In, Out>[], line?: Line) => {
    const calls = batch.map(({ call }) => call)
    const outcomes = await db.transaction<readonly (Out | Refusal)[], Read>(
      (tx, found) => work(tx, calls, found, line),
      {
        byIndex,
        planOnce,
        ...(read ? { before: (tx: Tx) => read(tx, calls) } : {}),
        ...(line ? { lockTimeoutMs: sharedLockTimeoutMs } : {}),
      },
    )
    batch.forEach((each, index) => settle(each, outcomes[index] as Out | Refusal))
  }

  const rejectAll = (batch: readonly Waiting<In, Out>[], error: unknown) => batch.forEach(({ reject }) => reject(error))
  /** Of one partner, after `error`. */
  const retry = async (batch: readonly Waiting<In, Out>[], error: unknown): Promise<void> => {
    // Whatever holds the partner's lock holds it for each of them.
    if (error instanceof Unreachable || stateOf(error) === sqlState.lockNotAvailable) rejectAll(batch, error)
    else if (batch.length > 1) for (const each of batch) await runAlone([each])
    // What was free when it was read, and was lost, is held by now: looked up again, it is answered.
    else if (error instanceof KeyTaken || lostStates.has(stateOf(error)))
      await attempt(batch).catch((again: unknown) => rejectAll(batch, again))
    else rejectAll(batch, error)
  }
  const runAlone = (batch: readonly Waiting<In, Out>[]) => attempt(batch).catch((error: unknown) => retry(batch, error))
  const runInLine = async (batch: readonly Waiting<In, Out>[], line: Line): Promise<void> => {
    try {
      await attempt(batch, line)
    } catch (error) {
      await line.turn()
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
    while (
      underWay < batchesMax &&
      waiting.length > 0 &&
      (underWay === 0 || waiting.length >= Math.min(secondBatchMin, callsMax))
    ) {
      const batch = next()
      if (batch.length === 0) return
      underWay += 1
      const before = turn
      const { promise: ended, resolve: end } = Promise.withResolvers<void>()
      turn = Promise.all([before, ended]).then(() => undefined)
      void runInLine(batch, { turn: () => before, ended }).finally(() => {
        underWay -= 1
        end()
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
