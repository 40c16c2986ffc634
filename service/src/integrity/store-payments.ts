/** Compares transactions with the ledger, with their payments, with cases, with events and with the audit log. */
import { currencies } from '../kernel/index.ts'
import { sql, type Sql, type Tx } from '../postgres/index.ts'
import type { Finding } from './finding.ts'
import { legsOf } from './store-ledger.ts'

/** Sums that the references of a partner have moved and reserved on its accounts of one name. */
const movedOn = (partnerId: string, name: 'balance' | 'suspense' | 'parts'): Sql => sql`
  select leg.reference, account.currency, sum(leg.posted) as posted, sum(leg.reserved) as reserved
  from (${legsOf(partnerId)}) as leg
    join ledger.accounts as account on account.partner_id = ${partnerId} and account.id = leg.account_id and account.name = ${name}
  group by leg.reference, account.currency`

/** Each transaction has moved the balance by its amount and status, and nothing else has moved it. */
export function booked(tx: Tx, partnerId: string, rowsMax: number): Promise<readonly Finding[]> {
  return tx.rows(sql`/* integrity.booked */
    with cost as (
      select transaction.*, transaction.amount + coalesce(payout.fee_amount, 0) as outward, payout.id as payout_id
      from transactions.transactions as transaction left join payouts.payouts as payout
        on payout.partner_id = ${partnerId} and payout.transaction_id = transaction.id
      where transaction.partner_id = ${partnerId}
    ), told as (
      select reference, currency,
        case when status <> 'Completed' then 0 when direction = 'Inward' then amount else -outward end as posted,
        case when status = 'Pending' and payout_id is not null then outward else 0 end as reserved
      from cost
      union all
      select reference, user_currency, case status when 'Completed' then user_amount else 0 end, 0
      from cost where category = 'Conversion'
    )
    select 'transactions.transactions' as table, reference || ' ' || currency as key, 'amount, currency, direction, status' as column,
      concat_ws(', ', coalesce(moved.posted, 0), coalesce(moved.reserved, 0)) as expected,
      concat_ws(', ', told.posted, told.reserved) as found
    from (select reference, currency, sum(posted) as posted, sum(reserved) as reserved from told group by reference, currency) as told
      full join (${movedOn(partnerId, 'balance')}) as moved using (reference, currency)
    where told.posted is null
      or (told.posted, told.reserved) <> (coalesce(moved.posted, 0), coalesce(moved.reserved, 0))
    order by key limit ${rowsMax}`)
}

/** The last entry of a timeline has the status, and the category the direction. */
export function timelines(tx: Tx, partnerId: string, rowsMax: number): Promise<readonly Finding[]> {
  return tx.rows(sql`/* integrity.timelines */
    select 'transactions.transactions' as table, reference as key, 'status, timeline, category, direction' as column,
      concat_ws(', ', timeline -> -1 ->> 'status', direction) as expected, concat_ws(', ', status, category) as found
    from transactions.transactions
    where partner_id = ${partnerId} and ((timeline -> -1 ->> 'status') is distinct from status
      or (category, direction) not in (('Deposit', 'Inward'), ('Withdrawal', 'Outward'), ('Conversion', 'Internal')))
    order by key limit ${rowsMax}`)
}

/** Each step has its record in the audit log, which names the reference; that of the opening has the money. */
export function records(tx: Tx, partnerId: string, rowsMax: number): Promise<readonly Finding[]> {
  return tx.rows(sql`/* integrity.records */
    select 'audit.records' as table, step.id as key, 'content' as column,
      concat_ws(', ', step.reference, step.amount, step.currency) as expected,
      coalesce(concat_ws(', ', record.reference, record.amount, record.currency), 'missing') as found
    from (
      select distinct transaction.reference, transaction.amount, transaction.currency, entry ->> 'record' as id
      from transactions.transactions as transaction, jsonb_array_elements(transaction.timeline) as entry
      where transaction.partner_id = ${partnerId} and entry ->> 'record' is not null) as step
      left join (
        select record.id::text as id, content.subject ->> 'reference' as reference, details.amount, details.currency
        from audit.records as record
          cross join lateral jsonb_to_record(record.content::jsonb) as content(subject jsonb, details jsonb)
          cross join lateral jsonb_to_record(coalesce(content.details, '{}')) as details(amount text, currency text)
        where record.partner_id = ${partnerId}) as record on record.id = step.id
    where record.reference is distinct from step.reference
      or (record.amount is not null and (${minorOf(sql`record.amount`, sql`record.currency`)}) is distinct from step.amount)
      or record.currency <> step.currency
    order by key limit ${rowsMax}`)
}

