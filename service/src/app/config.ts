/**
 * The configuration: merges the settings that the folders declare, reads them once at start and prints them redacted. The
 * only reader of `process.env`. `npm run docs` generates the configuration page from the same declarations.
 */
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { brandingSettings } from '../branding/settings.ts'
import { cellSettings, type Issuer, selectIssuers } from './cells.ts'
import { evmSettings } from '../chains/evm/settings.ts'
import { checkBankFolders, isoSettings, readJsonOrFile, readSettingFile } from '../banks/files/settings.ts'
import { sandboxSettings } from '../banks/sandbox/settings.ts'
import { deliverySettings } from '../webhooks/settings.ts'
import { checkoutSettings } from '../checkout/settings.ts'
import { gatewaySettings } from '../edge/gateway/settings.ts'
import {
  readBooleanField,
  processesMax,
  readFields,
  integer,
  readListField,
  masterKeyBytes,
  type Mode,
  readNestedFields,
  oneOf,
  onOff,
  readOptionalText,
  present,
  randomBytes,
  refuseSetting,
  refuseSettingField,
  type Setting,
  type Settings,
  type SettingValues,
  editDistance,
  readTextField,
  url,
} from '../kernel/index.ts'
import { inboxSettings } from '../inbox/settings.ts'
import { mailSettings } from '../mail/settings.ts'
import { observabilitySettings } from '../edge/observability/settings.ts'
import { databaseSettings } from '../postgres/settings.ts'
import { chainConnectorId, isChainConnectorId, isIsoConnectorId, simulatedChainConnectorId } from '../rails/index.ts'
import { railsSettings } from '../rails/settings.ts'
import { ratesSettings } from '../rates/settings.ts'
import { verificationSettings } from '../parties/payee-check/settings.ts'
import { identitySettings } from '../parties/identity-port/settings.ts'
import { monitoringSettings } from '../monitoring/settings.ts'
import { payoutsSettings } from '../payouts/settings.ts'
import { screeningSettings } from '../screening/settings.ts'

// The settings of the operator's staff.

const staffRoles = ['support', 'compliance', 'finance', 'admin'] as const
const providerFields = ['issuer', 'clientId', 'clientSecretFile', 'roleClaim', 'roles', 'required'] as const
const urlCharsMax = 2000

/** Reads the identity provider of staff, if any. The client secret is in a file, so that the setting can be printed. */
function readProvider(value: string | undefined, mode: string) {
  if (value === undefined || value.trim() === '') return undefined
  const fields = readFields(readJsonOrFile(value.trim(), '{'), 'the provider', providerFields)
  const issuer = readTextField(fields, 'issuer', urlCharsMax)
  const schemes = mode === 'sandbox' ? ['https', 'http'] : ['https']
  if (!URL.canParse(issuer) || url(schemes)(issuer) === undefined)
    return refuseSettingField(fields, 'issuer', `a URL that begins with ${schemes.join(':// or ')}://`)
  const secretFile = readTextField(fields, 'clientSecretFile', urlCharsMax)
  const clientSecret = readSettingFile(secretFile, (reason) =>
    refuseSettingField(fields, 'clientSecretFile', reason),
  ).trim()
  if (clientSecret === '') return refuseSettingField(fields, 'clientSecretFile', 'a file with the secret of the client')
  const roleClaim = readOptionalText(fields, 'roleClaim') ?? null
  const given = fields.given['roles'] === undefined ? undefined : readNestedFields(fields, 'roles', staffRoles)
  if ((roleClaim === null) !== (given === undefined))
    return refuseSettingField(fields, 'roles', 'the values of roleClaim for each role, required with roleClaim')
  const valuesOf = (role: string) =>
    given === undefined
      ? []
      : readListField(given, role, []).map(([item, path]) =>
          readTextField(readFields({ item }, path, ['item']), 'item'),
        )
  const roles = Object.fromEntries(staffRoles.map((role) => [role, valuesOf(role)]))
  return {
    issuer,
    clientId: readTextField(fields, 'clientId', urlCharsMax),
    clientSecret,
    roleClaim,
    roles,
    required: readBooleanField(fields, 'required', false),
  }
}

