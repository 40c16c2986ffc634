/** The operations of payouts before a payout begins: request, read and decide. `life.ts` has the later steps. */
import { type BodyOf, type QueryOf, type WithdrawalOutcome } from '@partner-payments/wire'
import {
  type Caller,
  notFound,
  type OpenNonce,
  type Page,
  parseAmount,
  parseCurrency,
  parseTime,
  Refusal,
  type Sums,
  sumRowsRead,
  capSums,
} from '../kernel/api/index.ts'
import {
  amountText,
  type Clock,
  type Currency,
  firstIdOf,
  isUuid,
  type Minor,
  present,
  type Money,
} from '../kernel/index.ts'
import { createNonceBatcher } from '../access/index.ts'
import { groupByShard, toRequestInProgress, replayRow, sqlState, sqlStateOf, type Tx } from '../postgres/index.ts'
import { strictestHold } from '../screening/index.ts'
import type { VerificationRow } from '../parties/beneficiaries/index.ts'
import {
  type Approvals,
  type BulkApprovals,
  createApprovals,
  createBulkApprovals,
  createWaitingApprovals,
  findPendingApprovals,
  type WaitingApprovals,
} from './approvals.ts'
import { type Acceptance, createAcceptance } from './accept.ts'
import type { AcceptResult, Creditor, PayoutCall } from './calls.ts'
import type { PayoutsDeps } from './deps.ts'
import {
  createDuplicateFinder,
  type DuplicateCandidate,
  type DuplicateFinder,
  duplicateRefusal,
  type PossibleDuplicates,
} from './duplicates.ts'
import { screenedParties } from './screen.ts'
import { createBatchPreviewer, type BatchPreviewer } from './judge-all.ts'
import { createPreview, type Preview, toVerdict } from './preview.ts'
import { payoutFingerprint, fxFingerprint, instructionIdOf, isPayoutOperation, type PayoutStatus } from './rules.ts'
import * as store from './store.ts'
import { lockDuplicateTurns, type NoteRow, readNotes, putNote } from './store-duplicates.ts'
import type { Person } from './lifecycle.ts'
import type { TransactionView, WithdrawalSearch } from '../transactions/index.ts'
import type { OpenQuote } from '../fx/index.ts'

export type AcceptedPayout = { readonly payout: store.PayoutRow; readonly replayed: boolean }

