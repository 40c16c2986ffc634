/**
 * Moves all rows of a partner to another database (docs/operations.md, "Move a partner"). Finds the tables in the
 * catalogue, so that tables of later migrations are included. The tidy rules cannot check these statements, because
 * their names come from the catalogue. Each statement has a condition on the partner.
 */
import { ownJson } from '@partner-payments/wire'
import { assert } from '../kernel/index.ts'
import { type Sql, unprepared } from './sql.ts'
import type { Tx } from './tx.ts'

export type PartnerTable = {
  /** `schema.table`. */
  readonly name: string
  /** The column with the partner's id. */
  readonly partnerColumn: string
  readonly columns: readonly { readonly name: string; readonly type: string }[]
  readonly orderBy: string
}
/** A row with each value in PostgreSQL's text form, so that every type is exact. */
export type TextRow = readonly (string | null)[]

const rowsPerReadMax = 200
const partnersTable = 'access.partners'

type CatalogTable = {
  readonly name: string
  readonly columns: string
  readonly key: readonly string[]
  readonly parents: readonly string[]
  /** The columns of a foreign key to the table itself. */
  readonly ownParent: readonly string[]
}

/**
 * Creates a statement from text. `$` stands for the next value. Names come from the catalogue, because they cannot be
 * parameters.
 */
const statement = (text: string, ...values: readonly unknown[]): Sql => unprepared({ parts: text.split('$'), values })
const quoted = (name: string): string => {
  assert(/^[a-z_0-9]+(\.[a-z_0-9]+)?$/.test(name), `invalid name in the catalogue: ${name}`)
  return `"${name.replace('.', '"."')}"`
}

/**
 * Lists the tables with partner rows in the order of insertion: parents first, tables without a foreign key last.
 * Before a transaction inserts a row into a table without a foreign key, it changes a row of another table.
 */
export async function partnerTables(tx: Tx): Promise<readonly PartnerTable[]> {
  const found = await tx.rows<CatalogTable>(
    statement(`/* postgres.partnerTables */
      select schema.nspname || '.' || class.relname as name,
        (select json_agg(json_build_object('name', attname, 'type', format_type(atttypid, atttypmod)) order by attnum)
          from pg_attribute where attrelid = class.oid and attnum > 0 and not attisdropped)::text as columns,
        array(select attname::text from pg_index join pg_attribute on attrelid = indrelid and attnum = any(indkey)
          where indrelid = class.oid and indisprimary order by array_position(indkey::int2[], attnum)) as key,
        array(select distinct parent_schema.nspname || '.' || parent.relname
          from pg_constraint join pg_class parent on parent.oid = confrelid
            join pg_namespace parent_schema on parent_schema.oid = parent.relnamespace
          where contype = 'f' and conrelid = class.oid and confrelid <> class.oid) as parents,
        array(select distinct attname::text from pg_constraint join pg_attribute on attrelid = conrelid
            and attnum = any(conkey)
          where contype = 'f' and conrelid = class.oid and confrelid = class.oid
            and not attnotnull) as own_parent
      from pg_class class join pg_namespace schema on schema.oid = class.relnamespace
      where class.relkind in ('r', 'p') and not class.relispartition and (
        schema.nspname || '.' || class.relname = '${partnersTable}'
        or exists (select from pg_attribute where attrelid = class.oid and attname = 'partner_id' and not attisdropped))
      order by 1`),
  )
  return inOrder(found).map(({ name, columns, key, ownParent }) => ({
    name,
    partnerColumn: name === partnersTable ? 'id' : 'partner_id',
    columns: ownJson<PartnerTable['columns']>(columns),
    // Rows come after the rows of their table that they refer to.
    orderBy: [...ownParent.map((column) => `${quoted(column)} is not null`), ...key.map(quoted)].join(', '),
  }))
}

