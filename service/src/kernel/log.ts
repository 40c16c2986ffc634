/**
 * Structured logs, one JSON object a line on standard error (standard output is for the person at the terminal).
 * Secrets are kept out twice: no statement passes a body, header or KYC value in, and the names below are censored
 * wherever they stand, should one do so after all. Tested by `test/operations/redaction.test.ts`.
 */
import { type DestinationStream, type Logger, pino } from 'pino'

export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error' | 'child'>
export const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const
export type LogLevel = (typeof logLevels)[number]

const secretNames = [
  'apiSecret',
  'apiKey',
  'signature',
  'secret',
  'token',
  'password',
  'privateKeyPem',
  'masterKey',
  'authorization',
  'kyc',
  'email',
  'iban',
  'body',
  'headers',
]

export function createLog(level: LogLevel, destination: DestinationStream = process.stderr): Log {
  return pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: secretNames.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]), censor: '[redacted]' },
      // An error of the driver carries the row that it refused (`detail`) and the statement's values: never log those.
      serializers: { err: errorFields },
    },
    destination,
  )
}

function errorFields(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: typeof error }
  const { name, stack, cause } = error
  const code = (error as { code?: unknown }).code
  // PostgreSQL's class 22 quotes the value that it could not take, and the stack begins with the message.
  const quotesValue = typeof code === 'string' && /^22...$/.test(code)
  const message = quotesValue ? 'a value that the database cannot take' : error.message
  return {
    name,
    message,
    ...(typeof code === 'string' ? { code } : {}),
    ...(stack === undefined ? {} : { stack: quotesValue ? stack.replace(error.message, message) : stack }),
    ...(cause === undefined ? {} : { cause: errorFields(cause) }),
  }
}