export type Payouts = {
  /**
   * Accepts a payout and reserves its money. Refuses: validation_failed (amount, currency), currency_not_supported,
   * not_found (beneficiaryId), beneficiary_currency_mismatch, beneficiary_not_payable, country_not_supported,
   * customer_not_verified, account_blocked, beneficiary_cooling_off, limit_exceeded, insufficient_funds,
   * possible_duplicate, idempotency_key_reused, request_in_progress. Consumes an open nonce together with the payout or
   * its refusal, and then also refuses: nonce_replayed.
   */
  readonly create: (
    caller: Caller,
    body: BodyOf<'createFiatPayout'>,
    ip: string,
    nonce?: OpenNonce,
  ) => Promise<AcceptedPayout>
  /** Accepts a payout in tokens to a beneficiary's wallet. Refuses as `create` does, and ownership_proof_required. */
  readonly createToken: (caller: Caller, body: BodyOf<'createTokenPayout'>, ip: string) => Promise<AcceptedPayout>
  /**
   * Accepts a quote and a payout of the bought amount in one transaction. Refuses as `create` does, and fx_quote_expired,
   * fx_quote_accepted, not_found (quoteId).
   */
  readonly createFx: (caller: Caller, body: BodyOf<'createFxPayout'>, ip: string) => Promise<AcceptedPayout>
  /** Accepts a simulated withdrawal of a customer to a sandbox account. Refuses as `create` does. */
  readonly simulate: (caller: Caller, request: SimulatedWithdrawal, ip: string) => Promise<AcceptedPayout>
  /** Accepts a call of another module. Refuses as `createToken` does. */
  readonly submit: (call: PayoutCall) => Promise<AcceptedPayout>
  /** Creates an acceptance for transactions of another module. Each caller needs its own, because it remembers its batches. */
  readonly acceptance: () => Acceptance
  /**
   * Checks a request as `create` would now, rule by rule. Writes nothing. Refuses: validation_failed (amount,
   * currency), currency_not_supported (a currency that the service does not have).
   */
  readonly preview: (caller: Caller, body: BodyOf<'previewFiatPayout'>, ip: string) => Promise<Preview>
  /** Checks many calls like one batch of acceptance, with as many statements. Writes nothing. */
  readonly judgeAll: BatchPreviewer
  /** Checks a request as `createFx` would now. Refuses: not_found (quoteId). */
  readonly previewFx: (caller: Caller, body: BodyOf<'previewFxPayout'>, ip: string) => Promise<FxPreview>
  /** Finds earlier payouts and standing orders that payments may repeat, and payments of one list that may repeat each other. */
  readonly duplicatesOf: DuplicateFinder
  /**
   * Refuses a duplicate payment. Other requests that refuse duplicates wait until the transaction ends. `at`: when it
   * is paid. Refuses: possible_duplicate.
   */
  readonly refuseRepeated: (tx: Tx, partnerId: string, payment: DuplicateCandidate, at: Date) => Promise<void>
  /** Finds the earlier payouts and the orders that a payout may repeat. Refuses: not_found. */
  readonly possibleDuplicates: (partnerId: string, idOrReference: string) => Promise<PossibleDuplicates>
  /** Reads the note about a payout for colleagues. Undefined: none. Refuses: not_found. */
  readonly note: (partnerId: string, idOrReference: string) => Promise<PayoutNote>
  /** Reads the notes about these payouts, by payout id. */
  readonly notes: (partnerId: string, payouts: readonly store.PayoutRow[]) => Promise<ReadonlyMap<string, string>>
  /** Writes or deletes the note about a payout. Refuses: not_found. */
  readonly setNote: (caller: Caller, idOrReference: string, note: string | undefined) => Promise<PayoutNote>
  /** Reads payouts by id, in no particular order. */
  readonly byIds: typeof store.payoutsByIds
  /** Finds the payout of a request with this key. */
  readonly byKey: (tx: Tx, key: store.PayoutKey) => Promise<store.PayoutRow | undefined>
  /** Reads a payout by its id or its reference. A text in the form of an id is first tried as an id. Refuses: not_found. */
  readonly get: (partnerId: string, idOrReference: string) => Promise<store.PayoutRow>
  /** Reads a payout in the caller's transaction. Refuses: not_found. */
  readonly named: (tx: Tx, partnerId: string, idOrReference: string) => Promise<store.PayoutRow>
  /** Lists payouts, newest first. An unknown customer has none. Refuses: validation_failed (cursor). */
  readonly list: (partnerId: string, query: QueryOf<'listPayouts'>) => Promise<Page<store.PayoutRow>>
  /** Reads the fees of transactions, by reference. A transaction without a fee is absent. */
  readonly feesOf: (
    partnerId: string,
    transactions: readonly { readonly endToEndId?: string | undefined }[],
  ) => Promise<ReadonlyMap<string, { readonly amount: string; readonly currency: Currency }>>
  /** Sums at most `sumRowsMax` payouts. */
  readonly sums: (partnerId: string, query: QueryOf<'sumPayouts'>) => Promise<Sums>
  /** Lists what waits for an approval, newest first: single payouts, and each bulk as one. */
  readonly waitingApprovals: WaitingApprovals
  /** Finds which of these payouts and bulks wait for an approval, by id. */
  readonly waitingAmong: typeof findPendingApprovals
  /** Finds payouts of a partner for the operator. */
  readonly find: FindPayouts
  readonly retry: RetryPayout
  /** Reads the verification of payee that preceded a payout. Refuses: not_found (the payout, or no earlier verification). */
  readonly verificationOf: (partnerId: string, idOrReference: string) => Promise<VerificationRow>
  /**
   * Cancels a payout that is Pending or PendingApproval. Cancelling again returns the payout. Refuses: not_found,
   * payout_not_cancellable.
   */
  readonly cancel: (partnerId: string, idOrReference: string, by?: Person) => Promise<store.PayoutRow>
} & Approvals &
  BulkApprovals

