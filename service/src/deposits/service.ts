/** The operations of the deposits module. */
import { ownJson, type PaymentMethod, type TransactionType } from '@partner-payments/wire'
import { notFound, Refusal, Unreachable } from '../kernel/api/index.ts'
import {
  after,
  amountText,
  type Clock,
  type Currency,
  type Minor,
  newId,
  present,
  type RowKey,
  type Money,
} from '../kernel/index.ts'
import { type AccountName, type Entry, singleEntry } from '../ledger/index.ts'
import {
  type AppliedOutcome,
  applyInBatches,
  oldestByStatus,
  type OldestUnfinishedPayment,
} from '../lifecycle/index.ts'
import { type Database, KeyTaken, oncePerKey, type Tx } from '../postgres/index.ts'
import type { Customer } from '../parties/customers/index.ts'
import type { Hold, Party } from '../transactions/index.ts'
import { createCredits, type Credits } from './credits.ts'
import { createDebits, type Debits, takeOutPart, debitBalance } from './reversals.ts'
import type { DepositsDeps } from './deps.ts'
import * as events from './events.ts'
import {
  depositLifecycle,
  type DepositNotification,
  type DepositStatus,
  type DepositTrigger,
  heldMsMax,
} from './lifecycle.ts'
import { type MoneyRequest, cannotReceive, requireOpenAccount } from './inbound.ts'
import { createApplyBatch } from './progress.ts'
import { createDepositScreening, type DepositScreening } from './screened.ts'
import { createPayerChecks, type PayerChecks } from './payers.ts'
import { type DepositWithParts, parsePartReport, withParts } from './parts.ts'
import * as store from './store.ts'
import { eraseFields, type Part, type PartStatus } from './store-parts.ts'
import { createHash } from 'node:crypto'
import type { IncomingDebtor } from '../rails/index.ts'

/** A deposit that awaits payment. */
export type AwaitedDeposit = {
  readonly partnerId: string
  readonly operation: 'simulateDeposit' | 'createCheckoutSession'
  /** Default: `PartnerCustomerDeposit`. */
  readonly type?: Extract<TransactionType, 'PartnerCustomerDeposit' | 'CustomerDeposit'>
  /** ISO 11649, unique within the partner. A credit whose remittance names it pays the deposit. */
  readonly creditorReference?: string
  readonly amount: Minor
  readonly currency: Currency
  readonly idempotencyKey: string | null
  readonly websiteReference: string | null
  readonly customFields: Record<string, unknown> | null
  /** IP address of the payer. Empty until it is known, like the country of the bank. */
  readonly ip: string
  readonly paymentCountry: string
  /** Time within which the payer must pay. */
  readonly expiresAfterMs: number
  /** Default: derived from the currency. */
  readonly paymentMethod?: PaymentMethod
  /** The account that the payer pays to. */
  readonly creditor?: Party
  /** Several payments may add up to the amount. Default: one payment of exactly the amount completes the deposit. */
  readonly inParts?: boolean
  /** The partner's texts about the purchase. Screened for names of vessels, and stored only if one may match. */
  readonly texts?: readonly (string | null)[]
}

export type NewDeposit = Omit<AwaitedDeposit, 'paymentCountry'> & {
  readonly customerRef: string
  /** The rest of the request fingerprint, in addition to the fields above. */
  readonly variant: string
}

