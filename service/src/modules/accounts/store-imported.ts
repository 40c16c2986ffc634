/** All SQL of imported pools of IBANs. `ownerId` is the partner whose pool it is, or the operator for a shared one. */
import { acrossPartners, insertBy, namesOf, type RowOf, sql, type Tx, unprepared } from '../../postgres/index.ts'

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

/** Locks the imports until the transaction ends. Accounts can still be opened. */
export async function lockImports(tx: Tx): Promise<void> {
  await tx.run(
    acrossPartners(
      'lets imports take turns, because no constraint spans the pools of several partners',
      sql`/* accounts.lockImports */
        lock table accounts.iban_imports in share row exclusive mode`,
    ),
  )
}

/** A name belongs to one pool of all partners. The caller has `lockImports`, or only reads. */
export function poolNamed(tx: Tx, name: string): Promise<PoolRow | undefined> {
  return tx.row<PoolRow>(
    acrossPartners(
      'finds the pool of a name, whose owner an operator need not say',
      sql`/* accounts.poolNamed */
        select ${poolColumns} from accounts.imported_pools where name = ${name}`,
    ),
  )
}

/** Inserts the pool if it is missing, and locks it. */
export async function openPool(tx: Tx, pool: Omit<PoolRow, 'withdrawnAt'>): Promise<void> {
  await tx.run(sql`/* accounts.openPool */
    insert into accounts.imported_pools (partner_id, name, country, currency, connector, created_at)
    values (${pool.partnerId}, ${pool.name}, ${pool.country}, ${pool.currency}, ${pool.connector}, ${pool.createdAt})
    on conflict (partner_id, name) do update set withdrawn_at = null`)
}

/** When the file was imported into the pool. Undefined: it was not. */
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

export type KnownIban = {
  readonly iban: string
  readonly pool: string
  readonly importId: string
  readonly line: number
}

/** Returns which of these IBANs are in a pool, in any state. */
export function knownAmong(tx: Tx, ibans: readonly string[]): Promise<readonly KnownIban[]> {
  return tx.rows<KnownIban>(
    acrossPartners(
      'refuses an IBAN that a pool of another partner has, by an index',
      sql`/* accounts.knownAmong */
        select iban, pool, import_id, line from accounts.imported_ibans where iban = any(${ibans}::text[])`,
    ),
  )
}

/** Returns which of these IBANs belong to an account, open or closed. */
export async function issuedAmong(tx: Tx, ibans: readonly string[]): Promise<readonly string[]> {
  const rows = await tx.rows<{ readonly iban: string }>(
    acrossPartners(
      'finds which IBANs are accounts of any partner, by an index',
      sql`/* accounts.issuedAmong */
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
    insert into accounts.imported_ibans (${namesOf(ibanColumns)}) ${newIbans(tx, rows)}`)
}

/**
 * Gives the next free IBAN of a country to a partner: from the pool whose name comes first, and there the one imported
 * first. Skips those that another transaction is about to give. Undefined: none is left.
 */
export function takeImported(
  tx: Tx,
  ownerId: string,
  country: string,
  partnerId: string,
  now: Date,
): Promise<{ readonly iban: string; readonly bic: string | null } | undefined> {
  return tx.row<{ readonly iban: string; readonly bic: string | null }>(
    unprepared(sql`/* accounts.takeImported */
      update accounts.imported_ibans set given_at = ${now}, given_to = ${partnerId}
      where partner_id = ${ownerId} and iban = (
        select iban from accounts.imported_ibans
        where partner_id = ${ownerId} and country = ${country} and given_at is null and withdrawn_at is null
        order by pool, import_id, line limit 1 for update skip locked)
      returning iban, bic`),
  )
}

/** Quarantines IBANs of a closed account of this partner: they are never free again, and are counted apart. */
export async function quarantine(
  tx: Tx,
  ownerId: string,
  partnerId: string,
  ibans: readonly string[],
  now: Date,
): Promise<void> {
  await tx.run(sql`/* accounts.quarantine */
    update accounts.imported_ibans set quarantined_at = ${now}
    where partner_id = ${ownerId} and iban = any(${ibans}::text[]) and given_to = ${partnerId} and quarantined_at is null`)
}

/**
 * Withdraws free IBANs after one of them, in their order: a page of them, or a single one. Returns the withdrawn ones.
 */
export async function withdrawPage(
  tx: Tx,
  { partnerId, name }: Pick<PoolRow, 'partnerId' | 'name'>,
  page: { readonly after: string; readonly iban: string | null; readonly rowsMax: number },
  now: Date,
): Promise<readonly string[]> {
  const rows = await tx.rows<{ readonly iban: string }>(
    unprepared(sql`/* accounts.withdrawPage */
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

/** The level of each pool that is not withdrawn, by the indexes of what is free and of what was given. */
export function poolLevels(tx: Tx, since: Date): Promise<readonly PoolLevelRow[]> {
  return tx.rows<PoolLevelRow>(
    acrossPartners(
      'counts what is free in each pool, for metrics, by the index of the free ones',
      unprepared(sql`/* accounts.poolLevels */
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
  /** Number of IBANs of accounts that are not closed. */
  readonly given: number
  readonly quarantined: number
  readonly withdrawn: number
  readonly oldestImportAt: Date | null
}

/** Reads every row of every pool: for an operator's command. */
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
