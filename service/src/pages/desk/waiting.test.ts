import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { addPartner, createTestService, pay, type Service } from '../../../../test/support/composition.ts'
import { until } from '../../../../test/support/until.ts'
import { createLog, hourMs, secondMs } from '../../kernel/index.ts'
import { createWaiting, type Waiting } from './waiting.ts'

let service: Service
before(async () => {
  service = await createTestService()
})
after(() => service.close())

test('a payout that stands still is said with its status and its page, and nothing is said where nothing waits', async () => {
  const partner = await addPartner(service, 100_00n)
  const { partnerId } = partner
  const { payout } = await pay(service, partner, '1.00')
  assert.deepEqual(await createWaiting(looking(async () => {}).deps)(), [])
  service.clock.advance(100 * hourMs)
  const found = await createWaiting(looking(async () => {}).deps)()
  const [stands, ...others] = found as readonly Waiting[]
  assert.deepEqual(others, [])
  assert.equal(stands?.kind, 'payoutStands')
  assert.equal(stands.detail, 'Pending')
  assert.equal(stands.href, `payouts/${partnerId}/${payout.id}`)
  assert.ok(Math.abs(Number(stands.since) - Number(payout.createdAt)) < 10 * secondMs)
})

type Names = Service['access']['partnerNames']

/** The parts of the desk with a look that `before` precedes. */
function looking(before: () => Promise<void>) {
  const [looks, errors]: [unknown[], unknown[]] = [[], []]
  const partnerNames = async (...given: Parameters<Names>): ReturnType<Names> => {
    looks.push(given)
    await before()
    return service.access.partnerNames(...given)
  }
  const log = Object.assign(createLog('silent'), { error: ({ err }: { readonly err: unknown }) => errors.push(err) })
  return { looks, errors, deps: { ...service, log, access: { ...service.access, partnerNames } } }
}

test('a look is shared for 20 seconds', async () => {
  const { looks, deps } = looking(async () => {})
  const waiting = createWaiting(deps)
  await Promise.all([waiting(), waiting()])
  await waiting()
  assert.equal(looks.length, 1)
  service.clock.advance(21 * secondMs)
  await waiting()
  assert.equal(looks.length, 2)
})

test('a look that fails is said and logged, and not kept', async () => {
  let isDown = true
  const { looks, errors, deps } = looking(async () => {
    if (isDown) throw new Error('the database is away')
  })
  const waiting = createWaiting(deps)
  assert.deepEqual(await Promise.all([waiting(), waiting()]), ['failed', 'failed'])
  assert.equal(String(errors), 'Error: the database is away')
  isDown = false
  assert.ok(Array.isArray(await waiting()))
  assert.equal(looks.length, 2)
})

test('nobody waits for a slow look, no second one starts, and what it finds is shown once it has ended', async () => {
  const gate = Promise.withResolvers<void>()
  const { looks, deps } = looking(() => gate.promise)
  const waiting = createWaiting(deps, 10)
  assert.deepEqual(await Promise.all([waiting(), waiting()]), ['late', 'late'])
  service.clock.advance(hourMs)
  assert.equal(await waiting(), 'late')
  gate.resolve()
  await until('the look has ended', async () => Array.isArray(await waiting()))
  assert.equal(looks.length, 1)
})
