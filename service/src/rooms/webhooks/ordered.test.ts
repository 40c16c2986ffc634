import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createHands, createRoom, type Hands, textOf } from '../../../../test/support/hands.ts'
import { createHooks, type Hooks } from '../../../../test/support/webhooks.ts'
import { sql } from '../../postgres/index.ts'
import { type Claim, limitsDefault, type SubscriptionKey } from './index.ts'

let hooks: Hooks
let hands: Hands
let room: ReturnType<typeof createRoom>
before(async () => {
  hooks = await createHooks({ retryDelaysMs: [1000, 1000] })
  hands = createHands(hooks)
  room = createRoom(hooks)
})
after(() => hooks.close())

const named = (claims: readonly Claim[]) => claims.map((claim) => textOf(claim, 'status'))

async function ordered(): Promise<SubscriptionKey> {
  const key = await room.subscribe(await hooks.addPartner())
  await hooks.db.run(sql`
    update webhooks.subscriptions set ordered = true
    where partner_id = ${key.partnerId} and id = ${key.subscriptionId}`)
  return key
}

test('nothing of a reference goes while an earlier one is pending; other references go on', async () => {
  const key = await ordered()
  await hooks.emit(key.partnerId, 'A', 'a1', 'a2', 'a3')
  await hooks.emit(key.partnerId, 'B', 'b1', 'b2')
  await hooks.fanOut(key.partnerId)
  const [a1, b1, ...none] = await hands.claim(key)
  assert.deepEqual([named([a1, b1] as Claim[]), none], [['a1', 'b1'], []])
  await hands.record(a1, { status: 500 })
  await hands.record(b1)
  const [b2, ...more] = await hands.claim(key)
  assert.deepEqual([named([b2] as Claim[]), more], [['b2'], []])
  await hands.record(b2)
  assert.deepEqual(await hands.claim(key), [])
  hooks.clock.advance(1300)
  const [again, ...others] = await hands.claim(key)
  assert.deepEqual([named([again] as Claim[]), others], [['a1'], []])
  await hands.record(again)
  const seen: string[] = []
  for (let claims = await hands.claim(key); claims.length > 0; claims = await hands.claim(key)) {
    assert.equal(claims.length, 1)
    seen.push(...named(claims))
    await hands.record(claims[0])
  }
  assert.deepEqual(seen, ['a2', 'a3'])
})

test('what is held blocks its reference, also for the worker that comes next, until it is due again', async () => {
  const key = await ordered()
  await hooks.emit(key.partnerId, 'A', 'a1', 'a2')
  await hooks.emit(key.partnerId, 'B', 'b1')
  await hooks.fanOut(key.partnerId)
  const [first, b1] = await hands.claim(key)
  await hands.record(b1)
  await hands.record(first, { status: 500 })
  for (let failure = 0; failure < 2; failure += 1) {
    hooks.clock.advance(1300)
    const [a1] = await hands.claim(key)
    await hands.record(a1, { status: 500 })
  }
  assert.deepEqual(await room.counts(key.partnerId), [3, 1, 1, 1])
  assert.deepEqual(await hands.claim(key), [])
  const next = createHands(hooks)
  hooks.clock.advance(2 * limitsDefault.leaseMs)
  assert.deepEqual(await next.claim(key), [])
  await hooks.emit(key.partnerId, 'A', 'a3')
  await hooks.emit(key.partnerId, 'B', 'b2')
  await hooks.fanOut(key.partnerId)
  const [b2, ...none] = await next.claim(key)
  assert.deepEqual([named([b2] as Claim[]), none], [['b2'], []])
  await next.record(b2)
  await hooks.webhooks.update(key.partnerId, key.subscriptionId, { status: 'Enabled' })
  const seen: string[] = []
  for (let claims = await next.claim(key); claims.length > 0; claims = await next.claim(key)) {
    assert.equal(claims.length, 1)
    seen.push(...named(claims))
    await next.record(claims[0])
  }
  assert.deepEqual(seen, ['a1', 'a2', 'a3'])
  await next.close()
})

test('a restart in the middle: the reference goes on where it was', async () => {
  const key = await ordered()
  const statuses = Array.from({ length: 30 }, (_, index) => `${index}`)
  for (const reference of ['A', 'B', 'C']) await hooks.emit(key.partnerId, reference, ...statuses)
  await hooks.fanOut(key.partnerId)
  const seen: Record<string, string[]> = { A: [], B: [], C: [] }
  let worker = createHands(hooks)
  for (let turn = 0; (await room.counts(key.partnerId))?.[1] !== 90; turn += 1) {
    const claims = await worker.claim(key)
    for (const claim of claims) {
      const own = seen[textOf(claim, 'reference')]
      if (own?.at(-1) !== textOf(claim, 'status')) own?.push(textOf(claim, 'status'))
      // One in five fails, one in seven is never answered: its worker dies with it.
      if (turn % 7 === 6) continue
      await worker.record(claim, { status: turn % 5 === 4 ? 500 : 200 })
    }
    if (turn % 7 === 6) {
      hooks.clock.advance(2 * limitsDefault.leaseMs)
      worker = createHands(hooks)
    } else if (claims.length === 0) {
      await hooks.webhooks.update(key.partnerId, key.subscriptionId, { status: 'Enabled' })
      hooks.clock.advance(60_000)
    }
  }
  assert.deepEqual(seen, { A: statuses, B: statuses, C: statuses })
  await worker.close()
})

test('strict from the moment it is asked for: what was read for the other rule is read again', async () => {
  const key = await room.subscribe(await hooks.addPartner())
  await hooks.emit(key.partnerId, 'A', 'a1', 'a2')
  await hooks.fanOut(key.partnerId)
  const [a1] = await hands.claim(key)
  await hooks.db.run(sql`
    update webhooks.subscriptions set ordered = true
    where partner_id = ${key.partnerId} and id = ${key.subscriptionId}`)
  await hooks.emit(key.partnerId, 'B', 'b1')
  await hooks.fanOut(key.partnerId)
  const [b1] = await hands.claim(key)
  await hands.record(b1)
  await hands.record(a1, { status: 500 })
  assert.deepEqual(await hands.claim(key), [])
})