export type Deposits = Credits &
  Debits &
  DepositScreening & {
    /** Checks payments that lack data of their payers by the operator's rules. */
    readonly payers: PayerChecks
    /** Takes a credit away from a deposit that was matched by mistake. */
    readonly undoCredit: UndoCredit
    /**
     * Reports for each customer, in order, whether it must not be asked for money. Gives no reason, because the reason
     * may be a sanctions match.
     */
    readonly cannotReceive: (tx: Tx, asked: readonly MoneyRequest[]) => Promise<readonly boolean[]>
    /**
     * Opens a deposit that awaits payment, and calls `opened` in the same transaction. Refuses: not_found (customerId),
     * idempotency_key_reused, request_in_progress.
     */
    readonly open: (
      deposit: NewDeposit,
      opened: (tx: Tx, depositId: string) => Promise<void>,
    ) => Promise<{ readonly row: store.DepositRow; readonly replayed: boolean }>
    /** Opens a deposit in the caller's transaction. Throws KeyTaken if another request has the key. */
    readonly await: (
      tx: Tx,
      deposit: AwaitedDeposit,
      customer: Customer,
      requestFingerprint: string,
    ) => Promise<store.DepositRow>
    /** Finds the deposit that a request with this key has opened. */
    readonly byKey: (
      partnerId: string,
      operation: string,
      idempotencyKey: string,
      tx?: Tx,
    ) => Promise<store.DepositRow | undefined>
    /** Reads the deposits that exist, in no order. */
    readonly byIds: (tx: Tx, keys: readonly RowKey[]) => Promise<readonly store.Deposit[]>
    /** Adds the parts to each deposit that is paid in parts. */
    readonly withParts: typeof withParts
    /** Locks deposits in the order of their ids, as transitions and reversals do. */
    readonly lock: typeof store.lockDeposits
    /** Reads the time at which a deposit was credited. Undefined: it was not credited, or the bank has reversed it. */
    readonly creditedAt: typeof store.creditedAt
    /** Erases the customer's data: only the optional fields, or every field that names a person. */
    readonly eraseFields: typeof eraseFields
    /** Reads the deposits of transactions for the export of a customer, in no order. */
    readonly byReferences: typeof store.depositsByReferences
    /** Offers unmatched money of a credit that named this deposit to the partner. */
    readonly offerUnmatched: (
      tx: Tx,
      key: RowKey,
      offered: { readonly caseId: string; readonly money: Money },
    ) => Promise<void>
    /** Expires a deposit before its time, in the caller's transaction. Returns false if its status does not permit it. */
    readonly end: (tx: Tx, partnerId: string, id: string) => Promise<boolean>
    /** Applies a bank notification. Concurrent calls share a transaction. See `AppliedOutcome`. */
    readonly processNotification: (connector: string, notification: DepositNotification) => Promise<AppliedOutcome>
    /**
     * Expires deposits that were not funded in time, and returns their number. If one fails, throws after the others
     * are done.
     */
    readonly expireDue: (depositsMax: number) => Promise<number>
    /** Finds the oldest deposit in each status that is not final and cannot expire. */
    readonly oldestUnfinished: () => Promise<readonly OldestUnfinishedPayment[]>
    /**
     * Lists the deposits that wait for an operator, oldest first: up to `rowsMax` held by screening, and as many stuck
     * at the bank.
     */
    readonly waiting: (rowsMax: number) => Promise<readonly DepositInQueue[]>
    /** Lists the given deposits that wait for an operator. */
    readonly waitingOf: (partnerId: string, ids: readonly string[]) => Promise<readonly DepositInQueue[]>
    /**
     * Credits money to the partner itself as a completed deposit: the initial balance of a sandbox, or the money of a
     * case without a deposit. `debit`: the ledger account that has it. Returns the reference of the transaction.
     * Refuses: account_blocked (the balance is closed).
     */
    readonly creditPartner: (
      tx: Tx,
      partnerId: string,
      money: { readonly debit: AccountName; readonly currency: Currency; readonly amount: Minor },
      type?: Extract<TransactionType, 'PartnerDeposit' | 'NotDefined'>,
    ) => Promise<string>
  }

const simulatedCountry = 'DE'
const byOperator = { actor: 'operator' } as const
const credited = { status: 'Completed', steps: ['Settled', 'Credited'] } as const

