/** All SQL of payouts. */
import type { AccountType, ErrorKey, Rail } from '@partner-payments/wire'
import type { Currency } from '../../kernel/index.ts'
import {
  columnOf,
  dueWork,
  fieldsOf,
  firstPartners,
  givenBy,
  insertBy,
  namesOf,
  noSql,
  ofPartners,
  type PartnerPage,
  type RowOf,
  type Sql,
  sql,
  type Tx,
  unprepared,
} from '../../postgres/index.ts'
import { payoutOperations, type PayoutStatus } from './rules.ts'

const types = {
  partnerId: 'uuid',
  id: 'uuid',
  operation: 'text',
  idempotencyKey: 'text?',
  requestFingerprint: 'text',
  transactionId: 'uuid',
  reference: 'text',
  reserveId: 'uuid',
  beneficiaryId: 'uuid?',
  customerId: 'uuid?',
  amount: 'bigint',
  currency: 'text',
  creditorName: 'text',
  creditorAccount: 'text',
  creditorBic: 'text?',
  creditorCountry: 'text',
  /** The type of an American account. Null: it is not known. */
  creditorAccountType: 'text?',
  /** JSON: `PayeeAddress`. Null: the beneficiary had none. */
  creditorAddressJson: 'json?',
  remittance: 'text?',
  rail: 'text',
  connector: 'text',
  /** The id of the instruction, made by us: `instructionIdOf`. */
  endToEndId: 'text',
  /** The end-to-end id of the partner, which may repeat: `endToEndIdSent`. Null: it gave none. */
  partnerEndToEndId: 'text?',
  ipAddress: 'text',
  simulatedOutcome: 'text?',
  status: 'text',
  errorKey: 'text?',
  errorDetails: 'text?',
  sendAttempts: 'integer',
  dueAt: 'timestamptz?',
  leaseId: 'uuid?',
  /** The amount that was sold for `amount`, by the quote. Null: the payout was paid from a balance in its currency. */
  soldAmount: 'bigint?',
  soldCurrency: 'text?',
  quoteId: 'uuid?',
  transactionHash: 'text?',
  /** The fee, in the currency of the balance that paid: `soldCurrency`, or `currency`. Null: none was taken. */
  feeAmount: 'bigint?',
  /** The end of the time for an approval. Null: it needed no approval. */
  approvalExpiresAt: 'timestamptz?',
  /** JSON: the counters of limits that have the amount (`readCounted`). Null: none has. */
  countedIn: 'json?',
  /** JSON: the amount by which rules over all currencies have judged it (`readReference`). Null: none has. */
  referenceAmount: 'json?',
  /** The notification that reported the settlement, and the one that rejected or returned the payment. Null: none has. */
  settledBy: 'text?',
  endedBy: 'text?',
  createdAt: 'timestamptz',
  updatedAt: 'timestamptz',
} as const
export type PayoutRow = RowOf<
  typeof types,
  {
    currency: Currency
    creditorAccountType: AccountType
    rail: Rail
    status: PayoutStatus
    errorKey: ErrorKey
    soldCurrency: Currency
  }
>

/** `isHeld`: it waited for a decision about a name. Absent once it was attempted. */
export type PayoutClaim = PayoutRow & { readonly leaseId: string; readonly isHeld?: boolean }
/** The fingerprint of a request had this name when the column was made; processes of earlier versions use it. An instruction has the address as an object. */
const storedAs = { requestFingerprint: 'request_hash', creditorAddressJson: 'creditor_address' }
const stored = namesOf(types, storedAs)
export const payoutColumns = fieldsOf(types, storedAs)
const newPayouts = insertBy<PayoutRow>(
  types,
  [
    ['partnerId', 'ipAddress'],
    ['operation', 'currency', 'rail', 'connector', 'status', 'sendAttempts', 'dueAt', 'createdAt', 'updatedAt'],
    ['simulatedOutcome', 'errorKey', 'errorDetails', 'leaseId'],
    [
      'soldAmount',
      'soldCurrency',
      'quoteId',
      'transactionHash',
      'countedIn',
      'referenceAmount',
      'settledBy',
      'endedBy',
    ],
    ['feeAmount', 'approvalExpiresAt'],
    ['partnerEndToEndId'],
  ],
  ['partnerId', 'operation', 'idempotencyKey'],
)

/**
 * A taken key is a unique violation (`payouts_key`). An insert waits for a concurrent transaction that inserted the key;
 * all inserts take keys in one order, so that two batches cannot deadlock.
 */
