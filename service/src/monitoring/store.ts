/** All SQL of monitoring. Rules and backtests belong to the operator, alerts and hits to a partner. */
import {
  erasePersonal,
  insertBy,
  type RetainedTable,
  noSql,
  type PersonalColumns,
  type Sql,
  sql,
  type Tx,
} from '../postgres/index.ts'
import type { ChangePlace } from '../transactions/index.ts'

export type RuleRow = {
  readonly id: string
  readonly version: number
  readonly name: string
  readonly kind: string
  /** JSON. */
  readonly settings: string
  readonly madeBy: string
  readonly madeAt: Date
  readonly proposedBy: string | null
  readonly proposedAt: Date | null
  readonly onBy: string | null
  readonly onSince: Date | null
  readonly offProposedBy: string | null
  readonly offProposedAt: Date | null
  readonly offBy: string | null
  readonly offSince: Date | null
}

const ruleColumns = sql`id, version, name, kind, settings, made_by, made_at, proposed_by, proposed_at, on_by, on_since,
  off_proposed_by, off_proposed_at, off_by, off_since`

/** Lists all versions, the last version of each rule first. */
export function allRules(tx: Tx): Promise<readonly RuleRow[]> {
  return tx.rows<RuleRow>(sql`/* monitoring.allRules */
    select ${ruleColumns} from monitoring.rules order by id, version desc`)
}

/** Lists the versions that are on: at most one of each rule. */
export function activeRules(tx: Tx): Promise<readonly RuleRow[]> {
  return tx.rows<RuleRow>(sql`/* monitoring.activeRules */
    select ${ruleColumns} from monitoring.rules where on_since is not null and off_since is null order by id`)
}

/** Locks the versions of a rule, the last first. */
export function lockRule(tx: Tx, id: string): Promise<readonly RuleRow[]> {
  return tx.rows<RuleRow>(sql`/* monitoring.lockRule */
    select ${ruleColumns} from monitoring.rules where id = ${id} order by version desc for update`)
}

export async function insertRule(
  tx: Tx,
  row: Pick<RuleRow, 'id' | 'version' | 'name' | 'kind' | 'settings' | 'madeBy' | 'madeAt'>,
): Promise<void> {
  await tx.run(sql`/* monitoring.insertRule */
    insert into monitoring.rules (id, version, name, kind, settings, made_by, made_at)
    values (${row.id}, ${row.version}, ${row.name}, ${row.kind}, ${row.settings}, ${row.madeBy}, ${row.madeAt})`)
}

/** Stores who proposed, turned on and turned off a version, and when. */
export async function changeRule(tx: Tx, row: RuleRow): Promise<void> {
  await tx.run(sql`/* monitoring.changeRule */
    update monitoring.rules set proposed_by = ${row.proposedBy}, proposed_at = ${row.proposedAt}, on_by = ${row.onBy},
      on_since = ${row.onSince}, off_proposed_by = ${row.offProposedBy}, off_proposed_at = ${row.offProposedAt}, off_by = ${row.offBy}, off_since = ${row.offSince}
    where id = ${row.id} and version = ${row.version}`)
}

export type BacktestRow = {
  readonly ruleId: string
  readonly version: number
  readonly id: string
  readonly fromDay: string
  readonly untilDay: string
  readonly transactions: bigint
  readonly hits: bigint
  readonly subjects: bigint
  readonly ranBy: string
  readonly ranAt: Date
}

/** Lists backtests of a rule, newest first. */
export function listBacktests(tx: Tx, ruleId: string): Promise<readonly BacktestRow[]> {
  return tx.rows<BacktestRow>(sql`/* monitoring.listBacktests */
    select rule_id, version, id, from_day, until_day, transactions, hits, subjects, ran_by, ran_at
    from monitoring.backtests where rule_id = ${ruleId} order by id desc`)
}

