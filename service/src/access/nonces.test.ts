/** Nonces that are spent in the batches of those who write: with what is written, or not at all. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { addPartner, createTestService, type Service } from '../../../test/support/composition.ts'
import { type OpenNonce, Refusal } from '../api/index.ts'
import { createLog, minuteMs, newId } from '../kernel/index.ts'
import { createDatabase, type Database, sql, sqlState, stateOf, type Tx } from '../postgres/index.ts'
import { createSpendingBatcher } from './index.ts'

let service: Service
let partnerId: string
before(async () => {
  service = await createTestService()
  ;({ partnerId } = await addPartner(service))
  await service.db.run(sql`create table public.written (n integer primary key)`)
})
after(() => service.close())

const openNonce = (): OpenNonce => ({
  partnerId,
  serviceAccountId: partnerId,
  nonce: newId().replaceAll('-', ''),
  expiresAt: new Date(service.clock.now().getTime() + minuteMs),
  spent: false,
})
/** As another request brings it. */
const sameAs = (nonce: OpenNonce): OpenNonce => ({ ...nonce, spent: false })

type Write = { readonly n: number; readonly nonce: OpenNonce | undefined }

/** Writes numbers; below zero it refuses, after it has been asked. */
function writer(db: Database = service.db) {
  const asked: number[] = []
  const write = createSpendingBatcher<Write, number, number>({
    db,
    read: (_tx, calls) => Promise.resolve(calls.length),
    work: async (tx: Tx, calls, count) => {
      assert.ok(calls.length <= count)
      asked.push(...calls.map(({ n }) => n))
      await tx.run(
        sql`insert into public.written select * from unnest(${calls.map(({ n }) => Math.abs(n))}::integer[])`,
      )
      return calls.map(({ n }) => (n < 0 ? new Refusal('not_found') : n))
    },
    callsMax: 16,
    batchesMax: 2,
    partnerOf: () => partnerId,
  })
  return { asked, write }
}

const isSpent = async ({ nonce }: OpenNonce) =>
  (await service.db.rows(sql`select from access.nonces where partner_id = ${partnerId} and nonce = ${nonce}`))
    .length === 1
const codes = (outcomes: readonly PromiseSettledResult<number>[]) =>
  outcomes.map((each) =>
    each.status === 'fulfilled' ? each.value : each.reason instanceof Refusal ? each.reason.code : 'failed',
  )

test('a nonce is spent with what is written, and with a refusal', async () => {
  const { write } = writer()
  const [good, refused] = [openNonce(), openNonce()]
  const outcomes = await Promise.allSettled([write({ n: 1, nonce: good }), write({ n: -2, nonce: refused })])
  assert.deepEqual(codes(outcomes), [1, 'not_found'])
  assert.deepEqual([good.spent, refused.spent], [true, true])
  assert.deepEqual([await isSpent(good), await isSpent(refused)], [true, true])
})

test('a replay is refused and nobody works for it: in the same batch, in a later one, in one that it has for itself', async () => {
  const { asked, write } = writer()
  const nonce = openNonce()
  const together = [10, 11, 12].map((n) => write({ n, nonce: n === 12 ? openNonce() : sameAs(nonce) }))
  assert.deepEqual(codes(await Promise.allSettled(together)), [10, 'nonce_replayed', 12])
  const later = [write({ n: 13, nonce: sameAs(nonce) }), write({ n: 14, nonce: openNonce() })]
  assert.deepEqual(codes(await Promise.allSettled(later)), ['nonce_replayed', 14])
  assert.deepEqual(codes(await Promise.allSettled([write({ n: 15, nonce: sameAs(nonce) })])), ['nonce_replayed'])
  assert.deepEqual(asked, [10, 12, 14])
})

test('a call whose nonce has been spent, and one that brings none, are carried out', async () => {
  const { write } = writer()
  const nonce = openNonce()
  assert.equal(await write({ n: 20, nonce }), 20)
  assert.equal(await write({ n: 21, nonce }), 21)
  assert.equal(await write({ n: 22, nonce: undefined }), 22)
})

test('what fails leaves its nonce unspent, and the others of its batch have spent theirs, once', async () => {
  const { write } = writer()
  await write({ n: 30, nonce: undefined })
  const nonces = [31, 30, 32].map((n) => ({ n, nonce: openNonce() }))
  const outcomes = await Promise.allSettled(nonces.map(write))
  assert.deepEqual(codes(outcomes), [31, 'failed', 32])
  assert.deepEqual(
    nonces.map(({ nonce }) => nonce.spent),
    [true, false, true],
  )
  assert.deepEqual(await Promise.all(nonces.map(({ nonce }) => isSpent(nonce))), [true, false, true])
})

test('of twins in two processes one is carried out, however their batches meet', async () => {
  const other = createDatabase({ url: service.url, connectionsMax: 2, log: createLog('silent') })
  try {
    const writers = [writer(), writer(other)]
    for (let round = 0; round < 10; round += 1) {
      const nonces = Array.from({ length: 8 }, openNonce)
      const outcomes = await Promise.allSettled(
        writers.flatMap(({ write }, which) =>
          nonces.map((nonce, index) => write({ n: 1000 + round * 16 + which * 8 + index, nonce: sameAs(nonce) })),
        ),
      )
      const told = codes(outcomes)
      assert.equal(told.filter((code) => code === 'nonce_replayed').length, nonces.length, told.join(' '))
      assert.equal(told.filter((code) => typeof code === 'number').length, nonces.length)
    }
  } finally {
    await other.close()
  }
})

test('a lock that does not come leaves the nonce unspent: whoever asks answers for it', async () => {
  const hasty = createDatabase({ url: service.url, connectionsMax: 2, log: createLog('silent'), lockTimeoutMs: 100 })
  const nonce = openNonce()
  try {
    await service.db.transaction(async (tx) => {
      await tx.run(sql`insert into public.written values (40)`)
      await assert.rejects(
        writer(hasty).write({ n: 40, nonce }),
        (error) => stateOf(error) === sqlState.lockNotAvailable,
      )
    })
    assert.equal(nonce.spent, false)
    assert.equal(await isSpent(nonce), false)
  } finally {
    await hasty.close()
  }
})
