/** Creates partners with the service's own verbs, and their beneficiaries through the API. */
import { createPrivateKey, generateKeyPairSync } from 'node:crypto'
import { join } from 'node:path'
import { permissions } from '@partner-payments/wire'
import { compose } from '../service/src/app/compose.ts'
import { readConfig } from '../service/src/app/config.ts'
import { createLog, systemClock } from '../service/src/kernel/index.ts'
import { createDatabase, type Database } from '../service/src/postgres/index.ts'
import { serviceEnv } from './children.ts'
import { type BenchPartner, signedHeaders } from './sign.ts'

const keys = generateKeyPairSync('rsa', { modulusLength: 2048 })
export const privateKeyPem = keys.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
export const publicKeyPem = keys.publicKey.export({ type: 'spki', format: 'pem' }).toString()

const floatMinor = 1_000_000_000_000n
const concurrency = 16

export type Account = Pick<BenchPartner, 'partnerId' | 'apiKey' | 'apiSecret'>

/** The service's own verbs on a database of the bench, without a server. */
export async function withService<T>(
  databaseUrl: string,
  dataDir: string,
  work: (service: ReturnType<typeof compose>, db: Database) => Promise<T>,
): Promise<T> {
  const config = readConfig({}, serviceEnv(databaseUrl, dataDir))
  const log = createLog(config.LOG_LEVEL)
  const db = createDatabase({ url: databaseUrl, connectionsMax: 4, log })
  try {
    return await work(compose({ config, db, clock: systemClock, log, mailboxFolder: join(dataDir, 'mailbox') }), db)
  } finally {
    await db.close()
  }
}

/** Partners with EUR 10,000,000,000 each, so that no payout is refused for insufficient funds. */
export const createPartners = (databaseUrl: string, dataDir: string, count: number): Promise<readonly Account[]> =>
  withService(databaseUrl, dataDir, async (service, db) => {
    const made: Account[] = []
    for (let index = 0; index < count; index += 1) {
      const account = await db.transaction(async (tx) => {
        const partnerId = await service.access.createPartner(tx, `Bench ${index}`)
        await service.deposits.creditPartner(tx, partnerId, {
          debit: 'settlement.sandbox',
          currency: 'EUR',
          amount: floatMinor,
        })
        return service.access.createServiceAccount(tx, { partnerId, name: 'bench', permissions, publicKeyPem })
      })
      made.push(account)
    }
    return made
  })

/** Creates a customer and a beneficiary for each account. */
export async function createBeneficiaries(
  port: number,
  accounts: readonly Account[],
): Promise<readonly BenchPartner[]> {
  const key = createPrivateKey(privateKeyPem)
  const post = async (account: Account, path: string, value: object) => {
    const body = JSON.stringify(value)
    const headers = await signedHeaders(account, key, { method: 'POST', path, body })
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
      method: 'POST',
      body,
      headers: { ...headers, 'Content-Type': 'application/json' },
    })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`POST ${path} answered ${answer.status}: ${text}`)
    return JSON.parse(text) as Record<string, string>
  }
  const partners: BenchPartner[] = []
  const waiting = [...accounts]
  const worker = async () => {
    for (let account = waiting.pop(); account; account = waiting.pop()) {
      const kyc = { fullName: 'Bench Customer', citizenshipCountryCode: 'NL' }
      const { guid = '' } = await post(account, '/v1/customers', { email: 'customer@example.com', kyc })
      const beneficiary = { customerId: guid, name: 'Bench Beneficiary', iban: 'NL91ABNA0417164300', currency: 'EUR' }
      const { id = '' } = await post(account, '/v1/beneficiaries', beneficiary)
      partners.push({ ...account, customerId: guid, beneficiaryId: id })
    }
  }
  await Promise.all(Array.from({ length: Math.min(concurrency, accounts.length) }, worker))
  return partners
}
