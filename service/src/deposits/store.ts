/** All SQL of deposits. */
import type { PaymentMethod } from '@partner-payments/wire'
import type { Currency, RowKey, Money } from '../kernel/index.ts'
import {
  acrossPartners,
  dueWork,
  unnestSource,
  insertBy,
  noSql,
  ofPartners,
  type RowOf,
  type Sql,
  sql,
  type Tx,
  unprepared,
} from '../postgres/index.ts'
import type { UnfinishedPayment } from '../lifecycle/index.ts'
import type { DepositStatus } from './lifecycle.ts'

const types = {
  partnerId: 'uuid',
  id: 'uuid',
  idempotencyKey: 'text?',
  transactionId: 'uuid',
  reference: 'text',
  /** Null: a deposit of the partner itself. */
  customerId: 'uuid?',
  amount: 'bigint',
  currency: 'text',
  status: 'text',
  sessionId: 'text',
  endToEndId: 'text',
  paymentMethod: 'text',
  paymentCountry: 'text',
  ipAddress: 'text',
  websiteReference: 'text?',
  customFields: 'text?',
  debtor: 'text?',
  expiresAt: 'timestamptz?',
  /** Time since which the bank has had the payment. Null after it has ended. */
  heldSince: 'timestamptz?',
  expiryDate: 'timestamptz',
  createdAt: 'timestamptz',
  /** The connector that reported the credit of the deposit, and its id of that credit. */
  connector: 'text?',
  creditId: 'text?',
  transactionHash: 'text?',
  /** The notification that reported the money. Null: none has, or the row is older than the column. */
  settledBy: 'text?',
  /** Remittance, references and items that may name a vessel. Null for most deposits. */
  craftText: 'text?',
  /** Several payments add up to the amount. */
  inParts: 'boolean',
  /** When the bank reversed the credit, or a part of it. */
  reversedAt: 'timestamptz?',
  /** The notification that reversed the credit. Null: none has, or the row is older than the column. */
  reversedBy: 'text?',
  operation: 'text',
  requestFingerprint: 'text',
  errorDetails: 'text?',
  updatedAt: 'timestamptz',
  /** ISO 11649. The payer identifies the deposit by this reference. */
  creditorReference: 'text?',
} as const
export type DepositRow = RowOf<
  typeof types,
  { currency: Currency; status: DepositStatus; paymentMethod: PaymentMethod }
>
/** Columns that status changes and events read. */
export type Deposit = Omit<
  DepositRow,
  'operation' | 'requestFingerprint' | 'errorDetails' | 'updatedAt' | 'creditorReference'
>

const facts = sql`partner_id, id, idempotency_key, transaction_id, reference, customer_id, amount, currency, status,
  session_id, end_to_end_id, payment_method, payment_country, ip_address, website_reference, custom_fields, debtor,
  expires_at, held_since, expiry_date, created_at, connector, credit_id, transaction_hash, settled_by, craft_text, in_parts, reversed_at, reversed_by`
/** `request_hash` is the request fingerprint: processes of earlier versions use the old name. */
const stored = sql`${facts}, operation, request_hash, error_details, updated_at,
  creditor_reference`
const columns = sql`${facts}, operation, request_hash as request_fingerprint, error_details,
  updated_at, creditor_reference`

const newDeposits = insertBy<DepositRow>(
  types,
  [
    ['partnerId'],
    ['operation', 'inParts', 'connector', 'status', 'reversedAt', 'reversedBy', 'createdAt', 'updatedAt'],
  ],
  ['partnerId', 'operation', 'idempotencyKey', 'connector', 'creditId'],
)

/**
 * Returns the number of inserted rows: zero if the key is taken. Waits for a concurrent insert of the same key. A
 * second deposit for a credit is a unique violation (`deposits_credit`).
 */
