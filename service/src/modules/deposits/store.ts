/** All SQL of deposits. */
import type { PaymentMethod } from '@partner-payments/wire'
import type { Currency, Minor } from '../../kernel/index.ts'
import { acrossPartners, dueWork, givenBy, ofPartners, unprepared, sql, type Tx } from '../../postgres/index.ts'
import type { Unfinished } from '../../lifecycle/index.ts'
import type { DepositStatus } from './rules.ts'

/** The columns that status changes and events read. */
export type Deposit = {
  readonly partnerId: string
  readonly id: string
  readonly idempotencyKey: string | null
  readonly transactionId: string
  readonly reference: string
  readonly customerId: string
  readonly amount: Minor
  readonly currency: Currency
  readonly status: DepositStatus
  readonly sessionId: string
  readonly endToEndId: string
  readonly paymentMethod: PaymentMethod
  readonly paymentCountry: string
  readonly ipAddress: string
  readonly websiteReference: string | null
  readonly customFields: string | null
  readonly debtor: string | null
  readonly expiresAt: Date | null
  /** Since when the bank has the payment, until it has ended. */
  readonly heldSince: Date | null
  readonly expiryDate: Date
  readonly createdAt: Date
}
export type DepositRow = Deposit & {
  readonly operation: string
  readonly requestFingerprint: string
  readonly errorDetails: string | null
  readonly updatedAt: Date
}

const facts = sql`partner_id, id, idempotency_key, transaction_id, reference, customer_id, amount, currency, status,
  session_id, end_to_end_id, payment_method, payment_country, ip_address, website_reference, custom_fields, debtor,
  expires_at, held_since, expiry_date, created_at`
/** The fingerprint of a request had this name when the column was made; processes of earlier versions use it. */
const stored = sql`${facts}, operation, request_hash, error_details, updated_at`
const columns = sql`${facts}, operation, request_hash as request_fingerprint, error_details, updated_at`

/** Returns 1, or 0 if the key is taken. Waits for a concurrent transaction that inserts the same key. */
export function insertDeposit(tx: Tx, row: DepositRow): Promise<number> {
  return tx.run(sql`/* deposits.insertDeposit */
    insert into deposits.deposits (${stored})
    values (${row.partnerId}, ${row.id}, ${row.idempotencyKey}, ${row.transactionId}, ${row.reference},
      ${row.customerId}, ${row.amount}, ${row.currency}, ${row.status}, ${row.sessionId}, ${row.endToEndId},
      ${row.paymentMethod}, ${row.paymentCountry}, ${row.ipAddress}, ${row.websiteReference}, ${row.customFields},
      ${row.debtor}, ${row.expiresAt}, ${row.heldSince}, ${row.expiryDate}, ${row.createdAt}, ${row.operation}, ${row.requestFingerprint},
      ${row.errorDetails}, ${row.updatedAt})
    on conflict (partner_id, operation, idempotency_key) do nothing`)
}

export function depositByKey(
  tx: Tx,
  partnerId: string,
  operation: string,
  key: string,
): Promise<DepositRow | undefined> {
  return tx.row<DepositRow>(sql`/* deposits.depositByKey */
    select ${columns} from deposits.deposits
    where partner_id = ${partnerId} and operation = ${operation} and idempotency_key = ${key}`)
}

export type DepositKey = { readonly partnerId: string; readonly id: string }

/** The deposits of checkout sessions, in no order. */
export function depositsByIds(tx: Tx, keys: readonly DepositKey[]): Promise<readonly Deposit[]> {
  return tx.rows<Deposit>(sql`/* deposits.depositsByIds */
    select ${facts} from deposits.deposits
    where ${ofPartners(keys.map((key) => key.partnerId))} and id = any(${keys.map((key) => key.id)}::uuid[])`)
}

