/** What came of attempts, written down many at a time: each stands or falls alone, and a stale one changes nothing. */
import type { Clock } from '../../kernel/index.ts'
import { createBatcher, type Database, type Tx } from '../../postgres/index.ts'
import type { Health, Notice } from './health.ts'
import { addNotice } from '../management/alerts.ts'
import type { Next, Verdict } from './schedule.ts'
import * as endpointQueues from './store-endpoint-queues.ts'
import * as queue from './store-queue.ts'
import * as store from '../management/store-subscriptions.ts'

export type Recording = queue.AttemptRecord & {
  readonly workerId: string
  readonly url: string
  readonly verdict: Verdict
  /** Undefined: delivered. */
  readonly next: Next | undefined
  /** Of the endpoint queue, where the attempt changed it. */
  readonly health: Health | undefined
  readonly disable: 'Gone' | 'Failing' | undefined
  readonly notice: Notice | undefined
}

const callsMax = 200
/** The next one is written while the one before it commits. */
const batchesMax = 2

type Deps = {
  readonly db: Database
  readonly clock: Clock
  readonly sharded: boolean
}

export function createRecord({ db, clock, sharded }: Deps) {
  const settle = async (tx: Tx, workerId: string, calls: readonly Recording[], now: Date) => {
    const holder = { workerId, sharded }
    const delivered = calls.filter(({ next }) => next === undefined)
    const failed = calls.flatMap((call) => (call.next === undefined ? [] : [{ ...call, ...call.next, call }]))
    return [
      ...(delivered.length === 0 ? [] : await queue.recordDelivered(tx, holder, delivered, now)),
      ...(failed.length === 0 ? [] : (await queue.recordFailed(tx, holder, failed, now)).map(({ call }) => call)),
    ]
  }

  const tell = async (tx: Tx, call: Recording, now: Date) => {
    const { partnerId, subscriptionId, url, disable, notice, health, result } = call
    const lastError = result.error ?? `HTTP ${result.status}`
    const told = { partnerId, subscriptionId, url, failingSince: health?.failingSince ?? null, lastError }
    if (disable !== undefined && (await store.disable(tx, { partnerId, subscriptionId }, url, disable, now)))
      await addNotice(tx, { ...told, kind: `Disabled${disable}` }, now)
    if (notice !== undefined) await addNotice(tx, { ...told, kind: notice }, now)
  }

  const work = async (tx: Tx, calls: readonly Recording[]): Promise<readonly (Verdict | 'stale')[]> => {
    const now = clock.now()
    const settled = new Set<Recording>()
    for (const [workerId, of] of Map.groupBy(calls, (call) => call.workerId)) {
      for (const call of await settle(tx, workerId, of, now)) settled.add(call)
      // The last word on each endpoint queue: they come in the order in which they were learnt.
      const taught = new Map(
        of.flatMap((call) =>
          call.health !== undefined && settled.has(call)
            ? [[call.subscriptionId, { ...call, health: call.health }] as const]
            : [],
        ),
      )
      if (taught.size > 0) await endpointQueues.saveHealth(tx, workerId, [...taught.values()])
    }
    const failed = calls.filter((call) => call.next !== undefined && settled.has(call))
    if (failed.length > 0) queue.insertAttempts(tx, failed)
    for (const call of calls) if ((call.disable ?? call.notice) && settled.has(call)) await tell(tx, call, now)
    return calls.map((call) => (settled.has(call) ? call.verdict : 'stale'))
  }

  return createBatcher<Recording, Verdict | 'stale'>({
    ...{ db, work, callsMax, batchesMax, apart: sharded, byIndex: true },
    partnerOf: (call) => call.partnerId,
  })
}