export function insertPayouts(tx: Tx, rows: readonly PayoutRow[]): void {
  tx.later(sql`/* payouts.insertPayouts */ insert into payouts.payouts (${stored}) ${newPayouts(tx, rows)}`)
}

export type PayoutKey = { readonly partnerId: string; readonly operation: string; readonly idempotencyKey: string }

/**
 * The payouts of these keys, and possibly others of the same partners: the caller matches partner, operation and key.
 * Compares each column with a list: a join with `unnest`, planned once for an empty table, reads every payout of a partner
 * (94 to 170 ms against 1 ms for two keys on 20,000 rows).
 */
export function payoutsByKeys(tx: Tx, keys: readonly PayoutKey[]): Promise<readonly PayoutRow[]> {
  return tx.rows<PayoutRow>(sql`/* payouts.payoutsByKeys */
    select ${payoutColumns} from payouts.payouts
    where ${ofPartners(keys.map((key) => key.partnerId))}
      and operation = any(${[...new Set(keys.map((key) => key.operation))]}::text[])
      and idempotency_key = any(${keys.map((key) => key.idempotencyKey)}::text[])`)
}

export function payoutById(tx: Tx, partnerId: string, id: string): Promise<PayoutRow | undefined> {
  return tx.row<PayoutRow>(
    sql`/* payouts.payoutById */ select ${payoutColumns} from payouts.payouts where partner_id = ${partnerId} and id = ${id}`,
  )
}

export type PayoutId = { readonly partnerId: string; readonly id: string }

/** The payouts that have one of these ids, one of these ids of an instruction, or the partner's end-to-end id with the reference. */
export function payoutsKnownAs(
  tx: Tx,
  partnerId: string,
  { ids, endToEndIds, references }: Readonly<Record<'ids' | 'endToEndIds' | 'references', readonly string[]>>,
): Promise<readonly PayoutRow[]> {
  return tx.rows<PayoutRow>(
    unprepared(sql`/* payouts.payoutsKnownAs */
      select ${payoutColumns} from payouts.payouts
      where partner_id = ${partnerId} and (id = any(${ids}::uuid[]) or end_to_end_id = any(${endToEndIds}::text[])
        or (partner_end_to_end_id = any(${endToEndIds}::text[]) and reference = any(${references}::text[]))) order by id desc`),
  )
}

/** Locks in the order of the ids, so that two batches cannot deadlock. */
export function lockPayouts(tx: Tx, keys: readonly PayoutId[]): Promise<readonly PayoutRow[]> {
  return tx.rows<PayoutRow>(sql`/* payouts.lockPayouts */
    select ${payoutColumns} from payouts.payouts
    where ${ofPartners(keys.map((key) => key.partnerId))} and id = any(${keys.map((key) => key.id)}::uuid[])
    order by id for update`)
}

/** The payouts of these instructions, by their ids without hyphens, and possibly others of the same partners. */
export function payoutsOfInstructions(
  tx: Tx,
  keys: readonly { readonly partnerId: string; readonly endToEndId: string }[],
): Promise<readonly (PayoutId & { readonly endToEndId: string })[]> {
  return tx.rows(sql`/* payouts.payoutsOfInstructions */
    select partner_id, id, end_to_end_id from payouts.payouts
    where ${ofPartners(keys.map((key) => key.partnerId))}
      and end_to_end_id = any(${keys.map((key) => key.endToEndId)}::text[])`)
}

/** Partners after `after` that have due payouts of the connector. Takes no lock. */
export const partnersWithDue = (
  tx: Tx,
  connector: string,
  now: Date,
  after: string,
  partnersMax: number,
): Promise<PartnerPage> =>
  firstPartners(tx, partnersMax, (rowsMax) =>
    dueWork('finds partners with payouts due, without a lock', (whose) =>
      unprepared(sql`/* payouts.partnersWithDue */
        select partner_id from payouts.payouts
        where connector = ${connector} and due_at <= ${now} and partner_id > ${after} and ${whose()}
        order by partner_id limit ${rowsMax}`),
    ),
  )

export type DuePayout = PayoutRow & { readonly isHeld: boolean }
type Due = { readonly connector: string; readonly now: Date; readonly payoutsMax: number }

const dueColumns = sql`${payoutColumns}, screening_since is not null as is_held`

