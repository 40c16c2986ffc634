/**
 * Accepts a batch of payouts of one or many partners in one transaction: look up, validate, check the operator's rules
 * and the funds, write, answer. Each call gets its own answer; a refused call does not affect the others.
 */
import { Refusal, catchRefusal } from '../kernel/api/index.ts'
import { after, amountText, newId, partnerKey, present } from '../kernel/index.ts'
import {
  createFundsCheck,
  type Entry,
  type EntryRequest,
  insufficientFunds,
  type FundsShortage,
} from '../ledger/index.ts'
import { type BatchPosition, replayRow, type Tx } from '../postgres/index.ts'
import {
  countPayouts,
  limitCounters,
  type OverLimitPayout,
  fitWithinLimits,
  refuseCoolingOff,
  addRequirements,
  lockAndCheckLimits,
  formatCounterNames,
  formatReference,
} from './controls/index.ts'
import { callMapKey, type PayoutOutcome, type PayoutCall, reserveTransfers } from './calls.ts'
import type { PayoutsDeps } from './deps.ts'
import {
  createDuplicateFinder,
  type DuplicateCandidate,
  type DuplicatesInList,
  duplicateRefusal,
} from './duplicates.ts'
import { createLookUp, type BatchData, payoutsByKeys } from './look-up.ts'
import * as store from './store.ts'
import {
  type ControlledPayout,
  executionDayAt,
  toValidationInput,
  validatePayout,
  type ValidPayout,
} from './validate.ts'
import { type NewTransaction, toRequester } from '../transactions/index.ts'
import { toWithdrawalData } from './events.ts'
import { deriveEndToEndId, creditorParty, transactionTypes } from './rules.ts'
import { insertNotes, lockDuplicateTurns } from './store-duplicates.ts'
import { insertApprovals } from './store-approvals.ts'

/** Answers of a batch so far. */
type Outcomes = Map<PayoutCall, PayoutOutcome>

/** Accepts batches of calls. `read` looks up the data for `work` before its transaction. */
export type Acceptance = {
  readonly read: (tx: Tx, calls: readonly PayoutCall[]) => Promise<BatchData>
  readonly work: (
    tx: Tx,
    calls: readonly PayoutCall[],
    found: BatchData,
    position: BatchPosition | undefined,
  ) => Promise<readonly PayoutOutcome[]>
}

