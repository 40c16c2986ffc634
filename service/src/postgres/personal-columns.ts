/**
 * Declarations of columns with personal data, of records that are erased by age, and of columns with sealed values.
 * They are next to the code that writes the columns. The statements that erase, count and replace the values are here,
 * for all tables.
 */
import { acrossPartners, columnValues, noSql, type Sql, sql } from './sql.ts'
import type { Tx } from './tx.ts'
import { assert } from '../kernel/index.ts'
import { ownJson } from '@partner-payments/wire'

export type PersonalColumns = {
  /** `schema.table`. */
  readonly table: string
  /** The column that identifies the rows: their id, or the id of the record to which they belong. */
  readonly by: string
  /** The value of each column after its erasure. Erased rows are not written again. */
  readonly erased: Readonly<Record<string, string | null>>
}

/** Erases the columns in a partner's rows with these ids. Returns the number of changed rows. */
export async function erasePersonal(
  tx: Tx,
  { table, by, erased }: PersonalColumns,
  partnerId: string,
  ids: readonly string[],
): Promise<number> {
  if (ids.length === 0) return 0
  const columns = Object.entries(erased).map(([name, value]) => ({ name: sqlName(name), value }))
  const set = columns.map(({ name, value }) => sql`${name} = ${value}`)
  const holds = columns.map(({ name, value }) =>
    value === null ? sql`target.${name} is not null` : sql`target.${name}::text is distinct from ${value}`,
  )
  return tx.run(sql`/* postgres.erasePersonal */
    update ${sqlName(table)} as target set ${joinFragments(set)}
    where target.partner_id = ${partnerId} and target.${sqlName(by)} = any(${ids}::uuid[]) and (${joinFragments(holds, sql` or `)})`)
}

/**
 * A table of records that contain names of people but do not belong to a customer. They are erased by age
 * (docs/decisions/0055-erasure.md).
 */
export type RetainedTable = {
  /** `schema.table`. Its rows have an `id` that begins with their time. */
  readonly table: string
  /** Creates a condition that is true if the retention of a row has ended. */
  readonly isOver: (page: Pick<RetainedPage, 'partnerId' | 'endedBefore'>) => Sql
  /** Columns to erase. Absent: the whole row is deleted. */
  readonly personal?: readonly PersonalColumns[]
}

type RetainedPage = {
  readonly partnerId: string
  /** The page has records with ids after this one and before `beforeId`. */
  readonly afterId: string
  readonly beforeId: string
  /** Records that ended before this time are erased. */
  readonly endedBefore: Date
  readonly rowsMax: number
}
/** `isOver`: the retention has ended and the record is erased. Otherwise a later pass checks it again. */
type KeptRecord = { readonly id: string; readonly isOver: boolean }

/** Erases the records of a page whose retention has ended. Returns the whole page in the order of the ids. */
export async function eraseExpiredRecords(
  tx: Tx,
  { table, isOver, personal }: RetainedTable,
  page: RetainedPage,
): Promise<readonly KeptRecord[]> {
  const { partnerId, afterId, beforeId, rowsMax } = page
  const rows = await tx.rows<KeptRecord>(sql`/* postgres.eraseExpiredRecords */
    select id, coalesce(${isOver(page)}, false) as is_over from ${sqlName(table)} as kept
    where kept.partner_id = ${partnerId} and id > ${afterId} and id < ${beforeId} order by id limit ${rowsMax} for update`)
  const ids = rows.flatMap((row) => (row.isOver ? [row.id] : []))
  if (personal === undefined)
    await tx.run(sql`/* postgres.eraseExpiredRecords */
      delete from ${sqlName(table)} where partner_id = ${partnerId} and id = any(${ids}::uuid[])`)
  else for (const columns of personal) await erasePersonal(tx, columns, partnerId, ids)
  return rows
}

const nameForm = /^[a-z_][a-z0-9_]*(?:\.[a-z_][a-z0-9_]*)?$/

/** Creates a fragment from a declared name. Never call it with input. */
function sqlName(name: string): Sql {
  assert(nameForm.test(name), `invalid name in a declaration: ${name}`)
  return { parts: [name], values: [] }
}

const joinFragments = (fragments: readonly Sql[], separator = sql`, `): Sql =>
  fragments.reduce((list, fragment, index) => (index === 0 ? fragment : sql`${list}${separator}${fragment}`), noSql)

/** Returns a column of the row with the sealed value, by the column's name. */
export type CellReader = (column: string) => string