/** The ids of at most `payoutsMax` due payouts of each partner, oldest first. On a sharded database there is one partner. */
const dueIds = (partnerIds: readonly string[], { connector, now, payoutsMax }: Due, which: Sql, lock: Sql): Sql =>
  partnerIds
    .map(
      (partnerId) => sql`array(
        select id from payouts.payouts
        where connector = ${connector} and partner_id = ${partnerId} and due_at <= ${now} ${which}
        order by due_at ${lock} limit ${payoutsMax})`,
    )
    .reduce((all, one) => sql`${all} || ${one}`)

/** Due payouts of a connector, of some partners. Takes no lock. */
export function duePayouts(tx: Tx, partnerIds: readonly string[], due: Due): Promise<readonly DuePayout[]> {
  return tx.rows(
    unprepared(sql`/* payouts.duePayouts */
    select ${dueColumns} from payouts.payouts
    where ${ofPartners(partnerIds)} and id = any(${dueIds(partnerIds, due, noSql, noSql)})`),
  )
}

/** Claims due payouts of a connector, of some partners, under a lease. Until the lease ends, no other scan finds them due. */
export function claimDue(
  tx: Tx,
  partnerIds: readonly string[],
  claim: Due & {
    readonly leaseId: string
    readonly leaseUntil: Date
    /** Only payouts that wait for a decision. */
    readonly isHeld?: boolean
    /** Only these payouts. */
    readonly ids?: readonly string[]
  },
): Promise<readonly DuePayout[]> {
  const held = claim.isHeld === true ? sql`and screening_since is not null and status = 'Pending'` : noSql
  const among = claim.ids === undefined ? noSql : sql`and id = any(${claim.ids}::uuid[])`
  return tx.rows(
    unprepared(sql`/* payouts.claimDue */
    update payouts.payouts set lease_id = ${claim.leaseId}, due_at = ${claim.leaseUntil}
    where ${ofPartners(partnerIds)}
      and id = any(${dueIds(partnerIds, claim, sql`${held} ${among}`, sql`for update skip locked`)})
    returning ${dueColumns}`),
  )
}

export async function releaseLeases(tx: Tx, partnerId: string, now: Date): Promise<void> {
  await tx.run(sql`/* payouts.releaseLeases */
    update payouts.payouts set lease_id = null, due_at = ${now} where partner_id = ${partnerId} and lease_id is not null`)
}

const changeTypes = {
  partnerId: 'uuid',
  id: 'uuid',
  /** The status that was judged under the lock. */
  fromStatus: 'text',
  status: 'text',
  errorKey: 'text?',
  errorDetails: 'text?',
  sendAttempts: 'integer',
  dueAt: 'timestamptz?',
  leaseId: 'uuid?',
  /** Null leaves the stored ones unchanged. */
  transactionHash: 'text?',
  settledBy: 'text?',
  endedBy: 'text?',
} as const
export type PayoutChange = RowOf<
  typeof changeTypes,
  { fromStatus: PayoutStatus; status: PayoutStatus; errorKey: ErrorKey }
>

/** Most changes of a batch have the same values in these columns. */
const givenChanges = givenBy<PayoutChange>(changeTypes, [
  ['partnerId'],
  ['fromStatus', 'status', 'errorKey', 'errorDetails'],
  ['sendAttempts', 'dueAt', 'leaseId'],
  ['transactionHash', 'settledBy', 'endedBy'],
])

/**
 * Each payout once; the caller holds their locks. A payout in another status than `fromStatus` fails the transaction.
 * Unprepared, so that the plan suits the number of rows and partners.
 */
export function updatePayouts(tx: Tx, changes: readonly PayoutChange[], now: Date): void {
  const partnerIds = changes.map((change) => change.partnerId)
  tx.later(
    unprepared(sql`/* payouts.updatePayouts */
    update payouts.payouts as payout set status = given.status, error_key = given.error_key,
      error_details = given.error_details, send_attempts = given.send_attempts, due_at = given.due_at,
      lease_id = given.lease_id,
      transaction_hash = coalesce(given.transaction_hash, payout.transaction_hash),
      settled_by = coalesce(given.settled_by, payout.settled_by), ended_by = coalesce(given.ended_by, payout.ended_by),
      updated_at = ${now}
    from (${givenChanges(changes)}) as given
    where ${ofPartners(partnerIds, sql`payout.partner_id`)}
      and payout.partner_id = given.partner_id and payout.id = given.id and payout.status = given.from_status`),
    changes.length,
  )
}