export function createAcceptance(deps: PayoutsDeps): Acceptance {
  const funds = createFundsCheck(deps.ledger)
  const lookUp = createLookUp(deps, funds)
  const duplicatesOf = createDuplicateFinder(deps)

  const accept: Acceptance['work'] = async (tx, calls, found, position) => {
    const outcomes: Outcomes = new Map()
    const unanswered = answerReplays(calls, found, outcomes)
    const firstCalls = firstOfEachKey(unanswered)
    const valid = validateAll(deps, firstCalls, found, outcomes)
    // The same time for the periods of limits and for the payouts counted in them.
    const now = deps.clock.now()
    const candidates = answerCoolingOff(addRequirements(valid, found.controls, now), outcomes)
    const repeating = await answerRepeated(tx, candidates, position, outcomes, now)
    const admitted = await admit(tx, repeating, found, position, outcomes)
    countPayouts(tx, admitted)
    for (const { call, row } of await write(deps, tx, admitted, found, now))
      outcomes.set(call, { payout: row, replayed: false })
    answerDuplicates(unanswered, firstCalls, outcomes)
    return calls.map((call) => present(outcomes.get(call), `no answer to a call of partner ${call.caller.partnerId}`))
  }

  /**
   * Answers payouts that refuse duplicates, and returns the others. Costs nothing if no call refuses duplicates.
   * Payouts of one batch are compared with each other; other transactions wait for the lock of their partner until the
   * commit. Refuses: possible_duplicate.
   */
  const answerRepeated = async (
    tx: Tx,
    payouts: readonly ControlledPayout[],
    position: BatchPosition | undefined,
    outcomes: Outcomes,
    now: Date,
  ): Promise<readonly ControlledPayout[]> => {
    const refusing = new Set(payouts.filter(({ call }) => call.refusesDuplicates === true))
    if (refusing.size === 0) return payouts
    // A batch that waits for an earlier one of this process must not hold a lock that the earlier one needs.
    await position?.earlierEnded
    const partnerIds = [...refusing].map(({ call }) => call.caller.partnerId)
    await lockDuplicateTurns(tx, partnerIds)
    for (const partnerId of new Set(partnerIds)) {
      const own = payouts.filter(({ call }) => call.caller.partnerId === partnerId)
      const found = await duplicatesOf(tx, partnerId, own.map(toDuplicateCandidate), now)
      for (const [index, payout] of own.entries()) {
        const repeated = present(found[index], `no duplicates for payout ${index} of partner ${partnerId}`)
        const outcome = refusing.has(payout) ? repeatedInBatch(payout, repeated, own) : undefined
        if (outcome !== undefined) outcomes.set(payout.call, outcome)
      }
    }
    return payouts.filter(({ call }) => !outcomes.has(call))
  }

  /**
   * Admits payouts without a lock if limits and balances cover all of them. Otherwise locks the counters and then the
   * balances, in the same order as every transaction that needs both. Refuses: limit_exceeded, insufficient_funds.
   */
  const admit = async (
    tx: Tx,
    candidates: readonly ControlledPayout[],
    { balances, controls }: BatchData,
    position: BatchPosition | undefined,
    outcomes: Outcomes,
  ): Promise<readonly ControlledPayout[]> => {
    if (candidates.length === 0) return []
    const isCovered = funds.isAmple(candidates.map(entryRequest), balances, position)
    if (isCovered && fitWithinLimits(candidates, controls.used)) return candidates
    await position?.earlierEnded
    const { within, exceeding } = await lockAndCheckLimits(tx, candidates)
    const funded = isCovered ? within : await keepFunded(tx, within, balances, outcomes)
    await answerExceeding(tx, exceeding, within, outcomes)
    return funded
  }

  /** Selects the payouts that their balances cover. Refuses: insufficient_funds. */
  const keepFunded = async (
    tx: Tx,
    valid: readonly ControlledPayout[],
    { accounts }: BatchData['balances'],
    outcomes: Outcomes,
  ): Promise<readonly ControlledPayout[]> => {
    if (valid.length === 0) return []
    // The balances stay locked until the commit: everything else must be read before.
    const fits = await deps.ledger.fittingUnderLock(tx, valid.map(entryRequest), accounts)
    return valid.filter((payout, index) => {
      const fit = present(fits[index], `no judgement of funds for partner ${payout.call.caller.partnerId}`)
      if (fit !== true) outcomes.set(payout.call, refuseUncovered(payout, fit))
      return fit === true
    })
  }

  return { read: lookUp, work: accept }
}

/** Returns the transfers that take a payout and its fee from the balance. */
export const entryRequest = (payout: ControlledPayout): EntryRequest => ({
  transfers: reserveTransfers(payout.call, payout),
})

/** Returns the refusal of a payout that its balance does not cover: insufficient_funds. */
export function refuseUncovered({ call, fee }: ControlledPayout, short: FundsShortage): Refusal {
  if (fee === 0n) return insufficientFunds(short, call.caller)
  const { currency } = short
  return insufficientFunds(short, call.caller, `the amount and its fee of ${amountText(fee, currency)} ${currency}`)
}

/** Returns the payout as a candidate for the comparison with earlier ones. */
export function toDuplicateCandidate({ call, creditor }: ValidPayout): DuplicateCandidate {
  const { amount, currency, reference, operation, idempotencyKey } = call
  const key = idempotencyKey === null ? {} : { key: { operation, idempotencyKey } }
  return { account: creditor.account, amount, currency, reference, ...key }
}

/**
 * Finds an earlier payout of the batch that this one repeats: this one is checked again after it. Payouts of one bulk
 * are created together and do not repeat each other. Undefined: none.
 */
function repeatedInBatch(
  { call }: ControlledPayout,
  { positions, ...others }: DuplicatesInList,
  batch: readonly ControlledPayout[],
): PayoutOutcome | undefined {
  const refusal = duplicateRefusal(others)
  if (refusal !== undefined) return refusal
  const [repeated] = positions.flatMap((position) => batch[position] ?? [])
  if (repeated === undefined) return undefined
  if (call.bulk === undefined || repeated.call.bulk?.id !== call.bulk.id) return 'resubmit'
  const key = repeated.call.idempotencyKey ?? ''
  return new Refusal('possible_duplicate', `The payout may repeat the one with the key ${key} of the same bulk.`)
}

