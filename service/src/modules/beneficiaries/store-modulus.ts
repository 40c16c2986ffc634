/** All SQL of the modulus check. Its tables belong to no partner: they are for all. */
import { insertBy, sql, type Tx } from '../../postgres/index.ts'
import type { SubstituteRow, WeightRange, WeightRow } from './modulus-file.ts'

export type ModulusTable = {
  readonly version: number
  readonly hash: string
  readonly loadedAt: Date
  readonly loadedBy: string
  readonly ranges: number
  readonly substitutes: number
}

const columns = sql`version, hash, loaded_at, loaded_by, ranges, substitutes`

/** Locks the tables: no other process loads them until the transaction ends. */
export async function lockModulusTables(tx: Tx): Promise<void> {
  await tx.run(sql`/* beneficiaries.lockModulusTables */
    lock table beneficiaries.modulus_tables in share row exclusive mode`)
}

/** Undefined: none was loaded. */
export function currentModulusTable(tx: Tx): Promise<ModulusTable | undefined> {
  return tx.row<ModulusTable>(sql`/* beneficiaries.currentModulusTable */
    select ${columns} from beneficiaries.modulus_tables order by version desc limit 1`)
}

const newWeights = insertBy<Omit<WeightRange, 'weights'> & { readonly weights: string }>(
  { line: 'integer', first: 'text', last: 'text', method: 'text', weights: 'text', exception: 'integer' },
  [],
)
const newSubstitutes = insertBy<SubstituteRow>({ original: 'text', substitute: 'text' }, [])

type Loaded = {
  readonly table: ModulusTable
  readonly weights: readonly WeightRange[]
  readonly substitutes: readonly SubstituteRow[]
}

export async function replaceModulusTables(tx: Tx, { table, weights, substitutes }: Loaded): Promise<void> {
  await tx.run(sql`/* beneficiaries.replaceModulusTables */
    insert into beneficiaries.modulus_tables (${columns})
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

/** The checks of a sort code, in their order. */
export function weightsOf(tx: Tx, sortCode: string): Promise<readonly WeightRow[]> {
  return tx.rows<WeightRow>(sql`/* beneficiaries.weightsOf */
    select method, weights, exception from beneficiaries.modulus_weights
    where last >= ${sortCode} and first <= ${sortCode} order by line limit 10`)
}

export function substitutesOf(tx: Tx, sortCode: string): Promise<readonly SubstituteRow[]> {
  return tx.rows<SubstituteRow>(sql`/* beneficiaries.substitutesOf */
    select original, substitute from beneficiaries.modulus_substitutes where original = ${sortCode}`)
}
