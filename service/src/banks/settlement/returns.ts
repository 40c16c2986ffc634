/** Returns the money of cases: claim what is due, ask the bank about earlier attempts, instruct, record the answer. */
import { Unreachable } from '../../kernel/api/index.ts'
import type { ReturnClaim } from '../../cases/index.ts'
import type { Connector, Instruction, InstructionOutcome } from '../../rails/index.ts'
import { endOfCall, inTime } from './calls.ts'
import type { SettlementDeps } from './deps.ts'
import { asTold } from './reasons.ts'

const returnsPerStepMax = 50

/**
 * Sends due returns of a connector, and returns how many. One call for each: they are few, and a failing one affects no
 * other.
 */
export async function sendDueReturns(deps: SettlementDeps, connector: Connector): Promise<number> {
  const claims = await deps.returns.claim(
    connector.id,
    Math.min(returnsPerStepMax, connector.limits.instructionsPerCallMax),
  )
  for (const claim of claims) await send(deps, connector, claim)
  return claims.length
}

async function send({ log, returns }: SettlementDeps, connector: Connector, claim: ReturnClaim): Promise<void> {
  const { id: returnId, caseId } = claim
  try {
    const outcome = await submit(connector, claim)
    if (outcome === 'unknown') await returns.postponed(claim)
    else if (outcome.accepted && outcome.notBefore !== undefined) await returns.postponed(claim, outcome.notBefore)
    else if (outcome.accepted) await returns.accepted(claim)
    else await returns.refused(claim, asTold(outcome).details)
  } catch (error) {
    const facts = { err: error, connector: connector.id, returnId, caseId }
    if (error instanceof Unreachable) log.warn(facts, 'bank unreachable')
    else log.error(facts, 'return submission failed')
    await returns.postponed(claim)
  }
}

/** An earlier attempt may have reached the bank: it is asked first, and gets the same instruction if it has none. */
async function submit(connector: Connector, claim: ReturnClaim): Promise<InstructionOutcome> {
  const endsAt = endOfCall(connector)
  const { partnerId, id } = claim
  if (claim.attempts > 1) {
    const [found] = await inTime(endsAt, (options) => connector.find([{ partnerId, id }], options))
    if (found !== undefined) return found
  }
  const [outcome] = await inTime(endsAt, (options) => connector.instruct([instructionOf(claim)], options))
  return outcome ?? 'unknown'
}

const instructionOf = (claim: ReturnClaim): Instruction => ({
  partnerId: claim.partnerId,
  id: claim.id,
  endToEndId: claim.id.replaceAll('-', ''),
  amount: claim.amount,
  currency: claim.currency,
  creditorName: claim.creditorName,
  creditorAccount: claim.creditorAccount,
  creditorBic: claim.creditorBic,
  remittance: claim.remittance,
  simulatedOutcome: null,
})
