/** Nonces that a batch consumes in the transaction of its calls. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { addPartner, createTestService, type Service } from '../../../test/support/composition.ts'
import { type OpenNonce, Refusal } from '../kernel/api/index.ts'
import { createLog, minuteMs, newId } from '../kernel/index.ts'
import { createDatabase, type Database, sql, sqlState, stateOf, type Tx } from '../postgres/index.ts'
import { createNonceBatcher } from './index.ts'

let service: Service
let partnerId: string
before(async () => {
  service = await createTestService()
  ;({ partnerId } = await addPartner(service))
  await service.db.run(sql`create table public.written (n integer primary key)`)
})
after(() => service.close())

const newNonce = (): OpenNonce => ({
  partnerId,
  serviceAccountId: partnerId,
  nonce: newId().replaceAll('-', ''),
  expiresAt: new Date(service.clock.now().getTime() + minuteMs),
  consumed: false,
})
/** The same nonce in another request. */
const sameAs = (nonce: OpenNonce): OpenNonce => ({ ...nonce, consumed: false })

type Write = { readonly n: number; readonly nonce: OpenNonce | undefined }

/** Writes numbers and refuses negative ones. Records the calls that reach the work. */
function writer(db: Database = service.db) {
  const received: number[] = []
  const write = createNonceBatcher<Write, number, number>({
    db,
    read: (_tx, calls) => Promise.resolve(calls.length),
    work: async (tx: Tx, calls, count) => {
      assert.ok(calls.length <= count)
      received.push(...calls.map(({ n }) => n))
      await tx.run(
        sql`insert into public.written select * from unnest(${calls.map(({ n }) => Math.abs(n))}::integer[])`,
      )
      return calls.map(({ n }) => (n < 0 ? new Refusal('not_found') : n))
    },
    callsMax: 16,
    batchesMax: 2,
    partnerOf: () => partnerId,
  })
  return { received, write }
}

const isStored = async ({ nonce }: OpenNonce) =>
  (await service.db.rows(sql`select from access.nonces where partner_id = ${partnerId} and nonce = ${nonce}`))
    .length === 1
const codes = (outcomes: readonly PromiseSettledResult<number>[]) =>
  outcomes.map((each) =>
    each.status === 'fulfilled' ? each.value : each.reason instanceof Refusal ? each.reason.code : 'failed',
  )

test('a nonce is consumed with the write, and with a refusal', async () => {
  const { write } = writer()
  const [good, refused] = [newNonce(), newNonce()]
  const outcomes = await Promise.allSettled([write({ n: 1, nonce: good }), write({ n: -2, nonce: refused })])
  assert.deepEqual(codes(outcomes), [1, 'not_found'])
  assert.deepEqual([good.consumed, refused.consumed], [true, true])
  assert.deepEqual([await isStored(good), await isStored(refused)], [true, true])
})

test('a replay is refused before the work: in the same batch, in a later batch, and alone in a batch', async () => {
  const { received, write } = writer()
  const nonce = newNonce()
  const together = [10, 11, 12].map((n) => write({ n, nonce: n === 12 ? newNonce() : sameAs(nonce) }))
  assert.deepEqual(codes(await Promise.allSettled(together)), [10, 'nonce_replayed', 12])
  const later = [write({ n: 13, nonce: sameAs(nonce) }), write({ n: 14, nonce: newNonce() })]
  assert.deepEqual(codes(await Promise.allSettled(later)), ['nonce_replayed', 14])
  assert.deepEqual(codes(await Promise.allSettled([write({ n: 15, nonce: sameAs(nonce) })])), ['nonce_replayed'])
  assert.deepEqual(received, [10, 12, 14])
})

test('calls with a consumed nonce and calls without a nonce are carried out', async () => {
  const { write } = writer()
  const nonce = newNonce()
  assert.equal(await write({ n: 20, nonce }), 20)
  assert.equal(await write({ n: 21, nonce }), 21)
  assert.equal(await write({ n: 22, nonce: undefined }), 22)
})

test('a failed call leaves its nonce unconsumed, and the other calls of its batch consume theirs once', async () => {
  const { write } = writer()
  await write({ n: 30, nonce: undefined })
  const nonces = [31, 30, 32].map((n) => ({ n, nonce: newNonce() }))
  const outcomes = await Promise.allSettled(nonces.map(write))
  assert.deepEqual(codes(outcomes), [31, 'failed', 32])
  assert.deepEqual(
    nonces.map(({ nonce }) => nonce.consumed),
    [true, false, true],
  )
  assert.deepEqual(await Promise.all(nonces.map(({ nonce }) => isStored(nonce))), [true, false, true])
})

test('of duplicates in two processes exactly one is carried out', async () => {
  const other = createDatabase({ url: service.url, connectionsMax: 2, log: createLog('silent') })
  try {
    const writers = [writer(), writer(other)]
    for (let round = 0; round < 10; round += 1) {
      const nonces = Array.from({ length: 8 }, newNonce)
      const outcomes = await Promise.allSettled(
        writers.flatMap(({ write }, which) =>
          nonces.map((nonce, index) => write({ n: 1000 + round * 16 + which * 8 + index, nonce: sameAs(nonce) })),
        ),
      )
      const results = codes(outcomes)
      assert.equal(results.filter((code) => code === 'nonce_replayed').length, nonces.length, results.join(' '))
      assert.equal(results.filter((code) => typeof code === 'number').length, nonces.length)
    }
  } finally {
    await other.close()
  }
})

test('a lock timeout leaves the nonce unconsumed', async () => {
  const impatient = createDatabase({
    url: service.url,
    connectionsMax: 2,
    log: createLog('silent'),
    lockTimeoutMs: 100,
  })
  const nonce = newNonce()
  try {
    await service.db.transaction(async (tx) => {
      await tx.run(sql`insert into public.written values (40)`)
      await assert.rejects(
        writer(impatient).write({ n: 40, nonce }),
        (error) => stateOf(error) === sqlState.lockNotAvailable,
      )
    })
    assert.equal(nonce.consumed, false)
    assert.equal(await isStored(nonce), false)
  } finally {
    await impatient.close()
  }
})
