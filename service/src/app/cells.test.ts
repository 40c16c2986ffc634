/** Several databases behind one gateway: each issues IBANs from its own ranges. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { createTestDatabase } from '../../../test/support/postgres.ts'
import { readConfig } from './config.ts'
import { differingDefaults } from './derived-settings.ts'
import { composeModules } from './modules.ts'
import { createLog, randomBytes, systemClock } from '../kernel/index.ts'
import { createDatabase } from '../postgres/index.ts'

const log = createLog('silent')
const key = randomBytes(32).toString('base64')
const shared = { MASTER_KEY: key, IBAN_ISSUERS: 'DE:37040044:1-2000@one,DE:37040044:2001-4000@two,LT:10000@one' }
const closing: (() => Promise<void>)[] = []
after(async () => {
  for (const close of closing) await close()
})

async function startCell(cell: string) {
  const database = await createTestDatabase()
  const db = createDatabase({ url: database.url, connectionsMax: 4, log })
  closing.push(() => db.close().then(database.drop))
  const config = readConfig({}, { ...shared, CELL: cell })
  const { access, accounts, customers } = composeModules({ config, db, clock: systemClock, log })
  const partnerId = await db.transaction((tx) => access.createPartner(tx, 'Partner'))
  return async () => {
    const { id } = await customers.create(partnerId, { email: 'ada@example.com' })
    return (await accounts.create(partnerId, id)).ibans.map(({ iban }) => iban)
  }
}

test('two databases with the same issuers and different cells issue different IBANs', async () => {
  const [one, two] = [await startCell('one'), await startCell('two')]
  const issued = [await one(), await one(), await two(), await two()]
  assert.deepEqual(
    issued.map((ibans) => ibans.map((iban) => iban.slice(0, 2) + iban.slice(12))),
    [['DE0000000001', 'LT00000001'], ['DE0000000002', 'LT00000002'], ['DE0000002001'], ['DE0000002002']],
  )
  const all = issued.flat()
  assert.equal(new Set(all).size, all.length)
})

test('a sandbox issues IBANs of invented bank codes by default, and production has no default issuer', () => {
  assert.equal(readConfig({}, { MASTER_KEY: key }).IBAN_ISSUERS.length, 3)
  const production = { MODE: 'production', MASTER_KEY: key, SMTP_URL: 'smtp://mail.example.com' }
  assert.deepEqual(readConfig({}, production).IBAN_ISSUERS, [])
})

test('a sandbox with production defaults keeps its simulated systems and explicit settings', () => {
  const sandbox = readConfig({}, { MASTER_KEY: key })
  const strict = readConfig({}, { MASTER_KEY: key, SANDBOX_DEFAULTS: 'production' })
  assert.deepEqual([sandbox.CUSTOMER_MONEY, sandbox.KYC_GATES, sandbox.TWO_PERSONS], ['pooled', 'open', 'off'])
  assert.deepEqual([strict.CUSTOMER_MONEY, strict.KYC_GATES, strict.TWO_PERSONS], ['segregated', 'strict', 'on'])
  const kept = ['MODE', 'RAIL', 'SIMULATIONS', 'IBAN_ISSUERS', 'PAYEE_SCHEME', 'FX_RATES', 'IDENTITY_PROVIDER'] as const
  for (const name of kept) assert.deepEqual(strict[name], sandbox[name], name)
  const given = { MASTER_KEY: key, SANDBOX_DEFAULTS: 'production', CUSTOMER_MONEY: 'pooled' }
  assert.equal(readConfig({}, given).CUSTOMER_MONEY, 'pooled')
  const differing = differingDefaults().filter(({ isStandIn }) => !isStandIn)
  for (const { name } of differing) assert.notDeepEqual(strict[name as 'KYC_GATES'], sandbox[name as 'KYC_GATES'], name)
})
