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
  /** A payout that no worker has begun. */
  readonly waits: boolean
}

const counts = sql`((direction = 'Outward' and status in ('Pending', 'Completed')) or (direction = 'Inward' and status = 'Completed'))`
const begun = sql`timeline @> '[{"step": "Accepted"}]'`
const waits = sql`(direction = 'Outward' and status = 'Pending' and not ${begun})`
const otherSide = sql`(case direction when 'Outward' then creditor else debtor end)::json`
const account = sql`coalesce(${otherSide} ->> 'iban', ${otherSide} ->> 'walletAddress')`
const columns = sql`id, reference, amount, currency, direction, customer_id, beneficiary_id, ${account} as account,
  ${otherSide} ->> 'bic' as bic, created_at, updated_at as changed_at, ${counts} as counts, ${waits} as waits`

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

/** Transactions by id, in the order of their ids. */
export function byIds(tx: Tx, partnerId: string, ids: readonly string[]): Promise<readonly Movement[]> {
  return tx.rows<Movement>(sql`/* transactions.byIds */
    select ${columns} from transactions.transactions
    where partner_id = ${partnerId} and id = any(${[...ids]}::uuid[]) order by id`)
}

/** Payouts of an alert: how many wait for its decision, how many a bank may have or has paid, how many have ended with the money back. */
export type Standing = { readonly waiting: bigint; readonly left: bigint; readonly ended: bigint }

