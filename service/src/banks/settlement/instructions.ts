/**
 * Submits the payouts of one connector to its bank in sets, one call for each: claim, record the attempts, enquire
 * about retries, instruct, record the answers. Recalls and returns of money are sent in the same way.
 */
import { ownJson, type PayeeAddress } from '@partner-payments/wire'
import { Unreachable } from '../../kernel/api/index.ts'
import { assert, type Breaker, createBreaker, newId } from '../../kernel/index.ts'
import { endToEndIdSent, instructionIdOf, type PayoutClaim } from '../../payouts/index.ts'
import type {
  Acknowledgement,
  CallOptions,
  Connector,
  Instruction,
  InstructionOutcome,
  RecallOutcome,
} from '../../rails/index.ts'
import {
  withReportedDetails,
  callDeadline,
  type InstructionOutcomes,
  callWithDeadline,
  callTimeoutError,
  type SettlementDeps,
} from './deps.ts'
import type { RecallClaim } from '../../payouts/recalls/index.ts'
import type { ReturnClaim } from '../../cases/index.ts'

/** The number of sets that a worker claims at once after another worker has claimed its due payouts. */
const setsAfterLostClaim = 50
/** The maximum number of partners in a claim, which share the set equally. */
const partnersPerClaimMax = 50
/** A payout with more failures is sent in a separate call, because it may break the calls of others. */
const attemptsTogetherMax = 5

/** The context in which a set of payouts is submitted. */
type BankContext = {
  readonly deps: SettlementDeps
  readonly connector: Connector
  readonly breaker?: Breaker | undefined
}

/**
 * The payouts of a worker. `begun` may be sent; `claims` are screened first. `lost`: the number of due payouts that
 * another worker has claimed.
 */
type PayoutSet = {
  readonly begun: readonly PayoutClaim[]
  readonly claims: readonly PayoutClaim[]
  readonly lost: number
}
const emptySet: PayoutSet = { begun: [], claims: [], lost: 0 }

/**
 * Takes at most `payoutsMax` due payouts of some partners, in equal shares. Begins payouts without a hold at once, with
 * one write, and claims the others, which then wait for the end of their lease. `isShared`: claims all, because other
 * workers also submit payouts of the connector, and a claim skips locked rows.
 */
async function takeDuePayouts(bank: BankContext, payoutsMax: number, isShared = false): Promise<PayoutSet> {
  const { payouts } = bank.deps
  const { id: connector } = bank.connector
  const partnerIds = await payouts.partnersWithDue(connector, Math.min(partnersPerClaimMax, payoutsMax))
  if (partnerIds.length === 0) return emptySet
  const share = Math.floor(payoutsMax / partnerIds.length)
  if (isShared) return { ...emptySet, claims: await payouts.claim(connector, partnerIds, share) }
  const due = await payouts.due(connector, partnerIds, share)
  const leaseId = newId()
  const begun = await eachOrLog(bank, await findFree(bank, due), (payout) => payouts.beginDue(payout, leaseId))
  const begunIds = new Set(begun.map(({ id }) => id))
  const rest = due.filter(({ id }) => !begunIds.has(id))
  const claims = rest.length > 0 ? await payouts.claimAgain(connector, rest) : []
  return { begun, claims, lost: rest.length - claims.length }
}

type DuePayouts = Awaited<ReturnType<SettlementDeps['payouts']['due']>>

/** Returns the payouts without a hold. None if screening fails: all are then claimed and due again when their leases end. */
async function findFree({ deps: { payouts, log }, connector }: BankContext, due: DuePayouts): Promise<DuePayouts> {
  try {
    return await payouts.free(due)
  } catch (error) {
    log.error({ err: error, connector: connector.id, count: due.length }, 'could not screen payouts; will retry')
    return []
  }
}

const payoutCount = ({ begun, claims }: PayoutSet) => begun.length + claims.length

