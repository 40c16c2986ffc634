/** The operator's commands that list, rotate and expire credentials, and that seal all values under a new master key. */
import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createLog, createSealer, tokenHash } from '../../service/src/kernel/index.ts'
import { sealedForms } from '../../service/src/people/sign-in/index.ts'
import { sealedUploads } from '../../service/src/people/users/index.ts'
import { pendingSecretContext } from '../../service/src/people/users/store-entrances.ts'
import { newToken } from '../../service/src/people/users/service.ts'
import { sealedPayers } from '../../service/src/banks/files/index.ts'
import { createDatabase, sql } from '../../service/src/postgres/index.ts'
import { type Client, createClient, type JsonObject, listAt, success, textAt } from '../support/client.ts'
import { atEnd, untilEnd, useDatabase, useFolder } from '../support/fixture.ts'
import { linkBody } from '../support/late-payments.ts'
import { runOperator } from '../support/operator.ts'
import { pluck } from '../support/pluck.ts'
import { assertRefusal, freePortSettings, linesOf, start, stop } from '../support/program.ts'
import { readCredentials } from '../support/service.ts'
import { joinByToken } from '../support/team.ts'
import { until } from '../support/until.ts'
import { createCustomer, invitee, payoutText, setSingleSignOn } from '../support/world.ts'

const sanctions = fileURLToPath(new URL('../../service/src/screening/samples/un.xml', import.meta.url))
const folder = await useFolder()
const database = await useDatabase()
const db = untilEnd(createDatabase({ url: database.url, connectionsMax: 1, log: createLog('silent') }))
const [oldKey, newKey] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64')]
// An unreachable mail server keeps the sealed token of an invitation in the queue.
const shared = { DATA_DIR: folder, DATABASE_URL: database.url, SMTP_URL: 'smtp://127.0.0.1:1' }
const env = { ...shared, ...(await freePortSettings()) }
let service = await start(['serve'], { ...env, MASTER_KEY: oldKey })
atEnd(() => stop(service))

async function operatorRun(words: string, masterKey = oldKey) {
  // Without PORT, because a command prints the port at which the service listens.
  const ending = await runOperator(words.split(' '), { ...shared, MASTER_KEY: masterKey })
  assert.equal(ending.code, 0, `${words}: ${ending.stderr}`)
  assert.deepEqual({ stderr: ending.stderr, lines: linesOf(ending.stdout).length }, { stderr: '', lines: 1 }, words)
  return JSON.parse(ending.stdout) as unknown
}
const operator = async (words: string, masterKey?: string) => (await operatorRun(words, masterKey)) as JsonObject
const list = async (words: string) => (await operatorRun(words)) as readonly JsonObject[]
const create = (name: string) =>
  operator(`service-account create --partner ${partnerId} --name ${name} --permissions all`)
const partnerId = String((await operator('partner create --name Second')).partnerId)
const account = await create('Till')
/** Creates a client from a printed credential, which has the address of its API. */
const clientOf = (credentials: JsonObject): Client =>
  createClient(String(credentials.baseUrl), readCredentials(credentials))
const statusOf = async (credentials: JsonObject) => (await clientOf(credentials).get('/v1/accounts')).status
const listed = async (id: unknown) =>
  (await list(`service-account list --partner ${partnerId}`)).find((row) => row.serviceAccountId === id)
const refused = async (words: string, line: RegExp) =>
  assertRefusal(await runOperator(words.split(' '), { ...env, MASTER_KEY: oldKey }), line)

