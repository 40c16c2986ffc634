/**
 * Settlement: submits payouts to a bank and processes bank notifications. It calls the operations of the payouts and deposits
 * modules and owns no tables; a claim is a column of the payout. Design and invariants: README.md in this folder.
 */
import { defineJob, type Job } from '../../postgres/jobs/index.ts'
import { hourMs, minuteMs, secondMs } from '../../kernel/index.ts'
import { depositsDue, screenedDepositsDue } from '../../deposits/index.ts'
import { payoutsDue } from '../../payouts/index.ts'
import { recallsDue } from '../../payouts/recalls/index.ts'
import { nextReturnDue } from '../../cases/index.ts'
import type { Connector } from '../../rails/index.ts'
import type { SettlementDeps, SettlementObserver } from './deps.ts'
import { createSubmitter, sendDueRecalls, sendDueReturns, submitDuePayouts } from './instructions.ts'
import { createNotificationStep, processBankNotifications } from './notifications.ts'
import type { OldestUnfinishedPayment } from '../../lifecycle/index.ts'

export { type CandidatesDeps, createCandidateSources, createLedgerLookup } from './candidates.ts'
export { type CaseEffectsDeps, createCaseEffects, createCaseRefusal } from './case-effects.ts'
export { type CancelEntry, createCancelEntry, createUndoPayment, type UndoPayment } from './wrong-debits.ts'

export {
  processBankNotifications,
  sendDueRecalls,
  sendDueReturns,
  type SettlementDeps,
  type SettlementObserver,
  submitDuePayouts,
}

const expiredDepositsPerStepMax = 100
const screenedDepositsPerStepMax = 100
/** The polling interval for notifications of banks that do not write them as rows of this database. */
const notificationsEveryMs = 100

/** Lists the jobs. Every connector has separate jobs, so that a hanging connector does not delay others. */
export const settlementJobs = (deps: SettlementDeps): readonly Job[] => [
  ...deps.connectors.flatMap((connector) => connectorJobs(deps, connector)),
  defineJob({ name: 'settlement.ages', everyMs: minuteMs, run: createAgeWatch(deps) }),
  defineJob({
    name: 'settlement.expiry',
    due: depositsDue,
    run: () => deps.deposits.expireDue(expiredDepositsPerStepMax),
    age: { queue: 'expiring_deposits' },
  }),
  defineJob({
    name: 'settlement.screening',
    due: screenedDepositsDue,
    run: () => deps.deposits.screenDue(screenedDepositsPerStepMax),
  }),
]

function connectorJobs(deps: SettlementDeps, connector: Connector): readonly Job[] {
  const { id, notificationsDue, recall } = connector
  const { payouts, recalls } = deps
  const submitter = createSubmitter(deps, connector)
  return [
    defineJob({
      name: `settlement.instructions.${id}`,
      due: (after) => payoutsDue(id, after),
      run: submitter.step,
      drain: submitter.drain,
      releaseLeases: payouts.releaseLeases,
      age: { queue: 'payouts', connector: id },
    }),
    defineJob({
      name: `settlement.notifications.${id}`,
      ...(notificationsDue === undefined ? { everyMs: notificationsEveryMs } : { due: notificationsDue }),
      run: createNotificationStep(deps, connector),
      age: { queue: 'bank_notifications', connector: id, since: connector.oldestNotification },
    }),
    defineJob({
      name: `settlement.returns.${id}`,
      due: (after) => nextReturnDue(id, after),
      run: () => sendDueReturns(deps, connector),
    }),
    defineJob({
      name: `settlement.recalls.${id}`,
      ...(recall === undefined ? {} : { due: (after: Date) => recallsDue(id, after) }),
      run: () => sendDueRecalls(deps, connector),
      age: { queue: 'recalls', connector: id, since: () => recalls.oldestUnsent(id) },
    }),
  ]
}

// Detects stuck payments: a metric has the age of the oldest payment in each status, and a log line reports an age
// above the limit.

/** A stuck payment is logged again after this time. */
const repeatedLogMs = hourMs

export function createAgeWatch({ log, payoutAges, deposits, partnerIds, observe }: SettlementDeps) {
  /** The last log line by subject and status: the payment, and the `performance.now()` of the line. */
  const told = new Map<string, { readonly id: string; readonly atMs: number }>()

  const look = ({ subject, status, limitMs, ageMs, oldest }: OldestUnfinishedPayment): void => {
    observe?.age(subject, status, { ageMs, limitMs })
    const key = `${subject} ${status}`
    if (oldest === null || ageMs <= limitMs) return void told.delete(key)
    const last = told.get(key)
    if (last?.id === oldest.id && performance.now() - last.atMs < repeatedLogMs) return
    told.set(key, { id: oldest.id, atMs: performance.now() })
    const { partnerId, id, connector } = oldest
    const seconds = { ageSeconds: Math.round(ageMs / secondMs), limitSeconds: limitMs / secondMs }
    log.error({ partnerId, paymentId: id, connector, status, ...seconds }, `${subject} is stuck`)
  }

  /** Returns 0, so that the loop pauses. */
  return async (): Promise<number> => {
    const ids = await partnerIds()
    for (const oldest of [...(await payoutAges.oldestUnfinished(ids)), ...(await deposits.oldestUnfinished())])
      look(oldest)
    return 0
  }
}
