/** What may be said in SQL, and by whom. Source: docs/architecture.md, Tables and statements; docs/scale.md. */
import { placeOf } from './places.ts'
import { type File, finding, type Finding, isTest, type Source, type Template } from './source.ts'

/** A statement that names no partner, by `file function`, and why it may. */
export const scans: Readonly<Record<string, string>> = {
  'service/src/ledger/store.ts lockAccountsByKey': 'a batch: ofPartners says whose rows it means',
  'service/src/access/store.ts serviceAccountsByKey': 'a batch: ofPartners says whose rows it means',
  'service/src/ledger/store.ts lockBeforeChange': 'a batch: ofPartners says whose rows it means',
  'service/src/ledger/store.ts accountsByKey': 'a batch: ofPartners says whose rows it means',
  'service/src/ledger/store.ts changeAccounts': 'a batch: ofPartners says whose rows it means',
  'service/src/modules/beneficiaries/store.ts payeesByIds': 'a batch: ofPartners says whose rows it means',
  'service/src/modules/customers/store.ts payersByIds': 'a batch: ofPartners says whose rows it means',
  'service/src/modules/transactions/store.ts transactionsByReference': 'a batch: ofPartners says whose rows it means',
  'service/src/modules/deposits/store.ts lockDeposits': 'a batch: ofPartners says whose rows it means',
  'service/src/modules/deposits/store.ts updateDeposits': 'a batch: ofPartners says whose rows it means',
  'service/src/modules/transactions/store.ts moveTransactions': 'a batch: ofPartners says whose rows it means',
  'service/src/modules/transactions/store.ts referencesTaken': 'a batch: ofPartners says whose rows it means',
  'service/src/modules/payouts/store.ts payoutsByKeys': 'a batch: ofPartners says whose rows it means',
  'service/src/delivery/queue/store-endpoint-queues.ts dueEndpointQueues':
    'finds which lanes have deliveries due, without a lock',
  'service/src/events/index.ts byIds': 'a batch: the list of its keys, or ofPartners, says whose rows it means',
  'service/src/events/index.ts nextPending': 'a batch: the list of its keys, or ofPartners, says whose rows it means',
  'service/src/events/index.ts take': 'a batch: the list of its keys, or ofPartners, says whose rows it means',
  'service/src/delivery/queue/store-endpoint-queues.ts claimEndpointQueues':
    'a batch: the list of its keys, or ofPartners, says whose rows it means',
  'service/src/delivery/queue/store-endpoint-queues.ts renewEndpointQueues':
    'a batch: the list of its keys, or ofPartners, says whose rows it means',
  'service/src/delivery/queue/store-endpoint-queues.ts acknowledgeWakeUps':
    'a batch: the list of its keys, or ofPartners, says whose rows it means',
  'service/src/delivery/queue/store-endpoint-queues.ts lockHeld':
    'a batch: the list of its keys, or ofPartners, says whose rows it means',
  'service/src/delivery/queue/store-endpoint-queues.ts releaseEndpointQueues':
    'a batch: the list of its keys, or ofPartners, says whose rows it means',
  'service/src/delivery/queue/store-endpoint-queues.ts saveHealth':
    'a batch: the list of its keys, or ofPartners, says whose rows it means',
  'service/src/delivery/queue/store-endpoint-queues.ts lockEndpointQueues':
    'a batch: the list of its keys, or ofPartners, says whose rows it means',
  'service/src/delivery/queue/store-endpoint-queues.ts addOwed':
    'a batch: the list of its keys, or ofPartners, says whose rows it means',
  'service/src/delivery/queue/store-queue.ts earlierOfReference':
    'a batch: the list of its keys, or ofPartners, says whose rows it means',
  'service/src/delivery/queue/store-queue.ts newRows':
    'a batch: the list of its keys, or ofPartners, says whose rows it means',
  'service/src/delivery/queue/store-queue.ts scheduledRows':
    'a batch: the list of its keys, or ofPartners, says whose rows it means',
  'service/src/delivery/queue/store-queue.ts firstRowsOfReferences':
    'a batch: the list of its keys, or ofPartners, says whose rows it means',
  'service/src/delivery/queue/store-queue.ts fence':
    'a batch: the list of its keys, or ofPartners, says whose rows it means',
  'service/src/delivery/queue/store-queue.ts recordDelivered':
    'a batch: the list of its keys, or ofPartners, says whose rows it means',
  'service/src/delivery/queue/store-queue.ts recordFailed':
    'a batch: the list of its keys, or ofPartners, says whose rows it means',
  'service/src/delivery/management/store-secrets.ts liveSecrets':
    'a batch: the list of its keys, or ofPartners, says whose rows it means',
  'service/src/delivery/management/store-subscriptions.ts lockPartners':
    'a batch: the list of its keys, or ofPartners, says whose rows it means',
  'service/src/delivery/management/store-subscriptions.ts takeNumbers':
    'a batch: the list of its keys, or ofPartners, says whose rows it means',
  'service/src/delivery/management/store-subscriptions.ts subscriptionsOf':
    'a batch: the list of its keys, or ofPartners, says whose rows it means',
  'service/src/delivery/management/store-subscriptions.ts targetsOf':
    'a batch: the list of its keys, or ofPartners, says whose rows it means',
  'service/src/events/index.ts oldestPending': 'asks what the oldest event is that a week must be kept for',
  'service/src/delivery/store-retention.ts expiredHeld': 'finds what was held too long, without a lock',
  'service/src/delivery/store-retention.ts expiredOfDisabled': 'finds what was held too long, without a lock',
  'service/src/delivery/queue/store-endpoint-queues.ts subtractOwed':
    'a batch: the list of its keys, or ofPartners, says whose rows it means',
  'service/src/delivery/store-retention.ts deleteDelivered': 'empties the default partition, which holds all partners',
  'service/src/delivery/store-retention.ts deliveredBetween': 'counts a week that is dropped as a whole',
  'service/src/delivery/store-retention.ts oldestOwed': 'asks what the oldest event is that a week must be kept for',
  'service/src/delivery/store-retention.ts earliestRecovery': 'asks from when on weeks must be kept',
  'service/src/access/store.ts partnersWithExpiredNonces': 'finds which partner has nonces to forget, without a lock',
  'service/src/events/index.ts partnersWithPending': 'finds which partner has events to fan out, without a lock',
  'service/src/rails/sandbox/store.ts deleteNotices': 'a batch: ofPartners says whose rows it means',
  'service/src/rails/sandbox/store.ts dueNotices':
    'the bank tells what is due in the order of time, whose it is or not',
  'service/src/modules/accounts/store.ts partnerOfBlock':
    'is what finds the partner of an IBAN, by an index of its own',
  'service/src/modules/deposits/store.ts expiredDeposits': 'finds which partner has deposits to expire, without a lock',
  'service/src/modules/payouts/store.ts partnersWithDue': 'finds which partner has payouts due, without a lock',
  'service/src/delivery/queue/store-endpoint-queues.ts endpointQueuesEndingLater':
    'finds leases and rests from before the clock was put back, without a lock',
  'service/src/delivery/queue/store-endpoint-queues.ts sleepingEndpointQueues':
    'finds lanes that nobody woke, without a lock',
  'service/src/delivery/management/store-subscriptions.ts deletedSubscriptions':
    'finds what is to be dropped, without a lock',
  'service/src/delivery/management/store-endpoint-statistics.ts partnersAfter':
    'walks over all partners, to count for operators',
  'service/src/delivery/management/store-alerts.ts partnersWithDueNotices':
    'finds which partner has notices to send, without a lock',
  'service/src/delivery/management/store-recoveries.ts runningRecoveries': 'finds recoveries under way, without a lock',
  'service/src/delivery/management/store-secrets.ts expiredSecrets': 'finds secrets that sign no more, without a lock',
  'service/src/modules/users/store.ts partnersWithDueMail': 'finds which partner has mail to send, without a lock',
}