type SimulatedWithdrawal = {
  readonly customerRef: string
  readonly amount: Minor
  readonly currency: Currency
  readonly outcome: WithdrawalOutcome
  readonly idempotencyKey: string | null
}

/** Creditor of simulated withdrawals: a valid IBAN of a real bank, but not of a person. */
const sandboxCreditor: Creditor = {
  name: 'Sandbox Beneficiary',
  account: 'NL91ABNA0417164300',
  bic: 'ABNANL2AXXX',
  country: 'NL',
}

/** Above this size a batch costs more work than sharing the commit saves. */
const payoutsPerBatchMax = 128
/** One batch reads while the other writes. */
const batchesUnderWayMax = 2
/** Two half batches alternate: one reads while the other writes. */
const secondBatchMin = 32

export function createPayouts(deps: PayoutsDeps): Payouts {
  const { db, customers, beneficiaries } = deps
  const submit = createSubmit(deps)
  const preview = createPreview(deps)
  const duplicatesOf = createDuplicateFinder(deps)
  const named: Payouts['named'] = async (tx, partnerId, name) => {
    const row =
      (isUuid(name) ? await store.payoutById(tx, partnerId, name) : undefined) ??
      (await payoutByReference(deps, tx, partnerId, name))
    if (row === undefined) throw notFound('payout')
    return row
  }
  const get: Payouts['get'] = (partnerId, name) => named(db, partnerId, name)
  return {
    create: async (caller, body, ip, nonce) => submit(toCall('createFiatPayout', caller, body, ip, nonce)),
    createToken: async (caller, body, ip) => submit(toCall('createTokenPayout', caller, body, ip, undefined)),
    createFx: createFxPayouts(deps),
    simulate: async (caller, { amount, currency, outcome, idempotencyKey, customerRef }, ip) => {
      const { id: customerId } = await customers.find(db, caller.partnerId, customerRef, '/customerId')
      return submit({
        caller,
        nonce: undefined,
        operation: 'simulateWithdrawal',
        idempotencyKey,
        requestFingerprint: payoutFingerprint({ amount, currency, customerId, outcome }),
        amount,
        currency,
        reference: null,
        ip,
        payee: { customerId, creditor: sandboxCreditor, outcome },
      })
    },
    submit,
    acceptance: () => createAcceptance(deps),
    preview: async (caller, body, ip) => {
      const { payOn, ...paid } = body
      const paidAt = payOn === undefined ? undefined : new Date(`${payOn}T00:00:00Z`)
      return preview(toCall('createFiatPayout', caller, paid, ip, undefined), paidAt)
    },
    judgeAll: createBatchPreviewer(deps),
    previewFx: createFxPreview(deps, preview),
    duplicatesOf,
    refuseRepeated: async (tx, partnerId, payment, at) => {
      await lockDuplicateTurns(tx, [partnerId])
      const [repeated] = await duplicatesOf(tx, partnerId, [payment], at)
      const refusal = repeated && duplicateRefusal(repeated)
      if (refusal !== undefined) throw refusal
    },
    possibleDuplicates: createPossibleDuplicates(db, get, duplicatesOf),
    ...createNotes(deps, get),
    byIds: store.payoutsByIds,
    // The statement finds only this partner, operation and key.
    byKey: async (tx, key) => (await store.payoutsByKeys(tx, [key]))[0],
    get,
    named,
    list: createList(deps),
    sums: createSums(deps),
    feesOf: async (partnerId, transactions) => {
      const ids = transactions.flatMap(({ endToEndId }) => (endToEndId === undefined ? [] : [endToEndId]))
      const rows = ids.length === 0 ? [] : await store.feesOf(deps.db, partnerId, ids)
      return new Map(
        rows.map(({ reference, feeAmount, currency }) => [
          reference,
          { amount: amountText(feeAmount, currency), currency },
        ]),
      )
    },
    waitingApprovals: createWaitingApprovals(deps),
    waitingAmong: findPendingApprovals,
    find: createFind(deps),
    retry: createRetry(deps),
    // A payout stores no reference to its verification.
    verificationOf: async (partnerId, idOrReference) => {
      const { creditorName: name, creditorAccount: iban, createdAt } = await get(partnerId, idOrReference)
      const row = await beneficiaries.evidenceFor(db, partnerId, { name, iban }, createdAt)
      if (row === undefined) throw notFound('verification')
      return row
    },
    ...createApprovals(deps, get),
    ...createBulkApprovals(deps),
    cancel: createCancel(deps, get),
  }
}

