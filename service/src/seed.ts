/** What a fresh sandbox holds: a partner with money in three currencies, and the credentials of a service account. */
import { chmod, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { permissions } from '@partner-payments/wire'
import type { IssuedCredential } from './access/index.ts'
import type { Service } from './compose.ts'
import { ConfigError } from './config.ts'
import type { Currency } from './kernel/index.ts'
import type { Database, Tx } from './postgres/index.ts'

const floatMinor = 100_000_000n // 1,000,000.00
const floatCurrencies: readonly Currency[] = ['EUR', 'GBP', 'USD']

export const credentialsFile = (dataDir: string) => join(dataDir, 'sandbox-credentials.json')

/** A partner with 1,000,000.00 in each of EUR, GBP and USD, and a service account that may do everything. */
export async function createSandboxPartner(
  { access, deposits }: Service,
  tx: Tx,
  name: string,
): Promise<IssuedCredential> {
  const partnerId = await access.createPartner(tx, name)
  for (const currency of floatCurrencies) await deposits.bookOwn(tx, partnerId, currency, floatMinor)
  return access.createServiceAccount(tx, { partnerId, name: `${name} service account`, permissions })
}

/**
 * Keeps the sandbox's credentials file true: makes the partner where this database does not know the one in the file,
 * and rewrites the address, which may differ from start to start. The file is complete or not there (rename).
 */
export async function seedSandbox(service: Service, db: Database, dataDir: string, baseUrl: string): Promise<void> {
  const path = credentialsFile(dataDir)
  const kept = await readCredentials(path)
  const known = kept !== undefined && (await service.access.credential(kept.apiKey)) !== undefined
  const credentials = known ? kept : await db.transaction((tx) => createSandboxPartner(service, tx, 'Sandbox Partner'))
  const { partnerId, apiKey, apiSecret, privateKeyPem } = credentials
  const text = `${JSON.stringify({ baseUrl, partnerId, apiKey, apiSecret, privateKeyPem }, undefined, 2)}\n`
  await writeCredentials(path, text).catch((error: Error) => {
    throw new ConfigError(`DATA_DIR ${dataDir} cannot be used: ${error.message}`)
  })
}

async function writeCredentials(path: string, text: string): Promise<void> {
  const draft = `${path}.new`
  await writeFile(draft, text, { mode: 0o600 })
  await chmod(draft, 0o600)
  await rename(draft, path)
}

async function readCredentials(path: string): Promise<IssuedCredential | undefined> {
  try {
    const parsed = JSON.parse(await readFile(path, 'utf8')) as Partial<IssuedCredential>
    return typeof parsed.apiKey === 'string' ? (parsed as IssuedCredential) : undefined
  } catch {
    return undefined
  }
}
