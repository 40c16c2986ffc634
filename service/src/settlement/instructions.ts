/** Payouts on their way to the bank: claim, record the attempt, enquire on a retry, instruct, record the answer. */
import { setTimeout as pause } from 'node:timers/promises'
import { Unreachable } from '../api/index.ts'
import { instructionIdOf, type PayoutClaim } from '../modules/payouts/index.ts'
import type { Acknowledgement, Instruction } from '../rails/index.ts'
import type { SettlementDeps } from './deps.ts'

/** Below `claimMin`, so that each of them gets a share. */
const partnersPerClaimMax = 50
/** Payouts between their claim and their answer. A bank that answers in 200 ms takes up to five times as many a second. */
const inFlightMax = 512
/** A claim for fewer costs as much as one for many. */
const claimMin = 64
/** Shorter than the lease, so that a call that hangs is known to have failed before another worker enquires. */
const callTimeoutMs = 10_000

/** Claims at most `payoutsMax` due payouts of some partners, in equal shares. */
async function claimDuePayouts({ payouts }: SettlementDeps, payoutsMax: number): Promise<readonly PayoutClaim[]> {
  const partnerIds = await payouts.partnersWithDue(partnersPerClaimMax)
  if (partnerIds.length === 0) return []
  return payouts.claim(partnerIds, Math.floor(payoutsMax / partnerIds.length))
}

/** Submits the due payouts of some partners to their ends, and returns how many it claimed. */
export async function submitDuePayouts(deps: SettlementDeps): Promise<number> {
  const claims = await claimDuePayouts(deps, inFlightMax)
  await Promise.all(claims.map((claim) => submitOrLog(deps, claim)))
  return claims.length
}

/**
 * Submits due payouts while earlier ones still wait for the bank. `step` returns how many it claimed, and waits for a free
 * place if there is none; `drain` waits for the payouts that are under way.
 */
export function createSubmitter(deps: SettlementDeps) {
  const inFlight = new Set<Promise<void>>()
  const start = (claim: PayoutClaim) => {
    const submitted = submitOrLog(deps, claim).finally(() => inFlight.delete(submitted))
    inFlight.add(submitted)
  }
  return {
    step: async (): Promise<number> => {
      while (inFlightMax - inFlight.size < claimMin) await Promise.race(inFlight)
      const claims = await claimDuePayouts(deps, inFlightMax - inFlight.size)
      for (const claim of claims) start(claim)
      return claims.length
    },
    drain: async (): Promise<void> => void (await Promise.all(inFlight)),
  }
}

/** An unexpected failure must not stop the other payouts. The failed payout is due again when its lease ends. */
async function submitOrLog(deps: SettlementDeps, claim: PayoutClaim): Promise<void> {
  try {
    await submit(deps, claim)
  } catch (error) {
    // The database is away, which the loop logs once for all payouts.
    const level = error instanceof Unreachable ? 'debug' : 'error'
    deps.log[level]({ err: error, payoutId: claim.id }, 'payout submission failed')
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
      : await inTime(rail.instruct(instructionOf(attempt)))
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
  // A process of an earlier version submits under the payout's own id, during an upgrade.
  for (const id of new Set([instructionIdOf(attempt), attempt.id])) {
    const found = await inTime(rail.enquire(attempt.partnerId, id))
    if (found) return found
  }
  if (await payouts.failAfterLastAttempt(attempt)) return undefined
  return inTime(rail.instruct(instructionOf(attempt)))
}

/** A call that hangs has an unknown outcome, as one that failed. */
async function inTime<T>(call: Promise<T>): Promise<T> {
  const timer = new AbortController()
  const late = pause(callTimeoutMs, undefined, { signal: timer.signal }).then(() => {
    throw new Unreachable('downstream_timeout', 'the bank does not answer in time')
  })
  try {
    return await Promise.race([call, late])
  } finally {
    late.catch(() => undefined)
    timer.abort()
  }
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
