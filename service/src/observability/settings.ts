import { integer, type LogLevel, logLevels, type Mode, oneOf, portMax, type Settings, text } from '../kernel/index.ts'

export const observabilitySettings = {
  OPS_HOST: { default: '127.0.0.1', description: 'Address of the operations port', read: text('127.0.0.1') },
  OPS_PORT: {
    default: 'PORT + 1',
    description: 'Port of `/healthz`, `/readyz` and `/metrics`; 0 takes a free port',
    read: integer(0, portMax, -1),
  },
  LOG_LEVEL: {
    default: 'info; warn in a sandbox',
    description: 'Lowest level that is logged. Logs are JSON lines on standard error',
    read: (value: string | undefined, mode: Mode): LogLevel =>
      oneOf(logLevels, mode === 'sandbox' ? 'warn' : 'info')(value),
  },
} as const satisfies Settings
