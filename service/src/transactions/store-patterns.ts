/**
 * Patterns over the transactions of one party: reads of transaction monitoring. An index of a partner's transactions
 * (by customer, beneficiary, change or time) serves each read, within a window, for a page of transactions at once.
 *
 * What counts: money that is on its way out or has left; money that has arrived; and what an exchange sells and buys. A
 * session that is paid in parts counts as its parts.
 */
import type { Currency, Minor } from '../kernel/index.ts'
import { columnValues, noSql, type Sql, sql, type Tx, unprepared } from '../postgres/index.ts'

/** Transaction, or a part of one, for monitoring. */
export type Movement = {
  /** Id of the transaction or of the part. Ids follow the time. */
  readonly id: string
  readonly transactionId: string
  readonly reference: string
  readonly amount: Minor
  readonly currency: Currency
  /** Amount that an exchange buys. Null: no exchange. */
  readonly userAmount: Minor | null
  readonly userCurrency: Currency | null
  /** `Internal`: an exchange between two balances. */
  readonly direction: 'Inward' | 'Outward' | 'Internal'
  /** Null: the partner itself. */
  readonly customerId: string | null
  readonly beneficiaryId: string | null
  /** IBAN, wallet or domestic number of the other side; for a transfer `customer ID` or `partner`. Null: unknown. */
  readonly account: string | null
  readonly bic: string | null
  readonly createdAt: Date
  readonly changedAt: Date
  readonly counts: boolean
  /** A payout that no worker has begun; it may have failed in that state. */
  readonly isUnbegun: boolean
  /** A payout that has failed. */
  readonly isFailed: boolean
  /** A bank's return, a refund or a reversal. */
  readonly isBack: boolean
  /** No money has stayed on the other side: it was sent back, came back, or failed. */
  readonly isUndone: boolean
  /** A deposit of a session, which may be paid in parts. */
  readonly isSession: boolean
}

/** SQL that reads the parts of sessions, from the module that owns them. `id` to `bic`: the columns of `Movement`. */
export type PartReads = {
  /** Condition: the transaction with the reference is paid in parts. */
  readonly areIn: (partnerId: string, reference: Sql) => Sql
  /** Query of a customer's parts with ids in a range, of sessions that are not older than a given one. */
  readonly between: (
    partnerId: string,
    span: Readonly<Record<'customerId' | 'sessionsFrom' | 'from' | 'to', Sql>>,
  ) => Sql
}

const counts = sql`((direction = 'Outward' and status in ('Pending', 'Completed', 'Unsuccessful'))
  or (direction in ('Inward', 'Internal') and status = 'Completed'))`
const failed = sql`(direction = 'Outward' and status = 'Unsuccessful')`
const begun = sql`timeline @> '[{"step": "Accepted"}]'`
const waits = sql`(direction = 'Outward' and status = 'Pending' and not ${begun})`
const otherSide = sql`(case direction when 'Outward' then creditor else debtor end)::json`

/** Normalises the account of the other side: another customer or the partner for a transfer, which has no bank. */
const account = (
  partnerId: string,
): Sql => sql`coalesce(${otherSide} ->> 'iban', lower(${otherSide} ->> 'walletAddress'),
  nullif(concat_ws(' ', coalesce(${otherSide} ->> 'sortCode', ${otherSide} ->> 'routingNumber'), ${otherSide} ->> 'accountNumber'), ''),
  case when rail is null and direction = 'Outward' and originating_reference is null then (
    select coalesce('customer ' || other.customer_id::text, 'partner') from transactions.transactions as other
    where other.partner_id = ${partnerId} and other.originating_reference = transactions.reference and other.direction = 'Inward'
      and other.rail is null limit 1)
  when rail is null and direction = 'Inward' and originating_reference is not null then (
    select coalesce('customer ' || other.customer_id::text, 'partner') from transactions.transactions as other
    where other.partner_id = ${partnerId} and other.reference = transactions.originating_reference and other.direction = 'Outward') end)`

