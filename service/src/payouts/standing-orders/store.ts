/** SQL of standing orders and their executions. */
import type { standingOrders } from '@partner-payments/wire'
import type { CurrencySum, PageRequest } from '../../kernel/api/index.ts'
import type { Currency, Minor } from '../../kernel/index.ts'
import {
  columnValues,
  dueWork,
  insertBy,
  type RetainedTable,
  columnList,
  noSql,
  ofOnePartner,
  ofPartners,
  type PersonalColumns,
  type RowOf,
  type Sql,
  sql,
  type Tx,
  unprepared,
} from '../../postgres/index.ts'
import type { BusinessDayRule, OrderFrequency } from './schedule.ts'

export type OrderStatus = (typeof standingOrders.orderStatuses)[number]
export type EndReason = (typeof standingOrders.orderEndReasons)[number]
export type ExecutionStatus = (typeof standingOrders.executionStatuses)[number]

const orderColumns = {
  partnerId: 'uuid',
  id: 'uuid',
  beneficiaryId: 'uuid',
  amount: 'bigint',
  currency: 'text',
  reference: 'text?',
  /** Note of each payout, for colleagues. */
  note: 'text?',
  refusesDuplicates: 'boolean',
  frequency: 'text',
  startsOn: 'date',
  secondOfDay: 'integer',
  dayOfMonth: 'integer?',
  endsOn: 'date?',
  dates: 'integer?',
  businessDays: 'text',
  status: 'text',
  endReason: 'text?',
  nextIndex: 'integer',
  nextNumber: 'integer',
  dueAt: 'timestamptz?',
  retryUntil: 'timestamptz?',
  attempts: 'integer',
  payoutsMade: 'integer',
  accountId: 'uuid',
  accountName: 'text',
  ipAddress: 'text',
  createdAt: 'timestamptz',
  updatedAt: 'timestamptz',
  endedAt: 'timestamptz?',
} as const
export type OrderRow = RowOf<
  typeof orderColumns,
  {
    currency: Currency
    frequency: OrderFrequency
    businessDays: BusinessDayRule
    status: OrderStatus
    endReason: EndReason
  }
>

const executionColumns = {
  partnerId: 'uuid',
  id: 'uuid',
  orderId: 'uuid',
  occursOn: 'date',
  executesAt: 'timestamptz',
  status: 'text',
  attempts: 'integer',
  payoutId: 'uuid?',
  transactionReference: 'text?',
  problemCode: 'text?',
  problemDetail: 'text?',
  createdAt: 'timestamptz',
  updatedAt: 'timestamptz',
} as const
export type ExecutionRow = RowOf<typeof executionColumns, { status: ExecutionStatus }>
const columns = columnList(orderColumns)
const newOrders = insertBy<OrderRow>(orderColumns, [])
const newExecutions = insertBy<ExecutionRow>(executionColumns, [])

export function insertOrder(tx: Tx, row: OrderRow): Promise<number> {
  return tx.run(sql`/* standing-orders.insertOrder */
    insert into payouts.standing_orders (${columns}) ${newOrders(tx, [row])}`)
}

/** Prevents other requests from activating an order of the partner until the transaction ends. */
export async function lockActivation(tx: Tx, partnerId: string): Promise<void> {
  await tx.run(sql`/* standing-orders.lockActivation */
    insert into payouts.standing_order_turns (partner_id) values (${partnerId}) on conflict (partner_id) do nothing`)
  await tx.run(sql`/* standing-orders.lockActivation */
    select 1 from payouts.standing_order_turns where partner_id = ${partnerId} for update`)
}

/** Counts active orders up to `max`. */
export async function countActiveOrders(tx: Tx, partnerId: string, max: number): Promise<number> {
  const row = await tx.row<{ readonly count: number }>(sql`/* standing-orders.countActiveOrders */
    select count(*)::integer as count from (
      select 1 from payouts.standing_orders where partner_id = ${partnerId} and status = 'Active' limit ${max}) as active`)
  return row?.count ?? 0
}

export function orderById(tx: Tx, partnerId: string, id: string): Promise<OrderRow | undefined> {
  return tx.row<OrderRow>(sql`/* standing-orders.orderById */
    select ${columns} from payouts.standing_orders where partner_id = ${partnerId} and id = ${id}`)
}

export function ordersByIds(tx: Tx, partnerId: string, ids: readonly string[]): Promise<readonly OrderRow[]> {
  return tx.rows<OrderRow>(sql`/* standing-orders.ordersByIds */
    select ${columns} from payouts.standing_orders where partner_id = ${partnerId} and id = any(${[...ids]}::uuid[])`)
}

