/** All SQL of monitors. */
import { type monitors as wire, ownJson } from '@partner-payments/wire'
import type { PageRequest } from '../../kernel/api/index.ts'
import type { Currency, Minor } from '../../kernel/index.ts'
import {
  columnValues,
  dueWork,
  insertBy,
  columnList,
  noSql,
  ofOnePartner,
  ofPartners,
  type RowOf,
  sql,
  type Tx,
  unprepared,
} from '../../postgres/index.ts'

export type MonitorState = (typeof wire.monitorStates)[number]

/** Position up to which a balance was read, and the sums of its transfers up to there. */
export type BalanceRow = {
  readonly partnerId: string
  readonly accountId: string
  readonly currency: Currency
  readonly position: string
  readonly posted: Minor
  readonly reserved: Minor
  /** The latest start position among its monitors. */
  readonly startsUntil: string
  /** Number of monitors that have not ended. */
  readonly monitors: number
}

const crossingColumns = {
  partnerId: 'uuid',
  monitorId: 'uuid',
  position: 'uuid',
  kind: 'text',
  balance: 'bigint',
  reference: 'text?',
  crossedAt: 'timestamptz',
} as const
export type CrossingRow = RowOf<typeof crossingColumns, { kind: (typeof wire.crossingKinds)[number] }>

export type BalanceKey = Pick<BalanceRow, 'partnerId' | 'accountId'>

const monitorColumns = {
  partnerId: 'uuid',
  id: 'uuid',
  accountId: 'uuid',
  currency: 'text',
  direction: 'text',
  measure: 'text',
  threshold: 'bigint',
  /** Null: the monitor rearms at its threshold. */
  rearmAt: 'bigint?',
  emails: 'jsonb',
  sendsEvent: 'boolean',
  description: 'text?',
  state: 'text',
  endReason: 'text?',
  startsAfter: 'uuid',
  lastTriggeredAt: 'timestamptz?',
  createdAt: 'timestamptz',
  updatedAt: 'timestamptz',
  endedAt: 'timestamptz?',
} as const
type StoredMonitor = RowOf<
  typeof monitorColumns,
  {
    currency: Currency
    direction: (typeof wire.monitorDirections)[number]
    measure: (typeof wire.monitorMeasures)[number]
    state: MonitorState
    endReason: 'Deleted' | 'AccountClosed'
  }
>
export type MonitorRow = Omit<StoredMonitor, 'emails'> & { readonly emails: readonly string[] }
const monitorNames = columnList(monitorColumns)
const newMonitors = insertBy<StoredMonitor>(monitorColumns, [])
const newCrossings = insertBy<CrossingRow>(crossingColumns, [])
const balanceNames = sql`partner_id, account_id, currency, position, posted, reserved, starts_until, monitors`

const toStored = (row: MonitorRow): StoredMonitor => ({ ...row, emails: JSON.stringify(row.emails) })
const fromStored = (row: StoredMonitor): MonitorRow => ({ ...row, emails: ownJson<string[]>(row.emails) })

/** Creates the row of a balance without monitors, which workers do not read. */
export async function ensureBalance(
  tx: Tx,
  { partnerId, accountId, currency, position }: Pick<BalanceRow, 'partnerId' | 'accountId' | 'currency' | 'position'>,
): Promise<void> {
  await tx.run(sql`/* accounts.ensureBalance */
    insert into accounts.monitored_balances (partner_id, account_id, currency, position, posted, reserved, starts_until,
      monitors)
    values (${partnerId}, ${accountId}, ${currency}, ${position}, 0, 0, ${position}, 0)
    on conflict (partner_id, account_id) do nothing`)
}

/**
 * Locks a balance until the transaction ends: no other transaction changes its monitors, and no worker evaluates them.
 */
export function lockBalance(tx: Tx, { partnerId, accountId }: BalanceKey): Promise<BalanceRow | undefined> {
  return tx.row<BalanceRow>(sql`/* accounts.lockBalance */
    select ${balanceNames} from accounts.monitored_balances
    where partner_id = ${partnerId} and account_id = ${accountId} for no key update`)
}

