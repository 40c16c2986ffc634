/** The request log on a real database: limits, sums, retention and the plans of its reads. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { createManualClock } from '../../../test/support/clock.ts'
import { createTestDatabase } from '../../../test/support/postgres.ts'
import { untilEnd } from '../../../test/support/fixture.ts'
import { createAccess } from '../access/index.ts'
import { createCursors } from '../kernel/api/index.ts'
import { createLog, createSealer, dayMs, minuteMs, newId, randomBytes } from '../kernel/index.ts'
import { createDatabase, type Database, sql } from '../postgres/index.ts'
import { createRequestRecorder, createRequests } from './index.ts'
import { refusedPerKeyMax, rowsInMemoryMax } from './recorder.ts'
import { rowsPerPageMax } from './service.ts'

const clock = createManualClock(new Date())
const log = createLog('silent')

const database = await createTestDatabase()
const db = untilEnd(createDatabase({ url: database.url, connectionsMax: 4, log }))
after(() => database?.drop())

async function start() {
  const access = createAccess({ db, clock, sealer: createSealer([randomBytes(32)]) })
  const drops: string[] = []
  const dropped = (reason: string, count: number) => void drops.push(...Array.from({ length: count }, () => reason))
  const recorder = createRequestRecorder({ db, clock, log, credential: access.credential, dropped })
  const cursors = createCursors(randomBytes(32))
  const requests = createRequests({ db, clock, log, cursors, partnerIds: access.partnerIds })
  const { partnerId, apiKey } = await db.transaction(async (tx) => {
    const id = await access.createPartner(tx, 'Partner')
    return access.createServiceAccount(tx, { partnerId: id, name: 'Account', permissions: [] })
  })
  const caller = (await access.credential(apiKey))?.caller
  assert(caller)
  return { recorder, requests, partnerId, apiKey, caller, drops }
}

const answer = {
  requestId: 'request-1',
  method: 'GET',
  operation: 'getCustomer',
  params: {},
  status: 200,
  durationMs: 4.4,
  replayed: false,
  ip: '192.0.2.1',
  userAgent: 'test',
}

test('two concurrent processes count each request exactly once, for its own partner', async () => {
  const [one, other] = [await start(), await start()]
  for (let each = 0; each < 5; each += 1) {
    one.recorder.record({ ...answer, durationMs: each }, { caller: one.caller })
    other.recorder.record({ ...answer, status: 404, code: 'not_found' }, { caller: one.caller })
  }
  other.recorder.record(answer, { caller: other.caller })
  await Promise.all([one.recorder.flush(), other.recorder.flush(), one.recorder.flush()])
  assert.equal((await one.requests.list(one.partnerId, {})).data.length, 10)
  assert.equal((await one.requests.list(other.partnerId, {})).data.length, 1)
  const [sum] = await one.requests.sums(one.partnerId, {})
  assert.deepEqual([sum?.count, sum?.errors4xx, sum?.errors5xx, sum?.durationMsSum], [10n, 5n, 0n, 30n])
  const [problem] = await one.requests.problems(one.partnerId, {})
  assert.deepEqual([problem?.code, problem?.count, problem?.operations], ['not_found', 5n, ['getCustomer']])
  assert.match(problem?.cure ?? '', /\.$/)
  assert.deepEqual(await one.requests.problems(other.partnerId, {}), [])
})

test('parameters that may identify a person, and control characters, are not stored', async () => {
  const { recorder, requests, partnerId, caller } = await start()
  const params = { id: 'ann@example.com', reference: 'order-1' }
  recorder.record({ ...answer, params, pointer: '/a\u0000\ud800', userAgent: `x${'y'.repeat(999)}` }, { caller })
  await recorder.flush()
  const [row] = (await requests.list(partnerId, {})).data
  assert.deepEqual(JSON.parse(row?.params ?? ''), { id: '…', reference: 'order-1' })
  assert.deepEqual([row?.pointer, row?.userAgent?.length], ['/a??', 120])
})

test('refused signatures of a known key are limited, and refused signatures of an unknown key are not recorded', async () => {
  const { recorder, requests, partnerId, apiKey, drops } = await start()
  const refused = { ...answer, status: 401, code: 'signature_invalid' }
  for (let each = 0; each < refusedPerKeyMax + 7; each += 1) recorder.record(refused, { apiKey })
  recorder.record(refused, { apiKey: 'unknown' })
  recorder.record({ ...answer, status: 503 }, { apiKey })
  await recorder.flush()
  const count = async () => (await requests.sums(partnerId, {}))[0]?.count
  assert.equal(await count(), BigInt(refusedPerKeyMax))
  assert.equal(drops.length, 7)
  assert.ok((await requests.list(partnerId, {})).data.every(({ verified }) => !verified))
  clock.advance(minuteMs)
  recorder.record(refused, { apiKey })
  await recorder.flush()
  assert.equal(await count(), BigInt(refusedPerKeyMax + 1))
})

/** Creates a recorder whose database calls `fail` until `state.fails` is false. */
async function startUnsteady(fail: (write: () => Promise<unknown>) => Promise<never>) {
  const { requests, partnerId, caller } = await start()
  const warnings: unknown[] = []
  const drops: string[] = []
  const state = { fails: true }
  const unsteady: Database = {
    ...db,
    transaction: async (work, options) => {
      const write = () => db.transaction(work, options)
      return state.fails ? fail(write) : write()
    },
  }
  const recorder = createRequestRecorder({
    ...{ db: unsteady, clock, credential: () => Promise.resolve(undefined) },
    log: Object.create(log, { warn: { value: (...line: unknown[]) => void warnings.push(line) } }) as typeof log,
    dropped: (reason, count) => void drops.push(...Array.from({ length: count }, () => reason)),
  })
  const count = async () => (await requests.sums(partnerId, {})).reduce((sum, each) => sum + each.count, 0n)
  return { recorder, requests, partnerId, caller, warnings, drops, count, state }
}

