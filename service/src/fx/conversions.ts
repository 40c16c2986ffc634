/**
 * Converts: accepts quotes and exchanges the amounts at once. Concurrent conversions share a transaction, which locks
 * the quotes, checks the funds, writes and answers.
 */
import type { BodyOf } from '@partner-payments/wire'
import { createNonceBatcher } from '../access/index.ts'
import { type Caller, type OpenNonce, Refusal, catchRefusal } from '../kernel/api/index.ts'
import { type Clock, currencies, type Currency, newId, partnerKey, present, type RowKey } from '../kernel/index.ts'
import {
  type AccountSnapshots,
  type BalancesSnapshot,
  getBalanceState,
  blocksInbound,
  blocksOutbound,
  createFundsCheck,
  type EntryRequest,
  insufficientFunds,
  type Ledger,
  type Permit,
  refuseBlocked,
} from '../ledger/index.ts'
import {
  toRequestInProgress,
  type BatchPosition,
  type Database,
  type IdempotentRow,
  replayRow,
  type Tx,
} from '../postgres/index.ts'
import { type NewTransaction, toRequester, type TakenReferences, type Transactions } from '../transactions/index.ts'
import { type QuoteAcceptances, createAcceptances, type OpenQuote } from './acceptance.ts'
import { exchangeTransfers } from './rules.ts'
import * as store from './store.ts'
import {
  type Customers,
  hasMaximumBalance,
  findLackingCapability,
  verificationRefusal,
  type Payer,
} from '../parties/customers/index.ts'
import type { FxTerms, Rates } from '../rates/index.ts'

type ConversionCall = KeyedCall & {
  readonly caller: Caller
  readonly nonce: OpenNonce | undefined
  readonly ip: string
  readonly quoteId: string
  readonly idempotencyKey: string
  readonly reference: string | null
}
type ConversionReads = {
  readonly conversions: readonly store.Conversion[]
  readonly references: TakenReferences
  readonly balances: BalancesSnapshot
  readonly buyers: readonly store.QuoteCustomerRow[]
}
type Answers = Map<ConversionCall, CallOutcome<store.Conversion>>
type AcceptedConversion = { readonly call: ConversionCall; readonly quote: OpenQuote }
type PermittedConversion = AcceptedConversion & { readonly permit: Permit }

const conversionsPerBatchMax = 128
const batchesUnderWayMax = 2
const secondBatchMin = 32

/** Submits conversions to the batches. Refuses as `convert` of `Fx` does. */
export function createConversionSubmitter(deps: FxDeps) {
  const batched = createNonceBatcher({
    db: deps.db,
    ...createBatchWork(deps),
    callsMax: conversionsPerBatchMax,
    batchesMax: batchesUnderWayMax,
    secondBatchMin,
    planOnce: true,
    partnerOf: ({ partnerId }) => partnerId,
  })
  return async (
    caller: Caller,
    body: BodyOf<'createFxConversion'>,
    ip: string,
    nonce?: OpenNonce,
  ): Promise<CallResult<store.Conversion>> => {
    const { idempotencyKey, reference = null } = body
    const { partnerId } = caller
    const quoteId = body.quoteId.toLowerCase()
    const requestFingerprint = JSON.stringify([quoteId, reference])
    const request = { quoteId, idempotencyKey, requestFingerprint, reference }
    return submitUntilAnswered(batched, { partnerId, caller, nonce, ip, ...request })
  }
}