export function lockStandingOrder(tx: Tx, partnerId: string, id: string): Promise<OrderRow | undefined> {
  return tx.row<OrderRow>(sql`/* standing-orders.lockStandingOrder */
    select ${columns} from payouts.standing_orders where partner_id = ${partnerId} and id = ${id} for update`)
}

/** Finds active orders that pay one of these amounts to one of these payees. */
export function findOrdersByPayment(
  tx: Tx,
  partnerId: string,
  beneficiaryIds: readonly string[],
  amounts: readonly Minor[],
): Promise<readonly OrderRow[]> {
  return tx.rows<OrderRow>(sql`/* standing-orders.findOrdersByPayment */
    select ${columns} from payouts.standing_orders
    where partner_id = ${partnerId} and beneficiary_id = any(${[...beneficiaryIds]}::uuid[])
      and amount = any(${[...amounts]}::bigint[]) and status = 'Active'`)
}

/** Locks the orders of some payees, in every status. */
export function lockOrdersOfPayees(
  tx: Tx,
  partnerId: string,
  beneficiaryIds: readonly string[],
): Promise<readonly OrderRow[]> {
  return tx.rows<OrderRow>(sql`/* standing-orders.lockOrdersOfPayees */
    select ${columns} from payouts.standing_orders
    where partner_id = ${partnerId} and beneficiary_id = any(${beneficiaryIds}::uuid[]) order by id for update`)
}

const pageOf = (partnerId: string, status: OrderStatus | null, afterId: string | null, rowsMax: number): Sql => sql`
    select ${columns} from payouts.standing_orders where partner_id = ${partnerId}
      ${status === null ? noSql : sql`and status = ${status}`} ${afterId === null ? noSql : sql`and id < ${afterId}`}
    order by id desc limit ${rowsMax}`

export function listOrders(
  tx: Tx,
  partnerId: string,
  status: OrderStatus | null,
  { limit, afterId }: PageRequest,
): Promise<readonly OrderRow[]> {
  return tx.rows<OrderRow>(sql`/* standing-orders.listOrders */ ${pageOf(partnerId, status, afterId, limit + 1)}`)
}

/** Sums the first rows of the list, by its index. */
export function sumOrders(
  tx: Tx,
  partnerId: string,
  status: OrderStatus | null,
  rowsMax: number,
): Promise<readonly CurrencySum[]> {
  return tx.rows<CurrencySum>(sql`/* standing-orders.sumOrders */
    select currency, count(*) as count, sum(amount)::bigint as amount
    from (${pageOf(partnerId, status, null, rowsMax)}) as counted group by currency order by currency`)
}

export function listExecutions(
  tx: Tx,
  partnerId: string,
  orderId: string,
  { limit, afterId }: PageRequest,
): Promise<readonly ExecutionRow[]> {
  return tx.rows<ExecutionRow>(sql`/* standing-orders.listExecutions */
    select ${columnList(executionColumns)} from payouts.standing_executions
    where partner_id = ${partnerId} and order_id = ${orderId} ${afterId === null ? noSql : sql`and id < ${afterId}`}
    order by id desc limit ${limit + 1}`)
}

/** Orders of a partner that are due at the same time. */
export type DueGroup = { readonly partnerId: string; readonly dueAt: Date }

/** Lists a row for each due order, in the order of their groups. `from` is the cursor. */
export function dueGroups(
  tx: Tx,
  now: Date,
  { dueAt, partnerId }: DueGroup,
  rowsMax: number,
): Promise<readonly DueGroup[]> {
  return tx.rows<DueGroup>(
    dueWork('finds partners with standing orders due, without a lock', (whose) =>
      unprepared(sql`/* standing-orders.dueGroups */
        select due_at, partner_id from payouts.standing_orders
        where due_at <= ${now} and (due_at, partner_id) > (${dueAt}::timestamptz, ${partnerId}::uuid) and ${whose()}
        order by due_at, partner_id limit ${rowsMax}`),
    ),
  )
}

/** Reads some orders of each group. Takes no lock. On a sharded database it is called with groups of one partner. */
export function dueOrders(tx: Tx, groups: readonly DueGroup[], ordersMax: number): Promise<readonly OrderRow[]> {
  const due = groups
    .map(
      ({ partnerId, dueAt }) => sql`(
        select ${columns} from payouts.standing_orders where partner_id = ${partnerId} and due_at = ${dueAt} limit ${ordersMax})`,
    )
    .reduce((all, one) => sql`${all} union all ${one}`)
  return tx.rows<OrderRow>(unprepared(sql`/* standing-orders.dueOrders */ ${due}`))
}

