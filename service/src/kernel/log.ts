/**
 * Structured logs: one JSON object per line on standard error. Two rules keep secrets out: no log call passes a body, a
 * header or a KYC value, and fields with the names below are redacted. Tested by `test/operator/redaction.test.ts`.
 */
import { createRequire } from 'node:module'
import type * as Pino from 'pino'

const require = createRequire(import.meta.url)

export type Log = Pick<Pino.Logger, 'debug' | 'info' | 'warn' | 'error'> & {
  readonly child: (bindings: Pino.Bindings) => Log
}
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

const silentLog = (): Log => {
  const drop = () => undefined
  return { debug: drop, info: drop, warn: drop, error: drop, child: silentLog }
}

export function createLog(level: LogLevel, destination: Pino.DestinationStream = process.stderr): Log {
  if (level === 'silent') return silentLog()
  // The first log loads the package, because operator commands do not write logs.
  const { pino } = require('pino') as typeof Pino
  return pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: secretNames.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]), censor: '[redacted]' },
      // An error of the database driver carries the rejected row (`detail`) and the values of the statement.
      serializers: { err: (error: unknown) => errorFields(error) },
    },
    destination,
  )
}

/** Reports whether an outage caused the error, also for an aggregate of such errors. */
function isOutage(error: Error): boolean {
  return error.name === 'Unreachable' || (error.cause instanceof Error && isOutage(error.cause))
}

function errorFields(error: unknown, withStack = true): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: typeof error }
  const { name, cause } = error
  // An outage is not a fault of the code: the line names the failed system, without a stack.
  const stack = withStack && !isOutage(error) ? error.stack : undefined
  const code = (error as { code?: unknown }).code
  // Messages of PostgreSQL's error class 22 quote the rejected value, and the stack begins with the message.
  const quotesValue = typeof code === 'string' && /^22...$/.test(code)
  const message = quotesValue ? 'the database rejected a value' : error.message
  return {
    name,
    message,
    ...(typeof code === 'string' ? { code } : {}),
    ...(stack === undefined ? {} : { stack: quotesValue ? stack.replace(error.message, message) : stack }),
    ...(cause === undefined ? {} : { cause: errorFields(cause, stack !== undefined) }),
  }
}

/** Distributed traces (W3C Trace Context), off unless the operator configures a collector (`observability/tracing.ts`). */
type SpanAttributes = Readonly<Record<string, string | number | boolean>>

type SpanOptions = {
  readonly name: string
  readonly kind: 'server' | 'client'
  readonly attributes?: SpanAttributes
  /** Headers of an incoming request, whose `traceparent` is the parent. Default: the active span. */
  readonly incoming?: Readonly<Record<string, unknown>>
}

export type Tracing = {
  /** Runs `work` in a span. `work` may add attributes. A rejection marks the span as failed. */
  readonly span: <T>(
    options: SpanOptions,
    work: (add: (attributes: SpanAttributes) => void) => Promise<T>,
  ) => Promise<T>
  /** Records a span that has just ended, with its duration. */
  readonly ended: (name: string, durationMs: number, attributes: SpanAttributes) => void
  /** Returns headers that continue the active span in another process. */
  readonly outgoingHeaders: () => Readonly<Record<string, string>>
  /** Sends the remaining spans. */
  readonly close: () => Promise<void>
}