export async function setBalance(tx: Tx, row: BalanceRow): Promise<void> {
  await tx.run(sql`/* accounts.setBalance */
    update accounts.monitored_balances set position = ${row.position}, posted = ${row.posted}, reserved = ${row.reserved},
      starts_until = ${row.startsUntil}, monitors = ${row.monitors}
    where partner_id = ${row.partnerId} and account_id = ${row.accountId}`)
}

export function readBalance(tx: Tx, { partnerId, accountId }: BalanceKey): Promise<BalanceRow | undefined> {
  return tx.row<BalanceRow>(sql`/* accounts.readBalance */
    select ${balanceNames} from accounts.monitored_balances where partner_id = ${partnerId} and account_id = ${accountId}`)
}

export async function insertMonitor(tx: Tx, row: MonitorRow): Promise<void> {
  await tx.run(sql`/* accounts.insertMonitor */
    insert into accounts.monitors (${monitorNames}) ${newMonitors(tx, [toStored(row)])}`)
}

/** Stores a partner's change of a monitor, under the lock of its balance. */
export async function updateMonitor(tx: Tx, row: MonitorRow): Promise<void> {
  const { emails, ...values } = toStored(row)
  await tx.run(sql`/* accounts.updateMonitor */
    update accounts.monitors set direction = ${values.direction}, measure = ${values.measure},
      threshold = ${values.threshold}, rearm_at = ${values.rearmAt}, emails = ${emails}::jsonb,
      sends_event = ${values.sendsEvent}, description = ${values.description}, state = ${values.state},
      end_reason = ${values.endReason}, starts_after = ${values.startsAfter}, updated_at = ${values.updatedAt},
      ended_at = ${values.endedAt}
    where partner_id = ${values.partnerId} and id = ${values.id}`)
}

/** Reads a monitor. Undefined: it does not exist, or was deleted. */
export async function monitorById(
  tx: Tx,
  { partnerId, accountId }: BalanceKey,
  id: string,
): Promise<MonitorRow | undefined> {
  const row = await tx.row<StoredMonitor>(sql`/* accounts.monitorById */
    select ${monitorNames} from accounts.monitors
    where partner_id = ${partnerId} and id = ${id} and account_id = ${accountId}
      and end_reason is distinct from 'Deleted'`)
  return row && fromStored(row)
}

export async function listMonitors(
  tx: Tx,
  { partnerId, accountId }: BalanceKey,
  { limit, afterId }: PageRequest,
): Promise<readonly MonitorRow[]> {
  const rows = await tx.rows<StoredMonitor>(sql`/* accounts.listMonitors */
    select ${monitorNames} from accounts.monitors
    where partner_id = ${partnerId} and account_id = ${accountId} and end_reason is distinct from 'Deleted'
      ${afterId === null ? noSql : sql`and id < ${afterId}`}
    order by id desc limit ${limit + 1}`)
  return rows.map(fromStored)
}

/** Lists crossings, newest first. */
export function listCrossings(
  tx: Tx,
  partnerId: string,
  monitorId: string,
  { limit, afterId }: PageRequest,
): Promise<readonly CrossingRow[]> {
  return tx.rows<CrossingRow>(sql`/* accounts.listCrossings */
    select ${columnList(crossingColumns)} from accounts.monitor_crossings
    where partner_id = ${partnerId} and monitor_id = ${monitorId} ${afterId === null ? noSql : sql`and position < ${afterId}`}
    order by position desc limit ${limit + 1}`)
}

/** Lists a page of balances with monitors, in the order of their keys. Takes no lock. */
export async function listMonitored(
  tx: Tx,
  { partnerId, accountId }: BalanceKey,
  rowsMax: number,
): Promise<readonly BalanceRow[]> {
  const rows = await tx.rows<BalanceRow>(
    dueWork('finds balances with monitors, without a lock, by an index of those', (whose) =>
      unprepared(sql`/* accounts.listMonitored */
        select ${balanceNames} from accounts.monitored_balances
        where monitors > 0 and (partner_id, account_id) > (${partnerId}::uuid, ${accountId}::uuid) and ${whose()}
        order by partner_id, account_id limit ${rowsMax}`),
    ),
  )
  return rows.toSorted((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1)).slice(0, rowsMax)
}
const keyOf = ({ partnerId, accountId }: BalanceKey) => `${partnerId} ${accountId}`

