/** Runs the code of the README of the SDK, and the corrected clock of the SDK, against the service. */
import assert from 'node:assert/strict'
import { type RetryLog, ConflictError, PermissionError, createClient } from '@partner-payments/sdk'
import { readCredentials } from '../support/service.ts'
import { programOf } from './extract.ts'
import { assertLine, guideTests, runTypeScript } from './run.ts'

const readme = new URL('../../sdk/README.md', import.meta.url)

const test = guideTests(import.meta.url)

test('the code of the README runs', async (service) => {
  const runs = await runTypeScript(service, programOf(readme, 'ts', 9))
  assertLine(runs, /^payout 12\.50 EUR Pending, IBANs$/)
  assertLine(runs, /^replayed: true, true$/)
  assertLine(runs, /^found the customer$/)
  assertLine(runs, /^refused: insufficient_funds$/)
  assertLine(runs, /^not found: request true$/)
  assertLine(runs, /^invalid: \/email$/)
  assertLine(runs, /^with options: 1\.00$/)
  assertLine(runs, /^log: GET \/v1\/accounts 1, 200 ok true$/)
  assertLine(runs, /^verified partner\.customer\.deposit\.completed 100\.00$/)
  assertLine(runs, /^same event: true$/)
})

for (const skewMs of [-3_600_000, 3_600_000]) {
  test(`a client whose clock is wrong by ${skewMs} ms corrects it by the Date of the service`, async (service) => {
    const retries: RetryLog[] = []
    const client = createClient({
      ...service.credentials,
      baseUrl: service.baseUrl,
      now: () => Date.now() + skewMs,
      hooks: { onRetry: (log) => retries.push(log) },
    })
    await client.customers.create({ email: 'clock@example.com' })
    await client.accounts.list()
    assert.deepEqual(
      retries.map(({ reason, operation }) => [reason, operation]),
      [['timestamp_out_of_window', 'createCustomer']],
    )
  })
}

test('listAll returns every customer of the service once, over several pages', async (service) => {
  const client = createClient({ ...service.credentials, baseUrl: service.baseUrl })
  const email = 'pages@example.com'
  const created: string[] = []
  for (let count = 0; count < 5; count += 1) created.push((await client.customers.create({ email })).guid)
  const all = client.customers.listAll({ email, limit: 2 })
  const guids = (await Array.fromAsync(all)).map(({ guid }) => guid)
  assert.deepEqual(guids, created.toReversed())
  assert.equal((await Array.fromAsync(all.pages())).length, 3)
})

test('refusals of the service have the class of their status and the request id of the caller', async (service) => {
  const client = createClient({ ...service.credentials, baseUrl: service.baseUrl })
  const invitation = {
    email: 'twice@example.com',
    fullName: 'T',
    role: 'Operator',
    redirectUrl: 'https://a.example',
  } as const
  await client.users.createInvitations({ invitations: [invitation] })
  await assert.rejects(
    client.users.createInvitations({ invitations: [invitation] }, { requestId: 'mine-1' }),
    (error) => error instanceof ConflictError && error.code === 'invitation_exists' && error.requestId === 'mine-1',
  )
  const account = ['--partner', service.credentials.partnerId, '--name', 'Reader', '--permissions', 'accounts:read']
  const reader = await service.operator('service-account', 'create', ...account)
  const limited = createClient({ ...readCredentials(reader), baseUrl: service.baseUrl })
  await limited.accounts.list()
  await assert.rejects(limited.customers.list(), PermissionError)
})