const staffSettings = {
  STAFF_SSO: {
    default: 'none: staff sign in with passkeys or passwords',
    description:
      'Single sign-on of staff by OpenID Connect: JSON, or the path of a file with JSON: `issuer`, `clientId`, `clientSecretFile`, and if wanted `roleClaim` with `roles` (the values that each role needs) and `required` (staff other than admins come by it only). The redirect URI is DESK_URL with `/desk/sso`',
    // The value contains the client secret.
    secret: true,
    read: (value: string | undefined, mode) => readProvider(value, mode),
  },
  KEYS_SET_SINGLE_SIGN_ON: {
    default: 'on in a sandbox; off in production',
    description:
      "Whether a service account with `users:write` can set how its partner's team signs in. `off`: only an Admin can, in the console",
    read: (value: string | undefined, mode) => onOff(mode === 'sandbox' ? 'on' : 'off')(value),
  },
  TWO_PERSONS: {
    default: 'off in a sandbox; on in production',
    description:
      'Whether changes of limits, fees, approvals, cooling-offs, gates, parts of balances, credentials and staff, and ends of blocks, wait for a second person who has signed in (`operator change list`)',
    read: (value: string | undefined, mode) => oneOf(['on', 'off'], mode === 'sandbox' ? 'off' : 'on')(value),
  },
} as const satisfies Settings

// The settings of customers: segregation of money, default gate, and retention of personal data.

const customerSettings = {
  ...screeningSettings,
  ...monitoringSettings,
  ...identitySettings,
  CUSTOMER_RETENTION_YEARS: {
    default: '5',
    description:
      'Years after the request for erasure, or a later payment, for which the names, birth date, address, identifiers and payments of an erased customer are kept (AMLD, Art. 40)',
    read: integer(0, 30, 5),
  },
  CUSTOMER_MONEY: {
    default: 'pooled in a sandbox; segregated in production',
    description:
      'Whether a new balance is `segregated`, so that a payout for a customer uses only the money of that customer, or `pooled`. Balances that exist stay as they are (`operator segregation set`)',
    read: (value: string | undefined, mode) =>
      oneOf(['pooled', 'segregated'], mode === 'sandbox' ? 'pooled' : 'segregated')(value),
  },
  KYC_GATES: {
    default: 'open in a sandbox; strict in production',
    description:
      'What customers may do if their partner has no gate (`operator gate set`). `open`: everything. `strict`: only customers with the verification `Complete` can open accounts, receive and pay',
    read: (value: string | undefined, mode) => oneOf(['open', 'strict'], mode === 'sandbox' ? 'open' : 'strict')(value),
  },
  CUSTOMER_IDENTIFIERS: {
    default: 'unique',
    description:
      'Whether a `partnerCustomerIdentifier` belongs to one customer (`unique`: a second customer is refused with 409) or to several (`shared`)',
    read: (value: string | undefined) => oneOf(['unique', 'shared'], 'unique')(value),
  },
} as const satisfies Settings

export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

type MasterKeys = readonly [Buffer, ...Buffer[]]

function readKeys(value: string | undefined): MasterKeys | undefined {
  const [first, ...others] = (value?.split(',') ?? []).map((part) => {
    const key = Buffer.from(part.trim(), 'base64')
    return key.length === masterKeyBytes
      ? key
      : refuseSetting(
          `must be ${masterKeyBytes} bytes in Base64 (openssl rand -base64 32); separate several by commas: the first one seals`,
        )
  })
  return first === undefined ? undefined : [first, ...others]
}

const stopDelayMsMax = 60_000

const standingOrdersMax = 10_000_000
const reportKeptDaysMax = 3_650
const reportClockDifferenceMsMax = 600_000

