/** Reads when the work of jobs is due: that of all jobs in one statement. */
import { type Database, noSql, type Sql, sql } from '../postgres/index.ts'
import type { Job } from './job.ts'

export type DueJob = Job & Required<Pick<Job, 'due'>>

export const isDueJob = (job: Job): job is DueJob => job.due !== undefined

/** A time before all due times. */
const ever = new Date(-1)

type DueRow = { readonly dueAt: Date | null }

/** The earliest time later than `after` at which work of the job is due. Null: no work is known. */
export async function dueTimeOf(db: Database, { due }: DueJob, after: Date): Promise<Date | null> {
  const row = await db.row<DueRow>(due(after))
  return row?.dueAt ?? null
}

/**
 * The earliest due time of each job, in their order. On a sharded database each job has a statement of its own, because a shard that
 * does not answer must not hide the work of the others (postgres/scan.ts).
 */
export async function dueTimesOf(db: Database, jobs: readonly DueJob[]): Promise<readonly (Date | null)[]> {
  if (jobs.length === 0) return []
  if (db.sharded) return Promise.all(jobs.map((job) => dueTimeOf(db, job, ever)))
  const each = jobs.map(
    ({ due }, position): Sql =>
      sql`/* jobs.dueTimesOf */ select ${position}::integer as position, (${due(ever)}) as due_at`,
  )
  const all = each.reduce((before, one) => (before === noSql ? one : sql`${before} union all ${one}`), noSql)
  // Without its values: a connection plans so many indexes once, in a hundred times what they take to read.
  const rows = await db.transaction(
    (tx) => tx.rows<DueRow & { readonly position: number }>(sql`${all} order by position`),
    { byIndex: true, planOnce: true },
  )
  return rows.map(({ dueAt }) => dueAt)
}
