/**
 * The composition root. Each component receives its dependencies as plain values; there is no registry and no global
 * state. The gateway and the desk are loaded on first use.
 */
import type { RequestListener } from 'node:http'
import { sealedApiSecrets, sealedPartnerNames } from '../access/index.ts'
import { sealedAuditKeys } from '../audit/index.ts'
import type { DeskChanges } from '../pages/index.ts'
import { type BackgroundDeps, backgroundJobs, paymentJobs } from './background.ts'
import type { Gateway } from '../edge/gateway/index.ts'
import type { GatewayForm } from './gateway.ts'
import { announceWrites, type Job, listenForWrites, startJobs, tablesOfJob } from '../postgres/jobs/index.ts'
import { sealedAnswers } from '../idempotency/index.ts'
import { sealedMailSecrets } from '../mail/index.ts'
import { type SealedColumn, tracedDatabase, type Tx } from '../postgres/index.ts'
import { sealedPayers } from '../banks/files/index.ts'
import { sealedChainKeys, sealedTravelRules } from '../chains/evm/index.ts'
import { sealedForms, sealedTotpSecrets } from '../people/sign-in/index.ts'
import { sealedEarlierNames, sealedHits } from '../screening/index.ts'
import { sealedLinkTokens, sealedPaymentLinkTokens } from '../checkout/index.ts'
import { sealedChanges, sealedKyc, sealedNameKeys } from '../parties/customers/index.ts'
import { sealedIdentities } from '../parties/identity-checks/index.ts'
import { sealedClientSecrets, sealedUploads, sealedPendingSecrets } from '../people/users/index.ts'
import { sealedWebhookSecrets } from '../webhooks/index.ts'
import { composeModules, type Modules } from './modules.ts'

type Stoppable = { readonly stop: () => Promise<void> }

export type Service = Modules & {
  readonly sealedColumns: readonly SealedColumn[]
  /** Serves the operator's desk. `changes` runs commands that a second person has approved. */
  readonly desk: (changes: DeskChanges) => Promise<RequestListener>
  readonly gateway: (form: GatewayForm) => Promise<Gateway>
  readonly startWorkers: () => Stoppable
  /** Starts only the workers that send payouts to the bank and process its notifications. */
  readonly startSettlement: () => Stoppable
  /** Wakes the workers of other processes after commits of this process, which runs no workers. */
  readonly announceWork: () => Stoppable
  /**
   * Ends every lease, so that work of a crashed process continues at once. Only at the start of the embedded database, whose single
   * process has not leased work yet.
   */
  readonly releaseLeases: () => Promise<void>
  /** Refuses the partner's requests and releases its endpoint queues before its rows leave this database. */
  readonly closePartner: (tx: Tx, partnerId: string) => Promise<void>
  /** Resumes the service for a partner after its import, or after an export that failed. */
  readonly openPartner: (tx: Tx, partnerId: string) => Promise<void>
}

type ServiceDeps = BackgroundDeps & {
  /** See `PayoutsDeps`. */
  readonly payoutsPerBatchMax?: number
}

/** Every column with sealed values. */
export const sealedColumns = [
  sealedApiSecrets,
  sealedPartnerNames,
  sealedKyc,
  sealedNameKeys,
  sealedChanges,
  sealedIdentities,
  sealedWebhookSecrets,
  sealedMailSecrets,
  sealedAnswers,
  sealedLinkTokens,
  sealedPaymentLinkTokens,
  sealedChainKeys,
  sealedTravelRules,
  sealedPayers,
  sealedHits,
  sealedEarlierNames,
  sealedAuditKeys,
  sealedClientSecrets,
  sealedPendingSecrets,
  sealedForms,
  sealedUploads,
  sealedTotpSecrets,
] as const

export function compose(given: ServiceDeps): Service {
  const { log, tracing } = given
  const db = tracing ? tracedDatabase(given.db, tracing) : given.db
  const deps = { ...given, db }
  const modules = composeModules(deps)
  const { access, isoBanks, webhooks } = modules
  const metrics = given.observability?.metrics
  const observing = { observe: metrics?.queueAge, observeFailures: metrics?.jobFailures }
  const start = (jobs: readonly Job[]) => startJobs({ db, clock: given.clock, log, jobs, ...observing })
  return {
    ...modules,
    sealedColumns,
    startSettlement: () => start(paymentJobs(deps, modules)),
    desk: async (changes) => (await import('./desk.ts')).composeDesk(deps, modules, changes),
    gateway: async (form) => (await import('./gateway.ts')).composeGateway(deps, modules, form),
    releaseLeases: async () => {
      await isoBanks.releaseLeases()
      const releases = new Set(backgroundJobs(deps, modules).flatMap((job) => job.releaseLeases ?? []))
      for (const partnerId of await access.partnerIds(db)) for (const release of releases) await release(partnerId)
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
      await modules.identityChecks.releaseLeases(partnerId, tx)
    },
    startWorkers: () => {
      const running = start(backgroundJobs(deps, modules))
      const listening = listenForWrites(db, running)
      return {
        stop: async () => {
          await listening.stop()
          await running.stop()
        },
      }
    },
    announceWork: () =>
      announceWrites(db, new Set(backgroundJobs(deps, modules).flatMap((job) => [...tablesOfJob(job)]))),
  }
}