const processSettings = {
  MODE: {
    default: 'sandbox',
    description: '`sandbox` or `production`. Production does not start with settings that are for sandboxes only',
    read: oneOf(['sandbox', 'production'], 'sandbox'),
  },
  SANDBOX_DEFAULTS: {
    default: 'sandbox',
    description:
      'Whose defaults a sandbox has: `sandbox`, or `production`, with which it behaves as production in everything but its banks and the other systems that it simulates (docs/sandbox.md). Production ignores it',
    read: oneOf(['sandbox', 'production'], 'sandbox'),
  },
  DATA_DIR: {
    default: '.data',
    description: 'Folder of the embedded database, the sandbox keys and the sandbox mailbox',
    read: (value) => resolve(value ?? '.data'),
  },
  MASTER_KEY: {
    default: 'made in DATA_DIR (sandbox)',
    description:
      'Encrypts secrets and KYC data: 32 bytes in Base64. Several keys, separated by commas, rotate it: the first encrypts, all decrypt',
    secret: true,
    read: readKeys,
  },
  PROCESSES: {
    default: '1',
    description:
      'Roles `serve`, `api`, `gateway`: processes that answer requests on PORT; 2 or more run beside the process that starts them. Also `--processes N`. RATE_* and DATABASE_CONNECTIONS_MAX apply to each',
    read: integer(1, processesMax, 1),
  },
  STOP_DELAY_MS: {
    default: '3000; 0 in a sandbox',
    description:
      'Milliseconds between SIGTERM and the close of PORT. `/readyz` answers 503 and responses have `Connection: close`. Longer than the interval at which a load balancer reads it',
    read: (value, mode) => integer(0, stopDelayMsMax, mode === 'sandbox' ? 0 : 3000)(value),
  },
  REPORT_KEPT_DAYS: {
    default: '30',
    description: 'Days after which a report and its file are deleted, counted from when it is ready',
    read: integer(1, reportKeptDaysMax, 30),
  },
  ...payoutsSettings,
  STANDING_ORDERS_MAX: {
    default: '10000',
    description: 'Active standing orders of one partner. Further ones are refused; active orders are unaffected',
    read: integer(1, standingOrdersMax, 10_000),
  },
  REPORT_CLOCK_DIFFERENCE_MS: {
    default: '30000; 1000 in a sandbox',
    description:
      'Largest clock difference in milliseconds between the processes and the database. A report waits this much longer than the transactions of its period, and monitors of balances lag by it',
    read: (value, mode) => integer(0, reportClockDifferenceMsMax, mode === 'sandbox' ? 1_000 : 30_000)(value),
  },
} as const satisfies Settings

/** Every setting of the service, declared beside the code that uses it. */
export const settings = {
  ...processSettings,
  ...cellSettings,
  ...customerSettings,
  ...staffSettings,
  ...gatewaySettings,
  ...checkoutSettings,
  ...databaseSettings,
  ...railsSettings,
  ...sandboxSettings,
  ...evmSettings,
  ...isoSettings,
  ...ratesSettings,
  ...verificationSettings,
  ...deliverySettings,
  ...mailSettings,
  ...inboxSettings,
  ...brandingSettings,
  ...observabilitySettings,
}
type Name = keyof typeof settings

type Raw = SettingValues<typeof settings>
export type Config = Omit<Raw, 'MASTER_KEY' | 'OPS_PORT' | 'WEBHOOK_HTTP' | 'PUBLIC_URL' | 'IBAN_ISSUERS'> & {
  /** The IBAN issuers of this cell. */
  readonly IBAN_ISSUERS: readonly Issuer[]
  /** The first key seals. All keys open. */
  readonly MASTER_KEY: MasterKeys
  /** The file of the sandbox's own key. `isNew`: not yet written. Undefined: MASTER_KEY is set. */
  readonly masterKeyFile: { readonly path: string; readonly isNew: boolean } | undefined
  readonly OPS_PORT: number
  readonly WEBHOOK_HTTP: boolean
  /** Variables of earlier versions that are set but have no effect. */
  readonly retired: readonly string[]
  /** Undefined: derived from the host and the port in use. */
  readonly PUBLIC_URL: string | undefined
}

/** Prefixes that no other program uses; `WEBHOOK_URL` or `OPS_TOKEN` may belong to another service on the machine. */
const ownPrefixes = /^(SANDBOX_BANK|WEBHOOK_RETRY|TIMESTAMP_WINDOW)_/
/** Settings of earlier versions, whose values are now fixed or follow from another setting. */
const retiredNames: readonly string[] = [
  'API_TIMEOUT_MS',
  'AUDIT_HEAD_PERIOD_MS',
  'BODY_BYTES_MAX',
  'DATABASE_CONNECT_TIMEOUT_MS',
  'DATABASE_TIMEOUT_MS',
  'FX_RATES_SEED',
  'HEADER_BYTES_MAX',
  'INVITATION_URL',
  'ITEM_RATE_BURST',
  'PAGE_RATE_BURST',
  'RATE_BURST',
  'REPORT_WRITERS',
  'SAFEGUARDING_WAIT_MS',
  'WEBHOOK_IDLE_MS',
  'WEBHOOK_THREADS',
  'WORKER_IDLE_MS',
]
/** Shorter names are too similar to variables of other programs: `MODE` and `NODE`. */
const nearNameCharsMin = 7

