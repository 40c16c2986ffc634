/**
 * The composition root: the only file that imports every module. Each part receives what it needs as plain values; there
 * is no registry and no global state.
 */
import { type Access, sealedApiSecrets } from './access/index.ts'
import { type Audit, auditedHandlers, createChainStep, sealedAuditKeys } from './audit/index.ts'
import { createCheckoutSite } from './pages/index.ts'
import type { Config } from './config.ts'
import { gatewayLimits, publicUrlOf } from './derived.ts'
import { startStatisticsCollector, startDelivery } from './delivery/index.ts'
import { createGateway, docsAssets, type Gateway } from './gateway/index.ts'
import { type AllHandlers } from './api/index.ts'
import {
  type Clock,
  deriveKey,
  type Log,
  type Loop,
  minuteMs,
  present,
  type Sealer,
  secondMs,
  startLoop,
  type Tracing,
} from './kernel/index.ts'
import { sealedAnswers } from './idempotency/index.ts'
import { type Cases, type Decisions } from './cases/index.ts'
import { createCheckpoints, type Ledger } from './ledger/index.ts'
import { sealedMailSecrets, startMailWorker } from './mail/index.ts'
import { type Observability, startQueueAges } from './observability/index.ts'
import { analyseWhatHasGrown, type Database, type SealedColumn, tracedDatabase, type Tx } from './postgres/index.ts'
import { type ChainKeys, sealedChainKeys, sealedTravelRules } from './connectors/evm/index.ts'
import type { IsoBanks } from './connectors/iso20022/index.ts'
import { queueProbes } from './probes.ts'
import { type Reconciliation, reconciliationIdleMs } from './reconciliation/index.ts'
import { type Rates } from './rates/index.ts'
import { type Screener, type Screening, sealedEarlierNames, sealedHits } from './screening/index.ts'
import { type Accounts, accountsRoutes, type Cancellations, monitorRoutes } from './modules/accounts/index.ts'
import { type Beneficiaries, beneficiariesRoutes } from './modules/beneficiaries/index.ts'
import { checkoutRoutes, sealedLinkTokens } from './modules/checkout/index.ts'
import { type Customers, customersRoutes, sealedChanges, sealedKyc, sealedNameKeys } from './modules/customers/index.ts'
import { type Deposits } from './modules/deposits/index.ts'
import { fxRoutes } from './modules/fx/index.ts'
import { auditLogRoutes } from './modules/audit-log/index.ts'
import { type BulkPayouts, bulkPayoutsRoutes } from './modules/bulk-payouts/index.ts'
import { type PayoutControls, payoutControlsRoutes } from './modules/payout-controls/index.ts'
import { type PayoutLife, type Payouts, payoutsRoutes } from './modules/payouts/index.ts'
import { type Recalls, recallsRoutes } from './modules/recalls/index.ts'
import { mailParts, mailTemplates } from './mails.ts'
import { reportsRoutes, startReports } from './modules/reports/index.ts'
import { type StandingOrders, standingOrdersRoutes } from './modules/standing-orders/index.ts'
import { simulationsRoutes } from './modules/simulations/index.ts'
import { transactionsRoutes } from './modules/transactions/index.ts'
import { usersRoutes } from './modules/users/index.ts'
import { endpointStatistics, sealedWebhookSecrets } from './delivery/index.ts'
import { walletsRoutes } from './modules/wallets/index.ts'
import { webhooksRoutes } from './modules/webhooks/index.ts'
import { type SettlementObserver, startSettlement } from './settlement/index.ts'
import { composeModules, type Modules } from './parts.ts'

type GatewayForm = 'standalone' | 'gateway' | 'api'

