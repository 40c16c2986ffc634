/** A complete production configuration: it starts, has no sandbox features, and names what is unavailable. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { test } from 'node:test'
import { createClient, success, textAt } from '../support/client.ts'
import { atEnd, untilEnd, useDatabase, useFolder } from '../support/fixture.ts'
import { mailServer } from '../support/mail-server.ts'
import { assertProblem } from '../support/problem.ts'
import { assertRefusal, freePortSettings, linesOf, run, start, stop } from '../support/program.ts'
import { readCredentials } from '../support/service.ts'
import { secretByTwo, staffAtDesk } from '../support/staff.ts'
import { until } from '../support/until.ts'
import { createBeneficiary, createCustomer, invitee, listAll, payoutText } from '../support/world.ts'

const dataDir = await useFolder()
const database = await useDatabase()
const mails = untilEnd(await mailServer())
const ports = await freePortSettings()
const url = `http://127.0.0.1:${ports.PORT}`
const env = {
  MODE: 'production',
  MASTER_KEY: randomBytes(32).toString('base64'),
  SMTP_URL: mails.url,
  DATABASE_URL: database.url,
  DATA_DIR: dataDir,
  ...ports,
}
const desk = { opsUrl: `http://localhost:${ports.OPS_PORT}`, env, folder: await useFolder() }

const operator = async (...words: readonly string[]): Promise<Record<string, string>> => {
  // Log lines of level info would mix with the error that a test reads.
  const ending = await run(['operator', ...words], { ...env, LOG_LEVEL: 'warn' })
  assert.equal(ending.code, 0, ending.stderr)
  return JSON.parse(ending.stdout) as Record<string, string>
}

const service = await start(['serve'], env)
atEnd(async () => assert.equal((await stop(service)).code, 0))
const refused = await run(['operator', 'partner', 'create', '--name', 'First Partner', '--staff', 'Sam'], env)
assert.match(refused.stderr, /^operator: sign in first: .*; the first account: staff invite/)
const ada = await staffAtDesk(desk, { name: 'Ada', role: 'admin' })
const admins = [ada, await staffAtDesk(desk, { name: 'Grace', role: 'admin', by: ada.as })] as const
const made = await operator('partner', 'create', '--name', 'First Partner', ...ada.as)
assert.deepEqual(Object.keys(made), ['partnerId'], 'a partner has no credentials before its first service account')
const { partnerId = '' } = made
const account = ['--partner', partnerId, '--name', 'Back office', '--permissions', 'all']
const client = createClient(
  url,
  readCredentials(await secretByTwo(operator, admins, 'service-account', 'create', ...account)),
)

test('production writes no credentials, key or mail to disk', async () => {
  assert.deepEqual(await readdir(dataDir), [])
  assert.doesNotMatch(service.stdout(), /credentials/)
  assert.ok(linesOf(service.stdout()).length < 10)
})

test('404 for simulations', async () => {
  const customerId = textAt(await createCustomer(client), 'guid')
  const deposit = { customerId, amount: 5, currency: 'EUR', outcome: 'completed' }
  assert.equal((await client.post('/v1/simulations/deposits', deposit)).status, 404)
})

test('the reference documents no simulation and cannot try requests out', async () => {
  const read = async (path: string) => (await fetch(`${url}${path}`)).text()
  const document = JSON.parse(await read('/openapi.json')) as { readonly paths: Readonly<Record<string, object>> }
  const paths = Object.keys(document.paths)
  assert.ok(paths.includes('/v1/payouts/fiat'))
  assert.deepEqual(
    paths.filter((path) => path.startsWith('/v1/simulations')),
    [],
  )
  assert.doesNotMatch(await read('/docs'), /id="credentials"|\/docs\/sandbox/)
})

test('422 with the reason for a payout without a connected bank, and nothing is stored', async () => {
  const beneficiary = textAt(await createBeneficiary(client), 'id')
  const answer = await client.post('/v1/payouts/fiat', payoutText(beneficiary, '5.00'))
  assertProblem(answer, { status: 422, code: 'currency_not_supported' })
  assert.match(textAt(answer.json, 'detail'), /No bank is connected/)
  assert.deepEqual(await listAll(client, '/v1/payouts'), [])
  assert.deepEqual(await listAll(client, '/v1/transactions'), [])
})

test('422 when an account is created without an issuer of IBANs, and nothing is issued', async () => {
  const path = `/v1/customers/${textAt(await createCustomer(client), 'guid')}/account`
  assertProblem(await client.post(path), { status: 422, code: 'iban_issuer_not_configured' })
  assert.equal((await client.get(path)).status, 404)
})

test('400 for a webhook by http or to this machine', async () => {
  for (const url of ['http://127.0.0.1:9/hook', 'https://127.0.0.1:9/hook', 'http://example.com/hook']) {
    const answer = await client.post('/v1/webhooks', { url, events: ['transaction.status.changed'] })
    assert.equal(answer.status, 400, `${url}: ${answer.text}`)
  }
})

test('an invitation is sent by mail', async () => {
  success(await client.post('/v1/users/invitations', { invitations: [invitee()] }))
  await until('the mail', () => mails.received.length === 1)
})

test('an invalid public key is refused with one line, and a revoked service account is refused', async () => {
  const words = ['operator', 'service-account', 'create', '--partner', partnerId, '--name', 'x', '--permissions', 'all']
  const ending = await run([...words, '--public-key', '/dev/null', ...ada.as], { ...env, LOG_LEVEL: 'warn' })
  assertRefusal(ending, 'operator: --public-key /dev/null: must be a public key in PEM (SPKI)')
  const second = await secretByTwo(operator, admins, ...words.slice(1))
  const other = createClient(url, readCredentials(second))
  success(await other.get('/v1/accounts'))
  const id = String(second['serviceAccountId'])
  const revoke = ['service-account', 'revoke', '--partner', partnerId, '--id', id, '--yes', ...ada.as]
  assert.deepEqual(await operator(...revoke), { revoked: id })
  await until('the revoked key is refused', async () => (await other.get('/v1/accounts')).status === 401)
})
