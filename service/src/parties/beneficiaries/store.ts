/** All SQL of beneficiaries. Removed beneficiaries are read for accepted payouts and for screening only. */
import type { RowKey } from '../../kernel/index.ts'
import { ownJson, type PayeeAddress } from '@partner-payments/wire'
import type { PageRequest } from '../../kernel/api/index.ts'
import type { Destination } from './rules.ts'
import type { PayeeResult } from '../../rails/index.ts'
import {
  dueWork,
  insertBy,
  type RetainedTable,
  noSql,
  ofPartners,
  type RowOf,
  type Sql,
  sql,
  type Tx,
} from '../../postgres/index.ts'

export type Beneficiary = Destination & {
  readonly id: string
  /** The guid of the customer. Null: the beneficiary belongs to the partner. */
  readonly customerId: string | null
  readonly alias: string | null
  readonly name: string
  readonly createdAt: Date
  readonly updatedAt: Date
}
/** The last result of a bank or of a verification for the current name and account of a beneficiary. */
export type PayeeCheck = Exclude<PayeeResult, 'unchecked'>

/** A beneficiary of a payout. `unchangedSince`: when it got its current name. `payeeCheck`: null if name and account were never compared. */
export type Payee = Omit<Beneficiary, 'updatedAt'> & {
  readonly unchangedSince: Date
  readonly payeeCheck: PayeeCheck | null
}
export type BeneficiaryFilter = {
  readonly customerId?: string
  readonly currency?: string
  readonly iban?: string
  readonly alias?: string
  readonly prefix?: string
}

const columns = sql`id, customer_id, alias, name, iban, domestic_account, account_type, bic, wallet_address, vasp, country, address, currency,
  created_at, updated_at`

type StoredRow<Row> = Omit<Row, 'address'> & { readonly address: string | null }
const opened = <Row extends { readonly address: PayeeAddress | null }>({ address, ...row }: StoredRow<Row>): Row =>
  ({ ...row, address: address === null ? null : ownJson<PayeeAddress>(address) }) as unknown as Row
const written = (address: PayeeAddress | null): string | null => (address === null ? null : JSON.stringify(address))
async function openedRows<Row extends { readonly address: PayeeAddress | null }>(
  rows: Promise<readonly StoredRow<Row>[]>,
): Promise<readonly Row[]> {
  return (await rows).map((row) => opened<Row>(row))
}

/** `bicCompletedAt`: when the directory completed the BIC. Null: the partner gave the BIC, or there is none. */
type NewBeneficiary = Beneficiary & { readonly bicCompletedAt: Date | null }

export async function insert(tx: Tx, partnerId: string, row: NewBeneficiary): Promise<void> {
  await tx.run(sql`/* beneficiaries.insert */
    insert into beneficiaries.beneficiaries (partner_id, id, customer_id, alias, name, iban, domestic_account, account_type, bic,
      wallet_address, vasp, country, address, currency, created_at, updated_at, bic_completed_at, indexed_name)
    values (${partnerId}, ${row.id}, ${row.customerId}, ${row.alias}, ${row.name}, ${row.iban}, ${row.domesticAccount}, ${row.accountType}, ${row.bic},
      ${row.walletAddress}, ${row.vasp}, ${row.country}, ${written(row.address)}::jsonb, ${row.currency}, ${row.createdAt}, ${row.updatedAt},
      ${row.bicCompletedAt}, ${row.name})`)
}

export async function byId(tx: Tx, partnerId: string, id: string): Promise<Beneficiary | undefined> {
  const row = await tx.row<StoredRow<Beneficiary>>(sql`/* beneficiaries.byId */
    select ${columns} from beneficiaries.beneficiaries
    where partner_id = ${partnerId} and id = ${id} and removed_at is null`)
  return row && opened<Beneficiary>(row)
}

