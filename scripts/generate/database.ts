/**
 * The page of the schema, from the system catalogue of a migrated database, so that the page shows the result of
 * all migrations. The output is deterministic.
 */
import type pg from 'pg'

type Column = {
  readonly name: string
  readonly type: string
  readonly required: boolean
  readonly fallback: string | null
}
type Table = {
  readonly schema: string
  readonly name: string
  readonly columns: readonly Column[]
  /** Columns in the notation of PostgreSQL, keys first. */
  readonly constraints: readonly string[]
  readonly indexes: readonly string[]
}

/** Excludes the system catalogue and the table of applied migrations. */
const applicationTables = `n.nspname !~ '^pg_' and n.nspname <> 'information_schema' and c.relname <> 'schema_migrations'`

const tablesQuery = `
  select n.nspname as schema, c.relname as name, c.oid::text as oid
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'p') and not c.relispartition and ${applicationTables}
  order by n.nspname collate "C", c.relname collate "C"`

const columnsQuery = `
  select a.attrelid::text as oid, a.attname as name, concat(format_type(a.atttypid, a.atttypmod),
      case when a.attstorage <> t.typstorage then ', storage ' || case a.attstorage
        when 'e' then 'external' when 'm' then 'main' when 'p' then 'plain' else 'extended' end end) as type,
    a.attnotnull as required, pg_get_expr(d.adbin, d.adrelid) as fallback
  from pg_attribute a
  join pg_type t on t.oid = a.atttypid
  join pg_class c on c.oid = a.attrelid
  join pg_namespace n on n.oid = c.relnamespace
  left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
  where a.attnum > 0 and not a.attisdropped and c.relkind in ('r', 'p') and ${applicationTables}
  order by a.attrelid, a.attnum`

/** Excludes `not null` constraints (PostgreSQL 18), because the column list shows them. */
const constraintsQuery = `
  select k.conrelid::text as oid, k.conname as name, pg_get_constraintdef(k.oid) as definition
  from pg_constraint k
  join pg_class c on c.oid = k.conrelid
  join pg_namespace n on n.oid = c.relnamespace
  where k.contype in ('p', 'u', 'f', 'c', 'x') and ${applicationTables}
  order by k.conrelid, position(k.contype::text in 'pufcx'), k.conname collate "C"`

/** Excludes the indexes that implement constraints. */
const indexesQuery = `
  select i.indrelid::text as oid, pg_get_indexdef(i.indexrelid) as definition
  from pg_index i
  join pg_class c on c.oid = i.indrelid
  join pg_namespace n on n.oid = c.relnamespace
  join pg_class x on x.oid = i.indexrelid
  where not exists (select from pg_constraint k where k.conindid = i.indexrelid and k.contype in ('p', 'u', 'x'))
    and ${applicationTables}
  order by i.indrelid, x.relname collate "C"`

type WithOid = { readonly oid: string }

async function readTables(pool: pg.Pool): Promise<readonly Table[]> {
  const read = async <T extends object>(text: string) => (await pool.query<T & WithOid>(text)).rows
  const tables = await read<{ schema: string; name: string }>(tablesQuery)
  const columns = Map.groupBy(await read<Column>(columnsQuery), ({ oid }) => oid)
  const constraints = Map.groupBy(await read<{ name: string; definition: string }>(constraintsQuery), ({ oid }) => oid)
  const indexes = Map.groupBy(await read<{ definition: string }>(indexesQuery), ({ oid }) => oid)
  return tables.map(({ schema, name, oid }) => ({
    schema,
    name,
    columns: columns.get(oid) ?? [],
    constraints: (constraints.get(oid) ?? []).map((constraint) => `${constraint.name}: ${constraint.definition}`),
    indexes: (indexes.get(oid) ?? []).map(({ definition }) => shortIndex(definition)),
  }))
}

/** Shortens `CREATE INDEX a ON b.c USING btree (d)` to `a: (d)`. Keeps an index method other than btree. */
function shortIndex(definition: string): string {
  const match = /^CREATE (UNIQUE )?INDEX (\S+) ON (?:ONLY )?\S+ USING (\w+) (.+)$/s.exec(definition)
  if (!match) return definition
  const [, unique, name, method, rest] = match
  return `${name}: ${unique ? 'unique ' : ''}${method === 'btree' ? '' : `${method} `}${rest}`
}

const cell = (text: string) => text.replaceAll('|', '\\|')

function section({ schema, name, columns, constraints, indexes }: Table): string {
  const rows = columns.map(
    ({ name: column, type, required, fallback }) =>
      `| \`${column}\` | ${cell(type)} | ${required ? 'not null' : ''} | ${fallback === null ? '' : `\`${cell(fallback)}\``} |`,
  )
  const list = (title: string, lines: readonly string[]) =>
    lines.length === 0 ? [] : ['', `${title}:`, '', ...lines.map((line) => `- \`${line.replaceAll('`', "'")}\``)]
  return [
    `### ${schema}.${name}`,
    '',
    '| column | type | | default |',
    '|---|---|---|---|',
    ...rows,
    ...list('Constraints', constraints),
    ...list('Indexes', indexes),
    '',
  ].join('\n')
}

/** Returns the whole page. `pool` must connect to a database with all migrations applied and no other changes. */
export async function generateSchema(pool: pg.Pool): Promise<string> {
  const tables = await readTables(pool)
  if (tables.length === 0) throw new Error('the database has no tables: apply the migrations first')
  const schemas = [...Map.groupBy(tables, ({ schema }) => schema)]
  return [
    '# Database schema',
    '',
    'Generated by `npm run docs` from a migrated database. To change the schema, add a migration.',
    `${tables.length} tables in ${schemas.length} schemas; each schema belongs to the module of the same name.`,
    '',
    ...schemas.flatMap(([schema, schemaTables]) => [`## ${schema}`, '', ...schemaTables.map(section)]),
  ].join('\n')
}
