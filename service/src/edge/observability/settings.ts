import {
  integer,
  type LogLevel,
  logLevels,
  type Mode,
  oneOf,
  portMax,
  refuseSetting,
  type Settings,
  text,
  url,
} from '../../kernel/index.ts'

function readRatio(value: string | undefined): number {
  const ratio = Number(value ?? '1')
  return /^\d(\.\d+)?$/.test(value ?? '1') && ratio <= 1 ? ratio : refuseSetting('must be a number from 0 to 1')
}

export const observabilitySettings = {
  OPS_HOST: { default: '127.0.0.1', description: 'Address of the operations port', read: text('127.0.0.1') },
  DESK_URL: {
    default: 'http://localhost:OPS_PORT',
    description:
      'Address at which staff open the desk: that of the proxy with TLS in front of OPS_PORT, or `localhost` for a tunnel. Passkeys are bound to it',
    read: url(['http', 'https']),
  },
  OPS_PORT: {
    default: 'PORT + 1',
    description: 'Port of `/healthz`, `/readyz`, `/metrics` and the desk; 0 takes a free port',
    read: integer(0, portMax, -1),
  },
  LOG_LEVEL: {
    default: 'info; warn in a sandbox',
    description: 'Lowest level that is logged. Logs are JSON lines on standard error',
    read: (value: string | undefined, mode: Mode): LogLevel =>
      oneOf(logLevels, mode === 'sandbox' ? 'warn' : 'info')(value),
  },
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    default: 'none: no traces',
    description:
      'URL of an OpenTelemetry collector (OTLP over HTTP). Requests, database work, instructions to the bank, mails and webhook attempts become spans',
    read: url(['http', 'https']),
  },
  OTEL_TRACES_SAMPLER_ARG: {
    default: '1',
    description: 'Share of new traces that is sampled, from 0 to 1. A request with a `traceparent` follows its caller',
    read: readRatio,
  },
} as const satisfies Settings