const createPossibleDuplicates =
  (db: Tx, get: Payouts['get'], duplicatesOf: DuplicateFinder): Payouts['possibleDuplicates'] =>
  async (partnerId, idOrReference) => {
    const { id, operation, idempotencyKey, creditorAccount: account, ...payout } = await get(partnerId, idOrReference)
    // The customer was erased.
    if (account === '') return { earlier: [], scheduled: [] }
    const key = isPayoutOperation(operation) && idempotencyKey !== null ? { key: { operation, idempotencyKey } } : {}
    const { amount, currency, remittance: reference, createdAt } = payout
    const candidate = { account, amount, currency, reference, id, ...key }
    const [found] = await duplicatesOf(db, partnerId, [candidate], createdAt)
    return present(found, `no duplicates of payout ${id}`)
  }

type PayoutNote = { readonly payoutId: string; readonly customerId: string | null; readonly row: NoteRow | undefined }

const createNotes = ({ db, clock }: PayoutsDeps, get: Payouts['get']): Pick<Payouts, 'note' | 'notes' | 'setNote'> => ({
  notes: async (partnerId, payouts) => {
    const rows = await readNotes(
      db,
      partnerId,
      payouts.map(({ id }) => id),
    )
    return new Map(rows.flatMap(({ payoutId, note }) => (note === null ? [] : [[payoutId, note] as const])))
  },
  note: async (partnerId, idOrReference) => {
    const { id: payoutId, customerId } = await get(partnerId, idOrReference)
    const [row] = await readNotes(db, partnerId, [payoutId])
    return { payoutId, customerId, row }
  },
  setNote: async ({ partnerId, serviceAccountId: writtenBy, name: writtenByName }, idOrReference, note) => {
    const { id: payoutId, customerId } = await get(partnerId, idOrReference)
    const row = { partnerId, payoutId, note: note ?? null, writtenBy, writtenByName, updatedAt: clock.now() }
    await putNote(db, row)
    return { payoutId, customerId, row }
  },
})

const createCancel =
  ({ screening, life }: PayoutsDeps, get: Payouts['get']): Payouts['cancel'] =>
  async (partnerId, idOrReference, by) => {
    const asked = await get(partnerId, idOrReference)
    const { id } = asked
    const holds = screenedParties(asked).map(await screening.holdsOf(screenedParties(asked)))
    // The money of a listed party stays reserved until staff decide. The refusal does not say why.
    const isFrozen = asked.status === 'Pending' && strictestHold(holds) === 'confirmed'
    const isCancelled = !isFrozen && (await life.cancel(partnerId, id, by))
    const row = await get(partnerId, id)
    if (isCancelled || row.status === 'Cancelled') return row
    if (isFrozen) throw new Refusal('payout_not_cancellable', 'The payout can no longer be cancelled.')
    throw new Refusal(
      'payout_not_cancellable',
      `The payout is ${row.status}. Only a payout that is Pending or PendingApproval can be cancelled.`,
    )
  }

const createList =
  (deps: PayoutsDeps): Payouts['list'] =>
  async (partnerId, query) => {
    const { db, cursors } = deps
    const list = `payouts:${partnerId}`
    const request = cursors.read(list, query)
    const filter = await readFilter(deps, partnerId, query)
    if (filter === undefined) return cursors.page(list, request, [])
    const rows = await store.listPayouts(db, partnerId, filter, request.afterId, request.limit + 1)
    return cursors.page(list, request, rows)
  }

const createSums =
  (deps: PayoutsDeps): Payouts['sums'] =>
  async (partnerId, query) => {
    const filter = await readFilter(deps, partnerId, query)
    return capSums(filter === undefined ? [] : await store.sumPayouts(deps.db, partnerId, filter, sumRowsRead))
  }

