/** Whom the service is held against: the client alone, and libraries of jobs. */
import { randomBytes } from 'node:crypto'
import type { Server } from '../children.ts'
import type { Contestant } from '../contestants.ts'
import { withClient } from '../postgres.ts'
import { startAsked } from './ask.ts'
import { compare, keyOf, verifySigned } from './audit.ts'
import { floodContestant } from './flood.ts'
import { addEvents, type Peer, prepareTables } from './peers/fill.ts'
import type { Delivery } from './peers/schema.ts'
import type { RawPosted } from './raw-child.ts'
import type { Endpoints } from './receivers.ts'

const secret = `whsec_${randomBytes(32).toString('base64')}`
const secretOf = () => secret

type Common = { readonly endpoints: Endpoints; readonly seconds: number; readonly execArgv: readonly string[] }

/** `inFlight`: posts under way at once in all. */
export function rawContestant(
  { endpoints, seconds, execArgv }: Common,
  inFlight: number,
): Contestant & {
  readonly stop: () => void
} {
  const child = startAsked('raw-child.ts', execArgv)
  const { urls } = endpoints
  let posted: readonly RawPosted[] = []
  const contestant = floodContestant({
    name: 'raw client',
    endpoints,
    seconds,
    server: () => ({ usage: () => child.ask({ usage: true }) }),
    prepare: async (count) => {
      posted = await child.ask<readonly RawPosted[]>({ prepare: { urls, secret, count } })
      return []
    },
    release: async () => {
      await child.ask({ go: { inFlight: Math.max(1, Math.floor(inFlight / urls.length)) } })
      return posted.length
    },
    finished: () => Promise.resolve(true),
    rest: () => {},
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
  readonly perEvent: number
  readonly open: (databaseUrl: string) => Promise<Peer>
  readonly start: () => Promise<Server>
}

/** Jobs are there before they are counted: what it costs to make them is not held against the library. */
export async function peerContestant(
  options: PeerOptions,
): Promise<Contestant & { readonly stop: () => Promise<void> }> {
  const { name, databaseUrl, endpoints, seconds, perEvent } = options
  const endpointIds = await prepareTables(databaseUrl, endpoints.urls, secret)
  const peer = await options.open(databaseUrl)
  const server = await options.start()
  server.freeze()
  let deliveries: readonly Delivery[] = []
  const contestant = floodContestant({
    name,
    endpoints,
    seconds,
    server: () => server,
    prepare: async (count) => {
      deliveries = await addEvents(databaseUrl, endpointIds, count, perEvent)
      await peer.add(deliveries)
      server.thaw()
      return []
    },
    release: () => Promise.resolve(deliveries.length),
    finished: async () => (await peer.left()) === 0,
    rest: server.freeze,
    check: async ({ received, sampled }) => {
      const digests = await attempted(databaseUrl, deliveries)
      const at = new Map(endpointIds.map((id, index) => [id, index]))
      const expected = new Map(
        deliveries.map(({ deliveryId, endpointId }) => [
          keyOf(at.get(endpointId) ?? -1, deliveryId),
          digests.get(deliveryId) ?? 'no attempt is recorded',
        ]),
      )
      return [...compare(received, expected), ...verifySigned(sampled, secretOf)]
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

/** By delivery, the digest of the data that its successful attempt carried. */
async function attempted(databaseUrl: string, deliveries: readonly Delivery[]): Promise<ReadonlyMap<string, string>> {
  const { rows } = await withClient(databaseUrl, (client) =>
    client.query<{ id: string; digest: string }>(
      `select a.delivery_id as id, encode(sha256(convert_to(e.data, 'UTF8')), 'hex') as digest
      from attempts a join events e on e.id = a.event_id
      where a.delivery_id = any($1::uuid[]) and a.status = 200`,
      [deliveries.map(({ deliveryId }) => deliveryId)],
    ),
  )
  return new Map(rows.map(({ id, digest }) => [id, digest]))
}