/**
 * Recognises money that goes back: it refers to a payment of its own party. The original of an internal transfer
 * belongs to the other party.
 */
const isBack = (partnerId: string): Sql => sql`(originating_reference is not null and (direction = 'Outward' or exists (
  select from transactions.transactions as original
  where original.partner_id = ${partnerId} and original.reference = transactions.originating_reference
    and transactions.customer_id is not distinct from original.customer_id)))`
const isUndone = (partnerId: string): Sql =>
  sql`(${failed} or timeline @> '[{"step": "Returned"}]' or ${isBack(partnerId)})`

const columns = (
  partnerId: string,
): Sql => sql`id, id as transaction_id, reference, amount, currency, user_amount, user_currency,
  direction, customer_id, beneficiary_id, ${account(partnerId)} as account, ${otherSide} ->> 'bic' as bic, created_at,
  updated_at as changed_at, ${counts} as counts, (${waits} or (${failed} and not ${begun})) as is_unbegun, ${failed} as is_failed, ${isBack(partnerId)} as is_back,
  ${isUndone(partnerId)} as is_undone, (session_id is not null and direction = 'Inward') as is_session`

/** Position in the order of changes. */
export type ChangePlace = { readonly changedAt: Date; readonly transactionId: string }

/** Lists transactions that changed after a position and before a moment, in the order of their changes. */
export function changedAfter(
  tx: Tx,
  partnerId: string,
  { changedAt, transactionId }: ChangePlace,
  before: Date,
  rowsMax: number,
): Promise<readonly Movement[]> {
  return tx.rows<Movement>(sql`/* transactions.changedAfter */
    select ${columns(partnerId)} from transactions.transactions
    where partner_id = ${partnerId} and (updated_at, id) > (${changedAt}, ${transactionId}) and updated_at < ${before}
    order by updated_at, id limit ${rowsMax}`)
}

/** Lists transactions created after a position and before a moment, in their order: for a backtest. */
export function createdAfter(
  tx: Tx,
  partnerId: string,
  after: { readonly createdAt: Date; readonly id: string },
  before: Date,
  rowsMax: number,
): Promise<readonly Movement[]> {
  return tx.rows<Movement>(sql`/* transactions.createdAfter */
    select ${columns(partnerId)} from transactions.transactions
    where partner_id = ${partnerId} and (created_at, id) > (${after.createdAt}, ${after.id}) and created_at < ${before}
    order by created_at, id limit ${rowsMax}`)
}

/** Reads transactions by id, in the order of their ids. */
export function byIds(tx: Tx, partnerId: string, ids: readonly string[]): Promise<readonly Movement[]> {
  return tx.rows<Movement>(sql`/* transactions.byIds */
    select ${columns(partnerId)} from transactions.transactions
    where partner_id = ${partnerId} and id = any(${[...ids]}::uuid[]) order by id`)
}

/** Movement with the fields for a report to an authority. */
export type Payment = Movement & {
  readonly type: string
  readonly status: string
  readonly description: string | null
  readonly otherName: string | null
  readonly otherCountry: string | null
}

/** Reads transactions by reference, in the order of their ids. */
export function paymentsByReferences(
  tx: Tx,
  partnerId: string,
  references: readonly string[],
): Promise<readonly Payment[]> {
  return tx.rows<Payment>(sql`/* transactions.paymentsByReferences */
    select ${columns(partnerId)}, type, status, description, ${otherSide} ->> 'accountHolderName' as other_name,
      ${otherSide} ->> 'country' as other_country
    from transactions.transactions
    where partner_id = ${partnerId} and reference = any(${[...references]}::text[]) order by id`)
}

/**
 * Number of an alert's payouts that wait for its decision, that a bank may have or has paid, and that ended with the
 * money returned.
 */
export type PayoutCounts = { readonly waiting: bigint; readonly left: bigint; readonly ended: bigint }

