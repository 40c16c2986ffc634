/**
 * The schema of a database as sorted lines, from the system catalogue, so that databases are compared by what
 * PostgreSQL contains and not by the SQL that created it. Excluded: the tables of applied migrations, the dates of
 * weekly partitions, and whether a constraint was validated, because a database that was upgraded has constraints that
 * were added as `not valid`.
 */
import type { Database } from '../../service/src/postgres/index.ts'

export type Pool = Database['pool']

const schemas = `n.nspname !~ '^pg_' and n.nspname <> 'information_schema'`
const relations = `${schemas} and c.relname not like 'schema_migrations%'`

const queries: Readonly<Record<string, string>> = {
  schema: `select n.nspname, n.nspacl::text, obj_description(n.oid, 'pg_namespace') from pg_namespace n where ${schemas}`,
  relation: `
    select n.nspname, c.relname, c.relkind, c.relpersistence, c.relreplident, c.relrowsecurity, c.relispartition,
      pg_get_partkeydef(c.oid), c.reloptions::text, c.relacl::text, obj_description(c.oid, 'pg_class'),
      case when c.relkind in ('v', 'm') then pg_get_viewdef(c.oid) end
    from pg_class c join pg_namespace n on n.oid = c.relnamespace where ${relations}`,
  column: `
    select n.nspname, c.relname, row_number() over (partition by c.oid order by a.attnum)::integer, a.attname,
      format_type(a.atttypid, a.atttypmod), a.attnotnull, pg_get_expr(d.adbin, d.adrelid), a.attidentity, a.attgenerated,
      a.attcollation::regcollation::text, a.attstorage, a.attcompression, nullif(a.attstattarget, -1), a.attoptions::text,
      a.attacl::text, col_description(c.oid, a.attnum)
    from pg_attribute a
    join pg_class c on c.oid = a.attrelid
    join pg_namespace n on n.oid = c.relnamespace
    left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
    where a.attnum > 0 and not a.attisdropped and c.relkind in ('r', 'p', 'v', 'm') and ${relations}`,
  // `not null` is of the columns: PostgreSQL 18 also has constraints of it.
  constraint: `
    select n.nspname, c.relname, k.conname, regexp_replace(pg_get_constraintdef(k.oid), ' NOT VALID$', ''),
      obj_description(k.oid, 'pg_constraint')
    from pg_constraint k join pg_class c on c.oid = k.conrelid join pg_namespace n on n.oid = c.relnamespace
    where k.contype <> 'n' and ${relations}`,
  index: `
    select n.nspname, c.relname, i.relname, pg_get_indexdef(x.indexrelid), x.indisvalid, x.indisclustered, x.indisreplident
    from pg_index x
    join pg_class c on c.oid = x.indrelid
    join pg_class i on i.oid = x.indexrelid
    join pg_namespace n on n.oid = c.relnamespace where ${relations}`,
  function: `
    select n.nspname, pg_get_functiondef(p.oid), p.proacl::text, obj_description(p.oid, 'pg_proc')
    from pg_proc p join pg_namespace n on n.oid = p.pronamespace where p.prokind in ('f', 'p') and ${schemas}`,
  type: `
    select n.nspname, t.typname, t.typtype from pg_type t join pg_namespace n on n.oid = t.typnamespace
    where t.typtype not in ('b', 'c') and ${schemas}`,
  trigger: `
    select n.nspname, c.relname, pg_get_triggerdef(t.oid) from pg_trigger t
    join pg_class c on c.oid = t.tgrelid join pg_namespace n on n.oid = c.relnamespace
    where not t.tgisinternal and ${relations}`,
  policy: `select schemaname, tablename, policyname, qual, with_check from pg_policies`,
  rule: `select schemaname, tablename, definition from pg_rules where schemaname <> 'pg_catalog'`,
  statistics: `select pg_get_statisticsobjdef(oid) from pg_statistic_ext`,
  privilege: `select defaclobjtype, defaclacl::text from pg_default_acl`,
  extension: `select extname from pg_extension`,
}

/** Replaces the first day of the week in names of weekly partitions, and removes their bounds. */
const withoutWeek = (line: string): string =>
  line.replaceAll(/_\d{8}(?=_|\b)/g, '_week').replaceAll(/ FROM \('[0-9a-f-]{36}'\) TO \('[0-9a-f-]{36}'\)/g, '')

async function rowsOf(pool: Pool): Promise<readonly string[]> {
  const { rows: tables } = await pool.query<{ name: string }>(`
    select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p') and not c.relispartition and ${relations}`)
  const lines: string[] = []
  for (const { name } of tables) {
    const { rows } = await pool.query<{ line: string }>(`select to_jsonb(stored)::text as line from ${name} stored`)
    lines.push(...rows.map(({ line }) => `row ${name} ${line}`))
  }
  return lines
}

/** Reads the catalogue, with the rows of all tables. */
export async function readCatalog(pool: Pool): Promise<readonly string[]> {
  const lines: string[] = []
  for (const [kind, text] of Object.entries(queries)) {
    const { rows } = await pool.query<unknown[]>({ text, rowMode: 'array' })
    lines.push(...rows.map((row) => withoutWeek(`${kind} ${JSON.stringify(row)}`)))
  }
  return [...new Set([...lines, ...(await rowsOf(pool))])].toSorted()
}
