/** All SQL of the BIC directory and of the modulus check. All partners share these tables. */
import { columnValues, insertBy, sql, type Tx } from '../../postgres/index.ts'
import type { BicEntry } from './bic-file.ts'
import type { SubstituteRow, WeightRange, WeightRow } from './modulus-file.ts'

export type DirectoryRow = {
  readonly version: number
  readonly hash: string
  readonly loadedAt: Date
  readonly loadedBy: string
  readonly entries: number
  readonly added: number
  readonly changed: number
  readonly removed: number
}

const columns = sql`version, hash, loaded_at, loaded_by, entries, added, changed, removed`

/** Locks the directories, so that no other process loads one until the transaction ends. */
export async function lockDirectories(tx: Tx): Promise<void> {
  await tx.run(sql`/* beneficiaries.lockDirectories */
    lock table beneficiaries.bic_directories in share row exclusive mode`)
}

/** Reads the newest directory. Undefined: none was loaded. */
export function currentDirectory(tx: Tx): Promise<DirectoryRow | undefined> {
  return tx.row<DirectoryRow>(sql`/* beneficiaries.currentDirectory */
    select ${columns} from beneficiaries.bic_directories order by version desc limit 1`)
}

export async function insertDirectory(tx: Tx, row: DirectoryRow): Promise<void> {
  await tx.run(sql`/* beneficiaries.insertDirectory */
    insert into beneficiaries.bic_directories (${columns})
    values (${row.version}, ${row.hash}, ${row.loadedAt}, ${row.loadedBy}, ${row.entries}, ${row.added},
      ${row.changed}, ${row.removed})`)
}

export function currentBics(tx: Tx): Promise<readonly BicEntry[]> {
  return tx.rows<BicEntry>(sql`/* beneficiaries.currentBics */
    select country, bank_code, bic, name from beneficiaries.bics where until_version is null`)
}

type BicKey = Pick<BicEntry, 'country' | 'bankCode'>

/** Reads the entries of bank codes in the newest directory. */
export function bicsOf(tx: Tx, keys: readonly BicKey[]): Promise<readonly BicEntry[]> {
  const column = columnValues(keys)
  return tx.rows<BicEntry>(sql`/* beneficiaries.bicsOf */
    select entry.country, entry.bank_code, entry.bic, entry.name
    from unnest(${column('country')}::text[], ${column('bankCode')}::text[]) as given (country, bank_code)
      join beneficiaries.bics as entry on entry.country = given.country and entry.bank_code = given.bank_code
    where entry.until_version is null`)
}

export async function endBics(tx: Tx, keys: readonly BicKey[], version: number): Promise<void> {
  const column = columnValues(keys)
  await tx.run(sql`/* beneficiaries.endBics */
    update beneficiaries.bics as entry set until_version = ${version}
    from unnest(${column('country')}::text[], ${column('bankCode')}::text[]) as given (country, bank_code)
    where entry.country = given.country and entry.bank_code = given.bank_code and entry.until_version is null`)
}

const newBics = insertBy<BicEntry & { readonly fromVersion: number }>(
  { country: 'text', bankCode: 'text', fromVersion: 'integer', bic: 'text', name: 'text' },
  [['fromVersion']],
)

export async function insertBics(tx: Tx, entries: readonly BicEntry[], fromVersion: number): Promise<void> {
  const rows = entries.map((entry) => ({ ...entry, fromVersion }))
  await tx.run(sql`/* beneficiaries.insertBics */
    insert into beneficiaries.bics (country, bank_code, from_version, bic, name) ${newBics(tx, rows)}`)
}

export type CompletedBic = { readonly id: string; readonly iban: string; readonly bic: string | null }

/** Locks beneficiaries after the cursor whose BIC comes from the directory or is absent, in the order of ids. */
export function lockCompletable(
  tx: Tx,
  partnerId: string,
  afterId: string,
  rowsMax: number,
): Promise<readonly CompletedBic[]> {
  return tx.rows<CompletedBic>(sql`/* beneficiaries.lockCompletable */
    select id, iban, bic from beneficiaries.beneficiaries
    where partner_id = ${partnerId} and id > ${afterId} and removed_at is null and iban is not null
      and (bic is null or bic_completed_at is not null)
    order by id limit ${rowsMax} for update`)
}

