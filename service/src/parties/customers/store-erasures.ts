/** The SQL of erasures. A customer is erased under a lock that waits for every transaction that holds it (`holdByRef`). */
import { acrossPartners, dueWork, noSql, type Sql, sql, type Tx } from '../../postgres/index.ts'
import type { ErasurePhase } from './erasure-rules.ts'

export type ErasureRow = {
  readonly customerId: string
  readonly phase: ErasurePhase
  readonly position: string
  readonly requestedAt: Date
  readonly retainedUntil: Date | null
  readonly dueAt: Date | null
  readonly completedAt: Date | null
}

export type LockedCustomer = {
  readonly id: string
  readonly serviceId: string
  readonly email: string | null
  readonly kycSealed: Uint8Array
  readonly createdAt: Date
  readonly erasedAt: Date | null
}

/** Locks a customer. Waits for every transaction that holds it, and blocks further ones until the end of this one. */
export function lockToErase(tx: Tx, partnerId: string, id: string): Promise<LockedCustomer | undefined> {
  return tx.row<LockedCustomer>(sql`/* customers.lockToErase */
    select id, service_id, email, kyc_sealed, created_at, erased_at from customers.customers
    where partner_id = ${partnerId} and id = ${id} for update`)
}

/** Leaves a tombstone: ids, type, time of creation and the retained data. */
export async function eraseCustomer(
  tx: Tx,
  partnerId: string,
  { id, kycSealed, now }: { readonly id: string; readonly kycSealed: Uint8Array; readonly now: Date },
): Promise<void> {
  await tx.run(sql`/* customers.eraseCustomer */
    update customers.customers set email = null, partner_customer_identifier = null, kyc_sealed = ${kycSealed},
      name_tokens = '{}', erased_at = ${now}, updated_at = greatest(updated_at, ${now}::timestamptz),
      names_indexed_at = greatest(updated_at, ${now}::timestamptz), verification_state = null, verification_due_at = null
    where partner_id = ${partnerId} and id = ${id}`)
  await tx.run(sql`/* customers.eraseCustomer */
    delete from customers.name_tokens where partner_id = ${partnerId} and customer_id = ${id}`)
}

/** Replaces the retained data of an erased customer. */
export async function replaceRetainedKyc(tx: Tx, partnerId: string, id: string, kycSealed: Uint8Array): Promise<void> {
  await tx.run(sql`/* customers.replaceRetainedKyc */
    update customers.customers set kyc_sealed = ${kycSealed}
    where partner_id = ${partnerId} and id = ${id} and erased_at is not null`)
}

export async function rewriteChange(
  tx: Tx,
  partnerId: string,
  {
    id,
    fields,
    valuesSealed,
  }: { readonly id: string; readonly fields: readonly string[]; readonly valuesSealed: Uint8Array },
): Promise<void> {
  await tx.run(sql`/* customers.rewriteChange */
    update customers.changes set fields = ${fields}::text[], values_sealed = ${valuesSealed}
    where partner_id = ${partnerId} and id = ${id}`)
}

export async function deleteChanges(tx: Tx, partnerId: string, customerId: string): Promise<void> {
  await tx.run(sql`/* customers.deleteChanges */
    delete from customers.changes where partner_id = ${partnerId} and customer_id = ${customerId}`)
}

export async function insertErasure(tx: Tx, partnerId: string, row: ErasureRow): Promise<void> {
  await tx.run(sql`/* customers.insertErasure */
    insert into customers.erasures (partner_id, customer_id, phase, position, requested_at, retained_until, due_at, completed_at)
    values (${partnerId}, ${row.customerId}, ${row.phase}, ${row.position}, ${row.requestedAt}, ${row.retainedUntil},
      ${row.dueAt}, ${row.completedAt})`)
}

export function erasureOf(tx: Tx, partnerId: string, customerId: string): Promise<ErasureRow | undefined> {
  return tx.row<ErasureRow>(sql`/* customers.erasureOf */
    select customer_id, phase, position, requested_at, retained_until, due_at, completed_at from customers.erasures
    where partner_id = ${partnerId} and customer_id = ${customerId}`)
}

/** Finds the oldest due erasure: its partner, and when it became due. */
export function oldestDueErasure(
  tx: Tx,
  now: Date,
): Promise<{ readonly partnerId: string; readonly dueAt: Date } | undefined> {
  return tx.row(
    dueWork(
      'finds a partner with a due erasure, without a lock, by an index of due erasures',
      (whose) => sql`/* customers.oldestDueErasure */
      select partner_id, due_at from customers.erasures where due_at <= ${now} and ${whose()} order by due_at limit 1`,
    ),
  )
}

