/** The queues whose oldest due work a metric shows. */
import type { Cases } from './cases/index.ts'
import type { DeliveryEngine } from './delivery/index.ts'
import type { EventOutbox } from './events/index.ts'
import { momentOfId } from './kernel/index.ts'
import type { MailQueue } from './mail/index.ts'
import type { Cancellations, Monitors } from './modules/accounts/index.ts'
import type { Renewals } from './modules/beneficiaries/index.ts'
import type { Deposits } from './modules/deposits/index.ts'
import type { PayoutAges } from './modules/payouts/index.ts'
import type { Recalls } from './modules/recalls/index.ts'
import type { Reports } from './modules/reports/index.ts'
import type { StandingOrders } from './modules/standing-orders/index.ts'
import type { PersonalData } from './personal.ts'
import type { QueueProbe } from './observability/index.ts'
import type { Database } from './postgres/index.ts'
import type { IsoBanks } from './connectors/iso20022/index.ts'
import type { Connector } from './rails/index.ts'
import type { Screening } from './screening/index.ts'

type Probed = {
  readonly cancellations: Cancellations
  readonly cases: Cases
  readonly eventOutbox: EventOutbox
  readonly payoutAges: PayoutAges
  readonly deposits: Deposits
  readonly connectors: readonly Connector[]
  readonly isoBanks: IsoBanks
  readonly mailQueue: MailQueue
  readonly monitors: Monitors
  readonly personalData: PersonalData
  readonly recalls: Recalls
  readonly reports: Reports
  readonly renewals: Renewals
  readonly screening: Screening
  readonly standingOrders: StandingOrders
  readonly webhooks: DeliveryEngine
}

export function queueProbes(db: Database, modules: Probed): readonly QueueProbe[] {
  const {
    cancellations,
    cases,
    eventOutbox,
    payoutAges,
    deposits,
    connectors,
    isoBanks,
    mailQueue,
    monitors,
    personalData,
    recalls,
    renewals,
    reports,
    screening,
    standingOrders,
    webhooks,
  } = modules
  return [
    {
      name: 'events',
      oldestDue: async () => {
        const id = await eventOutbox.oldestPending(db)
        return id === undefined ? null : momentOfId(id)
      },
    },
    ...connectors.flatMap(({ id, oldestNotification }) => [
      { name: 'payouts', connector: id, oldestDue: (now: Date) => payoutAges.oldestDue(id, now) },
      { name: 'bank_notifications', connector: id, oldestDue: oldestNotification },
      { name: 'recalls', connector: id, oldestDue: () => recalls.oldestUnsent(id) },
    ]),
    ...isoBanks.connectors.map(({ id }) => ({
      name: 'bank_files',
      connector: id,
      oldestDue: () => isoBanks.oldestUndelivered(id),
    })),
    { name: 'expiring_deposits', oldestDue: deposits.oldestExpired },
    { name: 'cancellations', oldestDue: cancellations.oldestBlock },
    { name: 'standing_orders', oldestDue: standingOrders.oldestDue },
    { name: 'expiring_recalls', oldestDue: recalls.oldestOverdue },
    { name: 'cases', oldestDue: () => cases.oldestOpen() },
    { name: 'screening_names', oldestDue: () => screening.oldestDueSubject() },
    { name: 'screening_hits', oldestDue: () => screening.oldestOpenHit() },
    { name: 'screening_payouts', oldestDue: () => payoutAges.oldestInScreening() },
    { name: 'screening_deposits', oldestDue: () => deposits.oldestInScreening() },
    { name: 'mail', oldestDue: (now) => mailQueue.oldestDue(db, now) },
    { name: 'monitors', oldestDue: async () => monitors.judgedSince() },
    { name: 'reports', oldestDue: reports.oldestDue },
    { name: 'renewals', oldestDue: renewals.oldestRenewal },
    { name: 'erasures', oldestDue: personalData.erasures.oldestDue },
    { name: 'kept_records', oldestDue: personalData.keptRecords.oldestDue },
    { name: 'recoveries', oldestDue: () => webhooks.oldestRecovery() },
  ]
}
