/** Rules for statements and migrations. Source: docs/architecture.md, Tables and statements; docs/scale.md. */
import { ownerOf, placeOf, schemaOf } from './places.ts'
import { type File, finding, type Finding, isTest, type Source, type Template } from './source.ts'
import { readStatements } from './statements.ts'

/** A shorter reason says nothing. */
const reasonCharsMin = 12

/** Migrations that may read the time of the database, and why. A migration runs once, on one machine. */
const timedMigrations: Readonly<Record<string, string>> = {
  'service/migrations/0301-functions.sql': 'it creates the partitions of the weeks after a migration runs',
}

/** Features that statements and migrations must not use: computed in TypeScript, or not used at all. */
const forbidden = [
  [/\b(?:now|clock_timestamp|statement_timestamp|transaction_timestamp|timeofday)\s*\(/gi, 'times are parameters'],
  [/\b(?:current_timestamp|current_date|current_time|localtimestamp|localtime)\b/gi, 'times are parameters'],
  [/\b(?:random|setseed|gen_random_uuid|gen_random_bytes|uuid_generate_v\w+|uuidv[47])\s*\(/gi, 'ids are parameters'],
  [/\bpg_(?:try_)?advisory\w*/gi, 'row locks, no advisory locks'],
  [/\bcreate\s+(?:or\s+replace\s+)?(?:constraint\s+)?trigger\b/gi, 'no triggers'],
  [/\bmerge\s+into\b/gi, 'no MERGE'],
  [/\bisolation\s+level\s+(?:serializable|repeatable)/gi, 'row locks at read committed'],
  [/\b(?:set_config|current_setting)\s*\(/gi, 'no settings read back in statements'],
  [
    /\bnextval\s*\(|\b(?:big|small)?serial\b|\bgenerated\s+(?:always|by\s+default)\s+as\s+identity/gi,
    'ids are parameters',
  ],
  [/\binsert\s+into\b[^;]*\bfrom\s+unnest\s*\(/gi, 'insertBy makes the rows: Citus sends these with COPY'],
] as const

const nameOf = /\b(?:from|join|into|update|table|only|truncate|using)\s+(?:only\s+)?([a-z_]+)\.([a-z_0-9]+)/gi
const withoutComments = (sql: string): string =>
  sql.replace(/--[^\n]*|\/\*[\s\S]*?\*\//g, (comment) => comment.replace(/[^\n]/g, ' '))

export type Table = {
  readonly name: string
  /** `shard`, `replicate`, or undefined if the migration calls neither. */
  readonly spread: string | undefined
  readonly body: string
  readonly at: number
  readonly file: File
}

/** The tables that exist after all migrations. */
export function readTables(migrations: readonly File[]): readonly Table[] {
  const tables = new Map<string, Table>()
  const rename = (from: string, to: string) => {
    const table = tables.get(from)
    tables.delete(from)
    if (table) tables.set(to, { ...table, name: to })
  }
  for (const file of migrations) {
    const text = withoutComments(file.text)
    const steps = text.matchAll(
      /\bcreate\s+table\s+(?:if\s+not\s+exists\s+)?(?<created>[\w.]+)\s*\(|\bdrop\s+table\s+(?<dropped>[\w.]+)|\balter\s+(?<kind>schema|table)\s+(?<from>[\w.]+)\s+rename\s+to\s+(?<to>\w+)/gi,
    )
    for (const step of steps) {
      const { created, dropped, kind, from = '', to = '' } = step.groups ?? {}
      if (created) tables.set(created, tableAt(file, text, created, step.index, step[0].length))
      else if (dropped) tables.delete(dropped)
      else if (kind === 'table') rename(from, `${from.split('.')[0]}.${to}`)
      else
        for (const name of [...tables.keys()].filter((name) => name.startsWith(`${from}.`)))
          rename(name, `${to}.${name.slice(from.length + 1)}`)
    }
  }
  return [...tables.values()]
}

function tableAt(file: File, text: string, name: string, at: number, length: number): Table {
  const next = text.slice(at + length).search(/\bcreate\s+table\b/i)
  const rest = text.slice(at, next < 0 ? undefined : at + length + next)
  const spread = new RegExp(`select\\s+public\\.(shard|replicate)\\s*\\(\\s*'${name}'`, 'i').exec(rest)?.[1]
  return { name, spread, body: parenthesised(rest, length - 1), at, file }
}

/** The schemas that exist after all migrations. */
export function readSchemas(migrations: readonly File[]): ReadonlySet<string> {
  const schemas = new Set<string>()
  for (const { text } of migrations)
    for (const [, created, from = '', to = '', dropped] of text.matchAll(
      /\bcreate\s+schema\s+(?:if\s+not\s+exists\s+)?(\w+)|\balter\s+schema\s+(\w+)\s+rename\s+to\s+(\w+)|\bdrop\s+schema\s+(\w+)/gi,
    )) {
      schemas.delete(dropped ?? from)
      if (dropped === undefined) schemas.add(created ?? to)
    }
  return schemas
}

/** The text between the parenthesis at `open` and its closing parenthesis. */
function parenthesised(text: string, open: number): string {
  let depth = 0
  for (let i = open; i < text.length; i += 1) {
    if (text[i] === '(') depth += 1
    if (text[i] === ')') depth -= 1
    if (depth === 0) return text.slice(open + 1, i)
  }
  return text.slice(open + 1)
}

const sqlOf = (source: Source): readonly Template[] => source.templates.filter(({ tag }) => tag === 'sql')
const isService = (source: Source): boolean => !isTest(source) && source.path.startsWith('service/src/')

/** The tables of a statement. A name whose qualifier is no schema is a column of an alias. */
function tablesIn(
  statement: string,
  schemas: ReadonlySet<string>,
): readonly (readonly [schema: string, table: string])[] {
  return [...withoutComments(statement).matchAll(nameOf)]
    .map((match) => [(match[1] ?? '').toLowerCase(), match[2] ?? ''] as const)
    .filter(([schema]) => schemas.has(schema) || schema === 'public')
}

/** The file compares the rows of all tables, and writes none. */
const readsAll = 'ledger/integrity'

/** A table that a declaration names (sealed and personal columns) belongs to the folder of the declaration. */
export function checkDeclaredTables(sources: readonly Source[]): readonly Finding[] {
  return sources.filter(isService).flatMap((source) => {
    const place = placeOf(source.path)
    return [...source.text.matchAll(/^\s*(?:\{ )?table: '([a-z_]+\.[a-z_]+)',/gm)]
      .filter(([, table = '']) => place && ownerOf(table) !== schemaOf(place))
      .map((match) => finding(source, match.index, `${place?.name} declares ${match[1]}, which it does not own`))
  })
}

/** A module's SQL is in its store files and names its own tables only. */
export function checkOwnership(sources: readonly Source[], schemas: ReadonlySet<string>): readonly Finding[] {
  return sources.filter(isService).flatMap((source) => {
    const place = placeOf(source.path)
    return sqlOf(source).flatMap(({ text, at }) => {
      const misplaced = place?.isModule && !/\/store[\w-]*\.ts$/.test(source.path)
      return [
        ...(misplaced ? [finding(source, at, "a module's SQL belongs in its store.ts")] : []),
        ...tablesIn(text, schemas)
          .filter(
            ([schema, table]) => place && ownerOf(`${schema}.${table}`) !== schemaOf(place) && place.name !== readsAll,
          )
          .map(([schema, table]) =>
            finding(source, at, `${place?.name} names ${schema}.${table}, which it does not own`),
          ),
      ]
    })
  })
}

/**
 * A statement on a partner's table names the partner: `partner_id` once for each table and, unless it inserts,
 * `partner_id = ` a value. A statement that reads the rows of all partners says why, with `acrossPartners`.
 */
export function checkPartner(
  sources: readonly Source[],
  schemas: ReadonlySet<string>,
  shared: ReadonlySet<string>,
): readonly Finding[] {
  return sources.filter(isService).flatMap((source) =>
    readStatements(source).flatMap(({ at, name, text, acrossPartners }) => {
      const tables = tablesIn(text, schemas).filter(([schema, table]) => !shared.has(`${schema}.${table}`))
      const mentions = text.match(/\bpartner_id\b/g)?.length ?? 0
      const isInsert = /^\s*insert\b/i.test(withoutComments(text))
      const namesPartner = mentions >= tables.length && (isInsert || /\bpartner_id\s*=\s*\$\{\}/.test(text))
      if (acrossPartners === undefined)
        return tables.length === 0 || namesPartner
          ? []
          : [finding(source, at, `a statement in ${name} does not say partner_id = `)]
      if (acrossPartners.length < reasonCharsMin)
        return [finding(source, at, `acrossPartners in ${name} gives no reason`)]
      // The table of a declared column is a parameter of the statement.
      return (tables.length > 0 || /\bfrom \$\{\}/.test(text)) && !namesPartner
        ? []
        : [finding(source, at, `the statement in ${name} names its partner and needs no acrossPartners`)]
    }),
  )
}

/** The nested selects of a statement, innermost included. */
function nestedSelects(text: string): readonly string[] {
  return [...text.matchAll(/\(\s*select\b/gi)].map((match) => parenthesised(text, match.index))
}

/** The nested selects, without those within another one. */
const ownText = (nested: string): string =>
  nestedSelects(nested).reduce((text, inner) => text.replace(inner, ''), nested)

/**
 * Functions and casts of columns whose result depends on settings (STABLE). Citus refuses them in an update, a delete and
 * an upsert, because each shard would compute them: a parameter has the value instead.
 */
export const stable =
  /\binterval\b|(?<!\$\{\}|'|null)::(?:date|timestamp|time)(?:tz)?\b|\b(?:age|concat(?:_ws)?|format|array_to_(?:string|json)|row_to_json|jsonb?_(?:agg|build_\w+)|to_(?:char|date|timestamp|number|jsonb?)|date_(?:part|trunc)|extract|make_timestamptz)\s*\(/i
const changesRows = /\b(?:update|delete)\b/i

/** Forms that PostgreSQL sharded by partner (Citus) refuses, or answers wrongly. Source: docs/scale.md, rule 9. */
export function checkSharded(
  sources: readonly Source[],
  schemas: ReadonlySet<string>,
  shared: ReadonlySet<string>,
): readonly Finding[] {
  const readsShards = (text: string) =>
    tablesIn(text, schemas).some(([schema, table]) => !shared.has(`${schema}.${table}`))
  const faultsOf = (text: string, isScan: boolean): readonly string[] => {
    const faults: string[] = []
    if (/\bwith\s+recursive\b/i.test(text)) faults.push('a recursive CTE')
    if (/\bctid\b/i.test(text)) faults.push('ctid')
    if (/^\s*insert\b[^]*?\bvalues\b[^]*\(\s*select\b/i.test(text)) faults.push('a subquery in an insert of values')
    // Citus 13.2 sends it to the shard as `case column when column = value`: SQLSTATE 42883.
    if (/\bon\s+conflict\b[^]*\bcase\s+(?!when\b)/i.test(text)) faults.push('a case in an upsert without conditions')
    if (!/^\s*\(?\s*select\b/i.test(text) && changesRows.test(text) && stable.test(text))
      faults.push(`a STABLE function or cast in a write: ${stable.exec(text)?.[0]}`)
    const nested = nestedSelects(text).map(ownText).filter(readsShards)
    if (!isScan && nested.some((each) => !/\bpartner_id\s*=\s*\$\{\}/.test(each)))
      faults.push('a subquery that does not say partner_id = ')
    if (!isScan) return faults
    if (/\blateral\b/i.test(text)) faults.push('lateral in a scan over all partners')
    if (/\bfor\s+(?:no\s+key\s+)?(?:update|share)\b|^\s*(?:insert|update|delete)\b/i.test(text))
      faults.push('a lock or a write in a scan over all partners')
    if (nested.some((each) => !/\b\w+\.partner_id\s*=\s*\w+\.partner_id\b/.test(each)))
      faults.push('a subquery in a scan over all partners that does not join by partner_id')
    if (nested.length > 0 && tablesIn(text, schemas).some(([schema, table]) => shared.has(`${schema}.${table}`)))
      faults.push('a scan that correlates a replicated table with shards')
    return faults
  }
  return sources
    .filter(isService)
    .flatMap((source) =>
      readStatements(source).flatMap(({ at, name, text, acrossPartners }) =>
        readsShards(text)
          ? faultsOf(withoutComments(text), acrossPartners !== undefined).map((fault) =>
              finding(source, at, `a sharded database refuses the statement in ${name}: ${fault}`),
            )
          : [],
      ),
    )
}

/** Casts of a date or a time to text depend on a setting. The driver reads a date as text without one. */
const castOfDate = /\b(?:\w*_)?(?:day|on|at)::text\b/i

/** The text up to a bracket that closes one before it: the rest is not in the same statement. */
function upToClosing(text: string): string {
  let depth = 0
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === '(') depth += 1
    if (text[at] === ')') depth -= 1
    if (depth < 0) return text.slice(0, at)
  }
  return text
}

/** Citus refuses functions and casts that depend on settings in `returning`, replicated tables included. */
export function checkReturning(sources: readonly Source[]): readonly Finding[] {
  return sources.filter(isService).flatMap((source) =>
    [...source.text.matchAll(/\breturning\b([^`]*)`/g)].flatMap((match) => {
      const columns = upToClosing(match[1] ?? '').replaceAll(
        /\$\{(\w+)\}/g,
        (_hole, name: string) => new RegExp(`\\bconst ${name}\\b[^\`]*\`([^\`]*)\``).exec(source.text)?.[1] ?? '',
      )
      const found = castOfDate.exec(columns) ?? stable.exec(columns)
      return found === null ? [] : [finding(source, match.index, `Citus refuses in returning: ${found[0]}`)]
    }),
  )
}

/**
 * A statement begins with the name of its place and function, so that pg_stat_activity, pg_stat_statements and the logs of
 * PostgreSQL name the code that sent it.
 */
export function checkStatementNames(sources: readonly Source[]): readonly Finding[] {
  return sources.filter(isService).flatMap((source) =>
    readStatements(source).flatMap(({ at, name, text }) => {
      if (!/^\s*\(?\s*(?:select|insert|update|delete|with|lock|truncate)\b/i.test(withoutComments(text))) return []
      const place = placeOf(source.path)
      const label = `/* ${place && schemaOf(place)}.${name} */`
      return text.startsWith(label)
        ? []
        : [finding(source, at, `the statement in ${name} does not begin with ${label}`)]
    }),
  )
}

/** Functions and phrases in which `from` is followed by a column. */
const columnAfterFrom = /\bextract\s*\([^)]*\)|\bdistinct\s+from\b/gi
const systemSchemas = new Set(['pg_catalog', 'information_schema', 'public'])

/** A statement names tables that exist after all migrations. A partitioned table has a default partition. */
export function checkTablesExist(sources: readonly Source[], tables: readonly Table[]): readonly Finding[] {
  const known = new Set(tables.flatMap(({ name }) => [name, `${name}_default`]))
  return sources
    .filter(isService)
    .flatMap((source) =>
      sqlOf(source).flatMap(({ text, at }) =>
        [...withoutComments(text).replace(columnAfterFrom, '').matchAll(nameOf)]
          .filter(([, schema = '', table]) => !systemSchemas.has(schema) && !known.has(`${schema}.${table}`))
          .map(([, schema, table]) => finding(source, at, `no migration creates ${schema}.${table}`)),
      ),
    )
}

export function checkWords(sources: readonly Source[], migrations: readonly File[]): readonly Finding[] {
  const inStatements = sources
    .filter(isService)
    .flatMap((source) => sqlOf(source).flatMap(({ text, at }) => wordsIn(source, text, at)))
  return [...inStatements, ...migrations.flatMap((file) => wordsIn(file, file.text, 0))]
}

function wordsIn(file: File, statement: string, offset: number): readonly Finding[] {
  const text = withoutComments(statement)
  const timed = file.path in timedMigrations
  return forbidden
    .filter(([, rule]) => !(timed && rule === 'times are parameters'))
    .flatMap(([pattern, rule]) =>
      // `text` is shorter than the source, because its holes are `${}`. So a finding has the line of the statement.
      [...text.matchAll(pattern)].map((match) =>
        finding(file, offset || match.index, `${match[0].trim()} in SQL: ${rule}`),
      ),
    )
}

/** Migrations are numbered and explained. Each table belongs to a schema of the service and is sharded by partner. */
export function checkMigrations(migrations: readonly File[], places: ReadonlySet<string>): readonly Finding[] {
  const numbers = new Map<string, string>()
  const files = migrations.flatMap((file) => {
    const name = file.path.split('/').at(-1) ?? ''
    const number = name.slice(0, 4)
    const duplicate = numbers.get(number)
    numbers.set(number, name)
    return [
      ...(/^\d{4}-[a-z0-9-]+\.sql$/.test(name) ? [] : [finding(file, 0, 'a migration is named NNNN-name.sql')]),
      ...(duplicate ? [finding(file, 0, `number ${number} is used by ${duplicate}`)] : []),
      ...(/^--.*\n(?:--.*\n)*-- Locks: /.test(file.text)
        ? []
        : [finding(file, 0, 'the header says why, and `-- Locks:`')]),
    ]
  })
  const schemas = [...readSchemas(migrations)]
    .filter((schema) => !places.has(schema))
    .map((schema) => `service/migrations schema ${schema} belongs to no folder of the service`)
  return [...files, ...schemas, ...readTables(migrations).flatMap(tableFindings), ...uniqueIndexes(migrations)]
}

/** Forms that Citus refuses in a migration, by statement. */
const refusedByCitus = [
  [/\badd\s+column\b[^,;]*\b(?:check\s*\(|references\b|unique\b)/i, 'a constraint in add column: add it by itself'],
  [/\brename\s+constraint\b/i, 'rename constraint: rename its index, or drop and add it'],
  [/\blateral\b/i, 'lateral over sharded tables'],
  [new RegExp(`^\\s*(?:update|delete)\\b[^]*(?:${stable.source})`, 'i'), 'a STABLE function or cast in an update'],
  [/\bupdate\b[^;]*=\s*(?:coalesce\s*\(\s*)?\(\s*select\b/i, 'a correlated subquery in an update'],
] as const

export function checkCitusMigrations(migrations: readonly File[]): readonly Finding[] {
  return migrations.flatMap((file) =>
    withoutComments(file.text)
      .split(';')
      .flatMap((statement) =>
        refusedByCitus
          .filter(([pattern]) => pattern.test(statement))
          .map(([, rule]) => finding(file, file.text.indexOf(statement.trim().slice(0, 30)), `Citus refuses ${rule}`)),
      ),
  )
}

function tableFindings({ name, spread, body, at, file }: Table): readonly Finding[] {
  const say = (rule: string) => finding(file, at, `${name}: ${rule}`)
  if (!name.includes('.')) return [say('the name of a table includes its schema')]
  if (spread === undefined) return [say(`not followed by select public.shard('${name}') or public.replicate`)]
  if (spread === 'replicate') return []
  const keys = [
    ...body.matchAll(/\b(primary\s+key|unique(?:\s+nulls\s+not\s+distinct)?|foreign\s+key)\b\s*(\(\s*\w+)?/gi),
  ]
  const found = keys
    .filter((key) => !/^\(\s*partner_id$/i.test(key[2] ?? ''))
    .map((key) => say(`${key[1]} does not begin with partner_id`))
  if (!keys.some((key) => /primary/i.test(key[1] ?? ''))) found.push(say('no primary key'))
  if (!/^\s*partner_id\s+uuid\s+not\s+null\b/i.test(body))
    found.push(say('the first column is partner_id uuid not null'))
  return found
}

function uniqueIndexes(migrations: readonly File[]): readonly Finding[] {
  const sharded = new Set(
    readTables(migrations)
      .filter(({ spread }) => spread === 'shard')
      .map(({ name }) => name),
  )
  return migrations.flatMap((file) =>
    [...file.text.matchAll(/\bcreate\s+unique\s+index\s+\w+\s+on\s+([\w.]+)\s*\(\s*(\w+)/gi)]
      .filter(([, table = '', column]) => sharded.has(table) && column !== 'partner_id')
      .map((match) => finding(file, match.index, `a unique index of ${match[1]} begins with partner_id`)),
  )
}
