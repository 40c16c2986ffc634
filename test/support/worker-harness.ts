/** A delivery worker without HTTP that tests drive step by step, and readers of the resulting state. */
import assert from 'node:assert/strict'
import { sql } from '../../service/src/postgres/index.ts'
import type { AttemptResult, Attempt, SubscriptionKey } from '../../service/src/webhooks/index.ts'
import { reconcile } from './reconcile.ts'
import { type Hooks, statusChanged } from './webhooks.ts'

export function createWorkerHarness({ webhooks, clock, log }: Hooks, inFlightMax?: number) {
  const begun: Attempt[] = []
  const worker = webhooks.createQueueWorker(log, {
    begin: (claim) => begun.push(claim),
    wake: () => undefined,
    pause: async () => undefined,
    idleMs: 0,
    inFlightMax,
  })
  return {
    ...worker,
    /** Runs all steps. Returns the attempts of the subscription that have started since the last call. */
    claim: async ({ subscriptionId }: SubscriptionKey): Promise<readonly Attempt[]> => {
      while ((await worker.step()) > 0);
      const own = begun.filter((claim) => claim.subscriptionId === subscriptionId)
      for (const claim of own) begun.splice(begun.indexOf(claim), 1)
      return own
    },
    /** Records the result of an attempt. Default: status 200. */
    record: (claim: Attempt | undefined, result: Partial<AttemptResult> = {}) => {
      assert.ok(claim)
      return worker.recordResult(claim, { startedAt: clock.now(), durationMs: 5, status: 200, ...result })
    },
  }
}

export type WorkerHarness = ReturnType<typeof createWorkerHarness>

export const dataField = (attempt: Attempt, field: 'reference' | 'status') =>
  (JSON.parse(attempt.data) as Readonly<Record<typeof field, string>>)[field]

export function createDeliveryFixture(hooks: Hooks) {
  const { db, webhooks } = hooks
  return {
    subscribe: async (partnerId: string, events: readonly string[] = [statusChanged]): Promise<SubscriptionKey> => {
      const { id } = await webhooks.create(partnerId, { url: 'https://example.com/hook', events: [...events] })
      return { partnerId, subscriptionId: id }
    },
    list: ({ partnerId, subscriptionId }: SubscriptionKey) => webhooks.deliveries(partnerId, subscriptionId, {}),
    endpointQueueOf: async ({ partnerId, subscriptionId }: SubscriptionKey) => {
      const row = await db.row<{
        dueAt: Date | null
        leaseId: string | null
        pausedUntil: Date | null
        probeMs: number | null
        slowStart: number | null
      }>(sql`
        select due_at, lease_id, paused_until, probe_ms, slow_start from delivery.endpoint_queues
        where partner_id = ${partnerId} and subscription_id = ${subscriptionId}`)
      assert.ok(row)
      return row
    },
    /** Checks the counters of all subscriptions of the partner. Returns the counts of the first. */
    counts: async (partnerId: string) => {
      const rows = await db.transaction((tx) => reconcile(tx, partnerId))
      for (const row of rows) assert.equal(row.delivered + row.pending + row.held, row.owed)
      const [row] = rows
      assert.ok(row)
      const { owed, delivered, pending, held } = row
      return { owed: Number(owed), delivered: Number(delivered), pending: Number(pending), held: Number(held) }
    },
  }
}
