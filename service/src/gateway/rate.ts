/** A token bucket per service account and process: `perSecond` requests on average, `burst` at once. */
import { type Caller, Refusal } from '../api/index.ts'
import { type Clock, secondMs } from '../kernel/index.ts'

/** Whose requests count together: a service account, or the address of a client without one. */
type Limited = Pick<Caller, 'serviceAccountId'>
type Bucket = { tokens: number; at: number }

type RateLimiter = {
  /** Takes a token. Refuses: rate_limited (429) with Retry-After. */
  readonly take: (caller: Limited) => void
  /** Takes a token if there is one. */
  readonly tryTake: (caller: Limited) => boolean
  /** The RateLimit fields of draft-ietf-httpapi-ratelimit-headers-10, for every authenticated response. */
  readonly headers: (caller: Limited) => Readonly<Record<string, string>>
}

/** All buckets are dropped at this number, so that memory stays bounded. */
const bucketsMax = 100_000

export function createRateLimiter(options: {
  readonly clock: Clock
  readonly perSecond: number
  readonly burst: number
}): RateLimiter {
  const { clock, perSecond, burst } = options
  const buckets = new Map<string, Bucket>()
  const policy = `"default";q=${burst};w=${Math.ceil(burst / perSecond)}`

  const refill = (caller: Limited): Bucket => {
    const now = clock.now().getTime()
    let bucket = buckets.get(caller.serviceAccountId)
    if (!bucket) {
      if (buckets.size >= bucketsMax) buckets.clear()
      bucket = { tokens: burst, at: now }
      buckets.set(caller.serviceAccountId, bucket)
    }
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

  const tryTake = (caller: Limited): boolean => {
    const bucket = refill(caller)
    if (bucket.tokens < 1) return false
    bucket.tokens -= 1
    return true
  }

  return {
    tryTake,
    take: (caller) => {
      if (!tryTake(caller)) {
        const bucket = refill(caller)
        const retryAfter = String(Math.max(1, Math.ceil((1 - bucket.tokens) / perSecond)))
        throw new Refusal(
          'rate_limited',
          `The limit is ${perSecond} requests per second, in bursts of up to ${burst}.`,
          {
            headers: { 'retry-after': retryAfter, ...fields(bucket) },
          },
        )
      }
    },
    headers: (caller) => fields(refill(caller)),
  }
}
