/** Reads when the work of jobs is due: that of all jobs in one statement. */
import type { Clock } from '../kernel/index.ts'
import { type Database, noSql, type Sql, sql, unprepared } from '../postgres/index.ts'
import type { Job } from './job.ts'

export type DueJob = Job & Required<Pick<Job, 'due'>>

export const isDueJob = (job: Job): job is DueJob => job.due !== undefined

type DueRow = { readonly dueAt: Date | null }

/** Null: no work is known. */
export async function dueTimeOf(db: Database, { due }: DueJob, now: Date): Promise<Date | null> {
  const row = await db.row<DueRow>(unprepared(due(now)))
  return row?.dueAt ?? null
}

/**
 * When the work of each job is due, in their order. On a sharded database each job has a statement of its own, because a shard that
 * does not answer must not hide the work of the others (postgres/scan.ts).
 */
export async function dueTimesOf(
  { db, clock }: { readonly db: Database; readonly clock: Clock },
  jobs: readonly DueJob[],
): Promise<readonly (Date | null)[]> {
  if (jobs.length === 0) return []
  const now = clock.now()
  if (db.sharded) return Promise.all(jobs.map((job) => dueTimeOf(db, job, now)))
  const each = jobs.map(({ due }, position): Sql => sql`select ${position}::integer as position, (${due(now)}) as due_at`)
  const all = each.reduce((before, one) => (before === noSql ? one : sql`${before} union all ${one}`), noSql)
  const rows = await db.rows<DueRow & { readonly position: number }>(
    unprepared(sql`/* jobs.dueTimesOf */ ${all} order by position`),
  )
  return rows.map(({ dueAt }) => dueAt)
}