/**
 * A payout and its transaction agree; the creditor of a transaction has the two numbers of a domestic account apart. A transaction that has reserved money belongs to a payout. */
export function payouts(tx: Tx, partnerId: string, rowsMax: number): Promise<readonly Finding[]> {
  return tx.rows(sql`/* integrity.payouts */
    select 'payouts.payouts' as table, coalesce(payout.id::text, told.reference) as key,
      'reference, amount, currency, sold_amount, sold_currency, quote_id, customer_id, end_to_end_id, status, creditor_account'
        as column,
      concat_ws(', ', told.facts, told.status) as expected, concat_ws(', ', payout.facts, payout.status) as found
    from (
      select id, transaction_id, status, creditor_account, concat_ws(', ', reference, amount, currency, coalesce(sold_amount, amount),
        coalesce(sold_currency, currency), coalesce(quote_id::text, '-'), coalesce(customer_id::text, '-'),
        coalesce(partner_end_to_end_id, end_to_end_id)) as facts,
        case status when 'Completed' then array['Completed'] when 'Returned' then array['Completed', 'Unsuccessful']
          when 'Failed' then array['Unsuccessful'] when 'Cancelled' then array['Cancelled'] else array['Pending'] end as statuses
      from payouts.payouts where partner_id = ${partnerId}) as payout
    full join (
      select id, reference, status, creditor, concat_ws(', ', reference, coalesce(user_amount, amount), coalesce(user_currency, currency), amount,
        currency, coalesce(quote_id::text, '-'), coalesce(customer_id::text, '-'), coalesce(end_to_end_id, '')) as facts,
        timeline @> '[{"step": "Reserved"}]' as has_reserved
      from transactions.transactions where partner_id = ${partnerId}) as told on told.id = payout.transaction_id
    where (payout.id is null and told.has_reserved) or (payout.id is not null
      and (told.id is null or payout.facts <> told.facts or told.status <> all (payout.statuses)
        or (payout.creditor_account <> '' and exists (
          select from string_to_table(regexp_replace(payout.creditor_account, '^(GBDSC|USABA)', ''), '/') as number
          where position('"' || number || '"' in told.creditor) = 0))))
    order by key limit ${rowsMax}`)
}

/** A payout has reserved its money under its own reference, for its bank or for an exchange. */
export function reserves(tx: Tx, partnerId: string, rowsMax: number): Promise<readonly Finding[]> {
  return tx.rows(sql`/* integrity.reserves */
    select 'payouts.payouts' as table, payout.id::text as key, 'reserve_id, reference, connector' as column,
      coalesce(concat_ws(' ', transfer.kind, transfer.reference, account.name), 'no transfer') as expected,
      concat_ws(' ', 'reserve', payout.reference, payout.connector) as found
    from payouts.payouts as payout
      left join ledger.transfers as transfer on transfer.partner_id = ${partnerId} and transfer.id = payout.reserve_id
      left join ledger.accounts as account on account.partner_id = ${partnerId} and account.id = transfer.credit_account_id
    where payout.partner_id = ${partnerId} and (transfer.kind, transfer.reference, account.name) is distinct from ('reserve',
      payout.reference, case when payout.quote_id is null then 'settlement.' || payout.connector else 'fx' end)
    order by key limit ${rowsMax}`)
}

/** A payout inside and its transfer agree: the payee is credited before the payout is completed, and then nothing is left to do. */
export function transfersInside(tx: Tx, partnerId: string, rowsMax: number): Promise<readonly Finding[]> {
  return tx.rows(sql`/* integrity.transfersInside */
    select 'rails.internal_transfers' as table, payout.reference as key, 'amount, currency, accepted, next_step' as column,
      concat_ws(', ', payout.amount, payout.currency, payout.status) as expected, case when transfer.id is null then 'no transfer'
        else concat_ws(', ', transfer.amount, transfer.currency, transfer.accepted, coalesce(transfer.next_step, 'ended')) end as found
    from payouts.payouts as payout left join rails.internal_transfers as transfer
      on transfer.partner_id = ${partnerId} and replace(transfer.id::text, '-', '') = payout.end_to_end_id
    where payout.partner_id = ${partnerId} and payout.connector = 'internal'
      and ((transfer.amount, transfer.currency) <> (payout.amount, payout.currency) or case payout.status
        when 'Completed' then transfer.id is null or not transfer.accepted or transfer.next_step = 'credit'
        when 'Sent' then transfer.id is null or not transfer.accepted or transfer.next_step is null
        when 'Failed' then transfer.accepted is true else false end)
    order by key limit ${rowsMax}`)
}