/** Submits one set of due payouts of every connector, and returns the number of claimed payouts. */
export async function submitDuePayouts(deps: SettlementDeps): Promise<number> {
  const counts = await Promise.all(
    deps.connectors.map(async (connector) => {
      const bank = { deps, connector }
      const taken = await takeDuePayouts(bank, connector.limits.instructionsPerCallMax)
      await submit(bank, taken)
      return payoutCount(taken)
    }),
  )
  return counts.reduce((sum, count) => sum + count, 0)
}

/**
 * Submits due payouts of a connector while earlier sets still wait for its bank. `step` waits for a free call and returns
 * the number of due payouts; `drain` waits for the submitted sets.
 */
export function createSubmitter(deps: SettlementDeps, connector: Connector) {
  const { instructionsPerCallMax, callsMax } = connector.limits
  const breaker = createLoggedBreaker(deps, connector)
  const bank = { deps, connector, breaker }
  const sets = new Set<Promise<void>>()
  let inFlight = 0
  let setsToClaim = 0
  const report = () => deps.observe?.connector(connector.id, { inFlight, isOpen: breaker.state() !== 'closed' })
  const start = (taken: PayoutSet) => {
    const count = payoutCount(taken)
    inFlight += count
    const submitted = submit(bank, taken).finally(() => {
      sets.delete(submitted)
      inFlight -= count
      report()
    })
    sets.add(submitted)
    report()
  }
  return {
    step: async (): Promise<number> => {
      while (sets.size >= callsMax) await Promise.race(sets)
      const state = breaker.state()
      if (state === 'open' || (state === 'half-open' && sets.size > 0))
        return deps.payouts.screenHeld(connector.id, instructionsPerCallMax)
      const taken = await takeDuePayouts(bank, state === 'half-open' ? 1 : instructionsPerCallMax, setsToClaim > 0)
      setsToClaim = taken.lost > 0 ? setsAfterLostClaim : Math.max(0, setsToClaim - 1)
      if (payoutCount(taken) > 0) start(taken)
      return payoutCount(taken) + taken.lost
    },
    drain: async (): Promise<void> => void (await Promise.all(sets)),
  }
}

/** Logs one line when the bank stops answering, and one when it answers again. */
function createLoggedBreaker({ log }: SettlementDeps, { id }: Connector): Breaker {
  const breaker = createBreaker()
  const telling = (change: () => void) => () => {
    const before = breaker.state() === 'closed'
    change()
    const isClosed = breaker.state() === 'closed'
    if (before && !isClosed) log.error({ connector: id }, 'bank does not answer; its payouts wait')
    if (!before && isClosed) log.info({ connector: id }, 'bank answers again')
  }
  return { ...breaker, answered: telling(breaker.answered), failed: telling(breaker.failed) }
}

/** Submits a set. Does not throw: failed payouts are due again when their lease ends. */
async function submit(bank: BankContext, { begun, claims }: PayoutSet): Promise<void> {
  const { payouts } = bank.deps
  const { cleared, attempted } = await screenClaims(bank, claims)
  const attempts = [...begun, ...(await eachOrLog(bank, cleared, (claim) => payouts.begin(claim)))]
  const first = attempts.filter(({ sendAttempts }) => sendAttempts === 1)
  const again = attempts.filter(({ sendAttempts }) => sendAttempts > 1 && sendAttempts <= attemptsTogetherMax)
  const alone = attempts.filter(({ sendAttempts }) => sendAttempts > attemptsTogetherMax)
  // All calls of a set share one deadline, so that the set ends before its lease. They run one at a time, as `callsMax` requires.
  const endsAt = callDeadline(bank.connector)
  await callBank(bank, attempted, enquire, endsAt)
  await callBank(bank, first, instruct, endsAt)
  for (const retried of [again, ...alone.map((attempt) => [attempt])])
    await callBank(bank, retried, enquireAndResubmit, endsAt)
}