function createBatchWork(deps: FxDeps) {
  const { ledger, transactions } = deps
  const acceptances = createAcceptances(deps)
  const largestBalances = createLargestBalances(deps)
  const funds = createFundsCheck(ledger)

  const read = async (tx: Tx, calls: readonly ConversionCall[]): Promise<ConversionReads> => {
    const mark = funds.markRead()
    const movements = calls.flatMap(({ partnerId }) => possibleMovements(partnerId))
    // Sent together, so that the batch waits for one round trip.
    const [conversions, references, accounts, buyers] = await Promise.all([
      store.conversionsByKeys(tx, batchKeys(calls)),
      transactions.taken(tx, calls),
      ledger.accountsOf(tx, movements),
      store.readQuoteCustomers(tx, calls.map(quoteKeyOf)),
    ])
    return { conversions, references, balances: { accounts, mark }, buyers }
  }

  const convert = async (
    tx: Tx,
    calls: readonly ConversionCall[],
    found: ConversionReads,
    position: BatchPosition | undefined,
  ): Promise<Answers> => {
    const answers: Answers = new Map()
    const buyers = await largestBalances.lock(tx, found.buyers)
    const open = await lockQuotes(acceptances, tx, calls, answers)
    await resubmitReplays(tx, answers)
    const above = await largestBalances.judge(
      tx,
      open.map(({ quote }) => quote),
      buyers,
    )
    const permits = await ledger.clear(
      tx,
      open.map(({ quote }) => ({ transfers: conversionTransfers(quote) })),
    )
    const accepted = open.flatMap(({ call, quote }, index): readonly PermittedConversion[] => {
      const permit = present(permits[index], `no permit for quote ${quote.id}`)
      const isHeld = permit instanceof Refusal
      const refusal = isHeld ? permit : (blockedBetween(found.balances.accounts, buyers, quote) ?? above[index])
      if (refusal === undefined && !isHeld) return [{ call, quote, permit }]
      if (refusal !== undefined) answers.set(call, refusal)
      return []
    })
    if (accepted.length === 0) return answers
    const requests = accepted.map(({ quote }) => ({ transfers: conversionTransfers(quote) }))
    const parties = accepted.map(({ quote: { partnerId, sellCurrency: currency, customerId } }) => {
      return { partnerId, currency, partyId: customerId ?? partnerId }
    })
    const { accounts, mark } = found.balances
    const balances = { mark, accounts: new Map([...accounts, ...(await ledger.partiesOf(tx, accounts, parties))]) }
    const fits = await funds.check(tx, requests, balances, position)
    const funded = accepted.filter(({ call, quote }, index) => {
      const fit = present(fits[index], `no judgement of funds for quote ${quote.id}`)
      if (fit !== true) answers.set(call, insufficientFunds(fit, call.caller))
      return fit === true
    })
    for (const [call, row] of await write(deps, acceptances, tx, funded, found))
      answers.set(call, { row, replayed: false })
    return answers
  }

  const work = (
    tx: Tx,
    calls: readonly ConversionCall[],
    found: ConversionReads,
    position: BatchPosition | undefined,
  ) =>
    answerKeyedCalls({
      calls,
      found: found.conversions,
      keyed: (conversion) => conversion,
      pointer: '/idempotencyKey',
      work: (firstCalls) => convert(tx, firstCalls, found, position),
    })
  return { read, work }
}

/** Creates the transfers of a conversion of a customer's money or of the partner's own. */
const conversionTransfers = (quote: OpenQuote): EntryRequest['transfers'] =>
  exchangeTransfers(quote, { kind: 'direct', creditOfBuy: 'balance', partyId: quote.customerId ?? quote.partnerId })

/** Lists all accounts that a conversion may change, because its currencies are known only once the quote is read. */
const possibleMovements = (partnerId: string) =>
  (Object.keys(currencies) as Currency[]).flatMap((currency) => [
    { partnerId, currency, debit: 'balance', credit: 'fx' } as const,
    { partnerId, currency, debit: 'balance', credit: 'fees' } as const,
  ])

/**
 * Refuses a conversion if one of the balances or the customer's account is blocked: account_blocked. The balances were
 * read before the customers, because each balance counts the customers' changes of state.
 */
