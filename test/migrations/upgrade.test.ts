/**
 * Upgrades data of released versions to the newest schema: no row is lost, the modules read the data, and payments and
 * deliveries in progress continue. `fixtures/<migration>.sql` holds data of the version of that migration (record.ts).
 */
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import { createLog, hourMs, minuteMs, newId } from '../../service/src/kernel/index.ts'
import { migrate, readMigrations, sql } from '../../service/src/postgres/index.ts'
import { createAccounts } from '../../service/src/accounts/index.ts'
import { defaultIssuers } from '../../service/src/accounts/settings.ts'
import { createUsers, renderInvitation } from '../../service/src/people/users/index.ts'
import {
  type Attempt,
  createDeliveryEngine,
  createEndpointAlerts,
  renderEndpointAlert,
} from '../../service/src/webhooks/index.ts'
import { createMailQueue, smtpTransport, utc } from '../../service/src/mail/index.ts'
import { createMailStep } from '../../service/src/mail/worker.ts'
import { submitDuePayouts, processBankNotifications } from '../../service/src/banks/settlement/index.ts'
import { checkPayments, type Ends } from '../model/payments.ts'
import { createEmptyDatabase } from '../support/empty.ts'
import { mailServer, readMail } from '../support/mail-server.ts'
import { balanceOf, createTestService, type Service } from '../support/composition.ts'
import { reconcile } from '../support/reconcile.ts'

const issuing = {
  ...{ log: createLog('silent'), issuers: defaultIssuers, poolCountries: [] },
  poolLevels: { freeMin: 0, daysMin: 0 },
}

const folder = new URL('fixtures/', import.meta.url)
const fixtures = readdirSync(folder).toSorted()

test('the fixture of the first version exists', () => assert.ok(fixtures.includes('0011.sql')))

/** Tables whose rows a later migration moved, by the old name. */
const movedTo: Readonly<Record<string, readonly string[]>> = {
  'webhooks.deliveries': ['delivery.queue', 'delivery.deliveries'],
  // A delivery now reads its payload from the event.
  'webhooks.messages': ['delivery.queue'],
  'users.mails': ['mail.messages'],
}

type Migrations = Awaited<ReturnType<typeof readMigrations>>

/** The names of a table after later migrations. A table that is renamed to `*_old` is replaced by a new one. */
function tablesNow(table: string, later: Migrations): readonly string[] {
  const moved = movedTo[table]
  if (moved) return moved
  const steps = later.flatMap(({ text }) => [
    ...text.matchAll(/^alter (?:schema|table) (?<from>[\w.]+) rename to (?!\w*_old\b)(?<to>\w+)/gm),
  ])
  const now = steps.reduce((name, { groups: { from = '', to = '' } = {} }) => {
    const [schema = ''] = name.split('.')
    if (name === from) return `${schema}.${to}`
    return schema === from ? name.replace(schema, to) : name
  }, table)
  return [now]
}

/** Tables whose rows are now elements of an array in another table. */
const foldedInto: Readonly<Record<string, string>> = {
  'transactions.timeline': 'select sum(jsonb_array_length(timeline)) as count from transactions.transactions',
}

/** The rows that a migration keeps. Acknowledged bank notifications are deleted. */
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

