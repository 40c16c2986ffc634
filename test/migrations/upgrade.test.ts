/**
 * Upgrades data of the version before the baseline to the newest schema: the modules read the data, and payments and deliveries
 * in progress continue. `fixtures/0300.sql` holds the data, as record.ts of that version printed it.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { minuteMs } from '../../service/src/kernel/index.ts'
import { migrate, readMigrations, sql } from '../../service/src/postgres/index.ts'
import type { Attempt } from '../../service/src/webhooks/index.ts'
import { submitDuePayouts, processBankNotifications } from '../../service/src/banks/settlement/index.ts'
import { checkPayments, type Ends } from '../model/payments.ts'
import { createEmptyDatabase } from '../support/empty.ts'
import { balanceOf, createTestService } from '../support/composition.ts'
import { pluck } from '../support/pluck.ts'
import { reconcile } from '../support/reconcile.ts'
import { createVersionBefore, recorded } from './version-before.ts'

const [, now = '', partnerId = ''] = /^-- Now: (\S+)\. Partner: (\S+)\.$/m.exec(recorded) ?? []

/** Creates a database of the version before the baseline with its data, and applies the migrations of this version. */
async function upgrade() {
  const { url, drop } = await createEmptyDatabase()
  const service = await createTestService({ url, now: new Date(now) })
  const { pool } = service.db
  const close = async () => {
    await service.close()
    await drop()
  }
  try {
    await createVersionBefore(pool)
    await pool.query(recorded)
    const applied = await migrate(pool)
    return { service, partnerId, applied, upgradedAt: new Date(now), close }
  } catch (error) {
    await close()
    throw error
  }
}

describe('data of the version before the baseline', () => {
  let old: Awaited<ReturnType<typeof upgrade>>
  before(async () => {
    old = await upgrade()
  })
  after(() => old.close())
  const ends: Ends = new Map()

  test('all migrations are recorded or applied', async () => {
    const all = await readMigrations()
    assert.deepEqual(
      old.applied,
      all.map(({ name }) => name),
    )
  })

  test('the ledger balances, and every payment has a complete timeline', async () => {
    const payments = await checkPayments(old.service.db, old.partnerId, ends, old.upgradedAt)
    assert.equal(payments.length, 15)
  })

  test('the modules can read the old data, including sealed fields', async () => {
    const { service, partnerId } = old
    const { db, clock, access, accounts, customers, beneficiaries, users, webhooks } = service
    const [customer] = (await customers.list(partnerId, {})).data
    assert.deepEqual(customer?.kyc, { fullName: 'Ada Lovelace', citizenshipCountryCode: 'GB' })
    assert.equal((await beneficiaries.list(partnerId, {})).data.length, 2)
    const row = await db.row<{ apiKey: string }>(sql`select api_key from access.service_accounts`)
    const credential = await access.credential(row?.apiKey ?? '')
    assert.equal(credential?.apiSecret.length, 43)
    const { ibans } = await accounts.get(partnerId, customer.id)
    const again = await accounts.create(partnerId, customer.id)
    assert.deepEqual(again.ibans, ibans, 'existing customers keep their IBANs')
    assert.equal((await users.listInvitations(partnerId, {})).data[0]?.status, 'Pending')
    const [subscription] = (await webhooks.list(partnerId, {})).data
    assert.equal(subscription?.url, 'https://hooks.example.com/')
    const [owed] = await reconcile(db, partnerId)
    assert.ok(owed && owed.owed > 0n && owed.pending === owed.owed)
    const { data } = await webhooks.deliveries(partnerId, subscription?.id ?? '', {})
    assert.equal(BigInt(data.length), owed.owed)
    assert.equal(data.flatMap((delivery) => delivery.attempts).length, 1)
    // Old deliveries are delivered in order under their old event ids, and later events after them.
    const begun: Attempt[] = []
    const worker = webhooks.createQueueWorker(service.log, {
      ...{ begin: (claim) => begun.push(claim), wake: () => undefined, pause: async () => undefined, idleMs: 0 },
    })
    while ((await db.transaction((tx) => webhooks.fanOut(tx, [partnerId], 10))).events > 0);
    service.clock.advance(minuteMs)
    const ids = new Set(data.map((delivery) => delivery.eventId))
    while ((await worker.step()) > 0 || begun.length > 0)
      for (const claim of begun.splice(0)) {
        ids.delete(claim.eventId)
        await worker.recordResult(claim, { startedAt: clock.now(), durationMs: 1, status: 200 })
      }
    assert.deepEqual([...ids], [])
    const [delivered] = await reconcile(db, partnerId)
    assert.ok(delivered && delivered.owed > owed.owed && delivered.delivered === delivered.owed)
  })

  test('an idempotency key of the old version replays its payout', async () => {
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

  test('payments in progress are completed, and completed payments do not change', async () => {
    const { service, partnerId, upgradedAt } = old
    for (let step = 0; step < 6; step += 1) {
      service.clock.advance(minuteMs)
      await submitDuePayouts(service.settlement)
      await processBankNotifications(service.settlement)
    }
    const payments = await checkPayments(service.db, partnerId, ends, upgradedAt)
    const pending = payments.filter(({ status }) => status === 'Pending')
    assert.deepEqual(pluck(pending, 'reference'), ['INV 5'], 'the bank never reports the payout of 4001.07')
    const { reserved } = await balanceOf(service, partnerId)
    assert.equal(reserved, 400_107n)
  })
})
