/** All SQL of backtests that a worker runs. They belong to the operator. */
import { sql, type Sql, type Tx } from '../../postgres/index.ts'

export type RunRow = {
  readonly id: string
  readonly ruleId: string
  readonly version: number
  readonly fromDay: string
  /** The day after the last one. */
  readonly untilDay: string
  readonly askedBy: string
  readonly askedAt: Date
  readonly transactions: bigint
  readonly attempts: number
  /** Null: it has ended. */
  readonly dueAt: Date | null
  readonly leaseId: string | null
  readonly problem: 'too_many' | 'failed' | null
  readonly endedAt: Date | null
}
type Key = { readonly id: string; readonly leaseId: string }

const columns = sql`id, rule_id, version, from_day, until_day, asked_by, asked_at, transactions,
  attempts, due_at, lease_id, problem, ended_at`
const runsShown = 20

/** The last runs of a rule, the last first. */
export function runsOf(tx: Tx, ruleId: string): Promise<readonly RunRow[]> {
  return tx.rows<RunRow>(sql`/* monitoring.runsOf */
    select ${columns} from monitoring.backtest_runs where rule_id = ${ruleId} order by id desc limit ${runsShown}`)
}

export async function insertRun(tx: Tx, row: RunRow): Promise<void> {
  await tx.run(sql`/* monitoring.insertRun */
    insert into monitoring.backtest_runs (id, rule_id, version, from_day, until_day, asked_by, asked_at, transactions, attempts, due_at)
    values (${row.id}, ${row.ruleId}, ${row.version}, ${row.fromDay}::date, ${row.untilDay}::date, ${row.askedBy}, ${row.askedAt},
      ${row.transactions}, ${row.attempts}, ${row.dueAt})`)
}

/** When the next run is due. */
export const runsDue = (after: Date): Sql => sql`/* monitoring.runsDue */
  select due_at from monitoring.backtest_runs where due_at > ${after} order by due_at limit 1`

/** Claims the run that is due for the longest time. Undefined: none is, or other workers have them. */
export function claimRun(
  tx: Tx,
  lease: { readonly id: string; readonly until: Date },
  now: Date,
): Promise<RunRow | undefined> {
  return tx.row<RunRow>(sql`/* monitoring.claimRun */
    update monitoring.backtest_runs set lease_id = ${lease.id}, due_at = ${lease.until}, attempts = attempts + 1, transactions = 0
    where id = any(array(
      select id from monitoring.backtest_runs where due_at <= ${now} order by due_at, id for update skip locked limit 1))
    returning ${columns}`)
}

/** 0: the lease was lost. */
export function renewRun(tx: Tx, { id, leaseId }: Key, transactions: bigint, until: Date): Promise<number> {
  return tx.run(sql`/* monitoring.renewRun */
    update monitoring.backtest_runs set due_at = ${until}, transactions = ${transactions}
    where id = ${id} and lease_id = ${leaseId}`)
}

/** 0: the lease was lost. */
export function endRun(tx: Tx, { id, leaseId }: Key, problem: RunRow['problem'], now: Date): Promise<number> {
  return tx.run(sql`/* monitoring.endRun */
    update monitoring.backtest_runs set due_at = null, lease_id = null, problem = ${problem}, ended_at = ${now}
    where id = ${id} and lease_id = ${leaseId}`)
}
