/** Reads the request log, and drops rows after their retention. */
import { type ProblemCode, problemPath, problems } from '@partner-payments/wire'
import { type Cursors, notFound, type Page, parseTime, refuseField } from '../kernel/api/index.ts'
import { after, type Clock, dayMs, firstIdOf, type Log, idTime } from '../kernel/index.ts'
import { type Database, deleteDefault, dropWeek, ensureWeeks, listWeeks } from '../postgres/index.ts'
import * as store from './store.ts'

const table = 'requests.log'
const keptDays = 30
/** 13 months. */
const sumDays = 396
const periodDaysMax = 31
const weeksAhead = 8
const rowsPerStepMax = 1000
/** Maximum number of rows that a page with filters reads, which takes some milliseconds. */
export const rowsPerPageMax = 5000

export type LoggedRequest = store.RequestRow & { readonly at: Date }
type PeriodQuery = { readonly createdFrom?: string; readonly createdTo?: string }
type RequestQuery = PeriodQuery & {
  readonly limit?: string
  readonly cursor?: string
  readonly operation?: string
  readonly statusClass?: '2xx' | '4xx' | '5xx'
  readonly code?: string
  readonly serviceAccountId?: string
  readonly requestId?: string
}
export type RequestProblem = store.ProblemSum & {
  readonly status: number
  readonly title: string
  readonly cure: string
  readonly type: string
}

export type Requests = {
  /** Lists the requests of the last 30 days, newest first. With filters any page may be short or empty. Refuses: validation_failed (cursor). */
  readonly list: (partnerId: string, query: RequestQuery) => Promise<Page<LoggedRequest>>
  /** Reads a request. Refuses: not_found. */
  readonly get: (partnerId: string, id: string) => Promise<LoggedRequest>
  /** Adds up the problems of a period. Refuses: validation_failed (a period of more than 31 days). */
  readonly problems: (partnerId: string, period: PeriodQuery) => Promise<readonly RequestProblem[]>
  /** Adds up the requests of a period. Refuses: validation_failed (a period of more than 31 days). */
  readonly sums: (partnerId: string, period: PeriodQuery) => Promise<readonly store.OperationSum[]>
  /** Runs one step of retention. Returns the number of dropped weeks and rows. */
  readonly retain: () => Promise<number>
}

export type RequestsDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  readonly cursors: Cursors
  readonly partnerIds: (tx: Database) => Promise<readonly string[]>
}

export function createRequests(deps: RequestsDeps): Requests {
  const { db, clock, cursors } = deps
  const oldest = () => firstIdOf(after(clock.now(), -keptDays * dayMs))
  return {
    list: async (partnerId, { createdFrom, createdTo, limit, cursor, statusClass, ...filter }) => {
      const list = `requests:${partnerId}`
      const page = cursors.read(list, { ...(limit ? { limit } : {}), ...(cursor ? { cursor } : {}) })
      const end = createdTo === undefined ? null : firstIdOf(parseTime(createdTo))
      const before = page.afterId !== null && (end === null || page.afterId < end) ? page.afterId : end
      const start = createdFrom === undefined ? oldest() : firstIdOf(parseTime(createdFrom))
      const from = start > oldest() ? start : oldest()
      const first = Number(statusClass?.charAt(0)) * 100
      const statuses = statusClass === undefined ? undefined : { from: first, to: first + 100 }
      const most = { rowsMax: page.limit + 1, readMax: rowsPerPageMax }
      const selected = { ...filter, statuses, from, before }
      const rows = await store.listRows(db, partnerId, selected, most)
      const readTo = rows.length < most.rowsMax ? await store.lastRead(db, partnerId, selected, most) : undefined
      if (readTo === undefined) return cursors.page(list, page, rows.map(withTime))
      return { data: rows.map(withTime), nextCursor: cursors.write(list, readTo), hasMore: true }
    },
    get: async (partnerId, id) => {
      const row = id < oldest() ? undefined : await store.requestById(db, partnerId, id)
      if (row === undefined) throw notFound('request')
      return withTime(row)
    },
    problems: async (partnerId, period) => {
      const sums = await store.problemSums(db, partnerId, readPeriod(period, clock.now()))
      return sums.map((sum) => ({ ...sum, ...problemCure(sum.code) }))
    },
    sums: async (partnerId, period) => store.operationSums(db, partnerId, readPeriod(period, clock.now())),
    retain: () => retain(deps, oldest()),
  }
}

const withTime = (row: store.RequestRow): LoggedRequest => ({ ...row, at: idTime(row.id) })

/** Returns the description and remedy of a problem. A problem of an earlier version may be unknown. */
function problemCure(code: string) {
  const known = problems[code as ProblemCode] as (typeof problems)[ProblemCode] | undefined
  const { status = 400, title = code, detail = '' } = known ?? {}
  return { status, title, cure: detail, type: problemPath(code as ProblemCode) }
}

/**
 * Parses a period of whole days, the last one exclusive, within the retention. If only the start is given, the period
 * has the maximum length. If only the end is given, it has the default length.
 */
function readPeriod({ createdFrom, createdTo }: PeriodQuery, now: Date) {
  const [begin, before] = [createdFrom, createdTo].map((text) => (text === undefined ? undefined : parseTime(text)))
  if (begin && before && daysBetween(begin, before) > periodDaysMax)
    throw refuseField({
      pointer: '/query/createdFrom',
      code: 'invalid_value',
      message: `is more than ${periodDaysMax} days before the end; request at most one month at a time`,
    })
  const [oldest, tomorrow] = [after(now, -sumDays * dayMs), after(now, dayMs)]
  const kept = (time: Date) => new Date(Math.min(Math.max(+time, +oldest), +tomorrow))
  const end = before ? after(kept(before), dayMs - 1) : kept(after(begin ?? now, periodDaysMax * dayMs))
  const start = begin ? kept(begin) : after(end, -keptDays * dayMs)
  return { from: store.utcDay(start), to: store.utcDay(end) }
}

/** Counts the days (UTC) that a period covers, in full or in part. */
const daysBetween = (begin: Date, end: Date): number => Math.ceil(+end / dayMs) - Math.floor(+begin / dayMs)

/** Drops whole weeks, so that rows are stored for 30 to 37 days. Reads return 30 days. */
async function retain({ db, clock, log, partnerIds }: RequestsDeps, end: string): Promise<number> {
  await ensureWeeks(db, table, clock.now(), weeksAhead)
  let dropped = 0
  for (const week of await listWeeks(db, table)) {
    if (week.to > end || !(await dropWeek(db, table, week, async () => true))) break
    log.info({ week: week.name }, 'dropped a week of the request log')
    dropped += 1
  }
  dropped += await deleteDefault(db, { table, column: 'id', before: end, rowsMax: rowsPerStepMax })
  const before = store.utcDay(after(clock.now(), -sumDays * dayMs))
  for (const partnerId of await partnerIds(db)) dropped += await store.deleteSums(db, partnerId, before, rowsPerStepMax)
  return dropped
}
