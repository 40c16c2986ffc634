/**
 * What is kept for 30 days and then dropped: events, the feed, deliveries and attempts by whole weeks, what is held one by
 * one. No week goes that something still needs. `owed` stays what the rows add up to.
 */
import { after, type Clock, firstIdOf, type Log } from '../kernel/index.ts'
import type { EventOutbox } from '../events/index.ts'
import { type Database, deleteDefault, dropWeek, ensureWeeks, type Tx, type Week, weeksOf } from '../postgres/index.ts'
import type { Limits } from './limits.ts'
import { subtractOwed } from './queue/store-endpoint-queues.ts'
import * as store from './store-retention.ts'

/** With the weeks that a migration makes, a service that nobody restarts for two months would still have them. */
const weeksAhead = 8
const rowsPerStepMax = 1000

/** Of this module, by the column that tells the week. Attempts go before what they are attempts of. */
const weekly = ['delivery.attempts', 'delivery.deliveries', 'delivery.feed'] as const

type Deps = {
  readonly db: Database
  readonly clock: Clock
  readonly eventOutbox: EventOutbox
  readonly limits: Pick<Limits, 'retentionMs'>
}

const earlier = (a: string, b: string | undefined): string => (b !== undefined && b < a ? b : a)

export function createRetention({ db, clock, eventOutbox, limits }: Deps) {
  const dropHeld = async (before: Date): Promise<number> => {
    const rows = [
      ...(await store.expiredHeld(db, before, rowsPerStepMax)),
      ...(await store.expiredOfDisabled(db, before, rowsPerStepMax)),
    ]
    let did = 0
    for (const of of Map.groupBy(rows, (row) => row.partnerId).values())
      did += await db.transaction((tx) => store.dropExpired(tx, of, before))
    return did
  }

  /** Everything before it may go. */
  const horizon = async (tx: Tx, before: Date): Promise<string> => {
    const since = await store.earliestRecovery(tx)
    const needed = [await store.oldestOwed(tx), await eventOutbox.oldestPending(tx), since && firstIdOf(since)]
    return needed.reduce(earlier, firstIdOf(before))
  }

  const dropOne = async (table: string, week: Week, before: Date): Promise<boolean> => {
    // Counted without the lock, which stops everybody: of a week that nothing needs no row comes or goes.
    const delivered = table === 'delivery.deliveries' ? await store.deliveredBetween(db, week.from, week.to) : []
    return dropWeek(db, table, week, async (tx) => {
      if (week.to > (await horizon(tx, before))) return false
      await subtractOwed(tx, delivered)
      return true
    })
  }

  /** The net below the weeks should be empty; what it caught goes row by row. */
  const dropCaught = async (table: string, column: string, end: string): Promise<number> =>
    db.transaction(async (tx) => {
      const options = { table, column, before: end, rowsMax: rowsPerStepMax }
      if (table !== 'delivery.deliveries') return deleteDefault(tx, options)
      const gone = await store.deleteDelivered(tx, end, rowsPerStepMax)
      await subtractOwed(tx, gone)
      return gone.reduce((sum, row) => sum + Number(row.count), 0)
    })

  return {
    /** One step: answers how much it dropped; what another's lock keeps it from it leaves to the next one. */
    retain: async (log: Log): Promise<number> => {
      const now = clock.now()
      const before = after(now, -limits.retentionMs)
      let did = await dropHeld(before)
      for (const table of [...weekly, 'events.events']) await ensureWeeks(db, table, now, weeksAhead)
      const end = await horizon(db, before)
      for (const table of [...weekly, 'events.events']) {
        for (const week of await weeksOf(db, table)) {
          if (week.to > end || !(await dropOne(table, week, before))) break
          log.info({ week: week.name }, 'a week of webhooks was dropped')
          did += 1
        }
        did += await dropCaught(table, table === 'events.events' ? 'id' : 'event_id', end)
      }
      return did
    },
  }
}
