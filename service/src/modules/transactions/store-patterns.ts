/**
 * Patterns over the transactions of one party: reads of the monitoring of transactions. Each is served by an index of a partner's
 * transactions (by customer, by beneficiary, by change, by time), within a window, for a page of transactions at once.
 *
 * What counts: money that is on its way out or has left, and money that has arrived.
 */
import type { Currency, Minor } from '../../kernel/index.ts'
import { columnOf, noSql, type Sql, sql, type Tx, unprepared } from '../../postgres/index.ts'

/** A transaction as monitoring reads it. */
export type Movement = {
  readonly id: string
  readonly reference: string
  readonly amount: Minor
  readonly currency: Currency
  readonly direction: 'Inward' | 'Outward' | 'Internal'
  /** Null: it is the partner's own. */
  readonly customerId: string | null
  readonly beneficiaryId: string | null
  /** IBAN or wallet of the other side, its BIC. Null: not known. */
  readonly account: string | null
  readonly bic: string | null
  readonly createdAt: Date
  readonly changedAt: Date
  readonly counts: boolean
}

const counts = sql`((direction = 'Outward' and status in ('Pending', 'Completed')) or (direction = 'Inward' and status = 'Completed'))`
const otherSide = sql`(case direction when 'Outward' then creditor else debtor end)::json`
const account = sql`coalesce(${otherSide} ->> 'iban', ${otherSide} ->> 'walletAddress')`
const columns = sql`id, reference, amount, currency, direction, customer_id, beneficiary_id, ${account} as account,
  ${otherSide} ->> 'bic' as bic, created_at, updated_at as changed_at, ${counts} as counts`

/** A place in the order of changes. */
export type Place = { readonly changedAt: Date; readonly transactionId: string }

/** Transactions that changed after a place and before a moment, in the order of their changes. */
export function changedAfter(
  tx: Tx,
  partnerId: string,
  { changedAt, transactionId }: Place,
  before: Date,
  rowsMax: number,
): Promise<readonly Movement[]> {
  return tx.rows<Movement>(sql`/* transactions.changedAfter */
    select ${columns} from transactions.transactions
    where partner_id = ${partnerId} and (updated_at, id) > (${changedAt}, ${transactionId}) and updated_at < ${before}
    order by updated_at, id limit ${rowsMax}`)
}

/** Transactions that were created from after a place to before a moment, in their order: for a backtest. */
export function createdAfter(
  tx: Tx,
  partnerId: string,
  after: { readonly createdAt: Date; readonly id: string },
  before: Date,
  rowsMax: number,
): Promise<readonly Movement[]> {
  return tx.rows<Movement>(sql`/* transactions.createdAfter */
    select ${columns} from transactions.transactions
    where partner_id = ${partnerId} and (created_at, id) > (${after.createdAt}, ${after.id}) and created_at < ${before}
    order by created_at, id limit ${rowsMax}`)
}

/** The transactions that a window counts. Null: no bound. */
export type Counted = {
  readonly direction: 'Inward' | 'Outward'
  readonly currency: Currency
  readonly amountMin: Minor | null
  readonly amountMax: Minor | null
}
/** One transaction of a page, with the ids of the earliest and the latest one that a window with it can have. */
export type Around = {
  readonly id: string
  readonly customerId: string | null
  readonly from: string
  readonly to: string
}
export type Window = {
  readonly id: string
  readonly count: bigint
  readonly sum: Minor
  readonly references: readonly string[]
}

const counted = ({ direction, currency, amountMin, amountMax }: Counted): Sql => sql`${counts}
  and direction = ${direction} and currency = ${currency}
  ${amountMin === null ? noSql : sql`and amount >= ${amountMin}`}
  ${amountMax === null ? noSql : sql`and amount < ${amountMax}`}`

/** A page belongs to customers, or to the partner itself. */
const pageOf = (page: readonly Around[]): Sql => {
  const column = columnOf(page)
  return sql`unnest(${column('id')}::uuid[], ${column('customerId')}::uuid[], ${column('from')}::uuid[], ${column('to')}::uuid[])
    as page (id, customer_id, from_id, to_id)`
}
const sameParty = (page: readonly Around[]): Sql =>
  page[0]?.customerId === null ? sql`customer_id is null` : sql`customer_id = page.customer_id`

const referencesMax = 20

/**
 * Reads, for each transaction of the page, the window of this length with it that has the most transactions, if it reaches the count
 * and the sum. Windows end at a transaction, so that a late one is counted in those of the later ones as well.
 */
export function busiestWindows(
  tx: Tx,
  partnerId: string,
  page: readonly Around[],
  {
    what,
    ms,
    countMin,
    sumMin,
  }: { readonly what: Counted; readonly ms: number; readonly countMin: number; readonly sumMin: Minor },
): Promise<readonly Window[]> {
  const before = sql`make_interval(secs => ${ms / 1000})`
  const rows = sql`transactions.transactions where partner_id = ${partnerId} and ${sameParty(page)} and ${counted(what)}`
  return tx.rows<Window>(
    unprepared(sql`/* transactions.busiestWindows */
    select page.id, best.count, best.sum, array(
        select reference from ${rows} and created_at between best.created_at - ${before} and best.created_at
          and transactions.id between page.from_id and page.to_id
        order by transactions.id desc limit ${referencesMax}) as references
    from ${pageOf(page)}
    cross join lateral (
      select id, created_at, count, sum from (
        select id, created_at, count(*) over recent as count, (sum(amount) over recent)::bigint as sum
        from ${rows} and transactions.id between page.from_id and page.to_id
        window recent as (order by created_at range between ${before} preceding and current row)) as windows
      where windows.id >= page.id and count >= ${countMin} and sum >= ${sumMin}
      order by count desc, windows.id limit 1) as best`),
  )
}