/**
 * A deposit and its transaction agree. A transaction that is not completed and brings money in belongs to a deposit.
 */
export function deposits(tx: Tx, partnerId: string, rowsMax: number): Promise<readonly Finding[]> {
  return tx.rows(sql`/* integrity.deposits */
    select 'deposits.deposits' as table, coalesce(deposit.id::text, told.reference) as key,
      'reference, amount, currency, customer_id, end_to_end_id, session_id, status' as column,
      told.facts as expected, deposit.facts as found
    from (
      select id, transaction_id, concat_ws(', ', reference, amount, currency, coalesce(customer_id::text, '-'), end_to_end_id,
        session_id, case status when 'Completed' then 'Completed' when 'Failed' then 'Unsuccessful' when 'Expired' then 'Expired'
          else 'Pending' end) as facts
      from deposits.deposits where partner_id = ${partnerId}) as deposit
    full join (
      select id, reference, category = 'Deposit' and status <> 'Completed' as is_open,
        concat_ws(', ', reference, amount, currency, coalesce(customer_id::text, '-'), coalesce(end_to_end_id, ''),
          coalesce(session_id, ''), status) as facts
      from transactions.transactions where partner_id = ${partnerId}) as told on told.id = deposit.transaction_id
    where (deposit.id is null and told.is_open)
      or (deposit.id is not null and (told.id is null or deposit.facts <> told.facts))
    order by key limit ${rowsMax}`)
}

/** A conversion has the amounts of its quote, its transaction and its entry in the ledger. */
export function conversions(tx: Tx, partnerId: string, rowsMax: number): Promise<readonly Finding[]> {
  return tx.rows(sql`/* integrity.conversions */
    select 'fx.conversions' as table, coalesce(conversion.quote_id::text, told.reference) as key,
      'reference, entry_id, sell_amount, sell_currency, buy_amount, buy_currency, quote_id' as column,
      told.facts as expected, conversion.facts as found
    from (
      select made.quote_id, made.transaction_id, concat_ws(', ', transfer.reference, quote.sell_amount, quote.sell_currency,
        quote.buy_amount, quote.buy_currency, made.quote_id, made.reference, quote.accepted_by) as facts
      from fx.conversions as made
        left join fx.quotes as quote on quote.partner_id = ${partnerId} and quote.id = made.quote_id
        left join ledger.transfers as transfer on transfer.partner_id = ${partnerId} and transfer.id = made.entry_id
      where made.partner_id = ${partnerId}) as conversion
    full join (
      select id, reference, concat_ws(', ', reference, amount, currency, user_amount, user_currency, quote_id, reference, reference)
        as facts
      from transactions.transactions where partner_id = ${partnerId} and category = 'Conversion') as told
      on told.id = conversion.transaction_id
    where conversion.facts is distinct from told.facts order by key limit ${rowsMax}`)
}

/**
 * Money of an open case is in suspense. That of a resolved one has left; if it was released, the payment has received
 * it.
 */
export function cases(tx: Tx, partnerId: string, rowsMax: number): Promise<readonly Finding[]> {
  return tx.rows(sql`/* integrity.cases */
    select 'cases.cases' as table, coalesce(told.reference, moved.reference) as key, 'booked, currency, resolution' as column,
      concat_ws(' ', moved.posted, moved.currency) as expected, concat_ws(' ', told.posted, told.currency) as found
    from (
      select 'case ' || id as reference, currency,
        case when resolution is null or resolution = 'released' then booked else 0 end as posted
      from cases.cases where partner_id = ${partnerId} and booked is not null) as told
    full join (${movedOn(partnerId, 'suspense')}) as moved
      on moved.reference = told.reference and moved.currency = told.currency
    where (told.reference is not null or moved.reference like 'case %') and told.posted is distinct from coalesce(moved.posted, 0)
    order by key limit ${rowsMax}`)
}