/** Reads beneficiaries of several partners, for a batch of payouts. */
export function payeesByIds(
  tx: Tx,
  keys: readonly RowKey[],
): Promise<readonly (Payee & { readonly partnerId: string })[]> {
  return openedRows(
    tx.rows(sql`/* beneficiaries.payeesByIds */
    select partner_id, id, customer_id, alias, name, iban, domestic_account, account_type, bic, wallet_address, vasp, country, address, currency,
      created_at, greatest(created_at, named_at) as unchanged_since, payee_check
    from beneficiaries.beneficiaries
    where ${ofPartners(keys.map((key) => key.partnerId))} and id = any(${keys.map((key) => key.id)}::uuid[])
      and removed_at is null`),
  )
}

/** Finds the holders of accounts, of the partner and of all its customers. */
export function holdersOf(
  tx: Tx,
  partnerId: string,
  accounts: readonly string[],
): Promise<readonly { readonly id: string; readonly name: string; readonly account: string }[]> {
  return tx.rows(sql`/* beneficiaries.holdersOf */
    select id, name, coalesce(iban, domestic_account, lower(wallet_address)) as account from beneficiaries.beneficiaries
    where partner_id = ${partnerId} and removed_at is null
      and coalesce(iban, domestic_account, lower(wallet_address)) = any(${[...accounts]}::text[])`)
}

/** Finds beneficiaries of a customer, or of the partner itself, by IBANs and domestic accounts, oldest first. */
export function byAccounts(
  tx: Tx,
  partnerId: string,
  customerId: string | null,
  accounts: readonly string[],
): Promise<readonly Beneficiary[]> {
  return openedRows(
    tx.rows(sql`/* beneficiaries.byAccounts */
    select ${columns} from beneficiaries.beneficiaries
    where partner_id = ${partnerId} and removed_at is null
      and (iban = any(${accounts}::text[]) or domestic_account = any(${accounts}::text[]))
      and customer_id is not distinct from ${customerId}
    order by id`),
  )
}

/** Finds beneficiaries by id, and those of the partner itself by alias and name, ignoring case. Each search uses its index. Oldest first. */
export function byTexts(
  tx: Tx,
  partnerId: string,
  texts: readonly string[],
  ids: readonly string[],
): Promise<readonly Beneficiary[]> {
  const folded = sql`any(array(select lower(given) from unnest(${[...texts]}::text[]) as given))`
  return openedRows(
    tx.rows(sql`/* beneficiaries.byTexts */
    select ${columns} from beneficiaries.beneficiaries
    where partner_id = ${partnerId} and removed_at is null
      and (id = any(${[...ids]}::uuid[]) or (customer_id is null and (lower(alias) = ${folded} or lower(name) = ${folded})))
    order by id limit ${byTextsMax}`),
  )
}
/** More payees with the same text are ambiguous, so the person must choose anyway. */
const byTextsMax = 10_000

/** Finds beneficiaries of the partner and its customers by their accounts, using the index of accounts. Oldest first. */
export function byAccountsOfAnyHolder(
  tx: Tx,
  partnerId: string,
  accounts: readonly string[],
): Promise<readonly Beneficiary[]> {
  const folded = accounts.map((account) => (account.startsWith('0x') ? account.toLowerCase() : account))
  return openedRows(
    tx.rows(sql`/* beneficiaries.byAccountsOfAnyHolder */
    select ${columns} from beneficiaries.beneficiaries
    where partner_id = ${partnerId} and removed_at is null
      and coalesce(iban, domestic_account, lower(wallet_address)) = any(${folded}::text[])
    order by id`),
  )
}

/** A beneficiary that may have been removed. `unchangedSince`: when it got its current name. */
export type StoredPayee = StoredBeneficiary & Pick<Payee, 'unchangedSince'>
const heldColumns = sql`${columns}, removed_at, greatest(created_at, named_at) as unchanged_since`

/** Reads beneficiaries by id, including removed ones. */
export function withIds(tx: Tx, partnerId: string, ids: readonly string[]): Promise<readonly StoredPayee[]> {
  return openedRows(
    tx.rows(sql`/* beneficiaries.withIds */
    select ${heldColumns} from beneficiaries.beneficiaries where partner_id = ${partnerId} and id = any(${[...ids]}::uuid[])`),
  )
}