/** Returns the claims that may be sent. None if screening fails: the claims are due again when their leases end. */
async function screenClaims({ deps: { payouts, log }, connector }: BankContext, claims: readonly PayoutClaim[]) {
  try {
    return await payouts.screen(claims)
  } catch (error) {
    log.error({ err: error, connector: connector.id, count: claims.length }, 'could not screen payouts; will retry')
    return { cleared: [], attempted: [] }
  }
}

type Call = (bank: BankContext, attempts: readonly PayoutClaim[], endsAt: number) => Promise<unknown>

/** Makes the calls for `attempts`. If the bank does not answer in time, the outcomes that are not recorded yet are unknown. */
async function callBank(
  bank: BankContext,
  attempts: readonly PayoutClaim[],
  call: Call,
  endsAt: number,
): Promise<void> {
  if (attempts.length === 0) return
  const { log, payouts } = bank.deps
  try {
    await call(bank, attempts, endsAt)
  } catch (error) {
    const facts = { err: error, connector: bank.connector.id, payoutId: attempts[0]?.id, count: attempts.length }
    if (!(error instanceof Unreachable)) return log.error(facts, 'payout submission failed')
    log.warn(facts, 'bank unreachable')
    await eachOrLog(bank, attempts, (attempt) => payouts.unreachable(attempt))
  }
}

async function instruct(bank: BankContext, claimed: readonly PayoutClaim[], endsAt: number): Promise<void> {
  const { deps, connector } = bank
  const attempts = await deps.payouts.withAddresses(claimed)
  const instructions = attempts.map(toInstruction)
  const startMs = performance.now()
  const told = (outcomes: readonly InstructionOutcome[]) =>
    deps.observe?.instructions(connector.id, countOutcomes(outcomes, attempts.length), performance.now() - startMs)
  const outcomes = await callWatched(bank, endsAt, (options) => connector.instruct(instructions, options)).catch(
    (error: unknown) => {
      told([])
      throw error
    },
  )
  told(outcomes)
  assert(
    outcomes.length === attempts.length,
    `connector ${connector.id} returned ${outcomes.length} outcomes for ${attempts.length} instructions`,
  )
  await recordOutcomes(
    bank,
    attempts.map((attempt, index) => ({ attempt, outcome: outcomes[index] ?? 'unknown' })),
  )
}

/** Asks the bank about earlier attempts and resubmits the others. A payout without attempts left fails if the bank does not have it. */
async function enquireAndResubmit(bank: BankContext, attempts: readonly PayoutClaim[], endsAt: number): Promise<void> {
  const { payouts } = bank.deps
  const absent = await enquire(bank, attempts, endsAt)
  const left = await eachOrLog(bank, absent, async (attempt) => ((await payouts.giveUp(attempt)) ? undefined : attempt))
  if (left.length > 0) await instruct(bank, left, endsAt)
}

/** Records the instructions that the bank has, and returns the attempts that it does not have. */
async function enquire(
  bank: BankContext,
  attempts: readonly PayoutClaim[],
  endsAt: number,
): Promise<readonly PayoutClaim[]> {
  const found = await find(bank, attempts, endsAt)
  await recordOutcomes(
    bank,
    [...found].map(([attempt, outcome]) => ({ attempt, outcome })),
  )
  return attempts.filter((attempt) => !found.has(attempt))
}

async function find(
  bank: BankContext,
  attempts: readonly PayoutClaim[],
  endsAt: number,
): Promise<ReadonlyMap<PayoutClaim, Acknowledgement>> {
  const { connector } = bank
  const keys = attempts.map((attempt) => ({ partnerId: attempt.partnerId, id: instructionIdOf(attempt) }))
  const found = await callWatched(bank, endsAt, (options) => connector.find(keys, options))
  assert(
    found.length === keys.length,
    `connector ${connector.id} returned ${found.length} answers for ${keys.length} keys`,
  )
  return new Map(
    attempts.flatMap((attempt, index) => {
      const acknowledgement = found[index]
      return acknowledgement === undefined ? [] : [[attempt, acknowledgement] as const]
    }),
  )
}