export type SealedColumn = {
  /** `schema.table`. */
  readonly table: string
  readonly column: string
  /** The columns that identify a row, in the order of the primary key. Only `partner_id` if a partner has a single row. */
  readonly key: Readonly<Record<string, 'uuid' | 'text'>>
  /** True: the rows do not belong to a partner. A command reseals them with the first partner that it processes. */
  readonly isShared?: true
  /** Returns the context that binds the value to its row (`Sealer`). `cell` reads the columns of `key`. */
  readonly contextOf: (partnerId: string, cell: CellReader) => readonly string[]
}

/** `id`: the primary key of the row as JSON, unique within its partner. */
type SealedValue = { readonly id: string; readonly sealed: Buffer; readonly context: readonly string[] }
type ResealedValue = Pick<SealedValue, 'id' | 'sealed'> & { readonly resealed: Buffer }

const keyOf = ({ key }: SealedColumn) =>
  Object.entries(key).map(([name, type]) => [sqlName(name), sqlName(type)] as const)
const belongsTo = ({ isShared }: SealedColumn, partnerId: string): Sql =>
  isShared ? sql`true` : sql`target.partner_id = ${partnerId}`

export const sealedColumnName = ({ table, column }: SealedColumn): string => `${table}.${column}`

/** Counts the values of all partners under each master key. Bytes 2 to 5 of a sealed value are the id of its key. */
export function countByKey(
  tx: Tx,
  { table, column }: SealedColumn,
): Promise<readonly { readonly keyId: string; readonly count: bigint }[]> {
  return tx.rows(
    acrossPartners(
      'an operator counts the values under each master key',
      sql`/* postgres.countByKey */
        select encode(substring(${sqlName(column)} from 2 for 4), 'hex') as key_id, count(*) as count
        from ${sqlName(table)} where ${sqlName(column)} is not null group by 1 order by 1`,
    ),
  )
}

/** Lists the partner's values that are not sealed under `keyId`, in the order of their keys, after `afterId`. */
export async function listValuesUnderOtherKeys(
  tx: Tx,
  declared: SealedColumn,
  partnerId: string,
  page: { readonly keyId: string; readonly afterId?: string; readonly rowsMax: number },
): Promise<readonly SealedValue[]> {
  const { keyId, afterId, rowsMax } = page
  const [table, column] = [sqlName(declared.table), sqlName(declared.column)]
  const columns = keyOf(declared).map(([name]) => sql`target.${name}`)
  const last = afterId === undefined ? [] : ownJson<string[]>(afterId)
  const isBehind =
    afterId === undefined
      ? sql`true`
      : sql`(${joinFragments(columns)}) > (${joinFragments(keyOf(declared).map(([, type], at) => sql`${last[at]}::${type}`))})`
  const rows = await tx.rows<{
    readonly id: string
    readonly sealed: Buffer
  }>(sql`/* postgres.listValuesUnderOtherKeys */
    select json_build_array(${joinFragments(columns)})::text as id, target.${column} as sealed from ${table} as target
    where ${belongsTo(declared, partnerId)} and ${isBehind} and target.${column} is not null
      and substring(target.${column} from 2 for 4) <> decode(${keyId}, 'hex')
    order by ${joinFragments(columns)} limit ${rowsMax}`)
  const names = Object.keys(declared.key)
  return rows.map(({ id, sealed }) => {
    const cells = ownJson<string[]>(id)
    const cell: CellReader = (name) => {
      const value = cells[names.indexOf(name)]
      assert(value !== undefined, 'the context of a sealed value reads a column outside its key')
      return value
    }
    return { id, sealed, context: declared.contextOf(partnerId, cell) }
  })
}

/** Replaces the values that are unchanged since they were read. Returns the number of replaced values. */
export function replaceValues(
  tx: Tx,
  declared: SealedColumn,
  partnerId: string,
  values: readonly ResealedValue[],
): Promise<number> {
  const [table, column] = [sqlName(declared.table), sqlName(declared.column)]
  const keys = values.map(({ id }) => ownJson<string[]>(id))
  const key = keyOf(declared)
  const input = columnValues(values)
  const given = key.map(([, type], at) => sql`${keys.map((cells) => cells[at])}::${type}[]`)
  const isRow = key.map(([name]) => sql`target.${name} = input.${name}`)
  return tx.run(sql`/* postgres.replaceValues */
    update ${table} as target set ${column} = input.resealed
    from unnest(${joinFragments(given)}, ${input('sealed')}::bytea[], ${input('resealed')}::bytea[])
      as input (${joinFragments(key.map(([name]) => name))}, sealed, resealed)
    where ${belongsTo(declared, partnerId)} and ${joinFragments(isRow, sql` and `)} and target.${column} = input.sealed`)
}