test('rows beyond the memory limit are dropped and counted, and a failed write is repeated', async () => {
  const { recorder, caller, count, drops, state } = await startUnsteady(() =>
    Promise.reject(new Error('the connection was lost')),
  )
  for (let each = 0; each < rowsInMemoryMax + 3; each += 1) recorder.record(answer, { caller })
  await recorder.flush()
  assert.deepEqual(drops, ['full', 'full', 'full'])
  state.fails = false
  await recorder.flush()
  assert.equal(await count(), BigInt(rowsInMemoryMax))
})

test('a row that the database refuses is dropped without the other rows of its batch', async () => {
  const { recorder, requests, partnerId, caller, drops } = await start()
  for (let each = 0; each < 50; each += 1)
    recorder.record({ ...answer, requestId: each === 17 ? 'a\u0000' : `good-${each}` }, { caller })
  await recorder.flush()
  assert.equal((await requests.list(partnerId, { limit: '100' })).data.length, 49)
  assert.equal((await requests.sums(partnerId, {}))[0]?.count, 49n)
  assert.deepEqual(drops, ['unwritable'])
})

test('a batch whose answer was lost after its commit is counted exactly once, even with later rows', async () => {
  const { recorder, caller, count, drops, state } = await startUnsteady(async (write) => {
    await write()
    throw new Error('the connection was lost')
  })
  for (let each = 0; each < 5; each += 1) recorder.record(answer, { caller })
  await recorder.flush()
  assert.equal(await count(), 5n)
  state.fails = false
  for (let each = 0; each < 5; each += 1) recorder.record(answer, { caller })
  await recorder.flush()
  assert.equal(await count(), 10n)
  assert.deepEqual(drops, [])
})

test('a database that does not answer causes one warning a minute', async () => {
  const { recorder, caller, warnings, count, state } = await startUnsteady(() =>
    Promise.reject(new Error('the connection was lost')),
  )
  recorder.record(answer, { caller })
  for (let each = 0; each < 3; each += 1) await recorder.flush()
  assert.equal(warnings.length, 1)
  clock.advance(minuteMs)
  await recorder.flush()
  assert.equal(warnings.length, 2)
  state.fails = false
  await recorder.flush()
  assert.equal(await count(), 1n)
})

