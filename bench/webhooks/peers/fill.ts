/** The databases of the peers: tables, events and unfinished work. */
import { randomUUID } from 'node:crypto'
import { Logger, makeWorkerUtils } from 'graphile-worker'
import pg from 'pg'
import { PgBoss } from 'pg-boss'
import { withClient } from '../../postgres.ts'
import { newReference, payloadOf } from '../events.ts'
import { queueName, schema } from './schema.ts'

export type Peer = {
  /** Events without a job, and unfinished jobs. */
  readonly left: () => Promise<number>
  readonly close: () => Promise<void>
}

function counting(databaseUrl: string, jobs: string) {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 1 })
  pool.on('error', () => {})
  const left = async () => {
    const { rows } = await pool.query<{ count: string }>(
      `select (select count(*) from pending) + (select count(*) from ${jobs}) as count`,
    )
    return Number(rows[0]?.count)
  }
  return { left, close: () => pool.end() }
}

export async function graphilePeer(databaseUrl: string): Promise<Peer> {
  const utils = await makeWorkerUtils({ connectionString: databaseUrl, logger: new Logger(() => () => {}) })
  await utils.migrate()
  await utils.release()
  return counting(databaseUrl, 'graphile_worker.jobs')
}

export async function bossPeer(databaseUrl: string): Promise<Peer> {
  const boss = new PgBoss({ connectionString: databaseUrl, max: 1, schedule: false, supervise: false })
  await boss.start()
  await boss.createQueue(queueName, { partition: true, retryLimit: 11, retryDelay: 5, retryBackoff: true })
  await boss.stop({ graceful: false })
  return counting(databaseUrl, `pgboss.job where name = '${queueName}' and state < 'completed'`)
}

export async function prepareTables(
  databaseUrl: string,
  urls: readonly string[],
  perPartner: number,
  secret: string,
): Promise<readonly string[]> {
  const ids = urls.map(() => randomUUID())
  await withClient(databaseUrl, async (client) => {
    await client.query(schema)
    await client.query(
      `insert into endpoints select input.id, input.partner, input.url, $4
      from unnest($1::uuid[], $2::integer[], $3::text[]) as input (id, partner, url)`,
      [ids, urls.map((_, at) => Math.floor(at / perPartner)), urls, secret],
    )
  })
  return ids
}

/** Commits events in one transaction, for the partners in turn. Returns their ids. */
export async function commitEvents(databaseUrl: string, partners: number, count: number): Promise<readonly string[]> {
  const ids = Array.from({ length: count }, () => randomUUID())
  const data = ids.map(() => payloadOf(newReference(), new Date()))
  await withClient(databaseUrl, async (client) => {
    await client.query('begin')
    await client.query(
      'insert into events select * from unnest($1::uuid[], $2::integer[], $3::text[]) as input (id, partner, data)',
      [ids, ids.map((_, at) => at % partners), data],
    )
    await client.query('insert into pending select * from unnest($1::uuid[])', [ids])
    await client.query('commit')
  })
  return ids
}