/** Reads the filters. Undefined: the customer is unknown, and has no payouts. */
async function readFilter(
  deps: PayoutsDeps,
  partnerId: string,
  query: QueryOf<'sumPayouts'>,
): Promise<store.PayoutFilter | undefined> {
  const { db, customers } = deps
  const customerId = query.customerId === undefined ? null : await customers.resolveId(db, partnerId, query.customerId)
  if (customerId === undefined) return undefined
  const reference = query.reference === undefined ? null : await findReference(deps, db, partnerId, query.reference)
  return {
    status: query.status ?? null,
    beneficiaryId: query.beneficiaryId ?? null,
    customerId,
    currency: query.currency ?? null,
    reference,
    idempotencyKey: query.idempotencyKey ?? null,
    createdFrom: query.createdFrom === undefined ? null : parseTime(query.createdFrom),
    createdTo: query.createdTo === undefined ? null : parseTime(query.createdTo),
  }
}

function toCall(
  operation: 'createFiatPayout' | 'createTokenPayout',
  caller: Caller,
  body: Omit<BodyOf<'createTokenPayout'>, 'idempotencyKey'> & { readonly idempotencyKey?: string },
  ip: string,
  nonce: OpenNonce | undefined,
): PayoutCall {
  const currency = parseCurrency(body.currency)
  const amount = parseAmount(body.amount, currency)
  const { beneficiaryId, idempotencyKey = null, reference = null } = body
  // Independent of `onDuplicate`, which does not change what the payout pays.
  const requestFingerprint = payoutFingerprint({ amount, currency, beneficiaryId, reference })
  return {
    caller,
    nonce,
    operation,
    idempotencyKey,
    requestFingerprint,
    amount,
    currency,
    reference,
    ip,
    refusesDuplicates: body.onDuplicate === 'Refuse',
    payee: { beneficiaryId },
  }
}

/** Payouts have no index by reference: the end-to-end id of the transaction finds them. */
const findReference = async ({ transactions }: PayoutsDeps, tx: Tx, partnerId: string, text: string) => ({
  text,
  endToEndId: (await transactions.find(tx, partnerId, text))?.endToEndId ?? null,
})

async function payoutByReference(
  deps: PayoutsDeps,
  tx: Tx,
  partnerId: string,
  reference: string,
): Promise<store.PayoutRow | undefined> {
  const { endToEndId } = await findReference(deps, tx, partnerId, reference)
  if (endToEndId === null) return undefined
  const known = { ids: [], endToEndIds: [endToEndId], references: [reference] }
  return (await store.findPayoutsByIds(tx, partnerId, known)).find((row) => row.reference === reference)
}

/**
 * Creates the function that submits a call to the batches of payouts. Refuses: request_in_progress, and what the batch
 * refuses.
 */
function createSubmit(deps: PayoutsDeps) {
  const batched = createNonceBatcher({
    db: deps.db,
    ...createAcceptance(deps),
    callsMax: deps.payoutsPerBatchMax ?? payoutsPerBatchMax,
    batchesMax: batchesUnderWayMax,
    secondBatchMin,
    planOnce: true,
    partnerOf: ({ caller }) => caller.partnerId,
  })
  return async (call: PayoutCall): Promise<AcceptedPayout> => {
    for (;;) {
      const outcome = await batched(call).catch((error: unknown) => {
        throw toRequestInProgress(error)
      })
      if (outcome !== 'resubmit') return outcome
    }
  }
}

// Finds payouts by the details that an operator has, by an instruction of a bank, and by amount.

/** `id`: of the payout or its instruction, or the end-to-end id, ours or the partner's. */
export type PayoutSearch = { readonly id: string } | WithdrawalSearch
type FoundPayout = { readonly payout: store.PayoutRow; readonly transaction: TransactionView }

/** Finds at most `payoutsMax` payouts of a partner, newest first. */
type FindPayouts = (partnerId: string, search: PayoutSearch, payoutsMax: number) => Promise<readonly FoundPayout[]>

const hexOfUuid = /^[0-9a-f]{32}$/

