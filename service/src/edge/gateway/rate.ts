/**
 * A token bucket per key and process: `perSecond` requests on average, `burst` at once. The key is a service account,
 * or the address of a browser.
 */
import ipaddr from 'ipaddr.js'
import { type Caller, Refusal } from '../../kernel/api/index.ts'
import { type Clock, secondMs } from '../../kernel/index.ts'
import type { Socket } from 'node:net'
import type { Operation } from '@partner-payments/wire'

type Bucket = { tokens: number; at: number }

type RateLimiter = {
  /** Takes one or more tokens. Refuses: rate_limited (429) with Retry-After. */
  readonly take: (key: string, tokens?: number) => void
  /** Takes the tokens if they are available. Returns false otherwise. */
  readonly tryTake: (key: string, tokens?: number) => boolean
  /** Returns the RateLimit fields of draft-ietf-httpapi-ratelimit-headers-10, for every authenticated response. */
  readonly headers: (key: string) => Readonly<Record<string, string>>
}

/**
 * Limits the memory. When the table is full, the least recently used bucket is dropped, so that many new keys do not
 * reset the active buckets.
 */
const bucketsMax = 100_000

export function createRateLimiter(options: {
  readonly clock: Clock
  readonly perSecond: number
  readonly burst: number
  /** The counted unit, for the refusal. Default: requests. */
  readonly unit?: string
}): RateLimiter {
  const { clock, perSecond, burst, unit = 'requests' } = options
  const buckets = new Map<string, Bucket>()
  const policy = `"default";q=${burst};w=${Math.ceil(burst / perSecond)}`

  const refill = (key: string): Bucket => {
    const now = clock.now().getTime()
    const bucket = buckets.get(key) ?? { tokens: burst, at: now }
    // The map is in the order of the last use.
    buckets.delete(key)
    const [oldest] = buckets.size >= bucketsMax ? buckets.keys() : []
    if (oldest !== undefined) buckets.delete(oldest)
    buckets.set(key, bucket)
    // A clock that was set back takes no tokens away.
    const elapsedMs = Math.max(0, now - bucket.at)
    bucket.tokens = Math.min(burst, bucket.tokens + (elapsedMs / secondMs) * perSecond)
    bucket.at = now
    return bucket
  }
  const fields = ({ tokens }: Bucket) => ({
    'ratelimit-policy': policy,
    ratelimit: `"default";r=${Math.max(0, Math.floor(tokens))};t=${Math.ceil((burst - tokens) / perSecond)}`,
  })

  const tryTake = (key: string, tokens = 1): boolean => {
    const bucket = refill(key)
    if (bucket.tokens < tokens) return false
    bucket.tokens -= tokens
    return true
  }

  return {
    tryTake,
    take: (key, tokens = 1) => {
      if (!tryTake(key, tokens)) {
        const bucket = refill(key)
        const retryAfter = String(Math.max(1, Math.ceil((tokens - bucket.tokens) / perSecond)))
        throw new Refusal(
          'rate_limited',
          `The limit is ${perSecond} ${unit} per second, in bursts of up to ${burst}.`,
          {
            headers: { 'retry-after': retryAfter, ...fields(bucket) },
          },
        )
      }
    },
    headers: (key) => fields(refill(key)),
  }
}

/** Limits the rate of each client address. */
export function createAddressLimiter(
  options: Parameters<typeof createRateLimiter>[0],
): Pick<RateLimiter, 'take' | 'tryTake'> {
  const { take, tryTake } = createRateLimiter(options)
  return {
    take: (ip, tokens) => take(clientNetwork(ip), tokens),
    tryTake: (ip, tokens) => tryTake(clientNetwork(ip), tokens),
  }
}

/**
 * Number of parts of an IPv6 address that identify its /64. Each subscriber has at least a /64 and can use any address
 * in it (RFC 6177).
 */
const networkParts = 4

/** Returns the network by which a client is counted: an IPv4 address, or the /64 of an IPv6 address. */
export function clientNetwork(ip: string): string {
  if (!ip.includes(':') || !ipaddr.isValid(ip)) return ip
  const address = ipaddr.process(ip)
  if (!(address instanceof ipaddr.IPv6)) return address.toString()
  return `${address.parts
    .slice(0, networkParts)
    .map((part) => part.toString(16))
    .join(':')}::/64`
}

// The budget of refusals before authentication, per connection and per client address. Beyond it each refusal closes its
// connection. Beyond the budget of the address it is also delayed, so that an address that opens many connections waits
// for each. Only refusals count, so that other partners behind the same proxy or network keep their connections.

export type RefusalBudget = {
  /** Counts a refusal. `isLast`: the refusal closes its connection. `delayMs`: the delay before it is sent. */
  readonly count: (socket: Socket, ip: string) => { readonly isLast: boolean; readonly delayMs: number }
}

const perConnectionMax = 100
const perAddress = { perSecond: 20, burst: 1000 }
/** Delay of a refusal. With it, 50 connections get 200 refusals a second instead of 1,700, which took a third of a core. */
const delayBeyondMs = 250

export function createRefusalBudget(clock: Clock): RefusalBudget {
  const addresses = createAddressLimiter({ clock, ...perAddress })
  const counts = new WeakMap<Socket, number>()
  return {
    count: (socket, ip) => {
      const count = (counts.get(socket) ?? 0) + 1
      counts.set(socket, count)
      const isWithin = addresses.tryTake(ip)
      return { isLast: !isWithin || count >= perConnectionMax, delayMs: isWithin ? 0 : delayBeyondMs }
    },
  }
}

// Counts the items of bulk requests against a rate limit of the partner, in addition to the rate of requests.

export type ItemRate = {
  readonly clock: Clock
  readonly itemRate: { readonly perSecond: number; readonly burst: number }
}

/** Takes tokens for items from the partner's bucket. Refuses: rate_limited (429) with Retry-After. */
export type ItemLimiter = (caller: Pick<Caller, 'partnerId'>, count: number) => void

export function createItemLimiter({ clock, itemRate }: ItemRate): ItemLimiter {
  const limiter = createRateLimiter({ clock, ...itemRate, unit: 'items of requests' })
  return ({ partnerId }, count) => {
    if (count > 0) limiter.take(partnerId, count)
  }
}

/** Matches the start tags of payments in a pain.001, with or without a prefix. The file is parsed later. */
const paymentTag = /<(?:[\w.-]+:)?CdtTrfTxInf[\s/>]/g

/** Creates a function that counts the items of a valid body: the entries of a list, or the payments of a pain.001. */
export function compileItemCount({ items: field }: Pick<Operation, 'items'>): (body: unknown) => number {
  if (field === undefined) return () => 0
  return (body) => {
    const items = (body as Readonly<Record<string, string | readonly unknown[]>> | undefined)?.[field]
    return typeof items === 'string' ? (items.match(paymentTag)?.length ?? 0) : (items?.length ?? 0)
  }
}