/**
 * Counts the payouts of an alert. `hits`: a query of `transaction_id` and `holds`. A payout without a hold does not
 * wait: it will be sent.
 */
export async function countPayoutsOfHits(tx: Tx, partnerId: string, hits: Sql): Promise<PayoutCounts> {
  const hasLeft = sql`(status in ('Pending', 'Completed') and not ${waits} and not timeline @> '[{"step": "Returned"}]')`
  const row = await tx.row<PayoutCounts>(sql`/* transactions.countPayoutsOfHits */
    select count(*) filter (where ${waits} and holds) as waiting,
      count(*) filter (where ${hasLeft} or (${waits} and not holds)) as left,
      count(*) filter (where not ${waits} and not ${hasLeft}) as ended
    from transactions.transactions join (${hits}) as hit on hit.transaction_id = id
    where partner_id = ${partnerId} and direction = 'Outward'`)
  return row ?? { waiting: 0n, left: 0n, ended: 0n }
}

/** Payout that waits for the decision about an alert. */
type WaitingPayment = Pick<Movement, 'reference' | 'amount' | 'currency' | 'createdAt'>
/** Sum of the waiting payouts in a currency. */
type WaitingSum = { readonly currency: Currency; readonly count: bigint; readonly amount: Minor }

/** Lists the payouts that wait for a decision, oldest first. `hits`: as for `countPayoutsOfHits`. */
export function waitingPayments(
  tx: Tx,
  partnerId: string,
  hits: Sql,
  rowsMax: number,
): Promise<readonly WaitingPayment[]> {
  return tx.rows<WaitingPayment>(sql`/* transactions.waitingPayments */
    select reference, amount, currency, created_at
    from transactions.transactions join (${hits}) as hit on hit.transaction_id = id
    where partner_id = ${partnerId} and ${waits} and holds order by id limit ${rowsMax}`)
}

/** Sums the payouts that wait for a decision. `hits`: as for `countPayoutsOfHits`. */
export function waitingSums(tx: Tx, partnerId: string, hits: Sql): Promise<readonly WaitingSum[]> {
  return tx.rows<WaitingSum>(sql`/* transactions.waitingSums */
    select currency, count(*) as count, sum(amount)::bigint as amount
    from transactions.transactions join (${hits}) as hit on hit.transaction_id = id
    where partner_id = ${partnerId} and ${waits} and holds group by currency order by currency`)
}

/** How a rule counts: the money of one currency, or of all currencies converted to this one. */
export type Measure = {
  readonly currency: Currency
  /** Exchange rates from each currency to `currency`, in minor units: `over / under`. Absent: only the currency itself counts. */
  readonly rates?: readonly { readonly currency: Currency; readonly over: bigint; readonly under: bigint }[]
}

/** Converts the amount of a row. Over all currencies a row without a rate counts as zero. */
const converted = (rates: NonNullable<Measure['rates']>): Sql =>
  sql`coalesce((case currency ${rates.reduce(
    (cases, { currency, over, under }) => sql`${cases}
    when ${currency} then div(amount::numeric * ${over}::numeric + ${under}::numeric - 1, ${under}::numeric)`,
    noSql,
  )} end)::bigint, 0)`
const amountIn = ({ currency, rates }: Measure): Sql =>
  rates === undefined ? sql`(case currency when ${currency}::text then amount else user_amount end)` : converted(rates)
/** Selects movements that count. Over all currencies an exchange between two balances moves nothing. */
const isIn = ({ currency, rates }: Measure): Sql =>
  rates === undefined ? sql`${currency} in (currency, user_currency)` : sql`direction <> 'Internal'`
const directionIn = ({ currency, rates }: Measure): Sql =>
  rates === undefined
    ? sql`(case when direction <> 'Internal' then direction when currency = ${currency} then 'Outward' else 'Inward' end)`
    : sql`direction`