export type Service = {
  readonly access: Access
  readonly beneficiaries: Beneficiaries
  /** For the operator's commands. */
  readonly audit: Pick<Audit, 'append'>
  /** For the operator's commands, as `customers`. */
  readonly accounts: Accounts
  readonly cancellations: Cancellations
  readonly cases: Cases
  readonly decisions: Decisions
  /** The keys of chain connectors, for the operator's commands. */
  readonly chainKeys: ChainKeys
  readonly customers: Customers
  readonly deposits: Deposits
  /** Banks by files, for the operator's commands. */
  readonly isoBanks: IsoBanks
  readonly ledger: Ledger
  readonly payouts: Payouts
  readonly payoutControls: PayoutControls
  readonly payoutLife: PayoutLife
  readonly bulkPayouts: BulkPayouts
  readonly recalls: Recalls
  readonly standingOrders: StandingOrders
  readonly rates: Rates
  readonly reconciliation: Reconciliation
  /** The worker of screening, for the operator's command that waits for it. */
  readonly screener: Screener
  readonly screening: Screening
  readonly sealer: Sealer
  /** Every column with sealed values. */
  readonly sealedColumns: readonly SealedColumn[]
  readonly gateway: (form: GatewayForm) => Promise<Gateway>
  readonly startWorkers: () => readonly Loop[]
  /** Only the workers that send payouts to the bank and process its notifications. */
  readonly startSettlement: () => readonly Loop[]
  /**
   * Ends every lease, so that work that a crashed process had leased continues at once. Only at the start of the embedded
   * database, which serves one process: then no lease has an owner.
   */
  readonly releaseLeases: () => Promise<void>
  /** Before the partner's rows leave this database: its requests are refused, and no worker holds its endpoint queues. */
  readonly closePartner: (tx: Tx, partnerId: string) => Promise<void>
  /** After its rows have entered this database, or have not left it. */
  readonly openPartner: (tx: Tx, partnerId: string) => Promise<void>
}

export type ServiceDeps = {
  readonly config: Config
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  readonly observability?: Observability
  readonly tracing?: Tracing | undefined
  /** See `PayoutsDeps`. */
  readonly payoutsPerBatchMax?: number
  /** Mails are written to this folder if SMTP_URL is not set. */
  readonly mailboxFolder: string
}

const sweepIdleMs = minuteMs
const growthIdleMs = 2 * secondMs
/** How late a payout may be cancelled whose approval has not come in time. */
const approvalsIdleMs = 5 * secondMs
/** A round over balances that did not move is one statement for 500 of them. */
const monitorIdleMs = 2 * secondMs
const bulkIdleMs = 250
/** A bulk that is made in one transaction holds up no other. */
const bulkWorkers = ['payouts.bulk.1', 'payouts.bulk.2'] as const
const checkpointIdleMs = 10 * secondMs
const auditIdleMs = 10 * secondMs
const auditStepsPerHead = 5

const createHandlers = (modules: Modules): AllHandlers => ({
  ...accountsRoutes(modules.accounts, modules.idempotency),
  ...monitorRoutes(modules.monitors, modules.idempotency),
  ...beneficiariesRoutes(modules.beneficiaries, modules.idempotency),
  ...checkoutRoutes(modules.checkout, modules.idempotency),
  ...customersRoutes(modules.customers, modules.personalData, modules.idempotency),
  ...fxRoutes(modules.fx),
  ...payoutsRoutes(modules.payouts),
  ...payoutControlsRoutes(modules.payoutControls),
  ...bulkPayoutsRoutes(modules.bulkPayouts),
  ...standingOrdersRoutes(modules.standingOrders, modules.idempotency),
  ...recallsRoutes(modules.recalls, modules.idempotency),
  ...reportsRoutes(modules.reports, modules.idempotency),
  ...simulationsRoutes(modules.simulations, modules.idempotency),
  ...transactionsRoutes(modules.transactions),
  ...usersRoutes(modules.users, modules.idempotency),
  ...auditLogRoutes(modules.audit),
  ...walletsRoutes(modules.wallets, modules.idempotency),
  ...webhooksRoutes(modules.webhooks, modules.testDeliveries, modules.idempotency),
})

const sealedColumns = [
  sealedApiSecrets,
  sealedKyc,
  sealedNameKeys,
  sealedChanges,
  sealedWebhookSecrets,
  sealedMailSecrets,
  sealedAnswers,
  sealedLinkTokens,
  sealedChainKeys,
  sealedTravelRules,
  sealedHits,
  sealedEarlierNames,
  sealedAuditKeys,
] as const