/** Finds beneficiaries of the partner and its customers with an account, including removed ones, newest first, using the index of accounts. */
export function withAccount(
  tx: Tx,
  partnerId: string,
  account: string,
  rowsMax: number,
): Promise<readonly StoredPayee[]> {
  return openedRows(
    tx.rows(sql`/* beneficiaries.withAccount */
    select ${heldColumns} from beneficiaries.beneficiaries
    where partner_id = ${partnerId} and coalesce(iban, domestic_account, lower(wallet_address)) = ${account}
    order by id desc limit ${rowsMax}`),
  )
}

export function list(
  tx: Tx,
  partnerId: string,
  { customerId, currency, iban, alias, prefix }: BeneficiaryFilter,
  { limit, afterId }: PageRequest,
): Promise<readonly Beneficiary[]> {
  return openedRows(
    tx.rows(sql`/* beneficiaries.list */
    select ${columns} from beneficiaries.beneficiaries
    ${prefix === undefined ? noSql : sql`join beneficiaries.name_prefixes named on named.partner_id = beneficiaries.partner_id and named.beneficiary_id = beneficiaries.id`}
    where beneficiaries.partner_id = ${partnerId} and removed_at is null
      ${prefix === undefined ? noSql : sql`and named.partner_id = ${partnerId} and named.prefix = ${prefix}`}
      ${afterId === null ? noSql : sql`and id < ${afterId}`}
      ${prefix === undefined || afterId === null ? noSql : sql`and named.beneficiary_id < ${afterId}`}
      ${customerId === undefined ? noSql : sql`and customer_id = ${customerId}`}
      ${currency === undefined ? noSql : sql`and currency = ${currency}`}
      ${iban === undefined ? noSql : sql`and iban = ${iban}`}
      ${alias === undefined ? noSql : sql`and lower(alias) = lower(${alias}::text)`}
    order by ${prefix === undefined ? sql`id` : sql`named.beneficiary_id`} desc limit ${limit + 1}`),
  )
}

/** Finds beneficiaries by alias, newest first. */
export function byAlias(tx: Tx, partnerId: string, alias: string, rowsMax: number): Promise<readonly Beneficiary[]> {
  return openedRows(
    tx.rows(sql`/* beneficiaries.byAlias */
    select ${columns} from beneficiaries.beneficiaries
    where partner_id = ${partnerId} and lower(alias) = lower(${alias}::text) and removed_at is null order by id desc limit ${rowsMax}`),
  )
}

/** The corridor of a payee: currency, countries, and letters for the optional fields that it has. Equals the expression of the index `beneficiaries_corridor`. */
const corridor = sql`(currency || '/' || coalesce(country, '') || '/' || coalesce(substring(bic from 5 for 2), '') || '/'
    || case when address is null then '' else 'a' end || case when address ? 'streetName' then 's' else '' end
    || case when address ? 'buildingNumber' then 'b' else '' end || case when address ? 'postalCode' then 'p' else '' end
    || case when address ? 'state' then 't' else '' end || case when account_type is null then '' else 'c' end)`

/** Reads the partner's next corridor after another one, by one step of the index, even if there are many payees. */
export async function corridorAfter(tx: Tx, partnerId: string, last: string): Promise<string | undefined> {
  const row = await tx.row<{ corridor: string }>(sql`/* beneficiaries.corridorAfter */
    select ${corridor} as corridor from beneficiaries.beneficiaries
    where partner_id = ${partnerId} and removed_at is null and wallet_address is null and ${corridor} > ${last}
    order by ${corridor} limit 1`)
  return row?.corridor
}

