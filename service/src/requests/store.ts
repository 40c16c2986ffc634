/** All SQL of the request log. */
import { insertBy, noSql, type RowOf, type Sql, sql, type Tx, unprepared } from '../postgres/index.ts'
import { dayMs, idTime } from '../kernel/index.ts'

const rowTypes = {
  partnerId: 'uuid',
  id: 'uuid',
  requestId: 'text',
  method: 'text',
  operation: 'text',
  params: 'text',
  status: 'integer',
  code: 'text?',
  pointer: 'text?',
  durationMs: 'integer',
  serviceAccountId: 'uuid',
  serviceAccountName: 'text',
  impersonatedBy: 'text?',
  verified: 'boolean',
  replayed: 'boolean',
  ip: 'text',
  userAgent: 'text?',
} as const
export type RequestRow = RowOf<typeof rowTypes>

const newRows = insertBy<RequestRow>(
  rowTypes,
  // Most columns have one value in a batch, which is sent once.
  [
    ['partnerId'],
    ['method'],
    ['operation'],
    ['params'],
    ['status'],
    ['code'],
    ['pointer'],
    ['serviceAccountId', 'serviceAccountName'],
    ['impersonatedBy'],
    ['verified'],
    ['replayed'],
    ['ip'],
    ['userAgent'],
  ],
)

/** Inserts rows. The statement is unprepared, because its text depends on which columns have a single value. */
export async function insertRows(tx: Tx, rows: readonly RequestRow[]): Promise<void> {
  await tx.run(
    unprepared(sql`/* requests.insertRows */
    insert into requests.log (partner_id, id, request_id, method, operation, params, status, code, pointer, duration_ms,
      service_account_id, service_account_name, impersonated_by, verified, replayed, ip, user_agent)
    ${newRows(tx, rows)}`),
  )
}

const sumTypes = {
  partnerId: 'uuid',
  day: 'date',
  operation: 'text',
  status: 'integer',
  code: 'text',
  count: 'bigint',
  durationMsSum: 'bigint',
  durationMsMax: 'integer',
} as const
export type SumRow = RowOf<typeof sumTypes>

const newSums = insertBy<SumRow>(sumTypes, [['partnerId']], ['partnerId', 'day', 'operation', 'status', 'code'])

/** Adds to the sums of the day, in the order of keys, so that two processes do not deadlock. */
export async function addSums(tx: Tx, rows: readonly SumRow[]): Promise<void> {
  await tx.run(sql`/* requests.addSums */
    insert into requests.sums as known (partner_id, day, operation, status, code, count, duration_ms_sum, duration_ms_max)
    ${newSums(tx, rows)}
    on conflict (partner_id, day, operation, status, code) do update set count = known.count + excluded.count,
      duration_ms_sum = known.duration_ms_sum + excluded.duration_ms_sum,
      duration_ms_max = greatest(known.duration_ms_max, excluded.duration_ms_max)`)
}

export type RowFilter = {
  readonly operation?: string | undefined
  readonly code?: string | undefined
  readonly serviceAccountId?: string | undefined
  readonly requestId?: string | undefined
  readonly statuses?: { readonly from: number; readonly to: number } | undefined
  /** The rows have ids from `from` up to `before`, exclusive. */
  readonly from: string
  readonly before: string | null
}

const columns: Sql = sql`partner_id, id, request_id, method, operation, params, status, code, pointer, duration_ms,
  service_account_id, service_account_name, impersonated_by, verified, replayed, ip, user_agent`

const columnCondition = (column: Sql, value: string | number | undefined, operator: Sql = sql`=`): Sql =>
  value === undefined ? noSql : sql`and ${column} ${operator} ${value}`

/** Returns the condition that is read by an index. Without one, the newest rows are read by their key. */
const leadingCondition = ({ requestId, code, statuses }: RowFilter): Sql => {
  if (requestId !== undefined) return columnCondition(sql`request_id`, requestId)
  if (code !== undefined) return columnCondition(sql`code`, code)
  return (statuses?.from ?? 0) < 400 ? noSql : sql`and status >= 400`
}

