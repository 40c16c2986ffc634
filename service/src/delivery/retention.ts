/**
 * Drops data after the retention period of 30 days: events, the feed, deliveries and attempts by whole weeks, and held
 * deliveries one by one. A week stays as long as any record needs it. `owed` stays the sum of the rows.
 */
import { after, type Clock, firstIdOf, type Log } from '../kernel/index.ts'
import type { EventOutbox } from '../events/index.ts'
import { type Database, deleteDefault, dropWeek, ensureWeeks, type Tx, type Week, weeksOf } from '../postgres/index.ts'
import type { Limits } from './limits.ts'
import { subtractOwed } from './queue/store-endpoint-queues.ts'
import * as store from './store-retention.ts'

/** Together with the weeks that a migration creates, these last for two months even if retention does not run. */
const weeksAhead = 8
const rowsPerStepMax = 1000

/** Attempts are dropped before the deliveries to which they belong, and both before the events. */
const weeklyTables = ['delivery.attempts', 'delivery.deliveries', 'delivery.feed', 'events.events'] as const

type Deps = {
  readonly db: Database
  readonly clock: Clock
  readonly eventOutbox: EventOutbox
  readonly limits: Pick<Limits, 'retentionMs'>
}

const ofEachPartner = <T extends { readonly partnerId: string }>(rows: readonly T[]): readonly (readonly T[])[] => [
  ...Map.groupBy(rows, (row) => row.partnerId).values(),
]

const earlier = (a: string, b: string | undefined): string => (b !== undefined && b < a ? b : a)

export function createRetention({ db, clock, eventOutbox, limits }: Deps) {
  const dropHeld = async (before: Date): Promise<number> => {
    const expired = [...(await store.expiredHeld(db, before, rowsPerStepMax))]
    for (const key of await store.disabledBefore(db, before)) {
      if (expired.length >= 2 * rowsPerStepMax) break
      expired.push(...(await store.expiredOf(db, key, before, rowsPerStepMax)))
    }
    let dropped = 0
    for (const rows of ofEachPartner(expired))
      dropped += await db.transaction((tx) => store.dropExpired(tx, rows, before))
    return dropped
  }

  /** The event id before which nothing is needed. */
  const horizon = async (tx: Tx, before: Date): Promise<string> => {
    const since = await store.earliestRecovery(tx)
    const needed = [await store.oldestOwed(tx), await eventOutbox.oldestPending(tx), since && firstIdOf(since)]
    return needed.reduce(earlier, firstIdOf(before))
  }

  const dropOne = async (table: string, week: Week, before: Date): Promise<boolean> => {
    // Counts without the lock, which blocks all writers. No row of an unneeded week changes meanwhile.
    const delivered = table === 'delivery.deliveries' ? await store.deliveredBetween(db, week.from, week.to) : []
    return dropWeek(db, table, week, async (tx) => {
      if (week.to > (await horizon(tx, before))) return false
      for (const counts of tx.sharded ? ofEachPartner(delivered) : [delivered]) await subtractOwed(tx, counts)
      return true
    })
  }

  /** Deletes rows from the default partition, which catches rows of weeks that do not exist and should be empty. */
  const dropFromDefault = async (table: string, end: string): Promise<number> => {
    if (table !== 'delivery.deliveries') {
      const column = table === 'events.events' ? 'id' : 'event_id'
      return deleteDefault(db, { table, column, before: end, rowsMax: rowsPerStepMax })
    }
    let dropped = 0
    for (const rows of ofEachPartner(await store.oldInDefault(db, end, rowsPerStepMax)))
      dropped += await db.transaction((tx) => store.dropDelivered(tx, rows))
    return dropped
  }

  return {
    /** One step. Returns how much it dropped. The next step drops rows that another transaction locks now. */
    retain: async (log: Log): Promise<number> => {
      const now = clock.now()
      const before = after(now, -limits.retentionMs)
      let dropped = await dropHeld(before)
      for (const table of weeklyTables) await ensureWeeks(db, table, now, weeksAhead)
      const end = await horizon(db, before)
      for (const table of weeklyTables) {
        for (const week of await weeksOf(db, table)) {
          if (week.to > end || !(await dropOne(table, week, before))) break
          log.info({ week: week.name }, 'dropped a week of webhook data')
          dropped += 1
        }
        dropped += await dropFromDefault(table, end)
      }
      return dropped
    },
  }
}
