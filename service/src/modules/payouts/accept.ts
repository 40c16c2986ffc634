/**
 * How payouts are accepted: a batch of them in one transaction, whosever they are. Keys are looked up, rules judge each
 * call alone, the balances are locked, and what fits is written: transactions, payouts, events, reserves.
 */
import type { WithdrawalOutcome } from '@partner-payments/wire'
import { type Caller, type OpenNonce, Refusal } from '../../api/index.ts'
import { type Currency, type Minor, newId, present } from '../../kernel/index.ts'
import { insufficientFunds, type KnownAccounts, type Sums } from '../../ledger/index.ts'
import { type BatchPosition, replayOf, type Tx } from '../../postgres/index.ts'
import type { Payee } from '../beneficiaries/index.ts'
import type { Payer } from '../customers/index.ts'
import type { NewTransaction, TakenReferences } from '../transactions/index.ts'
import type { PayoutsDeps } from './deps.ts'
import { withdrawal } from './events.ts'
import { railOf, requireFiat } from './rules.ts'
import * as store from './store.ts'

export type Creditor = {
  readonly name: string
  readonly account: string
  readonly bic: string | null
  readonly country: string
}

export type PayoutCall = {
  readonly caller: Caller
  readonly nonce: OpenNonce | undefined
  readonly operation: 'createFiatPayout' | 'simulateWithdrawal'
  readonly idempotencyKey: string | null
  readonly requestFingerprint: string
  readonly amount: Minor
  readonly currency: Currency
  readonly reference: string | null
  readonly ip: string
  /** A registered beneficiary, or whom a simulation pays in a customer's name. */
  readonly payee:
    | { readonly beneficiaryId: string }
    | { readonly customerId: string; readonly creditor: Creditor; readonly outcome: WithdrawalOutcome }
}

/** `again`: the call that held the same key in this batch was refused, so that the key is free: to be asked anew. */
export type Accepted = { readonly payout: store.PayoutRow; readonly replayed: boolean } | 'again'

/** A call that the rules let through: whom it pays is known. */
type Judged = {
  readonly call: PayoutCall
  readonly creditor: Creditor
  readonly customerId: string | null
  readonly beneficiary: { readonly id: string; readonly alias: string | null } | null
}

const keyOf = ({ caller, operation, idempotencyKey }: PayoutCall) =>
  idempotencyKey === null ? undefined : JSON.stringify([caller.partnerId, operation, idempotencyKey])