/** Lists payees of corridors, newest first. Reads at most a page of each corridor, using the index of corridors. */
export function listOfCorridors(
  tx: Tx,
  partnerId: string,
  among: readonly string[],
  { customerId, currency, iban, alias, prefix }: BeneficiaryFilter,
  { limit, afterId }: PageRequest,
): Promise<readonly Beneficiary[]> {
  return openedRows(
    tx.rows(sql`/* beneficiaries.listOfCorridors */
    select page.* from unnest(${among}::text[]) as wanted (corridor) cross join lateral (
      select ${columns} from beneficiaries.beneficiaries
      where partner_id = ${partnerId} and removed_at is null and wallet_address is null and ${corridor} = wanted.corridor
        ${afterId === null ? noSql : sql`and id < ${afterId}`}
        ${customerId === undefined ? noSql : sql`and customer_id = ${customerId}`}
        ${currency === undefined ? noSql : sql`and currency = ${currency}`}
        ${iban === undefined ? noSql : sql`and iban = ${iban}`}
        ${alias === undefined ? noSql : sql`and lower(alias) = lower(${alias}::text)`}
        ${
          prefix === undefined
            ? noSql
            : sql`and exists (select from beneficiaries.name_prefixes named
                where named.partner_id = ${partnerId} and named.prefix = ${prefix} and named.beneficiary_id = beneficiaries.id)`
        }
      order by id desc limit ${limit + 1}) as page
    order by page.id desc limit ${limit + 1}`),
  )
}

export type StoredBeneficiary = Beneficiary & { readonly removedAt: Date | null }

/** Pages through a customer's beneficiaries in order, including removed ones. */
export function ofCustomer(
  tx: Tx,
  partnerId: string,
  customerId: string,
  afterId: string,
  rowsMax: number,
): Promise<readonly StoredBeneficiary[]> {
  return openedRows(
    tx.rows(sql`/* beneficiaries.ofCustomer */
    select ${columns}, removed_at from beneficiaries.beneficiaries
    where partner_id = ${partnerId} and customer_id = ${customerId} and id > ${afterId} order by id limit ${rowsMax}`),
  )
}

/** Reads the name under the lock of the row, which serialises updates. */
export function lockName(
  tx: Tx,
  partnerId: string,
  id: string,
): Promise<(Pick<Beneficiary, 'name'> & { readonly isIndexed: boolean }) | undefined> {
  return tx.row(sql`/* beneficiaries.lockName */
    select name, indexed_name is not null as is_indexed from beneficiaries.beneficiaries
    where partner_id = ${partnerId} and id = ${id} and removed_at is null for update`)
}

/** Locks the beneficiaries with a name and an account, in order, so that their names cannot change meanwhile. */
export async function lockPayees(
  tx: Tx,
  partnerId: string,
  { name, iban }: { readonly name: string; readonly iban: string },
): Promise<readonly string[]> {
  const rows = await tx.rows<{ id: string }>(sql`/* beneficiaries.lockPayees */
    select id from beneficiaries.beneficiaries
    where partner_id = ${partnerId} and iban = ${iban} and name = ${name} and removed_at is null
    order by id for update`)
  return rows.map(({ id }) => id)
}

/** Records a result for beneficiaries that the caller has locked. */
export async function setCheckResults(
  tx: Tx,
  partnerId: string,
  ids: readonly string[],
  check: PayeeCheck,
): Promise<void> {
  await tx.run(sql`/* beneficiaries.setCheckResults */
    update beneficiaries.beneficiaries set payee_check = ${check}
    where partner_id = ${partnerId} and id = any(${ids}::uuid[]) and payee_check is distinct from ${check}`)
}

/** Records a result for a beneficiary, if it still has the name and the account. */
export async function recordCheckResult(
  tx: Tx,
  partnerId: string,
  { id, name, account }: { readonly id: string; readonly name: string; readonly account: string },
  check: PayeeCheck,
): Promise<void> {
  await tx.run(sql`/* beneficiaries.recordCheckResult */
    update beneficiaries.beneficiaries set payee_check = ${check}
    where partner_id = ${partnerId} and id = ${id} and name = ${name} and coalesce(iban, domestic_account) = ${account}
      and payee_check is distinct from ${check}`)
}