export function insertDeposits(tx: Tx, rows: readonly DepositRow[]): Promise<number> {
  return tx.run(sql`/* deposits.insertDeposits */
    insert into deposits.deposits (${stored}) ${newDeposits(tx, rows)}
    on conflict (partner_id, operation, idempotency_key) do nothing`)
}

export function depositByKey(
  tx: Tx,
  partnerId: string,
  operation: string,
  key: string,
): Promise<DepositRow | undefined> {
  return tx.row(sql`/* deposits.depositByKey */
    select ${columns} from deposits.deposits
    where partner_id = ${partnerId} and operation = ${operation} and idempotency_key = ${key}`)
}

/** Reads the time of the last step of a deposit that is completed and not reversed. */
export async function creditedAt(tx: Tx, partnerId: string, id: string): Promise<Date | undefined> {
  const found = await tx.row<{ updatedAt: Date }>(sql`/* deposits.creditedAt */
    select updated_at from deposits.deposits
    where partner_id = ${partnerId} and id = ${id} and status = 'Completed' and reversed_at is null`)
  return found?.updatedAt
}

/** Reads deposits by id, in no order. */
export function depositsByIds(tx: Tx, keys: readonly RowKey[]): Promise<readonly Deposit[]> {
  return tx.rows<Deposit>(sql`/* deposits.depositsByIds */
    select ${facts} from deposits.deposits
    where ${ofPartners(keys.map((key) => key.partnerId))} and id = any(${keys.map((key) => key.id)}::uuid[])`)
}

/** SQL that reads the deposits of sessions, for the lists of checkout. */
export const sessionReads = {
  /**
   * Selects sessions by the status of their deposits, with the index `deposits_of_sessions`. `before` is the cursor.
   * Null: all.
   */
  inStatus: (partnerId: string, status: DepositStatus, before: string | null): Sql => sql`/* deposits.inStatus */
    select session_id::uuid as session_id from deposits.deposits
    where partner_id = ${partnerId} and operation = 'createCheckoutSession' and status = ${status}
      ${before === null ? noSql : sql`and session_id::uuid < ${before}`}`,
  money: (partnerId: string): Sql => sql`/* deposits.money */
    select id, currency, amount from deposits.deposits where partner_id = ${partnerId}`,
} as const

/** Reads the deposits of transactions, in no order. */
export async function depositsByReferences(
  tx: Tx,
  partnerId: string,
  references: readonly string[],
): Promise<readonly Deposit[]> {
  if (references.length === 0) return []
  return tx.rows<Deposit>(sql`/* deposits.depositsByReferences */
    select ${facts} from deposits.deposits
    where partner_id = ${partnerId} and reference = any(${references}::text[])`)
}

/** Locks deposits in the order of their ids, so that two batches cannot deadlock. */
export function lockDeposits(tx: Tx, keys: readonly RowKey[]): Promise<readonly Deposit[]> {
  return tx.rows<Deposit>(sql`/* deposits.lockDeposits */
    select ${facts} from deposits.deposits
    where ${ofPartners(keys.map((key) => key.partnerId))} and id = any(${keys.map((key) => key.id)}::uuid[])
    order by id for update`)
}

/** Finds which of these credits are known. May return others of the same partners. */
export function knownCreditsOf(
  tx: Tx,
  keys: readonly { readonly partnerId: string; readonly creditId: string }[],
): Promise<readonly (RowKey & { readonly connector: string; readonly creditId: string })[]> {
  return tx.rows(sql`/* deposits.knownCreditsOf */
    select partner_id, id, connector, credit_id from deposits.deposits
    where ${ofPartners(keys.map((key) => key.partnerId))} and credit_id = any(${keys.map((key) => key.creditId)}::text[])`)
}

export type ReferencedDeposit = RowKey & { readonly creditorReference: string; readonly status: DepositStatus }