/** A migration that asks the database for the time, and why it must: it runs once, on one machine. */
const timedMigrations: Readonly<Record<string, string>> = {
  'service/migrations/0013-webhook-engine.sql': 'the first weeks are those that come after it runs',
}

/** What is computed in TypeScript or not used at all, whether in a statement or in a migration. */
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
] as const

const nameOf = /\b(?:from|join|into|update|table|only|truncate|using)\s+(?:only\s+)?([a-z_]+)\.([a-z_0-9]+)/gi
const withoutComments = (sql: string): string =>
  sql.replace(/--[^\n]*|\/\*[\s\S]*?\*\//g, (comment) => comment.replace(/[^\n]/g, ' '))

export type Table = {
  readonly name: string
  /** `shard`, `replicate`, or undefined where the migration does neither. */
  readonly spread: string | undefined
  readonly body: string
  readonly at: number
  readonly file: File
}

/** The tables that are left after all migrations: what each statement creates, renames or drops, in its order. */
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

/** The schemas that are left after all migrations. */
export function readSchemas(migrations: readonly File[]): ReadonlySet<string> {
  const schemas = new Set<string>()
  for (const { text } of migrations)
    for (const [, created, from = '', to = ''] of text.matchAll(
      /\bcreate\s+schema\s+(?:if\s+not\s+exists\s+)?(\w+)|\balter\s+schema\s+(\w+)\s+rename\s+to\s+(\w+)/gi,
    )) {
      if (created === undefined) schemas.delete(from)
      schemas.add(created ?? to)
    }
  return schemas
}

/** What stands between the parenthesis at `open` and its partner. */
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

/** Schema-qualified names in a statement, without what is only a column of an alias. */
function tablesIn(
  statement: string,
  schemas: ReadonlySet<string>,
): readonly (readonly [schema: string, table: string])[] {
  return [...withoutComments(statement).matchAll(nameOf)]
    .map((match) => [(match[1] ?? '').toLowerCase(), match[2] ?? ''] as const)
    .filter(([schema]) => schemas.has(schema) || schema === 'public')
}

/** A room's SQL stands in its store files and names its own schema. */
export function checkOwnership(sources: readonly Source[], schemas: ReadonlySet<string>): readonly Finding[] {
  return sources.filter(isService).flatMap((source) => {
    const place = placeOf(source.path)
    return sqlOf(source).flatMap(({ text, at }) => {
      const misplaced = place?.isModule && !/\/store[\w-]*\.ts$/.test(source.path)
      return [
        ...(misplaced ? [finding(source, at, "a room's SQL stands in its store.ts")] : []),
        ...tablesIn(text, schemas)
          .filter(([schema]) => schema !== place?.name)
          .map(([schema, table]) =>
            finding(source, at, `${place?.name} names ${schema}.${table}, which it does not own`),
          ),
      ]
    })
  })
}

/** The function that a statement stands in: the nearest name above it that begins one. */
function functionAround(source: Source, at: number): string {
  const starts = source.code
    .slice(0, at)
    .matchAll(/\bfunction\s+(\w+)|\b(\w+)\s*(?::|=)\s*(?:async\s*)?(?:<[^>]*>\s*)?\(/g)
  const last = [...starts].at(-1)
  return last?.[1] ?? last?.[2] ?? '?'
}

/**
 * A statement on a partner's table says whose: `partner_id` once for each table that it names, and, unless it inserts,
 * `partner_id = ` a value.
 */
export function checkPartner(
  sources: readonly Source[],
  schemas: ReadonlySet<string>,
  shared: ReadonlySet<string>,
): { readonly findings: readonly Finding[]; readonly usedScans: ReadonlySet<string> } {
  const usedScans = new Set<string>()
  const findings = sources.filter(isService).flatMap((source) =>
    sqlOf(source).flatMap(({ text, at }) => {
      const tables = tablesIn(text, schemas).filter(([schema, table]) => !shared.has(`${schema}.${table}`))
      if (tables.length === 0) return []
      const mentions = text.match(/\bpartner_id\b/g)?.length ?? 0
      const isInsert = /^\s*insert\b/i.test(text)
      const names = mentions >= tables.length && (isInsert || /\bpartner_id\s*=\s*\$\{\}/.test(text))
      if (names) return []
      const scan = `${source.path} ${functionAround(source, at)}`
      usedScans.add(scan)
      return scan in scans
        ? []
        : [finding(source, at, `a statement in ${scan.split(' ')[1]} does not say partner_id = `)]
    }),
  )
  return { findings, usedScans }
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
      // Holes are written shorter than they stand in the file, so a statement is located by its beginning.
      [...text.matchAll(pattern)].map((match) =>
        finding(file, offset || match.index, `${match[0].trim()} in SQL: ${rule}`),
      ),
    )
}

/** Numbered, explained, forward; each table of a schema of the house, spread by partner, keyed by partner first. */
export function checkMigrations(migrations: readonly File[], places: ReadonlySet<string>): readonly Finding[] {
  const numbers = new Map<string, string>()
  const files = migrations.flatMap((file) => {
    const name = file.path.split('/').at(-1) ?? ''
    const number = name.slice(0, 4)
    const twin = numbers.get(number)
    numbers.set(number, name)
    return [
      ...(/^\d{4}-[a-z0-9-]+\.sql$/.test(name) ? [] : [finding(file, 0, 'a migration is named NNNN-name.sql')]),
      ...(twin ? [finding(file, 0, `number ${number} is taken by ${twin}`)] : []),
      ...(/^--.*\n(?:--.*\n)*-- Locks: /.test(file.text)
        ? []
        : [finding(file, 0, 'the header says why, and `-- Locks:`')]),
    ]
  })
  const schemas = [...readSchemas(migrations)]
    .filter((schema) => !places.has(schema))
    .map((schema) => `service/migrations schema ${schema} is of no place of the house`)
  return [...files, ...schemas, ...readTables(migrations).flatMap(tableFindings), ...uniqueIndexes(migrations)]
}

function tableFindings({ name, spread, body, at, file }: Table): readonly Finding[] {
  const say = (rule: string) => finding(file, at, `${name}: ${rule}`)
  if (!name.includes('.')) return [say('a table is named with its schema')]
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