const loopbackHosts = new Set(['127.0.0.1', '::1', 'localhost'])

export type ReadOptions = {
  /** A single process may create its own master key in a sandbox. Separate roles share a configured key. */
  readonly makesKey?: boolean
  /** The process exchanges files with banks, so their folders must be usable. */
  readonly exchangesFiles?: boolean
  /** Values from the command line; they override the variable of the same name. */
  readonly given?: { readonly [K in Name]?: string }
}

export type Environment = Readonly<Record<string, string | undefined>>

/** Reads the configuration. Throws a ConfigError of one line. */
export function readConfig(options: ReadOptions = {}, env: Environment = process.env): Config {
  const { makesKey = true, exchangesFiles = false, given = {} } = options
  const retired = retiredNames.filter((name) => env[name] !== undefined)
  const config = { ...complete(readSettings(given, env), makesKey), retired }
  if (exchangesFiles) refuseUnusableFolders(config)
  return config
}

const routerSettings = [
  'BODY_TIMEOUT_MS',
  'CELL_URLS',
  'HEADERS_TIMEOUT_MS',
  'HOST',
  'LOG_LEVEL',
  'OPS_HOST',
  'OPS_PORT',
  'PORT',
  'REQUEST_TIMEOUT_MS',
  'STOP_DELAY_MS',
  'TRUSTED_PROXIES',
  'UNAUTHENTICATED_BYTES_MAX',
  'UNAUTHENTICATED_CONNECTIONS_MAX',
] as const satisfies readonly Name[]
export type RouterConfig = Pick<Raw, (typeof routerSettings)[number]>

/** Reads the configuration of a router, which has no database and no master key. Throws a ConfigError of one line. */
export function readRouterConfig(env: Environment = process.env): RouterConfig {
  const raw = readSettings({}, env)
  if (raw.CELL_URLS.length === 0) throw new ConfigError('CELL_URLS is required for the role router')
  const own = Object.fromEntries(routerSettings.map((name) => [name, raw[name]])) as RouterConfig
  return { ...own, OPS_PORT: opsPortOf(raw) }
}

const opsPortOf = ({ PORT, OPS_PORT }: Raw): number => (OPS_PORT >= 0 ? OPS_PORT : PORT === 0 ? 0 : PORT + 1)

/** Settings whose sandbox default simulates an external bank, market, scheme, provider or receiver. */
export const simulationSettings: readonly string[] = [
  'IBAN_ISSUERS',
  'IDENTITY_PROVIDER',
  'SIMULATIONS',
  'RAIL',
  'FX_RATES',
  'PAYEE_SCHEME',
  'WEBHOOK_HTTP',
]

/** Returns the mode whose default applies to a setting that is not set. */
const modeOfDefault = (name: string, mode: Mode, env: Environment): Mode =>
  env['SANDBOX_DEFAULTS'] === 'production' && !simulationSettings.includes(name) ? 'production' : mode

function readSettings(given: NonNullable<ReadOptions['given']>, env: Environment): Raw {
  const modeText = env['MODE'] || undefined
  const mode: Mode = modeText === 'production' ? 'production' : 'sandbox'
  const raw: Record<string, unknown> = {}
  for (const [name, setting] of Object.entries(settings) as [string, Setting<unknown>][]) {
    const option = given[name as Name]
    const value = option ?? (env[name] || undefined)
    try {
      raw[name] = setting.read(value, value === undefined ? modeOfDefault(name, mode, env) : mode)
    } catch (error) {
      const shown = setting.secret ? '' : ` (it is ${JSON.stringify(value)})`
      throw new ConfigError(
        `${option === undefined ? name : `--${name.toLowerCase()}`} ${(error as Error).message}${shown}`,
      )
    }
  }
  refuseMisspelt(Object.keys(env))
  return raw as Raw
}

