import { type Mode, onOff, refuseSetting, secondMs, type Settings } from '../kernel/index.ts'
import { readProxy } from './exchange/proxy.ts'
import { type DeliveryLimits, operatorLimits } from './limits.ts'

/** Twelve attempts in about an hour: a developer who repairs an endpoint sees the next attempt soon. */
const sandboxRetryDelaysMs = [1, 2, 5, 15, 30, 60, 120, 300, 600, 1200, 1800].map((seconds) => seconds * secondMs)

/** Reads the retry delays. Undefined: the default schedule of the delivery engine. */
function readRetryDelays(value: string | undefined, mode: Mode): readonly number[] | undefined {
  if (value === undefined) return mode === 'sandbox' ? sandboxRetryDelaysMs : undefined
  return value
    .split(',')
    .map((part) =>
      /^\d{1,9}$/.test(part.trim()) ? Number(part) : refuseSetting('must be milliseconds separated by commas'),
    )
}

function readLimits(value: string | undefined): Partial<DeliveryLimits> {
  const pairs = (value ?? '').split(',').flatMap((part) => {
    if (part.trim() === '') return []
    const [, name, number] = /^\s*(\w+)\s*=\s*([1-9]\d{0,14})\s*$/.exec(part) ?? []
    const known = operatorLimits.find((candidate) => candidate === name)
    return known === undefined
      ? refuseSetting(`must be name=value; names are ${operatorLimits.join(', ')}; values are whole numbers from 1`)
      : [[known, Number(number)] as const]
  })
  return Object.fromEntries(pairs)
}

export const deliverySettings = {
  WEBHOOK_HTTP: {
    default: 'on if the sandbox listens on loopback',
    description: '`on` or `off`: whether webhook URLs may be http to loopback addresses',
    read: (value: string | undefined, mode: Mode) =>
      value === undefined && mode === 'sandbox' ? undefined : onOff('off')(value),
  },
  WEBHOOK_RETRY_DELAYS_MS: {
    default: '5s 30s 2m 10m 30m 1h 3h 6h 12h 24h 24h; in a sandbox 1s 2s 5s 15s 30s 1m 2m 5m 10m 20m 30m',
    description: 'Delays between the attempts of a delivery, in milliseconds, separated by commas',
    read: readRetryDelays,
  },
  WEBHOOK_PROXY_URL: {
    default: 'none: webhooks go out directly',
    description:
      '`http://user:password@host:port` or `https://...`: an HTTP CONNECT proxy for webhooks. Addresses are checked before the proxy is asked. Webhooks to loopback bypass it',
    secret: true,
    read: (value: string | undefined) =>
      value === undefined
        ? undefined
        : (readProxy(value) ??
          refuseSetting('must be `http://` or `https://`, a host, and at most credentials and a port')),
  },
  WEBHOOK_LIMITS: {
    default: 'none: the limits below',
    description:
      'Limits of webhook delivery as `name=value`, separated by commas: `inFlightPerEndpointMax=5,retentionMs=1209600000`',
    read: readLimits,
  },
} as const satisfies Settings
