/** The test button against endpoints that hang: they hold a few places, never those of the API. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startTcpReceiver } from '../../../../test/support/exchange.ts'
import { until } from '../../../../test/support/until.ts'
import { createHooks } from '../../../../test/support/webhooks.ts'
import { Refusal } from '../../kernel/api/index.ts'
import { createSealer, newId } from '../../kernel/index.ts'
import { chosenCalls, createChosenHosts } from '../exchange/chosen-hosts.ts'
import { createTestDeliveries } from './test-delivery.ts'

const hooks = await createHooks({})
after(() => hooks.close())

test('a partner has a limited number of concurrent tests, and can test again when they end', async () => {
  const { ofPartnerMax } = chosenCalls.webhookTest
  const answers: (() => void)[] = []
  const endpoint = await startTcpReceiver(
    (socket) => void answers.push(() => socket.end('HTTP/1.1 204 No Content\r\n\r\n')),
  )
  after(endpoint.close)
  const partnerId = await hooks.addPartner()
  const { id } = await hooks.webhooks.create(partnerId, { url: endpoint.url })
  const testDeliveries = createTestDeliveries({
    db: hooks.db,
    clock: hooks.clock,
    sealer: createSealer([hooks.key]),
    sample: async () => '{}',
    send: createChosenHosts({ clock: hooks.clock, allowLoopback: true }).sendTest,
  })
  const all = Array.from({ length: ofPartnerMax + 3 }, () => testDeliveries.test(partnerId, id))
  const outcomes = Promise.allSettled(all)
  const refused: unknown[] = []
  for (const each of all) each.catch((error: unknown) => refused.push(error))
  await until('the others are refused', () => refused.length === 3 && answers.length === ofPartnerMax)
  for (const error of refused) assert.ok(error instanceof Refusal && error.code === 'webhook_test_too_soon')
  answers.splice(0).forEach((answer) => answer())
  const sent = (await outcomes).filter(({ status }) => status === 'fulfilled')
  assert.equal(sent.length, ofPartnerMax)
  const again = testDeliveries.test(partnerId, id)
  await until('the endpoint is called', () => answers.length === 1)
  answers.forEach((answer) => answer())
  assert.ok((await again).delivered)
  await assert.rejects(testDeliveries.test(newId(), id), Refusal)
})
