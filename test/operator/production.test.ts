/** Production, with everything that it asks for: it starts, has nothing of a sandbox, and says truthfully what it cannot do. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { type Client, createClient, success, textAt } from '../support/client.ts'
import { mailServer } from '../support/mail-server.ts'
import { createTestDatabase } from '../support/postgres.ts'
import { type Ending, freePorts, linesOf, type Program, run, start, stop } from '../support/program.ts'
import { readCredentials } from '../support/service.ts'
import { until } from '../support/until.ts'
import { createBeneficiary, createCustomer, invitee, listAll, payoutText } from '../support/world.ts'

const dataDir = await mkdtemp(join(tmpdir(), 'partner-payments-production-'))
const database = await createTestDatabase()
const mails = await mailServer()
const [PORT, OPS_PORT] = (await freePorts(2)) as [string, string]
const env = {
  MODE: 'production',
  MASTER_KEY: randomBytes(32).toString('base64'),
  SMTP_URL: mails.url,
  DATABASE_URL: database.url,
  DATA_DIR: dataDir,
  PORT,
  OPS_PORT,
}
let service: Program
let client: Client
let partnerId: string

const operator = async (...words: readonly string[]): Promise<Record<string, string>> => {
  // The log at level info would stand beside the refusal that a test reads.
  const ending: Ending = await run(['operator', ...words], { ...env, LOG_LEVEL: 'warn' })
  assert.equal(ending.code, 0, ending.stderr)
  return JSON.parse(ending.stdout) as Record<string, string>
}

before(async () => {
  service = await start(['serve'], env)
  const made = await operator('partner', 'create', '--name', 'First Partner')
  assert.deepEqual(Object.keys(made), ['partnerId'], 'it has no credentials until a service account is made')
  partnerId = made.partnerId ?? ''
  const words = ['--partner', partnerId, '--name', 'Back office', '--permissions', 'all']
  const credentials = readCredentials(await operator('service-account', 'create', ...words))
  client = createClient(`http://127.0.0.1:${PORT}`, credentials)
})
after(async () => {
  assert.equal((await stop(service)).code, 0)
  await mails.stop()
  await database.drop()
  await rm(dataDir, { recursive: true, force: true })
})

test('no credentials, no key, no mail folder: nothing at all is written to disk', async () => {
  assert.deepEqual(await readdir(dataDir), [])
  assert.doesNotMatch(service.stdout(), /credentials/)
  assert.ok(linesOf(service.stdout()).length < 10)
})

test('404 for simulations', async () => {
  const customerId = textAt(await createCustomer(client), 'guid')
  const deposit = { customerId, amount: 5, currency: 'EUR', outcome: 'completed' }
  assert.equal((await client.post('/v1/simulations/deposits', deposit)).status, 404)
})

test('422 for a payout: no bank is connected, and the answer says so; nothing is kept of it', async () => {
  const beneficiary = textAt(await createBeneficiary(client), 'id')
  const answer = await client.post('/v1/payouts/fiat', payoutText(beneficiary, '5.00'))
  assert.deepEqual([answer.status, answer.json.code], [422, 'currency_not_supported'], answer.text)
  assert.match(textAt(answer.json, 'detail'), /No bank is connected/)
  assert.deepEqual(await listAll(client, '/v1/payouts'), [])
  assert.deepEqual(await listAll(client, '/v1/transactions'), [])
})

test('400 for a webhook by http or to this machine', async () => {
  for (const url of ['http://127.0.0.1:9/hook', 'https://127.0.0.1:9/hook', 'http://example.com/hook']) {
    const answer = await client.post('/v1/webhooks', { url, events: ['transaction.status.changed'] })
    assert.equal(answer.status, 400, `${url}: ${answer.text}`)
  }
})

test('an invitation goes out by mail', async () => {
  success(await client.post('/v1/users/invitations', { invitations: [invitee()] }))
  await until('the mail', () => mails.received.length === 1)
})

test('a public key that could never verify is refused in one line, and a revoked account is refused', async () => {
  const words = ['operator', 'service-account', 'create', '--partner', partnerId, '--name', 'x', '--permissions', 'all']
  const ending = await run([...words, '--public-key', '/dev/null'], { ...env, LOG_LEVEL: 'warn' })
  assert.deepEqual([ending.code, ending.stdout], [1, ''])
  assert.equal(ending.stderr, 'operator: --public-key /dev/null: must be a public key in PEM (SPKI)\n')
  const second = await operator(...words.slice(1))
  const other = createClient(`http://127.0.0.1:${PORT}`, readCredentials(second))
  success(await other.get('/v1/accounts'))
  const id = second.serviceAccountId ?? ''
  assert.deepEqual(await operator('service-account', 'revoke', '--partner', partnerId, '--id', id), { revoked: id })
  await until('the revoked key is refused', async () => (await other.get('/v1/accounts')).status === 401)
})
