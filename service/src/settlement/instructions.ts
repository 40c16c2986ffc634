/** Payouts on their way to the bank: claim, record the attempt, enquire on a retry, instruct, record the answer. */
import { Unreachable } from '../api/index.ts'
import { instructionIdOf, type PayoutClaim } from '../modules/payouts/index.ts'
import type { Acknowledgement, Instruction } from '../rails/index.ts'
import type { SettlementDeps } from './deps.ts'

const partnersPerStepMax = 20
const payoutsPerClaimMax = 20

/** Submits the due payouts of some partners, and returns how many it claimed. */
export async function submitDuePayouts(deps: SettlementDeps): Promise<number> {
  let claimed = 0
  for (const partnerId of await deps.payouts.partnersWithDue(partnersPerStepMax)) {
    const claims = await deps.payouts.claim(partnerId, payoutsPerClaimMax)
    for (const claim of claims) await submitOrLog(deps, claim)
    claimed += claims.length
  }
  return claimed
}

/** An unexpected failure must not stop the other payouts. The failed payout is due again when its lease ends. */
async function submitOrLog(deps: SettlementDeps, claim: PayoutClaim): Promise<void> {
  try {
    await submit(deps, claim)
  } catch (error) {
    deps.log.error({ err: error, payoutId: claim.id }, 'payout submission failed')
  }
}

async function submit(deps: SettlementDeps, claim: PayoutClaim): Promise<void> {
  const { payouts, rail, log, observe } = deps
  const isRetry = claim.sendAttempts > 0
  const attempt = await payouts.recordAttempt(claim)
  if (!attempt) return
  const startMs = performance.now()
  const ended = (outcome: 'accepted' | 'refused' | 'unreachable' | 'failed') =>
    observe?.instruction(rail.id, outcome, performance.now() - startMs)
  try {
    const acknowledgement = isRetry
      ? await enquireAndResubmit(deps, attempt)
      : await rail.instruct(instructionOf(attempt))
    if (acknowledgement) await payouts.recordAcknowledgement(attempt, acknowledgement)
    ended(acknowledgement?.accepted ? 'accepted' : 'refused')
  } catch (error) {
    ended(error instanceof Unreachable ? 'unreachable' : 'failed')
    if (!(error instanceof Unreachable)) throw error
    log.warn({ err: error, payoutId: attempt.id, attempt: attempt.sendAttempts }, 'bank unreachable')
    await payouts.recordUnreachable(attempt)
  }
}

/** The bank may have the instruction of an earlier attempt. Undefined if the payout fails after its last attempt. */
async function enquireAndResubmit(
  { payouts, rail }: SettlementDeps,
  attempt: PayoutClaim,
): Promise<Acknowledgement | undefined> {
  const found =
    (await rail.enquire(attempt.partnerId, instructionIdOf(attempt))) ??
    // Submitted by a process of an earlier version, during an upgrade.
    (await rail.enquire(attempt.partnerId, attempt.id))
  if (found) return found
  if (await payouts.failAfterLastAttempt(attempt)) return undefined
  return rail.instruct(instructionOf(attempt))
}

function instructionOf(attempt: PayoutClaim): Instruction {
  return {
    partnerId: attempt.partnerId,
    id: instructionIdOf(attempt),
    endToEndId: attempt.endToEndId,
    amount: attempt.amount,
    currency: attempt.currency,
    creditorName: attempt.creditorName,
    creditorAccount: attempt.creditorAccount,
    creditorBic: attempt.creditorBic,
    remittance: attempt.remittance,
    simulatedOutcome: attempt.simulatedOutcome,
  }
}