test('the lists show partners and credentials with their last use, and no secret', async () => {
  assert.equal((await listed(account.serviceAccountId))?.lastUsedAt, null)
  assert.equal(await statusOf(account), 200)
  await until('the last use', async () => {
    const rows = await db.rows(sql`select 1 from access.service_accounts where last_used_at is not null`)
    return rows.length > 0
  })
  const row = await listed(account.serviceAccountId)
  const { name, apiKey, status, expiresAt, revokedAt } = row ?? {}
  assert.deepEqual(
    { name, apiKey, status, expiresAt, revokedAt },
    { name: 'Till', apiKey: account.apiKey, status: 'valid', expiresAt: null, revokedAt: null },
  )
  const partner = (await list('partner list')).find((other) => other.partnerId === partnerId)
  assert.deepEqual(
    { name: partner?.name, lastUsedAt: partner?.lastUsedAt },
    { name: 'Second', lastUsedAt: row?.lastUsedAt },
  )
  assert.equal(partner?.serviceAccounts, 2)
  assert.doesNotMatch(JSON.stringify([row, partner]), /secret|private/i)
  await refused('service-account list --partner 00000000-0000-7000-8000-000000000000', /^No such partner\.$/m)
})

test('after a rotation both keys work until the old one ends, and the new key has the same permissions', async () => {
  const rotated = await operator(
    `service-account rotate --partner ${partnerId} --yes --id ${textAt(account, 'serviceAccountId')}`,
  )
  assert.equal(await statusOf(account), 200)
  assert.equal(await statusOf(rotated), 200)
  const [old, fresh] = [await listed(account.serviceAccountId), await listed(rotated.serviceAccountId)]
  assert.equal(fresh?.replaces, account.serviceAccountId)
  assert.deepEqual([fresh?.name, fresh?.permissions], [old?.name, old?.permissions])
  assert.equal(old?.expiresAt, rotated.oldExpiresAt)
  const hours = (Date.parse(String(old?.expiresAt)) - Date.now()) / 3_600_000
  assert.ok(hours > 23.9 && hours <= 24, String(hours))
  const again = await operator(
    `service-account rotate --partner ${partnerId} --yes --id ${textAt(rotated, 'serviceAccountId')} --overlap-hours 0`,
  )
  await until('the old key is refused', async () => (await statusOf(rotated)) === 401)
  assert.equal(await statusOf(again), 200)
  const ended = textAt(rotated, 'serviceAccountId')
  await refused(`service-account rotate --partner ${partnerId} --yes --id ${ended}`, /^No such service account\.$/m)
})

test('a service account expires at the given time, and a partner with all its credentials', async () => {
  const till = await create('Ending')
  const id = textAt(till, 'serviceAccountId')
  const at = new Date(Date.now() + 3_600_000).toISOString()
  await operator(`service-account expire --partner ${partnerId} --yes --id ${id} --at ${at}`)
  assert.equal((await listed(id))?.expiresAt, at)
  assert.equal(await statusOf(till), 200)
  const past = '--yes --at 2020-01-01T00:00:00Z'
  for (const words of [`service-account expire --id ${id}`, 'partner expire'])
    await refused(`${words} --partner ${partnerId} ${past}`, /--at is in the past .+ leave it out to end them at once/)
  assert.equal((await listed(id))?.expiresAt, at)
  await operator(`service-account expire --partner ${partnerId} --yes --id ${id}`)
  await until('the key is refused', async () => (await statusOf(till)) === 401)

  const rotated = await list(`partner rotate --partner ${partnerId} --yes`)
  assert.ok(rotated.length >= 2)
  for (const credentials of rotated) assert.equal(await statusOf(credentials), 200)
  const expired = await operator(`partner expire --partner ${partnerId} --yes`)
  assert.ok(Number(expired.credentials) >= 4)
  for (const credentials of rotated)
    await until('every key is refused', async () => (await statusOf(credentials)) === 401)
})

const checkout = (customerId: string) =>
  `{"amount":10.00,"currency":"EUR","customerId":"${customerId}","idempotencyKey":"${randomUUID()}"}`

