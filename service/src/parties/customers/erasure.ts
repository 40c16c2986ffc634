/**
 * Erases customers. The request is one transaction: it refuses, or leaves a tombstone with the retained data. A job then erases
 * the fields of payments page by page, waits for the end of the retention, and continues after a restart.
 */
import { ownJson } from '@partner-payments/wire'
import { notFound } from '../../kernel/api/index.ts'
import type { Audit, NewRecord } from '../../audit/index.ts'
import { type Clock, nilId, type Sealer } from '../../kernel/index.ts'
import type { Idempotency, CreatedResource } from '../../idempotency/index.ts'
import type { Ledger } from '../../ledger/index.ts'
import type { Database, Tx } from '../../postgres/index.ts'
import type { Hold } from '../../screening/index.ts'
import { type ErasurePhase, requireErasable, retainedChanges, retainedKyc, retainedUntil } from './erasure-rules.ts'
import { changeContext, createKycSealer, parseCustomerRef } from './sealed.ts'
import type { FieldChange } from './rules.ts'
import * as changesStore from './store.ts'
import * as store from './store-erasures.ts'

export type Erasure = {
  readonly serviceId: string
  readonly row: store.ErasureRow
  /** Names of the retained KYC fields, in alphabetical order. */
  readonly retainedFields: readonly string[]
}

export type Erasures = {
  /**
   * Erases a customer, or returns the progress of its erasure. `nothingOwed`: the partner confirms that the customer's money
   * belongs to the partner. Refuses: not_found, customer_not_erasable.
   */
  readonly erase: (partnerId: string, ref: string, nothingOwed: boolean) => Promise<Erasure>
  /** Erases a page of a due erasure. Returns 1, or 0 if none is due. */
  readonly step: () => Promise<number>
}

/** The operations by which other modules report and erase their data about a customer. */
export type ModuleErasures = {
  /** Lists references of pending transactions. */
  readonly pendingOf: (tx: Tx, partnerId: string, customerId: string, rowsMax: number) => Promise<readonly string[]>
  /** Reads when the newest payment last changed. Null: there was no payment. */
  readonly lastPaymentAt: (tx: Tx, partnerId: string, customerId: string) => Promise<Date | null>
  /** Reads the holds on the customer and its beneficiaries. */
  readonly holdsOf: (tx: Tx, partnerId: string, customerId: string) => Promise<readonly (Hold | undefined)[]>
  /** Deletes the email from the payer index. Called before the customer is locked. */
  readonly forgetEmail: (tx: Tx, partnerId: string, email: string) => Promise<void>
  /** Ends standing orders and quotes. Called before the balance is locked. */
  readonly endOpen: (tx: Tx, partnerId: string, customerId: string, now: Date) => Promise<void>
  /**
   * Erases beneficiaries, reports, files that were not sent and screening subjects, and closes IBANs and wallets. Returns the records that
   * requests created, whose stored responses are deleted.
   */
  readonly eraseLinked: (
    tx: Tx,
    partnerId: string,
    customer: { readonly id: string; readonly serviceId: string },
    now: Date,
  ) => Promise<readonly CreatedResource[]>
  /** Erases the records that `eraseLinked` has closed. */
  readonly eraseClosed: (tx: Tx, partnerId: string, customerId: string) => Promise<void>
  /** Erases a page of payments. Returns the next position, or undefined after the last page. */
  readonly erasePayments: (tx: Tx, page: ErasurePage) => Promise<string | undefined>
  readonly erasePayouts: (tx: Tx, page: Omit<ErasurePage, 'scope'>) => Promise<string | undefined>
}
/** `details`: data that a payment does not need. `all`: also names, accounts and texts of its parties. */
export type ErasurePage = {
  readonly partnerId: string
  readonly customerId: string
  readonly afterId: string
  readonly scope: 'details' | 'all'
}

export type ErasuresDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly sealer: Sealer
  readonly audit: Pick<Audit, 'append'>
  readonly ledger: Pick<Ledger, 'countBlock' | 'partySumsAt'>
  readonly idempotency: Pick<Idempotency, 'eraseAnswers'>
  readonly held: ModuleErasures
  /** The setting CUSTOMER_RETENTION_YEARS. */
  readonly retentionYears: number
}