export function compose(given: ServiceDeps): Service {
  const { config, log, tracing } = given
  const db = tracing ? tracedDatabase(given.db, tracing) : given.db
  const deps = { ...given, db }
  let delivery: Loop | undefined
  const modules = composeModules({ ...deps, wakeDelivery: () => delivery?.wake() })
  const { access, connectors, deposits, isoBanks, payoutAges, payoutLife, recalls, webhooks } = modules
  const settlementWorkers = () =>
    startSettlement({
      log,
      connectors,
      payouts: payoutLife,
      payoutAges,
      recalls,
      deposits,
      cases: modules.cases,
      returns: modules.returns,
      partnerIds: () => access.partnerIds(db),
      isPartner: async (partnerId) => (await access.partnerName(db, partnerId)) !== '',
      idleMs: config.WORKER_IDLE_MS,
      observe: settlementObserver(deps),
    })
  return {
    ...modules,
    sealedColumns,
    startSettlement: settlementWorkers,
    gateway: (form) => composeGateway(deps, modules, form),
    releaseLeases: async () => {
      await isoBanks.releaseLeases()
      for (const partnerId of await access.partnerIds(db)) {
        await payoutLife.releaseLeases(partnerId)
        await modules.bulkPayouts.releaseLeases(partnerId)
        await webhooks.releaseLeases(partnerId)
        await modules.reports.releaseLeases(partnerId)
        await modules.screening.releaseLeases(partnerId)
        await modules.renewals.releaseRenewals(partnerId)
      }
    },
    closePartner: async (tx, partnerId) => {
      await access.closeCredentials(tx, partnerId)
      await webhooks.holdEndpointQueues(tx, partnerId)
    },
    openPartner: async (tx, partnerId) => {
      await access.openCredentials(tx, partnerId)
      await webhooks.releaseLeases(partnerId, tx)
      await modules.screening.forgetGenerations(tx, partnerId)
      await modules.renewals.releaseRenewals(partnerId, tx)
    },
    startWorkers: () => {
      delivery = startDeliveryWorker(deps, modules)
      const rails = [...modules.chains.start(), ...isoBanks.start()]
      return [delivery, ...settlementWorkers(), ...rails, ...startOtherWorkers(deps, modules)]
    },
  }
}

function startDeliveryWorker(deps: ServiceDeps, { webhooks }: Modules): Loop {
  const { config, db, clock, log, observability, tracing } = deps
  return startDelivery({
    db,
    clock,
    log,
    webhooks,
    idleMs: config.WEBHOOK_IDLE_MS,
    allowLoopback: config.WEBHOOK_HTTP,
    proxy: config.WEBHOOK_PROXY_URL,
    threads: config.WEBHOOK_THREADS,
    observe: {
      attempt: (outcome, durationMs, subscriptionId) => {
        observability?.metrics.delivery(outcome, durationMs, subscriptionId)
        tracing?.ended('webhook attempt', durationMs, { outcome, subscriptionId })
      },
    },
  })
}

const settlementObserver = ({ observability, tracing }: ServiceDeps): SettlementObserver => ({
  instructions: (connector, outcomes, durationMs) => {
    observability?.metrics.instructions(connector, outcomes, durationMs)
    tracing?.ended('bank instructions', durationMs, { connector, ...outcomes })
  },
  bankNotification: (connector, outcome) => observability?.metrics.bankNotification(connector, outcome),
  age: (subject, status, age) => observability?.metrics.age(subject, status, age),
  connector: (connector, state) => observability?.metrics.connector(connector, state),
})

function startOtherWorkers(deps: ServiceDeps, modules: Modules): readonly Loop[] {
  const { access, accounts, mailQueue, rates, reconciliation, webhooks } = modules
  const { config, db, clock, log, observability } = deps
  const idleMs = config.WORKER_IDLE_MS
  // Answers 0, so that the loop pauses: a table that is being analysed is still there at the next look.
  const analyse = () => analyseWhatHasGrown(db, log).then(() => 0)
  const lookAtPools = () => accounts.pools.lookStep(observability?.metrics.ibanPools)
  const clockDifferenceMsMax = config.REPORT_CLOCK_DIFFERENCE_MS
  const headPeriodMs = config.AUDIT_HEAD_PERIOD_MS
  const chained = { partnerIds: access.partnerIds, clockDifferenceMsMax, headPeriodMs }
  const auditStep = createChainStep({ ...modules, ...deps, ...chained })
  const { checkpointStep } = createCheckpoints({ db, log, partnerIds: access.partnerIds })
  return [
    ...(observability
      ? [
          startStatisticsCollector({ db, log, endpointStatistics, observe: observability.metrics.endpoints }),
          startQueueAges({ clock, log, probes: queueProbes(db, modules), observe: observability.metrics.queueAge }),
        ]
      : []),
    startMailWorker({
      db,
      clock,
      log,
      queue: mailQueue,
      partnerName: access.partnerName,
      templates: mailTemplates,
      ...mailParts(deps),
      idleMs,
      observe: observability?.metrics.mail,
    }),
    ...startPayoutWorkers(modules, log, idleMs),
    ...startReports({
      ...modules,
      ...deps,
      mail: mailQueue,
      membersByAddress: modules.users.membersByAddress,
      partnerName: access.partnerName,
      publicUrl: publicUrlOf(config),
    }),
    ...(rates.everyMs === undefined
      ? []
      : [startLoop({ name: 'rates.refresh', idleMs: rates.everyMs, log, step: rates.refreshStep })]),
    startLoop({
      name: 'reconciliation.look',
      idleMs: reconciliationIdleMs,
      log,
      step: () => reconciliation.step(observability?.metrics.reconciliation),
    }),
    startLoop({ name: 'screening.names', idleMs, log, step: modules.screener.screenStep }),
    startLoop({ name: 'screening.sweep', idleMs: sweepIdleMs, log, step: modules.screener.sweepStep }),
    ...startAccounts(modules, log, idleMs),
    startLoop({ name: 'beneficiaries.renewals', idleMs, log, step: modules.renewals.renewStep }),
    startLoop({ name: 'webhooks.recover', idleMs, log, step: webhooks.recoverStep }),
    startLoop({ name: 'accounts.pools', idleMs: sweepIdleMs, log, step: lookAtPools }),
    startLoop({ name: 'customers.names', idleMs: sweepIdleMs, log, step: modules.customers.indexNamesStep }),
    startLoop({ name: 'customers.verifications', idleMs: sweepIdleMs, log, step: modules.customers.verifyStep }),
    ...startErasures(modules, log, idleMs),
    startLoop({ name: 'access.nonces', idleMs: sweepIdleMs, log, step: access.sweepNonces }),
    startLoop({
      name: 'audit.chain',
      idleMs: Math.min(auditIdleMs, headPeriodMs / auditStepsPerHead),
      log,
      step: auditStep,
    }),
    startLoop({ name: 'ledger.checkpoints', idleMs: checkpointIdleMs, log, step: checkpointStep }),
    startLoop({ name: 'postgres.statistics', idleMs: growthIdleMs, log, step: analyse }),
  ]
}

