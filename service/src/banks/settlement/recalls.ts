/** Recalls of payouts on their way to a bank: claim what is due, ask the bank, record its answer. */
import { Unreachable } from '../../kernel/api/index.ts'
import type { RecallClaim } from '../../payouts/recalls/index.ts'
import type { Connector, RecallOutcome } from '../../rails/index.ts'
import { endOfCall, inTime } from './calls.ts'
import type { SettlementDeps } from './deps.ts'

/**
 * Recalls of a step are sent together, before their leases end, and each takes a connection when its answer is
 * recorded.
 */
const recallsPerStepMax = 20

/**
 * Sends due recalls of a connector to its bank, and returns how many. One call for each, concurrently: one that fails
 * or hangs delays no other. An earlier attempt may have reached the bank, which knows the request by its id.
 */
export async function sendDueRecalls(deps: SettlementDeps, connector: Connector): Promise<number> {
  if (connector.recall === undefined) return 0
  const claims = await deps.recalls.claim(connector.id, recallsPerStepMax)
  const sent = await Promise.allSettled(claims.map((claim) => send(deps, connector, claim)))
  const failed = sent.find(({ status }) => status === 'rejected')
  if (failed?.status === 'rejected') throw failed.reason
  return claims.length
}

async function send({ log, recalls }: SettlementDeps, connector: Connector, claim: RecallClaim): Promise<void> {
  const { id: recallId, payoutId } = claim
  try {
    const outcome = await ask(connector, claim)
    if (outcome === 'unknown') await recalls.postponed(claim)
    else if (!outcome.taken) {
      log.warn({ connector: connector.id, recallId, payoutId, details: outcome.details }, 'recall not accepted')
      await recalls.declined(claim, outcome.reasonCode)
    } else if (outcome.notBefore !== undefined) await recalls.postponed(claim, outcome.notBefore)
    else await recalls.taken(claim)
  } catch (error) {
    const facts = { err: error, connector: connector.id, recallId, payoutId }
    if (error instanceof Unreachable) log.warn(facts, 'bank unreachable')
    else log.error(facts, 'recall failed')
    await recalls.postponed(claim)
  }
}

async function ask(connector: Connector, claim: RecallClaim): Promise<RecallOutcome> {
  const { partnerId, id, instructionId, reason, details, requestedName } = claim
  const request = { partnerId, id, instructionId, reason, details, requestedBy: requestedName }
  return inTime(endOfCall(connector), async (options) => (await connector.recall?.(request, options)) ?? 'unknown')
}
