/** Searches every value of every table for words: texts, lists, JSON, bytes, and what is sealed, after it is opened. */
import assert from 'node:assert/strict'
import { sealedColumns } from '../../service/src/app/compose.ts'
import { type SealedColumn, type Sql, sealedColumnName, sql } from '../../service/src/postgres/index.ts'
import type { Service } from './composition.ts'

type Column = { readonly place: string; readonly schema: string; readonly table: string; readonly name: string }

/** A statement whose text is made of names of the catalogue. */
const raw = (text: string): Sql => ({ ...sql`select 1`, parts: [text] })

/** Every column that can hold a text. A partition is searched as its table. */
const columnsOf = ({ db }: Service): Promise<readonly Column[]> =>
  db.rows<Column>(sql`
    select n.nspname || '.' || c.relname || '.' || a.attname as place, n.nspname as schema, c.relname as "table", a.attname as name
    from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p') and not c.relispartition and a.attnum > 0 and not a.attisdropped
      and n.nspname not like 'pg\\_%' and n.nspname <> 'information_schema'
      and a.atttypid in ('text'::regtype, 'varchar'::regtype, 'bytea'::regtype, 'json'::regtype, 'jsonb'::regtype, 'text[]'::regtype)
    order by 1`)

/** The columns in which a word occurs, in alphabetical order. */
export async function placesOf(service: Service, words: RegExp): Promise<readonly string[]> {
  const columns = await columnsOf(service)
  const declared = new Map(sealedColumns.map((one) => [sealedColumnName(one), one]))
  const sealed = columns.filter(({ name }) => name.endsWith('_sealed')).map(({ place }) => place)
  assert.deepEqual(sealed, [...declared.keys()].toSorted(), 'every sealed column is opened')
  const found: string[] = []
  for (const column of columns) {
    const texts = await textsOf(service, column, declared.get(column.place))
    if (words.test(texts.join('\n'))) found.push(column.place)
  }
  return found
}

async function textsOf(
  { db, sealer }: Service,
  { schema, table, name }: Column,
  sealed: SealedColumn | undefined,
): Promise<readonly string[]> {
  const rows = await db.rows<{ row: string; value: string | Buffer | readonly string[] | null }>(
    raw(
      `select row_to_json(t)::text as row, t."${name}" as value from "${schema}"."${table}" t where t."${name}" is not null`,
    ),
  )
  return rows.map(({ row, value }) => {
    if (!Buffer.isBuffer(value)) return JSON.stringify(value)
    if (sealed === undefined) return value.toString('utf8')
    const cells = JSON.parse(row) as Record<string, string>
    return sealer.open(
      value,
      sealed.contextOf(cells['partner_id'] ?? '', (cell) => cells[cell] ?? ''),
    )
  })
}