/** Parts that wait for the rest of a deposit are on the account of parts, under its reference, and nothing else is. */
export function parts(tx: Tx, partnerId: string, rowsMax: number): Promise<readonly Finding[]> {
  return tx.rows(sql`/* integrity.parts */
    select 'deposits.parts' as table, coalesce(told.reference, moved.reference) as key, 'amount, status' as column,
      concat_ws(' ', moved.posted, moved.currency) as expected, concat_ws(' ', told.posted, told.currency) as found
    from (
      select reference, currency, sum(case when part.status = 'Held' then part.amount else 0 end) as posted
      from deposits.parts as part join deposits.deposits as deposit
        on deposit.partner_id = ${partnerId} and deposit.id = part.deposit_id
      where part.partner_id = ${partnerId} group by reference, currency) as told
    full join (${movedOn(partnerId, 'parts')}) as moved
      on moved.reference = told.reference and moved.currency = told.currency
    where coalesce(told.posted, 0) <> coalesce(moved.posted, 0)
    order by key limit ${rowsMax}`)
}

/** An amount as text in minor units of its currency; null if the text is no amount. */
const minorOf = (amount: Sql, currency: Sql): Sql => sql`
  case when ${amount} ~ '^[0-9]+([.][0-9]+)?$' then ${amount}::numeric * (${minorPerUnit}::jsonb ->> ${currency})::numeric end`
const minorPerUnit = JSON.stringify(
  Object.fromEntries(Object.entries(currencies).map(([code, { digits }]) => [code, 10 ** digits])),
)

/** The events of the partner with the fields of their data. The data of each is read once. */
const eventsOf = (partnerId: string): Sql => sql`
  select id, event.type, event.reference, data.status, data.amount, data.currency, data.reference as told_reference,
    data."transactionType" as transaction_type, data."originatingTransactionReference" as originating_reference
  from events.events as event cross join lateral jsonb_to_record(event.data::jsonb) as data(status text, amount text, currency text,
    reference text, "transactionType" text, "originatingTransactionReference" text)
  where partner_id = ${partnerId}`

/** A transaction that has ended has one event. Events from before the oldest kept one are gone. */
export function statusEvents(tx: Tx, partnerId: string, rowsMax: number): Promise<readonly Finding[]> {
  return tx.rows(sql`/* integrity.statusEvents */
    select 'events.events' as table, told.reference as key, 'type, reference, data' as column, told.facts as expected,
      case when event.count is null then 'no event' when event.count = 1 then event.first
        else concat(event.count, ' events: ', event.first, '; ', event.last) end as found
    from (
      select reference, created_at,
        concat_ws(', ', status, reference, amount, currency, type, coalesce(originating_reference, '-')) as facts
      from transactions.transactions where partner_id = ${partnerId} and status <> 'Pending') as told
    left join (
      select reference, count(*) as count, min(facts) as first, max(facts) as last
      from (
        select reference, concat_ws(', ', status, told_reference, trim_scale(${minorOf(sql`amount`, sql`currency`)}), currency,
          transaction_type, coalesce(originating_reference, '-')) as facts
        from (${eventsOf(partnerId)}) as event where type = 'transaction.status.changed') as read
      group by reference) as event on event.reference = told.reference
    where told.created_at >= (select min(occurred_at) from events.events where partner_id = ${partnerId})
      and (event.count, event.first) is distinct from (1, told.facts)
    order by key limit ${rowsMax}`)
}

/** Every event of a transaction names one of its amounts. */
export function eventAmounts(tx: Tx, partnerId: string, rowsMax: number): Promise<readonly Finding[]> {
  return tx.rows(sql`/* integrity.eventAmounts */
    select 'events.events' as table, event.id::text as key, 'data' as column,
      concat_ws(', ', told.amount, told.currency, told.user_amount, told.user_currency) as expected,
      concat_ws(', ', event.minor::bigint, event.currency) as found
    from (
      select id, reference, told_reference, currency, ${minorOf(sql`amount`, sql`currency`)} as minor
      from (${eventsOf(partnerId)}) as read where amount is not null) as event
      join transactions.transactions as told on told.partner_id = ${partnerId} and told.reference = event.reference
    where event.told_reference is distinct from event.reference or not coalesce(
      (event.minor = told.amount and event.currency = told.currency)
      or coalesce(event.minor = told.user_amount and event.currency = told.user_currency, false), false)
    order by key limit ${rowsMax}`)
}
