/** The metrics of this process. */
import { collectDefaultMetrics, Counter, Gauge, Histogram, type Registry } from 'prom-client'
import { type Clock, hourMs } from '../../kernel/index.ts'
import type { Database } from '../../postgres/index.ts'
import { createEndpointMetrics, type EndpointMetrics } from './endpoint-metrics.ts'
import { monitorEventLoopDelay } from 'node:perf_hooks'

export type Metrics = {
  readonly request: (operation: string, status: number, durationMs: number) => void
  /** Counts requests that were not stored in the request log. */
  readonly requestsDropped: (reason: string, count: number) => void
  readonly delivery: (outcome: string, durationMs: number, subscriptionId: string) => void
  readonly endpoints: EndpointMetrics['endpoints']
  /** Records one call with instructions: how many were `accepted`, `refused`, or remained `unknown`. */
  readonly instructions: (connector: string, outcomes: Readonly<Record<string, number>>, durationMs: number) => void
  /** Counts a bank notification: `applied`, `duplicate` or `failed`. */
  readonly bankNotification: (connector: string, outcome: string) => void
  /**
   * Sets the number of payouts between their claim and the bank's answer, and whether payouts to the bank are held
   * back.
   */
  readonly connector: (connector: string, state: { readonly inFlight: number; readonly isOpen: boolean }) => void
  /** Sets the age of the oldest payment in a status that is not final, and its limit. */
  readonly age: (payment: string, status: string, age: { readonly ageMs: number; readonly limitMs: number }) => void
  /** Counts an attempt to send a mail: `sent`, `postponed` or `given_up`. */
  readonly mail: (outcome: string) => void
  readonly fxRatesAge: (age: { readonly ageMs: number; readonly limitMs: number }) => void
  readonly banks: BankMetrics
  readonly ibanPools: IbanPoolMetrics
  readonly queueAge: (queue: string, connector: string, ageMs: number) => void
  /** Sets the number of consecutive failures of a job with the same error; 0 after a success. */
  readonly jobFailures: (job: string, inARow: number) => void
  readonly reconciliation: ReconciliationMetrics
}

const secondsBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15]

type MetricFactory = ReturnType<typeof createMetricFactory>

function createMetricFactory(registry: Registry) {
  type Options = { readonly help: string; readonly labelNames?: string[] }
  const registers = [registry]
  return {
    counter: (name: string, options: Options) => new Counter({ name, ...options, registers }),
    gauge: (name: string, options: Options) => new Gauge({ name, ...options, registers }),
    durations: (name: string, options: Options) =>
      new Histogram({ name, ...options, buckets: secondsBuckets, registers }),
  }
}

export function createMetrics(registry: Registry, db: Database, clock: Clock): Metrics {
  const factory = createMetricFactory(registry)
  const deliveries = factory.durations('payments_delivery_duration_seconds', {
    help: 'Duration of webhook delivery attempts, by outcome',
    labelNames: ['outcome'],
  })
  const pool = new Gauge({
    name: 'payments_database_connections',
    help: 'Connections of the pool: idle, busy, and requests waiting for a connection (waited_for)',
    labelNames: ['state'],
    registers: [registry],
    collect: () => {
      pool.set({ state: 'idle' }, db.pool.idleCount)
      pool.set({ state: 'busy' }, db.pool.totalCount - db.pool.idleCount)
      pool.set({ state: 'waited_for' }, db.pool.waitingCount)
    },
  })
  const endpoints = createEndpointMetrics(registry, clock.now)
  return {
    ...createPaymentMetrics(factory),
    reconciliation: createReconciliationMetrics(registry),
    request: createRequestMetrics(registry),
    requestsDropped: createDropMetrics(factory),
    delivery: (outcome, durationMs, subscriptionId) => {
      deliveries.observe({ outcome }, durationMs / 1000)
      endpoints.attempt(subscriptionId, outcome, durationMs)
    },
    endpoints: endpoints.endpoints,
    banks: createBankMetrics(factory),
  }
}

