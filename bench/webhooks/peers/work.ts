/** One delivery as a job: read the payload, sign, post, record the attempt. */
import { readSigningKey, type SigningKey } from '@partner-payments/wire'
import pg from 'pg'
import { createClient, signRequest } from '../client.ts'
import type { Delivery } from './schema.ts'

/** Same as the service. */
const exchangeTimeoutMs = 15_000

type Endpoint = { readonly url: string; readonly key: SigningKey }
export type Attempted = Delivery & {
  readonly startedAt: Date
  readonly durationMs: number
  readonly status: number | null
  readonly error: string | null
}

export function createWork(databaseUrl: string, connectionsMax: number) {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: connectionsMax })
  pool.on('error', () => {})
  const client = createClient(exchangeTimeoutMs)
  const endpoints = new Map<string, Promise<Endpoint>>()

  const endpointOf = (id: string): Promise<Endpoint> => {
    const known = endpoints.get(id)
    if (known) return known
    const found = pool.query('select url, secret from endpoints where id = $1', [id]).then(({ rows }) => {
      const { url, secret } = rows[0] as { readonly url: string; readonly secret: string }
      return { url, key: readSigningKey(secret) }
    })
    endpoints.set(id, found)
    return found
  }

  return {
    /** Reads the payloads of events in one statement. */
    payloads: async (eventIds: readonly string[]): Promise<ReadonlyMap<string, string>> => {
      const { rows } = await pool.query<{ id: string; data: string }>({
        name: 'payloads',
        text: 'select id, data from events where id = any($1::uuid[])',
        values: [eventIds],
      })
      return new Map(rows.map(({ id, data }) => [id, data]))
    },
    attempt: async (delivery: Delivery, data: string): Promise<Attempted> => {
      const { url, key } = await endpointOf(delivery.endpointId)
      const startedAt = new Date()
      const startMs = performance.now()
      const [status, error] = await client.post(signRequest(url, key, delivery.deliveryId, data)).then(
        (code) => [code, null] as const,
        (thrown: unknown) => [null, String(thrown)] as const,
      )
      return { ...delivery, startedAt, durationMs: Math.round(performance.now() - startMs), status, error }
    },
    /** Stores attempts in one statement. */
    record: async (attempted: readonly Attempted[]): Promise<void> => {
      const column = <K extends keyof Attempted>(name: K) => attempted.map((row) => row[name])
      await pool.query({
        name: 'record',
        text: `insert into attempts (delivery_id, attempt, event_id, endpoint_id, started_at, duration_ms, status, error)
          select delivery_id, 1, event_id, endpoint_id, started_at, duration_ms, status, error
          from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::timestamptz[], $5::integer[], $6::integer[], $7::text[])
            as input (delivery_id, event_id, endpoint_id, started_at, duration_ms, status, error)`,
        values: [
          column('deliveryId'),
          column('eventId'),
          column('endpointId'),
          column('startedAt'),
          column('durationMs'),
          column('status'),
          column('error'),
        ],
      })
    },
  }
}

/** Throws if an attempt failed, so that the library repeats the job. */
export function requireSuccess(attempted: readonly Attempted[]): void {
  const failed = attempted.find(({ status }) => status === null || status >= 300)
  if (failed) throw new Error(failed.error ?? `status ${failed.status}`)
}