/** Finds deposits by creditor reference. */
export function depositsByCreditorReference(
  tx: Tx,
  references: readonly string[],
): Promise<readonly ReferencedDeposit[]> {
  return tx.rows<ReferencedDeposit>(
    acrossPartners(
      'finds deposits by what a payer wrote, which does not name the partner, by an index',
      sql`/* deposits.depositsByCreditorReference */
        select partner_id, id, creditor_reference, status from deposits.deposits
        where creditor_reference = any(${references}::text[])`,
    ),
  )
}

/** Finds the deposits that credits have paid or created, or of which they are parts. */
export function findDepositsOfCredits(
  tx: Tx,
  creditIds: readonly string[],
): Promise<readonly (RowKey & { readonly connector: string; readonly creditId: string })[]> {
  return tx.rows(
    acrossPartners(
      'finds the deposits of credits, whose partner the bank does not name, by the indexes of credits',
      sql`/* deposits.findDepositsOfCredits */
        select partner_id, id, connector, credit_id from deposits.deposits where credit_id = any(${creditIds}::text[])
        union all
        select partner_id, deposit_id, connector, credit_id from deposits.parts where credit_id = any(${creditIds}::text[])`,
    ),
  )
}

/** Finds the deposit that a credit has paid or created. */
export function findDepositOfCredit(tx: Tx, connector: string, creditId: string): Promise<RowKey | undefined> {
  return tx.row<RowKey>(
    acrossPartners(
      'finds the deposit of a credit, whose partner its reversal does not name, by an index',
      sql`/* deposits.findDepositOfCredit */
        select partner_id, id from deposits.deposits where credit_id = ${creditId} and connector = ${connector}`,
    ),
  )
}

/** Reads the money of a credit that a partner has received. */
export function readMoneyOfCredit(
  tx: Tx,
  partnerId: string,
  connector: string,
  creditId: string,
): Promise<Money | undefined> {
  return tx.row(sql`/* deposits.readMoneyOfCredit */
    select amount, currency from deposits.deposits
    where partner_id = ${partnerId} and connector = ${connector} and credit_id = ${creditId}`)
}

export async function markReversed(tx: Tx, { partnerId, id }: RowKey, by: string, now: Date): Promise<void> {
  await tx.run(sql`/* deposits.markReversed */
    update deposits.deposits set reversed_at = ${now}, reversed_by = ${by}, updated_at = ${now}
    where partner_id = ${partnerId} and id = ${id}`)
}

/** Finds when the next deposit expires. */
export const depositsDue = (after: Date): Sql =>
  dueWork(
    'reads when the next deposit expires',
    (whose) => sql`/* deposits.depositsDue */
      select expires_at as due_at from deposits.deposits where expires_at > ${after} and ${whose()}
      order by expires_at limit 1`,
  )

/** Lists deposits that are due to expire: the due-work scan, without a lock. */
export function expiredDeposits(tx: Tx, now: Date, rowsMax: number): Promise<readonly RowKey[]> {
  return tx.rows(
    dueWork(
      'finds partners with deposits to expire, without a lock',
      (whose) => sql`/* deposits.expiredDeposits */
      select partner_id, id from deposits.deposits where expires_at <= ${now} and ${whose()}
      order by expires_at limit ${rowsMax}`,
    ),
  )
}

const changeTypes = {
  partnerId: 'uuid',
  id: 'uuid',
  /** The status that was read under the lock. */
  fromStatus: 'text',
  status: 'text',
  /** Null: the stored debtor stays. */
  debtor: 'json?',
  errorDetails: 'text?',
  expiresAt: 'timestamptz?',
  heldSince: 'timestamptz?',
  /** Time since which the deposit waits for a decision about a name, and the time of the next check. */
  screeningSince: 'timestamptz?',
  screeningDueAt: 'timestamptz?',
  /** Null: the stored value stays, as for `paymentCountry`. */
  ipAddress: 'text?',
  paymentCountry: 'text?',
  /** Null: the stored values stay. */
  connector: 'text?',
  creditId: 'text?',
  transactionHash: 'text?',
  settledBy: 'text?',
  /** Null: the stored text stays. */
  craftText: 'text?',
} as const
export type DepositChange = RowOf<typeof changeTypes, { fromStatus: DepositStatus; status: DepositStatus }>