function createFind({ db, transactions }: PayoutsDeps): FindPayouts {
  const payoutsLike = async (partnerId: string, search: WithdrawalSearch, rowsMax: number) => {
    const withdrawals = await transactions.withdrawalsLike(db, partnerId, search, rowsMax)
    if (withdrawals.length === 0) return []
    const ids = new Set(withdrawals.map(({ id }) => id))
    const endToEndIds = withdrawals.flatMap(({ endToEndId }) => endToEndId ?? [])
    const references = withdrawals.map(({ reference }) => reference)
    const payouts = await store.findPayoutsByIds(db, partnerId, { ids: [], endToEndIds, references })
    return payouts.filter(({ transactionId }) => ids.has(transactionId))
  }
  const named = async (partnerId: string, id: string, rowsMax: number) => {
    const payouts = await store.findPayoutsByIds(db, partnerId, possibleIds(id))
    // A partner may use an end-to-end id for any number of payouts.
    const ofPartner = { endToEndId: id, reference: null, money: null, from: null, before: null }
    return payouts.length > 0 ? payouts : payoutsLike(partnerId, ofPartner, rowsMax)
  }
  return async (partnerId, search, payoutsMax) => {
    const payouts =
      'id' in search ? await named(partnerId, search.id, payoutsMax) : await payoutsLike(partnerId, search, payoutsMax)
    return Promise.all(
      payouts.map(async (payout) => ({ payout, transaction: await transactions.get(partnerId, payout.reference) })),
    )
  }
}

/** Lists the ids that a text may mean: an id with or without hyphens in either case, or an end-to-end id as the bank has it. */
function possibleIds(text: string) {
  const hex = text.replaceAll('-', '').toLowerCase()
  return { ids: hexOfUuid.test(hex) ? [hex] : [], endToEndIds: [text, hex], references: [] }
}

type InstructionKey = { readonly partnerId: string; readonly instructionId: string }

/** Instructions are stored with their ids without hyphens, which are end-to-end ids. */
const instructionKey = ({ partnerId, instructionId }: InstructionKey) => ({
  partnerId,
  endToEndId: instructionId.replaceAll('-', ''),
})

/** Finds the payout of an instruction. Undefined: the partner has none. */
export async function payoutOfInstruction(tx: Tx, key: InstructionKey): Promise<string | undefined> {
  const [row] = await store.payoutsOfInstructions(tx, [instructionKey(key)])
  return row?.id
}

/** Finds the instruction of a payout. If no payout matches, the id is already that of an instruction. */
export async function instructionOf(tx: Tx, partnerId: string, payoutId: string): Promise<string> {
  const row = await store.readEndToEndId(tx, partnerId, payoutId)
  return row === undefined ? payoutId : instructionIdOf(row)
}

/** Reads the statuses of the payouts of instructions, by the id of the instruction. Unknown instructions are absent. */
export async function instructionStatuses(
  tx: Tx,
  keys: readonly InstructionKey[],
): Promise<ReadonlyMap<string, PayoutStatus>> {
  const named = keys.map(instructionKey)
  const found = new Map<string, PayoutStatus>()
  for (const group of groupByShard(tx, named))
    for (const { endToEndId, status } of await store.statusesOfInstructions(tx, group))
      found.set(instructionIdOf({ endToEndId }), status)
  return found
}

const payoutsOfAmountMax = 100

/** Lists a partner's payouts of this amount that were created since a time, newest first. */
export const payoutsOfAmount = (
  tx: Tx,
  partnerId: string,
  money: Money,
  since: Date,
): Promise<readonly store.PayoutOfAmount[]> =>
  store.payoutsOfAmount(tx, partnerId, { ...money, after: firstIdOf(since), rowsMax: payoutsOfAmountMax })

/**
 * Makes the next attempt due now. The worker asks the bank about the payout before it sends anything, so that a retry
 * is never a second payment. Refuses: not_found, validation_failed (no attempt follows in its status, or one is
 * running).
 */
type RetryPayout = (tx: Tx, partnerId: string, id: string) => Promise<void>