/** Sets the BICs of beneficiaries. Null: the directory no longer lists the bank. */
export async function completeBics(
  tx: Tx,
  partnerId: string,
  completed: readonly CompletedBic[],
  now: Date,
): Promise<void> {
  const column = columnValues(completed)
  await tx.run(sql`/* beneficiaries.completeBics */
    update beneficiaries.beneficiaries as payee set bic = given.bic,
      bic_completed_at = case when given.bic is null then null else ${now}::timestamptz end
    from unnest(${column('id')}::uuid[], ${column('bic')}::text[]) as given (id, bic)
    where payee.partner_id = ${partnerId} and payee.id = given.id`)
}

// The SQL of the modulus check.

export type ModulusTable = {
  readonly version: number
  readonly hash: string
  readonly loadedAt: Date
  readonly loadedBy: string
  readonly ranges: number
  readonly substitutes: number
}

const moduluColumns = sql`version, hash, loaded_at, loaded_by, ranges, substitutes`

/** Locks the tables, so that no other process loads them until the transaction ends. */
export async function lockModulusTables(tx: Tx): Promise<void> {
  await tx.run(sql`/* beneficiaries.lockModulusTables */
    lock table beneficiaries.modulus_tables in share row exclusive mode`)
}

/** Reads the newest table. Undefined: none was loaded. */
export function currentModulusTable(tx: Tx): Promise<ModulusTable | undefined> {
  return tx.row<ModulusTable>(sql`/* beneficiaries.currentModulusTable */
    select ${moduluColumns} from beneficiaries.modulus_tables order by version desc limit 1`)
}

const newWeights = insertBy<Omit<WeightRange, 'weights'> & { readonly weights: string }>(
  { line: 'integer', first: 'text', last: 'text', method: 'text', weights: 'text', exception: 'integer' },
  [],
)
const newSubstitutes = insertBy<SubstituteRow>({ original: 'text', substitute: 'text' }, [])

type ModulusFiles = {
  readonly table: ModulusTable
  readonly weights: readonly WeightRange[]
  readonly substitutes: readonly SubstituteRow[]
}

export async function replaceModulusTables(tx: Tx, { table, weights, substitutes }: ModulusFiles): Promise<void> {
  await tx.run(sql`/* beneficiaries.replaceModulusTables */
    insert into beneficiaries.modulus_tables (${moduluColumns})
    values (${table.version}, ${table.hash}, ${table.loadedAt}, ${table.loadedBy}, ${table.ranges}, ${table.substitutes})`)
  await tx.run(sql`/* beneficiaries.replaceModulusTables */ delete from beneficiaries.modulus_weights`)
  await tx.run(sql`/* beneficiaries.replaceModulusTables */ delete from beneficiaries.modulus_substitutes`)
  const rows = weights.map((row) => ({ ...row, weights: `{${row.weights.join()}}` }))
  await tx.run(sql`/* beneficiaries.replaceModulusTables */
    insert into beneficiaries.modulus_weights (line, first, last, method, weights, exception)
    select line, first, last, method, weights::integer[], exception
    from (${newWeights(tx, rows)}) as given (line, first, last, method, weights, exception)`)
  if (substitutes.length === 0) return
  await tx.run(sql`/* beneficiaries.replaceModulusTables */
    insert into beneficiaries.modulus_substitutes (original, substitute) ${newSubstitutes(tx, substitutes)}`)
}

/** Reads the checks of sort codes, in their order. */
export function weightsOf(
  tx: Tx,
  sortCodes: readonly string[],
): Promise<readonly (WeightRow & { readonly sortCode: string })[]> {
  return tx.rows(sql`/* beneficiaries.weightsOf */
    select given.sort_code, method, weights, exception
    from unnest(${[...sortCodes]}::text[]) as given (sort_code)
      join beneficiaries.modulus_weights on last >= given.sort_code and first <= given.sort_code
    order by line`)
}

export function substitutesOf(tx: Tx, sortCodes: readonly string[]): Promise<readonly SubstituteRow[]> {
  return tx.rows<SubstituteRow>(sql`/* beneficiaries.substitutesOf */
    select original, substitute from beneficiaries.modulus_substitutes where original = any(${[...sortCodes]}::text[])`)
}