/** Reads when the next erasure is due. */
export const erasuresDue = (after: Date): Sql =>
  dueWork(
    'reads when the next erasure is due',
    (whose) => sql`/* customers.erasuresDue */
      select due_at from customers.erasures where due_at > ${after} and ${whose()} order by due_at limit 1`,
  )

/** Claims a due row. Undefined: another process has claimed it. */
export function claimErasure(tx: Tx, partnerId: string, now: Date): Promise<ErasureRow | undefined> {
  return tx.row<ErasureRow>(sql`/* customers.claimErasure */
    select customer_id, phase, position, requested_at, retained_until, due_at, completed_at from customers.erasures
    where partner_id = ${partnerId} and due_at <= ${now} order by due_at limit 1 for update skip locked`)
}

export async function moveErasure(tx: Tx, partnerId: string, row: ErasureRow): Promise<void> {
  await tx.run(sql`/* customers.moveErasure */
    update customers.erasures set phase = ${row.phase}, position = ${row.position}, retained_until = ${row.retainedUntil},
      due_at = ${row.dueAt}, completed_at = ${row.completedAt}
    where partner_id = ${partnerId} and customer_id = ${row.customerId}`)
}

// The SQL of records whose retention ends by their age. `place`: the table of the records.

export type RetentionRow = {
  readonly floor: string
  readonly position: string
  readonly hasLeft: boolean
  readonly dueAt: Date
}

/** Leaves an existing row unchanged. */
export async function insertRetention(tx: Tx, partnerId: string, place: string, row: RetentionRow): Promise<void> {
  await tx.run(sql`/* customers.insertRetention */
    insert into customers.kept_records (partner_id, place, floor, position, has_left, due_at)
    values (${partnerId}, ${place}, ${row.floor}, ${row.position}, ${row.hasLeft}, ${row.dueAt}) on conflict do nothing`)
}

export async function listRetentionTables(tx: Tx, partnerId: string): Promise<readonly string[]> {
  const rows = await tx.rows<{ place: string }>(sql`/* customers.listRetentionTables */
    select place from customers.kept_records where partner_id = ${partnerId}`)
  return rows.map(({ place }) => place)
}

/** Finds the oldest due records: their partner, and when they became due. */
export function oldestDueRetention(
  tx: Tx,
  now: Date,
): Promise<{ readonly partnerId: string; readonly dueAt: Date } | undefined> {
  return tx.row(
    dueWork(
      'finds a partner with due records, without a lock, by an index of due records',
      (whose) => sql`/* customers.oldestDueRetention */
      select partner_id, due_at from customers.kept_records where due_at <= ${now} and ${whose()} order by due_at limit 1`,
    ),
  )
}

/** Reads when the next records are due. */
export const retentionsDue = (after: Date): Sql =>
  dueWork(
    'reads when the next records are due that are kept too long',
    (whose) => sql`/* customers.retentionsDue */
      select due_at from customers.kept_records where due_at > ${after} and ${whose()} order by due_at limit 1`,
  )

/** Claims a due row. Undefined: another process has claimed it. */
export function claimRetention(
  tx: Tx,
  partnerId: string,
  now: Date,
): Promise<(RetentionRow & { readonly place: string }) | undefined> {
  return tx.row(sql`/* customers.claimRetention */
    select place, floor, position, has_left, due_at from customers.kept_records
    where partner_id = ${partnerId} and due_at <= ${now} order by due_at limit 1 for update skip locked`)
}

export async function updateRetention(tx: Tx, partnerId: string, place: string, row: RetentionRow): Promise<void> {
  await tx.run(sql`/* customers.updateRetention */
    update customers.kept_records set floor = ${row.floor}, position = ${row.position}, has_left = ${row.hasLeft},
      due_at = ${row.dueAt}
    where partner_id = ${partnerId} and place = ${place}`)
}

// The SQL of reviews.

export type CustomerReview = {
  readonly partnerId: string
  readonly customerId: string
  readonly risk: 'low' | 'medium' | 'high'
  readonly reviewedBy: string
  readonly reviewedAt: Date
  /** `YYYY-MM-DD`, in UTC. */
  readonly dueOn: string
}
export type UnreviewedCustomer = { readonly customerId: string; readonly createdAt: Date }

/** More rows than a person reads. */
const listedMax = 1000

export async function setReview(tx: Tx, review: CustomerReview): Promise<void> {
  await tx.run(sql`/* customers.setReview */
    insert into customers.reviews (partner_id, customer_id, risk, reviewed_by, reviewed_at, due_on)
    values (${review.partnerId}, ${review.customerId}, ${review.risk}, ${review.reviewedBy}, ${review.reviewedAt}, ${review.dueOn})
    on conflict (partner_id, customer_id) do update set risk = excluded.risk, reviewed_by = excluded.reviewed_by,
      reviewed_at = excluded.reviewed_at, due_on = excluded.due_on`)
}