function blockedBetween(accounts: AccountSnapshots, buyers: Buyers, quote: OpenQuote): Refusal | undefined {
  const { partnerId, customerId, sellCurrency, buyCurrency } = quote
  const ofCustomer = buyers.get(partnerKey(partnerId, customerId ?? ''))?.accountState ?? 'Active'
  const isBlocked =
    blocksOutbound(ofCustomer) ||
    blocksInbound(ofCustomer) ||
    blocksOutbound(getBalanceState(accounts, partnerId, sellCurrency)) ||
    blocksInbound(getBalanceState(accounts, partnerId, buyCurrency))
  return isBlocked ? refuseBlocked() : undefined
}

/**
 * Locks quotes, each for the first call that accepts it. Refuses each call separately: not_found, fx_quote_expired,
 * fx_quote_accepted.
 */
async function lockQuotes(
  { lockOpen }: QuoteAcceptances,
  tx: Tx,
  calls: readonly ConversionCall[],
  answers: Answers,
): Promise<readonly AcceptedConversion[]> {
  const quotes = await lockOpen(tx, calls.map(quoteKeyOf))
  const given = new Set<string>()
  return calls.flatMap((call, index) => {
    const quote = present(quotes[index], `no answer for quote ${call.quoteId}`)
    if (quote instanceof Refusal) answers.set(call, quote)
    else if (given.has(quote.id)) answers.set(call, 'resubmit')
    else {
      given.add(quote.id)
      return [{ call, quote }]
    }
    return []
  })
}

/**
 * Submits a call again if a duplicate in another process may have accepted the quote while the call waited for the
 * lock. The call then finds the conversion of its key.
 */
async function resubmitReplays(tx: Tx, answers: Answers): Promise<void> {
  const late = [...answers].flatMap(([call, answer]) =>
    answer instanceof Refusal && answer.code === 'fx_quote_accepted' ? [call] : [],
  )
  if (late.length === 0) return
  const keys = new Set((await store.conversionsByKeys(tx, batchKeys(late))).map(keyOf))
  for (const call of late) if (keys.has(keyOf(call))) answers.set(call, 'resubmit')
}

const quoteKeyOf = ({ partnerId, quoteId: id }: ConversionCall): RowKey => ({ partnerId, id })
const keyOf = ({ partnerId, idempotencyKey }: Pick<store.Conversion, 'partnerId' | 'idempotencyKey'>) =>
  partnerKey(partnerId, idempotencyKey)

/**
 * Sends the writes with the commit. A key or reference that another transaction has inserted since the read causes a
 * unique violation.
 */
async function write(
  { clock, transactions, ledger }: FxDeps,
  { markAccepted }: QuoteAcceptances,
  tx: Tx,
  accepted: readonly PermittedConversion[],
  { references, balances }: ConversionReads,
): Promise<readonly (readonly [ConversionCall, store.Conversion])[]> {
  if (accepted.length === 0) return []
  const now = clock.now()
  const opened = transactions.completeMany(tx, accepted.map(toTransaction), references, ['Settled', 'Credited'])
  const written = accepted.map(({ call, quote, permit }, index) => {
    const { id: transactionId, reference } = present(opened[index], `no transaction for quote ${quote.id}`)
    const { partnerId, quoteId, idempotencyKey, requestFingerprint } = call
    const keys = { partnerId, quoteId, idempotencyKey, requestFingerprint, transactionId, reference }
    return { call, quote, permit, row: { ...keys, entryId: newId(), createdAt: now } }
  })
  store.insertConversions(
    tx,
    written.map(({ row }) => row),
  )
  markAccepted(
    tx,
    written.map(({ quote, row: { reference } }) => ({ quote, reference })),
  )
  const entries = written.map(({ quote, permit, row: { entryId, reference } }) => {
    return {
      id: entryId,
      permit,
      transfers: conversionTransfers(quote).map((transfer) => ({ ...transfer, reference })),
    }
  })
  await ledger.enterMany(tx, entries, balances.accounts)
  return written.map(({ call, quote, row }) => [call, { ...quote, ...row }])
}

