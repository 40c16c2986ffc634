/** All SQL of beneficiaries. Removed beneficiaries are read for accepted payouts and for screening only. */
import { type AccountType, ownJson, type PayeeAddress } from '@partner-payments/wire'
import type { PageRequest } from '../../kernel/api/index.ts'
import type { Currency } from '../../kernel/index.ts'
import type { PayeeResult } from '../../rails/index.ts'
import {
  dueWork,
  insertBy,
  type KeptTable,
  noSql,
  ofPartners,
  type RowOf,
  type Sql,
  sql,
  type Tx,
} from '../../postgres/index.ts'

export type Beneficiary = {
  readonly id: string
  /** The guid of the customer. Null: the beneficiary belongs to the partner. */
  readonly customerId: string | null
  readonly alias: string | null
  readonly name: string
  readonly iban: string | null
  /** An account without an IBAN, as `domesticText` writes it. */
  readonly domesticAccount: string | null
  /** Null: it was not stated, or the account is not American. */
  readonly accountType: AccountType | null
  readonly bic: string | null
  readonly walletAddress: string | null
  /** The provider that keeps the wallet. Null: a bank account, or a wallet of the beneficiary's own. */
  readonly vasp: string | null
  readonly country: string | null
  readonly address: PayeeAddress | null
  readonly currency: Currency
  readonly createdAt: Date
  readonly updatedAt: Date
}
/** The last result of a bank or of a verification for the present name and account of a beneficiary. */
export type PayeeCheck = Exclude<PayeeResult, 'unchecked'>

/** `unchangedSince`: since when it has its account and its name. `payeeCheck`: null if they were never compared. */
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

type Stored<Row> = Omit<Row, 'address'> & { readonly address: string | null }
const opened = <Row extends { readonly address: PayeeAddress | null }>({ address, ...row }: Stored<Row>): Row =>
  ({ ...row, address: address === null ? null : ownJson<PayeeAddress>(address) }) as unknown as Row
const written = (address: PayeeAddress | null): string | null => (address === null ? null : JSON.stringify(address))
async function openedRows<Row extends { readonly address: PayeeAddress | null }>(
  rows: Promise<readonly Stored<Row>[]>,
): Promise<readonly Row[]> {
  return (await rows).map((row) => opened<Row>(row))
}

/** `bicCompletedAt`: since when the BIC is that of the directory. Null: it was given, or there is none. */
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
  const row = await tx.row<Stored<Beneficiary>>(sql`/* beneficiaries.byId */
    select ${columns} from beneficiaries.beneficiaries
    where partner_id = ${partnerId} and id = ${id} and removed_at is null`)
  return row && opened<Beneficiary>(row)
}

