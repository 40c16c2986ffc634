/** The bound of active standing orders on a real database: creations and resumptions at the same time, from two processes. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { rawNumber } from '@partner-payments/wire'
import {
  addPartner,
  createTestService,
  ip,
  type Service,
  type TestPartner,
} from '../../../../test/support/composition.ts'
import { Refusal } from '../../kernel/api/index.ts'

const settings = { STANDING_ORDERS_MAX: '5' }
let services: readonly [Service, Service]
let partner: TestPartner
beforeEach(async () => {
  const first = await createTestService({ settings, connectionsMax: 12 })
  services = [first, await createTestService({ settings, url: first.url, connectionsMax: 12 })]
  partner = await addPartner(first)
})
afterEach(async () => {
  await services[1].close()
  await services[0].close()
})

const create = (on: Service, by: TestPartner = partner) =>
  on.standingOrders.create(
    by.caller,
    {
      beneficiaryId: by.beneficiary.id,
      amount: rawNumber('10.00'),
      currency: 'EUR',
      schedule: { frequency: 'Daily', startsOn: '2026-01-05' },
    },
    ip,
  )
const refused = (pointer: string) => (error: unknown) => {
  assert.ok(error instanceof Refusal, String(error))
  assert.deepEqual([error.code, error.errors[0]?.pointer], ['standing_order_limit_reached', pointer])
  return true
}
const activeOf = async () =>
  (await services[0].standingOrders.list(partner.partnerId, { status: 'Active', limit: '100' })).data

test('of 20 creations at once, from two processes, as many are accepted as the bound leaves', async () => {
  const outcomes = await Promise.allSettled(
    Array.from({ length: 20 }, (_, at) => create(at % 2 === 0 ? services[0] : services[1])),
  )
  for (const outcome of outcomes) if (outcome.status === 'rejected') assert.ok(refused('/schedule')(outcome.reason))
  assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 5)
  assert.equal((await activeOf()).length, 5)
  // Another partner has a bound of its own.
  await create(services[0], await addPartner(services[0]))
})

test('a paused, a cancelled or an ended order leaves a place; a creation against a resumption takes the last place once', async () => {
  const [service, other] = services
  const { partnerId } = partner
  const orders = []
  for (let made = 0; made < 5; made += 1) orders.push(await create(service))
  const [first, second] = orders
  await assert.rejects(create(service), refused('/schedule'))
  await service.standingOrders.cancel(partnerId, second?.id ?? '')
  await create(service)
  for (let round = 0; round < 8; round += 1) {
    await service.standingOrders.pause(partnerId, first?.id ?? '')
    const [resumed, created] = await Promise.allSettled([
      service.standingOrders.resume(partnerId, first?.id ?? ''),
      create(other),
    ])
    assert.equal((await activeOf()).length, 5)
    assert.equal(new Set([resumed.status, created.status]).size, 2)
    if (resumed.status === 'rejected') assert.ok(refused('')(resumed.reason))
    if (created.status === 'rejected') assert.ok(refused('/schedule')(created.reason))
    if (created.status === 'fulfilled') await service.standingOrders.cancel(partnerId, created.value.id)
    if (created.status === 'fulfilled') await service.standingOrders.resume(partnerId, first?.id ?? '')
  }
})
