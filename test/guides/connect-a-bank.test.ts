/** The description of a bank in the guide is read as it stands, and a production service pays and is paid over one. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type IsoBank, startIsoBank } from '../../examples/iso-bank/bank.ts'
import { isoBankSetting } from '../../examples/iso-bank/config.ts'
import { freePorts } from '../../scripts/ports.ts'
import { systemClock } from '../../service/src/kernel/index.ts'
import { isoSettings } from '../../service/src/banks/files/settings.ts'
import { type Client, createClient, type JsonObject } from '../support/client.ts'
import { createTestDatabase } from '../support/postgres.ts'
import { inheritedEnvironment, type Program, start, stop } from '../support/program.ts'
import { readCredentials } from '../support/service.ts'
import { secretByTwo, staffAtDesk } from '../support/staff.ts'
import { until } from '../support/until.ts'
import { balanceOf, createBeneficiary, createCustomer, payoutText, transactionOf } from '../support/world.ts'

const guide = readFileSync(new URL('../../docs/guides/connect-a-bank.md', import.meta.url), 'utf8')
const settingsFile = fileURLToPath(new URL('../../service/src/banks/files/settings.ts', import.meta.url))
const mainFile = fileURLToPath(new URL('../../service/src/main.ts', import.meta.url))

/** The JSON of the guide. */
function described(): readonly Record<string, unknown>[] {
  const [, json] = /```json\n(.*?)```/s.exec(guide) ?? []
  assert.ok(json, 'the guide has JSON')
  return JSON.parse(json) as readonly Record<string, unknown>[]
}

let folder: string
let bank: IsoBank
let program: Program
let database: Awaited<ReturnType<typeof createTestDatabase>>
let env: Readonly<Record<string, string>> & { readonly OPS_PORT: string }
let client: Client

const operator = async (...words: readonly string[]): Promise<JsonObject> => {
  const { stdout } = await promisify(execFile)(process.execPath, [mainFile, 'operator', ...words], { env })
  return JSON.parse(stdout) as JsonObject
}

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'connect-a-bank-'))
  mkdirSync(join(folder, 'archive'))
  bank = startIsoBank({ folder: join(folder, 'bank'), clock: systemClock })
  const { toBank, fromBank } = bank
  const banks = join(folder, 'banks.json')
  writeFileSync(banks, JSON.stringify([isoBankSetting({ kind: 'folder', toBank, fromBank }, folder)]))
  const [port = 0, opsPort = 0] = await freePorts(2)
  database = await createTestDatabase()
  env = {
    ...inheritedEnvironment,
    MODE: 'production',
    RAIL: 'iso20022',
    ISO20022_BANKS: banks,
    IBAN_ISSUERS: 'DE:50010517/INGDDEFFXXX:1-5000000',
    MASTER_KEY: randomBytes(32).toString('base64'),
    SMTP_URL: 'smtp://127.0.0.1:1',
    DATABASE_URL: database.url,
    DATA_DIR: join(folder, 'data'),
    PORT: String(port),
    OPS_PORT: String(opsPort),
    LOG_LEVEL: 'warn',
  }
  program = await start(['serve'], env)
  const desk = { opsUrl: `http://localhost:${opsPort}`, env, folder }
  const ada = await staffAtDesk(desk, { name: 'Ada', role: 'admin' })
  const grace = await staffAtDesk(desk, { name: 'Grace', role: 'admin', by: ada.as })
  const { partnerId } = await operator('partner', 'create', '--name', 'First Partner', ...ada.as)
  const permissions = ['--name', 'Back office', '--permissions', 'all']
  const words = ['service-account', 'create', '--partner', String(partnerId), ...permissions]
  const account = await secretByTwo(operator, [ada, grace], ...words)
  client = createClient(`http://127.0.0.1:${port}`, readCredentials({ ...account, partnerId: String(partnerId) }))
})
after(async () => {
  if (program) await stop(program)
  await database?.drop()
  bank?.close()
  rmSync(folder, { recursive: true, force: true })
})

test('the service reads the bank description of the guide', () => {
  const [own] = described()
  assert.ok(own)
  const { transport, ...rules } = own
  const key = join(folder, 'bank.key')
  writeFileSync(
    key,
    generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ type: 'pkcs1', format: 'pem' }),
  )
  const changed = { ...rules, transport: { ...(transport as object), privateKeyFile: key } }
  const [read] = isoSettings.ISO20022_BANKS.read(JSON.stringify([changed]))
  assert.equal(read?.id, 'iso20022')
  assert.equal(read.preferred, 'Instant')
  assert.equal(read.cutOffAt, 15 * 60 + 30)
  assert.equal(read.transport.kind, 'sftp')
})

test('the guide lists every field of the description', () => {
  const source = readFileSync(settingsFile, 'utf8')
  const [, list = ''] = /const bankFields = \[(.*?)\]/s.exec(source) ?? []
  const fields = [...list.matchAll(/'(\w+)'/g)].map(([, name]) => name ?? '')
  assert.ok(fields.length > 15)
  assert.deepEqual(
    fields.filter((name) => !guide.includes(`\`${name}\``)),
    [],
  )
})

test('in production a deposit arrives through the bank, and a payout is sent through it and completes', async () => {
  const { guid } = await createCustomer(client)
  const unverified = await client.post(`/v1/customers/${String(guid)}/account`)
  assert.equal(unverified.json['code'], 'customer_not_verified')
  const kyc = { dateOfBirth: '1990-12-10', addressLine1: '12 St James Square', city: 'London' }
  assert.equal((await client.put(`/v1/customers/${String(guid)}`, { kyc })).status, 200)
  const opened = await client.post(`/v1/customers/${String(guid)}/account`)
  assert.equal(opened.status, 200, opened.text)
  const money = { iban: String(opened.json['iban']), amount: 125_000n, currency: 'EUR' }
  bank.order({ order: 'credit', ...money, debtor: { name: 'Ada Lovelace' }, remittance: 'First money' })
  await until('the money has arrived', async () => {
    bank.step()
    return (await balanceOf(client)).posted === 125_000n
  })
  const { id } = await createBeneficiary(client, { customerId: String(guid) })
  const accepted = await client.post('/v1/payouts/fiat', payoutText(String(id), '12.50'))
  assert.equal(accepted.status, 200, accepted.text)
  const reference = String(accepted.json['reference'])
  await until('the payout has ended', async () => {
    bank.step()
    return (await transactionOf(client, reference)).status === 'Completed'
  })
  assert.equal((await balanceOf(client)).posted, 123_750n)
  assert.deepEqual(await operator('case', 'list'), [])
})