function toTransaction({ call, quote }: AcceptedConversion): NewTransaction {
  const { caller, ip, idempotencyKey, reference } = call
  return {
    partnerId: quote.partnerId,
    reference,
    amount: quote.sellAmount,
    currency: quote.sellCurrency,
    category: 'Conversion',
    direction: 'Internal',
    type: 'Conversion',
    rail: null,
    customerId: quote.customerId,
    steps: ['Created'],
    actor: 'partner',
    idempotencyKey,
    exchange: {
      userAmount: quote.buyAmount,
      userCurrency: quote.buyCurrency,
      quoteId: quote.id,
      quoteExpiresAt: quote.expiresAt,
    },
    requestedBy: toRequester(caller, ip),
    requestId: caller.requestId,
  }
}

// Limits of customers: a conversion needs a verified customer, and must not exceed the maximum balance of its state.

type BoughtAmount = Pick<store.QuoteRow, 'partnerId' | 'customerId' | 'buyCurrency' | 'buyAmount'>
/** Customers of quotes, by `partnerKey`. Those with a maximum balance are locked. */
type Buyers = ReadonlyMap<string, Payer>

export function createLargestBalances({ db, customers }: Pick<FxDeps, 'db' | 'customers'>) {
  const refusalOf = async (
    tx: Tx,
    { partnerId, customerId, buyCurrency: currency, buyAmount: amount }: BoughtAmount,
    buyers: Buyers,
  ): Promise<Refusal | undefined> => {
    const payer = buyers.get(partnerKey(partnerId, customerId ?? ''))
    if (payer === undefined) return undefined
    if (findLackingCapability(payer.gate, 'Convert') !== undefined)
      return verificationRefusal(payer.verificationState, 'Convert', '/quoteId')
    return customers.refusalAbove(tx, partnerId, payer, { currency, amount, pointer: '/quoteId', isBought: true })
  }
  return {
    /** Locks customers before their quotes, as an erasure does. Costs nothing for quotes without a customer. */
    lock: async (tx: Tx, rows: readonly store.QuoteCustomerRow[]): Promise<Buyers> => {
      const buyers = await customers.payersByIds(tx, rows)
      const limited = rows.filter(({ partnerId, id, currency }) => {
        const payer = buyers.get(partnerKey(partnerId, id))
        return payer !== undefined && hasMaximumBalance(payer, currency)
      })
      if (limited.length > 0) await customers.lockHolders(tx, limited)
      return buyers
    },
    /**
     * Checks the accepted quotes of a batch. A customer's total changes with the commit, so a second quote of a
     * customer with a maximum balance waits for the next batch.
     */
    judge: async (
      tx: Tx,
      quotes: readonly BoughtAmount[],
      buyers: Buyers,
    ): Promise<readonly (Refusal | 'resubmit' | undefined)[]> => {
      const judged = new Set<string>()
      const answers: (Refusal | 'resubmit' | undefined)[] = []
      for (const quote of quotes) {
        const key = partnerKey(quote.partnerId, quote.customerId ?? '')
        const payer = buyers.get(key)
        const isLimited = payer !== undefined && hasMaximumBalance(payer, quote.buyCurrency)
        answers.push(isLimited && judged.has(key) ? 'resubmit' : await refusalOf(tx, quote, buyers))
        if (isLimited) judged.add(key)
      }
      return answers
    },
    /** Returns why a conversion with the quote would be refused now: customer_not_verified, balance_limit_exceeded. */
    look: async (quote: BoughtAmount): Promise<Refusal | undefined> => {
      const { partnerId, customerId } = quote
      if (customerId === null) return undefined
      return refusalOf(db, quote, await customers.payersByIds(db, [{ partnerId, id: customerId }]))
    },
  }
}

// Idempotency keys in a batch: a stored row answers its key, every other key runs once, and its duplicates get the
// answer of the first call. Payouts do the same with their own rows.