export async function insertBacktest(tx: Tx, row: BacktestRow): Promise<void> {
  await tx.run(sql`/* monitoring.insertBacktest */
    insert into monitoring.backtests (rule_id, version, id, from_day, until_day, transactions, hits, subjects, ran_by, ran_at)
    values (${row.ruleId}, ${row.version}, ${row.id}, ${row.fromDay}::date, ${row.untilDay}::date, ${row.transactions}, ${row.hits},
      ${row.subjects}, ${row.ranBy}, ${row.ranAt})`)
}

/** Reads the position up to which a partner was read; undefined if it was not read yet. */
export function readProgress(tx: Tx, partnerId: string): Promise<ChangePlace | undefined> {
  return tx.row<ChangePlace>(sql`/* monitoring.readProgress */
    select changed_at, transaction_id from monitoring.progress where partner_id = ${partnerId}`)
}

/** Locks the position of a partner. Returns false if another process reads the partner. */
export async function claimProgress(tx: Tx, partnerId: string, start: ChangePlace): Promise<boolean> {
  await tx.run(sql`/* monitoring.claimProgress */
    insert into monitoring.progress (partner_id, changed_at, transaction_id)
    values (${partnerId}, ${start.changedAt}, ${start.transactionId}) on conflict (partner_id) do nothing`)
  const locked = await tx.row(sql`/* monitoring.claimProgress */
    select 1 as one from monitoring.progress where partner_id = ${partnerId} for update skip locked`)
  return locked !== undefined
}

export function setProgress(tx: Tx, partnerId: string, place: ChangePlace): void {
  tx.later(sql`/* monitoring.setProgress */
    update monitoring.progress set changed_at = ${place.changedAt}, transaction_id = ${place.transactionId}
    where partner_id = ${partnerId}`)
}

export type AlertRow = {
  readonly partnerId: string
  readonly id: string
  readonly ruleId: string
  readonly version: number
  /** A customer, or the partner's own id. */
  readonly subjectId: string
  readonly openedAt: Date
}

/** Finds the newest alert of a rule about each of these subjects. */
export function newestAlertsBySubject(
  tx: Tx,
  partnerId: string,
  ruleId: string,
  subjectIds: readonly string[],
): Promise<readonly AlertRow[]> {
  return tx.rows<AlertRow>(sql`/* monitoring.newestAlertsBySubject */
    select distinct on (subject_id) partner_id, id, rule_id, version, subject_id, opened_at from monitoring.alerts
    where partner_id = ${partnerId} and rule_id = ${ruleId} and subject_id = any(${[...subjectIds]}::uuid[])
    order by subject_id, id desc`)
}

const newAlerts = insertBy<AlertRow>(
  { partnerId: 'uuid', id: 'uuid', ruleId: 'uuid', version: 'integer', subjectId: 'uuid', openedAt: 'timestamptz' },
  [['partnerId']],
)

export async function insertAlerts(tx: Tx, rows: readonly AlertRow[]): Promise<void> {
  await tx.run(sql`/* monitoring.insertAlerts */
    insert into monitoring.alerts (partner_id, id, rule_id, version, subject_id, opened_at) ${newAlerts(tx, rows)}`)
}

export type HitRow = {
  readonly partnerId: string
  readonly ruleId: string
  readonly transactionId: string
  readonly alertId: string
  readonly reference: string
  /** JSON. */
  readonly evidence: string
  readonly foundAt: Date
  /** True if the payout waits for the decision about the alert, unless the bank already has it. */
  readonly holds: boolean
}

/** Finds the transactions that the rule has already found. */
export async function foundTransactionIds(
  tx: Tx,
  partnerId: string,
  ruleId: string,
  transactionIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await tx.rows<{ readonly transactionId: string }>(sql`/* monitoring.foundTransactionIds */
    select transaction_id from monitoring.hits
    where partner_id = ${partnerId} and rule_id = ${ruleId} and transaction_id = any(${[...transactionIds]}::uuid[])`)
  return new Set(rows.map(({ transactionId }) => transactionId))
}

const newHits = insertBy<HitRow>(
  {
    partnerId: 'uuid',
    ruleId: 'uuid',
    transactionId: 'uuid',
    alertId: 'uuid',
    reference: 'text',
    evidence: 'text',
    foundAt: 'timestamptz',
    holds: 'boolean',
  },
  [['partnerId']],
)