/** Most changes of a batch have the same values in these columns. */
const givenChanges = unnestSource<DepositChange>(changeTypes, [
  ['partnerId'],
  ['fromStatus', 'status', 'errorDetails'],
  ['debtor'],
  ['expiresAt', 'heldSince'],
  ['screeningSince', 'screeningDueAt'],
  ['ipAddress', 'paymentCountry'],
  ['connector', 'creditId', 'transactionHash', 'settledBy'],
  ['craftText'],
])

/**
 * Updates each deposit once, under the caller's locks. A deposit that is not in `fromStatus` fails the transaction.
 * Unprepared, so that the plan suits the number of rows and partners.
 */
export function updateDeposits(tx: Tx, changes: readonly DepositChange[], now: Date): void {
  const partnerIds = changes.map((change) => change.partnerId)
  tx.later(
    unprepared(sql`/* deposits.updateDeposits */
    update deposits.deposits as deposit set status = given.status, debtor = coalesce(given.debtor, deposit.debtor),
      error_details = given.error_details, expires_at = given.expires_at, held_since = given.held_since,
      screening_since = given.screening_since, screening_due_at = given.screening_due_at,
      ip_address = coalesce(given.ip_address, deposit.ip_address),
      payment_country = coalesce(given.payment_country, deposit.payment_country),
      connector = coalesce(given.connector, deposit.connector), credit_id = coalesce(given.credit_id, deposit.credit_id),
      transaction_hash = coalesce(given.transaction_hash, deposit.transaction_hash),
      settled_by = coalesce(given.settled_by, deposit.settled_by),
      craft_text = coalesce(given.craft_text, deposit.craft_text), updated_at = ${now}
    from (${givenChanges(changes)}) as given
    where ${ofPartners(partnerIds, sql`deposit.partner_id`)}
      and deposit.partner_id = given.partner_id and deposit.id = given.id and deposit.status = given.from_status`),
    changes.length,
  )
}

/** Finds the deposit that has waited longest at the bank, across all partners. */
export function oldestAtBank(tx: Tx): Promise<UnfinishedPayment | undefined> {
  return tx.row<UnfinishedPayment>(
    acrossPartners(
      'finds the deposit that the bank has had for the longest time, by an index',
      sql`/* deposits.oldestAtBank */
        select partner_id, id, status, null as connector, held_since as since from deposits.deposits
        where held_since is not null order by held_since limit 1`,
    ),
  )
}

/** Lists deposits in screening that are due for a check: the due-work scan, without a lock. */
export function depositsInScreening(tx: Tx, now: Date, rowsMax: number): Promise<readonly RowKey[]> {
  return tx.rows<RowKey>(
    dueWork(
      'finds partners with deposits that wait for a decision about a name, without a lock',
      (whose) => sql`/* deposits.depositsInScreening */
      select partner_id, id from deposits.deposits where screening_due_at <= ${now} and ${whose()}
      order by screening_due_at limit ${rowsMax}`,
    ),
  )
}

/** Finds when the next check of a waiting deposit is due. */
export const screenedDepositsDue = (after: Date): Sql =>
  dueWork(
    'reads when the next check of a deposit in screening is due',
    (whose) => sql`/* deposits.screenedDepositsDue */
      select screening_due_at as due_at from deposits.deposits where screening_due_at > ${after} and ${whose()}
      order by screening_due_at limit 1`,
  )

/** Postpones the next check of waiting deposits. Locks in the order of the ids, so that two workers cannot deadlock. */
export async function postponeScreening(tx: Tx, partnerId: string, ids: readonly string[], dueAt: Date): Promise<void> {
  await tx.run(sql`/* deposits.postponeScreening */
    update deposits.deposits set screening_due_at = ${dueAt}
    where partner_id = ${partnerId} and id = any(array(
      select id from deposits.deposits where partner_id = ${partnerId} and id = any(${ids}::uuid[])
        and screening_due_at is not null
      order by id for update))`)
}

