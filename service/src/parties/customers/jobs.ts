/** The jobs of customers: indexing of names, states of verification, erasures, and records whose retention has ended. */
import { defineJob, type Job } from '../../postgres/jobs/index.ts'
import { after, type Clock, dayMs, firstIdOf, minuteMs, nilId, present } from '../../kernel/index.ts'
import type { Erasures } from './erasure.ts'
import type { Customers } from './service.ts'
import * as store from './store-erasures.ts'
import { type Database, eraseExpiredRecords, type RetainedTable, type Tx } from '../../postgres/index.ts'

export const customerJobs = (
  customers: Pick<Customers, 'indexNamesStep' | 'verifyStep'>,
  { erasures, keptRecords }: { readonly erasures: Erasures; readonly keptRecords: RecordRetention },
): readonly Job[] => [
  defineJob({ name: 'customers.names', everyMs: minuteMs, run: customers.indexNamesStep }),
  defineJob({ name: 'customers.verifications', everyMs: minuteMs, run: customers.verifyStep }),
  defineJob({ name: 'customers.erasures', due: store.erasuresDue, run: erasures.step, age: { queue: 'erasures' } }),
  defineJob({
    name: 'customers.kept_records',
    due: store.retentionsDue,
    // A new partner does not have rows yet.
    everyMs: minuteMs,
    run: keptRecords.step,
    age: { queue: 'kept_records' },
  }),
]

// Erases names in records that do not belong to a customer: bank reports, cases, verifications of payees, orders. Each record is
// retained as long as a payment, counted from its own end, even without a request for erasure. The job visits each table of each
// partner once a day, page by page in the order of ids, which is the order of time.

export type RecordRetention = {
  /** Erases a page of a due table. Returns 1, or 0 if none is due. */
  readonly step: () => Promise<number>
}

const passMs = dayMs
const rowsPerPageMax = 500

type KeptRecordsDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly places: readonly RetainedTable[]
  /** The setting CUSTOMER_RETENTION_YEARS. */
  readonly retentionYears: number
  readonly partnerIds: (tx: Tx) => Promise<readonly string[]>
}

export function createRecordRetention(deps: KeptRecordsDeps): RecordRetention {
  const { db, clock, places, retentionYears } = deps
  const begin = createBegin(deps)
  const byName = new Map(places.map((place) => [place.table, place]))
  return {
    step: async () => {
      const now = clock.now()
      await begin(now)
      const due = await store.oldestDueRetention(db, now)
      if (due === undefined) return 0
      return db.transaction(async (tx) => {
        const row = await store.claimRetention(tx, due.partnerId, now)
        if (row === undefined) return 0
        const { place: name, ...at } = row
        const place = byName.get(name)
        // A later version may have more tables, which this version skips.
        const moved =
          place === undefined ? { ...at, dueAt: after(now, passMs) } : await pass(tx, due.partnerId, at, place, now)
        await store.updateRetention(tx, due.partnerId, name, moved)
        return 1
      })
    },
  }

  async function pass(
    tx: Tx,
    partnerId: string,
    row: store.RetentionRow,
    place: RetainedTable,
    now: Date,
  ): Promise<store.RetentionRow> {
    const endedBefore = new Date(now)
    endedBefore.setUTCFullYear(endedBefore.getUTCFullYear() - retentionYears)
    const page = {
      partnerId,
      afterId: row.position,
      beforeId: firstIdOf(endedBefore),
      endedBefore,
      rowsMax: rowsPerPageMax,
    }
    const records = await eraseExpiredRecords(tx, place, page)
    const left = records.findIndex(({ isOver }) => !isOver)
    const over = left === -1 ? records : records.slice(0, left)
    const floor = row.hasLeft ? row.floor : (over.at(-1)?.id ?? row.floor)
    const hasLeft = row.hasLeft || left !== -1
    if (records.length < rowsPerPageMax) return { floor, position: floor, hasLeft: false, dueAt: after(now, passMs) }
    return {
      floor,
      position: present(records.at(-1), `no record in a whole page of ${place.table}`).id,
      hasLeft,
      dueAt: now,
    }
  }
}

/** Creates a row for each table of each partner, once per process. */
function createBegin({ db, places, partnerIds }: KeptRecordsDeps) {
  const begun = new Set<string>()
  let lookAt = new Date(0)
  return async (now: Date): Promise<void> => {
    if (now < lookAt) return
    lookAt = after(now, passMs)
    for (const partnerId of await partnerIds(db)) {
      if (begun.has(partnerId)) continue
      const has = new Set(await store.listRetentionTables(db, partnerId))
      const row = { floor: nilId, position: nilId, hasLeft: false, dueAt: now }
      for (const { table } of places) if (!has.has(table)) await store.insertRetention(db, partnerId, table, row)
      begun.add(partnerId)
    }
  }
}
