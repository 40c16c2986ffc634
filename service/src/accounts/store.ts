/** All SQL of accounts. */
import {
  acrossPartners,
  dueWork,
  insertBy,
  columnList,
  noSql,
  ofPartners,
  type RowOf,
  sql,
  type Sql,
  type Tx,
  unprepared,
} from '../postgres/index.ts'
import type { NumberBounds } from './rules.ts'
import type { Currency, RowKey } from '../kernel/index.ts'
import type { accounts } from '@partner-payments/wire'
import type { AccountState } from '../ledger/index.ts'

export type IbanRow = {
  readonly iban: string
  readonly country: string
  /** BIC from the imported file of the IBAN. Null: the file has none, or the IBAN was not imported. */
  readonly bic: string | null
}
/** Account numbers of one bank code in one country. */
export type NumberPool = { readonly country: string; readonly bankCode: string }

export function readIbans(tx: Tx, partnerId: string, customerId: string): Promise<readonly IbanRow[]> {
  return tx.rows<IbanRow>(sql`/* accounts.readIbans */
    select iban, country, bic from accounts.ibans
    where partner_id = ${partnerId} and customer_id = ${customerId} order by created_at, country`)
}

/** Reads the oldest open IBAN of each of these customers, who are on one shard. A customer without one is absent. */
export function readFirstIbans(
  tx: Tx,
  keys: readonly RowKey[],
): Promise<readonly { readonly partnerId: string; readonly customerId: string; readonly iban: string }[]> {
  return tx.rows(sql`/* accounts.readFirstIbans */
    select distinct on (partner_id, customer_id) partner_id, customer_id, iban from accounts.ibans
    where ${ofPartners(keys.map(({ partnerId }) => partnerId))} and customer_id = any(${keys.map(({ id }) => id)}::uuid[])
      and closed_at is null
    order by partner_id, customer_id, created_at, country`)
}

/** Finds the owners of IBANs. An IBAN is issued once, to one partner. */
export function findOwners(
  tx: Tx,
  ibans: readonly string[],
): Promise<readonly { readonly iban: string; readonly partnerId: string; readonly customerId: string }[]> {
  return tx.rows(
    acrossPartners(
      'finds the owner of an account that a bank has credited, by an index',
      sql`/* accounts.findOwners */
        select iban, partner_id, customer_id from accounts.ibans
        where iban = any(${ibans}::text[]) and closed_at is null`,
    ),
  )
}

/** Finds the customer of a partner that has or had an IBAN. Undefined: none. */
export async function findHolder(tx: Tx, partnerId: string, iban: string): Promise<string | undefined> {
  const row = await tx.row<{ readonly customerId: string }>(sql`/* accounts.findHolder */
    select customer_id from accounts.ibans where partner_id = ${partnerId} and iban = ${iban}`)
  return row?.customerId
}

const holdersMax = 10

export type IbanHolder = { readonly partnerId: string; readonly customerId: string; readonly closedAt: Date | null }