/** Thrown if the email changed between the read and the lock. */
class EmailChanged extends Error {
  override readonly name = 'EmailChanged'
}
const attemptsMax = 5

export function createErasures(deps: ErasuresDeps): Erasures {
  const { db, clock, audit } = deps
  const attempt = createErase(deps)
  const work = createWork(deps)
  return {
    erase: async (partnerId, ref, nothingOwed) => {
      for (let attempts = 1; ; attempts += 1)
        try {
          return await db.transaction((tx) => attempt(tx, partnerId, ref, nothingOwed))
        } catch (error) {
          if (!(error instanceof EmailChanged) || attempts === attemptsMax) throw error
        }
    },
    step: async () => {
      const now = clock.now()
      const due = await store.oldestDueErasure(db, now)
      if (due === undefined) return 0
      return db.transaction(async (tx) => {
        const row = await store.claimErasure(tx, due.partnerId, now)
        if (row === undefined) return 0
        const next = await work(tx, due.partnerId, row, now)
        await store.moveErasure(tx, due.partnerId, next)
        if (next.phase === 'done') audit.append(tx, [endRecord(due.partnerId, next)])
        return 1
      })
    },
  }
}

/**
 * Builds the audit record of the end of an erasure, when all data is deleted. The request has its own record. Both
 * belong to the partner's log, because the erasure is the partner's duty.
 */
function endRecord(partnerId: string, { customerId, requestedAt, retainedUntil }: store.ErasureRow): NewRecord {
  const retained = retainedUntil === null ? {} : { retainedUntil: retainedUntil.toISOString() }
  const details = { requestedAt: requestedAt.toISOString(), ...retained }
  return { partnerId, actor: { kind: 'worker' }, action: 'customer.erased', subject: { customerId }, details }
}

/** Maximum number of references in the refusal: enough to see which payments to wait for. */
const pendingMax = 10

function createErase({ clock, sealer, ledger, idempotency, held, retentionYears }: ErasuresDeps) {
  const kycSealer = createKycSealer(sealer)
  const refuse = async (tx: Tx, partnerId: string, id: string, nothingOwed: boolean) =>
    requireErasable(
      {
        pending: await held.pendingOf(tx, partnerId, id, pendingMax),
        balances: await ledger.partySumsAt(tx, partnerId, id, undefined),
        holds: await held.holdsOf(tx, partnerId, id),
      },
      nothingOwed,
    )

  return async (tx: Tx, partnerId: string, ref: string, nothingOwed: boolean): Promise<Erasure> => {
    const kind = parseCustomerRef(ref)
    const seen = kind && (await changesStore.byRef(tx, partnerId, kind, { erased: true }))
    if (seen === undefined) throw notFound('customer')
    if (seen.email !== null) await held.forgetEmail(tx, partnerId, seen.email)
    const locked = await store.lockToErase(tx, partnerId, seen.id)
    const known = await store.erasureOf(tx, partnerId, seen.id)
    if (locked === undefined) throw notFound('customer')
    if (known !== undefined) {
      const kept = kycSealer.open(partnerId, locked.id, locked.kycSealed)
      return { serviceId: seen.serviceId, row: known, retainedFields: Object.keys(kept).toSorted() }
    }
    if (locked.email !== seen.email) throw new EmailChanged('the email of the customer has changed')
    const { id, serviceId, createdAt } = locked
    await refuse(tx, partnerId, id, nothingOwed)
    await held.endOpen(tx, partnerId, id, clock.now())
    // A payout that commits later has read the earlier balance, and fails (`countBlock`).
    await ledger.countBlock(tx, partnerId)
    await refuse(tx, partnerId, id, nothingOwed)

    const now = clock.now()
    const lastPaymentAt = await held.lastPaymentAt(tx, partnerId, id)
    const proof = retainedKyc(kycSealer.open(partnerId, id, locked.kycSealed))
    // The duty does not cover a customer without identity data and payments.
    const isKept = lastPaymentAt !== null || Object.keys(proof).length > 0
    const until = isKept ? retainedUntil({ requestedAt: now, lastPaymentAt }, retentionYears, now) : undefined
    const kyc = until === undefined ? {} : proof
    await store.eraseCustomer(tx, partnerId, { id, kycSealed: kycSealer.seal(partnerId, id, kyc), now })
    if (until === undefined) await store.deleteReview(tx, partnerId, id)
    if (until === undefined) await store.deleteChanges(tx, partnerId, id)
    else await rewriteChanges(tx, sealer, partnerId, id)
    const made = await held.eraseLinked(tx, partnerId, { id, serviceId }, now)
    const itself = { operation: 'createCustomer', createdAt, created: `the customer ${id}` } as const
    await idempotency.eraseAnswers(tx, partnerId, id, [itself, ...made])
    if (until === undefined) await held.eraseClosed(tx, partnerId, id)
    const row = {
      customerId: id,
      phase: 'details' as const,
      position: nilId,
      requestedAt: now,
      retainedUntil: until ?? null,
      dueAt: now,
      completedAt: null,
    }
    await store.insertErasure(tx, partnerId, row)
    return { serviceId, row, retainedFields: Object.keys(kyc).toSorted() }
  }
}