async function recordOutcomes(
  bank: BankContext,
  answers: readonly { readonly attempt: PayoutClaim; readonly outcome: InstructionOutcome }[],
): Promise<void> {
  const { payouts } = bank.deps
  await eachOrLog(bank, answers, ({ attempt, outcome }) =>
    outcome === 'unknown'
      ? payouts.unreachable(attempt)
      : payouts.answered(attempt, outcome.accepted ? outcome : withReportedDetails(outcome)),
  )
}

/** Makes a call and records in the breaker whether the bank answered. */
async function callWatched<T>(
  { deps, connector, breaker }: BankContext,
  endsAt: number,
  call: (options: CallOptions) => Promise<T>,
): Promise<T> {
  if (performance.now() >= endsAt) throw callTimeoutError()
  try {
    const answer = await callWithDeadline(endsAt, call)
    breaker?.answered()
    deps.observe?.answered(connector.id)
    return answer
  } catch (error) {
    breaker?.failed()
    deps.observe?.failed(connector.id, error)
    throw error
  }
}

function countOutcomes(outcomes: readonly InstructionOutcome[], total: number): InstructionOutcomes {
  const accepted = outcomes.filter((outcome) => outcome !== 'unknown' && outcome.accepted).length
  const refused = outcomes.filter((outcome) => outcome !== 'unknown' && !outcome.accepted).length
  return { accepted, refused, unknown: total - accepted - refused }
}

/** Runs `work` for each item, in shared transactions, and returns the results. Logs and skips failed items. */
async function eachOrLog<T, R>(
  { deps: { log }, connector }: BankContext,
  items: readonly T[],
  work: (item: T) => Promise<R>,
): Promise<readonly NonNullable<R>[]> {
  const settled = await Promise.allSettled(items.map(work))
  return settled.flatMap((outcome) => {
    if (outcome.status === 'fulfilled') return outcome.value ? [outcome.value] : []
    // If the database is unreachable, the loop logs it once for all payouts.
    const level = outcome.reason instanceof Unreachable ? 'debug' : 'error'
    log[level]({ err: outcome.reason as unknown, connector: connector.id }, 'payout submission failed')
    return []
  })
}

/** Reads the payee's address. A payout without a beneficiary is a refund, whose payee cannot supply an address. */
function readCreditorAddress({
  beneficiaryId,
  creditorAddressJson: text,
}: PayoutClaim): Pick<Instruction, 'creditorAddress'> {
  if (text !== null) return { creditorAddress: ownJson<PayeeAddress>(text) }
  return beneficiaryId === null ? {} : { creditorAddress: null }
}

function toInstruction(attempt: PayoutClaim): Instruction {
  return {
    partnerId: attempt.partnerId,
    id: instructionIdOf(attempt),
    endToEndId: endToEndIdSent(attempt),
    amount: attempt.amount,
    currency: attempt.currency,
    creditorName: attempt.creditorName,
    creditorAccount: attempt.creditorAccount,
    creditorBic: attempt.creditorBic,
    creditorAccountType: attempt.creditorAccountType,
    ...readCreditorAddress(attempt),
    remittance: attempt.remittance,
    simulatedOutcome: attempt.simulatedOutcome,
    customerId: attempt.customerId,
    beneficiaryId: attempt.beneficiaryId,
    reference: attempt.reference,
  }
}

// Sends recalls of payouts: claim due recalls, call the bank, record its answer.

/** Recalls and returns of a step are sent concurrently before their leases end. Each uses a connection to record its answer. */
const callsPerStepMax = 20

/**
 * Sends due recalls of a connector and returns their number. Makes one call for each, concurrently, so that a failing or
 * hanging recall does not delay others. The bank recognises a repeated request by its id.
 */