export async function insertHits(tx: Tx, rows: readonly HitRow[]): Promise<void> {
  await tx.run(sql`/* monitoring.insertHits */
    insert into monitoring.hits (partner_id, rule_id, transaction_id, alert_id, reference, evidence, found_at, holds) ${newHits(tx, rows)}`)
}

/** Lists the alerts that hold or held these transactions. */
export function holdingAlerts(
  tx: Tx,
  partnerId: string,
  transactionIds: readonly string[],
): Promise<readonly Pick<HitRow, 'transactionId' | 'alertId'>[]> {
  return tx.rows(sql`/* monitoring.holdingAlerts */
    select transaction_id, alert_id from monitoring.hits
    where partner_id = ${partnerId} and transaction_id = any(${[...transactionIds]}::uuid[]) and holds`)
}

/** Lists alerts of a partner after the cursor, oldest first, with the number of their transactions. */
export function alertsAfter(
  tx: Tx,
  partnerId: string,
  afterId: string,
  rowsMax: number,
): Promise<readonly (AlertRow & { readonly transactions: bigint })[]> {
  return tx.rows(sql`/* monitoring.alertsAfter */
    select partner_id, id, rule_id, version, subject_id, opened_at, (select count(*) from monitoring.hits
      where partner_id = ${partnerId} and alert_id = alerts.id) as transactions
    from monitoring.alerts where partner_id = ${partnerId} and id > ${afterId} order by id limit ${rowsMax}`)
}

/** Lists alerts of a partner older than the cursor, newest first. `subjectId` selects a customer or the partner itself. */
export function newestAlerts(
  tx: Tx,
  partnerId: string,
  { subjectId, beforeId }: { readonly subjectId?: string; readonly beforeId?: string | undefined },
  rowsMax: number,
): Promise<readonly AlertRow[]> {
  return tx.rows<AlertRow>(sql`/* monitoring.newestAlerts */
    select partner_id, id, rule_id, version, subject_id, opened_at from monitoring.alerts
    where partner_id = ${partnerId} ${subjectId === undefined ? noSql : sql`and subject_id = ${subjectId}`}
      ${beforeId === undefined ? noSql : sql`and id < ${beforeId}`}
    order by id desc limit ${rowsMax}`)
}

/** Finds the rules of alerts. */
export function rulesOfAlerts(
  tx: Tx,
  partnerId: string,
  ids: readonly string[],
): Promise<readonly Pick<AlertRow, 'id' | 'ruleId'>[]> {
  return tx.rows(sql`/* monitoring.rulesOfAlerts */
    select id, rule_id from monitoring.alerts where partner_id = ${partnerId} and id = any(${[...ids]}::uuid[])`)
}

/** Builds the query that selects the transactions of an alert, and whether the alert holds each of them. */
export const alertHits = (partnerId: string, alertId: string): Sql => sql`/* monitoring.alertHits */
  select transaction_id, holds from monitoring.hits where partner_id = ${partnerId} and alert_id = ${alertId}`

/** Lists transactions of an alert after the cursor, oldest first. */
export function listHits(
  tx: Tx,
  partnerId: string,
  alertId: string,
  afterId: string,
  rowsMax: number,
): Promise<readonly HitRow[]> {
  return tx.rows<HitRow>(sql`/* monitoring.listHits */
    select partner_id, rule_id, transaction_id, alert_id, reference, evidence, found_at, holds from monitoring.hits
    where partner_id = ${partnerId} and alert_id = ${alertId} and transaction_id > ${afterId} order by transaction_id limit ${rowsMax}`)
}

// Personal columns of monitoring: hits link payments of a person. The alert and the ids stay.

const personalHits = (by: 'alert_id' | 'transaction_id'): PersonalColumns => ({
  table: 'monitoring.hits',
  by,
  erased: { reference: '', evidence: '{}' },
})

