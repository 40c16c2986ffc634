/** The verbs of the deposits module. */
import { ownJson, type PaymentMethod, type TransactionType } from '@partner-payments/wire'
import { notFound, Refusal, Unreachable } from '../kernel/api/index.ts'
import { after, amountText, type Clock, type Currency, type Minor, newId, present } from '../kernel/index.ts'
import { type AccountName, type Entry, entryOf } from '../ledger/index.ts'
import { type Applied, applyInBatches, oldestByStatus, type OldestUnfinished } from '../lifecycle/index.ts'
import { type Database, KeyTaken, once, type Tx } from '../postgres/index.ts'
import type { Customer } from '../parties/customers/index.ts'
import type { Hold, Party } from '../transactions/index.ts'
import { createCredits, type Credits } from './credits.ts'
import { createDebits, type Debits, reversePart, take } from './reversals.ts'
import type { DepositsDeps } from './deps.ts'
import * as events from './events.ts'
import {
  depositLifecycle,
  type DepositNotification,
  type DepositStatus,
  type DepositTrigger,
  heldMsMax,
} from './lifecycle.ts'
import { type Asked, cannotReceive, refuseClosed } from './inbound.ts'
import { createApplyBatch } from './progress.ts'
import { createScreened, type Screened } from './screened.ts'
import { createPayerChecks, type PayerChecks } from './payers.ts'
import { type InParts, reportOfPart, withParts } from './parts.ts'
import * as store from './store.ts'
import { eraseFields, type Part, type PartStatus } from './store-parts.ts'
import { type Deposit, heldDeposits, standingDeposits, waitingByIds, type WaitingRow } from './store.ts'
import { createHash } from 'node:crypto'
import type { IncomingDebtor, Money } from '../rails/index.ts'

/** A deposit that awaits payment. */
export type AwaitedDeposit = {
  readonly partnerId: string
  readonly operation: 'simulateDeposit' | 'createCheckoutSession'
  /** Default: `PartnerCustomerDeposit`. */
  readonly type?: Extract<TransactionType, 'PartnerCustomerDeposit' | 'CustomerDeposit'>
  /** ISO 11649, unique within the partner: a credit whose remittance names it pays the deposit. */
  readonly creditorReference?: string
  readonly amount: Minor
  readonly currency: Currency
  readonly idempotencyKey: string | null
  readonly websiteReference: string | null
  readonly customFields: Record<string, unknown> | null
  /** IP address of the payer. Empty until it is known, as is the country of the bank. */
  readonly ip: string
  readonly paymentCountry: string
  /** The time in which the payer must fund the deposit. */
  readonly expiresAfterMs: number
  /** Default: by the currency. */
  readonly paymentMethod?: PaymentMethod
  /** The account that the payer pays to. */
  readonly creditor?: Party
  /** Payments add up to the amount. Default: only one payment of exactly the amount completes the deposit. */
  readonly inParts?: boolean
  /** Texts of the partner about what is paid for: compared with listed vessels, and kept only if it may name one. */
  readonly texts?: readonly (string | null)[]
}

export type NewDeposit = Omit<AwaitedDeposit, 'paymentCountry'> & {
  readonly customerRef: string
  /** A further part of the request fingerprint, beyond the fields above. */
  readonly variant: string
}

