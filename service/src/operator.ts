/**
 * The operator's commands. Each prints one JSON object on standard output. They use the database of the service and may
 * run while it runs.
 */
import { createPublicKey, type KeyObject } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { type Permission, permissions } from '@partner-payments/wire'
import type { Service } from './compose.ts'
import { ConfigError, type Config } from './config.ts'
import type { Database } from './postgres/index.ts'
import { createSandboxPartner } from './seed.ts'

const operatorUsage = `operator commands:
  operator partner create --name NAME
  operator service-account create --partner ID --name NAME --permissions a:read,b:write | all [--public-key FILE.pem]
  operator service-account revoke --partner ID --id ID
  operator impersonate --partner ID --staff NAME [--minutes 15]`

type Options = Readonly<Record<string, string | undefined>>

const rsaBitsMin = 2048
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

function required(options: Options, name: string): string {
  const value = options[name]
  if (value === undefined || value === '') throw new ConfigError(`operator: --${name} is required`)
  if (name !== 'partner' && name !== 'id') return value
  if (!uuid.test(value)) throw new ConfigError(`operator: --${name} must be a UUID`)
  // The API secret is sealed for the partner's id as the database returns it.
  return value.toLowerCase()
}

function readPermissions(text: string): readonly Permission[] {
  if (text === 'all') return permissions
  const requested = text.split(',').map((part) => part.trim())
  const unknown = requested.find((permission) => !(permissions as readonly string[]).includes(permission))
  if (unknown !== undefined)
    throw new ConfigError(`operator: no permission ${unknown}; there are ${permissions.join(', ')}`)
  return requested as Permission[]
}

/** Refuses a key of another kind, which would fail at every request. */
async function readPublicKey(file: string): Promise<string> {
  const refuse = (reason: string) => new ConfigError(`operator: --public-key ${file}: ${reason}`)
  const pem = await readFile(file, 'utf8').catch((error: Error) => {
    throw refuse(error.message)
  })
  if (!pem.includes('-----BEGIN PUBLIC KEY-----')) throw refuse('must be a public key in PEM (SPKI)')
  let key: KeyObject
  try {
    key = createPublicKey(pem)
  } catch {
    throw refuse('is not a well-formed public key')
  }
  if (key.asymmetricKeyType !== 'rsa' || (key.asymmetricKeyDetails?.modulusLength ?? 0) < rsaBitsMin)
    throw refuse(`must be an RSA key of ${rsaBitsMin} bits or more`)
  return pem
}

const commands = ['partner create', 'service-account create', 'service-account revoke', 'impersonate']

/** Throws a ConfigError for an unknown command, before a database is opened or created. */
export function requireCommand(args: readonly string[]): void {
  if (!commands.includes(parse(args).positionals.join(' '))) throw new ConfigError(operatorUsage)
}

/** Runs one command. Throws a ConfigError of one line if an argument is wrong. */
export async function runOperator(
  args: readonly string[],
  service: Service,
  db: Database,
  config: Config,
): Promise<object> {
  const { values, positionals } = parse(args)
  const { access } = service
  switch (positionals.join(' ')) {
    case 'partner create': {
      const name = required(values, 'name')
      if (config.MODE === 'sandbox') return db.transaction((tx) => createSandboxPartner(service, tx, name))
      return { partnerId: await db.transaction((tx) => access.createPartner(tx, name)) }
    }
    case 'service-account create': {
      const request = {
        partnerId: required(values, 'partner'),
        name: required(values, 'name'),
        permissions: readPermissions(required(values, 'permissions')),
      }
      const file = values['public-key']
      const publicKeyPem = file === undefined ? undefined : await readPublicKey(file)
      return db.transaction((tx) =>
        access.createServiceAccount(tx, { ...request, ...(publicKeyPem === undefined ? {} : { publicKeyPem }) }),
      )
    }
    case 'service-account revoke': {
      const [partnerId, id] = [required(values, 'partner'), required(values, 'id')]
      await db.transaction((tx) => access.revoke(tx, partnerId, id))
      return { revoked: id }
    }
    case 'impersonate': {
      const minutes = Number(values['minutes'] ?? '15')
      if (!Number.isInteger(minutes) || minutes < 1 || minutes > 60)
        throw new ConfigError('operator: --minutes is 1 to 60')
      const [partnerId, staff] = [required(values, 'partner'), required(values, 'staff')]
      return db.transaction((tx) => access.impersonate(tx, partnerId, staff, minutes))
    }
    default:
      throw new ConfigError(operatorUsage)
  }
}

function parse(args: readonly string[]): { readonly values: Options; readonly positionals: readonly string[] } {
  const string = { type: 'string' } as const
  const names = ['name', 'partner', 'permissions', 'public-key', 'id', 'staff', 'minutes']
  try {
    const options = Object.fromEntries(names.map((name) => [name, string]))
    return parseArgs({ args: [...args], allowPositionals: true, options }) as { values: Options; positionals: string[] }
  } catch (error) {
    throw new ConfigError(`operator: ${(error as Error).message}`)
  }
}
