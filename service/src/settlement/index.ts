/**
 * Settlement: submits payouts to a bank and processes bank notifications. It calls the verbs of the payouts and deposits
 * modules and owns no tables; a claim is a column of the payout. Design and invariants: README.md in this folder.
 */
import { type Loop, secondMs, startLoop } from '../kernel/index.ts'
import type { Connector } from '../rails/index.ts'
import { agesIdleMs, createAgeWatch } from './ages.ts'
import type { SettlementDeps, SettlementObserver } from './deps.ts'
import { createSubmitter, submitDuePayouts } from './instructions.ts'
import { sendDueRecalls } from './recalls.ts'
import { sendDueReturns } from './returns.ts'
import { createNotificationStep, processBankNotifications, type RetryPauses } from './notifications.ts'

export { type CandidatesDeps, createCandidateSources } from './candidates.ts'
export { type CaseEffectsDeps, createCaseEffects } from './case-effects.ts'
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
/** Returns and recalls are few, and no caller waits for them. */
const returnsIdleMs = secondMs

/** Every connector has loops of its own, so that one that hangs holds up no other. */
export function startSettlement(deps: SettlementDeps): readonly Loop[] {
  const { log, idleMs, deposits, connectors } = deps
  return [
    ...connectors.flatMap((connector) => startConnector(deps, connector)),
    startLoop({ name: 'settlement.ages', idleMs: agesIdleMs, log, step: createAgeWatch(deps) }),
    startLoop({ name: 'settlement.expiry', idleMs, log, step: () => deposits.expireDue(expiredDepositsPerStepMax) }),
    startLoop({
      name: 'settlement.screening',
      idleMs,
      log,
      step: () => deposits.screenDue(screenedDepositsPerStepMax),
    }),
  ]
}

function startConnector(deps: SettlementDeps, connector: Connector): readonly Loop[] {
  const { log, idleMs } = deps
  const submitter = createSubmitter(deps, connector)
  const submit = startLoop({ name: `settlement.instructions.${connector.id}`, idleMs, log, step: submitter.step })
  return [
    { wake: submit.wake, stop: () => submit.stop().then(submitter.drain) },
    startLoop({
      name: `settlement.notifications.${connector.id}`,
      idleMs,
      log,
      step: createNotificationStep(deps, connector),
    }),
    startLoop({
      name: `settlement.returns.${connector.id}`,
      idleMs: returnsIdleMs,
      log,
      step: () => sendDueReturns(deps, connector),
    }),
    startLoop({
      name: `settlement.recalls.${connector.id}`,
      idleMs: returnsIdleMs,
      log,
      step: () => sendDueRecalls(deps, connector),
    }),
  ]
}
