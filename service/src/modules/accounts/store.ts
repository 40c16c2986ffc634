/** All SQL of accounts. */
import { acrossPartners, ofPartners, sql, type Tx } from '../../postgres/index.ts'
import type { NumberBounds } from './rules.ts'

export type IbanRow = {
  readonly iban: string
  readonly country: string
  /** BIC of the file from which the IBAN was imported. */
  readonly bic: string | null
}
/** The numbers of one bank code in one country. */
export type Pool = { readonly country: string; readonly bankCode: string }

export function ibansOf(tx: Tx, partnerId: string, customerId: string): Promise<readonly IbanRow[]> {
  return tx.rows<IbanRow>(sql`/* accounts.ibansOf */
    select iban, country, bic from accounts.ibans
    where partner_id = ${partnerId} and customer_id = ${customerId} order by created_at, country`)
}

/** The oldest open IBAN of each of these customers of one shard. A customer without one is absent. */
export function firstIbansOf(
  tx: Tx,
  keys: readonly { readonly partnerId: string; readonly id: string }[],
): Promise<readonly { readonly partnerId: string; readonly customerId: string; readonly iban: string }[]> {
  return tx.rows(sql`/* accounts.firstIbansOf */
    select distinct on (partner_id, customer_id) partner_id, customer_id, iban from accounts.ibans
    where ${ofPartners(keys.map(({ partnerId }) => partnerId))} and customer_id = any(${keys.map(({ id }) => id)}::uuid[])
      and closed_at is null
    order by partner_id, customer_id, created_at, country`)
}

/** Finds the owners of IBANs. An IBAN is issued once, to one partner. */
export function ownersOfIbans(
  tx: Tx,
  ibans: readonly string[],
): Promise<readonly { readonly iban: string; readonly partnerId: string; readonly customerId: string }[]> {
  return tx.rows(
    acrossPartners(
      'finds the owner of an account that a bank has credited, by an index',
      sql`/* accounts.ownersOfIbans */
        select iban, partner_id, customer_id from accounts.ibans
        where iban = any(${ibans}::text[]) and closed_at is null`,
    ),
  )
}

/** The customer of a partner that has or had an IBAN. Undefined: none. */
export async function holderIn(tx: Tx, partnerId: string, iban: string): Promise<string | undefined> {
  const row = await tx.row<{ readonly customerId: string }>(sql`/* accounts.holderIn */
    select customer_id from accounts.ibans where partner_id = ${partnerId} and iban = ${iban}`)
  return row?.customerId
}

const holdersMax = 10

export type IbanHolder = { readonly partnerId: string; readonly customerId: string; readonly closedAt: Date | null }

/** Finds who has or had an IBAN, the latest first: a bank may give a closed one out again. */
export function holdersOfIban(tx: Tx, iban: string): Promise<readonly IbanHolder[]> {
  return tx.rows(
    acrossPartners(
      'finds who has or had an account, for the search of the operator, by an index',
      sql`/* accounts.holdersOfIban */
        select partner_id, customer_id, closed_at from accounts.ibans where iban = ${iban}
        order by closed_at desc nulls first limit ${holdersMax}`,
    ),
  )
}

/** Inserts the customer's row if it is missing, and locks it: this serialises concurrent calls for one customer. */
export async function lockCustomerAccount(tx: Tx, partnerId: string, customerId: string, now: Date): Promise<void> {
  await tx.run(sql`/* accounts.lockCustomerAccount */
    insert into accounts.customer_accounts (partner_id, customer_id, created_at)
    values (${partnerId}, ${customerId}, ${now}) on conflict (partner_id, customer_id) do nothing`)
  await tx.run(sql`/* accounts.lockCustomerAccount */
    select 1 from accounts.customer_accounts
    where partner_id = ${partnerId} and customer_id = ${customerId} for update`)
}

/**
 * Takes the next number from the partner's oldest block of the range that has one.
 * Undefined: no block has a number left, or a concurrent call took the last number while this call waited.
 */