const newestRows = (partnerId: string, filter: RowFilter): Sql => sql`requests.log
  where partner_id = ${partnerId} and id >= ${filter.from}
    ${filter.before === null ? noSql : sql`and id < ${filter.before}`} ${leadingCondition(filter)} order by id desc`

type ReadLimits = { readonly rowsMax: number; readonly readMax: number }

/**
 * Lists matching rows, newest first: at most `rowsMax` rows. Reads at most the newest `readMax` rows that match the
 * leading condition.
 */
export function listRows(
  tx: Tx,
  partnerId: string,
  filter: RowFilter,
  { rowsMax, readMax }: ReadLimits,
): Promise<readonly RequestRow[]> {
  const { operation, code, serviceAccountId, requestId, statuses } = filter
  return tx.rows(
    unprepared(sql`/* requests.listRows */
      select ${columns} from (select ${columns} from ${newestRows(partnerId, filter)} limit ${readMax}) as newest
      where partner_id = ${partnerId} ${columnCondition(sql`operation`, operation)} ${columnCondition(sql`code`, code)}
        ${columnCondition(sql`request_id`, requestId)}
        ${serviceAccountId === undefined ? noSql : sql`and service_account_id = ${serviceAccountId}::uuid`}
        ${columnCondition(sql`status`, statuses?.from, sql`>=`)} ${columnCondition(sql`status`, statuses?.to, sql`<`)}
      order by id desc limit ${rowsMax}`),
  )
}

/** Finds the last row that `listRows` reads. Undefined: it reads fewer than `readMax`. */
export async function lastRead(
  tx: Tx,
  partnerId: string,
  filter: RowFilter,
  { readMax }: ReadLimits,
): Promise<string | undefined> {
  const row = await tx.row<{ id: string }>(
    unprepared(sql`/* requests.lastRead */
      select id from ${newestRows(partnerId, filter)} limit 1 offset ${readMax - 1}`),
  )
  return row?.id
}

export function requestById(tx: Tx, partnerId: string, id: string): Promise<RequestRow | undefined> {
  return tx.row(sql`/* requests.requestById */
    select ${columns} from requests.log where partner_id = ${partnerId} and id = ${id}`)
}

type DayRange = { readonly from: string; readonly to: string }

export type ProblemSum = {
  readonly code: string
  readonly count: bigint
  readonly operations: readonly string[]
  readonly lastDay: string
}

/** Adds up the problems of some days, most frequent first. */
export function problemSums(tx: Tx, partnerId: string, { from, to }: DayRange): Promise<readonly ProblemSum[]> {
  return tx.rows(
    unprepared(sql`/* requests.problemSums */
      select code, sum(count)::bigint as count, array_agg(distinct operation order by operation) as operations,
        max(day)::text as last_day
      from requests.sums where partner_id = ${partnerId} and day >= ${from}::date and day < ${to}::date and code <> ''
      group by code order by count desc, code`),
  )
}

export type OperationSum = {
  readonly day: string
  readonly operation: string
  readonly count: bigint
  readonly errors4xx: bigint
  readonly errors5xx: bigint
  readonly durationMsSum: bigint
  readonly durationMsMax: number
}

/** Adds up the operations of some days, newest day first. */
export function operationSums(tx: Tx, partnerId: string, { from, to }: DayRange): Promise<readonly OperationSum[]> {
  return tx.rows(
    unprepared(sql`/* requests.operationSums */
      select day, operation, sum(count)::bigint as count,
        coalesce(sum(count) filter (where status between 400 and 499), 0)::bigint as errors4xx,
        coalesce(sum(count) filter (where status >= 500), 0)::bigint as errors5xx,
        sum(duration_ms_sum)::bigint as duration_ms_sum, max(duration_ms_max) as duration_ms_max
      from requests.sums where partner_id = ${partnerId} and day >= ${from}::date and day < ${to}::date
      group by day, operation order by day desc, operation`),
  )
}