/** Locks the balances that no other transaction holds, and reads them. On a sharded database they belong to one partner. */
export function claimBalances(tx: Tx, keys: readonly BalanceKey[]): Promise<readonly BalanceRow[]> {
  const column = columnValues(keys)
  return tx.rows<BalanceRow>(
    unprepared(sql`/* accounts.claimBalances */
      select ${balanceNames}
      from unnest(${column('partnerId')}::uuid[], ${column('accountId')}::uuid[]) as given (owner_id, given_id)
      join accounts.monitored_balances as monitored
        on monitored.partner_id = given.owner_id and monitored.account_id = given.given_id
      where ${ofOnePartner(column('partnerId'), sql`monitored.partner_id`)} and monitors > 0
      for no key update of monitored skip locked`),
  )
}

/** Reads the monitors of balances (at least one) that have not ended. */
export async function listOpenMonitors(tx: Tx, keys: readonly BalanceKey[]): Promise<readonly MonitorRow[]> {
  const rows = await tx.rows<StoredMonitor>(
    unprepared(sql`/* accounts.listOpenMonitors */
      select ${monitorNames} from accounts.monitors
      where ${ofPartners(keys.map(({ partnerId }) => partnerId))}
        and account_id = any(${keys.map(({ accountId }) => accountId)}::uuid[]) and state <> 'Ended'
      order by partner_id, id`),
  )
  return rows.map(fromStored)
}

/** Updates the positions and sums of balances, under their locks. A wrong number of rows fails the transaction. */
export function moveBalances(tx: Tx, rows: readonly BalanceRow[]): void {
  const column = columnValues(rows)
  tx.later(
    unprepared(sql`/* accounts.moveBalances */
      update accounts.monitored_balances as monitored set position = given.position, posted = given.posted,
        reserved = given.reserved, monitors = given.monitors
      from unnest(${column('partnerId')}::uuid[], ${column('accountId')}::uuid[], ${column('position')}::uuid[],
          ${column('posted')}::bigint[], ${column('reserved')}::bigint[], ${column('monitors')}::integer[])
        as given (owner_id, given_id, position, posted, reserved, monitors)
      where monitored.partner_id = given.owner_id and monitored.account_id = given.given_id
        and ${ofOnePartner(column('partnerId'), sql`monitored.partner_id`)}`),
    rows.length,
  )
}

/** Updates monitors with the worker's results, under the locks of their balances. */
export function updateMonitors(tx: Tx, rows: readonly MonitorRow[]): void {
  if (rows.length === 0) return
  const column = columnValues(rows)
  tx.later(
    unprepared(sql`/* accounts.updateMonitors */
      update accounts.monitors as monitor set state = given.state, end_reason = given.end_reason,
        last_triggered_at = given.triggered_at, ended_at = given.ended_at
      from unnest(${column('partnerId')}::uuid[], ${column('id')}::uuid[], ${column('state')}::text[],
          ${column('endReason')}::text[], ${column('lastTriggeredAt')}::timestamptz[], ${column('endedAt')}::timestamptz[])
        as given (owner_id, given_id, state, end_reason, triggered_at, ended_at)
      where monitor.partner_id = given.owner_id and monitor.id = given.given_id
        and ${ofOnePartner(column('partnerId'), sql`monitor.partner_id`)}`),
    rows.length,
  )
}

/** Inserts crossings. A repeated crossing is a unique violation. */
export function insertCrossings(tx: Tx, rows: readonly CrossingRow[]): void {
  if (rows.length === 0) return
  tx.later(sql`/* accounts.insertCrossings */
    insert into accounts.monitor_crossings (${columnList(crossingColumns)}) ${newCrossings(tx, rows)}`)
}
