/** Records the results of attempts, many in one transaction. Stale results are skipped. */
import type { Clock } from '../../kernel/index.ts'
import { createBatcher, type Database, type Tx } from '../../postgres/index.ts'
import type { FailingAlert, EndpointHealth } from './health.ts'
import type { EndpointAlerts } from '../management/alerts.ts'
import type { NextAttempt, Verdict } from './schedule.ts'
import * as endpointQueues from './store-endpoint-queues.ts'
import * as queue from './store-queue.ts'
import { disable as disableSubscription } from '../management/store-subscriptions.ts'

export type AttemptToRecord = queue.AttemptRecord & {
  readonly workerId: string
  readonly url: string
  readonly verdict: Verdict
  /** Undefined: delivered. */
  readonly next: NextAttempt | undefined
  /** New health of the endpoint queue, if the attempt changed it. */
  readonly health: EndpointHealth | undefined
  readonly disable: 'Gone' | 'Failing' | undefined
  readonly alert: FailingAlert | undefined
}

const resultsPerBatchMax = 200
/** Batches in progress: one is written while the previous one commits. */
const batchesMax = 2

type Deps = {
  readonly db: Database
  readonly clock: Clock
  readonly alerts: EndpointAlerts
}

export function createResultBatches({ db, clock, alerts }: Deps) {
  /** Records the results of one worker. Returns the results that were not stale. */
  const recordAll = async (tx: Tx, workerId: string, results: readonly AttemptToRecord[], now: Date) => {
    const delivered = results.filter(({ next }) => next === undefined)
    const failed = results.flatMap((result) =>
      result.next === undefined ? [] : [{ ...result, ...result.next, original: result }],
    )
    const recorded: AttemptToRecord[] = []
    if (delivered.length > 0) recorded.push(...(await queue.recordDelivered(tx, workerId, delivered, now)))
    if (failed.length > 0)
      for (const { original } of await queue.recordFailed(tx, workerId, failed, now)) recorded.push(original)
    return recorded
  }

  const saveHealth = async (tx: Tx, workerId: string, recorded: readonly AttemptToRecord[]): Promise<void> => {
    // Results come in the order of the health changes of their endpoint queue, so the last one is current.
    const changed = new Map<string, AttemptToRecord & { readonly health: EndpointHealth }>()
    for (const result of recorded)
      if (result.health !== undefined) changed.set(result.subscriptionId, { ...result, health: result.health })
    if (changed.size > 0) await endpointQueues.saveHealth(tx, workerId, [...changed.values()])
  }

  const disableAndAlert = async (tx: Tx, result: AttemptToRecord, now: Date): Promise<void> => {
    const { partnerId, subscriptionId, url, disable, alert, health } = result
    const lastError = result.result.error ?? `HTTP ${result.result.status}`
    const details = { partnerId, subscriptionId, url, failingSince: health?.failingSince ?? null, lastError }
    if (disable !== undefined && (await disableSubscription(tx, { partnerId, subscriptionId }, url, disable, now)))
      await alerts.add(tx, { ...details, kind: `Disabled${disable}` })
    if (alert !== undefined) await alerts.add(tx, { ...details, kind: alert })
  }

  const work = async (tx: Tx, results: readonly AttemptToRecord[]): Promise<readonly (Verdict | 'stale')[]> => {
    const now = clock.now()
    const recorded = new Set<AttemptToRecord>()
    for (const [workerId, own] of Map.groupBy(results, (result) => result.workerId)) {
      for (const result of await recordAll(tx, workerId, own, now)) recorded.add(result)
      const inOrder = own.filter((result) => recorded.has(result))
      await saveHealth(tx, workerId, inOrder)
    }
    const failed = results.filter((result) => result.next !== undefined && recorded.has(result))
    if (failed.length > 0) queue.insertAttempts(tx, failed)
    for (const result of results)
      if ((result.disable ?? result.alert) && recorded.has(result)) await disableAndAlert(tx, result, now)
    return results.map((result) => (recorded.has(result) ? result.verdict : 'stale'))
  }

  return createBatcher<AttemptToRecord, Verdict | 'stale'>({
    db,
    work,
    callsMax: resultsPerBatchMax,
    batchesMax,
    byIndex: true,
    partnerOf: (result) => result.partnerId,
  })
}
