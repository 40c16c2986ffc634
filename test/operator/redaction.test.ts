/** Valid and invalid requests with the log at level debug: the log contains no secret and no personal data. */
import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { connect } from 'node:net'
import { test } from 'node:test'
import { createSigner } from '../../sdk/src/sign.ts'
import { type Answer, type Client, clientSending, type JsonObject, listAt, success, textAt } from '../support/client.ts'
import { untilEnd, useProxiedDatabase, useReceiver, useService } from '../support/fixture.ts'
import { mailServer } from '../support/mail-server.ts'
import { linesOf } from '../support/program.ts'
import { impersonation } from '../support/service.ts'
import { until } from '../support/until.ts'
import { createBeneficiary, createCustomer, finalTransaction, ibans, payoutText } from '../support/world.ts'

/** Values that must not be in the log, by name. */
const secrets = new Map<string, string>()
const answers: Answer[] = []

const masterKey = randomBytes(32).toString('base64')
const smtpPassword = `smtp-${randomUUID()}`
const hookToken = `hook-${randomUUID()}`
const kyc: JsonObject = {
  fullName: 'Augusta Ada King-Noel',
  dateOfBirth: '1915-12-10',
  citizenshipCountryCode: 'GB',
  addressLine1: '12 St James Square of Nowhere',
  mobilePhone: '+441632960961',
  taxId: 'TAX-99481-22',
  personalIdentificationNumber: 'PIN-55-1234-77',
  uboLastName1: 'Babbage-Somerville',
}
const email = 'ada.king@private.example.com'

const { database, wire, url } = await useProxiedDatabase()
const codes: Readonly<Record<string, number>> = { later: 450, never: 550 }
const mails = untilEnd(
  await mailServer({
    rcpt: (address) => codes[address.split('.')[0] ?? ''],
    onAuth: ({ username }, _session, done) => done(null, { user: username }),
  }),
)
const receiver = await useReceiver((delivery) => (delivery.path.includes('failing') ? 500 : 204))
const service = await useService({
  env: {
    LOG_LEVEL: 'debug',
    MASTER_KEY: masterKey,
    SMTP_URL: mails.url.replace('//', `//user:${smtpPassword}@`),
    DATABASE_URL: url,
    RATE_PER_SECOND: '1000',
  },
})
const recording = (inner: Client): Client =>
  clientSending(async (call) => {
    const answer = await inner.send(call)
    answers.push(answer)
    return answer
  })
const client = recording(service.client)

function mustNotLog(what: string, value: string): void {
  assert.ok(value.length >= 6, `${what} is too short for a search: ${value}`)
  secrets.set(what, value)
}

async function sendValidRequests(): Promise<{ readonly customerId: string; readonly beneficiary: string }> {
  for (const [name, value] of Object.entries(kyc))
    if (name !== 'citizenshipCountryCode') mustNotLog(`kyc ${name}`, String(value))
  mustNotLog('email of the customer', email)
  const customerId = textAt(await createCustomer(client, { email, kyc }), 'guid')
  success(await client.put(`/v1/customers/${customerId}`, { kyc: { taxId: 'TAX-OTHER-1' } }))
  mustNotLog('changed taxId', 'TAX-OTHER-1')
  const account = success(await client.post(`/v1/customers/${customerId}/account`))
  listAt(account, 'ibans').forEach((each, at) => mustNotLog(`iban ${at} of the customer`, textAt(each, 'iban')))
  const beneficiary = textAt(await createBeneficiary(client, { customerId, name: 'Grace Brewster Hopper' }), 'id')
  mustNotLog('iban of the beneficiary', ibans.DE)
  mustNotLog('name of the beneficiary', 'Grace Brewster Hopper')
  const events = ['transaction.status.changed', 'partner.customer.withdrawal.sent']
  for (const path of ['hooks', 'failing']) {
    const url = `${receiver.url.replace('/hooks', `/${path}`)}?token=${hookToken}`
    const subscription = success(await client.post('/v1/webhooks', { url, events }))
    mustNotLog(`secret of ${path}`, textAt(subscription, 'secret'))
  }
  success(await client.post('/v1/webhooks', { url: 'http://127.0.0.1:1/unreachable', events }))
  mustNotLog('token in the address of a webhook', hookToken)
  const paid = success(await client.post('/v1/payouts/fiat', payoutText(beneficiary, '11.00')))
  await finalTransaction(client, textAt(paid, 'reference'))
  for (const name of ['now', 'later', 'never']) {
    mustNotLog(`address of ${name}`, `${name}.invited@private.example.com`)
    const invited = {
      email: `${name}.invited@private.example.com`,
      fullName: 'Joan Elisabeth Clarke',
      role: 'Developer',
    }
    success(await client.post('/v1/users/invitations', { invitations: [invited] }))
  }
  mustNotLog('name of the invited', 'Joan Elisabeth Clarke')
  return { customerId, beneficiary }
}