export function createRequestMetrics(registry: Registry): Metrics['request'] {
  const { counter, durations } = createMetricFactory(registry)
  const requests = durations('payments_request_duration_seconds', {
    help: 'Duration of answered requests, by operation and status',
    labelNames: ['operation', 'status'],
  })
  const failures = counter('payments_requests_failed_total', {
    help: 'Requests answered with 5xx, by operation',
    labelNames: ['operation'],
  })
  return (operation, status, durationMs) => {
    requests.observe({ operation, status }, durationMs / 1000)
    if (status >= 500) failures.inc({ operation })
  }
}

function createDropMetrics({ counter }: MetricFactory): Metrics['requestsDropped'] {
  const drops = counter('payments_request_log_dropped_total', {
    help: 'Requests not stored in the request log, by reason: full, refused or unwritable',
    labelNames: ['reason'],
  })
  return (reason, count) => drops.inc({ reason }, count)
}

type PaymentMetrics = Omit<
  Metrics,
  'request' | 'requestsDropped' | 'delivery' | 'endpoints' | 'banks' | 'reconciliation'
>

function createPaymentMetrics(factory: MetricFactory): PaymentMetrics {
  const { counter, gauge } = factory
  const notifications = counter('payments_bank_notifications_total', {
    help: 'Bank notifications processed, by connector and outcome',
    labelNames: ['connector', 'outcome'],
  })
  const mails = counter('payments_mails_total', {
    help: 'Attempts to send a mail, by outcome',
    labelNames: ['outcome'],
  })
  const ages = gauge('payments_queue_oldest_seconds', {
    help: 'Seconds that the oldest due work of a queue has waited; 0 if nothing is due',
    labelNames: ['queue', 'connector'],
  })
  const jobFailures = gauge('payments_job_failures_in_a_row', {
    help: 'Consecutive failures of a background job with the same error; 0 after a success',
    labelNames: ['job'],
  })
  return {
    ...createConnectorMetrics(factory),
    age: createAgeMetrics(factory),
    ibanPools: createIbanPoolMetrics(factory),
    fxRatesAge: createRatesMetrics(factory),
    bankNotification: (connector, outcome) => notifications.inc({ connector, outcome }),
    mail: (outcome) => mails.inc({ outcome }),
    queueAge: (queue, connector, ageMs) => ages.set({ queue, connector }, ageMs / 1000),
    jobFailures: (job, inARow) => jobFailures.set({ job }, inARow),
  }
}

function createAgeMetrics({ gauge }: MetricFactory): Metrics['age'] {
  const labelNames = ['payment', 'status']
  const oldest = gauge('payments_unfinished_oldest_seconds', {
    help: 'Age of the oldest payment in a status that is not final; 0 if there is none',
    labelNames,
  })
  const limit = gauge('payments_unfinished_limit_seconds', {
    help: 'Age limit of a payment in a status that is not final',
    labelNames,
  })
  return (payment, status, { ageMs, limitMs }) => {
    oldest.set({ payment, status }, ageMs / 1000)
    limit.set({ payment, status }, limitMs / 1000)
  }
}

function createRatesMetrics({ gauge }: MetricFactory): Metrics['fxRatesAge'] {
  const age = gauge('payments_fx_rates_age_seconds', {
    help: 'Age of the newest exchange rates; for rates published on TARGET days, other days are not counted',
  })
  const limit = gauge('payments_fx_rates_limit_seconds', {
    help: 'Age limit of exchange rates; older ones are never quoted',
  })
  return ({ ageMs, limitMs }) => {
    age.set(ageMs / 1000)
    limit.set(limitMs / 1000)
  }
}

function createConnectorMetrics({
  counter,
  durations,
  gauge,
}: MetricFactory): Pick<Metrics, 'instructions' | 'connector'> {
  const labelNames = ['connector']
  const calls = durations('payments_instruction_call_duration_seconds', {
    help: 'Duration of calls with payout instructions to a bank, by connector',
    labelNames,
  })
  const instructions = counter('payments_instructions_total', {
    help: 'Payout instructions to a bank, by connector and outcome',
    labelNames: [...labelNames, 'outcome'],
  })
  const inFlight = gauge('payments_connector_in_flight', {
    help: 'Payouts between their claim and the answer of the bank, by connector',
    labelNames,
  })
  const open = gauge('payments_connector_held_back', {
    help: '1 while the payouts of a connector are held back because its bank does not answer',
    labelNames,
  })
  return {
    instructions: (connector, outcomes, durationMs) => {
      calls.observe({ connector }, durationMs / 1000)
      for (const [outcome, count] of Object.entries(outcomes)) instructions.inc({ connector, outcome }, count)
    },
    connector: (connector, state) => {
      inFlight.set({ connector }, state.inFlight)
      open.set({ connector }, state.isOpen ? 1 : 0)
    },
  }
}

