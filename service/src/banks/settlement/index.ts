/**
 * Settlement: submits payouts to a bank and processes bank notifications. It calls the verbs of the payouts and deposits
 * modules and owns no tables; a claim is a column of the payout. Design and invariants: README.md in this folder.
 */
import { defineJob, type Job } from '../../postgres/jobs/index.ts'
import { minuteMs } from '../../kernel/index.ts'
import { depositsDue, screenedDepositsDue } from '../../deposits/index.ts'
import { payoutsDue } from '../../payouts/index.ts'
import { recallsDue } from '../../payouts/recalls/index.ts'
import { returnsDue } from '../../cases/index.ts'
import type { Connector } from '../../rails/index.ts'
import { createAgeWatch } from './ages.ts'
import type { SettlementDeps, SettlementObserver } from './deps.ts'
import { createSubmitter, submitDuePayouts } from './instructions.ts'
import { sendDueRecalls } from './recalls.ts'
import { sendDueReturns } from './returns.ts'
import { createNotificationStep, processBankNotifications, type RetryPauses } from './notifications.ts'

export { type CandidatesDeps, createCandidateSources } from './candidates.ts'
export { type CaseEffectsDeps, createCaseEffects, createRefusal } from './case-effects.ts'
export { type CancelEntry, createCancelEntry, createUndoPayment, type UndoPayment } from './wrong-debits.ts'
export { createInLedger } from './in-ledger.ts'
export {
  processBankNotifications,
  type RetryPauses,
  sendDueRecalls,
  sendDueReturns,
  type SettlementDeps,
  type SettlementObserver,
  submitDuePayouts,
}

const expiredDepositsPerStepMax = 100
const screenedDepositsPerStepMax = 100
/** The interval at which a bank is asked for notifications that are not rows of this database. */
const notificationsEveryMs = 100

/** Every connector has jobs of its own, so that a hanging one delays no other. */
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
      due: (after) => returnsDue(id, after),
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
