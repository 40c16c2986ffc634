/** The statistics of a subscription, as its partner sees them. */
import { type Static, webhooks as wire } from '@partner-payments/wire'
import { notFound } from '../../api/index.ts'
import { type Clock, dayMs, momentOfId } from '../../kernel/index.ts'
import type { Database } from '../../postgres/index.ts'
import { verdictOf } from '../queue/schedule.ts'
import type { SubscriptionStatus } from './rules.ts'
import * as store from './store-history.ts'
import { loadSubscription } from './subscription-view.ts'

type Statistics = Static<typeof wire.SubscriptionStatistics>

function percentile(sorted: readonly number[], fraction: number): number | null {
  return sorted[Math.ceil(sorted.length * fraction) - 1] ?? null
}

const isSuccess = ({ status, error }: store.Outcome): boolean =>
  status !== null && verdictOf(error === null ? { status } : { status, error }) === 'delivered'

function last24Hours(outcomes: readonly store.Outcome[], now: Date): Statistics['last24Hours'] {
  const since = now.getTime() - dayMs
  const recent = outcomes.filter((outcome) => outcome.startedAt.getTime() >= since)
  const successes = recent.filter(isSuccess).length
  const latencies = recent.map((outcome) => outcome.durationMs).toSorted((a, b) => a - b)
  return {
    attempts: recent.length,
    successes,
    failures: recent.length - successes,
    latencyMs: {
      p50: percentile(latencies, 0.5),
      p95: percentile(latencies, 0.95),
      p99: percentile(latencies, 0.99),
    },
  }
}

/** The pending deliveries of a disabled subscription count as held. */
function deliveryCounts(counts: store.Counts, subscription: SubscriptionStatus) {
  const delivered = Number(counts.delivered)
  const pending = Number(counts.pending)
  const held = Number(counts.held)
  const capped = [delivered, pending, held].includes(wire.statisticsCountMax)
  if (subscription === 'Disabled') return { delivered, pending: 0, held: held + pending, capped, oldestPendingAt: null }
  const oldest = counts.oldestPendingId === null ? null : momentOfId(counts.oldestPendingId)
  return { delivered, pending, held, capped, oldestPendingAt: oldest?.toISOString() ?? null }
}

export function createSubscriptionStatistics({ db, clock }: { readonly db: Database; readonly clock: Clock }) {
  return {
    /** Refuses: not_found. */
    statistics: async (partnerId: string, id: string): Promise<Statistics> => {
      const key = { partnerId, subscriptionId: id }
      const { status } = await loadSubscription(db, partnerId, id)
      const [endpointQueue, counts, outcomes] = await Promise.all([
        store.endpointQueueState(db, partnerId, id),
        store.countDeliveries(db, key, wire.statisticsCountMax),
        store.newestAttempts(db, key, wire.statisticsAttemptsMax),
      ])
      if (endpointQueue === undefined || counts === undefined) throw notFound('webhook subscription')
      return {
        owed: Number(endpointQueue.owed),
        ...deliveryCounts(counts, status),
        failingSince: endpointQueue.failingSince?.toISOString() ?? null,
        breaker: endpointQueue.probeMs === null ? 'Closed' : 'Open',
        last24Hours: last24Hours(outcomes, clock.now()),
      }
    },
  }
}