/** Locks in the order of the ids, so that two batches cannot deadlock. */
export function lockDeposits(tx: Tx, keys: readonly DepositKey[]): Promise<readonly Deposit[]> {
  return tx.rows<Deposit>(sql`/* deposits.lockDeposits */
    select ${facts} from deposits.deposits
    where ${ofPartners(keys.map((key) => key.partnerId))} and id = any(${keys.map((key) => key.id)}::uuid[])
    order by id for update`)
}

/** When the oldest deposit that is still to be expired was due. */
export async function oldestExpired(tx: Tx, now: Date): Promise<Date | null> {
  const row = await tx.row<{ expiresAt: Date }>(
    acrossPartners(
      'reads the age of the oldest deposit to expire, for a metric',
      sql`/* deposits.oldestExpired */ select expires_at from deposits.deposits where expires_at <= ${now} order by expires_at limit 1`,
    ),
  )
  return row?.expiresAt ?? null
}

/** Deposits that are due to expire: the due-work scan, without a lock. */
export function expiredDeposits(
  tx: Tx,
  now: Date,
  rowsMax: number,
): Promise<readonly { readonly partnerId: string; readonly id: string }[]> {
  return tx.rows(
    dueWork(
      'finds partners with deposits to expire, without a lock',
      (whose) => sql`/* deposits.expiredDeposits */
      select partner_id, id from deposits.deposits where expires_at <= ${now} and ${whose()}
      order by expires_at limit ${rowsMax}`,
    ),
  )
}

export type DepositChange = DepositKey & {
  /** The status that was judged under the lock. */
  readonly fromStatus: DepositStatus
  readonly status: DepositStatus
  /** Null leaves the stored debtor unchanged. */
  readonly debtor: string | null
  readonly errorDetails: string | null
  readonly expiresAt: Date | null
  readonly heldSince: Date | null
  /** Null leaves the stored value, as for `paymentCountry`. */
  readonly ipAddress: string | null
  readonly paymentCountry: string | null
}

/** Most changes of a batch have the same values in these columns. */
const givenChanges = givenBy<DepositChange>(
  {
    partnerId: 'uuid',
    id: 'uuid',
    fromStatus: 'text',
    status: 'text',
    debtor: 'json',
    errorDetails: 'text',
    expiresAt: 'timestamptz',
    heldSince: 'timestamptz',
    ipAddress: 'text',
    paymentCountry: 'text',
  },
  [
    ['partnerId'],
    ['fromStatus', 'status', 'errorDetails'],
    ['debtor'],
    ['expiresAt', 'heldSince'],
    ['ipAddress', 'paymentCountry'],
  ],
)

/**
 * Each deposit once; the caller holds their locks. A deposit in another status than `fromStatus` fails the transaction.
 * Unprepared, so that the plan suits the number of rows and partners.
 */
export function updateDeposits(tx: Tx, changes: readonly DepositChange[], now: Date): void {
  const partnerIds = changes.map((change) => change.partnerId)
  tx.later(
    unprepared(sql`/* deposits.updateDeposits */
    update deposits.deposits as deposit set status = given.status, debtor = coalesce(given.debtor, deposit.debtor),
      error_details = given.error_details, expires_at = given.expires_at, held_since = given.held_since,
      ip_address = coalesce(given.ip_address, deposit.ip_address),
      payment_country = coalesce(given.payment_country, deposit.payment_country), updated_at = ${now}
    from (${givenChanges(changes)}) as given
    where ${ofPartners(partnerIds, sql`deposit.partner_id`)}
      and deposit.partner_id = given.partner_id and deposit.id = given.id and deposit.status = given.from_status`),
    changes.length,
  )
}

/** The deposit that the bank has had for the longest time without an end, of all partners. */
export function oldestHeld(tx: Tx): Promise<Unfinished | undefined> {
  return tx.row<Unfinished>(
    acrossPartners(
      'finds the deposit that stands still for the longest time, by an index',
      sql`/* deposits.oldestHeld */
        select partner_id, id, status, null as connector, held_since as since from deposits.deposits
        where held_since is not null order by held_since limit 1`,
    ),
  )
}
