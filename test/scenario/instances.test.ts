/** Two services on one database, as behind a load balancer, share accounts, cursors, payments and events. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Answer, type JsonObject, success, textAt } from '../support/client.ts'
import { receivedEvents } from '../support/deliveries.ts'
import { useReceiver, useService } from '../support/fixture.ts'
import { until } from '../support/until.ts'
import { balanceOf, createBeneficiary, createCustomer, listAll, payoutText } from '../support/world.ts'

const one = await useService()
const two = await one.anotherProcess()
const receiver = await useReceiver()
const clients = [one.client, two.client]
/** Sends `times` concurrent calls to each process. */
const onBothProcesses = (times: number, call: (client: typeof one.client, at: number) => Promise<Answer>) =>
  Promise.all(clients.flatMap((client) => Array.from({ length: times }, (_, at) => call(client, at))))

test('200 with one set of IBANs for concurrent account requests at both processes', async () => {
  const guid = textAt(await createCustomer(two.client), 'guid')
  const answers = await onBothProcesses(5, (client) => client.post(`/v1/customers/${guid}/account`))
  assert.equal(new Set(answers.map((answer) => success(answer).iban)).size, 1)
})

test('200 for a cursor that the other process issued', async () => {
  for (let at = 0; at < 3; at += 1) await createCustomer(one.client)
  const cursor = textAt(success(await one.client.get('/v1/customers?limit=1')), 'nextCursor')
  success(await two.client.get(`/v1/customers?limit=1&cursor=${encodeURIComponent(cursor)}`))
})

test('every payment settles once and every event is delivered once while both processes work', async () => {
  const hook: JsonObject = { url: receiver.url, events: ['transaction.status.changed'] }
  const secret = textAt(success(await one.client.post('/v1/webhooks', hook)), 'secret')
  const customerId = textAt(await createCustomer(one.client), 'guid')
  const beneficiary = textAt(await createBeneficiary(one.client, { customerId }), 'id')
  const isSettled = async () => (await balanceOf(one.client)).reserved === 0n
  await until('the earlier payouts settle', isSettled)
  const before = await balanceOf(one.client)
  const paid = await onBothProcesses(20, (client) => client.post('/v1/payouts/fiat', payoutText(beneficiary, '1.23')))
  const body: JsonObject = { customerId, amount: 2, currency: 'EUR', outcome: 'completed' }
  const deposited = await onBothProcesses(10, (client) => client.post('/v1/simulations/deposits', body))
  const references = [...paid, ...deposited].map((answer) => textAt(success(answer), 'reference'))
  const events = () =>
    receivedEvents(receiver, secret).filter((event) => references.includes(textAt(event.data, 'reference')))
  await until('every event arrives', () => events().length >= references.length)
  assert.deepEqual(
    events()
      .map((event) => textAt(event.data, 'reference'))
      .sort(),
    references.toSorted(),
  )
  const posted = before.posted - 40n * 123n + 20n * 200n
  assert.deepEqual(await balanceOf(two.client), { posted, reserved: 0n, available: posted })
  for (const transaction of await listAll(two.client, '/v1/transactions')) {
    const steps = (transaction.timeline as readonly JsonObject[]).map((entry) => entry.step)
    assert.equal(new Set(steps).size, steps.length, `no repeated step: ${steps.join(', ')}`)
  }
})
