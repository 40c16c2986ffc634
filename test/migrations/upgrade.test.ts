/**
 * Data of every released version, brought to the newest schema: nothing is lost, the modules read it, and what was under
 * way goes on. `fixtures/<migration>.sql` holds what the version of that migration wrote (record.ts).
 */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import { minuteMs } from '../../service/src/kernel/index.ts'
import { migrate, readMigrations, sql } from '../../service/src/postgres/index.ts'
import { createAccounts, defaultIssuers } from '../../service/src/modules/accounts/index.ts'
import { createUsers } from '../../service/src/modules/users/index.ts'
import { type Attempt, createDeliveryEngine } from '../../service/src/delivery/index.ts'
import { sendDue, takeNotices } from '../../service/src/settlement/index.ts'
import { checkPayments, type Ends } from '../model/payments.ts'
import { createEmptyDatabase } from '../support/empty.ts'
import { balanceOf, createTestService, type Service } from '../support/composition.ts'
import { reconcile } from '../support/reconcile.ts'

const folder = new URL('fixtures/', import.meta.url)
const fixtures = readdirSync(folder).toSorted()

test('there is a fixture of the first version', () => assert.ok(fixtures.includes('0011.sql')))

/** Where the rows of a table are now that went elsewhere. */
const movedTo: Readonly<Record<string, readonly string[]>> = {
  'delivery.deliveries': ['delivery.queue', 'delivery.deliveries'],
  // The payload of a delivery is its event's.
  'webhooks.messages': ['delivery.queue'],
}

/** Where the rows of a table are now an array of another. */
const foldedInto: Readonly<Record<string, string>> = {
  'transactions.timeline': 'select sum(jsonb_array_length(timeline)) as count from transactions.transactions',
}

/** Which rows of a table are kept, where the rest was done with: what the bank was told that it need not tell again. */
const keptOnly: Readonly<Record<string, string>> = { 'rails.sandbox_notices': 'acknowledged_at is null' }

type Counts = Readonly<Record<string, bigint>>

async function countRows({ db }: Service, only: Readonly<Record<string, string>> = {}): Promise<Counts> {
  const tables = await db.rows<{ name: string }>(sql`
    select relnamespace::regnamespace || '.' || relname as name from pg_class
    where relkind in ('r', 'p') and not relispartition
      and relnamespace::regnamespace::text not in ('pg_catalog', 'information_schema', 'public', 'pg_toast')
    order by 1`)
  const counts: Record<string, bigint> = {}
  for (const { name } of tables) {
    const { rows } = await db.pool.query<{ count: string }>(
      `select count(*) from ${name} where ${only[name] ?? 'true'}`,
    )
    counts[name] = BigInt(rows[0]?.count ?? 0)
  }
  return counts
}

/** Loads the fixture into the schema of its time, then brings that to today's. */
async function upgrade(fixture: string) {
  const { url, drop } = await createEmptyDatabase()
  const text = readFileSync(new URL(fixture, folder), 'utf8')
  const [, now = '', partnerId = ''] = /^-- Now: (\S+)\. Partner: (\S+)\.$/m.exec(text) ?? []
  const service = await createTestService({ url, now: new Date(now) })
  const { pool } = service.db
  const upTo = Number(fixture.slice(0, 4))
  const close = async () => {
    await service.close()
    await drop()
  }
  try {
    await migrate(pool, { upTo })
    await pool.query(text)
    const before = await countRows(service, upTo < 17 ? keptOnly : {})
    const applied = await migrate(pool)
    return { service, partnerId, before, applied, upTo, close }
  } catch (error) {
    await close()
    throw error
  }
}