export function takeNumber(
  tx: Tx,
  partnerId: string,
  { country, bankCode }: Pool,
  { blockSize, firstBlock, endIndex }: NumberBounds,
): Promise<{ readonly block: number; readonly number: number } | undefined> {
  return tx.row<{ block: number; number: number }>(sql`/* accounts.takeNumber */
    update accounts.iban_blocks set next_number = next_number + 1
    where partner_id = ${partnerId} and country = ${country} and bank_code = ${bankCode} and block = (
      select block from accounts.iban_blocks
      where partner_id = ${partnerId} and country = ${country} and bank_code = ${bankCode}
        and block >= ${firstBlock}::integer and next_number < ${blockSize}::integer
        and block::bigint * ${blockSize}::integer + next_number < ${endIndex}::bigint
      order by block limit 1 for update)
    returning block, next_number - 1 as number`)
}

/**
 * Pools belong to no partner. Inserts the pool if it is missing and locks it. Returns its next block, `firstBlock` or later.
 */
export async function lockPool(tx: Tx, { country, bankCode }: Pool, firstBlock: number): Promise<number | undefined> {
  await tx.run(sql`/* accounts.lockPool */
    insert into accounts.iban_pools (country, bank_code, next_block)
    values (${country}, ${bankCode}, ${firstBlock}) on conflict (country, bank_code) do nothing`)
  const row = await tx.row<{ nextBlock: number }>(sql`/* accounts.lockPool */
    select greatest(next_block, ${firstBlock}::integer) as next_block from accounts.iban_pools
    where country = ${country} and bank_code = ${bankCode} for update`)
  return row?.nextBlock
}

/** Gives the pool's next block to the partner. The caller holds the lock of the pool. */
export async function takeBlock(
  tx: Tx,
  partnerId: string,
  { country, bankCode }: Pool,
  block: number,
  now: Date,
): Promise<void> {
  await tx.run(sql`/* accounts.takeBlock */
    update accounts.iban_pools set next_block = ${block + 1} where country = ${country} and bank_code = ${bankCode}`)
  await tx.run(sql`/* accounts.takeBlock */
    insert into accounts.iban_blocks (partner_id, country, bank_code, block, next_number, created_at)
    values (${partnerId}, ${country}, ${bankCode}, ${block}, 0, ${now})`)
}

export async function insertIban(
  tx: Tx,
  partnerId: string,
  customerId: string,
  { iban, country, bic }: IbanRow,
  now: Date,
): Promise<void> {
  await tx.run(sql`/* accounts.insertIban */
    insert into accounts.ibans (partner_id, iban, customer_id, country, bic, created_at)
    values (${partnerId}, ${iban}, ${customerId}, ${country}, ${bic}, ${now})`)
}

/** Returns since when the customer has an account; undefined: it has none. */
export async function closeIbans(tx: Tx, partnerId: string, customerId: string, now: Date): Promise<Date | undefined> {
  await tx.run(sql`/* accounts.closeIbans */
    update accounts.ibans set closed_at = ${now} where partner_id = ${partnerId} and customer_id = ${customerId}`)
  const row = await tx.row<{ createdAt: Date }>(sql`/* accounts.closeIbans */
    select created_at from accounts.customer_accounts where partner_id = ${partnerId} and customer_id = ${customerId}`)
  return row?.createdAt
}

/** The numbers stay taken: neither a block nor an imported pool gives one twice. */
export async function eraseIbans(tx: Tx, partnerId: string, customerId: string): Promise<void> {
  await tx.run(sql`/* accounts.eraseIbans */
    delete from accounts.ibans where partner_id = ${partnerId} and customer_id = ${customerId}`)
  await tx.run(sql`/* accounts.eraseIbans */
    delete from accounts.customer_accounts where partner_id = ${partnerId} and customer_id = ${customerId}`)
}
