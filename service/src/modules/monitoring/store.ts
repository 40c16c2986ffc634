/** All SQL of monitoring. Rules and backtests belong to the operator, the rest to a partner. */
import { insertBy, type Sql, sql, type Tx } from '../../postgres/index.ts'
import type { Place } from '../transactions/index.ts'

export type RuleRow = {
  readonly id: string
  readonly version: number
  readonly name: string
  readonly kind: string
  /** JSON, as it was given. */
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

/** All versions, the last of each rule first. */
export function rules(tx: Tx): Promise<readonly RuleRow[]> {
  return tx.rows<RuleRow>(sql`/* monitoring.rules */
    select ${ruleColumns} from monitoring.rules order by id, version desc`)
}

/** The versions that are on: at most one of each rule. */
export function rulesOn(tx: Tx): Promise<readonly RuleRow[]> {
  return tx.rows<RuleRow>(sql`/* monitoring.rulesOn */
    select ${ruleColumns} from monitoring.rules where on_since is not null and off_since is null order by id`)
}

/** The versions of a rule, the last first, locked: one change at a time. */
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

/** Writes who proposed, turned on and turned off a version, and when. */
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

/** Backtests of a rule, the last first. */
export function backtestsOf(tx: Tx, ruleId: string): Promise<readonly BacktestRow[]> {
  return tx.rows<BacktestRow>(sql`/* monitoring.backtestsOf */
    select rule_id, version, id, from_day, until_day, transactions, hits, subjects, ran_by, ran_at
    from monitoring.backtests where rule_id = ${ruleId} order by id desc`)
}

export async function insertBacktest(tx: Tx, row: BacktestRow): Promise<void> {
  await tx.run(sql`/* monitoring.insertBacktest */
    insert into monitoring.backtests (rule_id, version, id, from_day, until_day, transactions, hits, subjects, ran_by, ran_at)
    values (${row.ruleId}, ${row.version}, ${row.id}, ${row.fromDay}::date, ${row.untilDay}::date, ${row.transactions}, ${row.hits},
      ${row.subjects}, ${row.ranBy}, ${row.ranAt})`)
}

/** Undefined: nothing was read. */
export function progressOf(tx: Tx, partnerId: string): Promise<Place | undefined> {
  return tx.row<Place>(sql`/* monitoring.progressOf */
    select changed_at, transaction_id from monitoring.progress where partner_id = ${partnerId}`)
}

/** Locks how far a partner was read. False: another process reads it. */
export async function claim(tx: Tx, partnerId: string, start: Place): Promise<boolean> {
  await tx.run(sql`/* monitoring.claim */
    insert into monitoring.progress (partner_id, changed_at, transaction_id)
    values (${partnerId}, ${start.changedAt}, ${start.transactionId}) on conflict (partner_id) do nothing`)
  const locked = await tx.row(sql`/* monitoring.claim */
    select 1 as one from monitoring.progress where partner_id = ${partnerId} for update skip locked`)
  return locked !== undefined
}

export function setProgress(tx: Tx, partnerId: string, place: Place): void {
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

/** The last alert of a rule about each of these subjects. */
export function lastAlerts(
  tx: Tx,
  partnerId: string,
  ruleId: string,
  subjectIds: readonly string[],
): Promise<readonly AlertRow[]> {
  return tx.rows<AlertRow>(sql`/* monitoring.lastAlerts */
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
  /** The payment waits until the alert is decided, if the bank does not have it. */
  readonly holds: boolean
}

/** The transactions of these that the rule has found before. */
export async function foundBefore(
  tx: Tx,
  partnerId: string,
  ruleId: string,
  transactionIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await tx.rows<{ readonly transactionId: string }>(sql`/* monitoring.foundBefore */
    select transaction_id from monitoring.hits
    where partner_id = ${partnerId} and rule_id = ${ruleId} and transaction_id = any(${[...transactionIds]}::uuid[])`)
  return new Set(rows.map(({ transactionId }) => transactionId))
}

const newHits = insertBy<HitRow>(
  {
    ...{ partnerId: 'uuid', ruleId: 'uuid', transactionId: 'uuid', alertId: 'uuid' },
    ...{ reference: 'text', evidence: 'text', foundAt: 'timestamptz', holds: 'boolean' },
  },
  [['partnerId']],
)

export async function insertHits(tx: Tx, rows: readonly HitRow[]): Promise<void> {
  await tx.run(sql`/* monitoring.insertHits */
    insert into monitoring.hits (partner_id, rule_id, transaction_id, alert_id, reference, evidence, found_at, holds) ${newHits(tx, rows)}`)
}

/** The alerts that hold these transactions, or have held them. */
export function holding(
  tx: Tx,
  partnerId: string,
  transactionIds: readonly string[],
): Promise<readonly Pick<HitRow, 'transactionId' | 'alertId'>[]> {
  return tx.rows(sql`/* monitoring.holding */
    select transaction_id, alert_id from monitoring.hits
    where partner_id = ${partnerId} and transaction_id = any(${[...transactionIds]}::uuid[]) and holds`)
}

/** Alerts of a partner after one, in the order of their opening, with the number of their transactions. */
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

/** The query of the transactions of an alert, and which of them it holds. */
export const holdsOf = (partnerId: string, alertId: string): Sql => sql`/* monitoring.holdsOf */
  select transaction_id, holds from monitoring.hits where partner_id = ${partnerId} and alert_id = ${alertId}`

/** The transactions of an alert after one, oldest first. */
export function hitsOf(
  tx: Tx,
  partnerId: string,
  alertId: string,
  afterId: string,
  rowsMax: number,
): Promise<readonly HitRow[]> {
  return tx.rows<HitRow>(sql`/* monitoring.hitsOf */
    select partner_id, rule_id, transaction_id, alert_id, reference, evidence, found_at, holds from monitoring.hits
    where partner_id = ${partnerId} and alert_id = ${alertId} and transaction_id > ${afterId} order by transaction_id limit ${rowsMax}`)
}