export function createDeposits(deps: DepositsDeps): Deposits {
  const { db, clock, customers } = deps
  const applyBatch = createApplyBatch(deps)
  const applyInBatch = applyInBatches({ db, work: applyBatch })
  const apply = async (trigger: DepositTrigger) => {
    const applied = await applyInBatch(trigger)
    // A name must be screened with a list that this process has not read yet: it reads the list outside the
    // transaction.
    if (applied === 'early') await deps.screening.lists.snapshot()
    return applied
  }
  return {
    ...createCredits(deps, {
      inBatches: apply,
      inTransaction: applyBatch,
      withdraw: (tx, reversed) => applyBatch(tx, [reversed]),
    }),
    ...createDepositScreening(deps, apply),
    payers: createPayerChecks(deps),
    cannotReceive: (tx, asked) => cannotReceive(deps, tx, asked),
    open: async (deposit, opened) => {
      const { partnerId, operation, idempotencyKey } = deposit
      const customer = await customers.find(db, partnerId, deposit.customerRef, '/customerId')
      const requestFingerprint = depositFingerprint(deposit, customer)
      return oncePerKey({
        requestFingerprint,
        find: async () =>
          idempotencyKey === null ? undefined : store.depositByKey(db, partnerId, operation, idempotencyKey),
        make: () =>
          db.transaction(async (tx) => {
            await customers.hold(tx, partnerId, customer.id, '/customerId')
            const awaited = { ...deposit, paymentCountry: simulatedCountry }
            const row = await insertDeposit(deps, tx, awaited, customer, requestFingerprint)
            await opened(tx, row.id)
            return row
          }),
      })
    },
    await: (tx, deposit, customer, requestFingerprint) =>
      insertDeposit(deps, tx, deposit, customer, requestFingerprint),
    byKey: (partnerId, operation, idempotencyKey, tx = db) =>
      store.depositByKey(tx, partnerId, operation, idempotencyKey),
    byIds: async (tx, keys) => (keys.length === 0 ? [] : store.depositsByIds(tx, keys)),
    withParts,
    lock: store.lockDeposits,
    creditedAt: store.creditedAt,
    eraseFields,
    byReferences: store.depositsByReferences,
    offerUnmatched: async (tx, key, offered) => {
      const [deposit] = await store.depositsByIds(tx, [key])
      if (deposit !== undefined) await deps.late.offer(tx, [{ ...offered, deposit }])
    },
    end: async (tx, partnerId, id) => {
      const [ended] = await applyBatch(tx, [{ kind: 'ended', partnerId, subjectId: id }])
      return ended === true
    },
    processNotification: (connector, notification) => apply({ ...notification, connector }),
    expireDue: createExpireDue(deps, apply),
    oldestUnfinished: async () => {
      const limitsMs = { Submitted: heldMsMax, Accepted: heldMsMax }
      const oldest = await store.oldestAtBank(db)
      return oldestByStatus(depositLifecycle.subject, limitsMs, oldest === undefined ? [] : [oldest], clock.now())
    },
    ...createWaiting(deps),
    creditPartner: createCreditPartner(deps),
    ...createDebits(deps),
    undoCredit: createUndoCredit(deps),
  }
}

function createCreditPartner(deps: DepositsDeps): Deposits['creditPartner'] {
  const { ledger, transactions } = deps
  return async (tx, partnerId, { debit, currency, amount }, type = 'PartnerDeposit') => {
    await requireOpenAccount(deps, tx, { partnerId, customerId: null }, currency)
    const opened = await transactions.open(tx, {
      partnerId,
      reference: null,
      amount,
      currency,
      category: 'Deposit',
      direction: 'Inward',
      type,
      rail: null,
      customerId: null,
      steps: ['Created'],
      ...byOperator,
    })
    const { reference } = opened
    const moved = { partnerId, currency, amount, partyId: partnerId, reference }
    await ledger.enter(tx, singleEntry('decision', { ...moved, debit, credit: 'balance' }))
    await transactions.conclude(tx, partnerId, opened.id, { ...credited, ...byOperator })
    return reference
  }
}

function createExpireDue(
  { db, clock }: DepositsDeps,
  apply: (trigger: DepositTrigger) => Promise<AppliedOutcome>,
): Deposits['expireDue'] {
  return async (depositsMax) => {
    const due = await store.expiredDeposits(db, clock.now(), depositsMax)
    const outcomes = await Promise.allSettled(
      due.map(({ partnerId, id }) => apply({ kind: 'expired', partnerId, subjectId: id })),
    )
    const failures = outcomes.flatMap((outcome): unknown[] => (outcome.status === 'rejected' ? [outcome.reason] : []))
    const unreachable = failures.find((failure) => failure instanceof Unreachable)
    if (unreachable !== undefined) throw unreachable
    if (failures.length > 0) throw new Error(`could not expire deposits: ${failures.length}`, { cause: failures[0] })
    return due.length
  }
}