export type Deposits = Credits &
  Debits &
  Screened & {
    /** Payments that lack data of their payers, and the operator's rules about them. */
    readonly payers: PayerChecks
    /** Takes a credit away from the deposit that it was matched with by mistake. */
    readonly undoCredit: UndoCredit
    /**
     * Reports which customers must not be asked for money, in their order. Gives no reason: it may be a sanctions list.
     */
    readonly cannotReceive: (tx: Tx, asked: readonly Asked[]) => Promise<readonly boolean[]>
    /**
     * Opens a deposit that awaits payment, and calls `opened` in the same transaction. Refuses: not_found (customerId),
     * idempotency_key_reused, request_in_progress.
     */
    readonly open: (
      deposit: NewDeposit,
      opened: (tx: Tx, depositId: string) => Promise<void>,
    ) => Promise<{ readonly row: store.DepositRow; readonly replayed: boolean }>
    /** `open` as a step of the caller's transaction. Throws KeyTaken if another request has the key. */
    readonly await: (
      tx: Tx,
      deposit: AwaitedDeposit,
      customer: Customer,
      requestFingerprint: string,
    ) => Promise<store.DepositRow>
    /** The deposit that a request with this key has opened. */
    readonly byKey: (
      partnerId: string,
      operation: string,
      idempotencyKey: string,
      tx?: Tx,
    ) => Promise<store.DepositRow | undefined>
    /** Returns the deposits that exist, in no order. */
    readonly byIds: (tx: Tx, keys: readonly store.DepositKey[]) => Promise<readonly store.Deposit[]>
    /** Adds the parts to those deposits that are paid in parts. */
    readonly withParts: typeof withParts
    /** Locks deposits in the order of their ids, as their steps and reversals do. */
    readonly lock: typeof store.lockDeposits
    /** The time at which a deposit was credited. Undefined: it was not, or the bank took the money back. */
    readonly creditedAt: typeof store.creditedAt
    /** Erases the customer's data from deposits: the fields that they do not need, or all that name a person. */
    readonly eraseFields: typeof eraseFields
    /** Deposits of these transactions for the export of a customer, in no order. */
    readonly byReferences: typeof store.depositsByReferences
    /** Offers the money of a credit that named this deposit, and has a case, to the partner. */
    readonly offerLate: (
      tx: Tx,
      key: store.DepositKey,
      offered: { readonly caseId: string; readonly money: Money },
    ) => Promise<void>
    /** Expires a deposit before its time, in the caller's transaction. False: its status does not permit it. */
    readonly end: (tx: Tx, partnerId: string, id: string) => Promise<boolean>
    /** Applies a notification of a connector; concurrent calls share a transaction. See `Applied`. */
    readonly processNotification: (connector: string, notification: DepositNotification) => Promise<Applied>
    /** Expires deposits that were not funded in time, and returns how many. If one fails, throws after the others are done. */
    readonly expireDue: (depositsMax: number) => Promise<number>
    /** The oldest deposit in the statuses that are not final and cannot expire. */
    readonly oldestUnfinished: () => Promise<readonly OldestUnfinished[]>
    /** The deposits that wait for a person, oldest first: at most `rowsMax` that a name holds, and as many that stand still. */
    readonly waiting: (rowsMax: number) => Promise<readonly WaitingDeposit[]>
    /** Returns those of these deposits of a partner that wait for a person. */
    readonly waitingOf: (partnerId: string, ids: readonly string[]) => Promise<readonly WaitingDeposit[]>
    /**
     * Credits money to the partner itself as a completed deposit: the float of a sandbox, or the money of a case
     * without a deposit. `debit`: the account of the partner's ledger that holds it. Returns the reference of the
     * transaction. Refuses: account_blocked (the balance is closed).
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
    // The names wait for a list that this process has not read yet: it is read outside the transaction.
    if (applied === 'early') await deps.screening.lists.snapshot()
    return applied
  }
  return {
    ...createCredits(deps, {
      inBatches: apply,
      inTransaction: applyBatch,
      withdraw: (tx, reversed) => applyBatch(tx, [reversed]),
    }),
    ...createScreened(deps, apply),
    payers: createPayerChecks(deps),
    cannotReceive: (tx, asked) => cannotReceive(deps, tx, asked),
    open: async (deposit, opened) => {
      const { partnerId, operation, idempotencyKey } = deposit
      const customer = await customers.find(db, partnerId, deposit.customerRef, '/customerId')
      const requestFingerprint = fingerprintOf(deposit, customer)
      return once({
        requestFingerprint,
        find: async () =>
          idempotencyKey === null ? undefined : store.depositByKey(db, partnerId, operation, idempotencyKey),
        make: () =>
          db.transaction(async (tx) => {
            await customers.hold(tx, partnerId, customer.id, '/customerId')
            const awaited = { ...deposit, paymentCountry: simulatedCountry }
            const row = await insert(deps, tx, awaited, customer, requestFingerprint)
            await opened(tx, row.id)
            return row
          }),
      })
    },
    await: (tx, deposit, customer, requestFingerprint) => insert(deps, tx, deposit, customer, requestFingerprint),
    byKey: (partnerId, operation, idempotencyKey, tx = db) =>
      store.depositByKey(tx, partnerId, operation, idempotencyKey),
    byIds: async (tx, keys) => (keys.length === 0 ? [] : store.depositsByIds(tx, keys)),
    withParts,
    lock: store.lockDeposits,
    creditedAt: store.creditedAt,
    eraseFields,
    byReferences: store.depositsByReferences,
    offerLate: async (tx, key, offered) => {
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
      const oldest = await store.oldestHeld(db)
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
    await refuseClosed(deps, tx, { partnerId, customerId: null }, currency)
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
    await ledger.enter(tx, entryOf('decision', { ...moved, debit, credit: 'balance' }))
    await transactions.conclude(tx, partnerId, opened.id, { ...credited, ...byOperator })
    return reference
  }
}

function createExpireDue(
  { db, clock }: DepositsDeps,
  apply: (trigger: DepositTrigger) => Promise<Applied>,
): Deposits['expireDue'] {
  return async (depositsMax) => {
    const due = await store.expiredDeposits(db, clock.now(), depositsMax)
    const outcomes = await Promise.allSettled(
      due.map(({ partnerId, id }) => apply({ kind: 'expired', partnerId, subjectId: id })),
    )
    const failures = outcomes.flatMap((outcome): unknown[] => (outcome.status === 'rejected' ? [outcome.reason] : []))
    const unreachable = failures.find((failure) => failure instanceof Unreachable)
    if (unreachable !== undefined) throw unreachable
    if (failures.length > 0) throw new Error(`deposits not expired: ${failures.length}`, { cause: failures[0] })
    return due.length
  }
}

function fingerprintOf(deposit: NewDeposit, customer: Customer): string {
  const { amount, currency, websiteReference, customFields, variant } = deposit
  const text = JSON.stringify([customer.id, amount.toString(), currency, websiteReference, customFields, variant])
  return hashFingerprint(text)
}

async function insert(
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
  eventOutbox.append(tx, partnerId, 'partner.customer.deposit.created', now, events.created(row, customer, partnerName))
  return row
}

// Deposits that wait for a person: a name holds them, or they stand still. For the queue of the desk.

type WaitingDeposit = {
  readonly partnerId: string
  readonly id: string
  readonly why: 'held' | 'stands'
  readonly status: string
  readonly since: Date
}

/** The hold of a deposit in each status. Undefined: it has ended. */
const holdIn: Readonly<Record<DepositStatus, Hold['kind'] | undefined>> = {
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

export function holdOfDeposit({ status, expiresAt }: Deposit): Hold | undefined {
  const kind = holdIn[status]
  return kind && { kind, by: kind === 'payer' ? expiresAt : null }
}

function createWaiting({ db, clock }: { readonly db: Database; readonly clock: Clock }) {
  const standsBefore = () => after(clock.now(), -heldMsMax)
  const classified = (rows: readonly WaitingRow[]): readonly WaitingDeposit[] =>
    rows.flatMap(({ partnerId, id, status, screeningSince, heldSince }): readonly WaitingDeposit[] => {
      if (screeningSince !== null) return [{ partnerId, id, status, why: 'held', since: screeningSince }]
      return heldSince !== null && heldSince < standsBefore()
        ? [{ partnerId, id, status, why: 'stands', since: heldSince }]
        : []
    })
  return {
    waiting: async (rowsMax: number) => {
      const held = classified(await heldDeposits(db, rowsMax))
      const stands = classified(await standingDeposits(db, standsBefore(), rowsMax)).filter(
        ({ why }) => why === 'stands',
      )
      return [...held, ...stands]
    },
    waitingOf: async (partnerId: string, ids: readonly string[]) => classified(await waitingByIds(db, partnerId, ids)),
  }
}

// The fingerprint of the request for a deposit. It is kept as a hash, because the request names the payer.

export const hashFingerprint = (text: string): string => createHash('sha256').update(text).digest('hex')

// Takes a credit away from the deposit that it was matched with by mistake: from the balance, or from the parts of a session that waits for the rest.
// The money goes to suspense with a case, in which two persons find its owner.

type UndoCredit = (
  tx: Tx,
  undone: { readonly partnerId: string; readonly reference: string; readonly partId?: string | undefined },
) => Promise<{
  readonly caseId: string
  /** The transaction that took the money from the balance. Null: it had not reached the balance. */
  readonly reference: string | null
}>

const refuse = (detail: string) => new Refusal('validation_failed', detail)

/**
 * The deposit stays as it ended, and the session of a part that is not complete waits for its money again. Refunds that no worker has begun are
 * cancelled. Refuses: not_found, validation_failed (it was not credited, is reversed already or has been refunded, the balance does not cover it, or it
 * has parts and none is named).
 */
const createUndoCredit =
  (deps: DepositsDeps): UndoCredit =>
  async (tx, { partnerId, reference, partId }) => {
    const { cases, ledger, transactions } = deps
    const { row } = await transactions.get(partnerId, reference)
    const [found] = await store.depositsByReferences(tx, partnerId, [reference])
    if (found === undefined) throw notFound('deposit with this reference')
    const [locked] = await withParts(tx, await store.lockDeposits(tx, [found]))
    const deposit = present(locked, `no deposit ${found.id}`)
    const part = partToUndo(deposit, partId)
    await stopRefunds(deps, tx, { partnerId, id: deposit.id, partId: part?.id })
    const taken = part ? await takePart(deps, tx, deposit, part) : await takeWhole(deps, tx, deposit)
    const creditor = ownJson<{ readonly iban?: string; readonly walletAddress?: string }>(row.creditor ?? '{}')
    const { connector, money, notificationId } = taken
    const report = {
      ...{ kind: 'credit.booked', undone: reference, account: creditor.iban ?? creditor.walletAddress ?? '' },
      ...{ remittance: row.description, ...taken.report, money },
    }
    // A subject of its own: the credit of the bank has its deposit, and the decision makes another one.
    const named = { connector, notificationId, subject: newId() }
    const opened = { id: newId(), partnerId, kind: 'unknown_payment', ...named } as const
    const suspended = await cases.record(tx, [{ ...opened, report, booked: money }])
    await ledger.settleMany(tx, [], [...taken.entries, ...suspended])
    return { caseId: opened.id, reference: taken.reference }
  }

/** The money of a refund that goes on leaves by it, and would leave again by the decision of the case. */
async function stopRefunds(
  { refunds }: DepositsDeps,
  tx: Tx,
  credited: Parameters<DepositsDeps['refunds']['stop']>[1],
): Promise<void> {
  const going = (await refunds.stop(tx, credited)).filter(({ status }) => status !== 'Cancelled')
  if (going.length > 0)
    throw refuse(`The payment is refunded by ${going.map(({ reference }) => reference).join(', ')}: recall that first.`)
}

async function takeWhole(deps: DepositsDeps, tx: Tx, deposit: store.Deposit) {
  const { status, connector } = deposit
  if (status !== 'Completed' || connector === null)
    throw refuse(`The deposit is ${status}: only a deposit that a bank has credited can be taken back.`)
  if (deposit.reversedAt !== null) throw refuse('The money of the deposit has already been taken back.')
  const notificationId = `undo ${deposit.id}`
  await store.markReversed(tx, deposit, notificationId, deps.clock.now())
  const report = {
    debtor: deposit.debtor === null ? null : ownJson<IncomingDebtor>(deposit.debtor),
    endToEndId: deposit.endToEndId === '' ? null : deposit.endToEndId,
    ...(deposit.transactionHash === null ? {} : { transactionHash: deposit.transactionHash }),
  }
  return { ...(await takeFromBalance(deps, tx, { ...deposit, connector })), connector, notificationId, report }
}

const statesOfNoUse: Readonly<Partial<Record<PartStatus, string>>> = {
  Reversed: 'has already been taken back',
  Screening: 'waits for the decision of a hit: decide the hit',
  Suspended: 'is in suspense: decide its case',
}

/** Undefined: the deposit takes one payment. */
function partToUndo({ inParts, parts, currency }: InParts, partId: string | undefined): Part | undefined {
  if (!inParts && partId !== undefined)
    throw refuse('The deposit takes one payment, and has no parts: leave --part out.')
  if (!inParts) return undefined
  const list = parts
    .map(({ id, amount, status }) => `${id} (${amountText(amount, currency)} ${currency}, ${status})`)
    .join(', ')
  const part = partId === undefined && parts.length === 1 ? parts[0] : parts.find(({ id }) => id === partId)
  if (part === undefined)
    throw refuse(
      parts.length === 0 ? 'No part has arrived.' : `Name the part that was for something else: --part ${list}.`,
    )
  const why = part.reversedAt === null ? statesOfNoUse[part.status] : statesOfNoUse.Reversed
  if (why !== undefined) throw refuse(`The money of the part ${why}.`)
  return part
}

async function takePart(deps: DepositsDeps, tx: Tx, deposit: InParts, part: Part) {
  const { amount, connector } = part
  const notificationId = `undo ${part.id}`
  const isCredited = part.status === 'Credited'
  const back = { ...deposit, amount, connector }
  const taken = isCredited ? await takeFromBalance(deps, tx, back) : moneyOf(back)
  const left = await reversePart(deps, tx, deposit, part, { notificationId, isWithdrawn: !isCredited, isCredited })
  const report = reportOfPart(part) ?? { debtor: null }
  return { ...taken, entries: [...taken.entries, ...left], connector, notificationId, report }
}

type Back = store.Deposit & { readonly connector: string }
type TakenMoney = {
  readonly reference: string | null
  readonly entries: readonly Entry[]
  readonly money: Pick<store.Deposit, 'currency' | 'amount'>
}

const moneyOf = ({ currency, amount }: Back): TakenMoney => ({
  ...{ reference: null, entries: [] },
  money: { currency, amount },
})

async function takeFromBalance(deps: DepositsDeps, tx: Tx, back: Back): Promise<TakenMoney> {
  const { partnerId, customerId, connector, currency, amount, reference: originatingReference } = back
  const about = {
    originatingReference,
    description: `Correction of ${originatingReference}: the credit was for another account.`,
  }
  const taken = { partnerId, customerId, connector, currency, amount }
  const { reference, entry } = await take(deps, tx, taken, about, ['Settled', 'Returned'])
  return { ...moneyOf(back), reference, entries: [entry] }
}
