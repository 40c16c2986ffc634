/** The verbs of the deposits module. */
import type { PaymentMethod, TransactionType } from '@partner-payments/wire'
import { Unreachable } from '../kernel/api/index.ts'
import { after, type Clock, type Currency, type Minor, newId } from '../kernel/index.ts'
import { type AccountName, entryOf } from '../ledger/index.ts'
import { type Applied, applyInBatches, oldestOf, type OldestUnfinished } from '../lifecycle/index.ts'
import { type Database, KeyTaken, once, type Tx } from '../postgres/index.ts'
import type { Customer } from '../parties/customers/index.ts'
import type { Hold, Party } from '../transactions/index.ts'
import { createCredits, type Credits } from './credits.ts'
import { createDebits, type Debits } from './debits.ts'
import type { DepositsDeps } from './deps.ts'
import * as events from './events.ts'
import { depositLifecycle, heldMsMax } from './lifecycle.ts'
import { type Asked, cannotReceive, refuseClosed } from './inbound.ts'
import { createApplyBatch } from './progress.ts'
import type { DepositNotification, DepositTrigger } from './triggers.ts'
import { createScreened, type Screened } from './screened.ts'
import { createPayerChecks, type PayerChecks } from './payers.ts'
import { hashFingerprint } from './fingerprint.ts'
import { withParts } from './parts.ts'
import * as store from './store.ts'
import { createUndoCredit, type UndoCredit } from './undo.ts'
import { eraseFields } from './store-parts.ts'
import type { DepositStatus } from './rules.ts'
import { type Deposit, heldDeposits, standingDeposits, waitingByIds, type WaitingRow } from './store.ts'

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
    byKey: (partnerId, operation, idempotencyKey) => store.depositByKey(db, partnerId, operation, idempotencyKey),
    byIds: async (tx, keys) => (keys.length === 0 ? [] : store.depositsByIds(tx, keys)),
    withParts,
    lock: store.lockDeposits,
    creditedAt: store.creditedAt,
    eraseFields,
    byReferences: store.depositsByReferences,
    end: async (tx, partnerId, id) => {
      const [ended] = await applyBatch(tx, [{ kind: 'ended', partnerId, subjectId: id }])
      return ended === true
    },
    processNotification: (connector, notification) => apply({ ...notification, connector }),
    expireDue: createExpireDue(deps, apply),
    oldestUnfinished: async () => {
      const limitsMs = { Submitted: heldMsMax, Accepted: heldMsMax }
      const oldest = await store.oldestHeld(db)
      return oldestOf(depositLifecycle.subject, limitsMs, oldest === undefined ? [] : [oldest], clock.now())
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