/** Updates a beneficiary. Null leaves a column unchanged. `namedAt`: null if the name stays. A new name resets the check; the caller indexes it. */
export async function update(
  tx: Tx,
  partnerId: string,
  id: string,
  {
    alias,
    name,
    address,
    namedAt,
  }: { readonly namedAt: Date | null; readonly address: PayeeAddress | null } & Readonly<
    Record<'alias' | 'name', string | null>
  >,
  now: Date,
): Promise<Beneficiary | undefined> {
  const row = await tx.row<StoredRow<Beneficiary>>(sql`/* beneficiaries.update */
    update beneficiaries.beneficiaries set alias = coalesce(${alias}, alias), name = coalesce(${name}, name),
      address = coalesce(${written(address)}::jsonb, address),
      named_at = greatest(named_at, ${namedAt}::timestamptz),
      indexed_name = case when ${namedAt}::timestamptz is null then indexed_name else ${name} end,
      payee_check = case when ${namedAt}::timestamptz is null then payee_check end,
      updated_at = greatest(updated_at, ${now}::timestamptz)
    where partner_id = ${partnerId} and id = ${id} and removed_at is null
    returning ${columns}`)
  return row && opened<Beneficiary>(row)
}

/** Removes a beneficiary, and returns 1 or 0. The caller deletes the prefixes of the name. */
export function remove(tx: Tx, partnerId: string, id: string, now: Date): Promise<number> {
  return tx.run(sql`/* beneficiaries.remove */
    update beneficiaries.beneficiaries set removed_at = ${now}, indexed_name = null
    where partner_id = ${partnerId} and id = ${id} and removed_at is null`)
}

/** Reads a payee, even a removed one, because a payout to it may be in progress. */
export function partyById(
  tx: Tx,
  partnerId: string,
  id: string,
): Promise<Pick<Beneficiary, 'country' | 'vasp'> | undefined> {
  return tx.row(sql`/* beneficiaries.partyById */
    select country, vasp from beneficiaries.beneficiaries where partner_id = ${partnerId} and id = ${id}`)
}

/** Reads the screened data of a beneficiary, even of a removed one. */
export function nameById(
  tx: Tx,
  partnerId: string,
  id: string,
): Promise<
  | (Pick<Beneficiary, 'name' | 'vasp' | 'iban' | 'domesticAccount' | 'walletAddress' | 'bic' | 'country'> & {
      readonly addressCountry: string | null
    })
  | undefined
> {
  return tx.row(sql`/* beneficiaries.nameById */
    select name, vasp, iban, domestic_account, wallet_address, bic, country, address ->> 'country' as address_country
    from beneficiaries.beneficiaries where partner_id = ${partnerId} and id = ${id}`)
}

/** Pages through ids in order, including removed beneficiaries. */
export async function idsAfter(tx: Tx, partnerId: string, afterId: string, idsMax: number): Promise<readonly string[]> {
  const rows = await tx.rows<{ id: string }>(sql`/* beneficiaries.idsAfter */
    select id from beneficiaries.beneficiaries where partner_id = ${partnerId} and id > ${afterId}
    order by id limit ${idsMax}`)
  return rows.map(({ id }) => id)
}

export async function eraseOf(
  tx: Tx,
  partnerId: string,
  customerId: string,
): Promise<readonly Pick<Beneficiary, 'id' | 'createdAt'>[]> {
  // Locked first, so that a verification that ends meanwhile cannot add a row that refers to them.
  const rows = await tx.rows<Pick<Beneficiary, 'id' | 'createdAt'>>(sql`/* beneficiaries.eraseOf */
    select id, created_at from beneficiaries.beneficiaries
    where partner_id = ${partnerId} and customer_id = ${customerId} order by id for update`)
  const ids = rows.map(({ id }) => id)
  await tx.run(sql`/* beneficiaries.eraseOf */
    delete from beneficiaries.renewals where partner_id = ${partnerId} and beneficiary_id = any(${ids}::uuid[])`)
  await tx.run(sql`/* beneficiaries.eraseOf */
    delete from beneficiaries.beneficiaries where partner_id = ${partnerId} and id = any(${ids}::uuid[])`)
  return rows
}

const accountText = (name: Sql): Sql =>
  sql`coalesce(${name}.iban, ${name}.domestic_account, lower(${name}.wallet_address))`
/** An account of more beneficiaries belongs to a shop or an authority, which many customers pay. */
const sameAccountMax = 10_000