export async function sendDueRecalls(deps: SettlementDeps, connector: Connector): Promise<number> {
  if (connector.recall === undefined) return 0
  const due = await deps.recalls.due(connector.id, callsPerStepMax)
  return sendEach(due, due.length, deps.recalls.claim, (claim) => sendRecall(deps, connector, claim))
}

/**
 * Claims and sends each, and returns how many were claimed. Each is sent as soon as it is claimed: a lease that waits for
 * other claims would end before the bank answers. Waits for all, then throws the first error.
 */
async function sendEach<Key, Claim>(
  due: readonly Key[],
  callsMax: number,
  claim: (key: Key) => Promise<Claim | undefined>,
  sendClaim: (claim: Claim) => Promise<void>,
): Promise<number> {
  const keys = due.values()
  const failures: unknown[] = []
  let sent = 0
  const sendNext = async () => {
    for (const key of keys)
      try {
        const claimed = await claim(key)
        if (claimed === undefined) continue
        await sendClaim(claimed)
        sent += 1
      } catch (error) {
        failures.push(error)
      }
  }
  await Promise.all(Array.from({ length: Math.min(callsMax, due.length) }, sendNext))
  if (failures.length > 0) throw failures[0]
  return sent
}

async function sendRecall({ log, recalls }: SettlementDeps, connector: Connector, claim: RecallClaim): Promise<void> {
  const { id: recallId, payoutId } = claim
  try {
    const outcome = await requestRecall(connector, claim)
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

async function requestRecall(connector: Connector, claim: RecallClaim): Promise<RecallOutcome> {
  const { partnerId, id, instructionId, reason, details, requestedName } = claim
  const request = { partnerId, id, instructionId, reason, details, requestedBy: requestedName }
  return callWithDeadline(
    callDeadline(connector),
    async (options) => (await connector.recall?.(request, options)) ?? 'unknown',
  )
}

// Returns the money of cases: claim due returns, ask the bank about earlier attempts, instruct, record the answer.

/** Sends due returns of a connector and returns their number. Makes one call for each, at most `callsMax` at a time. */
export async function sendDueReturns(deps: SettlementDeps, connector: Connector): Promise<number> {
  const due = await deps.returns.due(connector.id, callsPerStepMax)
  return sendEach(due, connector.limits.callsMax, deps.returns.claim, (claim) => sendReturn(deps, connector, claim))
}

async function sendReturn({ log, returns }: SettlementDeps, connector: Connector, claim: ReturnClaim): Promise<void> {
  const { id: returnId, caseId } = claim
  try {
    const outcome = await submitReturn(connector, claim)
    if (outcome === 'unknown') await returns.postponed(claim)
    else if (outcome.accepted && outcome.notBefore !== undefined) await returns.postponed(claim, outcome.notBefore)
    else if (outcome.accepted) await returns.accepted(claim)
    else await returns.refused(claim, withReportedDetails(outcome).details)
  } catch (error) {
    const facts = { err: error, connector: connector.id, returnId, caseId }
    if (error instanceof Unreachable) log.warn(facts, 'bank unreachable')
    else log.error(facts, 'return submission failed')
    await returns.postponed(claim)
  }
}

/** Submits a return. First asks the bank about an earlier attempt. */
async function submitReturn(connector: Connector, claim: ReturnClaim): Promise<InstructionOutcome> {
  const endsAt = callDeadline(connector)
  const { partnerId, id } = claim
  if (claim.attempts > 1) {
    const [found] = await callWithDeadline(endsAt, (options) => connector.find([{ partnerId, id }], options))
    if (found !== undefined) return found
  }
  const [outcome] = await callWithDeadline(endsAt, (options) =>
    connector.instruct([toReturnInstruction(claim)], options),
  )
  return outcome ?? 'unknown'
}

const toReturnInstruction = (claim: ReturnClaim): Instruction => ({
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
