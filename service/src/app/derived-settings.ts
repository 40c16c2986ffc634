/** Derives the settings of modules from the configuration. */
import { bulkPayouts } from '@partner-payments/wire'
import type { Setting } from '../kernel/index.ts'
import { type Config, type RouterConfig, settings, simulationSettings } from './config.ts'
import type { Brand } from '../branding/index.ts'
import { type BankSimulator, sandboxConnectorId } from '../rails/index.ts'

/** Settings with which the signature debugger checks a described request. */
export const signing = (config: Config) => ({
  windowSeconds: config.TIMESTAMP_WINDOW_SECONDS,
  publicUrl: publicUrlOf(config),
})

export const publicUrlOf = ({ PUBLIC_URL, HOST, PORT }: Config): string => PUBLIC_URL ?? `http://${HOST}:${PORT}`

/** Settings of checkout. The payer's simulated bank has pages in the sandbox only. */
export const checkoutSettings = (config: Config, bank: BankSimulator) => ({
  bank: config.SIMULATIONS && usesSandboxBank(config) ? bank : undefined,
  sandbox: config.MODE === 'sandbox',
  publicUrl: publicUrlOf(config),
  pageUrls: config.CHECKOUT_URLS,
})

/** Reports whether RAIL or a rule names the sandbox bank. Other connectors do not run. */
export const usesSandboxBank = ({ RAIL, RAIL_RULES }: Config) =>
  RAIL === sandboxConnectorId || RAIL_RULES.some(({ connector }) => connector === sandboxConnectorId)

export const invitationSettings = (config: Config) => ({
  sandbox: config.MODE === 'sandbox',
  invitationBaseUrl: `${consoleUrlOf(config)}/join`,
})

/** Returns the console URL for an API base URL. Replaces loopback addresses by `localhost`, because browsers create no passkeys for IP addresses. */
export const consoleUrlAt = (baseUrl: string): string =>
  `${baseUrl.replace(/^(https?:\/\/)(?:127\.0\.0\.1|0\.0\.0\.0|\[::1?\])(?=[:/]|$)/, '$1localhost')}/console`

export const consoleUrlOf = (config: Config): string => consoleUrlAt(publicUrlOf(config))

export const signInSettings = (config: Config) => ({
  masterKey: config.MASTER_KEY[0],
  site: { name: installationName(config), origin: new URL(consoleUrlOf(config)).origin },
  signInUrl: `${consoleUrlOf(config)}/sign-in`,
  guestUrl: `${consoleUrlOf(config)}/guest`,
})
/** HSTS duration of an address with TLS: browsers use only https for a year. */
const hstsSecondsDefault = 31_536_000

/** Returns the value of `Strict-Transport-Security` for an address. Undefined: no header. */
export function hstsAt({ HSTS_SECONDS }: Pick<Config, 'HSTS_SECONDS'>, url: string): string | undefined {
  const seconds = HSTS_SECONDS ?? (url.startsWith('https:') ? hstsSecondsDefault : undefined)
  return seconds === undefined ? undefined : `max-age=${seconds}`
}

/** Returns the name for authenticator apps, passkeys and mails of staff. */
export const installationName = ({ BRAND_NAME }: Pick<Config, 'BRAND_NAME'>): string => BRAND_NAME ?? 'Partner Payments'

/** Returns the brand of the installation for its pages. */
export const installationBrand = ({
  BRAND_NAME: name,
  BRAND_LOGO: logo,
  BRAND_COLOUR: light,
  BRAND_COLOUR_DARK: dark,
}: Config): Brand => ({
  name,
  logo,
  accent: light === undefined && dark === undefined ? undefined : { light, dark },
})

/** Returns the URL of the desk. Without DESK_URL, only a browser on the same machine or behind a tunnel can open it. */
export const deskUrlOf = ({ DESK_URL, OPS_PORT }: Config): URL => new URL(DESK_URL ?? `http://localhost:${OPS_PORT}`)

export const deskSettings = (config: Config) => ({
  masterKey: config.MASTER_KEY[0],
  site: { name: `${installationName(config)} desk`, origin: deskUrlOf(config).origin },
})

export const webhookSettings = ({ WEBHOOK_HTTP, WEBHOOK_LIMITS, WEBHOOK_RETRY_DELAYS_MS }: Config) => ({
  urlRules: { allowHttpLoopback: WEBHOOK_HTTP },
  limits: WEBHOOK_LIMITS,
  ...(WEBHOOK_RETRY_DELAYS_MS === undefined ? {} : { retryDelaysMs: WEBHOOK_RETRY_DELAYS_MS }),
})

/** Returns the limits of incoming requests, also for the router. */
export const requestLimits = (config: Pick<Config, keyof RouterConfig>) => ({
  bodyBytesMax: 256 * 1024,
  bodyTimeoutMs: config.BODY_TIMEOUT_MS,
  headersTimeoutMs: config.HEADERS_TIMEOUT_MS,
  unauthenticatedBytesMax: config.UNAUTHENTICATED_BYTES_MAX,
  unauthenticatedConnectionsMax: config.UNAUTHENTICATED_CONNECTIONS_MAX,
  headerBytesMax: 16 * 1024,
  trustedProxies: config.TRUSTED_PROXIES,
})

export const gatewayLimits = (config: Config) => ({
  ...requestLimits(config),
  requestsMax: config.REQUESTS_MAX,
  requestTimeoutMs: config.REQUEST_TIMEOUT_MS,
})

/** Returns the rate limit of a service account, with bursts of ten seconds. */
export const requestRate = ({ RATE_PER_SECOND: perSecond }: Config) => ({ perSecond, burst: 10 * perSecond })

/** Returns the rate limit of a client address without an account. */
export const pageRate = ({ PAGE_RATE_PER_SECOND: perSecond }: Config) => ({ perSecond, burst: 10 * perSecond })

/** Returns the rate limit for items of a partner. The burst allows the largest bulk at any rate. */
export const itemRate = ({ ITEM_RATE_PER_SECOND: perSecond }: Config) => ({
  perSecond,
  burst: Math.max(bulkPayouts.bulkPayoutsMax, 100 * perSecond),
})

/** Returns the sources of the IBANs of accounts. */
export const issuingSettings = (config: Config) => ({
  issuers: config.IBAN_ISSUERS,
  poolCountries: config.IBAN_POOLS,
  poolLevels: { freeMin: config.IBAN_POOL_FREE_MIN, daysMin: config.IBAN_POOL_DAYS_MIN },
})

/** A setting whose default differs between a sandbox and production, with both values. */
type DifferingDefault = {
  readonly name: string
  readonly sandbox: string
  readonly production: string
  readonly inWords: string
  readonly description: string
  /** A sandbox with `SANDBOX_DEFAULTS=production` keeps its own default. */
  readonly isStandIn: boolean
}

export function differingDefaults(): readonly DifferingDefault[] {
  const shown = (value: unknown): string => {
    if (value === undefined || value === null) return 'not set'
    if (typeof value === 'boolean') return value ? 'on' : 'off'
    return typeof value === 'string' ? value : JSON.stringify(value)
  }
  return (Object.entries(settings) as [string, Setting<unknown>][]).flatMap(([name, setting]) => {
    const [sandbox, production] = [
      shown(setting.read(undefined, 'sandbox')),
      shown(setting.read(undefined, 'production')),
    ]
    const { default: inWords, description } = setting
    const isStandIn = simulationSettings.includes(name)
    return sandbox === production ? [] : [{ name, sandbox, production, inWords, description, isStandIn }]
  })
}
