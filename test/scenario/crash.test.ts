/** The service is killed or stopped while payments and deliveries are in flight, and loses nothing. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { type Client, type JsonObject, success, textAt } from '../support/client.ts'
import { receivedEvents } from '../support/deliveries.ts'
import { useReceiver } from '../support/fixture.ts'
import { type TestService, type TestServiceOptions, startTestService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { balanceOf, createBeneficiary, createCustomer, listAll, payoutText } from '../support/world.ts'

/** The leases of a killed process end after at most a minute. */
const leaseMsMax = 90_000

const receiver = await useReceiver()

/** A service that a test can end and restart on the same data. */
async function startRestartable(options: TestServiceOptions) {
  const first = await startTestService(options)
  let running: TestService = first
  const env: TestServiceOptions = first.databaseUrl === '' ? {} : { env: { DATABASE_URL: first.databaseUrl } }
  after(async () => {
    if (running !== first) await running.stop()
    await first.dispose()
  })
  return {
    service: () => running,
    client: (): Client => running.client,
    restart: async () => {
      running = await startTestService({ ...options, ...env, dataDir: first.dataDir })
    },
  }
}

async function createParties(client: Client, hook: string) {
  const subscription = { url: `${receiver.url}/${hook}`, events: ['transaction.status.changed'] }
  const secret = textAt(success(await client.post('/v1/webhooks', subscription)), 'secret')
  const customerId = textAt(await createCustomer(client), 'guid')
  const beneficiary = textAt(await createBeneficiary(client, { customerId }), 'id')
  const float = await balanceOf(client)
  return { secret, customerId, beneficiary, float }
}

/** Returns the events that one webhook path received, without duplicates. */
function eventsAt(hook: string, secret: string, references: readonly string[]) {
  const deliveries = receiver.deliveries.filter((each) => each.path === `/hooks/${hook}`)
  const events = receivedEvents({ ...receiver, deliveries }, secret)
  return events.filter((event) => references.includes(textAt(event.data, 'reference')))
}

async function allFinal(client: Client): Promise<boolean> {
  return (await listAll(client, '/v1/transactions')).every((transaction) => transaction.status !== 'Pending')
}

for (const { database, options } of [
  { database: 'embedded', options: { embedded: true } },
  { database: 'external', options: {} },
])
  test(`after three kills with an ${database} database no payment or final event is lost or repeated`, async () => {
    const { client, service, restart } = await startRestartable(options)
    const { secret, customerId, beneficiary, float } = await createParties(client(), database)
    const references: string[] = []
    const keys: string[] = []
    for (let round = 0; round < 3; round += 1) {
      const bodies = Array.from({ length: 10 }, () => {
        const idempotencyKey = randomUUID()
        keys.push(idempotencyKey)
        return payoutText(beneficiary, '11.11', { idempotencyKey })
      })
      const pay = () => Promise.allSettled(bodies.map((body) => client().post('/v1/payouts/fiat', body)))
      const first = pay()
      // In the second round some requests are still unanswered at the kill.
      if (round !== 1) await first
      else
        await until('half of the payouts are stored', async () => (await listAll(client(), '/v1/payouts')).length >= 15)
      await service().kill()
      await first
      await restart()
      // A partner repeats a request without an answer, with the same key.
      const again = await Promise.all(bodies.map((body) => client().post('/v1/payouts/fiat', body)))
      references.push(...again.map((answer) => textAt(success(answer), 'reference')))
      const deposit: JsonObject = { customerId, amount: 3, currency: 'EUR', outcome: 'completed' }
      references.push(textAt(success(await client().post('/v1/simulations/deposits', deposit)), 'reference'))
    }
    await until('every payment ends', () => allFinal(client()), leaseMsMax)
    const payouts = await listAll(client(), '/v1/payouts')
    assert.deepEqual(payouts.map((payout) => payout.idempotencyKey).sort(), [...keys].sort(), 'one payout for each key')
    assert.deepEqual([...new Set(payouts.map((payout) => payout.status))], ['Completed'])
    const posted = float.posted - 30n * 1111n + 3n * 300n
    assert.deepEqual(await balanceOf(client()), { posted, reserved: 0n, available: posted })
    const events = () => eventsAt(database, secret, references)
    await until('every final event arrives', () => events().length >= references.length, leaseMsMax)
    assert.deepEqual(
      events()
        .map((event) => textAt(event.data, 'reference'))
        .sort(),
      references.toSorted(),
    )
  })

test('the service stops under load with exit code 0, answered payouts are stored, and the others can be repeated', async () => {
  const { client, service, restart } = await startRestartable({})
  const { beneficiary, float } = await createParties(client(), 'stop')
  const bodies = Array.from({ length: 60 }, () => payoutText(beneficiary, '2.00'))
  const first = Promise.allSettled(bodies.map((body) => client().post('/v1/payouts/fiat', body)))
  await until('some payouts are stored', async () => (await listAll(client(), '/v1/payouts')).length >= 5)
  assert.equal(await service().stop(), 0)
  const answers = await first
  await restart()
  const again = await Promise.all(bodies.map((body) => client().post('/v1/payouts/fiat', body)))
  answers.forEach((settled, at) => {
    const replay = again[at]
    assert.ok(replay)
    success(replay)
    if (settled.status === 'rejected') return
    success(settled.value)
    assert.equal(replay.text, settled.value.text, 'an answer that was given stands')
  })
  assert.equal((await listAll(client(), '/v1/payouts')).length, bodies.length)
  assert.equal((await balanceOf(client())).available, float.available - 60n * 200n)
})