/** Beneficiaries of several partners, for a batch of payouts. */
export function payeesByIds(
  tx: Tx,
  keys: readonly { readonly partnerId: string; readonly id: string }[],
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

/** Finds beneficiaries of one customer, or of the partner itself, by IBANs and domestic accounts. Oldest first. */
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

/** Beneficiaries by id, and those of the partner itself by alias and name without case, each by its index. Oldest first. */
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
/** A text that more payees have in common is a question to the person anyway. */
const byTextsMax = 10_000

/** Beneficiaries of the partner and its customers by their accounts, by the index of accounts. Oldest first. */
export function atAccounts(tx: Tx, partnerId: string, accounts: readonly string[]): Promise<readonly Beneficiary[]> {
  const folded = accounts.map((account) => (account.startsWith('0x') ? account.toLowerCase() : account))
  return openedRows(
    tx.rows(sql`/* beneficiaries.atAccounts */
    select ${columns} from beneficiaries.beneficiaries
    where partner_id = ${partnerId} and removed_at is null
      and coalesce(iban, domestic_account, lower(wallet_address)) = any(${folded}::text[])
    order by id`),
  )
}

/** `unchangedSince`: since when it has its account and its name. */
export type HeldPayee = HeldBeneficiary & Pick<Payee, 'unchangedSince'>
const heldColumns = sql`${columns}, removed_at, greatest(created_at, named_at) as unchanged_since`

/** Beneficiaries by id, removed ones included. */
export function withIds(tx: Tx, partnerId: string, ids: readonly string[]): Promise<readonly HeldPayee[]> {
  return openedRows(
    tx.rows(sql`/* beneficiaries.withIds */
    select ${heldColumns} from beneficiaries.beneficiaries where partner_id = ${partnerId} and id = any(${[...ids]}::uuid[])`),
  )
}

/** Beneficiaries of the partner and its customers with an account, removed ones included, newest first, by the index of accounts. */
export function withAccount(
  tx: Tx,
  partnerId: string,
  account: string,
  rowsMax: number,
): Promise<readonly HeldPayee[]> {
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

/** Beneficiaries by the partner's own name of them, newest first. */
export function byAlias(tx: Tx, partnerId: string, alias: string, rowsMax: number): Promise<readonly Beneficiary[]> {
  return openedRows(
    tx.rows(sql`/* beneficiaries.byAlias */
    select ${columns} from beneficiaries.beneficiaries
    where partner_id = ${partnerId} and lower(alias) = lower(${alias}::text) and removed_at is null order by id desc limit ${rowsMax}`),
  )
}

/** The kind of payments to a payee, and the optional fields that are there. The text of the index `beneficiaries_corridor`. */
const corridor = sql`(currency || '/' || coalesce(country, '') || '/' || coalesce(substring(bic from 5 for 2), '') || '/'
    || case when address is null then '' else 'a' end || case when address ? 'streetName' then 's' else '' end
    || case when address ? 'buildingNumber' then 'b' else '' end || case when address ? 'postalCode' then 'p' else '' end
    || case when address ? 'state' then 't' else '' end || case when account_type is null then '' else 'c' end)`

/** The first corridor of a partner's payees after another one: a step of the index, whatever the number of payees. */
export async function corridorAfter(tx: Tx, partnerId: string, last: string): Promise<string | undefined> {
  const row = await tx.row<{ corridor: string }>(sql`/* beneficiaries.corridorAfter */
    select ${corridor} as corridor from beneficiaries.beneficiaries
    where partner_id = ${partnerId} and removed_at is null and wallet_address is null and ${corridor} > ${last}
    order by ${corridor} limit 1`)
  return row?.corridor
}

/** Payees of some corridors, newest first: at most a page of each is read, by the index of corridors. */
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

export type HeldBeneficiary = Beneficiary & { readonly removedAt: Date | null }

/** Pages through a customer's beneficiaries in their order, removed ones included. */
export function ofCustomer(
  tx: Tx,
  partnerId: string,
  customerId: string,
  afterId: string,
  rowsMax: number,
): Promise<readonly HeldBeneficiary[]> {
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

/** Locks the beneficiaries with a name and an account, in their order, so that none is renamed meanwhile. */
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

/** Notes the result for beneficiaries that have the name and the account. The caller has locked them. */
export async function putCheck(tx: Tx, partnerId: string, ids: readonly string[], check: PayeeCheck): Promise<void> {
  await tx.run(sql`/* beneficiaries.putCheck */
    update beneficiaries.beneficiaries set payee_check = ${check}
    where partner_id = ${partnerId} and id = any(${ids}::uuid[]) and payee_check is distinct from ${check}`)
}

/** Notes the result for a beneficiary, if it still has the name and the account. */
export async function noteCheck(
  tx: Tx,
  partnerId: string,
  { id, name, account }: { readonly id: string; readonly name: string; readonly account: string },
  check: PayeeCheck,
): Promise<void> {
  await tx.run(sql`/* beneficiaries.noteCheck */
    update beneficiaries.beneficiaries set payee_check = ${check}
    where partner_id = ${partnerId} and id = ${id} and name = ${name} and coalesce(iban, domestic_account) = ${account}
      and payee_check is distinct from ${check}`)
}

/** Null leaves the column as it is. `namedAt`: null if the name stays. A new name was never compared, and is indexed by the caller. */
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
  const row = await tx.row<Stored<Beneficiary>>(sql`/* beneficiaries.update */
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

/** Returns the number of removed rows: 1 or 0. The caller deletes the prefixes of the name. */
export function remove(tx: Tx, partnerId: string, id: string, now: Date): Promise<number> {
  return tx.run(sql`/* beneficiaries.remove */
    update beneficiaries.beneficiaries set removed_at = ${now}, indexed_name = null
    where partner_id = ${partnerId} and id = ${id} and removed_at is null`)
}

/** Reads the payee, also of a removed beneficiary: a payout to it may be in progress. */
export function partyById(
  tx: Tx,
  partnerId: string,
  id: string,
): Promise<Pick<Beneficiary, 'country' | 'vasp'> | undefined> {
  return tx.row(sql`/* beneficiaries.partyById */
    select country, vasp from beneficiaries.beneficiaries where partner_id = ${partnerId} and id = ${id}`)
}

/** Reads what is screened, also of a removed beneficiary. */
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

/** Pages through ids in their order, removed beneficiaries included. */
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
  // Locked first: a verification that ends meanwhile adds no row that refers to them.
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

const accountOf = (name: Sql): Sql =>
  sql`coalesce(${name}.iban, ${name}.domestic_account, lower(${name}.wallet_address))`
/** An account that more beneficiaries have is that of a shop or an authority, which everybody pays. */
const sameAccountMax = 10_000

/** Finds all beneficiaries with the account of each of these, removed ones and those of other customers too. The oldest is the first. */
export function withSameAccounts(
  tx: Tx,
  partnerId: string,
  ids: readonly string[],
): Promise<readonly { readonly id: string; readonly sameIds: readonly string[] }[]> {
  return tx.rows(sql`/* beneficiaries.withSameAccounts */
    select own.id, array(
      select other.id from beneficiaries.beneficiaries as other
      where other.partner_id = ${partnerId} and ${accountOf(sql`other`)} = ${accountOf(sql`own`)}
      order by other.id limit ${sameAccountMax}) as same_ids
    from beneficiaries.beneficiaries as own where own.partner_id = ${partnerId} and own.id = any(${[...ids]}::uuid[])`)
}

// The SQL of the index of names. A statement that writes runs under the locks of its payees.

/** `name`: null if the payee was removed. `isIndexed`: the index has a name of the payee. */
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

/** The first partner after `afterId` with payees whose names are due. */
export async function partnerWithNamesDue(tx: Tx, afterId: string): Promise<string | undefined> {
  const row = await tx.row<{ readonly partnerId: string }>(
    dueWork(
      'finds a partner with names to index, without a lock, by an index of those',
      (whose) => sql`/* beneficiaries.partnerWithNamesDue */
      select partner_id from beneficiaries.beneficiaries
      where partner_id > ${afterId} and ${whose()} and ${isDue} order by partner_id limit 1`,
    ),
  )
  return row?.partnerId
}

/** Skips payees that another transaction changes, because it indexes their names. */
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

// Verifications of payees, which name persons and are kept for a time.

/** Deleted, unless a payee has the name and IBAN: the next payout shows the verification. */
export const keptVerifications: KeptTable = {
  table: 'beneficiaries.verifications',
  isOver: ({ partnerId, endedBefore }) => sql`answered_at < ${endedBefore} and not exists (
    select from beneficiaries.beneficiaries as payee
    where payee.partner_id = ${partnerId} and payee.iban = kept.iban and payee.name = kept.name
      and payee.removed_at is null)`,
}
