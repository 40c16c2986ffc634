/** Creates a job for each committed event and endpoint of its partner, in batches of one transaction each. */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Delivery } from './schema.ts'

/** Same as the service. */
const eventsMax = 1000
const idleMs = 50

export type AddJobs = (client: pg.ClientBase, deliveries: readonly Delivery[]) => Promise<unknown>

export async function startFanOut(databaseUrl: string, addJobs: AddJobs): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl })
  client.on('error', () => {})
  await client.connect()
  const { rows } = await client.query<{ id: string; partner: number }>('select id, partner from endpoints')
  const endpoints = Map.groupBy(rows, ({ partner }) => partner)
  const step = async (): Promise<number> => {
    await client.query('begin')
    const taken = await client.query<{ id: string; partner: number }>({
      name: 'take',
      text: `with taken as (delete from pending where event_id = any(array(
          select event_id from pending order by event_id limit ${eventsMax} for update skip locked)) returning event_id)
        select events.id, events.partner from taken join events on events.id = taken.event_id`,
    })
    const deliveries = taken.rows.flatMap(({ id: eventId, partner }) =>
      (endpoints.get(partner) ?? []).map((endpoint) => ({
        deliveryId: randomUUID(),
        eventId,
        endpointId: endpoint.id,
      })),
    )
    if (deliveries.length > 0) await addJobs(client, deliveries)
    await client.query('commit')
    return deliveries.length
  }
  const run = async () => {
    for (;;) if ((await step()) === 0) await sleep(idleMs)
  }
  void run()
}
