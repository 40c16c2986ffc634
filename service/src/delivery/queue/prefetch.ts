/** Fills the endpoint queues of a worker from the queue: one reading at a time, for all that are hungry. */
import { type Clock, type Log, nilId } from '../../kernel/index.ts'
import type { EndpointQueue, Target } from './endpoint-queue.ts'
import * as memory from './endpoint-queue.ts'
import type { EndpointQueues } from './endpoint-queues.ts'
import type { QueueRow } from './store-queue.ts'
import type { SubscriptionKey } from '../management/store-subscriptions.ts'

/** Rows that are read of a endpoint queue at once. */
const rowsPerEndpointQueueMax = 64

type Found = { readonly endpointQueue: EndpointQueue; readonly row: QueueRow; readonly again: boolean }

export type Refilled = {
  /** New to the endpoint queues, or due; 0: there is nothing to read. */
  readonly rows: number
  /** Disabled or deleted. */
  readonly closed: readonly EndpointQueue[]
  /** They cannot be worked now. */
  readonly troubled: readonly EndpointQueue[]
}

type Deps = { readonly verbs: EndpointQueues; readonly clock: Clock; readonly log: Log }

export function createReading({ verbs, clock, log }: Deps) {
  /** References of ordered endpoint queues of which the first has gone: what follows may be among the rows passed over. */
  const unblocked = new Map<EndpointQueue, Set<string>>()

  /** How far what endpoint queues are owed is marked as ordered, for which switch. */
  const marked = new WeakMap<EndpointQueue, { readonly orderPending: string; readonly last: string }>()

  /** The next part of it; before all is marked, nothing of the endpoint queue is known to it. False: it cannot be done now. */
  const mark = async (endpointQueue: EndpointQueue, orderPending: string): Promise<boolean> => {
    const before = marked.get(endpointQueue)
    const after = before?.orderPending === orderPending ? before.last : nilId
    memory.forget(endpointQueue, clock.now())
    try {
      const last = await verbs.mark(endpointQueue.key, orderPending, after)
      if (last === undefined) marked.delete(endpointQueue)
      else marked.set(endpointQueue, { orderPending, last })
      return true
    } catch (error) {
      log.error(
        { err: error, subscriptionId: endpointQueue.key.subscriptionId },
        'a endpoint queue cannot be put in order',
      )
      return false
    }
  }

  /** One endpoint queue's trouble (a secret that does not open, say) is not the others'. */
  const targetsOf = async (
    endpointQueues: readonly EndpointQueue[],
  ): Promise<{ targets: ReadonlyMap<string, Target>; troubled: EndpointQueue[] }> => {
    const keysOf = (some: readonly EndpointQueue[]) => some.map((endpointQueue) => endpointQueue.key)
    const troubled: EndpointQueue[] = []
    try {
      return { targets: await verbs.targets(keysOf(endpointQueues)), troubled }
    } catch (error) {
      if (endpointQueues.length > 1) log.debug({ err: error }, 'targets are read one by one')
    }
    const all: (readonly [string, Target])[] = []
    for (const endpointQueue of endpointQueues) {
      try {
        all.push(...(await verbs.targets(keysOf([endpointQueue]))))
      } catch (error) {
        log.error(
          { err: error, subscriptionId: endpointQueue.key.subscriptionId },
          'a subscription cannot be delivered to',
        )
        troubled.push(endpointQueue)
      }
    }
    return { targets: new Map(all), troubled }
  }

  /** Asks for what each endpoint queue wants. Whatever is said of a endpoint queue from here on is said of rows that may be missed. */
  const fetch = async (endpointQueues: readonly EndpointQueue[]) => {
    const now = clock.now()
    const wanted = endpointQueues.map((endpointQueue) => ({
      ...endpointQueue.key,
      ...{
        after: endpointQueue.cursor,
        ordered: endpointQueue.target.ordered,
        fresh: endpointQueue.mayHaveFresh,
        committed: endpointQueue.committed,
      },
      due: endpointQueue.dueAt !== null && endpointQueue.dueAt <= now,
    }))
    for (const endpointQueue of endpointQueues) {
      endpointQueue.settled.clear()
      endpointQueue.mayHaveFresh = false
      if (endpointQueue.dueAt !== null && endpointQueue.dueAt <= now) endpointQueue.dueAt = null
    }
    const passed = endpointQueues.flatMap((endpointQueue) => {
      const references = [...(unblocked.get(endpointQueue) ?? [])]
      unblocked.delete(endpointQueue)
      return references.map((reference) => ({ ...endpointQueue.key, reference }))
    })
    const [{ fresh, due }, firsts] = await Promise.all([
      verbs.read(wanted, rowsPerEndpointQueueMax),
      verbs.firsts(passed),
    ])
    const group = <T extends QueueRow>(rows: readonly T[]) => Map.groupBy(rows, (row) => row.subscriptionId)
    const [freshOf, dueOf, firstsOf] = [group(fresh), group(due), group(firsts)]
    const of = ({ subscriptionId: id }: SubscriptionKey) => ({
      ...{ news: freshOf.get(id) ?? [], again: dueOf.get(id) ?? [], firsts: firstsOf.get(id) ?? [] },
    })
    return { now, asked: new Map(wanted.map((one) => [one.subscriptionId, one])), of }
  }

  /** What of it may go, as the endpoint queue knows from now on. */
  const learn = (
    endpointQueue: EndpointQueue,
    { now, asked, of }: Awaited<ReturnType<typeof fetch>>,
  ): readonly Found[] => {
    const { news, again, firsts } = of(endpointQueue.key)
    const { fresh = false, due = false, committed = 0n } = asked.get(endpointQueue.key.subscriptionId) ?? {}
    const isAll = news.length < rowsPerEndpointQueueMax
    if (fresh) endpointQueue.cursor = latest(endpointQueue.cursor, isAll ? committed : 0n, news.at(-1)?.sequence ?? 0n)
    if (!isAll) endpointQueue.mayHaveFresh = true
    if (due) endpointQueue.dueAt = earlier(endpointQueue.dueAt, dueAfter(again, now))
    const mayGo = (row: QueueRow) => row.dueAt === null || row.dueAt <= now
    const rows = [...firsts, ...again, ...news.filter((row) => !row.blocked)].filter(mayGo)
    return [...new Map(rows.map((row) => [row.eventId, { endpointQueue, row, again: row.dueAt !== null }])).values()]
  }

  const fill = async (found: readonly Found[]): Promise<void> => {
    const news = found.filter(({ endpointQueue, row }) => memory.unknownOf(endpointQueue, [row]).length > 0)
    if (news.length === 0) return
    const owed = await verbs.withData(news.map(({ endpointQueue, row }) => ({ ...endpointQueue.key, row })))
    const byKey = new Map(owed.map((one) => [`${one.subscriptionId} ${one.eventId}`, one]))
    for (const { endpointQueue, row, again } of news) {
      const one = byKey.get(`${row.subscriptionId} ${row.eventId}`)
      // While the payloads were read, too, attempts have ended.
      if (one === undefined) log.error({ eventId: row.eventId }, 'an event that is owed is not there')
      else if (memory.unknownOf(endpointQueue, [one]).length > 0)
        (again ? endpointQueue.again : endpointQueue.fresh).push(one)
    }
  }

  return {
    /** Where it goes is asked at the same time: a partner who changes an endpoint expects that at once. */
    refill: async (endpointQueues: readonly EndpointQueue[]): Promise<Refilled> => {
      const [{ targets, troubled }, fetched] = await Promise.all([targetsOf(endpointQueues), fetch(endpointQueues)])
      const closed: EndpointQueue[] = []
      const found: Found[] = []
      let rows = 0
      for (const endpointQueue of endpointQueues) {
        const target = targets.get(endpointQueue.key.subscriptionId)
        if (target === undefined) {
          if (!troubled.includes(endpointQueue)) closed.push(endpointQueue)
          continue
        }
        if (target.orderPending !== null) {
          endpointQueue.closing = undefined
          if (!(await mark(endpointQueue, target.orderPending))) troubled.push(endpointQueue)
          rows += 1
          continue
        }
        // Strict from now on: what was read, for the other rule, is read again.
        const isStale = target.ordered && !endpointQueue.target.ordered
        endpointQueue.target = memory.sameTarget(endpointQueue.target, target) ? endpointQueue.target : target
        endpointQueue.closing = undefined
        rows += fetched.of(endpointQueue.key).news.length
        if (isStale) memory.forget(endpointQueue, clock.now())
        else found.push(...learn(endpointQueue, fetched))
      }
      await fill(found)
      return { rows: rows + found.length, closed, troubled }
    },

    unblock: (endpointQueue: EndpointQueue, reference: string): void => {
      const references = unblocked.get(endpointQueue) ?? new Set()
      unblocked.set(endpointQueue, references.add(reference))
    },
    isBlocked: (endpointQueue: EndpointQueue): boolean => unblocked.has(endpointQueue),
  }
}

export type Reading = ReturnType<typeof createReading>

/** When the next one is due: the last ones read are later than now, or there are more where they came from. */
function dueAfter(rows: readonly QueueRow[], now: Date): Date | null {
  const next = rows.find((row) => row.dueAt !== null && row.dueAt > now)
  if (next !== undefined) return next.dueAt
  return rows.length === rowsPerEndpointQueueMax ? now : null
}

const latest = (...numbers: readonly bigint[]): bigint => numbers.reduce((a, b) => (a > b ? a : b))

const earlier = (a: Date | null, b: Date | null): Date | null => (a === null ? b : b === null || a < b ? a : b)