/** Notes the bank's result for the payee of a payout that it has. Undefined: the payout has it, has ended, or is unknown. */
export function notePayeeCheck(
  tx: Tx,
  { partnerId, endToEndId }: { readonly partnerId: string; readonly endToEndId: string },
  payee: string,
): Promise<Pick<PayoutRow, 'transactionId' | 'beneficiaryId' | 'creditorName' | 'creditorAccount'> | undefined> {
  return tx.row(sql`/* payouts.notePayeeCheck */
    update payouts.payouts set payee_check = ${payee}
    where partner_id = ${partnerId} and end_to_end_id = ${endToEndId} and status in ('Processing', 'Sent')
      and payee_check is distinct from ${payee}
    returning transaction_id, beneficiary_id, creditor_name, creditor_account`)
}

export type PayoutFilter = {
  readonly status: string | null
  readonly beneficiaryId: string | null
  readonly customerId: string | null
  readonly currency: string | null
  /** A reference, with the end-to-end id of its transaction, by which payouts are indexed. Null: no transaction has it. */
  readonly reference: { readonly text: string; readonly endToEndId: string | null } | null
  readonly idempotencyKey: string | null
  readonly createdFrom: Date | null
  readonly createdTo: Date | null
}

export function listPayouts(
  tx: Tx,
  partnerId: string,
  filter: PayoutFilter,
  afterId: string | null,
  rowsMax: number,
): Promise<readonly PayoutRow[]> {
  const { status, beneficiaryId, customerId, currency, reference, idempotencyKey, createdFrom, createdTo } = filter
  // Ids follow the time, but PostgreSQL cannot infer it: a filter by time needs the order by time to use its index.
  const byTime = createdFrom !== null || createdTo !== null
  // The operations are named, because the index begins with them: before PostgreSQL 18 it skips no column.
  const afterCursor = byTime
    ? sql`and (created_at, id) < (select created_at, id from payouts.payouts
        where partner_id = ${partnerId} and id = ${afterId})`
    : sql`and id < ${afterId}`
  const order = byTime ? sql`created_at desc, id desc` : sql`id desc`
  const [first = noSql, ...others] = namingsOf(reference).map(
    (named) => sql`from payouts.payouts where partner_id = ${partnerId} ${named}
    ${afterId === null ? noSql : afterCursor}
    ${status === null ? noSql : sql`and status = ${status}`}
    ${beneficiaryId === null ? noSql : sql`and beneficiary_id = ${beneficiaryId}`}
    ${customerId === null ? noSql : sql`and customer_id = ${customerId}`}
    ${currency === null ? noSql : sql`and currency = ${currency}`}
    ${idempotencyKey === null ? noSql : sql`and operation = any(${payoutOperations}::text[]) and idempotency_key = ${idempotencyKey}`}
    ${createdFrom === null ? noSql : sql`and created_at >= ${createdFrom}`}
    ${createdTo === null ? noSql : sql`and created_at < ${createdTo}`}
    order by ${order} limit ${rowsMax}`,
  )
  const more = others.reduce((all, page) => sql`${all} union all (select ${payoutColumns} ${page})`, noSql)
  return tx.rows<PayoutRow>(sql`/* payouts.listPayouts */
    select named.* from ((select ${payoutColumns} ${first}) ${more}) as named
    order by ${order} limit ${rowsMax}`)
}

/** A payout is named by its reference, and by what the partner said if that is another text. Each has an index. */
function namingsOf(reference: PayoutFilter['reference']): readonly Sql[] {
  if (reference === null) return [noSql]
  const { text, endToEndId } = reference
  const byText = sql`and remittance <> reference and remittance = ${text}`
  if (endToEndId === null) return [byText]
  const byReference = sql`and (end_to_end_id = ${endToEndId} or partner_end_to_end_id = ${endToEndId}) and reference = ${text}`
  return [byReference, byText]
}

/** Stores the addresses that payouts got after they were accepted. */
export async function putAddresses(
  tx: Tx,
  partnerId: string,
  rows: readonly Pick<PayoutRow, 'id' | 'creditorAddressJson'>[],
): Promise<void> {
  const column = columnOf(rows)
  await tx.run(sql`/* payouts.putAddresses */
    update payouts.payouts as payout set creditor_address = given.address
    from unnest(${column('id')}::uuid[], ${column('creditorAddressJson')}::text[]) as given (id, address)
    where payout.partner_id = ${partnerId} and payout.id = given.id and payout.creditor_address is null`)
}
