import ipaddr from 'ipaddr.js'
import { integer, type Mode, onOff, portMax, refuseSetting, type Settings, text, url } from '../../kernel/index.ts'

function readProxies(value: string | undefined): readonly string[] | undefined {
  return value?.split(',').map((part) => {
    const network = part.trim()
    return ipaddr.isValid(network) || ipaddr.isValidCIDR(network)
      ? network
      : refuseSetting('must be IP addresses or networks (10.0.0.0/8), separated by commas')
  })
}

/** Two years, the longest time that the preload lists of browsers require. */
const hstsSecondsMax = 63_072_000

export const gatewaySettings = {
  HOST: { default: '127.0.0.1', description: 'Address that the API listens on', read: text('127.0.0.1') },
  PORT: { default: '8080', description: 'Port of the API; 0 takes a free port', read: integer(0, portMax, 8080) },
  PUBLIC_URL: {
    default: 'http://HOST:PORT',
    description: 'URL under which partners reach the API; written into the sandbox credentials',
    read: url(['http', 'https']),
  },
  TRUSTED_PROXIES: {
    default: 'none: the address of a client is that of its connection',
    description:
      'Addresses and networks (CIDR) of proxies, separated by commas. The client address is read from their `X-Forwarded-For`',
    read: readProxies,
  },
  HSTS_SECONDS: {
    default: 'a year (31536000) where PUBLIC_URL, or for the desk DESK_URL, begins with https://; else no header',
    description:
      'Seconds for which browsers use only https for the host (`Strict-Transport-Security: max-age=...`, RFC 6797), on every answer of the API, the pages and the desk. 0 makes browsers forget it',
    read: (value: string | undefined) => (value === undefined ? undefined : integer(0, hstsSecondsMax, 0)(value)),
  },
  TIMESTAMP_WINDOW_SECONDS: {
    default: '300',
    description: 'Seconds that a request `Timestamp` may differ from the server time, in either direction',
    read: integer(30, 3600, 300),
  },
  RATE_PER_SECOND: {
    default: '100',
    description: 'Average requests a second of one service account, in each process; ten times as many at once',
    read: integer(1, 1_000_000, 100),
  },
  ITEM_RATE_PER_SECOND: {
    default: '100',
    description:
      'Average items (payouts of bulks, invitations) a second of one partner, in each process that runs operations; a hundred times as many at once, and never fewer than a whole bulk of 1,000',
    read: integer(1, 1_000_000, 100),
  },
  PAGE_RATE_PER_SECOND: {
    default: '20',
    description:
      'Average requests a second of one client address for payment pages, and as many for the documentation, in each process; ten times as many at once. Behind a proxy set TRUSTED_PROXIES, so that each client has its own address',
    read: integer(1, 1_000_000, 20),
  },
  HEADERS_TIMEOUT_MS: {
    default: '10000',
    description: 'Milliseconds that the headers of a request may take to arrive; then 408',
    read: integer(100, 600_000, 10_000),
  },
  BODY_TIMEOUT_MS: {
    default: '20000',
    description: 'Milliseconds that the whole body of a request may take to arrive; then 408',
    read: integer(100, 600_000, 20_000),
  },
  UNAUTHENTICATED_CONNECTIONS_MAX: {
    default: '4096',
    description: 'Connections of a process on which no signature was verified; beyond it the oldest is closed',
    read: integer(16, 1_000_000, 4096),
  },
  UNAUTHENTICATED_BYTES_MAX: {
    default: '33554432',
    description:
      'Bytes of incomplete bodies that a process holds together; beyond it the oldest is refused with 503 and `Retry-After`',
    read: integer(65_536, 4_294_967_296, 33_554_432),
  },
  REQUESTS_MAX: {
    default: '96',
    description: 'Requests in progress at once in a process; further ones are refused with 503 and `Retry-After`',
    read: integer(1, 100_000, 96),
  },
  REQUEST_TIMEOUT_MS: {
    default: '20000',
    description:
      'Milliseconds from the end of a request to its response, whatever it waits for; then it gets 504. The roles `gateway` and `router` wait as long for the process behind them',
    read: integer(100, 600_000, 20_000),
  },
  API_URL: {
    default: 'none',
    description: 'Role `gateway`: URL of the api process',
    read: url(['http']),
  },
  SIMULATIONS: {
    default: 'on; off in production',
    description: '`on` or `off`: the operations below /v1/simulations',
    read: (value: string | undefined, mode: Mode) => onOff(mode === 'sandbox' ? 'on' : 'off')(value),
  },
} as const satisfies Settings