/** Returns when the oldest waiting deposit of all partners began to wait. Null: no deposit waits. */
export async function oldestInScreening(tx: Tx): Promise<Date | null> {
  const row = await tx.row<{ since: Date }>(
    acrossPartners(
      'reads since when the oldest deposit waits for a decision about a name, for a metric',
      sql`/* deposits.oldestInScreening */ select screening_since as since from deposits.deposits
        where screening_since is not null order by screening_since limit 1`,
    ),
  )
  return row?.since ?? null
}

/** Reads the payer of a deposit. Undefined: no such deposit. */
export function readPayer(
  tx: Tx,
  { partnerId, id }: RowKey,
): Promise<
  { readonly debtor: string | null; readonly craftText: string | null; readonly isInScreening: boolean } | undefined
> {
  return tx.row(sql`/* deposits.readPayer */
    select debtor, craft_text, status = 'Screening' as is_in_screening from deposits.deposits
    where partner_id = ${partnerId} and id = ${id}`)
}

export type WaitingDepositRow = RowKey & {
  readonly status: string
  readonly screeningSince: Date | null
  readonly heldSince: Date | null
}
const waitingColumns = sql`partner_id, id, status, screening_since, held_since`

/** Lists deposits that wait for a decision about a name, the longest wait first. */
export function listHeldDeposits(tx: Tx, rowsMax: number): Promise<readonly WaitingDepositRow[]> {
  return tx.rows<WaitingDepositRow>(
    acrossPartners(
      'lists deposits that wait for a decision about a name, by an index',
      sql`/* deposits.listHeldDeposits */ select ${waitingColumns} from deposits.deposits
        where screening_since is not null order by screening_since limit ${rowsMax}`,
    ),
  )
}

/** Lists deposits that the bank has had since before a time, the longest wait first. */
export function listStuckDeposits(tx: Tx, before: Date, rowsMax: number): Promise<readonly WaitingDepositRow[]> {
  return tx.rows<WaitingDepositRow>(
    acrossPartners(
      'lists deposits that a bank has had for too long, by an index',
      sql`/* deposits.listStuckDeposits */ select ${waitingColumns} from deposits.deposits
        where held_since < ${before} order by held_since limit ${rowsMax}`,
    ),
  )
}

/** Reads the given deposits that may wait for an operator. */
export function waitingDepositsByIds(
  tx: Tx,
  partnerId: string,
  ids: readonly string[],
): Promise<readonly WaitingDepositRow[]> {
  return tx.rows<WaitingDepositRow>(sql`/* deposits.waitingDepositsByIds */
    select ${waitingColumns} from deposits.deposits
    where partner_id = ${partnerId} and id = any(${[...ids]}::uuid[]) and (screening_since is not null or held_since is not null)`)
}

/** Lists the deposits that a sanctions match holds: of a customer, a payer or a partner, the longest wait first. */
export function depositsOfHit(
  tx: Tx,
  { partnerId, subjectKind, subjectId }: Readonly<Record<'partnerId' | 'subjectKind' | 'subjectId', string>>,
  rowsMax: number,
): Promise<readonly (Pick<Deposit, 'id' | 'reference' | 'amount' | 'currency'> & { readonly since: Date })[]> {
  const ofParty = {
    customer: sql`customer_id = ${subjectId}`,
    payer: sql`id = ${subjectId}`,
    partner: sql`customer_id is null`,
  }[subjectKind]
  if (ofParty === undefined) return Promise.resolve([])
  return tx.rows(sql`/* deposits.depositsOfHit */
    select id, reference, amount, currency, screening_since as since from deposits.deposits
    where partner_id = ${partnerId} and screening_since is not null and ${ofParty}
    order by screening_since, id limit ${rowsMax}`)
}
