/** What came against what is stored: every committed event at each endpoint that wants it, once, byte for byte. */
import { Webhook } from 'standardwebhooks'
import { withClient } from '../postgres.ts'
import { eventType } from './events.ts'
import type { Received, Sampled } from './received.ts'
import type { Place } from './place.ts'

/** By endpoint and id: the digest of the data; null where whatever came is right. */
export type Expected = ReadonlyMap<string, string | null>
export const keyOf = (endpoint: number, id: string) => `${endpoint} ${id}`

const shown = (what: string, keys: readonly string[]) =>
  keys.length === 0 ? [] : [`${keys.length} ${what}, such as ${keys.slice(0, 3).join('; ')}`]

export function compare(received: readonly Received[], expected: Expected): readonly string[] {
  const seen = new Set<string>()
  const [twice, invented, altered]: [string[], string[], string[]] = [[], [], []]
  for (const { endpoint, id, eventId, digest } of received) {
    const key = keyOf(endpoint, id)
    if (seen.has(key)) twice.push(key)
    seen.add(key)
    const wanted = expected.get(key)
    if (wanted === undefined) invented.push(key)
    if (eventId !== id || (typeof wanted === 'string' && wanted !== digest)) altered.push(key)
  }
  const lost = [...expected.keys()].filter((key) => !seen.has(key))
  return [
    ...shown('came twice', twice),
    ...shown('came and were never owed', invented),
    ...shown('came with other bytes', altered),
    ...shown('never came', lost),
  ]
}

/** By a stock receiver's library. */
export function verifySigned(sampled: readonly Sampled[], secretOf: (endpoint: number) => string): readonly string[] {
  const bad = sampled.flatMap(({ endpoint, headers, body }) => {
    try {
      new Webhook(secretOf(endpoint)).verify(body, { ...headers })
      return []
    } catch (error) {
      return [`${endpoint} ${headers['webhook-id']} (${(error as Error).message})`]
    }
  })
  return shown('signatures do not verify', bad)
}

/** Owed = delivered + pending + held, by endpoint; and all that was committed is numbered in the feed. */
const reconcile = `
  with owed as (select f.partner_id, count(*) as events
    from delivery.feed f join events.events e on e.partner_id = f.partner_id and e.id = f.event_id
    where e.type = '${eventType}' group by 1),
  delivered as (select partner_id, subscription_id, count(*) as delivered from delivery.deliveries group by 1, 2),
  queued as (select partner_id, subscription_id, count(*) filter (where status = 'Pending') as pending,
      count(*) filter (where status = 'Held') as held
    from delivery.queue group by 1, 2)
  select s.partner_id as partner, s.id as subscription, coalesce(o.events, 0)::integer as owed,
    coalesce(d.delivered, 0)::integer as delivered, coalesce(q.pending, 0)::integer as pending,
    coalesce(q.held, 0)::integer as held, l.owed::integer as counted
  from delivery.subscriptions s
    left join delivery.endpoint_queues l on l.partner_id = s.partner_id and l.subscription_id = s.id
    left join owed o on o.partner_id = s.partner_id
    left join delivered d on d.partner_id = s.partner_id and d.subscription_id = s.id
    left join queued q on q.partner_id = s.partner_id and q.subscription_id = s.id`

type Owed = {
  readonly partner: string
  readonly subscription: string
  readonly owed: number
  readonly delivered: number
  readonly pending: number
  readonly held: number
  /** By the endpoint queue itself. */
  readonly counted: number
}

/** `drained`: nothing is left for healthy endpoints. */
export async function auditOwed(place: Place, { drained }: { readonly drained: boolean }): Promise<readonly string[]> {
  const { rows, waiting } = await withClient(place.databaseUrl, async (client) => {
    await client.query('begin isolation level repeatable read read only')
    const owed = await client.query<Owed>(reconcile)
    const left = await client.query<{ count: number }>('select count(*)::integer as count from events.pending')
    await client.query('commit')
    return { rows: owed.rows, waiting: left.rows[0]?.count ?? 0 }
  })
  const healthy = new Set(
    place.subscriptions.filter((each) => each.healthy).map(({ subscriptionId }) => subscriptionId),
  )
  const wrong: string[] = []
  if (waiting > 0) wrong.push(`${waiting} events are not fanned out`)
  for (const row of rows) {
    const { partner, subscription, owed, delivered, pending, held, counted } = row
    const committed = place.committed.get(partner) ?? 0
    if (owed !== delivered + pending + held || owed !== committed || owed !== counted)
      wrong.push(`committed ${committed}, ${JSON.stringify(row)}`)
    if (drained && healthy.has(subscription) && pending + held > 0) wrong.push(`still owed: ${JSON.stringify(row)}`)
  }
  if (rows.length !== place.subscriptions.length) wrong.push(`${rows.length} subscriptions`)
  return wrong.length > 5 ? [...wrong.slice(0, 5), `and ${wrong.length - 5} more`] : wrong
}

/** Recorded as delivered since the last call: what must have come. */
export function deliveredSince(place: Place): () => Promise<Expected> {
  const endpointOf = new Map(place.subscriptions.map(({ subscriptionId, endpoint }) => [subscriptionId, endpoint]))
  let since = new Date(0)
  return async () => {
    const { rows } = await withClient(place.databaseUrl, (client) =>
      client.query<{ subscription: string; id: string; digest: string; at: Date }>(
        `select d.subscription_id as subscription, d.wire_event_id as id, d.delivered_at as at,
          encode(sha256(convert_to(e.data, 'UTF8')), 'hex') as digest
        from delivery.deliveries d join events.events e on e.partner_id = d.partner_id and e.id = d.event_id
        where d.delivered_at > $1`,
        [since],
      ),
    )
    // Nothing is under way between two calls, so that no later delivery bears an earlier time.
    for (const { at } of rows) if (at > since) since = at
    return new Map(rows.map(({ subscription, id, digest }) => [keyOf(endpointOf.get(subscription) ?? -1, id), digest]))
  }
}
