/**
 * The columns of sealed values. A column is declared beside the code that seals it; the statements that count its values by
 * key and replace them under another key are here, for all columns.
 */
import { ownJson } from '@partner-payments/wire'
import { assert } from '../kernel/index.ts'
import { listed, named } from './names.ts'
import { acrossPartners, columnOf, type Sql, sql } from './sql.ts'
import type { Tx } from './tx.ts'

/** A value of a column of the row that holds the sealed value, by the column's name. */
export type Cell = (column: string) => string

export type SealedColumn = {
  /** `schema.table`. */
  readonly table: string
  readonly column: string
  /** The columns that name a row, in the order of the primary key. `partner_id` alone: a partner has one row. */
  readonly key: Readonly<Record<string, 'uuid' | 'text'>>
  /** The rows belong to no partner. They are resealed with the first partner that a command processes. */
  readonly isShared?: true
  /** Binds the value to its row (`Sealer`). `cell` gives the columns of `key`. */
  readonly contextOf: (partnerId: string, cell: Cell) => readonly string[]
}

/** `id` is the key of the row as JSON. It names the row among those of its partner. */
export type SealedValue = { readonly id: string; readonly sealed: Buffer; readonly context: readonly string[] }
export type Resealed = Pick<SealedValue, 'id' | 'sealed'> & { readonly resealed: Buffer }

const keyOf = ({ key }: SealedColumn) => Object.entries(key).map(([name, type]) => [named(name), named(type)] as const)
const belongsTo = ({ isShared }: SealedColumn, partnerId: string): Sql =>
  isShared ? sql`true` : sql`target.partner_id = ${partnerId}`

export const sealedColumnName = ({ table, column }: SealedColumn): string => `${table}.${column}`

/** The number of values under each key, of all partners. Bytes 2 to 5 of a sealed value are the id of its key. */
export function countByKey(
  tx: Tx,
  { table, column }: SealedColumn,
): Promise<readonly { readonly keyId: string; readonly count: bigint }[]> {
  return tx.rows(
    acrossPartners(
      'an operator counts the values under each master key',
      sql`/* postgres.countByKey */
        select encode(substring(${named(column)} from 2 for 4), 'hex') as key_id, count(*) as count
        from ${named(table)} where ${named(column)} is not null group by 1 order by 1`,
    ),
  )
}

/** Values of the partner that are not sealed under `keyId`, in the order of their keys, after the one of `afterId`. */
export async function valuesNotUnder(
  tx: Tx,
  declared: SealedColumn,
  partnerId: string,
  page: { readonly keyId: string; readonly afterId?: string; readonly rowsMax: number },
): Promise<readonly SealedValue[]> {
  const { keyId, afterId, rowsMax } = page
  const [table, column] = [named(declared.table), named(declared.column)]
  const columns = keyOf(declared).map(([name]) => sql`target.${name}`)
  const last = afterId === undefined ? [] : ownJson<string[]>(afterId)
  const isBehind =
    afterId === undefined
      ? sql`true`
      : sql`(${listed(columns)}) > (${listed(keyOf(declared).map(([, type], at) => sql`${last[at]}::${type}`))})`
  const rows = await tx.rows<{ readonly id: string; readonly sealed: Buffer }>(sql`/* postgres.valuesNotUnder */
    select json_build_array(${listed(columns)})::text as id, target.${column} as sealed from ${table} as target
    where ${belongsTo(declared, partnerId)} and ${isBehind} and target.${column} is not null
      and substring(target.${column} from 2 for 4) <> decode(${keyId}, 'hex')
    order by ${listed(columns)} limit ${rowsMax}`)
  const names = Object.keys(declared.key)
  return rows.map(({ id, sealed }) => {
    const cells = ownJson<string[]>(id)
    const cell: Cell = (name) => {
      const value = cells[names.indexOf(name)]
      assert(value !== undefined, 'the context reads the columns of the key')
      return value
    }
    return { id, sealed, context: declared.contextOf(partnerId, cell) }
  })
}

/** Replaces the values that are unchanged since they were read. Returns how many. */
export function replaceValues(
  tx: Tx,
  declared: SealedColumn,
  partnerId: string,
  values: readonly Resealed[],
): Promise<number> {
  const [table, column] = [named(declared.table), named(declared.column)]
  const keys = values.map(({ id }) => ownJson<string[]>(id))
  const key = keyOf(declared)
  const input = columnOf(values)
  const given = key.map(([, type], at) => sql`${keys.map((cells) => cells[at])}::${type}[]`)
  const isRow = key.map(([name]) => sql`target.${name} = input.${name}`)
  return tx.run(sql`/* postgres.replaceValues */
    update ${table} as target set ${column} = input.resealed
    from unnest(${listed(given)}, ${input('sealed')}::bytea[], ${input('resealed')}::bytea[])
      as input (${listed(key.map(([name]) => name))}, sealed, resealed)
    where ${belongsTo(declared, partnerId)} and ${listed(isRow, sql` and `)} and target.${column} = input.sealed`)
}
