/** The peers' databases: tables, jobs, and what is still to be done. */
import { randomUUID } from 'node:crypto'
import { Logger, makeWorkerUtils } from 'graphile-worker'
import pg from 'pg'
import { PgBoss } from 'pg-boss'
import { withClient } from '../../postgres.ts'
import { newReference, payloadOf } from '../events.ts'
import { type Delivery, queueName, schema } from './schema.ts'

export type Peer = {
  /** Jobs that are there at once. */
  readonly add: (deliveries: readonly Delivery[]) => Promise<void>
  /** Jobs that are not done. */
  readonly left: () => Promise<number>
  readonly close: () => Promise<void>
}

const count = async (pool: pg.Pool, statement: string): Promise<number> =>
  Number((await pool.query<{ count: string }>(statement)).rows[0]?.count)

export async function graphilePeer(databaseUrl: string): Promise<Peer> {
  const pgPool = new pg.Pool({ connectionString: databaseUrl, max: 2 })
  pgPool.on('error', () => {})
  pgPool.on('connect', (client) => client.on('error', () => {}))
  const utils = await makeWorkerUtils({ pgPool, logger: new Logger(() => () => {}) })
  await utils.migrate()
  return {
    add: async (deliveries) =>
      void (await utils.addJobs(deliveries.map((payload) => ({ identifier: queueName, payload })))),
    left: () => count(pgPool, 'select count(*) from graphile_worker.jobs'),
    close: async () => {
      await utils.release()
      await pgPool.end()
    },
  }
}

export async function bossPeer(databaseUrl: string): Promise<Peer> {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 1 })
  pool.on('error', () => {})
  const boss = new PgBoss({ connectionString: databaseUrl, max: 2, schedule: false, supervise: false })
  await boss.start()
  await boss.createQueue(queueName, { partition: true, retryLimit: 11, retryDelay: 5, retryBackoff: true })
  return {
    add: async (deliveries) =>
      void (await boss.insert(
        queueName,
        deliveries.map((data) => ({ data })),
      )),
    left: () => count(pool, `select count(*) from pgboss.job where name = '${queueName}' and state < 'completed'`),
    close: async () => {
      await boss.stop({ graceful: false })
      await pool.end()
    },
  }
}

export async function prepareTables(
  databaseUrl: string,
  urls: readonly string[],
  secret: string,
): Promise<readonly string[]> {
  const ids = urls.map(() => randomUUID())
  await withClient(databaseUrl, async (client) => {
    await client.query(schema)
    await client.query(
      'insert into endpoints select e.id, e.url, $3 from unnest($1::uuid[], $2::text[]) as e (id, url)',
      [ids, urls, secret],
    )
  })
  return ids
}

/** New events, each for the next `perEvent` of the endpoints; their jobs are not made yet. */
export async function addEvents(
  databaseUrl: string,
  endpointIds: readonly string[],
  deliveries: number,
  perEvent: number,
): Promise<readonly Delivery[]> {
  const made: Delivery[] = []
  const rows = Array.from({ length: Math.ceil(deliveries / perEvent) }, (_, index) => {
    const eventId = randomUUID()
    for (let at = 0; at < perEvent; at += 1) {
      const endpointId = endpointIds[(index * perEvent + at) % endpointIds.length] ?? ''
      made.push({ deliveryId: randomUUID(), eventId, endpointId })
    }
    return { id: eventId, data: payloadOf(newReference(), new Date()) }
  })
  await withClient(databaseUrl, (client) =>
    client.query('insert into events select * from unnest($1::uuid[], $2::text[])', [
      rows.map(({ id }) => id),
      rows.map(({ data }) => data),
    ]),
  )
  return made
}