function depositFingerprint(deposit: NewDeposit, customer: Customer): string {
  const { amount, currency, websiteReference, customFields, variant } = deposit
  const text = JSON.stringify([customer.id, amount.toString(), currency, websiteReference, customFields, variant])
  return hashFingerprint(text)
}

async function insertDeposit(
  { clock, access, eventOutbox, screening, transactions }: DepositsDeps,
  tx: Tx,
  deposit: AwaitedDeposit,
  customer: Customer,
  requestFingerprint: string,
): Promise<store.DepositRow> {
  const { partnerId, amount, currency, idempotencyKey, websiteReference, customFields, creditor } = deposit
  const now = clock.now()
  const [id, sessionId] = [newId(), newId()]
  const endToEndId = id.replaceAll('-', '')
  const customFieldsText = customFields === null ? null : JSON.stringify(customFields)
  const opened = await transactions.open(tx, {
    partnerId,
    reference: null,
    amount,
    currency,
    category: 'Deposit',
    direction: 'Inward',
    type: deposit.type ?? 'PartnerCustomerDeposit',
    rail: currency === 'EUR' ? 'Sepa' : 'Swift',
    customerId: customer.id,
    userIpAddress: deposit.ip,
    steps: ['Created'],
    actor: 'partner',
    endToEndId,
    sessionId,
    websiteReference,
    idempotencyKey,
    ...(creditor === undefined ? {} : { creditor }),
  })
  const expiresAt = after(now, deposit.expiresAfterMs)
  const row: store.DepositRow = {
    partnerId,
    id,
    operation: deposit.operation,
    idempotencyKey,
    requestFingerprint,
    transactionId: opened.id,
    reference: opened.reference,
    customerId: customer.id,
    amount,
    currency,
    status: 'Created',
    sessionId,
    endToEndId,
    paymentMethod: deposit.paymentMethod ?? (currency === 'EUR' ? 'SepaCreditTransfer' : 'Swift'),
    paymentCountry: deposit.paymentCountry,
    ipAddress: deposit.ip,
    websiteReference,
    customFields: customFieldsText,
    debtor: null,
    errorDetails: null,
    expiresAt,
    heldSince: null,
    expiryDate: expiresAt,
    createdAt: now,
    updatedAt: now,
    ...{ connector: null, creditId: null, transactionHash: null, settledBy: null, reversedAt: null, reversedBy: null },
    craftText: screening.textOf([websiteReference, customFieldsText, ...(deposit.texts ?? [])]),
    inParts: deposit.inParts ?? false,
    creditorReference: deposit.creditorReference ?? null,
  }
  if ((await store.insertDeposits(tx, [row])) === 0) throw new KeyTaken()
  const partnerName = await access.partnerName(tx, partnerId)
  eventOutbox.append(
    tx,
    partnerId,
    'partner.customer.deposit.created',
    now,
    events.createdEvent(row, customer, partnerName),
  )
  return row
}

// Deposits that wait for an operator, for the queue of the desk.

type DepositInQueue = {
  readonly partnerId: string
  readonly id: string
  readonly why: 'held' | 'stands'
  readonly status: string
  readonly since: Date
}

/** Hold of a deposit by status. Undefined: the deposit has ended. */
const holdsByStatus: Readonly<Record<DepositStatus, Hold['kind'] | undefined>> = {
  Created: 'payer',
  Initiated: 'payer',
  PartiallyPaid: 'payer',
  Submitted: 'booking',
  Accepted: 'booking',
  Screening: 'decision',
  Completed: undefined,
  Failed: undefined,
  Expired: undefined,
}

export function holdOfDeposit({ status, expiresAt }: store.Deposit): Hold | undefined {
  const kind = holdsByStatus[status]
  return kind && { kind, by: kind === 'payer' ? expiresAt : null }
}

