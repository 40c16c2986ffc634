/** The test button against endpoints that hang: they hold a few places, never those of the API. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { createHooks } from '../../../../test/support/webhooks.ts'
import { Refusal } from '../../api/index.ts'
import { createSealer, newId } from '../../kernel/index.ts'
import { createTestDeliveries, testDeliveriesOfPartnerMax } from './test-delivery.ts'

const hooks = await createHooks({})
after(() => hooks.close())

test('a partner has a limited number of concurrent tests, and can test again when they end', async () => {
  const partnerId = await hooks.addPartner()
  const { id } = await hooks.webhooks.create(partnerId, { url: 'https://example.com/hook' })
  const hanging = Promise.withResolvers<void>()
  const testDeliveries = createTestDeliveries({
    db: hooks.db,
    clock: hooks.clock,
    sealer: createSealer([hooks.key]),
    sample: async () => '{}',
    send: async () => {
      await hanging.promise
      return { startedAt: hooks.clock.now(), durationMs: 1, status: 200 }
    },
  })
  const all = Array.from({ length: testDeliveriesOfPartnerMax + 3 }, () => testDeliveries.test(partnerId, id))
  const outcomes = Promise.allSettled(all)
  const refused: unknown[] = []
  const allRefused = Promise.withResolvers<void>()
  for (const each of all)
    each.catch((error: unknown) => {
      if (refused.push(error) === all.length - testDeliveriesOfPartnerMax) allRefused.resolve()
    })
  await allRefused.promise
  for (const error of refused) assert.ok(error instanceof Refusal && error.code === 'webhook_test_too_soon')
  hanging.resolve()
  const sent = (await outcomes).filter(({ status }) => status === 'fulfilled')
  assert.equal(sent.length, testDeliveriesOfPartnerMax)
  assert.ok((await testDeliveries.test(partnerId, id)).delivered)
  await assert.rejects(testDeliveries.test(newId(), id), Refusal)
})
