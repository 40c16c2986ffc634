/** A queue that PostgreSQL analysed while it was empty, and that is long now. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createWorkerHarness, createDeliveryFixture } from '../../../../test/support/worker-harness.ts'
import { createTestDatabase } from '../../../../test/support/postgres.ts'
import { until } from '../../../../test/support/until.ts'
import { createHooks, type Hooks } from '../../../../test/support/webhooks.ts'
import { createLog, randomBytes } from '../../kernel/index.ts'
import { createDatabase, type Database, sql } from '../../postgres/index.ts'
import type { Attempt } from './attempt.ts'
import type { SubscriptionKey } from '../management/store-subscriptions.ts'

const partners = 2
const futureRowsPerEndpointQueue = 50_000
/** The number of attempts that may be in flight to one endpoint. */
const events = 10
const readMax = 1_000

const key = randomBytes(32)
let url: string
let drop: () => Promise<void>
let watch: Database
before(async () => {
  ;({ url, drop } = await createTestDatabase())
  watch = createDatabase({ url, connectionsMax: 1, log: createLog('silent') })
})
after(async () => {
  await watch.close()
  await drop()
})

/** The rows and index entries of the queue that PostgreSQL read for `work`. A connection reports its counts when it ends. */
async function readOfQueue<T>(work: (hooks: Hooks) => Promise<T>, sharded = false): Promise<readonly [number, T]> {
  const readCount = async () => {
    const row = await watch.row<{ count: bigint }>(sql`
      select (t.seq_tup_read + (select sum(idx_tup_read) from pg_stat_user_indexes where relid = t.relid))::bigint as count
      from pg_stat_user_tables t where t.relid = 'delivery.queue'::regclass`)
    return Number(row?.count)
  }
  const before = await readCount()
  const hooks = await createHooks({ url, key, sharded })
  const result = await work(hooks)
  await hooks.close()
  await until('connections have ended', async () => {
    const row = await watch.row<{ count: bigint }>(sql`
      select count(*) as count from pg_stat_activity
      where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()`)
    return row?.count === 0n
  })
  return [(await readCount()) - before, result]
}

/** Inserts rows that are due in the distant future. */
const insertFutureRows = ({ db, clock }: Hooks, { partnerId, subscriptionId }: SubscriptionKey, count: number) =>
  db.run(sql`
    insert into delivery.queue (partner_id, subscription_id, event_id, sequence, wire_event_id, type, reference, status,
      due_at, attempt_count, failures, held_at, created_at)
    select ${partnerId}::uuid, ${subscriptionId}::uuid, md5(${subscriptionId}::text || n)::uuid, 1000000 + n,
      md5('wire' || n)::uuid, 'transaction.status.changed', 'R-' || n, 'Pending', ${new Date('2100-01-01')}::timestamptz,
      0, 0, null, ${clock.now()}::timestamptz
    from generate_series(1, ${count}::integer) as n`)

async function grow(hooks: Hooks): Promise<readonly SubscriptionKey[]> {
  const fixture = createDeliveryFixture(hooks)
  const keys: SubscriptionKey[] = []
  for (let i = 0; i < partners; i += 1) {
    const partnerId = await hooks.addPartner()
    keys.push(await fixture.subscribe(partnerId), await fixture.subscribe(partnerId))
  }
  for (const one of keys) await insertFutureRows(hooks, one, 100)
  await hooks.db.run(sql`delete from delivery.queue where sequence > 0`)
  await hooks.db.pool.query('analyze delivery.queue')
  for (const one of keys) await insertFutureRows(hooks, one, futureRowsPerEndpointQueue)
  for (const partnerId of new Set(keys.map((one) => one.partnerId))) {
    for (let i = 0; i < events; i += 1) await hooks.emit(partnerId, `E-${i}`)
    await hooks.fanOut(partnerId)
  }
  return keys
}

test('only the primary key of the queue begins with the partner, apart from partial indexes', async () => {
  const rows = await watch.rows<{ name: string }>(sql`
    select i.indexrelid::regclass::text as name from pg_index i
    join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
    where i.indrelid = 'delivery.queue'::regclass and i.indpred is null and a.attname = 'partner_id'`)
  assert.deepEqual(
    rows.map(({ name }) => name),
    ['delivery.queue_pkey'],
    'PostgreSQL may prefer another index to the primary key, and read all rows of an endpoint queue',
  )
})

for (const sharded of [false, true])
  test(`recording results reads the rows by their keys, ${sharded ? 'partner by partner' : 'partners together'}`, async () => {
    const [, keys] = await readOfQueue(grow)
    const [read, outcomes] = await readOfQueue(async (hooks) => {
      const harness = createWorkerHarness(hooks)
      const claims: Attempt[] = []
      for (const one of keys) claims.push(...(await harness.claim(one)))
      const recorded = claims.map((claim, n) => harness.record(claim, n % 4 === 0 ? { status: 500 } : {}))
      return Promise.all(recorded)
    }, sharded)
    const count = (outcome: string) => outcomes.filter((one) => one === outcome).length
    assert.deepEqual([count('delivered'), count('failed')], [30, 10])
    // Mostly for the prefetch. A join with the whole queue would read at least 200,000 rows.
    assert.ok(read < readMax, `${read} rows and index entries were read for ${outcomes.length} attempts`)
  })