/** Movements that a window counts. Null: no limit. */
export type WindowFilter = {
  readonly direction: 'Inward' | 'Outward'
  readonly measure: Measure
  readonly amountMin: Minor | null
  readonly amountMax: Minor | null
  /** Counts only payouts that have failed. */
  readonly areFailed?: boolean
  readonly parts: PartReads
}
/** A movement of a page, with the ids of the earliest and latest movements that can share a window with it. */
export type WindowBounds = {
  readonly id: string
  /** The party, or the first of `payees`. */
  readonly customerId: string | null
  /** Beneficiaries with the same account, as a PostgreSQL array: the window is over the payouts of all parties to it. */
  readonly payees?: string
  readonly from: string
  readonly to: string
  /** Id of the earliest session that can have a part from `from` on. */
  readonly sessionsFrom: string
}
export type MovementWindow = {
  readonly id: string
  readonly count: bigint
  readonly sum: Minor
  readonly references: readonly string[]
}

/**
 * Merges the windows of a page into stretches of a party's transactions, so that each is read once. All movements of a
 * page belong to customers, or to the partner itself, or to accounts.
 */
function mergeSpans(page: readonly WindowBounds[]): readonly Omit<WindowBounds, 'id'>[] {
  const spans: Omit<WindowBounds, 'id'>[] = []
  for (const { id: _id, ...around } of page.toSorted((a, b) => compareTexts(a.from, b.from))) {
    const at = spans.findIndex((span) => span.customerId === around.customerId && around.from <= span.to)
    const known = spans[at]
    if (known === undefined) spans.push(around)
    else spans[at] = { ...known, to: around.to > known.to ? around.to : known.to }
  }
  return spans
}
const compareTexts = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

const spanOf = (page: readonly WindowBounds[]): Sql => {
  const spans = mergeSpans(page)
  const column = columnValues(spans)
  return sql`unnest(${column('customerId')}::uuid[], ${spans.map(({ payees = null }) => payees)}::text[], ${column('from')}::uuid[],
    ${column('to')}::uuid[], ${column('sessionsFrom')}::uuid[]) as span (customer_id, payees, from_id, to_id, sessions_from)`
}
const isOwn = (page: readonly WindowBounds[]): boolean => page[0]?.customerId === null
const partyOf = (page: readonly WindowBounds[]): Sql =>
  isOwn(page)
    ? sql`customer_id is null`
    : page[0]?.payees === undefined
      ? sql`customer_id = span.customer_id`
      : sql`beneficiary_id = any(span.payees::uuid[])`

const amountBounds = ({ amountMin, amountMax }: WindowFilter, amount: Sql): Sql => sql`
  ${amountMin === null ? noSql : sql`and ${amount} >= ${amountMin}`} ${amountMax === null ? noSql : sql`and ${amount} < ${amountMax}`}`

/**
 * Selects the rows that a window counts, in the measure. `except`: a condition of transactions that do not count.
 * `last`: a further condition with order and limit, so that an index returns only the last rows.
 */
function selectMovements(
  partnerId: string,
  page: readonly WindowBounds[],
  what: WindowFilter,
  { except, last = noSql }: { readonly except?: Sql | undefined; readonly last?: Sql } = {},
): Sql {
  const { direction, measure, areFailed = false, parts } = what
  const hasParts = direction === 'Inward' && !isOwn(page)
  const ofPart = measure.rates === undefined ? sql`amount` : converted(measure.rates)
  const span = { customerId: sql`span.customer_id`, sessionsFrom: sql`span.sessions_from` }
  return sql`(/* transactions.selectMovements */
    (select id, reference, customer_id, created_at, ${amountIn(measure)} as amount, ${direction}::text as direction
      ${except === undefined ? noSql : sql`, ${account(partnerId)} as account`}
    from transactions.transactions
    where partner_id = ${partnerId} and ${partyOf(page)} and transactions.id between span.from_id and span.to_id
      and ${areFailed ? failed : counts} and ${isIn(measure)} and ${directionIn(measure)} = ${direction}
      ${amountBounds(what, amountIn(measure))} ${except === undefined ? noSql : sql`and not ${except}`}
      ${hasParts ? sql`and (session_id is null or not ${parts.areIn(partnerId, sql`transactions.reference`)})` : noSql}
      ${last})
    ${
      hasParts
        ? sql`union all (select id, reference, customer_id, created_at, ${ofPart}, ${direction}::text
            ${except === undefined ? noSql : sql`, account`}
          from (${parts.between(partnerId, { ...span, from: sql`span.from_id`, to: sql`span.to_id` })}) as part
          where ${measure.rates === undefined ? sql`currency = ${measure.currency}` : sql`true`} ${amountBounds(what, ofPart)} ${last})`
        : noSql
    }) as moved`
}

