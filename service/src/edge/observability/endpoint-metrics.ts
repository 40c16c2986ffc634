/**
 * Metrics of endpoints. Each label is a time series, and there can be a hundred thousand endpoints. So only the
 * endpoints with the most undelivered events or failures have their own series, labelled with their subscription. All
 * others share the series `other`.
 */
import { Gauge, Histogram, type Registry } from 'prom-client'
import { secondMs } from '../../kernel/index.ts'
import type { EndpointState } from '../../webhooks/index.ts'

/** Maximum number of endpoints with their own series in the gauges. */
const namedMax = 100
/**
 * Maximum number of endpoints with their own series in the counts of attempts: the first that this process calls. An
 * endpoint keeps its series, so that no count is lost.
 */
const namedAttemptsMax = 200
const other = 'other'

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0)
const largest = (numbers: readonly number[]) => numbers.reduce((a, b) => Math.max(a, b), 0)
const unaccounted = ({ owed, delivered, pending, held }: EndpointState) => owed - delivered - pending - held
const byTrouble = (a: EndpointState, b: EndpointState) =>
  b.pending + b.held - (a.pending + a.held) ||
  Number(b.breakerOpen) - Number(a.breakerOpen) ||
  (a.failingSince?.getTime() ?? Infinity) - (b.failingSince?.getTime() ?? Infinity) ||
  (a.subscriptionId < b.subscriptionId ? -1 : 1)

const isHealthy = ({ pending, held, breakerOpen, failingSince }: EndpointState) =>
  pending + held === 0 && !breakerOpen && failingSince === null

type EndpointGroups = { readonly named: readonly EndpointState[]; readonly rest: readonly EndpointState[] }

/**
 * Separates the endpoints with the most undelivered events or failures from the others. Sorts only unhealthy endpoints,
 * which are few of a hundred thousand.
 */
function splitByTrouble(states: readonly EndpointState[]): EndpointGroups {
  const { troubled = [], healthy = [] } = Object.groupBy(states, (state) => (isHealthy(state) ? 'healthy' : 'troubled'))
  const sorted = [...troubled.toSorted(byTrouble), ...healthy]
  return { named: sorted.slice(0, namedMax), rest: sorted.slice(namedMax) }
}

export type EndpointMetrics = {
  readonly attempt: (subscriptionId: string, outcome: string, durationMs: number) => void
  /** Replaces the states of all endpoints of a partner. */
  readonly endpoints: (partnerId: string, states: readonly EndpointState[]) => void
}

export function createEndpointMetrics(registry: Registry, now: () => Date): EndpointMetrics {
  const byPartner = new Map<string, readonly EndpointState[]>()
  const all = () => [...byPartner.values()].flat()
  /** Computed once for all gauges of a scrape. */
  let cached: EndpointGroups | undefined
  createGauges(registry, now, () => (cached ??= splitByTrouble(all())))
  createTotals(registry, all)
  return {
    attempt: createAttempts(registry),
    endpoints: (partnerId, states) => {
      cached = undefined
      if (states.length === 0) byPartner.delete(partnerId)
      else byPartner.set(partnerId, states)
    },
  }
}

function createAttempts(registry: Registry): EndpointMetrics['attempt'] {
  const named = new Set<string>()
  // A histogram without buckets has count and sum. A summary would also compute quantiles at each attempt.
  const attempts = new Histogram({
    name: 'payments_endpoint_attempt_seconds',
    help: 'Number and duration of webhook delivery attempts, by endpoint and outcome',
    labelNames: ['subscription', 'outcome'],
    buckets: [],
    registers: [registry],
  })
  return (subscriptionId, outcome, durationMs) => {
    if (named.size < namedAttemptsMax) named.add(subscriptionId)
    const subscription = named.has(subscriptionId) ? subscriptionId : other
    attempts.observe({ subscription, outcome }, durationMs / secondMs)
  }
}

type EndpointGauge = {
  readonly name: string
  readonly help: string
  /** Returns the value of an endpoint. Undefined: it has none. */
  readonly valueOf: (state: EndpointState) => number | undefined
  /** Combines the values of all other endpoints to that of the series `other`. */
  readonly combine: (values: readonly number[]) => number
}

function createGauges(registry: Registry, now: () => Date, split: () => EndpointGroups): void {
  const secondsSince = (time: Date | null) =>
    time === null ? undefined : Math.max(0, now().getTime() - time.getTime()) / secondMs
  const gauges: readonly EndpointGauge[] = [
    {
      name: 'payments_endpoint_pending',
      help: 'Deliveries pending an attempt',
      valueOf: ({ pending }) => pending,
      combine: sum,
    },
    {
      name: 'payments_endpoint_held',
      help: 'Deliveries held until the endpoint is enabled or the partner requests them',
      valueOf: ({ held }) => held,
      combine: sum,
    },
    {
      name: 'payments_endpoint_oldest_pending_seconds',
      help: 'Age of the oldest delivery pending an attempt',
      valueOf: ({ oldestPendingAt }) => secondsSince(oldestPendingAt),
      combine: largest,
    },
    {
      name: 'payments_endpoint_failing_seconds',
      help: 'Time without a successful delivery',
      valueOf: ({ failingSince }) => secondsSince(failingSince),
      combine: largest,
    },
    {
      name: 'payments_endpoint_breaker_open',
      help: '1 while the circuit breaker is open and only probes are sent; for `other` the number of such endpoints',
      valueOf: ({ breakerOpen }) => (breakerOpen ? 1 : 0),
      combine: sum,
    },
  ]
  for (const gauge of gauges) createGauge(registry, split, gauge)
}

function createGauge(
  registry: Registry,
  split: () => EndpointGroups,
  { name, help, valueOf, combine }: EndpointGauge,
): void {
  const gauge: Gauge = new Gauge({
    name,
    help,
    labelNames: ['subscription'],
    registers: [registry],
    collect: () => {
      const { named, rest } = split()
      gauge.reset()
      for (const state of named) {
        const value = valueOf(state)
        if (value !== undefined) gauge.set({ subscription: state.subscriptionId }, value)
      }
      const values = rest.map(valueOf).filter((value) => value !== undefined)
      if (values.length > 0) gauge.set({ subscription: other }, combine(values))
    },
  })
}

/** owed = delivered + pending + held. A difference is a bug, in either direction. */
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
    help: 'Difference between the recorded total of deliveries and the sum of delivered, pending and held ones; 0 unless there is a bug',
    registers,
    collect: () => missing.set(sum(all().map((endpoint) => Math.abs(unaccounted(endpoint))))),
  })
}
