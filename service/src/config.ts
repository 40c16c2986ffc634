/**
 * The configuration: one table, read once, checked at start, printed redacted. The only reader of `process.env`.
 * `docs/configuration.md` is generated from it.
 */
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { type Limits, limitNames, readProxy } from './delivery/index.ts'
import { type LogLevel, logLevels, masterKeyBytes, randomBytes, secondMs } from './kernel/index.ts'
import { readMailbox, smtpTransport } from './mail/index.ts'

export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

type Variable<T> = {
  /** As the document shows it. */
  readonly default: string
  readonly what: string
  readonly secret?: true
  /** Throws a plain Error with the reason. `undefined` is the variable that is not set. */
  readonly read: (text: string | undefined, mode: Mode) => T
}
export type Mode = 'sandbox' | 'production'

const fail = (reason: string): never => {
  throw new Error(reason)
}
const integer = (min: number, max: number, byDefault: number) => (text: string | undefined) => {
  if (text === undefined) return byDefault
  const value = Number(text)
  return /^\d+$/.test(text) && value >= min && value <= max
    ? value
    : fail(`must be a whole number from ${min} to ${max}`)
}
const oneOf =
  <T extends string>(values: readonly T[], byDefault: T) =>
  (text: string | undefined): T =>
    text === undefined
      ? byDefault
      : (values.find((value) => value === text) ?? fail(`must be one of ${values.join(', ')}`))