/** Creates a wallet, which has sealed chain keys, and a token payout, which has sealed data of payer and payee. */
async function payTokens(client: Client): Promise<void> {
  const wallet = success(await client.post('/v1/wallets', { currency: 'USDC' }))
  const deposit = `{"amount":5.00,"confirmations":4}`
  success(await client.post(`/v1/simulations/wallets/${textAt(wallet, 'id')}/deposits`, deposit))
  await until('tokens have arrived', async () => {
    const balances = listAt(success(await client.get('/v1/accounts')))
    return balances.some(({ currency, available }) => currency === 'USDC' && Number(available) >= 1)
  })
  const address = '0x52908400098527886e0f7030069857d2e4169ee7'
  const payee = { name: 'Grace Hopper', walletAddress: address, currency: 'USDC' }
  const beneficiary = success(await client.post('/v1/beneficiaries', payee))
  const payout = payoutText(textAt(beneficiary, 'id'), '1.00', { currency: 'USDC' })
  success(await client.post('/v1/payouts/token', payout))
  await until('the payout is instructed', async () => {
    const rows = await db.rows(sql`select 1 from rails.chain_transfers`)
    return rows.length > 0
  })
}

/** Starts a verification, and waits until the provider has accepted it. Its sealed content stays from then on. */
async function verifyIdentity(client: Client, customer: string): Promise<void> {
  const path = `/v1/customers/${customer}/verifications`
  const started = textAt(success(await client.post(path, { kinds: ['Document'] })), 'id')
  await until('the verification has an address', async () => 'url' in success(await client.get(`${path}/${started}`)))
}

/** Accepts an invitation. The test sets its token, because no mail is delivered. */
async function joinTeam(client: Client): Promise<void> {
  const sent = success(await client.post('/v1/users/invitations', { invitations: [invitee()] }))
  const [invitation = {}] = listAt(sent, 'invitations')
  const token = newToken(partnerId)
  await db.run(sql`
    update users.invitations set token_hash = ${tokenHash(token)} where id = ${textAt(invitation, 'inviteId')}`)
  await joinByToken(String(account.baseUrl), token)
}

/** Stores an instruction of a file-based bank with a sealed payer. */
async function keepPayer(): Promise<void> {
  const id = randomUUID()
  const sealer = createSealer([Buffer.from(oldKey, 'base64')])
  const payer = sealer.seal(
    '{}',
    sealedPayers.contextOf(partnerId, () => id),
  )
  await db.run(sql`
    insert into rails.iso_instructions (partner_id, id, connector, end_to_end_id, currency, amount, creditor_name, creditor_account,
      payer_sealed, scheme_requested, scheme_applied, status, attempt, due_at, created_at, updated_at)
    values (${partnerId}, ${id}, 'iso20022', ${id}, 'EUR', 100, 'Grace Hopper', 'DE89370400440532013000', ${payer}, 'CreditTransfer',
      'CreditTransfer', 'Queued', 1, now(), now(), now())`)
}

/** Stores a form that was sent after its session had ended, and an uploaded file that was not sent yet. */
async function keepFormAndUpload(): Promise<void> {
  const id = randomUUID()
  const sealer = createSealer([Buffer.from(oldKey, 'base64')])
  const [form, content] = [sealedForms, sealedUploads].map(({ contextOf }) =>
    sealer.seal(
      '{}',
      contextOf(partnerId, () => id),
    ),
  )
  await db.run(sql`
    insert into sign_in.kept_forms (partner_id, id, member_id, device_hash, form_sealed, expires_at)
    values (${partnerId}, ${id}, ${id}, ${randomBytes(32)}, ${form}, now() + interval '1 hour')`)
  await db.run(sql`
    insert into users.uploads (partner_id, id, member_id, kind, content_sealed, revision, created_at, updated_at, expires_at)
    values (${partnerId}, ${id}, ${id}, 'Bulk', ${content}, 1, now(), now(), now() + interval '1 hour')`)
}

