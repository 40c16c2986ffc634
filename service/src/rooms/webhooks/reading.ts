/** Fills the lanes of a worker from the queue: one reading at a time, for all that are hungry. */
import type { Clock, Log } from '../../kernel/index.ts'
import type { Lane, Target } from './lane.ts'
import * as memory from './lane.ts'
import type { Lanes } from './lanes.ts'
import type { OwedRow } from './store-queue.ts'

/** Rows that are read of a lane at once. */
const rowsPerLaneMax = 64

type Found = { readonly lane: Lane; readonly row: OwedRow; readonly again: boolean }

export type Refilled = {
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

  const take = async (lanes: readonly Lane[]): Promise<number> => {
    const now = clock.now()
    const wanted = lanes.map((lane) => ({
      ...lane.key,
      ...{ after: lane.cursor, ordered: lane.target.ordered, fresh: lane.mayHaveFresh },
      due: lane.dueAt !== null && lane.dueAt <= now,
    }))
    // Whatever is said of a lane from here on is said of rows that this reading may miss.
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
    const { fresh, due } = await verbs.read(wanted, rowsPerLaneMax)
    const firsts = await verbs.firsts(passed)
    const byId = new Map(lanes.map((lane, index) => [lane.key.subscriptionId, { lane, asked: wanted[index] }]))
    const found: Found[] = []
    const group = <T extends OwedRow>(rows: readonly T[]) => Map.groupBy(rows, (row) => row.subscriptionId)
    const [freshOf, dueOf, firstsOf] = [group(fresh), group(due), group(firsts)]
    for (const [id, { lane, asked }] of byId) {
      const [news, again] = [freshOf.get(id) ?? [], dueOf.get(id) ?? []]
      const last = news.at(-1)
      if (last !== undefined && last.sequence > lane.cursor) lane.cursor = last.sequence
      if (news.length === rowsPerLaneMax) lane.mayHaveFresh = true
      if (asked?.due) lane.dueAt = earlier(lane.dueAt, dueAfter(again, now))
      const ready = again.filter((row) => row.dueAt !== null && row.dueAt <= now)
      const free = news.filter((row) => !row.blocked)
      const first = (firstsOf.get(id) ?? []).filter((row) => row.dueAt === null || row.dueAt <= now)
      const rows = new Map<string, Found>()
      for (const row of first) rows.set(row.eventId, { lane, row, again: row.dueAt !== null })
      for (const row of ready) rows.set(row.eventId, { lane, row, again: true })
      for (const row of free) rows.set(row.eventId, { lane, row, again: false })
      found.push(...rows.values())
    }
    await fill(found)
    return fresh.length + due.length + firsts.length
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
    refill: async (lanes: readonly Lane[]): Promise<Refilled> => {
      const { targets, troubled } = await targetsOf(lanes)
      const open: Lane[] = []
      const closed: Lane[] = []
      for (const lane of lanes) {
        const target = targets.get(lane.key.subscriptionId)
        if (target !== undefined) {
          // Strict from now on: what is in memory was read for the other rule.
          if (target.ordered && !lane.target.ordered) memory.forget(lane, clock.now())
          lane.target = target
          lane.closing = undefined
          open.push(lane)
        } else if (!troubled.includes(lane)) closed.push(lane)
      }
      const rows = open.length === 0 ? 0 : await take(open)
      return { rows, closed, troubled }
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

const earlier = (a: Date | null, b: Date | null): Date | null => (a === null ? b : b === null || a < b ? a : b)
