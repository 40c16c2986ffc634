import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createManualClock } from '../../../test/support/clock.ts'
import { createTestDatabase, type TestDatabase } from '../../../test/support/postgres.ts'
import { until } from '../../../test/support/until.ts'
import { createLog, createSealer, minuteMs, randomBytes } from '../kernel/index.ts'
import { createDatabase, type Database, sql } from '../postgres/index.ts'
import { createAccess } from './index.ts'

const clock = createManualClock(new Date('2026-03-01T12:00:00.000Z'))
const sealer = createSealer([randomBytes(32)])
let database: TestDatabase
let db: Database

before(async () => {
  database = await createTestDatabase()
  db = createDatabase({ url: database.url, connectionsMax: 4, log: createLog('silent') })
})
after(async () => {
  await db?.close()
  await database?.drop()
})

type Written = { readonly lastUsedAt: Date | null; readonly version: string }

test('a use is written once a minute, also by several processes', async () => {
  const [one, other] = [createAccess({ db, clock, sealer }), createAccess({ db, clock, sealer })]
  const { partnerId, apiKey } = await db.transaction(async (tx) => {
    const id = await one.createPartner(tx, 'Partner')
    return one.createServiceAccount(tx, { partnerId: id, name: 'Account', permissions: ['accounts:read'] })
  })
  const caller = (await one.credential(apiKey))?.caller
  assert(caller)
  const written = async (): Promise<Written> => {
    const row = await db.row<Written>(sql`
      select last_used_at, xmin::text as version from access.service_accounts where partner_id = ${partnerId}`)
    assert(row)
    return row
  }
  const { version: before } = await written()
  assert.equal((await written()).lastUsedAt, null)

  const start = clock.now()
  one.recordUse(caller)
  await until('the first use is written', async () => (await written()).lastUsedAt !== null)
  const first = await written()
  assert.deepEqual(first.lastUsedAt, start)
  assert.notEqual(first.version, before)

  clock.advance(minuteMs - 1)
  for (let use = 0; use < 100; use += 1) for (const access of [one, other]) access.recordUse(caller)
  // Batches run in order: when the use of another account is written, the uses before it are done.
  const marker = await db.transaction((tx) =>
    one.createServiceAccount(tx, { partnerId, name: 'Marker', permissions: ['accounts:read'] }),
  )
  const markerCaller = (await one.credential(marker.apiKey))?.caller
  assert(markerCaller)
  const isMarked = () =>
    db.row(sql`
    select 1 from access.service_accounts
    where partner_id = ${partnerId} and id = ${marker.serviceAccountId} and last_used_at is not null`)
  other.recordUse(markerCaller)
  await until('the marker is written', async () => (await isMarked()) !== undefined)
  const accountRow = () =>
    db.row<Written>(sql`
    select last_used_at, xmin::text as version from access.service_accounts
    where partner_id = ${partnerId} and id = ${caller.serviceAccountId}`)
  assert.deepEqual(await accountRow(), first)

  clock.advance(1)
  one.recordUse(caller)
  await until(
    'the next minute is written',
    async () => (await accountRow())?.lastUsedAt?.getTime() === clock.now().getTime(),
  )
})
