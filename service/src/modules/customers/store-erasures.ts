/** The SQL of erasures. A customer is erased under a lock that waits for every transaction that holds it (`holdByRef`). */
import { dueWork, type Sql, sql, type Tx } from '../../postgres/index.ts'
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

/** Waits for every transaction that holds the customer, and blocks further ones until the end. */
export function lockToErase(tx: Tx, partnerId: string, id: string): Promise<LockedCustomer | undefined> {
  return tx.row<LockedCustomer>(sql`/* customers.lockToErase */
    select id, service_id, email, kyc_sealed, created_at, erased_at from customers.customers
    where partner_id = ${partnerId} and id = ${id} for update`)
}

/** Leaves a tombstone: ids, type, time of creation and what is kept. */
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
export async function replaceKept(tx: Tx, partnerId: string, id: string, kycSealed: Uint8Array): Promise<void> {
  await tx.run(sql`/* customers.replaceKept */
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

/** The partner of the erasure that has been due for the longest time, and since when. */
export function oldestDueErasure(
  tx: Tx,
  now: Date,
): Promise<{ readonly partnerId: string; readonly dueAt: Date } | undefined> {
  return tx.row(
    dueWork(
      'finds a partner with an erasure that is due, without a lock, by an index of those',
      (whose) => sql`/* customers.oldestDueErasure */
      select partner_id, due_at from customers.erasures where due_at <= ${now} and ${whose()} order by due_at limit 1`,
    ),
  )
}

/** When the next erasure is due. */
export const erasuresDue = (after: Date): Sql =>
  dueWork(
    'reads when the next erasure is due',
    (whose) => sql`/* customers.erasuresDue */
      select due_at from customers.erasures where due_at > ${after} and ${whose()} order by due_at limit 1`,
  )

/** Undefined: another process has it. */
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
