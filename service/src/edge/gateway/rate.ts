/**
 * A token bucket per name and process: `perSecond` requests on average, `burst` at once. The name is a service account, or
 * the address of a browser.
 */
import ipaddr from 'ipaddr.js'
import { Refusal } from '../../kernel/api/index.ts'
import { type Clock, secondMs } from '../../kernel/index.ts'

type Bucket = { tokens: number; at: number }

type RateLimiter = {
  /** Takes a token, or as many as are given. Refuses: rate_limited (429) with Retry-After. */
  readonly take: (name: string, tokens?: number) => void
  /** Takes a token if there is one. */
  readonly tryTake: (name: string, tokens?: number) => boolean
  /** The RateLimit fields of draft-ietf-httpapi-ratelimit-headers-10, for every authenticated response. */
  readonly headers: (name: string) => Readonly<Record<string, string>>
}

/** Bounds the memory: beyond it the bucket that was used longest ago is forgotten, so that a crowd of names resets no other. */
const bucketsMax = 100_000

export function createRateLimiter(options: {
  readonly clock: Clock
  readonly perSecond: number
  readonly burst: number
  /** Unit that is counted. Default: requests. */
  readonly unit?: string
}): RateLimiter {
  const { clock, perSecond, burst, unit = 'requests' } = options
  const buckets = new Map<string, Bucket>()
  const policy = `"default";q=${burst};w=${Math.ceil(burst / perSecond)}`

  const refill = (name: string): Bucket => {
    const now = clock.now().getTime()
    const bucket = buckets.get(name) ?? { tokens: burst, at: now }
    // The map is in the order of the last use.
    buckets.delete(name)
    const [oldest] = buckets.size >= bucketsMax ? buckets.keys() : []
    if (oldest !== undefined) buckets.delete(oldest)
    buckets.set(name, bucket)
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

  const tryTake = (name: string, tokens = 1): boolean => {
    const bucket = refill(name)
    if (bucket.tokens < tokens) return false
    bucket.tokens -= tokens
    return true
  }

  return {
    tryTake,
    take: (name, tokens = 1) => {
      if (!tryTake(name, tokens)) {
        const bucket = refill(name)
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
    headers: (name) => fields(refill(name)),
  }
}

/** A limiter of the addresses of clients. */
export function createAddressLimiter(
  options: Parameters<typeof createRateLimiter>[0],
): Pick<RateLimiter, 'take' | 'tryTake'> {
  const { take, tryTake } = createRateLimiter(options)
  return {
    take: (ip, tokens) => take(networkOf(ip), tokens),
    tryTake: (ip, tokens) => tryTake(networkOf(ip), tokens),
  }
}

/** The parts of an address that name a network of 64 bits: a line has at least one, and its owner any address in it (RFC 6177). */
const networkParts = 4

/** The name under which a client is counted: an IPv4 address, or the /64 of an IPv6 address. */
export function networkOf(ip: string): string {
  if (!ip.includes(':') || !ipaddr.isValid(ip)) return ip
  const address = ipaddr.process(ip)
  if (!(address instanceof ipaddr.IPv6)) return address.toString()
  return `${address.parts
    .slice(0, networkParts)
    .map((part) => part.toString(16))
    .join(':')}::/64`
}