async function sendInvalidRequests(customerId: string, beneficiary: string): Promise<void> {
  const wrong = [
    client.post('/v1/customers', { email: 'not-an-address-at-all', kyc: { ...kyc, shoeSize: 'size-forty-two' } }),
    client.put(`/v1/customers/${customerId}`, { kyc: { dateOfBirth: '10/12/1915-secret' } }),
    client.post('/v1/beneficiaries', { name: 'X', iban: 'DE00370400440532013999', currency: 'EUR' }),
    client.post('/v1/payouts/fiat', payoutText(beneficiary, '99999999.00')),
    client.post('/v1/payouts/fiat', payoutText(beneficiary, '5000000.00')),
    client.post('/v1/payouts/fiat', '{"beneficiaryId": "broken-json-value'),
    client.post('/v1/webhooks', { url: `https://user:${hookToken}@example.com/`, events: [] }),
    client.get(`/v1/customers?partnerCustomerIdentifier=${encodeURIComponent('TAX-99481-22')}`),
    client.get(`/v1/transactions/${encodeURIComponent(ibans.DE)}`),
    client.send({ method: 'GET', target: '/v1/accounts', headers: { Authorization: 'Bearer eyJ-bearer-value' } }),
    client.send({ method: 'GET', target: '/v1/accounts', signed: { secret: 'wrong' } }),
    client.send({ method: 'GET', target: '/v1/accounts', headers: { ApiKey: 'pk_unknown-key-value' } }),
    client.send({ method: 'GET', target: '/v1/accounts', timestamp: '1' }),
    client.send({ method: 'GET', target: `/v1/%zz?x=TAX-99481-22` }),
  ]
  const given = {
    'wrong email': 'not-an-address-at-all',
    'unknown field': 'size-forty-two',
    'wrong date': '10/12/1915-secret',
  }
  for (const [what, value] of Object.entries(given)) mustNotLog(what, value)
  mustNotLog('wrong iban', 'DE00370400440532013999')
  mustNotLog('broken JSON', 'broken-json-value')
  mustNotLog('bearer token', 'eyJ-bearer-value')
  mustNotLog('unknown key', 'pk_unknown-key-value')
  for (const answer of await Promise.all(wrong)) assert.ok(answer.status >= 400 || answer.status === 200, answer.text)
  const marked = recording(await impersonation(service))
  success(await marked.get(`/v1/customers/${customerId}`))
  assert.equal((await marked.put(`/v1/customers/${customerId}`, { kyc })).status, 403)
}

/** Sends a request with a known signature, and bytes that are no HTTP request. */
async function sendRawRequests(): Promise<void> {
  const headers = createSigner(service.credentials)({
    method: 'GET',
    path: '/v1/accounts',
    query: '',
    body: Buffer.alloc(0),
  })
  mustNotLog('signature of a request', headers.Signature)
  assert.equal((await fetch(`${service.baseUrl}/v1/accounts`, { headers: { ...headers } })).status, 200)
  const socket = connect(Number(new URL(service.baseUrl).port), '127.0.0.1')
  const text = await new Promise<string>((resolve) => {
    let received = ''
    socket.setEncoding('utf8').on('data', (part: string) => (received += part))
    socket.once('close', () => resolve(received))
    socket.write(`GET /v1/accounts HTTP/1.1\r\nHost: x\r\nSignature: secret-in-a-bad-request\r\nbad header\r\n\r\n`)
  })
  mustNotLog('header of a malformed request', 'secret-in-a-bad-request')
  const id = /^X-Request-Id: (\S+)/im.exec(text)?.[1] ?? ''
  await until('a log line for the malformed request', () => lineOf(id) !== undefined)
}

const lineOf = (id: string) =>
  linesOf(service.output()).find((line) => line.includes(`"requestId":"${id}"`) && line.includes('"answered"'))

test('the log contains no secret, key, signature, KYC value, IBAN, address or token, and a line for each request', async () => {
  const { apiKey, apiSecret, privateKeyPem } = service.credentials
  const given = {
    apiKey,
    apiSecret,
    'private key': privateKeyPem.split('\n')[3] ?? '',
    'master key': masterKey,
    smtpPassword,
  }
  for (const [what, value] of Object.entries({ ...given, 'database password': new URL(database.url).password }))
    mustNotLog(what, value)
  const { customerId, beneficiary } = await sendValidRequests()
  await sendInvalidRequests(customerId, beneficiary)
  await sendRawRequests()
  await until('a delivery failed several times', () => service.output().split('"status":500').length > 2)
  await until(
    'one mail failed finally and one is retried',
    () => /"mail given up"/.test(service.output()) && /mail not sent/.test(service.output()),
  )
  await until('a mail arrived', () => mails.received.length > 0)
  const token = /\b[A-Za-z0-9_-]{40,}\b/.exec(mails.received[0]?.source.replaceAll('=\r\n', '') ?? '')?.[0] ?? ''
  mustNotLog('invitation token', token)
  receiver.deliveries.forEach(({ headers }, at) =>
    mustNotLog(`signature of delivery ${at}`, String(headers['webhook-signature']).split(',')[1] ?? ''),
  )
  await wire.cut()
  const unreachable = [
    client.post('/v1/customers', { email, kyc }),
    client.post('/v1/payouts/fiat', payoutText(beneficiary, '1.00')),
  ]
  for (const answer of await Promise.all(unreachable)) assert.equal(answer.status, 502)
  await wire.mend()
  await until('the database is reachable', async () => (await client.get('/v1/accounts')).status === 200)

  for (const { headers, status } of answers) {
    const id = String(headers['x-request-id'])
    const line = await until(`a log line for ${id}`, () => lineOf(id))
    assert.equal((JSON.parse(line) as { status: number }).status, status)
  }
  const output = service.output()
  assert.ok(linesOf(output).length > 60, 'the log has lines')
  for (const word of ['"refused"', '"webhook delivery attempted"', 'Sam Staff', 'the database cannot be reached'])
    assert.ok(output.includes(word), `the log has ${word}`)
  for (const [what, value] of secrets) {
    const at = output.indexOf(value)
    assert.equal(at, -1, `${what} is in the log: ${output.slice(Math.max(0, at - 300), at + 60)}`)
  }
  assert.ok(secrets.size > 40, `${secrets.size} values searched`)
})
