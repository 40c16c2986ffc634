/** Lists the background jobs that the folders declare, and the ages of their queues. */
import { createChainStep } from '../audit/index.ts'
import type { Config } from './config.ts'
import { publicUrlOf, installationName } from './derived-settings.ts'
import { deliveryJobs, endpointStatistics, renderEndpointAlert, statisticsJob } from '../webhooks/index.ts'
import { defineJob, type Job } from '../postgres/jobs/index.ts'
import { type Clock, dayMs, hourMs, type Log, minuteMs, present, secondMs, type Tracing } from '../kernel/index.ts'
import { createCheckpoints } from '../ledger/index.ts'
import { folderTransport, mailJob, parseMailbox, smtpTransport } from '../mail/index.ts'
import { inboxJobs, renderInboxMail } from '../inbox/index.ts'
import { accountJobs, renderMonitorMail } from '../accounts/index.ts'
import { beneficiaryJobs } from '../parties/beneficiaries/index.ts'
import { customerJobs } from '../parties/customers/index.ts'
import { identityJobs } from '../parties/identity-checks/index.ts'
import { bulksJob } from '../payouts/bulk/index.ts'
import { approvalsJob } from '../payouts/index.ts'
import { recallsJob } from '../payouts/recalls/index.ts'
import { renderReportMail, reportJobs } from '../reports/index.ts'
import { monitoringJobs } from '../monitoring/index.ts'
import { assignmentsJob, changesJob, renderStaffMail } from '../people/staff/index.ts'
import { safeguardingJob } from '../reports/safeguarding/index.ts'
import {
  recoveriesJob,
  uploadsJob,
  renderGuestLink,
  renderImpersonationMail,
  renderInvitation,
  renderKeyChange,
  renderNewDevice,
  renderRecoveryLink,
  renderRecoveryReport,
  renderRoleChange,
  renderSignInChange,
  renderSignInLink,
} from '../people/users/index.ts'
import { ordersJob } from '../payouts/standing-orders/index.ts'
import { type Observability, queueAgesJob, type QueueProbe } from '../edge/observability/index.ts'
import type { Modules } from './modules.ts'
import { analyseGrownTables, type Database } from '../postgres/index.ts'
import { isIsoConnectorId } from '../rails/index.ts'
import { reconciliationEveryMs } from '../cases/reconciliation/index.ts'
import { screeningJobs } from '../screening/index.ts'
import { settlementJobs, type SettlementObserver } from '../banks/settlement/index.ts'

export type BackgroundDeps = {
  readonly config: Config
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  readonly observability?: Observability
  readonly tracing?: Tracing | undefined
  /** Mails are written to this folder if SMTP_URL is not set. */
  readonly mailboxFolder: string
}

export function backgroundJobs(deps: BackgroundDeps, modules: Modules): readonly Job[] {
  const { access, mailQueue, screener, screening, webhooks } = modules
  const { config, db, clock, log, observability, tracing } = deps
  const jobs = [
    ...deliveryJobs({
      db,
      clock,
      log,
      webhooks,
      allowLoopback: config.WEBHOOK_HTTP,
      proxy: config.WEBHOOK_PROXY_URL,
      // A second thread helps only if the first is always busy (docs/decisions/0014-threads-of-exchanges.md).
      threads: 1,
      observe: {
        attempt: (outcome, durationMs, subscriptionId) => {
          observability?.metrics.delivery(outcome, durationMs, subscriptionId)
          tracing?.ended('webhook attempt', durationMs, { outcome, subscriptionId })
        },
      },
    }),
    ...paymentJobs(deps, modules),
    ...modules.chains.jobs,
    ...modules.isoBanks.jobs,
    bulksJob(modules.bulkPayouts),
    ordersJob(modules.standingOrders),
    approvalsJob(modules.payoutLife),
    recallsJob(modules.recalls),
    recoveriesJob(modules.members.recoveries),
    uploadsJob(modules.uploads),
    mailJob({
      db,
      clock,
      log,
      queue: mailQueue,
      partnerName: access.partnerName,
      templates: mailTemplates,
      ...mailParts(deps),
      observe: observability?.metrics.mail,
    }),
    ...reportJobs({
      ...modules,
      ...deps,
      mail: mailQueue,
      membersByAddress: modules.users.membersByAddress,
      partnerName: access.partnerName,
      brandOf: modules.checkout.documentBrand,
      publicUrl: publicUrlOf(config),
    }),
    ...screeningJobs(screener, screening),
    ...accountJobs({
      ...modules,
      clockDifferenceMsMax: config.REPORT_CLOCK_DIFFERENCE_MS,
      observePools: observability?.metrics.ibanPools,
    }),
    ...beneficiaryJobs(modules.beneficiaries, modules.renewals),
    ...customerJobs(modules.customers, modules.personalData),
    assignmentsJob(modules.staff.assignments),
    changesJob(deps),
    ...inboxJobs(modules.inbox),
    ...identityJobs(modules.identityChecks),
    ...upkeepJobs(deps, modules),
  ]
  return [...jobs, ...metricJobs(deps, modules, jobs)]
}