test('a page with filters reads a limited number of rows, and the next page continues after them', async () => {
  const { recorder, requests, partnerId, caller } = await start()
  recorder.record({ ...answer, operation: 'getPayout' }, { caller })
  for (let each = 0; each < rowsPerPageMax; each += 1) recorder.record(answer, { caller })
  await recorder.flush()
  const first = await requests.list(partnerId, { operation: 'getPayout' })
  assert.deepEqual([first.data.length, first.hasMore], [0, true])
  const second = await requests.list(partnerId, { operation: 'getPayout', cursor: first.nextCursor ?? '' })
  assert.deepEqual([second.data.length, second.hasMore], [1, false])
})

test('the pages contain each request once, filters select requests, and each read uses an index', async () => {
  const { recorder, requests, partnerId, caller } = await start()
  for (let each = 0; each < 3000; each += 1) {
    const failed = each % 1000 === 0 ? { status: 500, code: 'internal_error' } : {}
    recorder.record({ ...answer, ...failed, requestId: `request-${each}` }, { caller })
  }
  await recorder.flush()
  const seen: string[] = []
  let cursor: string | null = null
  do {
    const page: Awaited<ReturnType<typeof requests.list>> = await requests.list(partnerId, {
      limit: '100',
      ...(cursor === null ? {} : { cursor }),
    })
    seen.push(...page.data.map(({ requestId }) => requestId))
    cursor = page.nextCursor
  } while (cursor !== null)
  assert.deepEqual(
    seen,
    Array.from({ length: 3000 }, (_, each) => `request-${2999 - each}`),
  )
  assert.equal((await requests.list(partnerId, { statusClass: '5xx' })).data.length, 3)
  assert.equal((await requests.list(partnerId, { code: 'internal_error', operation: 'getCustomer' })).data.length, 3)
  assert.equal((await requests.list(partnerId, { requestId: 'request-7' })).data.length, 1)
  assert.equal((await requests.list(partnerId, { serviceAccountId: newId() })).data.length, 0)
  await db.run(sql`analyze requests.log`)
  const plans = await Promise.all(
    [
      'status >= 500 and status < 600 and status >= 400',
      `request_id = 'request-7'`,
      `code = 'internal_error'`,
      'true',
    ].map(async (condition) => {
      const { rows } = await db.pool.query(
        `explain select * from requests.log where partner_id = $1 and ${condition} order by id desc limit 26`,
        [partnerId],
      )
      return rows.map((row: Record<string, string>) => row['QUERY PLAN']).join('\n')
    }),
  )
  for (const plan of plans) assert.doesNotMatch(plan, /Seq Scan on log_before/)
})

test('rows expire after 30 days and are deleted with their week, and sums expire after 13 months', async () => {
  const { recorder, requests, partnerId, caller } = await start()
  recorder.record(answer, { caller })
  await recorder.flush()
  const stored = () => db.row<{ count: bigint }>(sql`select count(*) from requests.log where partner_id = ${partnerId}`)
  const [row] = (await requests.list(partnerId, {})).data
  const beginning = new Date()
  while ((await requests.retain()) > 0);
  assert.equal((await stored())?.count, 1n)
  clock.advance(31 * dayMs)
  assert.equal((await requests.list(partnerId, {})).data.length, 0)
  await assert.rejects(requests.get(partnerId, row?.id ?? ''), { code: 'not_found' })
  clock.advance(14 * dayMs)
  while ((await requests.retain()) > 0);
  assert.equal((await stored())?.count, 0n)
  const createdFrom = beginning.toISOString()
  const createdTo = new Date(beginning.getTime() + dayMs).toISOString()
  const sums = () => requests.sums(partnerId, { createdFrom, createdTo })
  assert.equal((await sums())[0]?.count, 1n)
  clock.advance(360 * dayMs)
  while ((await requests.retain()) > 0);
  assert.deepEqual(await sums(), [])
  await assert.rejects(requests.sums(partnerId, { createdFrom, createdTo: clock.now().toISOString() }), {
    code: 'validation_failed',
  })
})
