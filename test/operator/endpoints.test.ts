/** The metrics and the alert email of a healthy endpoint and of one that answers 410, with the whole service. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { textAt, success } from '../support/client.ts'
import { useReceiver, useService } from '../support/fixture.ts'
import { readMail } from '../support/mail-server.ts'
import { mailsIn } from '../support/team.ts'
import { until } from '../support/until.ts'
import { createCustomer, finalTransaction } from '../support/world.ts'

const service = await useService()
const well = await useReceiver()
const gone = await useReceiver(() => 410)
const { client } = service

const metrics = async () => (await fetch(`${service.opsUrl}/metrics`)).text()

async function subscribe(url: string): Promise<string> {
  const events = ['partner.customer.deposit.completed']
  return textAt(success(await client.post('/v1/webhooks', { url, events })), 'id')
}

test('an endpoint that answers 410 causes one alert email, to the Admin only, and the delivery metrics match', async () => {
  const people = (['Admin', 'Operator'] as const).map((role) => ({
    email: `${role}@example.com`,
    fullName: role,
    role,
  }))
  success(await client.post('/v1/users/invitations', { invitations: people }))
  const [wellId, goneId] = [await subscribe(well.url), await subscribe(gone.url)]
  const customerId = textAt(await createCustomer(client), 'guid')
  const deposit = { customerId, amount: 5, currency: 'EUR', outcome: 'completed' }
  const paid = success(await client.post('/v1/simulations/deposits', deposit))
  await finalTransaction(client, textAt(paid, 'reference'))
  await until('both endpoints are called', () => well.deliveries.length === 1 && gone.deliveries.length === 1)

  const alerts = async () => (await mailsIn(service)).filter((mail) => /^Subject: Webhooks/m.test(mail))
  await until('the alert email', async () => (await alerts()).length > 0)
  await until(
    'the endpoint is disabled',
    async () => success(await client.get(`/v1/webhooks/${goneId}`)).status === 'Disabled',
  )
  const [alert = '', ...more] = await alerts()
  assert.deepEqual(more, [])
  const { one, text } = readMail(alert.replaceAll(/\r?\n/g, '\r\n'))
  assert.equal(one('To'), 'Admin <Admin@example.com>')
  assert.match(one('Subject'), /^Webhooks to 127\.0\.0\.1:\d+ are disabled: the endpoint answered 410 Gone$/)
  assert.ok(text.includes(goneId))

  const count = (name: string, labels: string, page: string) =>
    new RegExp(`^${name}\\{${labels}\\} (\\S+)$`, 'm').exec(page)?.[1]
  // The endpoint statistics pause 99 times as long as a step took: 99 seconds after a step of one second. The limit guards against a hang.
  await until(
    'the walk has come by',
    async () => {
      const page = await metrics()
      return (
        count('payments_deliveries', 'state="owed"', page) === '2' &&
        count('payments_deliveries', 'state="delivered"', page) === '1' &&
        count('payments_endpoint_held', `subscription="${goneId}"`, page) === '1'
      )
    },
    240_000,
  )
  const page = await metrics()
  assert.equal(count('payments_endpoint_held', `subscription="${wellId}"`, page), '0')
  assert.equal(
    count('payments_endpoint_attempt_seconds_count', `subscription="${wellId}",outcome="delivered"`, page),
    '1',
  )
  assert.equal(count('payments_endpoint_attempt_seconds_count', `subscription="${goneId}",outcome="gone"`, page), '1')
  assert.match(page, /^payments_deliveries_unaccounted 0$/m)
  assert.doesNotMatch(page, /hooks|127\.0\.0\.1/)
})