const changesPerPageMax = 100

async function rewriteChanges(tx: Tx, sealer: Sealer, partnerId: string, customerId: string): Promise<void> {
  for (let before: number | null = null; ;) {
    const rows = await changesStore.changesOf(tx, partnerId, customerId, before, changesPerPageMax)
    for (const { id, valuesSealed } of rows) {
      const context = changeContext(partnerId, id)
      const kept = retainedChanges(ownJson<readonly FieldChange[]>(sealer.open(valuesSealed, context)))
      const fields = kept.map(({ field }) => field)
      await store.rewriteChange(tx, partnerId, { id, fields, valuesSealed: sealer.seal(JSON.stringify(kept), context) })
    }
    const last = rows.at(-1)
    if (last === undefined || rows.length < changesPerPageMax) return
    before = last.sequence
  }
}

/** Creates the function that erases a page and returns the position for the next step. */
function createWork({ sealer, held, retentionYears }: ErasuresDeps) {
  const kycSealer = createKycSealer(sealer)
  return async (tx: Tx, partnerId: string, row: store.ErasureRow, now: Date): Promise<store.ErasureRow> => {
    const { customerId, position: afterId, phase } = row
    const page = { partnerId, customerId, afterId }
    const begin = (next: ErasurePhase) => ({ ...row, phase: next, position: nilId, dueAt: now })
    const done = { ...row, phase: 'done' as const, position: nilId, dueAt: null, completedAt: now }
    if (phase === 'retained') {
      // A payment that was returned or received meanwhile is retained as long as the others.
      const lastPaymentAt = await held.lastPaymentAt(tx, partnerId, customerId)
      const until = retainedUntil({ requestedAt: row.requestedAt, lastPaymentAt }, retentionYears, now)
      if (until !== undefined) return { ...row, retainedUntil: until, dueAt: until }
      await store.replaceRetainedKyc(tx, partnerId, customerId, kycSealer.seal(partnerId, customerId, {}))
      await store.deleteChanges(tx, partnerId, customerId)
      await store.deleteReview(tx, partnerId, customerId)
      await held.eraseClosed(tx, partnerId, customerId)
      return begin('payments')
    }
    if (phase === 'payouts') {
      const next = await held.erasePayouts(tx, page)
      return next === undefined ? done : { ...row, position: next, dueAt: now }
    }
    const next = await held.erasePayments(tx, { ...page, scope: phase === 'payments' ? 'all' : 'details' })
    // Queued behind other due erasures, so that a customer with many payments does not delay them.
    if (next !== undefined) return { ...row, position: next, dueAt: now }
    if (phase === 'payments') return begin('payouts')
    // If the retention is over, the next phase follows at once.
    return row.retainedUntil === null ? begin('payments') : { ...begin('retained'), dueAt: row.retainedUntil }
  }
}