/** What `work` answers or refuses, as a value: the other calls of the batch go on. */
function outcomeOf<T>(work: () => T): T | Refusal {
  try {
    return work()
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
}

/** What is read for a batch before its transaction. What changes meanwhile ends in a unique violation, and a new try. */
type Known = {
  readonly held: ReadonlyMap<string, store.PayoutRow>
  readonly beneficiaries: ReadonlyMap<string, Payee>
  readonly customers: ReadonlyMap<string, Payer>
  readonly accounts: KnownAccounts
  readonly references: TakenReferences
  /** The batches that were under way when the accounts were read: what they set aside may not be in it yet. */
  readonly others: ReadonlySet<Sums>
}

/** Some 20 MB. */
const ownersMax = 100_000

export function createAccept(deps: PayoutsDeps) {
  const { beneficiaries, customers, ledger, transactions } = deps
  const underWay = new Set<Sums>()
  /** Whose a beneficiary is never changes: known from before, the customer is read together with the beneficiary. */
  const owners = new Map<string, string>()

  /**
   * Which of them fit. While the balance has room for this batch and for all that are under way, whichever of them comes
   * first, nobody waits for a lock or for another's commit. Else the batches before this one have the money first.
   */
  const fitting = async (tx: Tx, judged: readonly Judged[], known: Known, position: BatchPosition | undefined) => {
    const wishes = judged.map(({ call }) => wishOf(call))
    const spoken = addUp([...known.others, ...underWay].filter((sums, at, all) => all.indexOf(sums) === at))
    const sums = ledger.sumsOf(wishes)
    if (position && ledger.seemFitting(sums, known.accounts, spoken)) {
      underWay.add(sums)
      void position.ended.then(() => underWay.delete(sums))
      return wishes.map(() => true)
    }
    await position?.earlierEnded
    // From here on the hot balances are locked: nothing is read that could have been read before.
    return ledger.fitting(tx, wishes)
  }

  const read = async (tx: Tx, calls: readonly PayoutCall[]): Promise<Known> => {
    const others = new Set(underWay)
    // Sent together: one wait for all of them.
    const guessed = calls.flatMap(({ caller: { partnerId }, payee }) => {
      const id = 'customerId' in payee ? payee.customerId : owners.get(beneficiaryName(partnerId, payee))
      return id === undefined ? [] : [{ partnerId, id }]
    })
    const [held, payees, accounts, references, early] = await Promise.all([
      heldKeys(tx, calls),
      beneficiaries.payeesByIds(tx, calls.flatMap(beneficiaryKey)),
      ledger.accountsOf(tx, calls.map(movementOf(deps))),
      transactions.taken(
        tx,
        calls.map(({ caller, reference }) => ({ partnerId: caller.partnerId, reference })),
      ),
      customers.payersByIds(tx, guessed),
    ])
    const named = calls.flatMap((call) => customerKey(call, payees))
    if (owners.size > ownersMax) owners.clear()
    for (const [name, { customerId }] of payees) if (customerId !== null) owners.set(name, customerId)
    const missing = named.filter(({ partnerId, id }) => !early.has(`${partnerId} ${id}`))
    const late = await customers.payersByIds(tx, missing)
    return { held, beneficiaries: payees, accounts, references, others, customers: new Map([...early, ...late]) }
  }
  const work = async (
    tx: Tx,
    calls: readonly PayoutCall[],
    known: Known,
    position: BatchPosition | undefined,
  ): Promise<readonly (Accepted | Refusal)[]> => {
    const outcomes = new Map<PayoutCall, Accepted | Refusal>()
    const holders = new Map<string, PayoutCall>()
    const fresh = calls.filter((call) => {
      const key = keyOf(call)
      const row = key === undefined ? undefined : known.held.get(key)
      if (row) {
        outcomes.set(
          call,
          outcomeOf(() => ({ payout: replayOf(row, call.requestFingerprint), replayed: true })),
        )
        return false
      }
      if (key === undefined) return true
      if (holders.has(key)) return false
      holders.set(key, call)
      return true
    })
    const judged = fresh.flatMap((call) => {
      const outcome = outcomeOf(() => judge(deps, call, known.beneficiaries))
      if (!(outcome instanceof Refusal)) return [outcome]
      outcomes.set(call, outcome)
      return []
    })
    const fits = judged.length === 0 ? [] : await fitting(tx, judged, known, position)
    const accepted = judged.filter(({ call }, index) => {
      if (fits[index]) return true
      outcomes.set(call, insufficientFunds(call.currency))
      return false
    })
    for (const payout of await write(deps, tx, accepted, known))
      outcomes.set(payout.call, { payout: payout.row, replayed: false })
    return calls.map((call) => outcomes.get(call) ?? twin(call, outcomes, holders))
  }
  return { read, work }
}

function addUp(all: readonly Sums[]): Sums {
  const total = new Map<string, Minor>()
  for (const sums of all) for (const [key, sum] of sums) total.set(key, (total.get(key) ?? 0n) + sum)
  return total
}

/** The later of two calls with one key in a batch gets the first one's answer, as if it had come after the commit. */
function twin(
  call: PayoutCall,
  outcomes: ReadonlyMap<PayoutCall, Accepted | Refusal>,
  holders: ReadonlyMap<string, PayoutCall>,
): Accepted | Refusal {
  const holder = present(holders.get(keyOf(call) ?? ''), 'a call without an outcome shares a key')
  const first = present(outcomes.get(holder), 'whoever holds a key has an outcome')
  if (first instanceof Refusal || first === 'again') return 'again'
  return outcomeOf(() => ({ payout: replayOf(first.payout, call.requestFingerprint), replayed: true }))
}

async function heldKeys(tx: Tx, calls: readonly PayoutCall[]): Promise<ReadonlyMap<string, store.PayoutRow>> {
  const keys = calls.flatMap(({ caller, operation, idempotencyKey }) =>
    idempotencyKey === null ? [] : [{ partnerId: caller.partnerId, operation, idempotencyKey }],
  )
  if (keys.length === 0) return new Map()
  const rows = await store.payoutsByKeys(tx, keys)
  return new Map(rows.map((row) => [JSON.stringify([row.partnerId, row.operation, row.idempotencyKey]), row]))
}

const beneficiaryKey = ({ caller, payee }: PayoutCall) =>
  'beneficiaryId' in payee ? [{ partnerId: caller.partnerId, id: payee.beneficiaryId }] : []

/** The customer whom the events of a call will name. */
function customerKey({ caller, payee }: PayoutCall, known: ReadonlyMap<string, Payee>) {
  const { partnerId } = caller
  const id = 'customerId' in payee ? payee.customerId : known.get(beneficiaryName(partnerId, payee))?.customerId
  return typeof id === 'string' ? [{ partnerId, id }] : []
}

const beneficiaryName = (partnerId: string, { beneficiaryId }: { readonly beneficiaryId: string }) =>
  `${partnerId} ${beneficiaryId.toLowerCase()}`

const movementOf =
  ({ railId }: PayoutsDeps) =>
  ({ caller, currency }: PayoutCall) =>
    ({ partnerId: caller.partnerId, currency, debit: 'balance', credit: `settlement.${railId ?? 'none'}` }) as const

const wishOf = ({ caller, amount, currency }: PayoutCall) =>
  ({ partnerId: caller.partnerId, debit: 'balance', currency, amount }) as const

/** Refuses: currency_not_supported, not_found, beneficiary_currency_mismatch, beneficiary_not_payable. */
function judge({ railId }: PayoutsDeps, call: PayoutCall, known: ReadonlyMap<string, Payee>): Judged {
  const { currency, payee } = call
  requireFiat(currency)
  if (railId === undefined) throw new Refusal('currency_not_supported', `No bank is connected that pays ${currency}.`)
  if (!('beneficiaryId' in payee)) return { call, ...payee, beneficiary: null }
  // A batch holds calls of many partners: what one of them owns is there for its own calls only.
  const beneficiary = known.get(beneficiaryName(call.caller.partnerId, payee))
  const refuse = (
    code: 'not_found' | 'beneficiary_currency_mismatch' | 'beneficiary_not_payable',
    pointer: string,
    message: string,
  ) => new Refusal(code, undefined, { errors: [{ pointer, code: 'invalid_value', message }] })
  if (!beneficiary) throw refuse('not_found', '/beneficiaryId', 'no such beneficiary')
  const { id, alias, customerId, name, iban, bic, country } = beneficiary
  if (beneficiary.currency !== currency)
    throw refuse('beneficiary_currency_mismatch', '/currency', `the beneficiary takes ${beneficiary.currency}`)
  if (iban === null || country === null)
    throw refuse('beneficiary_not_payable', '/beneficiaryId', 'has no bank account')
  return { call, customerId, creditor: { name, account: iban, bic, country }, beneficiary: { id, alias } }
}

/** Written with the commit; a key that another process has won meanwhile is a unique violation. */
async function write(deps: PayoutsDeps, tx: Tx, accepted: readonly Judged[], known: Known) {
  const { clock, ledger, eventOutbox, transactions } = deps
  if (accepted.length === 0) return []
  const now = clock.now()
  const ids = accepted.map(() => newId())
  const opened = transactions.openMany(
    tx,
    accepted.map((each, index) => toTransaction(each, present(ids[index], 'one id each'))),
    known.references,
  )
  const payouts = accepted.map((judged, index) => {
    const { id: transactionId, reference } = present(opened[index], 'one transaction each')
    const made = { id: present(ids[index], 'one id each'), transactionId, reference }
    return { call: judged.call, row: toPayout(judged, made, now) }
  })
  const rows = payouts.map(({ row }) => row)
  store.insertPayouts(tx, rows)
  eventOutbox.appendMany(
    tx,
    rows.flatMap((row) => {
      if (row.customerId === null) return []
      const customer = present(
        known.customers.get(`${row.partnerId} ${row.customerId}`),
        "a beneficiary's customer exists",
      )
      const type = 'partner.customer.withdrawal.requested' as const
      return [{ partnerId: row.partnerId, type, occurredAt: now, data: withdrawal(row, customer) }]
    }),
  )
  await ledger.reserveMany(
    tx,
    payouts.map(({ call, row: { amount, customerId, partnerId, reference, reserveId } }) => ({
      ...movementOf(deps)(call),
      amount,
      partyId: customerId ?? partnerId,
      reference,
      id: reserveId,
    })),
    known.accounts,
  )
  return payouts
}

/** At most 35 characters travel with a payment (ISO 20022, Max35Text): the 32 digits of the payout's id. */
const endToEndIdOf = (payoutId: string) => payoutId.replaceAll('-', '')

function toTransaction({ call, creditor, customerId, beneficiary }: Judged, payoutId: string): NewTransaction {
  const { caller, amount, currency, idempotencyKey } = call
  return {
    partnerId: caller.partnerId,
    reference: call.reference,
    amount,
    currency,
    category: 'Withdrawal',
    direction: 'Outward',
    type: customerId === null ? 'PartnerWithdraw' : 'PartnerCustomerWithdraw',
    rail: railOf(currency),
    customerId,
    steps: ['Created', 'Reserved'],
    endToEndId: endToEndIdOf(payoutId),
    idempotencyKey,
    creditor: {
      accountHolderName: creditor.name,
      iban: creditor.account,
      country: creditor.country,
      ...(creditor.bic === null ? {} : { bic: creditor.bic }),
    },
    partnerUser: { id: caller.serviceAccountId, name: caller.name, ipAddress: call.ip },
    ...(beneficiary === null ? {} : { beneficiary }),
  }
}

function toPayout(
  { call, creditor, customerId, beneficiary }: Judged,
  made: { readonly id: string; readonly transactionId: string; readonly reference: string },
  now: Date,
): store.PayoutRow {
  const { caller, operation, idempotencyKey, requestFingerprint, amount, currency, payee } = call
  return {
    partnerId: caller.partnerId,
    ...made,
    operation,
    idempotencyKey,
    requestFingerprint,
    reserveId: newId(),
    beneficiaryId: beneficiary?.id ?? null,
    customerId,
    amount,
    currency,
    creditorName: creditor.name,
    creditorAccount: creditor.account,
    creditorBic: creditor.bic,
    creditorCountry: creditor.country,
    remittance: call.reference,
    rail: railOf(currency),
    endToEndId: endToEndIdOf(made.id),
    ipAddress: call.ip,
    simulatedOutcome: 'outcome' in payee ? payee.outcome : null,
    status: 'Pending',
    errorKey: null,
    errorDetails: null,
    sendAttempts: 0,
    dueAt: now,
    leaseId: null,
    createdAt: now,
    updatedAt: now,
  }
}
