/**
 * Writes pending deliveries in bulk, in the same state as the fan-out would: events, their sequences in the feed, and a
 * queue row for each subscription of the partner.
 */
import { withClient } from '../postgres.ts'
import { eventType, payloadOf } from './events.ts'
import type { Setup } from './setup.ts'

const eventsPerBatch = 20_000

type Backlog = {
  readonly partnerIds: readonly string[]
  readonly eventsPerPartner: number
  /** True: failed once, with a retry far in the future. False: due now. */
  readonly waiting: boolean
  readonly say?: (line: string) => void
}

/** Event ids: one per millisecond, with the number of the partner at the end, so that all are different. */
const eventId = `(lpad(to_hex($3::bigint + n), 12, '0') || '70008' || lpad(to_hex($4::bigint), 15, '0'))::uuid`
const reference = `'backlog_' || to_hex($3::bigint + n)`

const statements = [
  `insert into events.events (partner_id, id, type, reference, data, occurred_at)
  select $1::uuid, ${eventId}, '${eventType}', ${reference}, replace($5, '{reference}', ${reference}), to_timestamp($6)
  from generate_series($2::bigint, $7::bigint) as n`,
  `insert into delivery.feed (partner_id, sequence, event_id)
  select $1::uuid, $8::bigint + n, ${eventId} from generate_series($2::bigint, $7::bigint) as n`,
  `insert into delivery.queue (partner_id, subscription_id, event_id, sequence, wire_event_id, type, reference, status,
    due_at, attempt_count, failures, created_at)
  select $1::uuid, s.id, ${eventId}, $8::bigint + n, md5(${eventId}::text || s.id::text)::uuid, '${eventType}',
    ${reference}, 'Pending', case when $9 then to_timestamp($6) + interval '10 days' end, $9::boolean::integer,
    $9::boolean::integer, to_timestamp($6)
  from generate_series($2::bigint, $7::bigint) as n
    cross join (select id from delivery.subscriptions where partner_id = $1 order by id) as s`,
]
/** PostgreSQL cannot infer the type of an unused parameter, so each statement gets only those that it uses. */
function queryOf(text: string, values: readonly unknown[]): { readonly text: string; readonly values: unknown[] } {
  const named = [...new Set([...text.matchAll(/\$(\d)/g)].map(([, digit]) => Number(digit)))].toSorted((a, b) => a - b)
  return {
    text: text.replaceAll(/\$(\d)/g, (_, digit) => `$${named.indexOf(Number(digit)) + 1}`),
    values: named.map((number) => values[number - 1]),
  }
}

let lastMs = 0
export async function fillBacklog(setup: Setup, backlog: Backlog): Promise<void> {
  const { partnerIds, eventsPerPartner, waiting, say } = backlog
  const nowMs = Date.now()
  // A further backlog starts behind the last one, so that no id repeats.
  const baseMs = Math.max(nowMs - eventsPerPartner - 1000, lastMs)
  lastMs = baseMs + eventsPerPartner + 1
  const data = payloadOf('{reference}', new Date(nowMs))
  await withClient(setup.databaseUrl, async (client) => {
    for (const [index, partnerId] of partnerIds.entries()) {
      const sequence = setup.committed.get(partnerId) ?? 0
      for (let from = 1; from <= eventsPerPartner; from += eventsPerBatch) {
        const to = Math.min(eventsPerPartner, from + eventsPerBatch - 1)
        const values = [partnerId, from, baseMs, index + 1, data, nowMs / 1000, to, sequence, waiting]
        for (const statement of statements) {
          const { text, values: used } = queryOf(statement, values)
          await client.query(text, used)
        }
      }
      const committed = sequence + eventsPerPartner
      setup.committed.set(partnerId, committed)
      await client.query('update delivery.partners set last_sequence = $2 where partner_id = $1', [
        partnerId,
        committed,
      ])
      await client.query('update delivery.endpoint_queues set due_at = $2, owed = owed + $3 where partner_id = $1', [
        partnerId,
        new Date(nowMs),
        eventsPerPartner,
      ])
      say?.(`${index + 1} of ${partnerIds.length} partners have a backlog`)
    }
    if (say) await client.query('vacuum (analyze)')
  })
}