/** Refuses a misspelt variable, because the default would otherwise apply unnoticed. */
function refuseMisspelt(names: readonly string[]): void {
  const own = Object.keys(settings)
  for (const name of names) {
    if (own.includes(name) || retiredNames.includes(name)) continue
    const meant = own.find((known) => isNear(known, name))
    if (meant !== undefined) throw new ConfigError(`${name} is not a variable of this service: did you mean ${meant}?`)
    if (ownPrefixes.test(name))
      throw new ConfigError(`${name} is not a variable of this service: see docs/generated.md#configuration`)
  }
}

/** Reports whether the names differ by at most one letter. Ignores case, `_` and `-`. */
function isNear(known: string, name: string): boolean {
  const [a, b] = [known, name].map((text) => text.toUpperCase().replaceAll(/[_-]/g, '')) as [string, string]
  return a.length >= nearNameCharsMin && Math.abs(a.length - b.length) <= 1 && editDistance(a, b) <= 1
}

function complete(raw: Raw, makesKey: boolean): Omit<Config, 'retired'> {
  const onLoopback = loopbackHosts.has(raw.HOST)
  if (raw.MODE === 'production') refuseSandboxDefaults(raw)
  if (raw.MASTER_KEY === undefined && !makesKey)
    throw new ConfigError('MASTER_KEY is required for separate roles, which share it (openssl rand -base64 32)')
  const sandboxKey = raw.MASTER_KEY === undefined ? readSandboxMasterKey(raw.DATA_DIR) : undefined
  const selected = selectIssuers(raw.IBAN_ISSUERS, raw.CELL)
  if ('problem' in selected) throw new ConfigError(`IBAN_ISSUERS names cells: ${selected.problem}`)
  refuseUnknownChains(raw)
  refuseUnknownBanks(raw)
  return {
    ...raw,
    IBAN_ISSUERS: selected.issuers,
    OPS_PORT: opsPortOf(raw),
    WEBHOOK_HTTP: raw.WEBHOOK_HTTP ?? onLoopback,
    MASTER_KEY: raw.MASTER_KEY ?? [present(sandboxKey, 'no MASTER_KEY and no key of the sandbox').key],
    masterKeyFile: sandboxKey && { path: sandboxKey.path, isNew: sandboxKey.isNew },
  }
}

/** Refuses a rule for a chain without a configuration, whose payouts would wait for ever. */
function refuseUnknownChains({ EVM_CHAINS: chains, MODE, RAIL_RULES }: Raw): void {
  const configured = chains.map(({ chainId }) => chainConnectorId(chainId))
  const known = MODE === 'sandbox' ? [simulatedChainConnectorId, ...configured] : configured
  for (const { connector } of RAIL_RULES)
    if (connector !== null && isChainConnectorId(connector) && !known.includes(connector))
      throw new ConfigError(`RAIL_RULES names ${connector}, which EVM_CHAINS does not`)
}

/** Returns the banks that RAIL or a rule names. Other banks do not run. */
export const usedIsoBanks = ({
  ISO20022_BANKS,
  RAIL,
  RAIL_RULES,
}: Pick<Raw, 'ISO20022_BANKS' | 'RAIL' | 'RAIL_RULES'>) =>
  ISO20022_BANKS.filter(({ id }) => RAIL === id || RAIL_RULES.some(({ connector }) => connector === id))

function refuseUnusableFolders(config: Pick<Raw, 'ISO20022_BANKS' | 'RAIL' | 'RAIL_RULES'>): void {
  for (const bank of usedIsoBanks(config)) {
    const problem = checkBankFolders(bank)
    if (problem !== undefined) throw new ConfigError(`ISO20022_BANKS: ${problem}`)
  }
}

/** Refuses a bank without a configuration, whose payouts would wait for ever. */
function refuseUnknownBanks({ ISO20022_BANKS: banks, RAIL, RAIL_RULES }: Raw): void {
  const isUnknown = (id: string) => isIsoConnectorId(id) && !banks.some((bank) => bank.id === id)
  if (isUnknown(RAIL)) throw new ConfigError(`RAIL is ${RAIL}, which ISO20022_BANKS does not have`)
  for (const { connector } of RAIL_RULES)
    if (connector !== null && isUnknown(connector))
      throw new ConfigError(`RAIL_RULES names ${connector}, which ISO20022_BANKS does not have`)
}