for (const fixture of fixtures)
  describe(`data of ${fixture}`, () => {
    let old: Awaited<ReturnType<typeof upgrade>>
    before(async () => {
      old = await upgrade(fixture)
    })
    after(() => old.close())
    const ends: Ends = new Map()

    test('every later migration is applied, and no row is lost', async () => {
      const later = (await readMigrations()).filter(({ number }) => number > old.upTo)
      assert.deepEqual(
        old.applied,
        later.map(({ name }) => name),
      )
      const now = await countRows(old.service)
      for (const [table, count] of Object.entries(old.before)) {
        const folded = foldedInto[table]
        const sum = folded && (await old.service.db.pool.query<{ count: string }>(folded)).rows[0]?.count
        const kept = sum ? BigInt(sum) : (movedTo[table] ?? [table]).reduce((sum, name) => sum + (now[name] ?? 0n), 0n)
        assert.equal(kept, count, table)
      }
    })

    test('the books balance, and every payment tells its story', async () => {
      const payments = await checkPayments(old.service.db, old.partnerId, ends)
      assert.equal(payments.length, 15)
    })

    test('the modules read what was sealed and kept', async () => {
      const { service, partnerId } = old
      const { db, clock, sealer, cursors, eventOutbox, access, customers, beneficiaries, ledger } = service
      const [customer] = (await customers.list(partnerId, {})).data
      assert.deepEqual(customer?.kyc, { fullName: 'Ada Lovelace', citizenshipCountryCode: 'GB' })
      assert.equal((await beneficiaries.list(partnerId, {})).data.length, 2)
      const row = await db.row<{ apiKey: string }>(sql`select api_key from access.service_accounts`)
      const credential = await access.credential(row?.apiKey ?? '')
      assert.equal(credential?.apiSecret.length, 43)
      const accounts = createAccounts({ db, clock, customers, ledger, issuers: defaultIssuers })
      const { ibans } = await accounts.get(partnerId, customer.id)
      assert.deepEqual((await accounts.create(partnerId, customer.id)).ibans, ibans, 'no new numbers for old customers')
      const users = createUsers({ db, clock, sealer, cursors, sandbox: true })
      assert.equal((await users.listInvitations(partnerId, {})).data[0]?.status, 'Pending')
      const webhooks = createDeliveryEngine({
        db,
        clock,
        sealer,
        cursors,
        eventOutbox,
        urlRules: { allowHttpLoopback: true },
      })
      const [subscription] = (await webhooks.list(partnerId, {})).data
      assert.equal(subscription?.url, 'https://hooks.example.com/')
      const [owed] = await reconcile(db, partnerId)
      assert.ok(owed && owed.owed > 0n && owed.pending === owed.owed)
      const { data } = await webhooks.deliveries(partnerId, subscription?.id ?? '', {})
      assert.equal(BigInt(data.length), owed.owed)
      assert.equal(data.flatMap((delivery) => delivery.attempts).length, 1)
      // What was owed is delivered, in its order, under the ids of then, and the rest of the events after it.
      const begun: Attempt[] = []
      const holder = webhooks.createQueueWorker(service.log, {
        ...{ begin: (claim) => begun.push(claim), wake: () => undefined, pause: async () => undefined, idleMs: 0 },
      })
      while ((await db.transaction((tx) => webhooks.fanOut(tx, [partnerId], 10))).events > 0);
      service.clock.advance(minuteMs)
      const ids = new Set(data.map((delivery) => delivery.eventId))
      while ((await holder.step()) > 0 || begun.length > 0)
        for (const claim of begun.splice(0)) {
          ids.delete(claim.eventId)
          await holder.recordResult(claim, { startedAt: clock.now(), durationMs: 1, status: 200 })
        }
      assert.deepEqual([...ids], [])
      const [delivered] = await reconcile(db, partnerId)
      assert.ok(delivered && delivered.owed > owed.owed && delivered.delivered === delivered.owed)
    })

    test('a key that was used then is used now', async () => {
      const { service, partnerId } = old
      const { data } = await service.payouts.list(partnerId, { limit: '100' })
      const earlier = data.find(({ idempotencyKey }) => idempotencyKey === 'payout 0')
      assert.ok(earlier?.beneficiaryId)
      const { beneficiaryId, currency } = earlier
      const caller = { partnerId, serviceAccountId: earlier.id, name: 'Test', permissions: [] }
      const body = { amount: 10, currency, beneficiaryId, idempotencyKey: 'payout 0', reference: 'INV 0' }
      const { payout, replayed } = await service.payouts.create(caller, body, '203.0.113.7')
      assert.deepEqual([payout.id, replayed], [earlier.id, true])
    })

    test('what was under way goes on to its end, and what had ended stays', async () => {
      const { service, partnerId } = old
      for (let step = 0; step < 6; step += 1) {
        service.clock.advance(minuteMs)
        await sendDue(service.settlement)
        await takeNotices(service.settlement)
      }
      const payments = await checkPayments(service.db, partnerId, ends)
      const pending = payments.filter(({ status }) => status === 'Pending')
      assert.deepEqual(
        pending.map(({ reference }) => reference),
        ['INV 5'],
        'the bank is silent about the one of 4001.07',
      )
      const { reserved } = await balanceOf(service, partnerId)
      assert.equal(reserved, 400_107n)
    })
  })

test('what an ordered subscription is owed is marked so from the version on that reads it by its reference', async () => {
  const { url, drop } = await createEmptyDatabase()
  const service = await createTestService({ url })
  const { pool } = service.db
  const queued = async (where: string) =>
    (await pool.query<{ count: number }>(`select count(*)::integer as count from delivery.queue where ${where}`))
      .rows[0]?.count
  try {
    await migrate(pool, { upTo: 11 })
    await pool.query(readFileSync(new URL('0011.sql', folder), 'utf8'))
    await migrate(pool, { upTo: 19 })
    await pool.query('update delivery.subscriptions set ordered = true')
    // Of another one, which is not.
    await pool.query(`insert into delivery.queue select partner_id, gen_random_uuid(), event_id, sequence, wire_event_id, type,
      reference, status, due_at, attempt_count, failures, held_at, created_at from delivery.queue`)
    const all = (await queued('true')) ?? 0
    await migrate(pool)
    assert.ok(all > 0)
    assert.deepEqual([await queued('ordered'), await queued('not ordered')], [all / 2, all / 2])
    const { rows } = await pool.query('select order_pending from delivery.subscriptions')
    assert.deepEqual(rows, [{ order_pending: null }])
  } finally {
    await service.close()
    await drop()
  }
})
