/**
 * Settlement: submits payouts to a bank and processes bank notifications. It calls the verbs of the payouts and deposits
 * modules and owns no tables; a claim is a column of the payout. Design and invariants: README.md in this folder.
 */
import { type Loop, startLoop } from '../kernel/index.ts'
import type { SettlementDeps, SettlementObserver } from './deps.ts'
import { createSubmitter, submitDuePayouts } from './instructions.ts'
import { processBankNotifications, type RetryPauses } from './notifications.ts'

export { processBankNotifications, type RetryPauses, type SettlementDeps, type SettlementObserver, submitDuePayouts }

const expiredDepositsPerStepMax = 100

export function startSettlement(deps: SettlementDeps): readonly Loop[] {
  const { log, idleMs, deposits } = deps
  const retryPauses: RetryPauses = new Map()
  const submitter = createSubmitter(deps)
  const submit = startLoop({ name: 'settlement.instructions', idleMs, log, step: submitter.step })
  return [
    { wake: submit.wake, stop: () => submit.stop().then(submitter.drain) },
    startLoop({
      name: 'settlement.notifications',
      idleMs,
      log,
      step: () => processBankNotifications(deps, retryPauses),
    }),
    startLoop({ name: 'settlement.expiry', idleMs, log, step: () => deposits.expireDue(expiredDepositsPerStepMax) }),
  ]
}