const startPayoutWorkers = (modules: Modules, log: Log, idleMs: number): readonly Loop[] => [
  ...bulkWorkers.map((name) => startLoop({ name, idleMs: bulkIdleMs, log, step: modules.bulkPayouts.step })),
  startLoop({ name: 'payouts.orders', idleMs, log, step: modules.standingOrders.step }),
  startLoop({ name: 'payouts.approvals', idleMs: approvalsIdleMs, log, step: modules.payoutLife.lapseStep }),
  startLoop({ name: 'payouts.recalls', idleMs: approvalsIdleMs, log, step: modules.recalls.expireStep }),
]

const startAccounts = ({ cancellations, monitors }: Modules, log: Log, idleMs: number): readonly Loop[] => [
  startLoop({ name: 'accounts.cancellations', idleMs, log, step: cancellations.step }),
  startLoop({ name: 'accounts.monitors', idleMs: monitorIdleMs, log, step: monitors.monitorStep }),
]

function startErasures({ personalData }: Modules, log: Log, idleMs: number): readonly Loop[] {
  const { erasures, keptRecords } = personalData
  return [
    startLoop({ name: 'customers.erasures', idleMs, log, step: erasures.step }),
    startLoop({ name: 'customers.kept_records', idleMs: sweepIdleMs, log, step: keptRecords.step }),
  ]
}

async function composeGateway(deps: ServiceDeps, modules: Modules, form: GatewayForm): Promise<Gateway> {
  const { config, clock, log, observability, tracing } = deps
  const { access, checkout } = modules
  if (form !== 'gateway') await modules.rates.prepare()
  const common = {
    handlers: auditedHandlers(createHandlers(modules), modules.audit),
    downloads: { open: modules.reports.contentOfLink },
    site: await createCheckoutSite({ checkout, clock, sandbox: config.MODE === 'sandbox' }),
    internalKey: deriveKey(config.MASTER_KEY[0], 'internal'),
    log,
    clock,
    sandbox: config.SIMULATIONS,
    itemRate: { perSecond: config.ITEM_RATE_PER_SECOND, burst: config.ITEM_RATE_BURST },
    ...gatewayLimits(config),
    tracing,
    ...(observability ? { observe: observability.metrics.request } : {}),
  }
  const signed = {
    access,
    windowSeconds: config.TIMESTAMP_WINDOW_SECONDS,
    rate: { perSecond: config.RATE_PER_SECOND, burst: config.RATE_BURST },
    pageRate: { perSecond: config.PAGE_RATE_PER_SECOND, burst: config.PAGE_RATE_BURST },
  }
  if (form === 'api') return createGateway({ ...common, form })
  const pages = await docsAssets({ sandbox: config.MODE === 'sandbox', simulations: config.SIMULATIONS })
  if (form === 'standalone') return createGateway({ ...common, ...signed, form, pages })
  const apiUrl = present(config.API_URL, 'checked with the role')
  return createGateway({ ...common, ...signed, form, pages, apiUrl, apiTimeoutMs: config.API_TIMEOUT_MS })
}