export function deleteSums(tx: Tx, partnerId: string, before: string, rowsMax: number): Promise<number> {
  return tx.run(
    unprepared(sql`/* requests.deleteSums */
      delete from requests.sums using (
        select day, operation, status, code from requests.sums
        where partner_id = ${partnerId} and day < ${before}::date order by day limit ${rowsMax}) as old
      where sums.partner_id = ${partnerId} and sums.day = old.day and sums.operation = old.operation
        and sums.status = old.status and sums.code = old.code`),
  )
}

// Builds the row of a request, and sums rows by day.

/** An answered request, as the gateway knows it. */
export type AnsweredRequest = {
  readonly requestId: string
  readonly method: string
  readonly operation: string
  readonly params: Readonly<Record<string, string>>
  readonly status: number
  readonly code?: string | undefined
  readonly pointer?: string | undefined
  readonly durationMs: number
  readonly replayed: boolean
  readonly ip: string
  readonly userAgent: string | undefined
}

/** The caller, or the owner of the API key whose signature was refused. */
export type Sender = {
  readonly partnerId: string
  readonly serviceAccountId: string
  readonly name: string
  readonly impersonatedBy?: string
  readonly verified: boolean
}

/**
 * Matches ids and references. Other parameters are hidden, because an email address or free text may identify a person.
 */
const safeParameter = /^[\w.:~-]{1,140}$/
const hiddenText = '…'
const userAgentCharsMax = 120
const pointerCharsMax = 200
const durationMsMax = 2 ** 31 - 1

const printable = (text: string, charsMax: number): string => text.replaceAll(/[^ -~]/g, '?').slice(0, charsMax)

export function toRow(id: string, request: AnsweredRequest, sender: Sender): RequestRow {
  const { code, pointer, userAgent, durationMs, params, ...rest } = request
  const shown = Object.entries(params).map(([name, value]) => [name, safeParameter.test(value) ? value : hiddenText])
  return {
    ...rest,
    id,
    partnerId: sender.partnerId,
    params: JSON.stringify(Object.fromEntries(shown)),
    code: code ?? null,
    pointer: pointer === undefined ? null : printable(pointer, pointerCharsMax),
    durationMs: Math.min(durationMsMax, Math.max(0, Math.round(durationMs))),
    serviceAccountId: sender.serviceAccountId,
    serviceAccountName: sender.name,
    impersonatedBy: sender.impersonatedBy ?? null,
    verified: sender.verified,
    userAgent: userAgent === undefined ? null : printable(userAgent, userAgentCharsMax),
  }
}

export const utcDay = (moment: Date): string => moment.toISOString().slice(0, 10)

export function sumRows(rows: readonly RequestRow[]): readonly SumRow[] {
  const sums = new Map<
    string,
    { readonly first: RequestRow; count: number; durationMsSum: number; durationMsMax: number }
  >()
  for (const row of rows) {
    const { partnerId, id, operation, status, code, durationMs } = row
    const day = Math.floor(idTime(id).getTime() / dayMs)
    const name = `${partnerId} ${day} ${operation} ${status} ${code}`
    const known = sums.get(name)
    if (known === undefined) {
      sums.set(name, { first: row, count: 1, durationMsSum: durationMs, durationMsMax: durationMs })
      continue
    }
    known.count += 1
    known.durationMsSum += durationMs
    known.durationMsMax = Math.max(known.durationMsMax, durationMs)
  }
  return [...sums.values()].map(({ first: { partnerId, id, operation, status, code }, ...sum }) => ({
    ...{ partnerId, operation, status },
    day: utcDay(idTime(id)),
    code: code ?? '',
    count: BigInt(sum.count),
    durationMsSum: BigInt(sum.durationMsSum),
    durationMsMax: sum.durationMsMax,
  }))
}
