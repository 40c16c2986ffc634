/** Compares received with stored events: each subscribed endpoint gets every committed event once, byte for byte. */
import { Webhook } from 'standardwebhooks'
import { withClient } from '../postgres.ts'
import { eventType } from './events.ts'
import type { ReceivedRequest, SampledRequest } from './received.ts'
import type { Setup } from './setup.ts'

/** The digest of the data by endpoint and event id. Null accepts any data. */
export type ExpectedDeliveries = ReadonlyMap<string, string | null>
export const keyOf = (endpoint: number, id: string) => `${endpoint} ${id}`

const summary = (finding: string, keys: readonly string[]) =>
  keys.length === 0 ? [] : [`${keys.length} ${finding}, for example ${keys.slice(0, 3).join('; ')}`]

export function compare(received: readonly ReceivedRequest[], expected: ExpectedDeliveries): readonly string[] {
  const seen = new Set<string>()
  const duplicate: string[] = []
  const unexpected: string[] = []
  const altered: string[] = []
  for (const { endpoint, id, eventId, digest } of received) {
    const key = keyOf(endpoint, id)
    if (seen.has(key)) duplicate.push(key)
    seen.add(key)
    const wanted = expected.get(key)
    if (wanted === undefined) unexpected.push(key)
    if (eventId !== id || (typeof wanted === 'string' && wanted !== digest)) altered.push(key)
  }
  const lost = [...expected.keys()].filter((key) => !seen.has(key))
  return [
    ...summary('arrived twice', duplicate),
    ...summary('arrived unexpectedly', unexpected),
    ...summary('arrived with other bytes', altered),
    ...summary('never arrived', lost),
  ]
}

/** Verifies with the library of a usual receiver. */
export function verifySigned(
  sampled: readonly SampledRequest[],
  secretOf: (endpoint: number) => string,
): readonly string[] {
  const bad = sampled.flatMap(({ endpoint, headers, body }) => {
    try {
      new Webhook(secretOf(endpoint)).verify(body, { ...headers })
      return []
    } catch (error) {
      return [`${endpoint} ${headers['webhook-id']} (${(error as Error).message})`]
    }
  })
  return summary('signatures do not verify', bad)
}

/** Per endpoint: owed = delivered + pending + held, and the feed has every committed event. */
const reconcile = `
  with owed as (select feed.partner_id, count(*) as events
    from delivery.feed join events.events on events.partner_id = feed.partner_id and events.id = feed.event_id
    where events.type = '${eventType}' group by feed.partner_id),
  delivered as (select partner_id, subscription_id, count(*) as events
    from delivery.deliveries group by partner_id, subscription_id),
  queued as (select partner_id, subscription_id, count(*) filter (where status = 'Pending') as pending,
      count(*) filter (where status = 'Held') as held
    from delivery.queue group by partner_id, subscription_id)
  select subscriptions.partner_id as partner, subscriptions.id as subscription,
    coalesce(owed.events, 0)::integer as owed, coalesce(delivered.events, 0)::integer as delivered,
    coalesce(queued.pending, 0)::integer as pending, coalesce(queued.held, 0)::integer as held,
    endpoint_queues.owed::integer as counted
  from delivery.subscriptions
    left join delivery.endpoint_queues on endpoint_queues.partner_id = subscriptions.partner_id
      and endpoint_queues.subscription_id = subscriptions.id
    left join owed on owed.partner_id = subscriptions.partner_id
    left join delivered on delivered.partner_id = subscriptions.partner_id
      and delivered.subscription_id = subscriptions.id
    left join queued on queued.partner_id = subscriptions.partner_id and queued.subscription_id = subscriptions.id`

type Counts = {
  readonly partner: string
  readonly subscription: string
  readonly owed: number
  readonly delivered: number
  readonly pending: number
  readonly held: number
  /** `owed` of the endpoint queue. */
  readonly counted: number
}

/** `drained`: healthy endpoints have no pending delivery. */
export async function auditOwed(setup: Setup, { drained }: { readonly drained: boolean }): Promise<readonly string[]> {
  const { rows, waiting } = await withClient(setup.databaseUrl, async (client) => {
    await client.query('begin isolation level repeatable read read only')
    const owed = await client.query<Counts>(reconcile)
    const left = await client.query<{ count: number }>('select count(*)::integer as count from events.pending')
    await client.query('commit')
    return { rows: owed.rows, waiting: left.rows[0]?.count ?? 0 }
  })
  const healthy = new Set(
    setup.subscriptions.filter((each) => each.healthy).map(({ subscriptionId }) => subscriptionId),
  )
  const wrong: string[] = []
  if (waiting > 0) wrong.push(`${waiting} events are not fanned out`)
  for (const row of rows) {
    const { partner, subscription, owed, delivered, pending, held, counted } = row
    const committed = setup.committed.get(partner) ?? 0
    if (owed !== delivered + pending + held || owed !== committed || owed !== counted)
      wrong.push(`committed ${committed}, ${JSON.stringify(row)}`)
    if (drained && healthy.has(subscription) && pending + held > 0) wrong.push(`not delivered: ${JSON.stringify(row)}`)
  }
  if (rows.length !== setup.subscriptions.length) wrong.push(`${rows.length} subscriptions`)
  return wrong.length > 5 ? [...wrong.slice(0, 5), `and ${wrong.length - 5} more`] : wrong
}

/** Returns the deliveries recorded since the last call, which must have arrived. */
export function deliveredSince(setup: Setup): () => Promise<ExpectedDeliveries> {
  const endpointOf = new Map(setup.subscriptions.map(({ subscriptionId, endpoint }) => [subscriptionId, endpoint]))
  let since = new Date(0)
  return async () => {
    const { rows } = await withClient(setup.databaseUrl, (client) =>
      client.query<{ subscription: string; id: string; digest: string; at: Date }>(
        `select deliveries.subscription_id as subscription, deliveries.wire_event_id as id,
          deliveries.delivered_at as at, encode(sha256(convert_to(events.data, 'UTF8')), 'hex') as digest
        from delivery.deliveries join events.events
          on events.partner_id = deliveries.partner_id and events.id = deliveries.event_id
        where deliveries.delivered_at > $1`,
        [since],
      ),
    )
    // No delivery is under way between two calls, so later ones have later times.
    for (const { at } of rows) if (at > since) since = at
    return new Map(rows.map(({ subscription, id, digest }) => [keyOf(endpointOf.get(subscription) ?? -1, id), digest]))
  }
}