/** Creates the jobs that send payouts to the bank and process its notifications. */
export const paymentJobs = (deps: BackgroundDeps, modules: Modules): readonly Job[] =>
  settlementJobs({
    log: deps.log,
    connectors: modules.connectors,
    payouts: modules.payoutLife,
    payoutAges: modules.payoutAges,
    recalls: modules.recalls,
    deposits: modules.deposits,
    cases: modules.cases,
    returns: modules.returns,
    partnerIds: () => modules.access.partnerIds(deps.db),
    isPartner: async (partnerId) => (await modules.access.partnerName(deps.db, partnerId)) !== '',
    observe: settlementObserver(deps, modules),
  })

const settlementObserver = (
  { observability, tracing }: BackgroundDeps,
  { connectorHealth }: Modules,
): SettlementObserver => ({
  instructions: (connector, outcomes, durationMs) => {
    observability?.metrics.instructions(connector, outcomes, durationMs)
    tracing?.ended('bank instructions', durationMs, { connector, ...outcomes })
  },
  bankNotification: (connector, outcome) => observability?.metrics.bankNotification(connector, outcome),
  age: (subject, status, age) => observability?.metrics.age(subject, status, age),
  connector: (connector, state) => {
    observability?.metrics.connector(connector, state)
    connectorHealth.breaker(connector, state)
  },
  // A file-based bank answers by its files: its calls write rows of this database.
  answered: (connector) => {
    if (!isIsoConnectorId(connector)) connectorHealth.answered(connector)
  },
  failed: (connector, error) => connectorHealth.failed(connector, error),
})

const checkpointMs = 10 * secondMs
const checkpointEveryMs = 10 * minuteMs
const auditMs = 10 * secondMs
const auditStepsPerHead = 5
/** Interval of signed audit heads in a sandbox, so that a developer sees one. In production a head covers a day. */
const sandboxHeadMs = 5 * secondMs

/** Creates the jobs that maintain the database. No caller waits for them. */
function upkeepJobs(deps: BackgroundDeps, modules: Modules): readonly Job[] {
  const { access, monitoring, rates, reconciliation, requests, safeguarding } = modules
  const { db, log, observability } = deps
  const checkpoints = createCheckpoints({ db, log, partnerIds: access.partnerIds })
  return [
    ...(rates.nextInMs === undefined
      ? []
      : [defineJob({ name: 'rates.refresh', everyMs: rates.nextInMs, run: rates.refreshStep })]),
    defineJob({
      name: 'reconciliation.look',
      everyMs: reconciliationEveryMs,
      run: () => reconciliation.step(observability?.metrics.reconciliation),
    }),
    safeguardingJob(safeguarding),
    ...monitoringJobs(monitoring),
    defineJob({ name: 'requests.retention', everyMs: hourMs, run: requests.retain }),
    defineJob({ name: 'access.nonces', everyMs: minuteMs, run: access.sweepNonces }),
    defineJob({ name: 'sign_in.forms', everyMs: minuteMs, run: modules.signIn.forms.sweep }),
    chainJob(deps, modules),
    defineJob({
      name: 'ledger.checkpoints',
      wokenBy: ['ledger.transfers'],
      restMs: checkpointMs,
      everyMs: () => (checkpoints.isBetweenRounds() ? checkpointEveryMs : checkpointMs),
      run: checkpoints.checkpointStep,
    }),
    analyseJob(deps),
  ]
}