const onOff = (byDefault: 'on' | 'off') => (text: string | undefined) => oneOf(['on', 'off'], byDefault)(text) === 'on'
const url = (protocols: readonly string[]) => (text: string | undefined) => {
  if (text === undefined) return undefined
  const parsed = URL.canParse(text) ? new URL(text) : fail(`must be a URL of ${protocols.join(' or ')}`)
  return protocols.includes(parsed.protocol.slice(0, -1))
    ? text
    : fail(`must begin with ${protocols.map((p) => `${p}://`).join(' or ')}`)
}
const text = (byDefault: string) => (value: string | undefined) => value ?? byDefault
const keys = (value: string | undefined) =>
  value === undefined
    ? undefined
    : value.split(',').map((part) => {
        const key = Buffer.from(part.trim(), 'base64')
        return key.length === masterKeyBytes
          ? key
          : fail(
              `must be ${masterKeyBytes} bytes in Base64 (openssl rand -base64 32); several are separated by commas, the first one seals`,
            )
      })
/** A developer who mends a receiver does not wait an hour for the next attempt: 12 attempts in about an hour. */
const sandboxRetryDelaysMs = [1, 2, 5, 15, 30, 60, 120, 300, 600, 1200, 1800].map((seconds) => seconds * secondMs)

/** Undefined: the schedule of the module that delivers. */
const retryDelays = (value: string | undefined, mode: Mode): readonly number[] | undefined =>
  value === undefined
    ? mode === 'sandbox'
      ? sandboxRetryDelaysMs
      : undefined
    : value
        .split(',')
        .map((part) =>
          /^\d{1,9}$/.test(part.trim()) ? Number(part) : fail('must be milliseconds separated by commas'),
        )

const webhookLimits = (value: string | undefined): Partial<Limits> => {
  const pairs = (value ?? '').split(',').flatMap((part) => {
    if (part.trim() === '') return []
    const [, name, number] = /^\s*(\w+)\s*=\s*([1-9]\d{0,14})\s*$/.exec(part) ?? []
    const known = limitNames.find((one) => one === name)
    return known === undefined
      ? fail(`must be name=value, the names being ${limitNames.join(', ')}, the values whole numbers from 1 on`)
      : [[known, Number(number)] as const]
  })
  return Object.fromEntries(pairs)
}

const mailbox = (byDefault: string) => (value: string | undefined) =>
  readMailbox(value ?? byDefault) ? (value ?? byDefault) : fail('must be `Name <address@domain>` or `address@domain`')
/** The transport itself judges its URL, so that what passes here is what it takes. It connects to nothing yet. */
const mailServer = (value: string | undefined) => {
  if (value !== undefined) smtpTransport(value)
  return value
}
const egressProxy = (value: string | undefined) =>
  value === undefined
    ? undefined
    : (readProxy(value) ?? fail('must be `http://` or `https://`, a host, and at most credentials and a port'))

const portMax = 65_535
/** More than the cores of any machine this was tried on; what is above is a slip of the finger. */
const coresMax = 128

export const variables = {
  MODE: {
    default: 'sandbox',
    what: '`sandbox` or `production`. Production refuses to start with what only a sandbox may have',
    read: oneOf(['sandbox', 'production'], 'sandbox'),
  },
  HOST: { default: '127.0.0.1', what: 'Address to listen on', read: text('127.0.0.1') },
  PORT: { default: '8080', what: 'Port of the API; 0 takes a free one', read: integer(0, portMax, 8080) },
  OPS_HOST: { default: '127.0.0.1', what: 'Address of the operations port', read: text('127.0.0.1') },
  OPS_PORT: {
    default: 'PORT + 1',
    what: 'Port of `/healthz`, `/readyz` and `/metrics`; 0 takes a free one',
    read: integer(0, portMax, -1),
  },
  PUBLIC_URL: {
    default: 'http://HOST:PORT',
    what: 'Where partners reach the API; written into the sandbox credentials',
    read: url(['http', 'https']),
  },
  DATA_DIR: {
    default: '.data',
    what: 'Folder of the embedded database, the sandbox keys and the sandbox mailbox',
    read: (value) => resolve(value ?? '.data'),
  },
  DATABASE_URL: {
    default: 'embedded',
    what: 'Any PostgreSQL >= 15 instead of the embedded one',
    secret: true,
    read: url(['postgres', 'postgresql']),
  },
  PROCESSES: {
    default: '1',
    what: 'Roles `serve`, `api`, `gateway`: processes that answer requests on PORT; from 2 on beside the one that starts them. Also `--processes N`. RATE_* and DATABASE_CONNECTIONS_MAX are of each',
    read: integer(1, coresMax, 1),
  },
  DATABASE_CONNECTIONS_MAX: { default: '20', what: 'Connections of each process', read: integer(2, 1000, 20) },
  DATABASE_SHARDED: { default: 'off', what: '`on`: sharded by partner (Citus): a batch is of one', read: onOff('off') },
  MASTER_KEY: {
    default: 'made in DATA_DIR (sandbox)',
    what: 'Seals secrets and KYC data: 32 bytes in Base64. Several, separated by commas, rotate it: the first seals, all open',
    secret: true,
    read: keys,
  },
  LOG_LEVEL: {
    default: 'info; warn in a sandbox',
    what: 'Logs go to standard error as JSON lines',
    read: (value, mode): LogLevel => oneOf(logLevels, mode === 'sandbox' ? 'warn' : 'info')(value),
  },
  TIMESTAMP_WINDOW_SECONDS: {
    default: '300',
    what: 'How far a Timestamp may be from now, either way',
    read: integer(30, 3600, 300),
  },
  RATE_PER_SECOND: {
    default: '100',
    what: 'Requests a second of a service account, in each process',
    read: integer(1, 1_000_000, 100),
  },
  RATE_BURST: {
    default: '1000',
    what: 'Requests at once of a service account, in each process',
    read: integer(1, 10_000_000, 1000),
  },
  BODY_BYTES_MAX: { default: '262144', what: 'Size of a request body', read: integer(1024, 16 * 1024 * 1024, 262_144) },
  REQUESTS_MAX: {
    default: '96',
    what: 'Requests under way at once in a process; what comes on top is refused with 503 and `Retry-After`',
    read: integer(1, 100_000, 96),
  },
  HEADER_BYTES_MAX: { default: '16384', what: 'Size of all headers', read: integer(4096, 1_048_576, 16_384) },
  API_URL: { default: 'none', what: 'Role `gateway`: where the api process listens', read: url(['http']) },
  API_TIMEOUT_MS: {
    default: '20000',
    what: 'Role `gateway`: how long the api may take',
    read: integer(100, 600_000, 20_000),
  },
  RAIL: {
    default: 'sandbox; none in production',
    what: '`sandbox` or `none`: the bank connector that carries payouts',
    read: (value, mode) => oneOf(['sandbox', 'none'], mode === 'sandbox' ? 'sandbox' : 'none')(value),
  },
  SIMULATIONS: {
    default: 'on; off in production',
    what: '`on` or `off`: the operations below /v1/simulations',
    read: (value, mode) => onOff(mode === 'sandbox' ? 'on' : 'off')(value),
  },
  SANDBOX_BANK_DELAY_MS: {
    default: '500',
    what: 'What the sandbox bank lets pass between two steps',
    read: integer(0, 3_600_000, 500),
  },
  WEBHOOK_HTTP: {
    default: 'on where the sandbox listens on loopback',
    what: '`on` or `off`: webhooks by http to loopback addresses',
    read: (value) => (value === undefined ? undefined : onOff('off')(value)),
  },
  WEBHOOK_RETRY_DELAYS_MS: {
    default: '5s 30s 2m 10m 30m 1h 3h 6h 12h 24h 24h; in a sandbox 1s 2s 5s 15s 30s 1m 2m 5m 10m 20m 30m',
    what: 'Waits between the attempts of a delivery, in milliseconds, separated by commas',
    read: retryDelays,
  },
  WEBHOOK_PROXY_URL: {
    default: 'none: webhooks go out directly',
    what: '`http://user:password@host:port` or `https://...`: a proxy that opens tunnels by CONNECT, to addresses that were judged before. Webhooks to loopback do not pass it',
    secret: true,
    read: egressProxy,
  },
  WEBHOOK_LIMITS: {
    default: 'none: those of docs/architecture.md',
    what: 'Limits of webhook deliveries as `name=value`, separated by commas: `inFlightPerEndpointMax=5,retentionMs=1209600000`',
    read: webhookLimits,
  },
  WEBHOOK_IDLE_MS: {
    default: '20',
    what: 'How long the webhook worker rests when it finds nothing to do: what an event waits at most that another process wrote',
    read: integer(1, 60_000, 20),
  },
  WEBHOOK_THREADS: {
    default: '1',
    what: 'Threads of the webhook worker that sign and call endpoints; 0: its own. More than one pays where one is always busy',
    read: integer(0, coresMax, 1),
  },
  WORKER_IDLE_MS: {
    default: '100',
    what: 'How long a worker rests when it finds nothing to do',
    read: integer(1, 60_000, 100),
  },
  SMTP_URL: {
    default: 'none: mails land in DATA_DIR/mailbox',
    what: '`smtp://user:password@host:port` or `smtps://...`',
    secret: true,
    read: mailServer,
  },
  MAIL_FROM: {
    default: '`Partner Payments <no-reply@localhost>`',
    what: 'Sender of mails',
    read: mailbox('Partner Payments <no-reply@localhost>'),
  },
  INVITATION_URL: {
    default: 'none: the mail shows the token without a link',
    what: 'Where an invitation without a `redirectUrl` leads; the token is added to it',
    read: url(['http', 'https']),
  },
} as const satisfies Record<string, Variable<unknown>>

type Raw = { readonly [K in keyof typeof variables]: ReturnType<(typeof variables)[K]['read']> }
export type Config = Omit<Raw, 'MASTER_KEY' | 'OPS_PORT' | 'WEBHOOK_HTTP' | 'PUBLIC_URL'> & {
  readonly MASTER_KEY: readonly Buffer[]
  readonly OPS_PORT: number
  readonly WEBHOOK_HTTP: boolean
  /** Without a value: made from the port that was really taken. */
  readonly PUBLIC_URL: string | undefined
}

/** These beginnings are ours alone; `WEBHOOK_URL` or `OPS_TOKEN` may be a neighbour's on the same machine. */
const ownPrefixes = /^(SANDBOX_BANK|WEBHOOK_RETRY|TIMESTAMP_WINDOW|BODY_BYTES|HEADER_BYTES|WORKER_IDLE)_/
/** Shorter names are too near to those of others: `MODE` and `NODE`. */
const nearNameCharsMin = 7

const loopbackHosts = new Set(['127.0.0.1', '::1', 'localhost'])

export type ReadOptions = {
  /** A lone process may make its own master key in a sandbox; roles that run apart must be given the one they share. */
  readonly makesKey?: boolean
  /** What the command line says, above the variable of the same name. */
  readonly given?: { readonly [K in keyof typeof variables]?: string }
}

/** Throws a ConfigError of one line. */
export function readConfig(
  { makesKey = true, given = {} }: ReadOptions = {},
  env: Readonly<Record<string, string | undefined>> = process.env,
): Config {
  const modeText = env['MODE'] || undefined
  const mode: Mode = modeText === 'production' ? 'production' : 'sandbox'
  const raw: Record<string, unknown> = {}
  for (const [name, variable] of Object.entries(variables) as [string, Variable<unknown>][]) {
    const option = given[name as keyof typeof variables]
    const value = option ?? (env[name] || undefined)
    try {
      raw[name] = variable.read(value, mode)
    } catch (error) {
      const shown = variable.secret ? '' : ` (it is ${JSON.stringify(value)})`
      throw new ConfigError(
        `${option === undefined ? name : `--${name.toLowerCase()}`} ${(error as Error).message}${shown}`,
      )
    }
  }
  refuseMisspelt(Object.keys(env))
  return complete(raw as Raw, makesKey)
}

/** A misspelt variable of ours must not pass in silence: the default would be used, and nobody would know. */
function refuseMisspelt(names: readonly string[]): void {
  const own = Object.keys(variables)
  for (const name of names) {
    if (own.includes(name)) continue
    const meant = own.find((known) => isNear(known, name))
    if (meant !== undefined) throw new ConfigError(`${name} is not a variable of this service: did you mean ${meant}?`)
    if (ownPrefixes.test(name))
      throw new ConfigError(`${name} is not a variable of this service: see docs/configuration.md`)
  }
}

/** True where one letter is missing, too many, another or swapped with its neighbour; case and `_` count for nothing. */
function isNear(known: string, name: string): boolean {
  const [a, b] = [known, name].map((text) => text.toUpperCase().replaceAll(/[_-]/g, '')) as [string, string]
  if (a.length < nearNameCharsMin || Math.abs(a.length - b.length) > 1) return false
  let at = 0
  while (at < a.length && a[at] === b[at]) at += 1
  const rest = (text: string, from: number) => text.slice(at + from)
  const swapped = a[at] === b[at + 1] && a[at + 1] === b[at] && rest(a, 2) === rest(b, 2)
  return swapped || rest(a, 1) === rest(b, 1) || rest(a, 1) === rest(b, 0) || rest(a, 0) === rest(b, 1)
}

function complete(raw: Raw, makesKey: boolean): Config {
  const onLoopback = loopbackHosts.has(raw.HOST)
  if (raw.MODE === 'production') refuseSandboxDefaults(raw)
  if (raw.MASTER_KEY === undefined && !makesKey)
    throw new ConfigError('MASTER_KEY is required where the roles run apart: they share it (openssl rand -base64 32)')
  return {
    ...raw,
    OPS_PORT: raw.OPS_PORT >= 0 ? raw.OPS_PORT : raw.PORT === 0 ? 0 : raw.PORT + 1,
    WEBHOOK_HTTP: raw.WEBHOOK_HTTP ?? (raw.MODE === 'sandbox' && onLoopback),
    MASTER_KEY: raw.MASTER_KEY ?? [sandboxMasterKey(raw.DATA_DIR)],
  }
}

/** Other people's money: nothing that was made for a developer's machine may be left on. */
function refuseSandboxDefaults(raw: Raw): void {
  const refuse = (reason: string) => {
    throw new ConfigError(`MODE=production: ${reason}`)
  }
  if (raw.MASTER_KEY === undefined) refuse('MASTER_KEY is required from outside (openssl rand -base64 32)')
  if (raw.WEBHOOK_HTTP === true) refuse('WEBHOOK_HTTP must be off: webhooks go by https only')
  if (raw.SIMULATIONS) refuse('SIMULATIONS must be off')
  if (raw.RAIL === 'sandbox') refuse('RAIL must not be sandbox: the sandbox bank moves no money')
  if (raw.SMTP_URL === undefined) refuse('SMTP_URL is required: invitations are sent by mail')
}

/** A sandbox makes its own master key once and keeps it beside its data. */
function sandboxMasterKey(dataDir: string): Buffer {
  makeDataDir(dataDir)
  const path = join(dataDir, 'master.key')
  try {
    if (!existsSync(path))
      writeFileSync(path, `${randomBytes(masterKeyBytes).toString('base64')}\n`, { mode: 0o600, flag: 'wx' })
    const key = Buffer.from(readFileSync(path, 'utf8').trim(), 'base64')
    if (key.length !== masterKeyBytes) throw new Error('it does not hold 32 bytes in Base64')
    return key
  } catch (error) {
    throw new ConfigError(`the sandbox's master key ${path}: ${(error as Error).message}`)
  }
}

/** Throws a ConfigError where the folder is not there and cannot be made. */
export function makeDataDir(dataDir: string): void {
  try {
    makeFolder(dataDir)
  } catch (error) {
    throw new ConfigError(`DATA_DIR ${dataDir} cannot be used: ${(error as Error).message}`)
  }
}

/** Not `mkdirSync` with `recursive`: below /proc and the like, where nothing can be made, that tries for ever. */
function makeFolder(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return
  if (dirname(path) !== path) makeFolder(dirname(path))
  try {
    mkdirSync(path)
  } catch (error) {
    // Another process of ours was faster, perhaps.
    if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) throw error
  }
}

/** For the log and for support: every value, secrets as `[set]`. */
export function printConfig(config: Config): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    (Object.entries(variables) as [keyof Config, Variable<unknown>][]).map(([name, { secret }]) => [
      name,
      secret ? (config[name] === undefined ? '[none]' : '[set]') : config[name],
    ]),
  )
}

/** True under `npm start` and its like, which stand between the terminal and the process. */
export function startedByNpm(env: Readonly<Record<string, string | undefined>> = process.env): boolean {
  return env['npm_lifecycle_event'] !== undefined
}