// The metrics of file-based banks.

type BankMetrics = {
  /** Counts a bank file, and its payments or recalls. */
  readonly fileMade: (connector: string, kind: string, payments: number) => void
  readonly fileDelivered: (connector: string, kind: string) => void
  /** Sets the number of payments that wait for a file or for the opening of the bank. */
  readonly queued: (connector: string, scheme: string, payments: number) => void
}

function createBankMetrics({ counter, gauge }: MetricFactory): BankMetrics {
  const made = counter('payments_bank_files_made_total', {
    help: 'Files written for a bank, by connector and message',
    labelNames: ['connector', 'message'],
  })
  const payments = counter('payments_bank_file_payments_total', {
    help: 'Payments and recalls in files written for a bank, by connector and message',
    labelNames: ['connector', 'message'],
  })
  const delivered = counter('payments_bank_files_delivered_total', {
    help: 'Files delivered to a bank, by connector and message',
    labelNames: ['connector', 'message'],
  })
  const queued = gauge('payments_bank_payments_queued', {
    help: 'Payments waiting for a file or for the opening of the bank, by connector and scheme',
    labelNames: ['connector', 'scheme'],
  })
  return {
    fileMade: (connector, message, count) => {
      made.inc({ connector, message })
      payments.inc({ connector, message }, count)
    },
    fileDelivered: (connector, message) => delivered.inc({ connector, message }),
    queued: (connector, scheme, count) => queued.set({ connector, scheme }, count),
  }
}

// Metrics of IBAN pools that were imported from bank files.

type PoolLevel = {
  readonly pool: string
  readonly currency: string
  readonly free: number
  readonly daysLeft: number | null
  readonly isLow: boolean
}
type IbanPoolMetrics = (levels: readonly PoolLevel[]) => void

/** Maximum number of pools with their own series, low pools first. All others share the series `other`. */
const namedMax = 100

function createIbanPoolMetrics({ gauge }: MetricFactory): IbanPoolMetrics {
  const labelNames = ['pool', 'currency']
  const free = gauge('payments_iban_pool_free', { help: 'Free IBANs of an imported pool', labelNames })
  const days = gauge('payments_iban_pool_days_left', {
    help: 'Days until an imported pool of IBANs is empty, by the IBANs assigned in the last 30 days; no series if none were',
    labelNames,
  })
  const low = gauge('payments_iban_pool_low', {
    help: '1 while an imported pool of IBANs is below IBAN_POOL_FREE_MIN or IBAN_POOL_DAYS_MIN',
    labelNames,
  })
  return (levels) => {
    const sorted = [...levels.filter(({ isLow }) => isLow), ...levels.filter(({ isLow }) => !isLow)]
    for (const gauge of [free, days, low]) gauge.reset()
    sorted.forEach((level, at) => {
      const { currency } = level
      const pool = at < namedMax ? level.pool : 'other'
      free.inc({ pool, currency }, level.free)
      low.inc({ pool, currency }, level.isLow ? 1 : 0)
      if (level.daysLeft !== null && pool !== 'other') days.set({ pool, currency }, level.daysLeft)
    })
  }
}

// Metrics of reconciliation: the components of the difference between banks and ledger, and the open cases.

type ReconciliationItem = {
  readonly side: string
  readonly kind: string
  readonly amount: bigint
  readonly count: bigint
  readonly ageMs: number
}
type ReconciliationMetrics = {
  /**
   * Sets the metrics of an account. `statementAgeMs`: time since the day of its last statement ended. Undefined: it has
   * no statement.
   */
  readonly account: (state: {
    readonly connector: string
    readonly account: string
    readonly currency: string
    readonly unexplained: bigint
    readonly items: readonly ReconciliationItem[]
    readonly statementAgeMs: number | undefined
  }) => void
  readonly cases: (
    kinds: readonly { readonly connector: string; readonly kind: string; readonly count: number }[],
    proposals: number,
  ) => void
}