/** `hits`: a query of `transaction_id` and `holds`. A payout that nothing holds does not wait: it leaves. */
export async function standingOf(tx: Tx, partnerId: string, hits: Sql): Promise<Standing> {
  const hasLeft = sql`(status in ('Pending', 'Completed') and not ${waits} and not timeline @> '[{"step": "Returned"}]')`
  const row = await tx.row<Standing>(sql`/* transactions.standingOf */
    select count(*) filter (where ${waits} and holds) as waiting,
      count(*) filter (where ${hasLeft} or (${waits} and not holds)) as left,
      count(*) filter (where not ${waits} and not ${hasLeft}) as ended
    from transactions.transactions join (${hits}) as hit on hit.transaction_id = id
    where partner_id = ${partnerId} and direction = 'Outward'`)
  return row ?? { waiting: 0n, left: 0n, ended: 0n }
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

/**
 * Stretches of a party's transactions that hold every window of the page: each is read once, however many transactions of the page it
 * has. Those of a page belong to customers, or to the partner itself.
 */
function spansOf(page: readonly Around[]): readonly Omit<Around, 'id'>[] {
  const spans: Omit<Around, 'id'>[] = []
  for (const { customerId, from, to } of page.toSorted((a, b) => compareTexts(a.from, b.from))) {
    const at = spans.findIndex((span) => span.customerId === customerId && from <= span.to)
    const known = spans[at]
    if (known === undefined) spans.push({ customerId, from, to })
    else spans[at] = { ...known, to: to > known.to ? to : known.to }
  }
  return spans
}
const compareTexts = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

const spanOf = (page: readonly Around[]): Sql => {
  const column = columnOf(spansOf(page))
  return sql`unnest(${column('customerId')}::uuid[], ${column('from')}::uuid[], ${column('to')}::uuid[]) as span (customer_id, from_id, to_id)`
}
const isOwn = (page: readonly Around[]): boolean => page[0]?.customerId === null
const inSpan = (partnerId: string, page: readonly Around[], what: Counted): Sql => sql`transactions.transactions
  where partner_id = ${partnerId} and ${isOwn(page) ? sql`customer_id is null` : sql`customer_id = span.customer_id`}
    and transactions.id between span.from_id and span.to_id and ${counted(what)}`

const referencesMax = 20

type Ends = { readonly ms: number; readonly countMin: number; readonly sumMin: Minor }

/**
 * Reads, for each transaction of the page, the first window with it that reaches the count and the sum. `ends`: the transactions of a span, each with the
 * count and the sum of the window that ends with it. Windows end at the transaction or a later one, so that one that completes late is
 * counted in those of the later ones as well. The transactions before each end that is reached are a group, so that all is read once.
 */
const firstEnds = (
  partnerId: string,
  page: readonly Around[],
  { what, ends, ms, countMin, sumMin }: Ends & { readonly what: Counted; readonly ends: Sql },
): Sql => {
  const time = sql`make_interval(secs => ${ms / 1000})`
  return unprepared(sql`/* transactions.firstEnds */
    select found.id, found.count, found.sum, array(
        select reference from ${inSpan(partnerId, page, what)} and transactions.id <= found.end_id
          and created_at between found.end_at - ${time} and found.end_at
        order by transactions.id desc limit ${referencesMax}) as references
    from ${spanOf(page)}
    cross join lateral (
      select id, created_at, first_value(id) over reached as end_id, first_value(created_at) over reached as end_at,
        first_value(count) over reached as count, first_value(sum) over reached as sum, group_number
      from (
        select ends.*, count(*) filter (where count >= ${countMin} and sum >= ${sumMin})
          over (order by created_at desc, id desc) as group_number
        from (${ends}) as ends) as grouped
      window reached as (partition by group_number order by created_at desc, id desc)) as found
    where found.group_number > 0 and found.end_at <= found.created_at + ${time}
      and found.id = any(${page.map(({ id }) => id)}::uuid[])`)
}

/** Finds the transactions of the page that are in a window of this length with so many transactions and such a sum. */
export function windowsOf(
  tx: Tx,
  partnerId: string,
  page: readonly Around[],
  { what, ...reach }: Ends & { readonly what: Counted },
): Promise<readonly Window[]> {
  const ends = sql`/* transactions.windowsOf */
    select id, created_at, count(*) over recent as count, (sum(amount) over recent)::bigint as sum
    from ${inSpan(partnerId, page, what)}
    window recent as (order by created_at range between make_interval(secs => ${reach.ms / 1000}) preceding and current row)`
  return tx.rows<Window>(firstEnds(partnerId, page, { ...reach, what, ends }))
}

/**
 * Finds the transactions of the page that are in a window of this length with so many accounts that paid. An account counts from its payment
 * until its next one, which counts instead, or until the window has passed: the sum of these changes is the number of accounts.
 */
export function payersOf(
  tx: Tx,
  partnerId: string,
  page: readonly Around[],
  { currency, ms, payersMin }: { readonly currency: Currency; readonly ms: number; readonly payersMin: number },
): Promise<readonly Window[]> {
  const what = { direction: 'Inward', currency, amountMin: null, amountMax: null } as const
  const time = sql`make_interval(secs => ${ms / 1000})`
  const ends = sql`/* transactions.payersOf */
    select id, created_at, count, sum from (
      select payment_id as id, at as created_at, sum(change) over (order by at, step) as count,
        (sum(moved) over (order by at range between ${time} preceding and current row))::bigint as sum
      from (
        select id, created_at, amount, lead(created_at) over (partition by ${account} order by created_at, id) as next_at
        from ${inSpan(partnerId, page, what)} and ${account} is not null) as paid
      cross join lateral (values
        (paid.id, paid.created_at, 1, 1, paid.amount),
        (null, least(paid.next_at, paid.created_at + ${time}),
          case when paid.next_at <= paid.created_at + ${time} then 0 else 2 end, -1, 0)) as changes (payment_id, at, step, change, moved)) as counted
    where id is not null`
  const reach = { what, ends, ms, countMin: payersMin, sumMin: 0n }
  return tx.rows<Window>(firstEnds(partnerId, page, reach))
}

/** A page belongs to customers, or to the partner itself. */
const pageOf = (page: readonly Pick<Around, 'id' | 'customerId'>[]): Sql => {
  const column = columnOf(page)
  return sql`unnest(${column('id')}::uuid[], ${column('customerId')}::uuid[]) as page (id, customer_id)`
}

/** The transaction before each one of the page, of the same party, whatever its currency; and when it was created. */
export function previousOf(
  tx: Tx,
  partnerId: string,
  page: readonly Pick<Around, 'id' | 'customerId'>[],
): Promise<readonly { readonly id: string; readonly reference: string; readonly createdAt: Date }[]> {
  const sameParty = page[0]?.customerId === null ? sql`customer_id is null` : sql`customer_id = page.customer_id`
  return tx.rows(
    unprepared(sql`/* transactions.previousOf */
    select page.id, last.reference, last.created_at from ${pageOf(page)}
    cross join lateral (
      select reference, created_at from transactions.transactions
      where partner_id = ${partnerId} and ${sameParty} and transactions.id < page.id and ${counts}
      order by transactions.id desc limit 1) as last`),
  )
}

/** The first payouts to a beneficiary: the time of the first one, and those within a time after it. */
export type FirstPayouts = Omit<Window, 'id'> & { readonly beneficiaryId: string; readonly firstAt: Date }

/**
 * Reads the payouts to these beneficiaries within a time after the first one to each, in the currency. A beneficiary whose first one was longer
 * before `at` is left out.
 */
export function firstPayouts(
  tx: Tx,
  partnerId: string,
  beneficiaries: readonly { readonly id: string; readonly at: Date; readonly to: string }[],
  { currency, ms }: { readonly currency: Currency; readonly ms: number },
): Promise<readonly FirstPayouts[]> {
  const column = columnOf(beneficiaries)
  const time = sql`make_interval(secs => ${ms / 1000})`
  return tx.rows(
    unprepared(sql`/* transactions.firstPayouts */
    select payee.id as beneficiary_id, first.created_at as first_at, early.count, early.sum,
      early.refs[1:${referencesMax}::integer] as references
    from unnest(${column('id')}::uuid[], ${column('at')}::timestamptz[], ${column('to')}::uuid[]) as payee (id, at, to_id)
    cross join lateral (
      select oldest.id, oldest.created_at from (
        select id, created_at from transactions.transactions
        where partner_id = ${partnerId} and beneficiary_id = payee.id and ${counts}
        order by transactions.id limit 1) as oldest
      where payee.at <= oldest.created_at + ${time}) as first
    cross join lateral (
      select count(*) as count, sum(amount)::bigint as sum, array_agg(reference order by transactions.id) as refs
      from transactions.transactions
      where partner_id = ${partnerId} and beneficiary_id = payee.id and ${counts} and currency = ${currency}
        and transactions.id between first.id and payee.to_id and created_at <= first.created_at + ${time}) as early
    where early.count > 0`),
  )
}

/** The first opposite movement of a party around each one of the page, with nearly its amount and the same other account. */
export function returnsOf(
  tx: Tx,
  partnerId: string,
  page: readonly (Around & Pick<Movement, 'amount' | 'account' | 'direction'>)[],
  { currency, percent }: { readonly currency: Currency; readonly percent: number },
): Promise<readonly { readonly id: string; readonly reference: string; readonly amount: Minor }[]> {
  const column = columnOf(page)
  const [inward = noSql, outward = noSql] = (['Inward', 'Outward'] as const).map((direction) => {
    const what = { direction, currency, amountMin: null, amountMax: null }
    return sql`/* transactions.returnsOf */
      select id, customer_id, reference, amount, direction, ${account} as account from ${inSpan(partnerId, page, what)}`
  })
  const sameParty = isOwn(page) ? sql`back.customer_id is null` : sql`back.customer_id = page.customer_id`
  return tx.rows(
    unprepared(sql`/* transactions.returnsOf */
    select distinct on (page.id) page.id, back.reference, back.amount
    from (select moved.* from ${spanOf(page)} cross join lateral (
        ${inward} union all ${outward}) as moved) as back
    join unnest(${column('id')}::uuid[], ${column('customerId')}::uuid[], ${column('from')}::uuid[], ${column('to')}::uuid[],
        ${column('amount')}::bigint[], ${column('account')}::text[], ${column('direction')}::text[])
      as page (id, customer_id, from_id, to_id, amount, account, direction)
      on page.account = back.account and ${sameParty} and page.direction <> back.direction
        and back.id between page.from_id and page.to_id
        and back.amount * 100 >= page.amount * ${percent}::bigint and page.amount * 100 >= back.amount * ${percent}::bigint
    order by page.id, back.id`),
  )
}