/** Locks the orders that no other transaction holds, and reads them. */
export function lockOrders(tx: Tx, orders: readonly OrderRow[]): Promise<readonly OrderRow[]> {
  const column = columnValues(orders)
  return tx.rows<OrderRow>(
    unprepared(sql`/* standing-orders.lockOrders */
    select ${columns} from unnest(${column('partnerId')}::uuid[], ${column('id')}::uuid[]) as given (owner_id, order_id)
    join payouts.standing_orders as standing on standing.partner_id = given.owner_id and standing.id = given.order_id
    where ${ofOnePartner(column('partnerId'), sql`standing.partner_id`)}
    for update of standing skip locked`),
  )
}

/** Writes changed orders, under their locks. */
export function updateOrders(tx: Tx, orders: readonly OrderRow[]): void {
  const column = columnValues(orders)
  tx.later(
    unprepared(sql`/* standing-orders.updateOrders */
    update payouts.standing_orders as standing set status = given.status, end_reason = given.end_reason,
      next_index = given.next_index, next_number = given.next_number, due_at = given.due_at,
      retry_until = given.retry_until, attempts = given.attempts, payouts_made = given.payouts_made,
      updated_at = given.updated_at, ended_at = given.ended_at
    from unnest(${column('partnerId')}::uuid[], ${column('id')}::uuid[], ${column('status')}::text[],
        ${column('endReason')}::text[], ${column('nextIndex')}::integer[], ${column('nextNumber')}::integer[],
        ${column('dueAt')}::timestamptz[], ${column('retryUntil')}::timestamptz[], ${column('attempts')}::integer[],
        ${column('payoutsMade')}::integer[], ${column('updatedAt')}::timestamptz[], ${column('endedAt')}::timestamptz[])
      as given (partner_id, id, status, end_reason, next_index, next_number, due_at, retry_until, attempts,
        payouts_made, updated_at, ended_at)
    where standing.partner_id = given.partner_id and standing.id = given.id
      and ${ofOnePartner(column('partnerId'), sql`standing.partner_id`)}`),
    orders.length,
  )
}

/**
 * Writes one execution for each date: only an execution that is being retried may change. A wrong number of rows fails
 * the transaction.
 */
export function writeExecutions(tx: Tx, executions: readonly ExecutionRow[]): void {
  tx.later(
    sql`/* standing-orders.writeExecutions */
    insert into payouts.standing_executions as execution (${columnList(executionColumns)}) ${newExecutions(tx, executions)}
    on conflict (partner_id, order_id, occurs_on) do update set status = excluded.status, attempts = excluded.attempts,
      payout_id = excluded.payout_id, transaction_reference = excluded.transaction_reference,
      problem_code = excluded.problem_code, problem_detail = excluded.problem_detail, updated_at = excluded.updated_at
    where execution.status = 'Retrying'`,
    executions.length,
  )
}

/** Ends the retries of an execution. Keeps the reason of its refusal. */
export function endRetries(tx: Tx, partnerId: string, orderId: string, now: Date): Promise<number> {
  return tx.run(sql`/* standing-orders.endRetries */
    update payouts.standing_executions set status = 'Skipped', updated_at = ${now}
    where partner_id = ${partnerId} and order_id = ${orderId} and status = 'Retrying'`)
}

/** Reads the executions that are being retried, at most one per order. */
export function retryingExecutions(tx: Tx, orders: readonly OrderRow[]): Promise<readonly ExecutionRow[]> {
  return tx.rows<ExecutionRow>(
    unprepared(sql`/* standing-orders.retryingExecutions */
    select ${columnList(executionColumns)} from payouts.standing_executions
    where ${ofPartners(orders.map(({ partnerId }) => partnerId))} and order_id = any(${orders.map(({ id }) => id)}::uuid[])
      and status = 'Retrying'`),
  )
}

/** Postpones an order that failed, unless it has changed since it was read. */
export function postponeOrder(tx: Tx, { partnerId, id, dueAt }: OrderRow, laterAt: Date): Promise<number> {
  return tx.run(sql`/* standing-orders.postponeOrder */
    update payouts.standing_orders set due_at = ${laterAt}
    where partner_id = ${partnerId} and id = ${id} and due_at = ${dueAt}`)
}

export const ordersDue = (after: Date): Sql =>
  dueWork(
    'reads when the next standing order is due',
    (whose) => sql`/* standing-orders.ordersDue */
      select due_at from payouts.standing_orders where due_at > ${after} and ${whose()} order by due_at limit 1`,
  )

export const personalOrders: PersonalColumns = {
  table: 'payouts.standing_orders',
  by: 'id',
  erased: { reference: null, note: null },
}

export const retainedOrders: RetainedTable = {
  table: 'payouts.standing_orders',
  isOver: ({ endedBefore }) => sql`ended_at < ${endedBefore}`,
  personal: [personalOrders],
}
