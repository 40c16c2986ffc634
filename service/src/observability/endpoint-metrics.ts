/**
 * Metrics of endpoints. There may be a hundred thousand of them, and each label is a time series that somebody stores: so
 * those in the most trouble are named by their subscription, and the rest is one line, `other`.
 */
import { Gauge, Histogram, type Registry } from 'prom-client'
import { secondMs } from '../kernel/index.ts'
import type { EndpointState } from '../delivery/index.ts'

/** Named in the gauges: those that owe the most. */
const namedMax = 100
/** Named in the counts of attempts: the first ones that this process calls. A count must not move between names. */
const namedAttemptsMax = 200
const other = 'other'

const sum = (numbers: Iterable<number>) => [...numbers].reduce((total, number) => total + number, 0)
const unaccounted = ({ owed, delivered, pending, held }: EndpointState) => owed - delivered - pending - held
const byTrouble = (a: EndpointState, b: EndpointState) =>
  b.pending + b.held - (a.pending + a.held) ||
  Number(b.breakerOpen) - Number(a.breakerOpen) ||
  (a.failingSince?.getTime() ?? Infinity) - (b.failingSince?.getTime() ?? Infinity) ||
  (a.subscriptionId < b.subscriptionId ? -1 : 1)

type Ranked = { readonly named: readonly EndpointState[]; readonly rest: readonly EndpointState[] }

const isWell = ({ pending, held, breakerOpen, failingSince }: EndpointState) =>
  pending + held === 0 && !breakerOpen && failingSince === null

/** Of a hundred thousand few are in trouble: only those are sorted. */
function rank(states: readonly EndpointState[]): Ranked {
  const { sick = [], well = [] } = Object.groupBy(states, (state) => (isWell(state) ? 'well' : 'sick'))
  const sorted = [...sick.toSorted(byTrouble), ...well]
  return { named: sorted.slice(0, namedMax), rest: sorted.slice(namedMax) }
}

export type EndpointMetrics = {
  readonly attempt: (subscriptionId: string, outcome: string, durationMs: number) => void
  /** What is known of a partner's endpoints from now on, instead of what was known before. */
  readonly endpoints: (partnerId: string, states: readonly EndpointState[]) => void
}

export function createEndpointMetrics(registry: Registry, now: () => Date): EndpointMetrics {
  const registers = [registry]
  const byPartner = new Map<string, readonly EndpointState[]>()
  const all = () => [...byPartner.values()].flat()
  let known: Ranked | undefined
  /** Once for all gauges of one page. */
  const ranked = () => (known ??= rank(all()))
  const named = new Set<string>()

  // Without buckets: count and sum. A summary would keep a digest that nobody asks for, at a cost for each attempt.
  const attempts = new Histogram({
    name: 'payments_endpoint_attempt_seconds',
    help: 'Webhook attempts of an endpoint and their time, by outcome',
    labelNames: ['subscription', 'outcome'],
    buckets: [],
    registers,
  })
  /** `valueOf` of each named endpoint that has one, `together` of all others that do. */
  const gauge = (
    name: string,
    help: string,
    valueOf: (state: EndpointState) => number | undefined,
    together: (values: readonly number[]) => number,
  ) => {
    const made: Gauge = new Gauge({
      name,
      help,
      labelNames: ['subscription'],
      registers,
      collect: () => {
        made.reset()
        for (const state of ranked().named) {
          const value = valueOf(state)
          if (value !== undefined) made.set({ subscription: state.subscriptionId }, value)
        }
        const rest = ranked()
          .rest.map(valueOf)
          .filter((value) => value !== undefined)
        if (rest.length > 0) made.set({ subscription: other }, together(rest))
      },
    })
  }
  const secondsSince = (time: Date | null) =>
    time === null ? undefined : Math.max(0, now().getTime() - time.getTime()) / secondMs
  const most = (values: readonly number[]) => values.reduce((a, b) => Math.max(a, b), 0)

  gauge('payments_endpoint_pending', 'Deliveries to be attempted', ({ pending }) => pending, sum)
  gauge('payments_endpoint_held', 'Deliveries kept until they are asked for', ({ held }) => held, sum)
  gauge(
    'payments_endpoint_oldest_pending_seconds',
    'Age of the oldest delivery to be attempted',
    ({ oldestPendingAt }) => secondsSince(oldestPendingAt),
    most,
  )
  gauge(
    'payments_endpoint_failing_seconds',
    'Since when no delivery has succeeded',
    ({ failingSince }) => secondsSince(failingSince),
    most,
  )
  gauge(
    'payments_endpoint_breaker_open',
    '1 while only probes are sent; of `other`: how many',
    ({ breakerOpen }) => (breakerOpen ? 1 : 0),
    sum,
  )
  createTotals(registry, all)

  return {
    attempt: (subscriptionId, outcome, durationMs) => {
      if (named.size < namedAttemptsMax) named.add(subscriptionId)
      const subscription = named.has(subscriptionId) ? subscriptionId : other
      attempts.observe({ subscription, outcome }, durationMs / secondMs)
    },
    endpoints: (partnerId, states) => {
      known = undefined
      if (states.length === 0) byPartner.delete(partnerId)
      else byPartner.set(partnerId, states)
    },
  }
}

/** owed = delivered + pending + held: what does not add up is a bug, in either direction. */
function createTotals(registry: Registry, all: () => readonly EndpointState[]): void {
  const registers = [registry]
  const totals: Gauge = new Gauge({
    name: 'payments_deliveries',
    help: 'Deliveries of all endpoints, by state',
    labelNames: ['state'],
    registers,
    collect: () => {
      for (const state of ['owed', 'delivered', 'pending', 'held'] as const)
        totals.set({ state }, sum(all().map((endpoint) => endpoint[state])))
    },
  })
  const missing: Gauge = new Gauge({
    name: 'payments_deliveries_unaccounted',
    help: 'Deliveries that are owed and neither delivered, pending nor held, or the other way round',
    registers,
    collect: () => missing.set(sum(all().map((endpoint) => Math.abs(unaccounted(endpoint))))),
  })
}
