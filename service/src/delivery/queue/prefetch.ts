/** Fills the lanes of a worker from the queue: one reading at a time, for all that are hungry. */
import { type Clock, type Log, nilId } from '../../kernel/index.ts'
import type { Lane, Target } from './endpoint-queue.ts'
import * as memory from './endpoint-queue.ts'
import type { Lanes } from './endpoint-queues.ts'
import type { OwedRow } from './store-queue.ts'
import type { SubscriptionKey } from '../management/store-subscriptions.ts'

/** Rows that are read of a lane at once. */
const rowsPerLaneMax = 64

type Found = { readonly lane: Lane; readonly row: OwedRow; readonly again: boolean }

export type Refilled = {
  /** New to the lanes, or due; 0: there is nothing to read. */
  readonly rows: number
  /** Disabled or deleted. */
  readonly closed: readonly Lane[]
  /** They cannot be worked now. */
  readonly troubled: readonly Lane[]
}

type Deps = { readonly verbs: Lanes; readonly clock: Clock; readonly log: Log }

export function createReading({ verbs, clock, log }: Deps) {
  /** References of ordered lanes of which the first has gone: what follows may be among the rows passed over. */
  const unblocked = new Map<Lane, Set<string>>()

  /** How far what lanes are owed is marked as ordered, for which switch. */
  const marked = new WeakMap<Lane, { readonly orderPending: string; readonly last: string }>()

  /** The next part of it; before all is marked, nothing of the lane is known to it. False: it cannot be done now. */
  const mark = async (lane: Lane, orderPending: string): Promise<boolean> => {
    const before = marked.get(lane)
    const after = before?.orderPending === orderPending ? before.last : nilId
    memory.forget(lane, clock.now())
    try {
      const last = await verbs.mark(lane.key, orderPending, after)
      if (last === undefined) marked.delete(lane)
      else marked.set(lane, { orderPending, last })
      return true
    } catch (error) {
      log.error({ err: error, subscriptionId: lane.key.subscriptionId }, 'a lane cannot be put in order')
      return false
    }
  }

  /** One lane's trouble (a secret that does not open, say) is not the others'. */
  const targetsOf = async (
    lanes: readonly Lane[],
  ): Promise<{ targets: ReadonlyMap<string, Target>; troubled: Lane[] }> => {
    const keysOf = (some: readonly Lane[]) => some.map((lane) => lane.key)
    const troubled: Lane[] = []
    try {
      return { targets: await verbs.targets(keysOf(lanes)), troubled }
    } catch (error) {
      if (lanes.length > 1) log.debug({ err: error }, 'targets are read one by one')
    }
    const all: (readonly [string, Target])[] = []
    for (const lane of lanes) {
      try {
        all.push(...(await verbs.targets(keysOf([lane]))))
      } catch (error) {
        log.error({ err: error, subscriptionId: lane.key.subscriptionId }, 'a subscription cannot be delivered to')
        troubled.push(lane)
      }
    }
    return { targets: new Map(all), troubled }
  }

  /** Asks for what each lane wants. Whatever is said of a lane from here on is said of rows that may be missed. */
  const fetch = async (lanes: readonly Lane[]) => {
    const now = clock.now()
    const wanted = lanes.map((lane) => ({
      ...lane.key,
      ...{ after: lane.cursor, ordered: lane.target.ordered, fresh: lane.mayHaveFresh, committed: lane.committed },
      due: lane.dueAt !== null && lane.dueAt <= now,
    }))
    for (const lane of lanes) {
      lane.settled.clear()
      lane.mayHaveFresh = false
      if (lane.dueAt !== null && lane.dueAt <= now) lane.dueAt = null
    }
    const passed = lanes.flatMap((lane) => {
      const references = [...(unblocked.get(lane) ?? [])]
      unblocked.delete(lane)
      return references.map((reference) => ({ ...lane.key, reference }))
    })
    const [{ fresh, due }, firsts] = await Promise.all([verbs.read(wanted, rowsPerLaneMax), verbs.firsts(passed)])
    const group = <T extends OwedRow>(rows: readonly T[]) => Map.groupBy(rows, (row) => row.subscriptionId)
    const [freshOf, dueOf, firstsOf] = [group(fresh), group(due), group(firsts)]
    const of = ({ subscriptionId: id }: SubscriptionKey) => ({
      ...{ news: freshOf.get(id) ?? [], again: dueOf.get(id) ?? [], firsts: firstsOf.get(id) ?? [] },
    })
    return { now, asked: new Map(wanted.map((one) => [one.subscriptionId, one])), of }
  }

  /** What of it may go, as the lane knows from now on. */
  const learn = (lane: Lane, { now, asked, of }: Awaited<ReturnType<typeof fetch>>): readonly Found[] => {
    const { news, again, firsts } = of(lane.key)
    const { fresh = false, due = false, committed = 0n } = asked.get(lane.key.subscriptionId) ?? {}
    const isAll = news.length < rowsPerLaneMax
    if (fresh) lane.cursor = latest(lane.cursor, isAll ? committed : 0n, news.at(-1)?.sequence ?? 0n)
    if (!isAll) lane.mayHaveFresh = true
    if (due) lane.dueAt = earlier(lane.dueAt, dueAfter(again, now))
    const mayGo = (row: OwedRow) => row.dueAt === null || row.dueAt <= now
    const rows = [...firsts, ...again, ...news.filter((row) => !row.blocked)].filter(mayGo)
    return [...new Map(rows.map((row) => [row.eventId, { lane, row, again: row.dueAt !== null }])).values()]
  }

  const fill = async (found: readonly Found[]): Promise<void> => {
    const news = found.filter(({ lane, row }) => memory.unknownOf(lane, [row]).length > 0)
    if (news.length === 0) return
    const owed = await verbs.withData(news.map(({ lane, row }) => ({ ...lane.key, row })))
    const byKey = new Map(owed.map((one) => [`${one.subscriptionId} ${one.eventId}`, one]))
    for (const { lane, row, again } of news) {
      const one = byKey.get(`${row.subscriptionId} ${row.eventId}`)
      // While the payloads were read, too, attempts have ended.
      if (one === undefined) log.error({ eventId: row.eventId }, 'an event that is owed is not there')
      else if (memory.unknownOf(lane, [one]).length > 0) (again ? lane.again : lane.fresh).push(one)
    }
  }

  return {
    /** Where it goes is asked at the same time: a partner who changes an endpoint expects that at once. */
    refill: async (lanes: readonly Lane[]): Promise<Refilled> => {
      const [{ targets, troubled }, fetched] = await Promise.all([targetsOf(lanes), fetch(lanes)])
      const closed: Lane[] = []
      const found: Found[] = []
      let rows = 0
      for (const lane of lanes) {
        const target = targets.get(lane.key.subscriptionId)
        if (target === undefined) {
          if (!troubled.includes(lane)) closed.push(lane)
          continue
        }
        if (target.orderPending !== null) {
          lane.closing = undefined
          if (!(await mark(lane, target.orderPending))) troubled.push(lane)
          rows += 1
          continue
        }
        // Strict from now on: what was read, for the other rule, is read again.
        const isStale = target.ordered && !lane.target.ordered
        lane.target = memory.sameTarget(lane.target, target) ? lane.target : target
        lane.closing = undefined
        rows += fetched.of(lane.key).news.length
        if (isStale) memory.forget(lane, clock.now())
        else found.push(...learn(lane, fetched))
      }
      await fill(found)
      return { rows: rows + found.length, closed, troubled }
    },

    unblock: (lane: Lane, reference: string): void => {
      const references = unblocked.get(lane) ?? new Set()
      unblocked.set(lane, references.add(reference))
    },
    isBlocked: (lane: Lane): boolean => unblocked.has(lane),
  }
}

export type Reading = ReturnType<typeof createReading>

/** When the next one is due: the last ones read are later than now, or there are more where they came from. */
function dueAfter(rows: readonly OwedRow[], now: Date): Date | null {
  const next = rows.find((row) => row.dueAt !== null && row.dueAt > now)
  if (next !== undefined) return next.dueAt
  return rows.length === rowsPerLaneMax ? now : null
}

const latest = (...numbers: readonly bigint[]): bigint => numbers.reduce((a, b) => (a > b ? a : b))

const earlier = (a: Date | null, b: Date | null): Date | null => (a === null ? b : b === null || a < b ? a : b)
