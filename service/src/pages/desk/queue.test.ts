import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { addPartner, createTestService, pay, type Service } from '../../../../test/support/composition.ts'
import { until } from '../../../../test/support/until.ts'
import { createLog, hourMs, secondMs } from '../../kernel/index.ts'
import { createWaitingCache } from './queue.ts'

let service: Service
before(async () => {
  service = await createTestService()
})
after(() => service.close())

test('the cache returns the items that wait for a person, or an empty list', async () => {
  const partner = await addPartner(service, 100_00n)
  const { payout } = await pay(service, partner, '1.00')
  assert.deepEqual(await createWaitingCache(looking(async () => {}).deps)(), [])
  service.clock.advance(100 * hourMs)
  await service.db.transaction((tx) =>
    service.customers.reviews.set(tx, {
      ...{
        partnerId: partner.partnerId,
        customerRef: partner.customer.id,
        risk: 'high',
        staff: 'Sam Staff',
        months: 0,
      },
    }),
  )
  const found = await createWaitingCache(looking(async () => {}).deps)()
  assert.ok(typeof found === 'object')
  const shown = found.filter(({ kind }) => kind === 'payout' || kind === 'review')
  assert.deepEqual(shown.map(({ why, subject, detail, money }) => [why, subject, detail, money]).toSorted(), [
    ['payoutStands', payout.id, 'Pending', { amount: 1_00n, currency: 'EUR' }],
    ['reviewOverdue', partner.customer.id, 'high', undefined],
  ])
})

/** Dependencies of the cache. `before` runs before each read of the items. */
function looking(before: () => Promise<void>) {
  const [looks, errors]: [unknown[], unknown[]] = [[], []]
  const look = async () => {
    looks.push(undefined)
    await before()
    return service.waiting.look()
  }
  const log = Object.assign(createLog('silent'), { error: ({ err }: { readonly err: unknown }) => errors.push(err) })
  return { looks, errors, deps: { ...service, log, waiting: { look } } }
}

test('a read is shared for 20 seconds', async () => {
  const { looks, deps } = looking(async () => {})
  const waiting = createWaitingCache(deps)
  await Promise.all([waiting(), waiting()])
  await waiting()
  assert.equal(looks.length, 1)
  service.clock.advance(21 * secondMs)
  await waiting()
  assert.equal(looks.length, 2)
})

test('a failed read is reported and logged, and not cached', async () => {
  let isDown = true
  const { looks, errors, deps } = looking(async () => {
    if (isDown) throw new Error('the database is away')
  })
  const waiting = createWaitingCache(deps)
  assert.deepEqual(await Promise.all([waiting(), waiting()]), ['failed', 'failed'])
  assert.equal(String(errors), 'Error: the database is away')
  isDown = false
  assert.equal(typeof (await waiting()), 'object')
  assert.equal(looks.length, 2)
})

test('a slow read neither delays the page nor runs twice, and its result is shown when it has finished', async () => {
  const gate = Promise.withResolvers<void>()
  const { looks, deps } = looking(() => gate.promise)
  const waiting = createWaitingCache(deps, 10)
  assert.deepEqual(await Promise.all([waiting(), waiting()]), ['late', 'late'])
  service.clock.advance(hourMs)
  assert.equal(await waiting(), 'late')
  gate.resolve()
  await until('the look has ended', async () => typeof (await waiting()) === 'object')
  assert.equal(looks.length, 1)
})