const ofAccount = ['connector', 'account', 'currency']

export function createReconciliationMetrics(registry: Registry): ReconciliationMetrics {
  const { gauge } = createMetricFactory(registry)
  const items = createItemMetrics(gauge)
  const unexplained = gauge('payments_reconciliation_unexplained_minor', {
    help: 'Difference between ledger and bank that no item explains, in minor units; for `suspense`, between suspense and the open cases',
    labelNames: ofAccount,
  })
  const statement = gauge('payments_statement_age_seconds', {
    help: 'Seconds since the end of the day of the last statement of an account',
    labelNames: ofAccount,
  })
  const open = gauge('payments_cases_open', {
    help: 'Open cases, by connector and kind',
    labelNames: ['connector', 'kind'],
  })
  const waiting = gauge('payments_case_proposals', { help: 'Case proposals awaiting a second person' })
  return {
    account: (state) => {
      const { connector, account, currency } = state
      const labels = { connector, account, currency }
      unexplained.set(labels, Number(state.unexplained))
      if (state.statementAgeMs !== undefined) statement.set(labels, state.statementAgeMs / 1000)
      items(labels, state.items)
    },
    cases: (kinds, proposals) => {
      open.reset()
      for (const { connector, kind, count } of kinds) open.set({ connector, kind }, count)
      waiting.set(proposals)
    },
  }
}

type Labels = { readonly connector: string; readonly account: string; readonly currency: string }

/** Sets items that have disappeared to 0, so that their graphs end. */
function createItemMetrics(
  gauge: MetricFactory['gauge'],
): (labels: Labels, items: readonly ReconciliationItem[]) => void {
  const labelNames = [...ofAccount, 'side', 'kind']
  const amounts = gauge('payments_reconciliation_amount_minor', {
    help: 'Items of the difference between ledger and bank, and of the amounts in suspense, by kind, in minor units',
    labelNames,
  })
  const counts = gauge('payments_reconciliation_items', {
    help: 'Number of entries, payments or cases of an item',
    labelNames,
  })
  const ages = gauge('payments_reconciliation_oldest_seconds', {
    help: 'Age of the oldest entry, payment or case of an item',
    labelNames,
  })
  const seen = new Map<string, { readonly side: string; readonly kind: string }>()
  return ({ connector, account, currency }, items) => {
    const labels = { connector, account, currency }
    const keyOf = ({ side, kind }: Pick<ReconciliationItem, 'side' | 'kind'>) =>
      [connector, account, currency, side, kind].join(' ')
    const present = new Set(items.map(keyOf))
    for (const [key, { side, kind }] of seen) {
      if (!key.startsWith(`${connector} ${account} ${currency} `) || present.has(key)) continue
      for (const gauge of [amounts, counts, ages]) gauge.set({ ...labels, side, kind }, 0)
    }
    for (const { side, kind, amount, count, ageMs } of items) {
      seen.set(keyOf({ side, kind }), { side, kind })
      amounts.set({ ...labels, side, kind }, Number(amount))
      counts.set({ ...labels, side, kind }, Number(count))
      ages.set({ ...labels, side, kind }, ageMs / 1000)
    }
  }
}

const nanosecondsPerSecond = 1e9
const lagName = 'nodejs_eventloop_lag_p99_seconds'

/**
 * Measures the event loop by its iterations. The library uses a timer that wakes an idle process a hundred times a second, which is half of
 * its processor time. So the gauges of the library are removed, and its timer is slowed down.
 */
export function collectProcessMetrics(register: Registry): void {
  collectDefaultMetrics({ register, eventLoopMonitoringPrecision: hourMs })
  for (const { name } of register.getMetricsAsArray())
    if (name.startsWith('nodejs_eventloop_lag_')) register.removeSingleMetric(name)
  const delays = monitorEventLoopDelay({ samplePerIteration: true })
  delays.enable()
  new Gauge({
    name: lagName,
    help: '99th percentile of the duration of an iteration of the event loop, since the last collection.',
    registers: [register],
    collect() {
      this.set(delays.percentile(99) / nanosecondsPerSecond)
      delays.reset()
    },
  })
}