const createRetry =
  ({ clock }: { readonly clock: Clock }): RetryPayout =>
  async (tx, partnerId, id) => {
    const now = clock.now()
    if ((await store.makeDue(tx, partnerId, id, now)) === 1) return
    const state = await store.readAttemptState(tx, partnerId, id)
    if (state === undefined) throw notFound('payout')
    const { status, leaseId, dueAt } = state
    if (status !== 'Pending' && status !== 'Processing')
      throw new Refusal('validation_failed', `The payout is ${status} and has no further attempt.`)
    if (leaseId !== null && dueAt !== null && dueAt > now)
      throw new Refusal('validation_failed', `An attempt is in progress. Retry after ${dueAt.toISOString()}.`)
  }

// Payouts by quote: the quote is accepted and its money reserved in one transaction. They are not batched, because each
// locks a quote first.

type FxRequest = BodyOf<'previewFxPayout'>
type AcceptedFx = Exclude<AcceptResult, 'resubmit'>
const operation = 'createFxPayout'
const attemptsMax = 5

function createFxPayouts(deps: PayoutsDeps) {
  const { db, quotes } = deps
  const { read, work } = createAcceptance(deps)

  const accept = async (tx: Tx, call: PayoutCall, quote: OpenQuote): Promise<AcceptedFx> => {
    const [outcome] = await work(tx, [call], await read(tx, [call]), undefined)
    if (outcome instanceof Refusal) throw outcome
    const accepted = present(outcome === 'resubmit' ? undefined : outcome, `no payout for quote ${quote.id}`)
    if (!accepted.replayed) quotes.markAccepted(tx, [{ quote, reference: accepted.payout.reference }])
    return accepted
  }

  return async (caller: Caller, body: BodyOf<'createFxPayout'>, ip: string): Promise<AcceptedFx> => {
    const { partnerId } = caller
    const attempt = () =>
      db.transaction(async (tx) => {
        // The lock of the quote serialises requests with one key.
        const [quote] = await quotes.lockOpen(tx, [{ partnerId, id: body.quoteId }])
        const [known] = await store.payoutsByKeys(tx, [{ partnerId, operation, idempotencyKey: body.idempotencyKey }])
        if (known !== undefined) return { payout: replayRow(known, fxRequestFingerprint(body)), replayed: true }
        if (quote === undefined || quote instanceof Refusal) throw present(quote, `no answer for quote ${body.quoteId}`)
        return accept(tx, toFxCall(caller, body, quote, ip), quote)
      })
    for (let attempts = 1; ; attempts += 1)
      try {
        return await attempt()
      } catch (error) {
        // Read again what another transaction has changed since the read: a balance, a counter or a customer.
        if (sqlStateOf(error) !== sqlState.checkViolation || attempts === attemptsMax) throw toRequestInProgress(error)
      }
  }
}

type FxPreview = Preview & { readonly quote: OpenQuote }

/** Checks a request as `createFx` would now. A separate rule checks the quote. Refuses: not_found (quoteId). */
const createFxPreview =
  ({ db, quotes }: PayoutsDeps, preview: (call: PayoutCall) => Promise<Preview>) =>
  async (caller: Caller, body: FxRequest, ip: string): Promise<FxPreview> => {
    const { quote, refusal } = await quotes.look(db, { partnerId: caller.partnerId, id: body.quoteId })
    const { verdicts, ...judged } = await preview(toFxCall(caller, body, quote, ip))
    return { ...judged, quote, verdicts: [toVerdict('quote', refusal ?? 'passed'), ...verdicts] }
  }

const fxRequestFingerprint = (body: FxRequest) => fxFingerprint({ ...body, reference: body.reference ?? null })

const toFxCall = (caller: Caller, body: FxRequest, quote: OpenQuote, ip: string): PayoutCall => ({
  caller,
  nonce: undefined,
  operation,
  idempotencyKey: body.idempotencyKey ?? null,
  requestFingerprint: fxRequestFingerprint(body),
  amount: quote.buyAmount,
  currency: quote.buyCurrency,
  quote,
  reference: body.reference ?? null,
  ip,
  refusesDuplicates: body.onDuplicate === 'Refuse',
  payee: { beneficiaryId: body.beneficiaryId },
})