function createWaiting({ db, clock }: { readonly db: Database; readonly clock: Clock }) {
  const standsBefore = () => after(clock.now(), -heldMsMax)
  const classified = (rows: readonly store.WaitingDepositRow[]): readonly DepositInQueue[] =>
    rows.flatMap(({ partnerId, id, status, screeningSince, heldSince }): readonly DepositInQueue[] => {
      if (screeningSince !== null) return [{ partnerId, id, status, why: 'held', since: screeningSince }]
      return heldSince !== null && heldSince < standsBefore()
        ? [{ partnerId, id, status, why: 'stands', since: heldSince }]
        : []
    })
  return {
    waiting: async (rowsMax: number) => {
      const held = classified(await store.listHeldDeposits(db, rowsMax))
      const stands = classified(await store.listStuckDeposits(db, standsBefore(), rowsMax)).filter(
        ({ why }) => why === 'stands',
      )
      return [...held, ...stands]
    },
    waitingOf: async (partnerId: string, ids: readonly string[]) =>
      classified(await store.waitingDepositsByIds(db, partnerId, ids)),
  }
}

// The fingerprint is stored as a hash, because the request names the payer.

export const hashFingerprint = (text: string): string => createHash('sha256').update(text).digest('hex')

// Takes a credit away from a deposit that was matched by mistake: from the balance, or from the parts of an incomplete
// session. The money goes to suspense with a case, in which two operators find its owner.

type UndoCredit = (
  tx: Tx,
  undone: { readonly partnerId: string; readonly reference: string; readonly partId?: string | undefined },
) => Promise<{
  readonly caseId: string
  /** The transaction that took the money from the balance. Null: the money had not reached the balance. */
  readonly reference: string | null
}>

const refuseUndo = (detail: string) => new Refusal('validation_failed', detail)

/**
 * The deposit keeps its status; the session of an incomplete part waits for its money again. Refunds that no worker has
 * begun are cancelled. Refuses: not_found, validation_failed (it was not credited, is reversed or refunded, the balance
 * does not cover it, or the call must name a part).
 */
const createUndoCredit =
  (deps: DepositsDeps): UndoCredit =>
  async (tx, { partnerId, reference, partId }) => {
    const { cases, ledger, transactions } = deps
    const row = await transactions.find(tx, partnerId, reference)
    const [found] = await store.depositsByReferences(tx, partnerId, [reference])
    if (row === undefined || found === undefined) throw notFound('deposit with this reference')
    const [locked] = await withParts(tx, await store.lockDeposits(tx, [found]))
    const deposit = present(locked, `no deposit ${found.id}`)
    const part = partToUndo(deposit, partId)
    await stopRefunds(deps, tx, { partnerId, id: deposit.id, partId: part?.id })
    const taken = part ? await undoPart(deps, tx, deposit, part) : await undoWhole(deps, tx, deposit)
    const creditor = ownJson<{ readonly iban?: string; readonly walletAddress?: string }>(row.creditor ?? '{}')
    const { connector, money, notificationId } = taken
    const report = {
      ...{ kind: 'credit.booked', undone: reference, account: creditor.iban ?? creditor.walletAddress ?? '' },
      ...{ remittance: row.description, ...taken.report, money },
    }
    // A new subject: the bank's credit stays linked to its deposit, and the decision creates another deposit.
    const named = { connector, notificationId, subject: newId() }
    const opened = { id: newId(), partnerId, kind: 'unknown_payment', ...named } as const
    const suspended = await cases.record(tx, [{ ...opened, report, booked: money }])
    await ledger.settleMany(tx, [], [...taken.entries, ...suspended])
    return { caseId: opened.id, reference: taken.reference }
  }

/**
 * Stops refunds of the money. Refuses if one cannot be stopped: a decision about the case would send its money a second
 * time.
 */
