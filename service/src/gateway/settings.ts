import { integer, type Mode, onOff, portMax, type Settings, text, url } from '../kernel/index.ts'

export const gatewaySettings = {
  HOST: { default: '127.0.0.1', description: 'Address that the API listens on', read: text('127.0.0.1') },
  PORT: { default: '8080', description: 'Port of the API; 0 takes a free port', read: integer(0, portMax, 8080) },
  PUBLIC_URL: {
    default: 'http://HOST:PORT',
    description: 'URL under which partners reach the API; written into the sandbox credentials',
    read: url(['http', 'https']),
  },
  TIMESTAMP_WINDOW_SECONDS: {
    default: '300',
    description: 'Seconds that a request `Timestamp` may differ from the server time, in either direction',
    read: integer(30, 3600, 300),
  },
  RATE_PER_SECOND: {
    default: '100',
    description: 'Average requests a second of one service account, in each process',
    read: integer(1, 1_000_000, 100),
  },
  RATE_BURST: {
    default: '1000',
    description: 'Requests that one service account may send at once, in each process',
    read: integer(1, 10_000_000, 1000),
  },
  BODY_BYTES_MAX: {
    default: '262144',
    description: 'Largest request body in bytes',
    read: integer(1024, 16 * 1024 * 1024, 262_144),
  },
  REQUESTS_MAX: {
    default: '96',
    description: 'Requests in progress at once in a process; further ones are refused with 503 and `Retry-After`',
    read: integer(1, 100_000, 96),
  },
  REQUEST_TIMEOUT_MS: {
    default: '20000',
    description:
      'Milliseconds from the end of a request to its response, whatever it waits for; then it gets 504. In the role `gateway` API_TIMEOUT_MS is added',
    read: integer(100, 600_000, 20_000),
  },
  HEADER_BYTES_MAX: {
    default: '16384',
    description: 'Largest total of all request headers in bytes',
    read: integer(4096, 1_048_576, 16_384),
  },
  API_URL: {
    default: 'none',
    description: 'Role `gateway`: URL of the api process',
    read: url(['http']),
  },
  API_TIMEOUT_MS: {
    default: '20000',
    description: 'Role `gateway`: milliseconds that the api process may take to answer',
    read: integer(100, 600_000, 20_000),
  },
  SIMULATIONS: {
    default: 'on; off in production',
    description: '`on` or `off`: the operations below /v1/simulations',
    read: (value: string | undefined, mode: Mode) => onOff(mode === 'sandbox' ? 'on' : 'off')(value),
  },
} as const satisfies Settings