/** The retention of an alert begins with the last transaction that joined it. */
export const keptAlerts: RetainedTable = {
  table: 'monitoring.alerts',
  isOver: ({ partnerId, endedBefore }) => sql`opened_at < ${endedBefore} and not exists (
    select from monitoring.hits hit where hit.partner_id = ${partnerId} and hit.alert_id = kept.id and hit.found_at >= ${endedBefore})`,
  personal: [personalHits('alert_id')],
}

/** Erases the hits of the payments of an erased customer. */
export async function eraseHits(tx: Tx, partnerId: string, transactionIds: readonly string[]): Promise<void> {
  await erasePersonal(tx, personalHits('transaction_id'), partnerId, transactionIds)
}

// The SQL of backtest runs. They belong to the operator.

export type BacktestRunRow = {
  readonly id: string
  readonly ruleId: string
  readonly version: number
  readonly fromDay: string
  /** The day after the last day. */
  readonly untilDay: string
  readonly askedBy: string
  readonly askedAt: Date
  readonly transactions: bigint
  readonly attempts: number
  /** Null once the run has ended. */
  readonly dueAt: Date | null
  readonly leaseId: string | null
  readonly problem: 'too_many' | 'failed' | null
  readonly endedAt: Date | null
}
type LeasedRun = { readonly id: string; readonly leaseId: string }

const columns = sql`id, rule_id, version, from_day, until_day, asked_by, asked_at, transactions,
  attempts, due_at, lease_id, problem, ended_at`
const runsShown = 20

/** Lists the runs of a rule, newest first. */
export function listRuns(tx: Tx, ruleId: string): Promise<readonly BacktestRunRow[]> {
  return tx.rows<BacktestRunRow>(sql`/* monitoring.listRuns */
    select ${columns} from monitoring.backtest_runs where rule_id = ${ruleId} order by id desc limit ${runsShown}`)
}

export async function insertRun(tx: Tx, row: BacktestRunRow): Promise<void> {
  await tx.run(sql`/* monitoring.insertRun */
    insert into monitoring.backtest_runs (id, rule_id, version, from_day, until_day, asked_by, asked_at, transactions, attempts, due_at)
    values (${row.id}, ${row.ruleId}, ${row.version}, ${row.fromDay}::date, ${row.untilDay}::date, ${row.askedBy}, ${row.askedAt},
      ${row.transactions}, ${row.attempts}, ${row.dueAt})`)
}

/** Reads when the next run is due. */
export const runsDue = (after: Date): Sql => sql`/* monitoring.runsDue */
  select due_at from monitoring.backtest_runs where due_at > ${after} order by due_at limit 1`

/** Claims the oldest due run; undefined if there is none that other workers have not claimed. */
export function claimRun(
  tx: Tx,
  lease: { readonly id: string; readonly until: Date },
  now: Date,
): Promise<BacktestRunRow | undefined> {
  return tx.row<BacktestRunRow>(sql`/* monitoring.claimRun */
    update monitoring.backtest_runs set lease_id = ${lease.id}, due_at = ${lease.until}, attempts = attempts + 1, transactions = 0
    where id = any(array(
      select id from monitoring.backtest_runs where due_at <= ${now} order by due_at, id for update skip locked limit 1))
    returning ${columns}`)
}

/** Renews the lease of a run. Returns 0 if it was lost. */
export function renewRun(tx: Tx, { id, leaseId }: LeasedRun, transactions: bigint, until: Date): Promise<number> {
  return tx.run(sql`/* monitoring.renewRun */
    update monitoring.backtest_runs set due_at = ${until}, transactions = ${transactions}
    where id = ${id} and lease_id = ${leaseId}`)
}

/** Ends a run. Returns 0 if its lease was lost. */
export function endRun(
  tx: Tx,
  { id, leaseId }: LeasedRun,
  problem: BacktestRunRow['problem'],
  now: Date,
): Promise<number> {
  return tx.run(sql`/* monitoring.endRun */
    update monitoring.backtest_runs set due_at = null, lease_id = null, problem = ${problem}, ended_at = ${now}
    where id = ${id} and lease_id = ${leaseId}`)
}