const referencesMax = 20

type WindowCriteria = { readonly ms: number; readonly countMin: number; readonly sumMin: Minor }

/**
 * Selects, for each movement of the page, the first window with it that reaches the count and the sum. `ends`: the
 * movements of a span, each with count and sum of the window that ends with it. Windows end at the movement or a later
 * one, so that a movement that completes late is counted in later windows as well.
 */
const selectFirstEnds = (
  partnerId: string,
  page: readonly WindowBounds[],
  { what, ends, ms, countMin, sumMin }: WindowCriteria & { readonly what: WindowFilter; readonly ends: Sql },
): Sql => {
  const time = sql`make_interval(secs => ${ms / 1000})`
  const last = sql`and id <= found.end_id and created_at between found.end_at - ${time} and found.end_at
        order by id desc limit ${referencesMax}`
  return unprepared(sql`/* transactions.selectFirstEnds */
    select found.id, found.count, found.sum, array(
        select reference from ${selectMovements(partnerId, page, what, { last })} order by moved.id desc limit ${referencesMax}) as references
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

/** Finds the movements of the page that are in a window of this length with the given count and sum. */
export function movementWindows(
  tx: Tx,
  partnerId: string,
  page: readonly WindowBounds[],
  { what, ...reach }: WindowCriteria & { readonly what: WindowFilter },
): Promise<readonly MovementWindow[]> {
  const ends = sql`/* transactions.movementWindows */
    select id, created_at, count(*) over recent as count, (sum(amount) over recent)::bigint as sum
    from ${selectMovements(partnerId, page, what)}
    window recent as (order by created_at range between make_interval(secs => ${reach.ms / 1000}) preceding and current row)`
  return tx.rows<MovementWindow>(selectFirstEnds(partnerId, page, { ...reach, what, ends }))
}

/**
 * Finds the movements of the page that are in a window of this length with the given number of paying accounts or of
 * customers. Each counts from its payment until its next payment or the end of the window: the sum of these changes is
 * their number. A return has no payer.
 */
export function windowsByPayers(
  tx: Tx,
  partnerId: string,
  page: readonly WindowBounds[],
  {
    what,
    by,
    ms,
    countMin,
  }: Omit<WindowCriteria, 'sumMin'> & { readonly what: WindowFilter; readonly by: 'account' | 'customer' },
): Promise<readonly MovementWindow[]> {
  const time = sql`make_interval(secs => ${ms / 1000})`
  const key = by === 'account' ? sql`account` : sql`customer_id`
  const except = by === 'account' ? isBack(partnerId) : undefined
  const ends = sql`/* transactions.windowsByPayers */
    select id, created_at, count, sum from (
      select payment_id as id, at as created_at, sum(change) over (order by at, step) as count,
        (sum(moved) over (order by at range between ${time} preceding and current row))::bigint as sum
      from (
        select id, created_at, amount, lead(created_at) over (partition by ${key} order by created_at, id) as next_at
        from ${selectMovements(partnerId, page, what, { except })} where ${key} is not null) as paid
      cross join lateral (values
        (paid.id, paid.created_at, 1, 1, paid.amount),
        (null, least(paid.next_at, paid.created_at + ${time}),
          case when paid.next_at <= paid.created_at + ${time} then 0 else 2 end, -1, 0)) as changes (payment_id, at, step, change, moved)) as counted
    where id is not null`
  return tx.rows<MovementWindow>(selectFirstEnds(partnerId, page, { what, ends, ms, countMin, sumMin: 0n }))
}

/** Selects the movements of a page. All of them belong to customers, or to the partner itself. */
const pageOf = (page: readonly Pick<Movement, 'id' | 'transactionId' | 'customerId'>[]): Sql => {
  const column = columnValues(page)
  return sql`unnest(${column('id')}::uuid[], ${column('transactionId')}::uuid[], ${column('customerId')}::uuid[])
    as page (id, transaction_id, customer_id)`
}

/** Finds the previous payment of the same party for each payment of the page, in any currency, and when it was created. */
export function findPreviousPayments(
  tx: Tx,
  partnerId: string,
  page: readonly Pick<Movement, 'id' | 'transactionId' | 'customerId'>[],
): Promise<readonly { readonly id: string; readonly reference: string; readonly createdAt: Date }[]> {
  const sameParty = page[0]?.customerId === null ? sql`customer_id is null` : sql`customer_id = page.customer_id`
  return tx.rows(
    unprepared(sql`/* transactions.findPreviousPayments */
    select page.id, last.reference, last.created_at from ${pageOf(page)}
    cross join lateral (
      select reference, created_at from transactions.transactions
      where partner_id = ${partnerId} and ${sameParty} and transactions.id < page.id and transactions.id <> page.transaction_id
        and ${counts} and direction <> 'Internal'
      order by transactions.id desc limit 1) as last`),
  )
}

/** First payouts to a beneficiary: the time of the first, and the payouts within a period after it. */
export type FirstPayouts = Omit<MovementWindow, 'id'> & { readonly beneficiaryId: string; readonly firstAt: Date }

/**
 * Reads the payouts to these beneficiaries within a period after the first to each, in the currency. Omits
 * beneficiaries whose first payout was longer before `at`.
 */
export function firstPayouts(
  tx: Tx,
  partnerId: string,
  beneficiaries: readonly { readonly id: string; readonly at: Date; readonly to: string }[],
  { measure, ms }: { readonly measure: Measure; readonly ms: number },
): Promise<readonly FirstPayouts[]> {
  const column = columnValues(beneficiaries)
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
      select count(*) as count, sum(${amountIn(measure)})::bigint as sum, array_agg(reference order by transactions.id) as refs
      from transactions.transactions
      where partner_id = ${partnerId} and beneficiary_id = payee.id and ${counts} and ${isIn(measure)}
        and transactions.id between first.id and payee.to_id and created_at <= first.created_at + ${time}) as early
    where early.count > 0`),
  )
}

