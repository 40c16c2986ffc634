/** The power goes while payments and deliveries are on their way. Nothing is lost, nothing happens twice. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { success, textAt } from '../support/client.ts'
import { receivedEvents } from '../support/deliveries.ts'
import { startReceiver } from '../support/receiver.ts'
import { type TestService, startTestService } from '../support/service.ts'
import { until } from '../support/until.ts'
import {
  balanceOf,
  createBeneficiary,
  createCustomer,
  finalTransaction,
  listAll,
  payoutText,
} from '../support/world.ts'

const receiver = await startReceiver()
const service = await startTestService()
let running: TestService = service
const restart = async () => {
  await running.kill()
  running = await startTestService({ dataDir: service.dataDir, env: { DATABASE_URL: service.databaseUrl } })
}
after(async () => {
  if (running !== service) await running.stop()
  await service.dispose()
  await receiver.close()
})

/** What a dead process had claimed is taken up again when its lease, a minute, has run out. */
const leaseMsMax = 90_000

async function allFinal({ client }: TestService): Promise<boolean> {
  return (await listAll(client, '/v1/transactions')).every((transaction) => transaction.status !== 'Pending')
}

test('200 to every payment in the end, each done once, each final event delivered, when the service dies three times', async () => {
  const { client } = service
  const float = await balanceOf(client)
  const hook = { url: receiver.url, events: ['transaction.status.changed'] }
  const secret = textAt(success(await client.post('/v1/webhooks', hook)), 'secret')
  const customerId = textAt(await createCustomer(client), 'guid')
  const beneficiary = textAt(await createBeneficiary(client, { customerId }), 'id')
  const references: string[] = []
  const keys: string[] = []
  for (let round = 0; round < 3; round += 1) {
    const bodies = Array.from({ length: 10 }, () => {
      const idempotencyKey = randomUUID()
      keys.push(idempotencyKey)
      return payoutText(beneficiary, '11.11', { idempotencyKey })
    })
    const deposit = { customerId, amount: 3, currency: 'EUR', outcome: 'completed', idempotencyKey: randomUUID() }
    const first = Promise.allSettled(bodies.map((body) => running.client.post('/v1/payouts/fiat', body)))
    if (round === 1)
      await until('half of them are in', async () => (await listAll(running.client, '/v1/payouts')).length >= 15)
    else await first
    await restart()
    await first
    // What a partner does after a lost answer: the same request again, with the same key.
    const again = await Promise.all(bodies.map((body) => running.client.post('/v1/payouts/fiat', body)))
    references.push(...again.map((answer) => textAt(success(answer), 'reference')))
    const simulated = await running.client.post('/v1/simulations/deposits', deposit)
    references.push(textAt(success(simulated), 'reference'))
  }
  await until('every payment ends', () => allFinal(running), leaseMsMax)
  for (const reference of references)
    assert.equal((await finalTransaction(running.client, reference)).status, 'Completed', reference)
  const payouts = await listAll(running.client, '/v1/payouts')
  assert.deepEqual(payouts.map((payout) => payout.idempotencyKey).sort(), [...keys].sort(), 'one payout for each key')
  const posted = float.posted - 30n * 1111n + 3n * 300n
  assert.deepEqual(await balanceOf(running.client), { posted, reserved: 0n, available: posted })
  await until(
    'every final event arrives',
    () => {
      const events = receivedEvents(receiver, secret)
      return references.every((reference) => events.some((event) => event.data.reference === reference))
    },
    leaseMsMax,
  )
  const events = receivedEvents(receiver, secret)
  assert.equal(events.length, references.length, 'one event for each')
})