/** Finds the current and earlier holders of an IBAN, newest first: a bank may reassign a closed IBAN. */
export function findHolders(tx: Tx, iban: string): Promise<readonly IbanHolder[]> {
  return tx.rows(
    acrossPartners(
      'finds who has or had an account, for the search of the operator, by an index',
      sql`/* accounts.findHolders */
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
 * Takes the next number from the partner's oldest block that is in the range and has numbers left. Undefined: no block
 * has a number left, or a concurrent call took the last number while this call waited.
 */
export function allocateNumber(
  tx: Tx,
  partnerId: string,
  { country, bankCode }: NumberPool,
  { blockSize, firstBlock, endIndex }: NumberBounds,
): Promise<{ readonly block: number; readonly number: number } | undefined> {
  return tx.row<{ block: number; number: number }>(sql`/* accounts.allocateNumber */
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
 * Inserts the pool if it is missing, and locks it. Pools are shared by all partners. Returns the next block,
 * `firstBlock` or later.
 */
export async function lockPool(
  tx: Tx,
  { country, bankCode }: NumberPool,
  firstBlock: number,
): Promise<number | undefined> {
  await tx.run(sql`/* accounts.lockPool */
    insert into accounts.iban_pools (country, bank_code, next_block)
    values (${country}, ${bankCode}, ${firstBlock}) on conflict (country, bank_code) do nothing`)
  const row = await tx.row<{ nextBlock: number }>(sql`/* accounts.lockPool */
    select greatest(next_block, ${firstBlock}::integer) as next_block from accounts.iban_pools
    where country = ${country} and bank_code = ${bankCode} for update`)
  return row?.nextBlock
}

/** Assigns the pool's next block to the partner. The caller holds the lock of the pool. */
export async function allocateBlock(
  tx: Tx,
  partnerId: string,
  { country, bankCode }: NumberPool,
  block: number,
  now: Date,
): Promise<void> {
  await tx.run(sql`/* accounts.allocateBlock */
    update accounts.iban_pools set next_block = ${block + 1} where country = ${country} and bank_code = ${bankCode}`)
  await tx.run(sql`/* accounts.allocateBlock */
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

/** Closes the IBANs of a customer. Returns the time at which its account was opened. Undefined: it has no account. */
export async function closeIbans(tx: Tx, partnerId: string, customerId: string, now: Date): Promise<Date | undefined> {
  await tx.run(sql`/* accounts.closeIbans */
    update accounts.ibans set closed_at = ${now} where partner_id = ${partnerId} and customer_id = ${customerId}`)
  const row = await tx.row<{ createdAt: Date }>(sql`/* accounts.closeIbans */
    select created_at from accounts.customer_accounts where partner_id = ${partnerId} and customer_id = ${customerId}`)
  return row?.createdAt
}

/**
 * Deletes the link between a customer and its IBANs. The numbers remain used: neither a block nor an imported pool
 * issues them again.
 */
export async function eraseIbans(tx: Tx, partnerId: string, customerId: string): Promise<void> {
  await tx.run(sql`/* accounts.eraseIbans */
    delete from accounts.ibans where partner_id = ${partnerId} and customer_id = ${customerId}`)
  await tx.run(sql`/* accounts.eraseIbans */
    delete from accounts.customer_accounts where partner_id = ${partnerId} and customer_id = ${customerId}`)
}

// SQL of cancellations: blocked accounts whose pending payouts are being cancelled.

/** A blocked balance or customer account. The other field is null. */
export type BlockedAccount =
  | { readonly currency: Currency; readonly customerId: null }
  | { readonly currency: null; readonly customerId: string }

export type Cancellation = BlockedAccount & { readonly id: string }

/** Inserts a cancellation. An account has at most one. */
export async function insertCancellation(
  tx: Tx,
  partnerId: string,
  row: Cancellation & { readonly blockedAt: Date; readonly dueAt: Date },
): Promise<void> {
  await tx.run(sql`/* accounts.insertCancellation */
    insert into accounts.cancellations (partner_id, id, customer_id, currency, blocked_at, due_at)
    values (${partnerId}, ${row.id}, ${row.customerId}, ${row.currency}, ${row.blockedAt}, ${row.dueAt})
    on conflict do nothing`)
}

const accountCondition = ({ customerId, currency }: BlockedAccount) =>
  customerId === null ? sql`currency = ${currency}` : sql`customer_id = ${customerId}`

export async function hasCancellation(tx: Tx, partnerId: string, account: BlockedAccount): Promise<boolean> {
  const row = await tx.row(sql`/* accounts.hasCancellation */
    select 1 from accounts.cancellations where partner_id = ${partnerId} and ${accountCondition(account)}`)
  return row !== undefined
}

/** Finds the partner with the oldest due cancellation. */
export function findPartnerWithCancellation(tx: Tx, now: Date): Promise<{ readonly partnerId: string } | undefined> {
  return tx.row(
    dueWork(
      'finds a partner with payouts of a blocked account to cancel, without a lock, by an index of those',
      (whose) => sql`/* accounts.findPartnerWithCancellation */
      select partner_id from accounts.cancellations where due_at <= ${now} and ${whose()} order by due_at limit 1`,
    ),
  )
}

/** Creates the statement that reads when the next cancellation is due. */
export const nextCancellationDue = (after: Date): Sql =>
  dueWork(
    'reads when the payouts of a blocked account are due to be cancelled',
    (whose) => sql`/* accounts.nextCancellationDue */
      select due_at from accounts.cancellations where due_at > ${after} and ${whose()} order by due_at limit 1`,
  )

/**
 * Reads the time of the oldest cancellation, leased or not. A payout that cannot be cancelled renews the lease forever.
 */
export async function oldestCancellation(tx: Tx): Promise<Date | null> {
  const row = await tx.row<{ readonly blockedAt: Date | null }>(
    dueWork(
      'reads the age of the oldest block whose payouts are not cancelled, for a metric',
      (whose) => sql`/* accounts.oldestCancellation */
      select min(blocked_at) as blocked_at from accounts.cancellations where ${whose()}`,
    ),
  )
  return row?.blockedAt ?? null
}

/** Locks a due cancellation. Undefined: none is due, or another process has locked it. */
export function lockDueCancellation(tx: Tx, partnerId: string, now: Date): Promise<Cancellation | undefined> {
  return tx.row<Cancellation>(sql`/* accounts.lockDueCancellation */
    select id, customer_id, currency from accounts.cancellations
    where partner_id = ${partnerId} and due_at <= ${now} order by due_at limit 1 for update skip locked`)
}

/** Locks the cancellation of an account, and waits for a worker that has locked it. Undefined: the account has none. */
export function lockCancellation(
  tx: Tx,
  partnerId: string,
  account: BlockedAccount,
): Promise<Cancellation | undefined> {
  return tx.row<Cancellation>(sql`/* accounts.lockCancellation */
    select id, customer_id, currency from accounts.cancellations
    where partner_id = ${partnerId} and ${accountCondition(account)} for update`)
}

export async function leaseCancellation(tx: Tx, partnerId: string, id: string, dueAt: Date): Promise<void> {
  await tx.run(sql`/* accounts.leaseCancellation */
    update accounts.cancellations set due_at = ${dueAt} where partner_id = ${partnerId} and id = ${id}`)
}

export async function deleteCancellation(tx: Tx, partnerId: string, id: string): Promise<void> {
  await tx.run(sql`/* accounts.deleteCancellation */
    delete from accounts.cancellations where partner_id = ${partnerId} and id = ${id}`)
}

// SQL of imported IBAN pools. `ownerId` is the partner that owns the pool, or the operator for a shared pool.

export type PoolRow = {
  readonly partnerId: string
  readonly name: string
  readonly country: string
  readonly currency: string
  readonly connector: string | null
  readonly createdAt: Date
  readonly withdrawnAt: Date | null
}
const poolColumns = sql`partner_id, name, country, currency, connector, created_at, withdrawn_at`

/** Locks out other imports until the transaction ends. Accounts can still be opened. */
export async function lockImports(tx: Tx): Promise<void> {
  await tx.run(
    acrossPartners(
      'lets imports take turns, because no constraint spans the pools of several partners',
      sql`/* accounts.lockImports */
        lock table accounts.iban_imports in share row exclusive mode`,
    ),
  )
}

/** Finds a pool by its name, which is unique across all partners. The caller has called `lockImports`, or only reads. */
export function findPool(tx: Tx, name: string): Promise<PoolRow | undefined> {
  return tx.row<PoolRow>(
    acrossPartners(
      'finds the pool of a name, whose owner an operator need not say',
      sql`/* accounts.findPool */
        select ${poolColumns} from accounts.imported_pools where name = ${name}`,
    ),
  )
}

/** Inserts the pool if it is missing, or reopens a withdrawn one, and locks it. */
export async function openPool(tx: Tx, pool: Omit<PoolRow, 'withdrawnAt'>): Promise<void> {
  await tx.run(sql`/* accounts.openPool */
    insert into accounts.imported_pools (partner_id, name, country, currency, connector, created_at)
    values (${pool.partnerId}, ${pool.name}, ${pool.country}, ${pool.currency}, ${pool.connector}, ${pool.createdAt})
    on conflict (partner_id, name) do update set withdrawn_at = null`)
}

/** Finds when the file was imported into the pool. Undefined: it was not. */
export async function importedAt(
  tx: Tx,
  { partnerId, name }: Pick<PoolRow, 'partnerId' | 'name'>,
  fileHash: string,
): Promise<Date | undefined> {
  const row = await tx.row<{ readonly importedAt: Date }>(sql`/* accounts.importedAt */
    select imported_at from accounts.iban_imports
    where partner_id = ${partnerId} and pool = ${name} and file_hash = ${fileHash}`)
  return row?.importedAt
}

export type ImportRow = {
  readonly partnerId: string
  readonly id: string
  readonly pool: string
  readonly fileHash: string
  readonly imported: number
  readonly skipped: number
  readonly importedAt: Date
  readonly importedBy: string
}

export async function insertImport(tx: Tx, row: ImportRow): Promise<void> {
  await tx.run(sql`/* accounts.insertImport */
    insert into accounts.iban_imports (partner_id, id, pool, file_hash, imported, skipped, imported_at, imported_by)
    values (${row.partnerId}, ${row.id}, ${row.pool}, ${row.fileHash}, ${row.imported}, ${row.skipped},
      ${row.importedAt}, ${row.importedBy})`)
}

export type PooledIban = {
  readonly iban: string
  readonly pool: string
  readonly importId: string
  readonly line: number
}

/** Finds which of these IBANs are in a pool, in any state. */
export function findPooledIbans(tx: Tx, ibans: readonly string[]): Promise<readonly PooledIban[]> {
  return tx.rows<PooledIban>(
    acrossPartners(
      'refuses an IBAN that a pool of another partner has, by an index',
      sql`/* accounts.findPooledIbans */
        select iban, pool, import_id, line from accounts.imported_ibans where iban = any(${ibans}::text[])`,
    ),
  )
}

/** Finds which of these IBANs belong to an account, open or closed. */
export async function findIssuedIbans(tx: Tx, ibans: readonly string[]): Promise<readonly string[]> {
  const rows = await tx.rows<{ readonly iban: string }>(
    acrossPartners(
      'finds which IBANs are accounts of any partner, by an index',
      sql`/* accounts.findIssuedIbans */
        select iban from accounts.ibans where iban = any(${ibans}::text[])`,
    ),
  )
  return rows.map(({ iban }) => iban)
}

const ibanColumns = {
  partnerId: 'uuid',
  iban: 'text',
  pool: 'text',
  country: 'text',
  bic: 'text?',
  importId: 'uuid',
  line: 'integer',
} as const
export type ImportedIban = RowOf<typeof ibanColumns>
const newIbans = insertBy<ImportedIban>(ibanColumns, [['partnerId', 'pool', 'country', 'importId']])

export async function insertImported(tx: Tx, rows: readonly ImportedIban[]): Promise<void> {
  await tx.run(sql`/* accounts.insertImported */
    insert into accounts.imported_ibans (${columnList(ibanColumns)}) ${newIbans(tx, rows)}`)
}

/**
 * Assigns the next free IBAN of a country to a partner: from the first pool by name, the oldest import first. Skips
 * IBANs that other transactions are assigning. Undefined: none is left.
 */
export function allocateImportedIban(
  tx: Tx,
  ownerId: string,
  country: string,
  partnerId: string,
  now: Date,
): Promise<{ readonly iban: string; readonly bic: string | null } | undefined> {
  return tx.row<{ readonly iban: string; readonly bic: string | null }>(
    unprepared(sql`/* accounts.allocateImportedIban */
      update accounts.imported_ibans set given_at = ${now}, given_to = ${partnerId}
      where partner_id = ${ownerId} and iban = (
        select iban from accounts.imported_ibans
        where partner_id = ${ownerId} and country = ${country} and given_at is null and withdrawn_at is null
        order by pool, import_id, line limit 1 for update skip locked)
      returning iban, bic`),
  )
}

/** Quarantines IBANs of a closed account: they are never assigned again, and are counted separately. */
export async function quarantineImportedIbans(
  tx: Tx,
  ownerId: string,
  partnerId: string,
  ibans: readonly string[],
  now: Date,
): Promise<void> {
  await tx.run(sql`/* accounts.quarantineImportedIbans */
    update accounts.imported_ibans set quarantined_at = ${now}
    where partner_id = ${ownerId} and iban = any(${ibans}::text[]) and given_to = ${partnerId} and quarantined_at is null`)
}

/**
 * Withdraws a page of free IBANs in their order, or a single IBAN. `after` is the cursor. Returns the withdrawn IBANs.
 */
export async function withdrawFreeIbans(
  tx: Tx,
  { partnerId, name }: Pick<PoolRow, 'partnerId' | 'name'>,
  page: { readonly after: string; readonly iban: string | null; readonly rowsMax: number },
  now: Date,
): Promise<readonly string[]> {
  const rows = await tx.rows<{ readonly iban: string }>(
    unprepared(sql`/* accounts.withdrawFreeIbans */
      update accounts.imported_ibans set withdrawn_at = ${now}
      where partner_id = ${partnerId} and iban = any(array(
        select iban from accounts.imported_ibans
        where partner_id = ${partnerId} and pool = ${name} and iban > ${page.after}
          and (${page.iban}::text is null or iban = ${page.iban}) and given_at is null and withdrawn_at is null
        order by iban limit ${page.rowsMax} for update))
      returning iban`),
  )
  return rows.map(({ iban }) => iban)
}

export async function markWithdrawn(
  tx: Tx,
  { partnerId, name }: Pick<PoolRow, 'partnerId' | 'name'>,
  now: Date,
): Promise<void> {
  await tx.run(sql`/* accounts.markWithdrawn */
    update accounts.imported_pools set withdrawn_at = ${now} where partner_id = ${partnerId} and name = ${name}`)
}

export type PoolLevelRow = PoolRow & { readonly free: number; readonly givenLately: number }

/** Counts the free and recently assigned IBANs of each pool that is not withdrawn, by indexes. */
export function listPoolLevels(tx: Tx, since: Date): Promise<readonly PoolLevelRow[]> {
  return tx.rows<PoolLevelRow>(
    acrossPartners(
      'counts what is free in each pool, for metrics, by the index of the free ones',
      unprepared(sql`/* accounts.listPoolLevels */
        select pool.partner_id, pool.name, pool.country, pool.currency, pool.connector, pool.created_at, pool.withdrawn_at,
          (select count(*)::integer from accounts.imported_ibans as free
            where free.partner_id = pool.partner_id and free.country = pool.country and free.pool = pool.name
              and free.given_at is null and free.withdrawn_at is null) as free,
          (select count(*)::integer from accounts.imported_ibans as given
            where given.partner_id = pool.partner_id and given.pool = pool.name and given.given_at >= ${since})
            as given_lately
        from accounts.imported_pools as pool where pool.withdrawn_at is null order by pool.name`),
    ),
  )
}

export type PoolCounts = PoolLevelRow & {
  readonly total: number
  /** Number of IBANs of open accounts. */
  readonly given: number
  readonly quarantined: number
  readonly withdrawn: number
  readonly oldestImportAt: Date | null
}

/** Counts the IBANs of all pools. Reads every row, so it is for operator commands only. */
export function countPools(tx: Tx, since: Date): Promise<readonly PoolCounts[]> {
  return tx.rows<PoolCounts>(
    acrossPartners(
      'an operator lists the pools with what is free and given',
      unprepared(sql`/* accounts.countPools */
        select pool.partner_id, pool.name, pool.country, pool.currency, pool.connector, pool.created_at, pool.withdrawn_at,
          count(number.iban)::integer as total,
          count(*) filter (where number.iban is not null and number.given_at is null and number.withdrawn_at is null)::integer
            as free,
          count(*) filter (where number.given_at is not null and number.quarantined_at is null)::integer as given,
          count(*) filter (where number.quarantined_at is not null)::integer as quarantined,
          count(*) filter (where number.withdrawn_at is not null)::integer as withdrawn,
          count(*) filter (where number.given_at >= ${since})::integer as given_lately,
          (select min(file.imported_at) from accounts.iban_imports as file
            where file.partner_id = pool.partner_id and file.pool = pool.name) as oldest_import_at
        from accounts.imported_pools as pool left join accounts.imported_ibans as number
          on number.partner_id = pool.partner_id and number.pool = pool.name
        group by pool.partner_id, pool.name order by pool.name`),
    ),
  )
}

// SQL of state changes. Rows are only added.

export type StateReason = (typeof accounts.stateReasons)[number]

/** Change of the state of a balance (`currency`) or of a customer's account (`customerId`). The other field is null. */
export type StateChange = {
  readonly id: string
  readonly customerId: string | null
  readonly currency: Currency | null
  readonly fromState: AccountState
  readonly toState: AccountState
  readonly reason: StateReason
  readonly note: string
  readonly staff: string
  readonly changedAt: Date
}

/** Finds the last state change that screening caused for a customer's account or a balance. */
export function lastFreeze(
  tx: Tx,
  partnerId: string,
  of: Pick<StateChange, 'customerId' | 'currency'>,
): Promise<{ readonly toState: AccountState } | undefined> {
  return tx.row(sql`/* accounts.lastFreeze */
    select to_state from accounts.state_changes
    where partner_id = ${partnerId} and currency is not distinct from ${of.currency}::text
      and customer_id is not distinct from ${of.customerId}::uuid and cause = 'screening' order by id desc limit 1`)
}

const columns = sql`id, customer_id, currency, from_state, to_state, reason, note, staff, changed_at`

/**
 * Inserts a state change. `cause`: null for a command. A change by screening follows from a sanctions match and does
 * not change the state in the row of the account.
 */
export async function insertStateChange(
  tx: Tx,
  partnerId: string,
  row: StateChange,
  cause: 'screening' | null = null,
): Promise<void> {
  await tx.run(sql`/* accounts.insertStateChange */
    insert into accounts.state_changes (partner_id, id, customer_id, currency, from_state, to_state, reason, note, staff,
      changed_at, cause)
    values (${partnerId}, ${row.id}, ${row.customerId}, ${row.currency}, ${row.fromState}, ${row.toState}, ${row.reason},
      ${row.note}, ${row.staff}, ${row.changedAt}, ${cause})`)
}

/** Lists state changes, newest first. `beforeId` is the cursor. Null fields of `of`: all accounts. */
export function listStateChanges(
  tx: Tx,
  partnerId: string,
  of: { readonly customerId: string | null; readonly currency: string | null },
  beforeId: string | null,
  rowsMax: number,
): Promise<readonly StateChange[]> {
  return tx.rows<StateChange>(sql`/* accounts.listStateChanges */
    select ${columns} from accounts.state_changes where partner_id = ${partnerId}
    ${of.customerId === null ? noSql : sql`and customer_id = ${of.customerId}`}
    ${of.currency === null ? noSql : sql`and currency = ${of.currency}`}
    ${beforeId === null ? noSql : sql`and id < ${beforeId}`}
    order by id desc limit ${rowsMax}`)
}

/** Lists the last change of each account that is not active: the last by a command, and the last by screening. */
export function listInactiveAccounts(tx: Tx, partnerId: string): Promise<readonly StateChange[]> {
  return tx.rows<StateChange>(sql`/* accounts.listInactiveAccounts */
    select ${columns} from (
      select distinct on (currency, customer_id, cause) ${columns} from accounts.state_changes where partner_id = ${partnerId}
      order by currency, customer_id, cause, id desc) as latest
    where to_state <> 'Active' order by id`)
}