/** Largest difference between the amounts of two movements, in percent, and between their times. */
type NearLimits = { readonly percent: number; readonly ms: number }

/**
 * Finds the first opposite movement of a party around each movement of the page, with nearly the same amount and the
 * same other account.
 */
export function findOppositeMovements(
  tx: Tx,
  partnerId: string,
  page: readonly (WindowBounds & Pick<Movement, 'amount' | 'account' | 'direction' | 'createdAt'>)[],
  { measure, percent, ms, parts }: Pick<WindowFilter, 'measure' | 'parts'> & NearLimits,
): Promise<readonly { readonly id: string; readonly reference: string; readonly amount: Minor }[]> {
  const column = columnValues(page)
  const [inward = noSql, outward = noSql] = (['Inward', 'Outward'] as const).map((direction) => {
    const what = { direction, measure, amountMin: null, amountMax: null, parts }
    return sql`/* transactions.findOppositeMovements */
      select id, customer_id, reference, amount, direction, account, created_at from ${selectMovements(partnerId, page, what, { except: isUndone(partnerId) })}`
  })
  const sameParty = isOwn(page) ? sql`back.customer_id is null` : sql`back.customer_id = page.customer_id`
  const time = sql`make_interval(secs => ${ms / 1000})`
  return tx.rows(
    unprepared(sql`/* transactions.findOppositeMovements */
    select distinct on (page.id) page.id, back.reference, back.amount
    from (select moved.* from ${spanOf(page)} cross join lateral (
        ${inward} union all ${outward}) as moved) as back
    join unnest(${column('id')}::uuid[], ${column('customerId')}::uuid[], ${column('from')}::uuid[], ${column('to')}::uuid[],
        ${column('amount')}::bigint[], ${column('account')}::text[], ${column('direction')}::text[], ${column('createdAt')}::timestamptz[])
      as page (id, customer_id, from_id, to_id, amount, account, direction, created_at)
      on page.account = back.account and ${sameParty} and page.direction <> back.direction
        and back.id between page.from_id and page.to_id
        and back.created_at between page.created_at - ${time} and page.created_at + ${time}
        and back.amount * 100 >= page.amount * ${percent}::bigint and page.amount * 100 >= back.amount * ${percent}::bigint
    order by page.id, back.id`),
  )
}