function inOrder(tables: readonly CatalogTable[]): readonly CatalogTable[] {
  const ordered: CatalogTable[] = []
  for (let left = [...tables]; left.length > 0;) {
    const ready = left.filter(({ parents }) => parents.every((parent) => ordered.some(({ name }) => name === parent)))
    const next = ready.find(({ name, parents }) => parents.length > 0 || name === partnersTable) ?? ready[0]
    assert(next, 'the foreign keys of the tables form a cycle')
    ordered.push(next)
    left = left.filter((table) => table !== next)
  }
  return ordered
}

/** Makes the transaction read a single snapshot, without locks. Must be its first statement. */
export async function useSnapshot(tx: Tx): Promise<void> {
  await tx.run(statement('set transaction isolation level repeatable read, read only'))
}

/**
 * Locks the partner, so that no row that refers to it can be inserted, and then its rows, so that no other transaction
 * changes them. Runs at read committed, so that each lock sees the latest commits.
 */
export async function lockPartnerRows(tx: Tx, tables: readonly PartnerTable[], partnerId: string): Promise<void> {
  for (const { name, partnerColumn, orderBy } of tables)
    await tx.run(
      statement(
        `/* postgres.lockPartnerRows */ select count(*) from (
          select from ${quoted(name)} where ${partnerColumn} = $ order by ${orderBy} for update) as locked`,
        partnerId,
      ),
    )
}

/** Reads the partner's rows in parts, so that memory use does not grow with the data. */
export async function* readPartnerRows(
  tx: Tx,
  { name, partnerColumn, columns, orderBy }: PartnerTable,
  partnerId: string,
): AsyncGenerator<TextRow> {
  const texts = columns.map((column) => `${quoted(column.name)}::text`).join(', ')
  await tx.run(
    statement(
      `/* postgres.readPartnerRows */ declare partner_rows no scroll cursor for
        select array[${texts}] as cells from ${quoted(name)} where ${partnerColumn} = $ order by ${orderBy}`,
      partnerId,
    ),
  )
  for (;;) {
    const rows = await tx.rows<{ readonly cells: TextRow }>(statement(`fetch ${rowsPerReadMax} from partner_rows`))
    for (const { cells } of rows) yield cells
    if (rows.length < rowsPerReadMax) break
  }
  await tx.run(statement('close partner_rows'))
}

export function insertPartnerRows(tx: Tx, { name, columns }: PartnerTable, rows: readonly TextRow[]): Promise<number> {
  const names = columns.map((column) => quoted(column.name))
  const values = columns.map(({ type }, at) => `input.cell_${at}::${type}`)
  const cells = columns.map((_column, at) => `cell_${at}`)
  const lists = columns.map((_column, at) => rows.map((row) => row[at] ?? null))
  return tx.run(
    statement(
      `/* postgres.insertPartnerRows */ insert into ${quoted(name)} (${names.join(', ')}) select ${values.join(', ')}
        from unnest(${columns.map(() => '$::text[]').join(', ')}) as input (${cells.join(', ')})`,
      ...lists,
    ),
  )
}

/** Deletes the partner's rows, children first. Returns the number of rows per table. */
export async function deletePartnerRows(
  tx: Tx,
  tables: readonly PartnerTable[],
  partnerId: string,
): Promise<Readonly<Record<string, number>>> {
  const deleted: [string, number][] = []
  for (const { name, partnerColumn } of tables.toReversed()) {
    const text = `/* postgres.deletePartnerRows */ delete from ${quoted(name)} where ${partnerColumn} = $`
    deleted.push([name, await tx.run(statement(text, partnerId))])
  }
  return Object.fromEntries(deleted.toReversed())
}

/** Reads the number of the last migration of the database. */
export async function schemaNumber(tx: Tx): Promise<number> {
  const text = '/* postgres.schemaNumber */ select max(number) as number from public.schema_migrations'
  return (await tx.row<{ readonly number: number }>(statement(text)))?.number ?? 0
}
