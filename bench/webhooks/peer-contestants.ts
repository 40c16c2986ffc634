/** The contestants to compare with: the HTTP client alone, and job queue libraries. */
import { randomBytes } from 'node:crypto'
import type { Server } from '../children.ts'
import type { Contestant } from '../contestants.ts'
import { withClient } from '../postgres.ts'
import { startChild } from './child.ts'
import { compare, type Expected, keyOf, verifySigned } from './audit.ts'
import { floodContestant } from './flood.ts'
import { commitEvents, type Peer, prepareTables } from './peers/fill.ts'
import type { RawPosted } from './raw-child.ts'
import type { Endpoints } from './receivers.ts'

const secret = `whsec_${randomBytes(32).toString('base64')}`
const secretOf = () => secret

type Common = { readonly endpoints: Endpoints; readonly seconds: number; readonly execArgv: readonly string[] }

/** `inFlight`: concurrent requests to all endpoints. */
export function rawContestant(
  { endpoints, seconds, execArgv }: Common,
  inFlight: number,
): Contestant & {
  readonly stop: () => void
} {
  const child = startChild('raw-child.ts', execArgv)
  const { urls } = endpoints
  let posted: readonly RawPosted[] = []
  const contestant = floodContestant({
    name: 'raw client',
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
      ...verifySigned(sampled, secretOf),
    ],
  })
  return { ...contestant, stop: child.stop }
}

export type PeerOptions = Common & {
  readonly name: string
  readonly databaseUrl: string
  readonly perPartner: number
  readonly open: (databaseUrl: string) => Promise<Peer>
  readonly start: () => Promise<Server>
}

/** Measures from the commit of the events, like the service. The time to create the jobs counts. */
export async function peerContestant(
  options: PeerOptions,
): Promise<Contestant & { readonly stop: () => Promise<void> }> {
  const { name, databaseUrl, endpoints, seconds, perPartner } = options
  const endpointIds = await prepareTables(databaseUrl, endpoints.urls, perPartner, secret)
  const peer = await options.open(databaseUrl)
  const server = await options.start()
  server.freeze()
  let eventIds: readonly string[] = []
  const contestant = floodContestant({
    name,
    endpoints,
    seconds,
    server: () => server,
    prepare: () => {
      server.thaw()
      return Promise.resolve([])
    },
    release: async (deliveries) => {
      const partners = endpointIds.length / perPartner
      eventIds = await commitEvents(databaseUrl, partners, Math.ceil(deliveries / perPartner))
      return eventIds.length * perPartner
    },
    finished: async () => (await peer.left()) === 0,
    suspend: server.freeze,
    check: async ({ received, sampled }) => {
      const expected = await attempted(databaseUrl, endpointIds, eventIds)
      const expectedCount = eventIds.length * perPartner
      return [
        ...(expected.size === expectedCount
          ? []
          : [`${expectedCount} deliveries, ${expected.size} successful attempts`]),
        ...compare(received, expected),
        ...verifySigned(sampled, secretOf),
      ]
    },
  })
  return {
    ...contestant,
    stop: async () => {
      await peer.close()
      await server.stop()
    },
  }
}

/** The data and endpoint of each successful attempt of these events. */
async function attempted(
  databaseUrl: string,
  endpointIds: readonly string[],
  eventIds: readonly string[],
): Promise<Expected> {
  const indexOf = new Map(endpointIds.map((id, index) => [id, index]))
  const { rows } = await withClient(databaseUrl, (client) =>
    client.query<{ id: string; endpoint: string; digest: string }>(
      `select attempts.delivery_id as id, attempts.endpoint_id as endpoint,
        encode(sha256(convert_to(events.data, 'UTF8')), 'hex') as digest
      from attempts join events on events.id = attempts.event_id
      where attempts.event_id = any($1::uuid[]) and attempts.status = 200`,
      [eventIds],
    ),
  )
  return new Map(rows.map(({ id, endpoint, digest }) => [keyOf(indexOf.get(endpoint) ?? -1, id), digest]))
}
