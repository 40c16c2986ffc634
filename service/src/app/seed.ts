/** The content of a fresh sandbox: a partner with money in three currencies and the credentials of a service account. */
import { readFileSync } from 'node:fs'
import { chmod, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ownJson, permissions } from '@partner-payments/wire'
import type { IssuedCredential } from '../access/index.ts'
import type { Service } from './compose.ts'
import { ConfigError, makeDataDir } from './config.ts'
import type { Currency } from '../kernel/index.ts'
import type { Database, Tx } from '../postgres/index.ts'
import { sandboxConnectorId } from '../rails/index.ts'

const openingBalanceMinor = 100_000_000n // 1,000,000.00
const openingCurrencies: readonly Currency[] = ['EUR', 'GBP', 'USD']

export const credentialsFile = (dataDir: string) => join(dataDir, 'sandbox-credentials.json')

/** Creates a partner with 1,000,000.00 in each of EUR, GBP and USD, and a service account with every permission. */
export async function createSandboxPartner(
  { access, deposits }: Pick<Service, 'access' | 'deposits'>,
  tx: Tx,
  name: string,
): Promise<IssuedCredential> {
  const partnerId = await access.createPartner(tx, name)
  for (const currency of openingCurrencies) {
    const money = { debit: `settlement.${sandboxConnectorId}` as const, currency, amount: openingBalanceMinor }
    await deposits.creditPartner(tx, partnerId, money)
  }
  return access.createServiceAccount(tx, { partnerId, name: `${name} service account`, permissions })
}

/**
 * Writes the sandbox's credentials file. Creates the partner if this database does not have the partner of the file, and updates the base
 * URL, which may change between starts. Returns the partner's id.
 */
export async function seedSandbox(service: Service, db: Database, dataDir: string, baseUrl: string): Promise<string> {
  makeDataDir(dataDir)
  const path = credentialsFile(dataDir)
  const existing = await readCredentials(path)
  const isValid = existing !== undefined && (await service.access.credential(existing.apiKey)) !== undefined
  const credentials = isValid
    ? existing
    : await db.transaction((tx) => createSandboxPartner(service, tx, 'Sandbox Partner'))
  const { partnerId, apiKey, apiSecret, privateKeyPem } = credentials
  const text = `${JSON.stringify({ baseUrl, partnerId, apiKey, apiSecret, privateKeyPem }, undefined, 2)}\n`
  await writeCredentials(path, text).catch((error: Error) => {
    throw new ConfigError(`DATA_DIR ${dataDir} cannot be used: ${error.message}`)
  })
  return partnerId
}

/** Reads the address at which the sandbox listens, or last listened, from its credentials file. */
export function sandboxAddress(dataDir: string): string | undefined {
  try {
    const { baseUrl } = ownJson<{ readonly baseUrl?: unknown }>(readFileSync(credentialsFile(dataDir), 'utf8'))
    return typeof baseUrl === 'string' ? baseUrl : undefined
  } catch {
    return undefined
  }
}

async function writeCredentials(path: string, text: string): Promise<void> {
  const draft = `${path}.new`
  await writeFile(draft, text, { mode: 0o600 })
  await chmod(draft, 0o600)
  await rename(draft, path)
}

async function readCredentials(path: string): Promise<IssuedCredential | undefined> {
  try {
    const parsed = ownJson<Partial<IssuedCredential>>(await readFile(path, 'utf8'))
    return typeof parsed.apiKey === 'string' ? (parsed as IssuedCredential) : undefined
  } catch {
    return undefined
  }
}
