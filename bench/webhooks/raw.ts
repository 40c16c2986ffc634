/** The contestant to compare with: the HTTP client alone. */
import { randomBytes } from 'node:crypto'
import { startChild } from '../child.ts'
import type { Contestant } from '../rounds.ts'
import { compare, keyOf, verifySigned } from './audit.ts'
import { floodContestant } from './flood.ts'
import type { RawPosted } from './raw-child.ts'
import type { Endpoints } from './receivers.ts'

const secret = `whsec_${randomBytes(32).toString('base64')}`
/** Concurrent requests, like the limit of one process of the service. */
const inFlight = 500

export function rawContestant(
  name: string,
  endpoints: Endpoints,
  { seconds, execArgv }: { readonly seconds: number; readonly execArgv: readonly string[] },
): Contestant & { readonly stop: () => void } {
  const child = startChild('webhooks/raw-child.ts', { execArgv })
  const { urls } = endpoints
  let posted: readonly RawPosted[] = []
  const contestant = floodContestant({
    name,
    endpoints,
    seconds,
    server: () => ({ usage: () => child.request({ usage: true }) }),
    prepare: async (count) => {
      posted = await child.request<readonly RawPosted[]>({ prepare: { urls, secret, count } })
      return []
    },
    release: async () => {
      await child.request({ go: { inFlight: Math.max(1, Math.floor(inFlight / urls.length)) } })
      return posted.length
    },
    finished: () => Promise.resolve(true),
    suspend: () => {},
    check: async ({ received, sampled }) => [
      ...compare(received, new Map(posted.map(({ endpoint, id, digest }) => [keyOf(endpoint, id), digest]))),
      ...verifySigned(sampled, () => secret),
    ],
  })
  return { ...contestant, stop: child.stop }
}