async function stopRefunds(
  { refunds }: DepositsDeps,
  tx: Tx,
  credited: Parameters<DepositsDeps['refunds']['stop']>[1],
): Promise<void> {
  const going = (await refunds.stop(tx, credited)).filter(({ status }) => status !== 'Cancelled')
  if (going.length > 0)
    throw refuseUndo(
      `The payment is refunded by ${going.map(({ reference }) => reference).join(', ')}: recall that first.`,
    )
}

async function undoWhole(deps: DepositsDeps, tx: Tx, deposit: store.Deposit) {
  const { status, connector } = deposit
  if (status !== 'Completed' || connector === null)
    throw refuseUndo(`The deposit is ${status}: only a deposit that a bank has credited can be taken back.`)
  if (deposit.reversedAt !== null) throw refuseUndo('The money of the deposit has already been taken back.')
  const notificationId = `undo ${deposit.id}`
  await store.markReversed(tx, deposit, notificationId, deps.clock.now())
  const report = {
    debtor: deposit.debtor === null ? null : ownJson<IncomingDebtor>(deposit.debtor),
    endToEndId: deposit.endToEndId === '' ? null : deposit.endToEndId,
    ...(deposit.transactionHash === null ? {} : { transactionHash: deposit.transactionHash }),
  }
  return { ...(await takeFromBalance(deps, tx, { ...deposit, connector })), connector, notificationId, report }
}

const unusableStatuses: Readonly<Partial<Record<PartStatus, string>>> = {
  Reversed: 'has already been taken back',
  Screening: 'waits for the decision of a hit: decide the hit',
  Suspended: 'is in suspense: decide its case',
}

/** Finds the part to take back. Undefined: one payment pays the deposit. */
function partToUndo({ inParts, parts, currency }: DepositWithParts, partId: string | undefined): Part | undefined {
  if (!inParts && partId !== undefined)
    throw refuseUndo('The deposit takes one payment, and has no parts: leave --part out.')
  if (!inParts) return undefined
  const list = parts
    .map(({ id, amount, status }) => `${id} (${amountText(amount, currency)} ${currency}, ${status})`)
    .join(', ')
  const part = partId === undefined && parts.length === 1 ? parts[0] : parts.find(({ id }) => id === partId)
  if (part === undefined)
    throw refuseUndo(
      parts.length === 0 ? 'No part has arrived.' : `Name the part that was for something else: --part ${list}.`,
    )
  const why = part.reversedAt === null ? unusableStatuses[part.status] : unusableStatuses.Reversed
  if (why !== undefined) throw refuseUndo(`The money of the part ${why}.`)
  return part
}

async function undoPart(deps: DepositsDeps, tx: Tx, deposit: DepositWithParts, part: Part) {
  const { amount, connector } = part
  const notificationId = `undo ${part.id}`
  const isCredited = part.status === 'Credited'
  const back = { ...deposit, amount, connector }
  const taken = isCredited ? await takeFromBalance(deps, tx, back) : moneyOf(back)
  const left = await takeOutPart(deps, tx, deposit, part, { notificationId, isWithdrawn: !isCredited, isCredited })
  const report = parsePartReport(part) ?? { debtor: null }
  return { ...taken, entries: [...taken.entries, ...left], connector, notificationId, report }
}

type ReversibleDeposit = store.Deposit & { readonly connector: string }
type ReturnedMoney = {
  readonly reference: string | null
  readonly entries: readonly Entry[]
  readonly money: Pick<store.Deposit, 'currency' | 'amount'>
}

const moneyOf = ({ currency, amount }: ReversibleDeposit): ReturnedMoney => ({
  ...{ reference: null, entries: [] },
  money: { currency, amount },
})

async function takeFromBalance(deps: DepositsDeps, tx: Tx, back: ReversibleDeposit): Promise<ReturnedMoney> {
  const { partnerId, customerId, connector, currency, amount, reference: originatingReference } = back
  const about = {
    originatingReference,
    description: `Correction of ${originatingReference}: the credit was for another account.`,
  }
  const taken = { partnerId, customerId, connector, currency, amount }
  const { reference, entry } = await debitBalance(deps, tx, taken, about, ['Settled', 'Returned'])
  return { ...moneyOf(back), reference, entries: [entry] }
}