/** Loads the fixture into the schema of its version and applies the later migrations. */
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
    return { service, partnerId, before, applied, upTo, upgradedAt: new Date(now), close }
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

    test('all later migrations are applied, and no row is lost', async () => {
      const later = (await readMigrations()).filter(({ number }) => number > old.upTo)
      assert.deepEqual(
        old.applied,
        later.map(({ name }) => name),
      )
      const now = await countRows(old.service)
      for (const [table, count] of Object.entries(old.before)) {
        const folded = foldedInto[table]
        const sum = folded && (await old.service.db.pool.query<{ count: string }>(folded)).rows[0]?.count
        const kept = sum ? BigInt(sum) : tablesNow(table, later).reduce((sum, name) => sum + (now[name] ?? 0n), 0n)
        assert.equal(kept, count, table)
      }
    })

    test('the ledger balances, and every payment has a complete timeline', async () => {
      const payments = await checkPayments(old.service.db, old.partnerId, ends, old.upgradedAt)
      assert.equal(payments.length, 15)
    })

    test('the modules read the old data, sealed fields included', async () => {
      const { service, partnerId } = old
      const { db, clock, sealer, cursors, eventOutbox, access, customers, beneficiaries, ledger, transactions } =
        service
      const [customer] = (await customers.list(partnerId, {})).data
      assert.deepEqual(customer?.kyc, { fullName: 'Ada Lovelace', citizenshipCountryCode: 'GB' })
      assert.equal((await beneficiaries.list(partnerId, {})).data.length, 2)
      const row = await db.row<{ apiKey: string }>(sql`select api_key from access.service_accounts`)
      const credential = await access.credential(row?.apiKey ?? '')
      assert.equal(credential?.apiSecret.length, 43)
      const accounts = createAccounts({ db, clock, cursors, customers, ledger, transactions, ...issuing })
      const { ibans } = await accounts.get(partnerId, customer.id)
      assert.deepEqual(
        (await accounts.create(partnerId, customer.id)).ibans,
        ibans,
        'existing customers keep their IBANs',
      )
      const mail = createMailQueue({ clock, sealer })
      const users = createUsers({ db, clock, access, mail, cursors, sandbox: true })
      assert.equal((await users.listInvitations(partnerId, {})).data[0]?.status, 'Pending')
      const webhooks = createDeliveryEngine({
        db,
        clock,
        sealer,
        cursors,
        eventOutbox,
        urlRules: { allowHttpLoopback: true },
        alerts: createEndpointAlerts({ mail, log: service.log, membersWithRoles: users.membersWithRoles }),
      })
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
      assert.deepEqual(
        pending.map(({ reference }) => reference),
        ['INV 5'],
        'the bank never reports the payout of 4001.07',
      )
      const { reserved } = await balanceOf(service, partnerId)
      assert.equal(reserved, 400_107n)
    })
  })

test('migration 0020 marks the queued deliveries of ordered subscriptions', async () => {
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
    await pool.query('update webhooks.subscriptions set ordered = true')
    // The same rows for another subscription, which is not ordered.
    await pool.query(`insert into webhooks.queue select partner_id, gen_random_uuid(), event_id, sequence, wire_event_id, type,
      reference, status, due_at, attempt_count, failures, held_at, created_at from webhooks.queue`)
    await migrate(pool)
    const all = (await queued('true')) ?? 0
    assert.ok(all > 0)
    assert.deepEqual([await queued('ordered'), await queued('not ordered')], [all / 2, all / 2])
    const { rows } = await pool.query('select order_pending from delivery.subscriptions')
    assert.deepEqual(rows, [{ order_pending: null }])
  } finally {
    await service.close()
    await drop()
  }
})

/** Invitations, mails and alerts as the version of migration 0021 wrote them. */
async function queueOldMails({ db, clock }: Service, partnerId: string): Promise<void> {
  const now = clock.now()
  const invite = (name: string, role: string, status: string) =>
    db.run(sql`
      insert into users.invitations (partner_id, id, email, email_key, full_name, role, status, invited_by_id,
        invited_by_name, token_hash, expiry_days, expires_at, resends, created_at, updated_at)
      values (${partnerId}, ${newId()}, ${`${name}@example.com`}, ${`${name.toLowerCase()}@example.com`},
        ${`${name} Example`}, ${role}, ${status}, ${newId()}, 'Test account', ${randomBytes(32)}, 7,
        ${new Date(now.getTime() + hourMs)}, 0, ${now}, ${now})`)
  await invite('Ada', 'Admin', 'Pending')
  await invite('dan', 'Developer', 'Expired')
  await invite('eve', 'Admin', 'Pending')
  await invite('oto', 'Operator', 'Pending')
  await invite('rea', 'Admin', 'Revoked')
  // The newest invitation of an address decides.
  await invite('fay', 'Admin', 'Expired')
  await invite('fay', 'Operator', 'Pending')
  const alert = (kind: string, dueAt: Date | null, attempts: number, done: readonly string[]) =>
    db.run(sql`
      insert into delivery.notices (partner_id, id, subscription_id, kind, url, failing_since, last_error, created_at,
        mail_due_at, mail_attempts, mail_done)
      values (${partnerId}, ${newId()}, ${newId()}, ${kind}, 'https://hooks.example.com/', ${now}, 'HTTP 500', ${now},
        ${dueAt}, ${attempts}, ${done}::text[])`)
  await alert('Failing24h', now, 0, [])
  await alert('Failing72h', new Date(now.getTime() + hourMs), 1, ['ada@example.com'])
  await alert('DisabledGone', null, 1, ['ada@example.com', 'dan@example.com', 'eve@example.com'])
  // An invitation mail that was sent.
  await db.run(sql`
    insert into users.mails (partner_id, id, invitation_id, kind, to_address, to_name, role, invited_by_name, expires_at,
      status, attempts, next_attempt_at, created_at, ended_at)
    select partner_id, ${newId()}, id, 'invitation', email, full_name, role, 'Test account', expires_at, 'sent', 1, ${now},
      ${now}, ${now} from users.invitations where partner_id = ${partnerId} and email = 'Ada@example.com'`)
}

