/** All SQL of idempotency. */
import { type SealedColumn, sql, type Tx } from '../postgres/index.ts'

export type IdempotencyKey = { readonly partnerId: string; readonly operation: string; readonly idempotencyKey: string }

/** Returns false if the key is in use. Waits for a concurrent transaction that claims it. */
export async function claimKey(
  tx: Tx,
  { partnerId, operation, idempotencyKey }: IdempotencyKey,
  now: Date,
): Promise<boolean> {
  const inserted = await tx.run(sql`/* idempotency.claimKey */
    insert into idempotency.keys (partner_id, operation, idempotency_key, created_at)
    values (${partnerId}, ${operation}, ${idempotencyKey}, ${now}) on conflict do nothing`)
  return inserted === 1
}

/**
 * Reserves a key whose answer is stored after the effect. Returns false if another request has reserved it. A
 * reservation from before `abandonedBefore` belongs to a process that ended without an answer.
 */
export async function reserveKey(
  tx: Tx,
  { partnerId, operation, idempotencyKey }: IdempotencyKey,
  { now, abandonedBefore }: { readonly now: Date; readonly abandonedBefore: Date },
): Promise<boolean> {
  const taken = await tx.run(sql`/* idempotency.reserveKey */
    insert into idempotency.keys (partner_id, operation, idempotency_key, created_at)
    values (${partnerId}, ${operation}, ${idempotencyKey}, ${now})
    on conflict (partner_id, operation, idempotency_key) do update set created_at = excluded.created_at
    where keys.answer_sealed is null and keys.created_at < ${abandonedBefore}`)
  return taken === 1
}

/** Stores the answer of a key that was reserved at `takenAt`, unless an erasure has released the key since. */
export async function completeReservedKey(
  tx: Tx,
  { partnerId, operation, idempotencyKey }: IdempotencyKey,
  kept: { readonly takenAt: Date; readonly answerSealed: Uint8Array; readonly customerId: string | null },
): Promise<void> {
  await tx.run(sql`/* idempotency.completeReservedKey */
    update idempotency.keys set answer_sealed = ${kept.answerSealed}, customer_id = ${kept.customerId}
    where partner_id = ${partnerId} and operation = ${operation} and idempotency_key = ${idempotencyKey}
      and answer_sealed is null and created_at = ${kept.takenAt}`)
}

/** Releases a key whose request was refused or failed. */
export async function releaseKey(
  tx: Tx,
  { partnerId, operation, idempotencyKey }: IdempotencyKey,
  takenAt: Date,
): Promise<void> {
  await tx.run(sql`/* idempotency.releaseKey */
    delete from idempotency.keys
    where partner_id = ${partnerId} and operation = ${operation} and idempotency_key = ${idempotencyKey}
      and answer_sealed is null and created_at = ${takenAt}`)
}

/**
 * Releases the keys of running requests, because their answers may contain data that an erasure removes. A repeated
 * request runs again.
 */
export async function releaseRunningKeys(tx: Tx, partnerId: string, except: string): Promise<void> {
  await tx.run(sql`/* idempotency.releaseRunningKeys */
    delete from idempotency.keys
    where partner_id = ${partnerId} and answer_sealed is null and operation <> ${except}`)
}

/**
 * Stores the answer in the transaction of `claimKey`; it is sent with the commit. `customerId`: the customer whose data
 * the answer contains, or null.
 */
export function saveAnswer(
  tx: Tx,
  { partnerId, operation, idempotencyKey }: IdempotencyKey,
  answerSealed: Uint8Array,
  customerId: string | null,
): void {
  tx.later(sql`/* idempotency.saveAnswer */
    update idempotency.keys set answer_sealed = ${answerSealed}, customer_id = ${customerId}
    where partner_id = ${partnerId} and operation = ${operation} and idempotency_key = ${idempotencyKey}`)
}

export function readAnswer(
  tx: Tx,
  { partnerId, operation, idempotencyKey }: IdempotencyKey,
): Promise<{ readonly answerSealed: Uint8Array | null } | undefined> {
  return tx.row(sql`/* idempotency.readAnswer */
    select answer_sealed from idempotency.keys
    where partner_id = ${partnerId} and operation = ${operation} and idempotency_key = ${idempotencyKey}`)
}

export type StoredAnswer = {
  readonly operation: string
  readonly idempotencyKey: string
  readonly answerSealed: Uint8Array
}

/** Reads a page of the answers that contain data of a customer. */
export function answersOfCustomer(
  tx: Tx,
  partnerId: string,
  customerId: string,
  rowsMax: number,
): Promise<readonly StoredAnswer[]> {
  return tx.rows(sql`/* idempotency.answersOfCustomer */
    select operation, idempotency_key, answer_sealed from idempotency.keys
    where partner_id = ${partnerId} and customer_id = ${customerId} and answer_sealed is not null limit ${rowsMax}`)
}

/** Overwrites the answer, so that the next page does not contain it. */
export async function replaceAnswer(
  tx: Tx,
  { partnerId, operation, idempotencyKey }: IdempotencyKey,
  answerSealed: Uint8Array,
): Promise<void> {
  await tx.run(sql`/* idempotency.replaceAnswer */
    update idempotency.keys set answer_sealed = ${answerSealed}, customer_id = null
    where partner_id = ${partnerId} and operation = ${operation} and idempotency_key = ${idempotencyKey}`)
}

/**
 * Lists answers of an operation whose requests began in a period and whose rows have no customer. `idempotencyKey` is
 * the cursor.
 */
export function answersBetween(
  tx: Tx,
  { partnerId, operation, idempotencyKey }: IdempotencyKey,
  { from, until }: { readonly from: Date; readonly until: Date },
  rowsMax: number,
): Promise<readonly StoredAnswer[]> {
  return tx.rows(sql`/* idempotency.answersBetween */
    select operation, idempotency_key, answer_sealed from idempotency.keys
    where partner_id = ${partnerId} and operation = ${operation} and created_at between ${from} and ${until}
      and idempotency_key > ${idempotencyKey} and answer_sealed is not null and customer_id is null
    order by idempotency_key limit ${rowsMax}`)
}

/** Binds a sealed answer to its partner, operation and key. */
export const answerContext = ({ partnerId, operation, idempotencyKey }: IdempotencyKey) => [
  'idempotency.keys',
  partnerId,
  operation,
  idempotencyKey,
]

export const sealedAnswers: SealedColumn = {
  table: 'idempotency.keys',
  column: 'answer_sealed',
  key: { operation: 'text', idempotency_key: 'text' },
  contextOf: (partnerId, cell) =>
    answerContext({ partnerId, operation: cell('operation'), idempotencyKey: cell('idempotency_key') }),
}
