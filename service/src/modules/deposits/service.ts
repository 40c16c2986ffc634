/** The verbs of deposits. */
import { Unreachable } from '../../api/index.ts'
import { after, type Currency, type Minor, newId } from '../../kernel/index.ts'
import { createBatcher, KeyTaken, once, type Tx } from '../../postgres/index.ts'
import type { Customer } from '../customers/index.ts'
import { credit, type DepositsDeps } from './deps.ts'
import * as events from './events.ts'
import { createTake, type DepositNews, type DepositNotice } from './progress.ts'
import * as store from './store.ts'

export type NewDeposit = {
  readonly partnerId: string
  readonly operation: 'simulateDeposit'
  readonly customerRef: string
  readonly amount: Minor
  readonly currency: Currency
  readonly idempotencyKey: string | null
  readonly websiteReference: string | null
  readonly customFields: Record<string, unknown> | null
  readonly ip: string
  /** How long it may stay unfunded. */
  readonly expiresAfterMs: number
  /** What makes two requests of one key the same, beyond the fields above. */
  readonly variant: string
}

export type Deposits = {
  /**
   * Opens a deposit that awaits payment; `opened` joins its transaction. Refuses: not_found (customerId),
   * idempotency_key_reused, request_in_progress.
   */
  readonly open: (
    deposit: NewDeposit,
    opened: (tx: Tx, depositId: string) => Promise<void>,
  ) => Promise<{ readonly row: store.DepositRow; readonly replayed: boolean }>
  /** What the bank tells moves the deposit on; many travel together. False: it was no news, and changed nothing. */
  readonly take: (notice: DepositNotice) => Promise<boolean>
  /** Expires what was not funded in time; answers how many. Throws once the others are done where one fails. */
  readonly expireDue: (depositsMax: number) => Promise<number>
  /** Money of the partner's own, booked as a completed deposit (a sandbox's float). */
  readonly bookOwn: (tx: Tx, partnerId: string, currency: Currency, amount: Minor) => Promise<string>
}

const paymentCountry = 'DE'
/** Planning and the round trips of a batch of 128 took a tenth of its time. */
const newsPerBatchMax = 512
/** The balances come last in a batch: until then the next one is at work as well. */
const batchesUnderWayMax = 2

export function createDeposits(deps: DepositsDeps): Deposits {
  const { db, clock, ledger, transactions, customers } = deps
  const batched = createBatcher({
    db,
    work: createTake(deps),
    callsMax: newsPerBatchMax,
    batchesMax: batchesUnderWayMax,
    partnerOf: ({ partnerId }: DepositNews) => partnerId,
    sharded: deps.sharded,
    // For a few hundred rows a plan would read small tables whole, and go on so once they have grown.
    byIndex: true,
  })
  const take = async (news: DepositNews): Promise<boolean> => {
    for (;;) {
      const taken = await batched(news)
      if (taken !== 'again') return taken
    }
  }
  return {
    open: async (deposit, opened) => {
      const { partnerId, operation, idempotencyKey } = deposit
      const customer = await customers.find(db, partnerId, deposit.customerRef, '/customerId')
      const requestFingerprint = sameness(deposit, customer)
      return once({
        requestFingerprint,
        find: async () =>
          idempotencyKey === null ? undefined : store.depositByKey(db, partnerId, operation, idempotencyKey),
        make: () =>
          db.transaction(async (tx) => {
            const row = await insert(deps, tx, deposit, customer, requestFingerprint)
            await opened(tx, row.id)
            return row
          }),
      })
    },
    take,
    expireDue: async (depositsMax) => {
      const due = await store.expiredDeposits(db, clock.now(), depositsMax)
      const outcomes = await Promise.allSettled(
        due.map(({ partnerId, id }) => take({ kind: 'expired', partnerId, subjectId: id })),
      )
      const failures = outcomes.flatMap((outcome): unknown[] => (outcome.status === 'rejected' ? [outcome.reason] : []))
      const away = failures.find((failure) => failure instanceof Unreachable)
      if (away !== undefined) throw away
      if (failures.length > 0) throw new Error(`deposits not expired: ${failures.length}`, { cause: failures[0] })
      return due.length
    },
    bookOwn: async (tx, partnerId, currency, amount) => {
      const opened = await transactions.open(tx, {
        partnerId,
        reference: null,
        amount,
        currency,
        category: 'Deposit',
        direction: 'Inward',
        type: 'PartnerDeposit',
        rail: null,
        customerId: null,
        steps: ['Created'],
      })
      const { reference } = opened
      await ledger.transfer(tx, { ...credit(deps, partnerId), currency, amount, partyId: partnerId, reference })
      await transactions.conclude(tx, partnerId, opened.id, { status: 'Completed', steps: ['Settled', 'Credited'] })
      return reference
    },
  }
}

function sameness(deposit: NewDeposit, customer: Customer): string {
  const { amount, currency, websiteReference, customFields, variant } = deposit
  return JSON.stringify([customer.id, amount.toString(), currency, websiteReference, customFields, variant])
}

async function insert(
  { clock, access, eventOutbox, transactions }: DepositsDeps,
  tx: Tx,
  deposit: NewDeposit,
  customer: Customer,
  requestFingerprint: string,
): Promise<store.DepositRow> {
  const { partnerId, amount, currency, idempotencyKey, websiteReference, customFields } = deposit
  const now = clock.now()
  const [id, sessionId] = [newId(), newId()]
  const endToEndId = id.replaceAll('-', '')
  const opened = await transactions.open(tx, {
    partnerId,
    reference: null,
    amount,
    currency,
    category: 'Deposit',
    direction: 'Inward',
    type: 'PartnerCustomerDeposit',
    rail: currency === 'EUR' ? 'Sepa' : 'Swift',
    customerId: customer.id,
    steps: ['Created'],
    endToEndId,
    sessionId,
    websiteReference,
    idempotencyKey,
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
    paymentMethod: currency === 'EUR' ? 'SepaCreditTransfer' : 'Swift',
    paymentCountry,
    ipAddress: deposit.ip,
    websiteReference,
    customFields: customFields === null ? null : JSON.stringify(customFields),
    debtor: null,
    errorDetails: null,
    expiresAt,
    expiryDate: expiresAt,
    createdAt: now,
    updatedAt: now,
  }
  if ((await store.insertDeposit(tx, row)) === 0) throw new KeyTaken()
  const partnerName = await access.partnerName(tx, partnerId)
  eventOutbox.append(tx, partnerId, 'partner.customer.deposit.created', now, events.created(row, customer, partnerName))
  return row
}