/** Refuses settings that are for a developer's machine only. */
function refuseSandboxDefaults(raw: Raw): void {
  const refuse = (reason: string) => {
    throw new ConfigError(`MODE=production: ${reason}`)
  }
  if (raw.MASTER_KEY === undefined) refuse('MASTER_KEY is required (openssl rand -base64 32)')
  if (raw.KEYS_SET_SINGLE_SIGN_ON) refuse('KEYS_SET_SINGLE_SIGN_ON must be off: an Admin decides how a team signs in')
  if (raw.WEBHOOK_HTTP === true) refuse('WEBHOOK_HTTP must be off: webhooks are sent by https only')
  if (raw.SIMULATIONS) refuse('SIMULATIONS must be off')
  if (raw.RAIL_RULES.some(({ connector }) => connector === 'sandbox'))
    refuse('RAIL_RULES must not name sandbox: the sandbox bank does not move money')
  if (raw.RAIL_RULES.some(({ connector }) => connector === simulatedChainConnectorId))
    refuse(`RAIL_RULES must not name ${simulatedChainConnectorId}: the simulated chain does not move money`)
  if (raw.RAIL === 'sandbox') refuse('RAIL must not be sandbox: the sandbox bank does not move money')
  if (raw.FX_RATES.kind === 'sandbox') refuse('FX_RATES must not be sandbox: its rates are invented')
  if (raw.FX_RATES.kind === 'url' && raw.FX_RATES.url.protocol === 'http:')
    refuse('FX_RATES must not be http: a rate that is altered in transit costs money')
  if (raw.SMTP_URL === undefined) refuse('SMTP_URL is required: invitations are sent by mail')
}

/** Reads or creates the sandbox's own master key. `saveMasterKey` writes a new key once the database is known not to need an earlier key. */
function readSandboxMasterKey(dataDir: string): {
  readonly key: Buffer
  readonly path: string
  readonly isNew: boolean
} {
  makeDataDir(dataDir)
  const path = join(dataDir, 'master.key')
  try {
    if (!existsSync(path)) return { key: randomBytes(masterKeyBytes), path, isNew: true }
    const key = Buffer.from(readFileSync(path, 'utf8').trim(), 'base64')
    if (key.length !== masterKeyBytes) throw new Error('it does not hold 32 bytes in Base64')
    return { key, path, isNew: false }
  } catch (error) {
    throw new ConfigError(`the sandbox's master key ${path}: ${(error as Error).message}`)
  }
}

/** Writes a new master key of a sandbox to its file. Throws a ConfigError if the file exists. */
export function saveMasterKey({ MASTER_KEY: [key], masterKeyFile }: Config): void {
  if (!masterKeyFile?.isNew) return
  try {
    writeFileSync(masterKeyFile.path, `${key.toString('base64')}\n`, { mode: 0o600, flag: 'wx', flush: true })
  } catch (error) {
    throw new ConfigError(`the sandbox's master key ${masterKeyFile.path}: ${(error as Error).message}`)
  }
}

/** Creates the folder if it does not exist. Throws a ConfigError if it cannot be created. */
export function makeDataDir(dataDir: string): void {
  try {
    makeFolder(dataDir)
  } catch (error) {
    throw new ConfigError(`DATA_DIR ${dataDir} cannot be used: ${(error as Error).message}`)
  }
}

/** Creates a folder and its parents, because `mkdirSync` with `recursive` never returns below /proc. */
function makeFolder(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return
  if (dirname(path) !== path) makeFolder(dirname(path))
  try {
    mkdirSync(path)
  } catch (error) {
    // Another process may have created it in the meantime.
    if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) throw error
  }
}

/** Returns every setting for the log, secrets as `[set]`. */
export function redactConfig(config: Config): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    (Object.entries(settings) as [keyof Config, Setting<unknown>][]).map(([name, { secret }]) => [
      name,
      secret ? (config[name] === undefined ? '[none]' : '[set]') : config[name],
    ]),
  )
}

/** Reports whether npm started the process, for example by `npm start`. */
export function startedByNpm(env: Environment = process.env): boolean {
  return env['npm_lifecycle_event'] !== undefined
}