/** Selects what customers received from another party of the partner, with the payer: null for the partner. */
const receivedInside = (partnerId: string, measure: Measure, which: Sql): Sql => sql`/* transactions.receivedInside */ (
    select id, reference, ${amountIn(measure)} as amount, (
      select original.customer_id from transactions.transactions as original
      where original.partner_id = ${partnerId} and original.reference = transactions.originating_reference
        and original.direction = 'Outward') as payer_id
    from transactions.transactions
    where partner_id = ${partnerId} and ${which} and direction = 'Inward' and status = 'Completed'
      and originating_reference is not null and ${isIn(measure)})`

/** Condition: the payer of a later movement received nearly the same amount before it. */
const hopTo = (later: Sql, measure: Measure, { percent, ms }: NearLimits): Sql => sql`customer_id = ${later}.payer_id
  and transactions.id between page.from_id and ${later}.id
  and created_at >= page.created_at - make_interval(secs => ${ms / 1000})
  and ${amountIn(measure)} * 100 >= page.amount * ${percent}::bigint
  and page.amount * 100 >= ${amountIn(measure)} * ${percent}::bigint`

/**
 * Finds money that a customer receives from another customer and that came from it before: from the payer itself (A, B,
 * A), or through a third one (A, B, C, A). Each hop has nearly the same amount. `page`: incoming money. Returns the
 * references of the hops, the last first.
 */
export function findCircularPayments(
  tx: Tx,
  partnerId: string,
  page: readonly (WindowBounds & Pick<Movement, 'amount' | 'createdAt'>)[],
  { measure, percent, ms }: Pick<WindowFilter, 'measure'> & NearLimits,
): Promise<readonly Omit<MovementWindow, 'count'>[]> {
  const column = columnValues(page)
  const last = receivedInside(partnerId, measure, sql`transactions.id = page.id`)
  const middle = receivedInside(partnerId, measure, hopTo(sql`last`, measure, { percent, ms }))
  const first = receivedInside(partnerId, measure, hopTo(sql`middle`, measure, { percent, ms }))
  return tx.rows(
    unprepared(sql`/* transactions.findCircularPayments */
    select distinct on (page.id) page.id,
      array_remove(array[last.reference, middle.reference, first.reference], null) as references,
      (last.amount + middle.amount + coalesce(first.amount, 0))::bigint as sum
    from unnest(${column('id')}::uuid[], ${column('customerId')}::uuid[], ${column('from')}::uuid[], ${column('amount')}::bigint[],
        ${column('createdAt')}::timestamptz[]) as page (id, customer_id, from_id, amount, created_at)
    cross join lateral ${last} as last
    cross join lateral ${middle} as middle
    left join lateral ${first} as first
      on middle.payer_id <> page.customer_id and first.payer_id = page.customer_id
    where last.payer_id <> page.customer_id and (middle.payer_id = page.customer_id or first.id is not null)
    order by page.id, first.id is not null, middle.id desc`),
  )
}