/** Stores a change of single sign-on that needs a second Admin, with its sealed client secret. */
async function keepWaitingChange(): Promise<void> {
  const secret = createSealer([Buffer.from(oldKey, 'base64')]).seal('secret', pendingSecretContext(partnerId))
  await db.run(sql`
    insert into users.single_sign_on_changes (partner_id, id, settings, client_secret_sealed, proposed_by, proposed_by_name, proposed_at,
      expires_at)
    values (${partnerId}, ${randomUUID()}, '{}', ${secret}, ${randomUUID()}, 'Ann Admin', now(), now() + interval '1 hour')`)
}

test('after key reseal the old master key can be removed, and every sealed value opens', async () => {
  const till = await create('Sealed')
  const client = clientOf(till)
  const kyc = { fullName: 'Boris Tremurov', city: 'Lovelace' }
  const customer = await createCustomer(client, { kyc })
  const renamed = textAt(await createCustomer(client), 'guid')
  success(await client.put(`/v1/customers/${renamed}`, { kyc: { fullName: 'Joan Clarke' } }))
  success(await client.post('/v1/users/invitations', { invitations: [invitee()] }))
  await joinTeam(client)
  await setSingleSignOn(client)
  await keepWaitingChange()
  await keepPayer()
  await keepFormAndUpload()
  await operatorRun(`partner owners set --partner ${partnerId} --owners Joan`)
  const hook = { url: 'https://example.com/hook', events: ['transaction.status.changed'] }
  const sent = { method: 'POST', target: '/v1/webhooks', body: JSON.stringify(hook) }
  const once = { ...sent, headers: { 'Idempotency-Key': randomUUID() } }
  const answer = success(await client.send(once))
  const session = success(await client.post('/v1/checkout/sessions', checkout(textAt(customer, 'guid'))))
  const link = success(await client.post('/v1/checkout/links', linkBody(textAt(customer, 'guid'))))
  await verifyIdentity(client, renamed)
  await payTokens(client)
  await operatorRun(`screening load --from ${sanctions} --staff Sam`)
  await until('the customer is a hit', async () => (await db.rows(sql`select 1 from screening.hits`)).length > 0)
  await stop(service)
  service = await start(['serve'], { ...env, MASTER_KEY: `${newKey},${oldKey}` })
  const both = `${newKey},${oldKey}`
  const before = (await operatorRun('key list', both)) as readonly JsonObject[]
  assert.deepEqual(pluck(before, 'use'), ['opens', 'seals'])
  const columns = await db.rows<{ readonly name: string }>(sql`
    select table_schema || '.' || table_name || '.' || column_name as name from information_schema.columns
    where column_name like '%\_sealed' order by 1`)
  const names = columns.map(({ name }) => name)
  const values = before[0]?.values as Record<string, number>
  assert.deepEqual(Object.keys(values).toSorted(), names, 'every sealed column has a value before the command')

  const { resealed, forgottenKeys } = await operator('key reseal', both)
  assert.deepEqual(resealed, values)
  assert.deepEqual(forgottenKeys, [before[0]?.keyId])
  const again = (await operator('key reseal', both)).resealed as Readonly<Record<string, number>>
  assert.deepEqual(again, Object.fromEntries(names.map((name) => [name, 0])))

  await stop(service)
  service = await start(['serve'], { ...env, MASTER_KEY: newKey })
  const shown = success(await client.get(`/v1/customers/${textAt(customer, 'guid')}`))
  assert.match(JSON.stringify(shown), /Lovelace/)
  assert.deepEqual(success(await client.send(once)), answer)
  const { url } = success(await client.get(`/v1/checkout/sessions/${textAt(session, 'sessionId')}`))
  assert.equal(url, session.url)
  const shownLink = success(await client.get(`/v1/checkout/links/${textAt(link, 'linkId')}`))
  assert.equal(shownLink.url, link.url)
  assert.equal(await statusOf(till), 200)
  const afterwards = (await operatorRun('key list', newKey)) as readonly JsonObject[]
  assert.deepEqual(Object.keys(afterwards[0]?.values as object).toSorted(), names)
  await refused('key list', /^MASTER_KEY does not open this database/)
})
