/** Monitors of balances through the API: the event and the mail as a partner receives them, permissions, other partners. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { type JsonObject, listAt, success, textAt } from '../support/client.ts'
import { untilEnd, useReceiver, useService } from '../support/fixture.ts'
import { mailServer, readMail } from '../support/mail-server.ts'
import { assertProblem } from '../support/problem.ts'
import { until } from '../support/until.ts'
import { balanceOf, createBeneficiary, createCustomer, finalTransaction, payoutText } from '../support/world.ts'

const mails = untilEnd(await mailServer())
const receiver = await useReceiver()
const service = await useService({ env: { SMTP_URL: mails.url, REPORT_CLOCK_DIFFERENCE_MS: '0' } })
const { client } = service
const [euros] = listAt(success(await client.get('/v1/accounts'))).filter(({ currency }) => currency === 'EUR')
const path = `/v1/accounts/${textAt(euros ?? {}, 'id')}/monitors`
const crossed = 'account.balance.crossed'

const create = async (body: JsonObject) => success(await client.post(path, body))
const untilState = (id: string, state: string) =>
  until(`the monitor is ${state}`, async () => {
    const monitor = success(await client.get(`${path}/${id}`))
    return monitor.state === state && monitor
  })
const received = (hook: string, type: string) =>
  receiver.deliveries
    .filter((delivery) => delivery.path === `/hooks/${hook}`)
    .map(({ body }) => (JSON.parse(body) as { readonly data: JsonObject }).data)
    .filter(({ eventType }) => eventType === type)

test('a deposit that crosses the threshold sends one event to the subscription that lists it, and one mail to the team', async () => {
  const email = `${randomUUID()}@example.com`
  const invitations = [{ email, fullName: 'Ada Lovelace', role: 'Admin' }]
  success(await client.post('/v1/users/invitations', { invitations }))
  for (const [hook, names] of [
    ['named', { extensionEvents: [crossed] }],
    ['all', { events: ['*'] }],
  ] as const)
    success(await client.post('/v1/webhooks', { url: `${receiver.url}/${hook}`, ...names }))
  const { posted } = await balanceOf(client)
  const threshold = Number(posted / 100n) + 5
  const body = { direction: 'Above', threshold, notify: { emails: [email] }, description: 'Sweep <it>' }
  const { id, accountId, state, rearmAt, measure, notify } = await create(body)
  assert.deepEqual(
    { accountId, state, rearmAt, measure, notify },
    {
      accountId: euros?.id,
      state: 'Armed',
      rearmAt: threshold,
      measure: 'Posted',
      notify: { emails: [email], event: true },
    },
  )
  const customerId = textAt(await createCustomer(client), 'guid')
  const deposit = { customerId, amount: 10, currency: 'EUR', outcome: 'completed' }
  const reference = textAt(success(await client.post('/v1/simulations/deposits', deposit)), 'reference')
  await finalTransaction(client, reference)
  const monitor = await untilState(String(id), 'Triggered')
  assert.equal(monitor.lastBalance, Number(posted) / 100 + 10)
  const payee = textAt(await createBeneficiary(client), 'id')
  const paid = textAt(success(await client.post('/v1/payouts/fiat', payoutText(payee, '9.00'))), 'reference')
  await finalTransaction(client, paid)
  await untilState(String(id), 'Armed')
  const [first, second, ...others] = await until('both events are delivered', () => {
    const events = received('named', crossed)
    return events.length >= 2 && events
  })
  assert.deepEqual(others, [])
  assert.deepEqual(
    [first, second].map((data) => [data?.kind, data?.transactionReference, data?.reference, data?.accountId]),
    [
      ['Triggered', reference, id, euros?.id],
      ['Rearmed', paid, id, euros?.id],
    ],
  )
  const crossings = listAt(success(await client.get(`${path}/${String(id)}/crossings`)))
  assert.deepEqual(
    crossings.map((crossing) => [crossing.kind, crossing.reference]),
    [
      ['Rearmed', paid],
      ['Triggered', reference],
    ],
  )
  // The subscription to all events has got what came before and after, and not the extension.
  await until('the payout is delivered', () => received('all', 'transaction.status.changed').length >= 2)
  assert.deepEqual(received('all', crossed), [])
  const about = () => mails.received.filter(({ to, source }) => to.includes(email) && source.includes('EUR balance is'))
  await until('the mail arrives', () => about().length > 0)
  assert.equal(about().length, 1)
  const mail = readMail(about()[0]?.source ?? '')
  assert.match(mail.one('Subject'), /^EUR balance is above \d+\.00$/)
  for (const part of ['Hello Ada Lovelace,', 'Your note: Sweep <it>', `Transaction: ${reference}`, path])
    assert.ok(mail.text.includes(part), `${part} in ${mail.text}`)
})

test('204 to a deletion, then 404', async () => {
  const { id } = await create({ direction: 'Below', threshold: 1 })
  const one = `${path}/${String(id)}`
  assert.equal((await client.delete(one)).status, 204)
  assertProblem(await client.get(one), { status: 404, code: 'not_found' })
})

test('400 with a pointer when a field is invalid', async () => {
  const good = { direction: 'Below', threshold: 1 }
  for (const [fields, pointer] of [
    [{ direction: 'Sideways' }, '/direction'],
    [{ threshold: -1 }, '/threshold'],
    [{ rearmAt: 0.5 }, '/rearmAt'],
    [{ notify: { emails: ['grace@example.com'] } }, '/notify/emails/0'],
    [{ notify: { emails: ['grace'] } }, '/notify/emails/0'],
    [{ notify: { event: false } }, '/notify'],
  ] as const)
    assertProblem(await client.post(path, { ...good, ...fields } as JsonObject), { status: 400, pointer })
})