/** Chains audit records once they are certain to be complete. Without new records it only signs the heads of the day. */
function chainJob(deps: BackgroundDeps, modules: Modules): Job {
  const { MODE, REPORT_CLOCK_DIFFERENCE_MS: clockDifferenceMsMax } = deps.config
  const headPeriodMs = MODE === 'sandbox' ? sandboxHeadMs : dayMs
  const { partnerIds } = modules.access
  const step = createChainStep({ ...modules, ...deps, partnerIds, clockDifferenceMsMax, headPeriodMs })
  const stepMs = Math.min(auditMs, headPeriodMs / auditStepsPerHead)
  return defineJob({
    name: 'audit.chain',
    wokenBy: ['audit.records'],
    restMs: stepMs,
    everyMs: stepMs,
    quietAfterMs: clockDifferenceMsMax + Math.min(headPeriodMs, minuteMs) + 2 * stepMs,
    run: step,
  })
}

const analyseMs = 2 * secondMs
const analyseEveryMs = 10 * secondMs
/** Commits between analyses: a table seldom doubles in fewer. */
const commitsPerAnalysis = 20

/** Creates the job that analyses changed tables. It reports no work, or it would list a table under analysis again at once. */
function analyseJob({ db, log }: { readonly db: Database; readonly log: Log }): Job {
  let commits = 0
  return defineJob({
    name: 'postgres.statistics',
    connect: (wake) => {
      db.onWritten(() => {
        commits += 1
        if (commits >= commitsPerAnalysis) wake()
      })
    },
    restMs: analyseMs,
    everyMs: analyseEveryMs,
    run: async () => {
      commits = 0
      await analyseGrownTables(db, log)
      return 0
    },
  })
}

function metricJobs(deps: BackgroundDeps, modules: Modules, jobs: readonly Job[]): readonly Job[] {
  const { clock, db, observability } = deps
  if (observability === undefined) return []
  const { endpoints, queueAge } = observability.metrics
  const probes = [...probesOf(jobs), ...otherProbes(modules)]
  return [
    statisticsJob({ db, endpointStatistics, observe: endpoints }),
    queueAgesJob({ clock, probes, observe: queueAge }),
  ]
}

/** Returns probes of queues whose age is not the due time of a job. */
const probesOf = (jobs: readonly Job[]): readonly QueueProbe[] =>
  jobs.flatMap(({ age }): readonly QueueProbe[] =>
    age?.since === undefined
      ? []
      : [{ name: age.queue, oldestDue: age.since, ...(age.connector ? { connector: age.connector } : {}) }],
  )

/** Returns probes of queues without a job: people decide, or one job handles all of them. */
const otherProbes = ({ cases, deposits, payoutAges, screening }: Modules): readonly QueueProbe[] => [
  { name: 'cases', oldestDue: () => cases.oldestOpen() },
  { name: 'screening_hits', oldestDue: () => screening.oldestOpenHit() },
  { name: 'screening_payouts', oldestDue: () => payoutAges.oldestInScreening() },
  { name: 'screening_deposits', oldestDue: () => deposits.oldestInScreening() },
]

// Mails of the service: the template of each kind, and the sender.

/** Renders a mail by its kind. */
const mailTemplates = {
  invitation: renderInvitation,
  invitation_resent: renderInvitation,
  endpoint_alert: renderEndpointAlert,
  balance_crossed: renderMonitorMail,
  report_ready: renderReportMail,
  report_failed: renderReportMail,
  sign_in_link: renderSignInLink,
  sign_in_changed: renderSignInChange,
  new_device: renderNewDevice,
  staff_account: renderStaffMail,
  recovery_link: renderRecoveryLink,
  recovery_report: renderRecoveryReport,
  role_changed: renderRoleChange,
  impersonation: renderImpersonationMail,
  guest_link: renderGuestLink,
  service_account_changed: renderKeyChange,
  inbox: renderInboxMail,
}

function mailParts({ config, mailboxFolder }: { readonly config: Config; readonly mailboxFolder: string }) {
  const sender = present(parseMailbox(config.MAIL_FROM), 'no mailbox in MAIL_FROM, which the configuration checks')
  return {
    transport: config.SMTP_URL === undefined ? folderTransport(mailboxFolder) : smtpTransport(config.SMTP_URL),
    // A name in MAIL_FROM has precedence.
    from: { ...sender, name: sender.name === '' ? installationName(config) : sender.name },
    senders: config.MAIL_SENDERS,
  }
}
