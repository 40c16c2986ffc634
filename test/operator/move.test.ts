/** A partner is moved from one cell to another while a router answers its requests. */
import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { cp, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { createLog } from '../../service/src/kernel/index.ts'
import { createDatabase, type Database, sql } from '../../service/src/postgres/index.ts'
import { checkLedger } from '../model/ledger-audit.ts'
import { type Cell, useCells, useRouter } from '../support/cells.ts'
import {
  type Call,
  type Client,
  createClient,
  type Credentials,
  type JsonObject,
  listAt,
  success,
  textAt,
} from '../support/client.ts'
import { untilEnd, useFolder, useReceiver } from '../support/fixture.ts'
import { ibansFrom } from '../support/ibans.ts'
import { pluck } from '../support/pluck.ts'
import { assertRefusal } from '../support/program.ts'
import { until } from '../support/until.ts'
import { createBeneficiary, createCustomer, finalTransaction, listAll, payoutText, snapshot } from '../support/world.ts'

const folder = await useFolder()
const keyFile = join(folder, 'key')
await writeFile(keyFile, `${randomBytes(32).toString('base64')}\n`)
let receives = false
const receiver = await useReceiver(() => (receives ? 204 : 503))
// After its first failure a delivery waits long enough for the partner to be moved.
const cells = await useCells({ WEBHOOK_RETRY_DELAYS_MS: '20000,500,500,500', RATE_PER_SECOND: '1000000' })
const connect = (cell: Cell) =>
  untilEnd(createDatabase({ url: cell.databaseUrl, connectionsMax: 4, log: createLog('silent') }))
const databases = [connect(cells[0]), connect(cells[1])] as const
const router = await useRouter(cells)

async function operator(cell: Cell, ...words: readonly string[]): Promise<JsonObject> {
  const { code, stdout, stderr } = await cell.operator(words)
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' }, words.join(' '))
  return JSON.parse(stdout) as JsonObject
}
const refused = async (cell: Cell, words: readonly string[], line: RegExp) =>
  assertRefusal(await cell.operator(words), line)
const exportTo = (cell: Cell, { partnerId }: Credentials, file: string, ...more: readonly string[]) =>
  operator(cell, 'partner', 'export', '--partner', partnerId, '--to', file, '--key-file', keyFile, '--yes', ...more)
const importFrom = (cell: Cell, file: string, ...more: readonly string[]) =>
  operator(cell, 'partner', 'import', '--from', file, '--key-file', keyFile, ...more)

/** Counts the rows of a partner in every table with rows of partners. */
async function rowsOf(db: Database, partnerId: string): Promise<Readonly<Record<string, number>>> {
  const tables = await db.rows<{ name: string }>(sql`
    select table_schema || '.' || table_name as name from information_schema.columns join information_schema.tables
      using (table_schema, table_name)
    where column_name = 'partner_id' and table_type = 'BASE TABLE' and not exists (
      select from pg_class where oid = (table_schema || '.' || table_name)::regclass and relispartition)
    order by 1`)
  const count = async (name: string, column: string) => {
    const { rows } = await db.pool.query<{ count: string }>(`select count(*) from ${name} where ${column} = $1`, [
      partnerId,
    ])
    return [name, Number(rows[0]?.count)] as const
  }
  const counts = await Promise.all(tables.map(({ name }) => count(name, 'partner_id')))
  return Object.fromEntries([await count('access.partners', 'id'), ...counts])
}
const total = (rows: Readonly<Record<string, number>>) => Object.values(rows).reduce((sum, each) => sum + each, 0)

type Scene = { readonly client: Client; readonly beneficiary: string; readonly customer: string }

async function createScene(credentials: Credentials): Promise<Scene> {
  const client = createClient(router.url, credentials)
  const customer = textAt(await createCustomer(client), 'guid')
  success(await client.post(`/v1/customers/${customer}/account`))
  return { client, customer, beneficiary: textAt(await createBeneficiary(client, { customerId: customer }), 'id') }
}

/** Reads what the partner can see, without the fields that deliveries change. */
async function visible(client: Client): Promise<JsonObject> {
  const { webhooks, ...rest } = await snapshot(client)
  const subscriptions = (webhooks as readonly JsonObject[]).map(({ id, url, events }) => ({ id, url, events }))
  return { ...rest, subscriptions, events: listAt(success(await client.get('/v1/events?limit=100'))) } as JsonObject
}
const eventIds = () => receiver.deliveries.map(({ body }) => String((JSON.parse(body) as JsonObject).eventId)).sort()

type Work = Scene & {
  readonly payout: string
  readonly reference: string
  readonly call: Call
  readonly created: JsonObject
}

/**
 * Creates payouts with every outcome, one that the bank does not finish, both kinds of idempotency keys, and refused
 * deliveries.
 */
async function createWork(credentials: Credentials): Promise<Work> {
  const scene = await createScene(credentials)
  const { client, beneficiary } = scene
  success(await client.post('/v1/webhooks', { url: receiver.url, events: ['transaction.status.changed'] }))
  const pay = async (body: string) => textAt(success(await client.post('/v1/payouts/fiat', body)), 'reference')
  const payout = payoutText(beneficiary, '12.34')
  const reference = await pay(payout)
  await finalTransaction(client, reference)
  for (const amount of ['4001.01', '4001.02', '4001.05'])
    await finalTransaction(client, await pay(payoutText(beneficiary, amount)))
  // The bank accepts this payout and sends no bank notification.
  await pay(payoutText(beneficiary, '4001.07'))
  const call = {
    method: 'POST',
    target: '/v1/customers',
    body: { email: 'grace@example.com', partnerCustomerIdentifier: `\\N {} "' $1 \u2028 €` },
    headers: { 'Idempotency-Key': randomUUID() },
  }
  const created = success(await client.send(call))
  await until('every payout has its status', async () => {
    const statuses = (await listAll(client, '/v1/payouts')).map(({ status }) => status)
    return statuses.length === 5 && !statuses.some((status) => status === 'Pending' || status === 'Processing')
  })
  await until('the endpoint has refused the deliveries', () => eventIds().length >= 4)
  return { ...scene, payout, reference, call, created }
}

/** Checks that requests with the keys of requests before the move are not executed again. */
async function keysReplay({ client, payout, reference, call, created }: Work, nonce: string): Promise<void> {
  const replayed = await client.post('/v1/payouts/fiat', payout)
  assert.deepEqual([success(replayed).reference, replayed.headers['idempotent-replayed']], [reference, 'true'])
  const again = await client.send(call)
  assert.deepEqual([again.json, again.headers['idempotent-replayed']], [created, 'true'])
  assert.equal((await client.send({ method: 'GET', target: '/v1/accounts', nonce })).json.code, 'nonce_replayed')
}

const newAccount = async (client: Client) =>
  success(await client.post(`/v1/customers/${textAt(await createCustomer(client), 'guid')}/account`))

const answers = (client: Client, status: number) =>
  until(`the partner gets ${status}`, async () => (await client.get('/v1/accounts')).status === status)

/** Imports a pool of the partner and one that all partners of the cell share, and returns how the cell lists each. */
async function importPools(cell: Cell, partnerId: string) {
  const importing = async (pool: string, first: number, ...more: readonly string[]) => {
    const path = join(folder, pool)
    await writeFile(path, ibansFrom(first, 3, { country: 'LT', bankCode: '10000' }).join('\n'))
    await operator(cell, 'ibans', 'import', '--file', path, '--pool', pool, '--staff', 'Sam Staff', ...more)
  }
  await importing('own', 1, '--partner', partnerId)
  await importing('shared', 50)
  const listed = (await operator(cell, 'ibans', 'list')) as unknown as readonly JsonObject[]
  const named = (wanted: string) => listed.filter(({ name }) => name === wanted)
  return { own: named('own'), shared: named('shared') }
}

test('a moved partner continues in the other cell with the same API key', async () => {
  const credentials = await cells[0].createPartner('Mover')
  const { partnerId } = credentials
  const pools = await importPools(cells[0], partnerId)
  const work = await createWork(credentials)
  const { client, beneficiary, customer } = work
  const nonce = randomUUID()
  success(await client.send({ method: 'GET', target: '/v1/accounts', nonce }))
  const [seen, accounts, refusedIds] = [await visible(client), await checkLedger(databases[0], partnerId), eventIds()]

  const file = join(folder, 'mover')
  const exported = await exportTo(cells[0], credentials, file, '--remove')
  assert.deepEqual([exported.partnerId, exported.name, exported.removed], [partnerId, 'Mover', true])
  assert.equal((await stat(file)).mode & 0o777, 0o600)
  const left = await rowsOf(databases[0], partnerId)
  assert.equal(total(left), 0)
  assert.deepEqual(Object.keys(exported.rows as JsonObject).sort(), Object.keys(left).sort())
  await answers(client, 401)

  const imported = await importFrom(cells[1], file)
  assert.deepEqual([imported.from, imported.cell, imported.rows], ['one', 'two', exported.rows])
  await answers(client, 200)
  assert.deepEqual(await visible(client), seen)
  assert.deepEqual(await checkLedger(databases[1], partnerId), accounts)
  const { kyc } = success(await client.get(`/v1/customers/${customer}`))
  assert.equal((kyc as JsonObject).fullName, 'Ada Lovelace')
  // Every sealed value is under the key of this cell.
  const keys = (await operator(cells[1], 'key', 'list')) as unknown as readonly JsonObject[]
  assert.deepEqual(pluck(keys, 'use'), ['seals'])
  await keysReplay(work, nonce)

  const before = receiver.deliveries.length
  receives = true
  await until('the deliveries arrive', () => receiver.deliveries.length >= before + refusedIds.length)
  await until('the queue is empty', async () => (await rowsOf(databases[1], partnerId))['delivery.queue'] === 0)
  // Each arrives under its event id, and no other does.
  assert.deepEqual([...new Set(eventIds())], [...new Set(refusedIds)])
  const next = success(await client.post('/v1/payouts/fiat', payoutText(beneficiary, '1.00')))
  assert.equal((await finalTransaction(client, textAt(next, 'reference'))).status, 'Completed')
  await newAccount(client)
  await checkLedger(databases[1], partnerId)
  assert.deepEqual(await operator(cells[1], 'ibans', 'list'), pools.own)
  assert.deepEqual(await operator(cells[0], 'ibans', 'list'), pools.shared)

  // After the move back, its IBAN blocks are those of the first cell again.
  const back = join(folder, 'back')
  await exportTo(cells[1], credentials, back, '--remove')
  await importFrom(cells[0], back)
  await answers(client, 200)
  assert.equal(total(await rowsOf(databases[1], partnerId)), 0)
  await newAccount(client)
})

test('a payout that was sent to the bank without an answer is not sent again, and ends exactly once', async () => {
  const credentials = await cells[0].createPartner('Broken off')
  const { partnerId } = credentials
  const { client, beneficiary } = await createScene(credentials)
  const [bank, row] = await Promise.all([databases[0].pool.connect(), databases[0].pool.connect()])
  // The bank answers only after the payout is locked. The worker then waits for the lock, and is killed.
  await bank.query('begin; lock table rails.sandbox_instructions in exclusive mode')
  const reference = textAt(success(await client.post('/v1/payouts/fiat', payoutText(beneficiary, '7.00'))), 'reference')
  const statusIn = async (db: Database) => {
    const { rows } = await db.pool.query<{ status: string }>(
      'select status from payouts.payouts where reference = $1',
      [reference],
    )
    return rows[0]?.status
  }
  await until('the attempt is recorded', async () => (await statusIn(databases[0])) === 'Processing')
  await row.query('begin')
  await row.query('select from payouts.payouts where reference = $1 for update', [reference])
  await bank.query('commit')
  await until('the bank has the instruction', async () => {
    const { rows } = await bank.query('select from rails.sandbox_instructions where partner_id = $1', [partnerId])
    return rows.length === 1
  })
  await cells[0].kill()
  await row.query('rollback')
  bank.release()
  row.release()
  assert.equal(await statusIn(databases[0]), 'Processing')
  const file = join(folder, 'broken-off')
  await exportTo(cells[0], credentials, file, '--remove')
  await cells[0].start()
  await importFrom(cells[1], file)
  await until('the router finds the cell', async () => (await client.get('/v1/accounts')).status === 200)
  assert.equal((await finalTransaction(client, reference)).status, 'Completed')
  const instructions = await databases[1].rows(sql`
    select times_received from rails.sandbox_instructions where partner_id = ${partnerId}`)
  assert.deepEqual(instructions, [{ timesReceived: 1 }])
  const ends = await databases[1].rows(sql`
    select from ledger.transfers where partner_id = ${partnerId} and kind in ('post', 'release')`)
  assert.equal(ends.length, 1)
  await checkLedger(databases[1], partnerId)
})

test('a copy leaves the partner unchanged, and a damaged or foreign file is refused and imports nothing', async () => {
  const credentials = await cells[0].createPartner('Copied')
  const { partnerId } = credentials
  const { client } = await createScene(credentials)
  const [seen, rows] = [await visible(client), await rowsOf(databases[0], partnerId)]
  const file = join(folder, 'copy')
  const exported = await exportTo(cells[0], credentials, file)
  assert.equal(exported.removed, false)
  // Counts that change by themselves: nonces expire, and the audit log and the stored requests grow.
  const unmoved = (counts: Readonly<Record<string, number>>) =>
    Object.entries(counts).filter(([name]) => name !== 'access.nonces' && !/^(audit|requests)\./.test(name))
  const left = await rowsOf(databases[0], partnerId)
  assert.deepEqual(unmoved(left), unmoved(rows))
  for (const [name, count] of Object.entries(rows))
    if (name.startsWith('audit.')) assert.ok((left[name] ?? 0) >= count, `${name} has lost rows`)
  assert.deepEqual(await visible(client), seen)

  const importing = (path: string, key = keyFile) => ['partner', 'import', '--from', path, '--key-file', key, '--copy']
  await refused(cells[1], importing(file).slice(0, -1), /is a copy: the partner is still in its cell/)
  await refused(cells[0], importing(file), /is in this cell already/)
  const text = await readFile(file)
  const variant = async (name: string, bytes: Buffer) => {
    const path = join(folder, name)
    await writeFile(path, bytes)
    return path
  }
  const end = text.lastIndexOf('\n', text.length - 2) + 1
  const changed = Buffer.from(text)
  changed[text.indexOf('Copied')] = 0x43 + 1
  const cases = [
    ['half', text.subarray(0, Math.floor(end / 2)), /is incomplete: export the partner again/],
    ['no-trailer', text.subarray(0, end), /is incomplete: export the partner again/],
    ['no-end', text.subarray(0, -1), /is incomplete: export the partner again/],
    ['longer', Buffer.concat([text, text.subarray(end)]), /was changed: it continues after its end/],
    ['changed', changed, /was changed after the export/],
    ['unreadable', Buffer.concat([text.subarray(0, end), Buffer.from('x\n')]), /was changed: it has a line/],
    ['empty', Buffer.alloc(0), /is incomplete/],
    ['other', Buffer.from('{"a":1}\n'), /is not the file of a partner/],
  ] as const
  for (const [name, bytes, line] of cases) await refused(cells[1], importing(await variant(name, bytes)), line)
  await refused(cells[1], importing(join(folder, 'nowhere')), /cannot be read: ENOENT/)
  const otherKey = join(folder, 'other-key')
  await writeFile(otherKey, randomBytes(32).toString('base64'))
  await refused(cells[1], importing(file, otherKey), /was written under another key/)
  await writeFile(otherKey, 'short')
  await refused(cells[1], importing(file, otherKey), /must hold 32 bytes in Base64/)
  await databases[1].pool.query(
    `insert into public.schema_migrations values (9999, '9999-later.sql', 'x', '2026-01-01')`,
  )
  await refused(cells[1], importing(file), /is of migration \d+, this database of 9999/)
  await databases[1].pool.query('delete from public.schema_migrations where number = 9999')
  assert.equal(total(await rowsOf(databases[1], partnerId)), 0)

  const imported = await importFrom(cells[1], file, '--copy')
  assert.deepEqual(imported.rows, exported.rows)
  assert.deepEqual((await visible(createClient(cells[1].url, credentials))).customers, seen.customers)
})

test('an export that cannot write its file leaves the partner in its cell with working credentials', async () => {
  const credentials = await cells[0].createPartner('Stays')
  const { client } = await createScene(credentials)
  const { partnerId } = credentials
  const words = (file: string) =>
    ['partner', 'export', '--partner', partnerId, '--to', file, '--key-file', keyFile, '--remove', '--yes'] as const
  await refused(cells[0], words(join(folder, 'missing', 'x')), /cannot be written: ENOENT/)
  await until('the partner is answered', async () => (await client.get('/v1/accounts')).status === 200)
  await cp(keyFile, join(folder, 'taken'))
  await refused(cells[0], words(join(folder, 'taken')), /--to .*taken exists/)
  await refused(cells[1], words(join(folder, 'unknown')), /No such partner/)
  success(await client.get('/v1/accounts'))
})