/** Finds all beneficiaries that share an account with these, including removed ones and those of other customers. Oldest first. */
export function withSameAccounts(
  tx: Tx,
  partnerId: string,
  ids: readonly string[],
): Promise<readonly { readonly id: string; readonly sameIds: readonly string[] }[]> {
  return tx.rows(sql`/* beneficiaries.withSameAccounts */
    select own.id, array(
      select other.id from beneficiaries.beneficiaries as other
      where other.partner_id = ${partnerId} and ${accountText(sql`other`)} = ${accountText(sql`own`)}
      order by other.id limit ${sameAccountMax}) as same_ids
    from beneficiaries.beneficiaries as own where own.partner_id = ${partnerId} and own.id = any(${[...ids]}::uuid[])`)
}

// The SQL of the index of names. Writing statements run under the locks of their payees.

/** A payee to index. `name`: null if it was removed. `isIndexed`: the index contains an earlier name. */
export type NamedPayee = { readonly id: string; readonly name: string | null; readonly isIndexed: boolean }

const types = { partnerId: 'uuid', prefix: 'text', beneficiaryId: 'uuid' } as const
const newPrefixes = insertBy<RowOf<typeof types>>(types, [['partnerId']], ['beneficiaryId', 'prefix'])

export async function insertPrefixes(
  tx: Tx,
  partnerId: string,
  prefixes: readonly { readonly id: string; readonly prefix: string }[],
): Promise<void> {
  if (prefixes.length === 0) return
  const rows = prefixes.map(({ id, prefix }) => ({ partnerId, prefix, beneficiaryId: id }))
  await tx.run(sql`/* beneficiaries.insertPrefixes */
    insert into beneficiaries.name_prefixes (partner_id, prefix, beneficiary_id) ${newPrefixes(tx, rows)}`)
}

export async function deletePrefixes(tx: Tx, partnerId: string, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  await tx.run(sql`/* beneficiaries.deletePrefixes */
    delete from beneficiaries.name_prefixes where partner_id = ${partnerId} and beneficiary_id = any(${ids}::uuid[])`)
}

const isDue = sql`indexed_name is distinct from case when removed_at is null then name end`

/** Finds the next partner after `afterId` with names to index. */
export async function partnerWithNamesDue(tx: Tx, afterId: string): Promise<string | undefined> {
  const row = await tx.row<{ readonly partnerId: string }>(
    dueWork(
      'finds a partner with payees to index, without a lock, by an index of those payees',
      (whose) => sql`/* beneficiaries.partnerWithNamesDue */
      select partner_id from beneficiaries.beneficiaries
      where partner_id > ${afterId} and ${whose()} and ${isDue} order by partner_id limit 1`,
    ),
  )
  return row?.partnerId
}

/** Locks payees to index. Skips those that another transaction changes, because it indexes their names. */
export function claimNamesDue(tx: Tx, partnerId: string, rowsMax: number): Promise<readonly NamedPayee[]> {
  return tx.rows(sql`/* beneficiaries.claimNamesDue */
    select id, case when removed_at is null then name end as name, indexed_name is not null as is_indexed
    from beneficiaries.beneficiaries where partner_id = ${partnerId} and ${isDue}
    order by id limit ${rowsMax}
    for no key update skip locked`)
}

export async function markIndexed(tx: Tx, partnerId: string, payees: readonly NamedPayee[]): Promise<void> {
  if (payees.length === 0) return
  await tx.run(sql`/* beneficiaries.markIndexed */
    update beneficiaries.beneficiaries set indexed_name = case when removed_at is null then name end
    where partner_id = ${partnerId} and id = any(${payees.map(({ id }) => id)}::uuid[])`)
}

// Verifications name people, so their retention is limited.

/** Rows are deleted unless a payee has the name and IBAN, because the next payout shows the verification. */
export const keptVerifications: RetainedTable = {
  table: 'beneficiaries.verifications',
  isOver: ({ partnerId, endedBefore }) => sql`answered_at < ${endedBefore} and not exists (
    select from beneficiaries.beneficiaries as payee
    where payee.partner_id = ${partnerId} and payee.iban = kept.iban and payee.name = kept.name
      and payee.removed_at is null)`,
}