/** Inserts a review. If there is one, raises its risk and makes the next review due on the day of this one. */
export async function raiseReview(tx: Tx, review: CustomerReview): Promise<void> {
  await tx.run(sql`/* customers.raiseReview */
    insert into customers.reviews as known (partner_id, customer_id, risk, reviewed_by, reviewed_at, due_on)
    values (${review.partnerId}, ${review.customerId}, ${review.risk}, ${review.reviewedBy}, ${review.reviewedAt}, ${review.dueOn})
    on conflict (partner_id, customer_id) do update set risk = excluded.risk, due_on = least(known.due_on, excluded.due_on)`)
}

export async function makeReviewDue(tx: Tx, partnerId: string, customerId: string, dueOn: string): Promise<void> {
  await tx.run(sql`/* customers.makeReviewDue */
    update customers.reviews set due_on = ${dueOn}
    where partner_id = ${partnerId} and customer_id = ${customerId} and due_on > ${dueOn}`)
}

const columns = sql`r.partner_id, r.customer_id, r.risk, r.reviewed_by, r.reviewed_at, r.due_on`

export function reviewOf(tx: Tx, partnerId: string, customerId: string): Promise<CustomerReview | undefined> {
  return tx.row(sql`/* customers.reviewOf */
    select ${columns} from customers.reviews r where r.partner_id = ${partnerId} and r.customer_id = ${customerId}`)
}

/** Lists the reviews of a partner, the next due first. `dueBy`: only those due on this day. */
export function reviewsOf(tx: Tx, partnerId: string, dueBy: string | null): Promise<readonly CustomerReview[]> {
  return tx.rows(sql`/* customers.reviewsOf */
    select ${columns} from customers.reviews r join customers.customers c on c.partner_id = r.partner_id and c.id = r.customer_id
    where r.partner_id = ${partnerId} and c.erased_at is null ${dueBy === null ? noSql : sql`and r.due_on <= ${dueBy}`}
    order by r.due_on, r.customer_id limit ${listedMax}`)
}

/** Reads the reviews of customers of a partner that are due on this day. */
export async function overdueOf(
  tx: Tx,
  partnerId: string,
  customerIds: readonly string[],
  dueBy: string,
): Promise<readonly CustomerReview[]> {
  if (customerIds.length === 0) return []
  return tx.rows(sql`/* customers.overdueOf */
    select ${columns} from customers.reviews r join customers.customers c on c.partner_id = r.partner_id and c.id = r.customer_id
    where r.partner_id = ${partnerId} and r.customer_id = any(${customerIds}::uuid[]) and r.due_on <= ${dueBy} and c.erased_at is null`)
}

/** The last review of the previous page. `dueOn`: `YYYY-MM-DD`. */
export type ReviewCursor = Pick<CustomerReview, 'dueOn' | 'customerId'>
type Page = { readonly after: ReviewCursor | undefined; readonly rowsMax: number }

/** Lists the reviews of all partners that are due on this day, oldest first. `page`: default: the first page. */
export function overdueReviews(
  tx: Tx,
  dueBy: string,
  { after, rowsMax }: Page = { after: undefined, rowsMax: listedMax },
): Promise<readonly CustomerReview[]> {
  const rest = after === undefined ? noSql : sql`and (r.due_on, r.customer_id) > (${after.dueOn}, ${after.customerId})`
  return tx.rows(
    acrossPartners(
      "lists the operator's overdue reviews, by an index of their days",
      sql`/* customers.overdueReviews */
    select ${columns} from customers.reviews r join customers.customers c on c.partner_id = r.partner_id and c.id = r.customer_id
    where r.due_on <= ${dueBy} and c.erased_at is null ${rest} order by r.due_on, r.customer_id limit ${rowsMax}`,
    ),
  )
}

export function listUnreviewed(tx: Tx, partnerId: string): Promise<readonly UnreviewedCustomer[]> {
  return tx.rows(sql`/* customers.listUnreviewed */
    select c.id as customer_id, c.created_at
    from customers.customers c left join customers.reviews r on r.partner_id = c.partner_id and r.customer_id = c.id
    where c.partner_id = ${partnerId} and c.erased_at is null and r.customer_id is null
    order by c.id limit ${listedMax}`)
}

export async function deleteReview(tx: Tx, partnerId: string, customerId: string): Promise<void> {
  await tx.run(sql`/* customers.deleteReview */
    delete from customers.reviews where partner_id = ${partnerId} and customer_id = ${customerId}`)
}