/** Answers calls whose idempotency key has a payout, and returns the others. Refuses: idempotency_key_reused. */
function answerReplays(
  calls: readonly PayoutCall[],
  { payouts }: BatchData,
  outcomes: Outcomes,
): readonly PayoutCall[] {
  return calls.filter((call) => {
    const key = callMapKey(call)
    const payout = key === undefined ? undefined : payouts.get(key)
    if (payout) outcomes.set(call, replay(payout, call))
    return payout === undefined
  })
}

const replay = (payout: store.PayoutRow, { requestFingerprint }: PayoutCall): PayoutOutcome =>
  catchRefusal(() => ({ payout: replayRow(payout, requestFingerprint), replayed: true }))

/** Selects one call for each idempotency key, and every call without a key. */
function firstOfEachKey(calls: readonly PayoutCall[]): readonly PayoutCall[] {
  const seen = new Set<string>()
  return calls.filter((call) => {
    const key = callMapKey(call)
    if (key === undefined) return true
    const isFirst = !seen.has(key)
    seen.add(key)
    return isFirst
  })
}

function validateAll(
  deps: PayoutsDeps,
  calls: readonly PayoutCall[],
  found: BatchData,
  outcomes: Outcomes,
): readonly ValidPayout[] {
  const executionDay = executionDayAt(deps, deps.clock.now())
  return calls.flatMap((call) => {
    const outcome = catchRefusal(() =>
      validatePayout(toValidationInput(call, deps.chooseConnector, found, executionDay)),
    )
    if (!(outcome instanceof Refusal)) return [outcome]
    outcomes.set(call, outcome)
    return []
  })
}

/** Answers payouts to beneficiaries in cooling-off, and returns the others. Refuses: beneficiary_cooling_off. */
const answerCoolingOff = (payouts: readonly ControlledPayout[], outcomes: Outcomes): readonly ControlledPayout[] =>
  payouts.filter(({ call, coolingOff }) => {
    if (coolingOff) outcomes.set(call, refuseCoolingOff(coolingOff))
    return !coolingOff
  })

/**
 * Answers payouts that exceed a limit. Refuses: limit_exceeded. A call is submitted again if the limit may not be the
 * reason: a payout of the batch that filled the same counter is not covered by the balance, or another process accepted
 * the same key while this batch waited for the counter.
 */
async function answerExceeding(
  tx: Tx,
  exceeding: readonly OverLimitPayout<ControlledPayout>[],
  within: readonly ControlledPayout[],
  outcomes: Outcomes,
): Promise<void> {
  if (exceeding.length === 0) return
  const unfunded = within.filter(({ call }) => outcomes.has(call))
  const uncounted = new Set(unfunded.flatMap((payout) => limitCounters(payout).map(({ mapKey }) => mapKey)))
  const known = await payoutsByKeys(
    tx,
    exceeding.map(({ payout }) => payout.call),
  )
  for (const { payout, refusal, counters } of exceeding) {
    const key = callMapKey(payout.call)
    const isAccepted = key !== undefined && known.has(key)
    const resubmits = isAccepted || counters.some((counter) => uncounted.has(counter))
    outcomes.set(payout.call, resubmits ? 'resubmit' : refusal)
  }
}

/**
 * Answers the later calls of a key with the payout of the first call, as if they had come after the commit. If the
 * first call was refused, the key is free and the later calls must be submitted again.
 */
function answerDuplicates(calls: readonly PayoutCall[], firstCalls: readonly PayoutCall[], outcomes: Outcomes): void {
  const duplicates = calls.filter((call) => !outcomes.has(call))
  if (duplicates.length === 0) return
  const firstByKey = new Map(firstCalls.map((call) => [callMapKey(call), call]))
  for (const call of duplicates) {
    const first = present(
      firstByKey.get(callMapKey(call)),
      `no first call for a duplicate of partner ${call.caller.partnerId}`,
    )
    const outcome = present(outcomes.get(first), `no answer to a first call of partner ${call.caller.partnerId}`)
    const isRefused = outcome instanceof Refusal || outcome === 'resubmit'
    outcomes.set(call, isRefused ? 'resubmit' : replay(outcome.payout, call))
  }
}