/** `idempotencyKey`: null if the request has none. */
type WithKey = { readonly partnerId: string; readonly idempotencyKey: string | null }
export type KeyedCall = WithKey & { readonly requestFingerprint: string }

export type CallResult<Row> = { readonly row: Row; readonly replayed: boolean }
/** `resubmit`: an earlier call of the batch prevented this one, which must be submitted again. */
export type CallOutcome<Row> = CallResult<Row> | Refusal | 'resubmit'

/** Returns the map key of an idempotency key. Undefined: the call has none. */
const mapKeyOf = ({ partnerId, idempotencyKey }: WithKey) =>
  idempotencyKey === null ? undefined : partnerKey(partnerId, idempotencyKey)

/** Lists the keys of a batch. */
export const batchKeys = (calls: readonly KeyedCall[]) =>
  calls.flatMap(({ partnerId, idempotencyKey }) => (idempotencyKey === null ? [] : [{ partnerId, idempotencyKey }]))

type Batch<Call, Row> = {
  readonly calls: readonly Call[]
  /** The rows of the batch's keys, and possibly others. */
  readonly found: readonly Row[]
  readonly keyed: (row: Row) => WithKey & IdempotentRow
  /** Pointer to the key in the request. */
  readonly pointer: string
  /** Answers the first call of each unused key, and every call without a key. */
  readonly work: (firstCalls: readonly Call[]) => Promise<ReadonlyMap<Call, CallOutcome<Row>>>
}

/** Answers every call, in order. Refuses: idempotency_key_reused, and what `work` refuses. */
export async function answerKeyedCalls<Call extends KeyedCall, Row>({
  calls,
  found,
  keyed,
  pointer,
  work,
}: Batch<Call, Row>): Promise<readonly CallOutcome<Row>[]> {
  const rows = new Map(found.map((row) => [mapKeyOf(keyed(row)), row]))
  const firstByKey = new Map<string, Call>()
  const firstCalls = calls.filter((call) => {
    const key = mapKeyOf(call)
    if (key === undefined) return true
    if (rows.has(key) || firstByKey.has(key)) return false
    firstByKey.set(key, call)
    return true
  })
  const outcomes = firstCalls.length > 0 ? await work(firstCalls) : new Map<Call, CallOutcome<Row>>()
  const replay = (row: Row, { requestFingerprint }: Call): CallOutcome<Row> =>
    catchRefusal(() => {
      replayRow(keyed(row), requestFingerprint, pointer)
      return { row, replayed: true }
    })
  return calls.map((call) => {
    const own = outcomes.get(call)
    if (own !== undefined) return own
    const key = present(mapKeyOf(call), `no answer to a call without a key of partner ${call.partnerId}`)
    const row = rows.get(key)
    if (row !== undefined) return replay(row, call)
    const first = present(firstByKey.get(key), `no first call for a duplicate of partner ${call.partnerId}`)
    const outcome = present(outcomes.get(first), `no answer to a first call of partner ${call.partnerId}`)
    return outcome instanceof Refusal || outcome === 'resubmit' ? 'resubmit' : replay(outcome.row, call)
  })
}

/** Submits a call until it is answered. Refuses: request_in_progress, and what the batch refuses. */
export async function submitUntilAnswered<Call, Row>(
  batched: (call: Call) => Promise<CallOutcome<Row>>,
  call: Call,
): Promise<CallResult<Row>> {
  for (;;) {
    const outcome = await batched(call).catch((error: unknown) => {
      throw toRequestInProgress(error)
    })
    if (outcome instanceof Refusal) throw outcome
    if (outcome !== 'resubmit') return outcome
  }
}

export type FxDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly customers: Pick<
    Customers,
    'heldPayersByIds' | 'lockHolders' | 'payersByIds' | 'resolvePresentId' | 'refusalAbove'
  >
  readonly ledger: Ledger
  readonly rates: Rates
  readonly transactions: Transactions
  readonly terms: FxTerms
}