test('mails and alerts that were queued before migration 0022 are sent after it', async () => {
  const { url, drop } = await createEmptyDatabase()
  const text = readFileSync(new URL('0011.sql', folder), 'utf8')
  const [, now = '', partnerId = ''] = /^-- Now: (\S+)\. Partner: (\S+)\.$/m.exec(text) ?? []
  const service = await createTestService({ url, now: new Date(now) })
  const server = await mailServer()
  const { db, clock, sealer, log, access } = service
  try {
    await migrate(db.pool, { upTo: 11 })
    await db.pool.query(text)
    await migrate(db.pool, { upTo: 21 })
    await queueOldMails(service, partnerId)
    await migrate(db.pool)
    const step = createMailStep({
      db,
      clock,
      log,
      queue: createMailQueue({ clock, sealer }),
      partnerName: access.partnerName,
      templates: { invitation: renderInvitation, endpoint_alert: renderEndpointAlert },
      transport: smtpTransport(server.url),
      from: { name: '', address: 'no-reply@acme.example' },
    })
    const sent = async () => {
      const from = server.received.length
      while ((await step()) > 0);
      return server.received
        .slice(from)
        .map(({ to, source }) => `${to.join()}: ${readMail(source).one('Subject')}`)
        .toSorted()
    }
    assert.deepEqual(await sent(), [
      'Ada@example.com: Webhooks to hooks.example.com have failed for 24 hours',
      'dan@example.com: Webhooks to hooks.example.com have failed for 24 hours',
      'eve@example.com: Webhooks to hooks.example.com have failed for 24 hours',
      'joan@example.com: Test account invites you to Test Partner',
    ])
    clock.advance(hourMs)
    assert.deepEqual(await sent(), [
      'dan@example.com: Webhooks to hooks.example.com have failed for 72 hours',
      'eve@example.com: Webhooks to hooks.example.com have failed for 72 hours',
    ])
    const mails = server.received.map(({ source }) => readMail(source))
    assert.equal(new Set(mails.map(({ one }) => one('Message-ID'))).size, 6)
    const alert = mails.find(({ one }) => one('Subject').endsWith('24 hours'))
    for (const said of [`No delivery has succeeded since: ${utc(new Date(now))}`, 'Last error: HTTP 500'])
      assert.ok(alert?.text.includes(said), said)
    const invitation = mails.find(({ one }) => one('Subject').includes('invites'))
    const token = /^[A-Za-z0-9_-]{64}$/m.exec(invitation?.text ?? '')?.[0] ?? ''
    const hash = createHash('sha256').update(token).digest()
    const row = await db.row<{ email: string }>(sql`select email from users.invitations where token_hash = ${hash}`)
    assert.equal(row?.email, 'joan@example.com', 'the token of the mail is the token of the invitation')
  } finally {
    await service.close()
    await server.stop()
    await drop()
  }
})