type WrittenPayout = { readonly call: PayoutCall; readonly row: store.PayoutRow }

/**
 * Writes with the commit. An idempotency key or a reference that another transaction took since the look-up is a unique
 * violation.
 */
async function write(
  deps: PayoutsDeps,
  tx: Tx,
  accepted: readonly ControlledPayout[],
  found: BatchData,
  now: Date,
): Promise<readonly WrittenPayout[]> {
  if (accepted.length === 0) return []
  const made = accepted.map(({ call }): PayoutIds => {
    const { caller, operation, idempotencyKey } = call
    const id = newId()
    return { id, endToEndId: deriveEndToEndId({ id, partnerId: caller.partnerId, operation, idempotencyKey }) }
  })
  const opened = deps.transactions.openMany(
    tx,
    accepted.map((payout, index) =>
      toTransaction(payout, present(made[index], `no id for payout ${index} of the batch`)),
    ),
    found.references,
  )
  const written = accepted.map((payout, index) => {
    const { id: transactionId, reference } = present(opened[index], `no transaction for payout ${index} of the batch`)
    const ids = present(made[index], `no id for payout ${index} of the batch`)
    return { call: payout.call, row: toPayout(deps, payout, { ...ids, transactionId, reference }, now) }
  })
  const rows = written.map(({ row }) => row)
  store.insertPayouts(tx, rows)
  holdForApproval(deps, tx, accepted, rows)
  writeNotes(tx, written, now)
  appendRequested(deps, tx, rows, found, now)
  await reserveFunds(deps, tx, written, found)
  return written
}

function holdForApproval(
  { facts }: PayoutsDeps,
  tx: Tx,
  accepted: readonly ControlledPayout[],
  rows: readonly store.PayoutRow[],
): void {
  const held = accepted.flatMap(({ call: { caller, bulk }, approval }, index) => {
    if (approval === null) return []
    const { partnerId, id: payoutId } = present(rows[index], `no row for payout ${index} of the batch`)
    const { because: _because, above: _above, ...needed } = approval
    const { serviceAccountId: requestedBy, name: requestedName } = caller
    return [{ partnerId, payoutId, ...needed, requestedBy, requestedName, bulkId: bulk?.id ?? null }]
  })
  if (held.length > 0) insertApprovals(tx, held)
  // People are notified of a bulk as a whole when its payouts are created.
  const alone = held.filter(({ bulkId }) => bulkId === null)
  facts.append(
    tx,
    alone.map(({ partnerId, payoutId: subject }) => ({ partnerId, type: 'payout.waits', subject })),
  )
}

function writeNotes(tx: Tx, written: readonly WrittenPayout[], now: Date): void {
  const notes = written.flatMap(({ call: { caller, note }, row: { partnerId, id: payoutId } }) => {
    const { serviceAccountId: writtenBy, name: writtenByName } = caller
    return note === undefined ? [] : [{ partnerId, payoutId, note, writtenBy, writtenByName, updatedAt: now }]
  })
  if (notes.length > 0) insertNotes(tx, notes)
}

/** Appends the withdrawal events of customers' payouts. A partner's own payout has none. */
function appendRequested(
  { eventOutbox }: PayoutsDeps,
  tx: Tx,
  rows: readonly store.PayoutRow[],
  { customers }: BatchData,
  now: Date,
): void {
  eventOutbox.appendMany(
    tx,
    rows.flatMap((row) => {
      const { partnerId, customerId } = row
      if (customerId === null) return []
      const customer = present(
        customers.get(partnerKey(partnerId, customerId)),
        `no customer ${customerId} for payout ${row.id}`,
      )
      const type = 'partner.customer.withdrawal.requested' as const
      return [{ partnerId, type, occurredAt: now, data: toWithdrawalData(row, customer) }]
    }),
  )
}