/**
 * Reads, for each transaction, the distinct accounts that paid in the window which ends with it, and in the one which ends with the last
 * transaction that a window with it can have: a payment may complete after later ones.
 */
export function payersOf(
  tx: Tx,
  partnerId: string,
  page: readonly Around[],
  { currency, ms, payersMin }: { readonly currency: Currency; readonly ms: number; readonly payersMin: number },
): Promise<readonly Window[]> {
  const what = { direction: 'Inward', currency, amountMin: null, amountMax: null } as const
  const rows = sql`transactions.transactions where partner_id = ${partnerId} and ${sameParty(page)} and ${counted(what)}`
  return tx.rows<Window>(
    unprepared(sql`/* transactions.payersOf */
    select page.id, found.count, found.sum, found.refs[1:${referencesMax}::integer] as references from ${pageOf(page)}
    cross join lateral (
      (select created_at from ${rows} and transactions.id = page.id)
      union (select created_at from ${rows} and transactions.id between page.id and page.to_id
        order by transactions.id desc limit 1)) as last
    cross join lateral (
      select count(distinct ${account}) as count, sum(amount)::bigint as sum, array_agg(reference order by transactions.id desc) as refs
      from ${rows} and transactions.id between page.from_id and page.to_id
        and created_at between last.created_at - make_interval(secs => ${ms / 1000}) and last.created_at) as found
    where found.count >= ${payersMin}`),
  )
}

/** The transaction before each one of the page, of the same party, whatever its currency; and when it was created. */
export function previousOf(
  tx: Tx,
  partnerId: string,
  page: readonly Around[],
): Promise<readonly { readonly id: string; readonly reference: string; readonly createdAt: Date }[]> {
  return tx.rows(
    unprepared(sql`/* transactions.previousOf */
    select page.id, last.reference, last.created_at from ${pageOf(page)}
    cross join lateral (
      select reference, created_at from transactions.transactions
      where partner_id = ${partnerId} and ${sameParty(page)} and transactions.id < page.id and ${counts}
      order by transactions.id desc limit 1) as last`),
  )
}

/**
 * Reads, for each payout of the page that is within a time after the first one to its beneficiary, the payouts to it within that time,
 * in the currency.
 */
export function firstPayments(
  tx: Tx,
  partnerId: string,
  page: readonly (Pick<Movement, 'id' | 'beneficiaryId' | 'createdAt'> & Pick<Around, 'to'>)[],
  { currency, ms }: { readonly currency: Currency; readonly ms: number },
): Promise<readonly (Window & { readonly firstAt: Date })[]> {
  const column = columnOf(page)
  const time = sql`make_interval(secs => ${ms / 1000})`
  return tx.rows(
    unprepared(sql`/* transactions.firstPayments */
    select page.id, first.created_at as first_at, early.count, early.sum, early.refs[1:${referencesMax}::integer] as references
    from unnest(${column('id')}::uuid[], ${column('beneficiaryId')}::uuid[], ${column('createdAt')}::timestamptz[], ${column('to')}::uuid[])
      as page (id, beneficiary_id, created_at, to_id)
    cross join lateral (
      select oldest.id, oldest.created_at from (
        select id, created_at from transactions.transactions
        where partner_id = ${partnerId} and beneficiary_id = page.beneficiary_id and ${counts}
        order by transactions.id limit 1) as oldest
      where page.created_at <= oldest.created_at + ${time}) as first
    cross join lateral (
      select count(*) as count, sum(amount)::bigint as sum, array_agg(reference order by transactions.id) as refs
      from transactions.transactions
      where partner_id = ${partnerId} and beneficiary_id = page.beneficiary_id and ${counts} and currency = ${currency}
        and transactions.id between first.id and page.to_id and created_at <= first.created_at + ${time}) as early
    where early.count > 0`),
  )
}

/** The opposite movements of a party around each one of the page, with nearly its amount and the same other account. */
export function returnsOf(
  tx: Tx,
  partnerId: string,
  page: readonly (Around & Pick<Movement, 'amount' | 'account' | 'direction'>)[],
  { currency, percent }: { readonly currency: Currency; readonly percent: number },
): Promise<readonly { readonly id: string; readonly reference: string; readonly amount: Minor }[]> {
  const column = columnOf(page)
  return tx.rows(
    unprepared(sql`/* transactions.returnsOf */
    select page.id, back.reference, back.amount
    from unnest(${column('id')}::uuid[], ${column('customerId')}::uuid[], ${column('from')}::uuid[], ${column('to')}::uuid[],
        ${column('amount')}::bigint[], ${column('account')}::text[], ${column('direction')}::text[])
      as page (id, customer_id, from_id, to_id, amount, account, direction)
    cross join lateral (
      select reference, amount from transactions.transactions
      where partner_id = ${partnerId} and ${sameParty(page)} and transactions.id between page.from_id and page.to_id and ${counts}
        and currency = ${currency} and transactions.direction <> page.direction
        and transactions.amount * 100 >= page.amount * ${percent}::bigint and page.amount * 100 >= transactions.amount * ${percent}::bigint
        and ${account} = page.account
      order by transactions.id limit 1) as back`),
  )
}
