/** The SQL of the blind index of names. A statement here runs under the lock of its customer, or reads. */
import { dueWork, insertBy, type RowOf, sql, type Tx } from '../../postgres/index.ts'

const types = { partnerId: 'uuid', token: 'bigint', customerId: 'uuid' } as const
type TokenRow = RowOf<typeof types, { token: string }>
const newTokens = insertBy<TokenRow>(types, [['partnerId', 'customerId']], ['token'])

export async function nameKey(tx: Tx, partnerId: string): Promise<Uint8Array | undefined> {
  const row = await tx.row<{ readonly keySealed: Uint8Array }>(sql`/* customers.nameKey */
    select key_sealed from customers.name_keys where partner_id = ${partnerId}`)
  return row?.keySealed
}

/** Does nothing if the partner has a key. Waits for a database transaction that makes one. */
export async function insertNameKey(tx: Tx, partnerId: string, keySealed: Uint8Array, now: Date): Promise<void> {
  await tx.run(sql`/* customers.insertNameKey */
    insert into customers.name_keys (partner_id, key_sealed, created_at) values (${partnerId}, ${keySealed}, ${now})
    on conflict (partner_id) do nothing`)
}

export async function insertTokens(
  tx: Tx,
  partnerId: string,
  customerId: string,
  tokens: readonly string[],
): Promise<void> {
  const rows = tokens.map((token) => ({ partnerId, token, customerId }))
  await tx.run(sql`/* customers.insertTokens */
    insert into customers.name_tokens (partner_id, token, customer_id) ${newTokens(tx, rows)}`)
}

export async function deleteTokens(
  tx: Tx,
  partnerId: string,
  customerId: string,
  tokens: readonly string[],
): Promise<void> {
  await tx.run(sql`/* customers.deleteTokens */
    delete from customers.name_tokens
    where partner_id = ${partnerId} and customer_id = ${customerId} and token = any(${tokens}::bigint[])`)
}

/** The first partner after `afterId` with customers whose names are to be indexed. */
export async function partnerWithNamesDue(tx: Tx, afterId: string): Promise<string | undefined> {
  const row = await tx.row<{ readonly partnerId: string }>(
    dueWork(
      'finds a partner with names to index, without a lock, by an index of those',
      (whose) => sql`/* customers.partnerWithNamesDue */
      select partner_id from customers.customers
      where partner_id > ${afterId} and ${whose()} and (names_indexed_at is null or names_indexed_at < updated_at)
      order by partner_id limit 1`,
    ),
  )
  return row?.partnerId
}

export type UnindexedRow = {
  readonly id: string
  readonly kycSealed: Uint8Array
  readonly nameTokens: readonly string[] | null
}

/** Skips customers that another transaction changes, because it indexes their names. */
export function claimNamesDue(tx: Tx, partnerId: string, rowsMax: number): Promise<readonly UnindexedRow[]> {
  return tx.rows(sql`/* customers.claimNamesDue */
    select id, kyc_sealed, name_tokens::text[] as name_tokens from customers.customers
    where partner_id = ${partnerId} and (names_indexed_at is null or names_indexed_at < updated_at)
    order by id limit ${rowsMax}
    for no key update skip locked`)
}

export async function markIndexed(tx: Tx, partnerId: string, id: string, nameTokens: readonly string[]): Promise<void> {
  await tx.run(sql`/* customers.markIndexed */
    update customers.customers set name_tokens = ${nameTokens}::bigint[], names_indexed_at = updated_at
    where partner_id = ${partnerId} and id = ${id}`)
}