function reserveFunds(
  { ledger }: PayoutsDeps,
  tx: Tx,
  written: readonly WrittenPayout[],
  { balances }: BatchData,
): Promise<void> {
  const reserves = written.map(({ call, row }): Entry => {
    const { reserveId: id, reference, feeAmount } = row
    const transfers = reserveTransfers(call, { ...row, fee: feeAmount ?? 0n })
    return { id, permit: 'waits', transfers: transfers.map((moved) => ({ ...moved, reference })) }
  })
  // A customer may have been erased since the look-up.
  return ledger.enterMany(tx, reserves, balances.accounts)
}

/** Ids of a payout: its own, and that of its instruction. */
type PayoutIds = Pick<store.PayoutRow, 'id' | 'endToEndId'>

function toTransaction(
  { call, rail, creditor, customerId, beneficiary }: ControlledPayout,
  made: PayoutIds,
): NewTransaction {
  const { caller, amount, currency, idempotencyKey, quote } = call
  const sold = quote && { amount: quote.sellAmount, currency: quote.sellCurrency }
  const exchange = quote && {
    userAmount: amount,
    userCurrency: currency,
    quoteId: quote.id,
    quoteExpiresAt: quote.expiresAt,
  }
  return {
    partnerId: caller.partnerId,
    reference: call.reference,
    // The amount that leaves the balance.
    ...(sold ?? { amount, currency }),
    ...(exchange === undefined ? {} : { exchange }),
    category: 'Withdrawal',
    direction: 'Outward',
    type: transactionTypes({ currency, customerId, isExchanged: quote !== undefined, operation: call.operation })
      .withdrawal,
    rail,
    customerId,
    steps: ['Created', 'Reserved'],
    actor: 'partner',
    endToEndId: call.endToEndId ?? made.endToEndId,
    idempotencyKey,
    creditor: creditorParty({ ...creditor, currency }),
    requestedBy: toRequester(caller, call.ip),
    requestId: caller.requestId,
    ...(beneficiary === null ? {} : { beneficiary }),
    ...(call.originatingReference === undefined ? {} : { originatingReference: call.originatingReference }),
  }
}

function toPayout(
  { connectorOf }: PayoutsDeps,
  payout: ControlledPayout,
  made: PayoutIds & Pick<store.PayoutRow, 'transactionId' | 'reference'>,
  now: Date,
): store.PayoutRow {
  const { call, rail, connector, creditor, customerId, beneficiary } = payout
  const { caller, operation, idempotencyKey, requestFingerprint, amount, currency, payee } = call
  const simulatedOutcome = 'customerId' in payee ? (payee.outcome ?? null) : null
  const payment = { amount, currency, creditorName: creditor.name, simulatedOutcome }
  const waitMs = connectorOf(connector)?.initialWaitMs?.(payment) ?? 0
  return {
    partnerId: caller.partnerId,
    id: made.id,
    operation,
    idempotencyKey,
    requestFingerprint,
    transactionId: made.transactionId,
    reference: made.reference,
    reserveId: newId(),
    beneficiaryId: beneficiary?.id ?? null,
    customerId,
    amount,
    currency,
    creditorName: creditor.name,
    creditorAccount: creditor.account,
    creditorBic: creditor.bic,
    creditorCountry: creditor.country,
    creditorAccountType: creditor.accountType ?? null,
    creditorAddressJson: creditor.address ? JSON.stringify(creditor.address) : null,
    remittance: call.reference,
    rail,
    connector,
    endToEndId: made.endToEndId,
    partnerEndToEndId: call.endToEndId ?? null,
    ipAddress: call.ip,
    simulatedOutcome,
    // A payout that waits for an approval becomes due with the approval.
    status: payout.approval === null ? 'Pending' : 'PendingApproval',
    errorKey: null,
    errorDetails: null,
    sendAttempts: 0,
    dueAt: payout.approval === null ? after(now, waitMs) : null,
    leaseId: null,
    soldAmount: call.quote?.sellAmount ?? null,
    soldCurrency: call.quote?.sellCurrency ?? null,
    quoteId: call.quote?.id ?? null,
    transactionHash: null,
    feeAmount: payout.fee === 0n ? null : payout.fee,
    approvalExpiresAt: payout.approval?.expiresAt ?? null,
    countedIn: formatCounterNames(payout.limits),
    referenceAmount: formatReference(payout.reference),
    settledBy: null,
    endedBy: null,
    createdAt: now,
    updatedAt: now,
  }
}
