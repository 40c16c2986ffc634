/** Compares transactions with the ledger, with their payments, with cases, with events and with the audit log. */
import { currencies, nilId } from '../../kernel/index.ts'
import { sql, type Sql, type Tx } from '../../postgres/index.ts'

// Compares the ledger with itself: accounts, transfers, entries and checkpoints.

/** Selects the change that each transfer makes to each of its two accounts. */
const transferLegs = (partnerId: string): Sql => sql`/* integrity.transferLegs */
  select id, party_id, reference, currency, credit_account_id as account_id, 0::bigint as reserved,
    case when kind in ('direct', 'post') then amount else 0 end as posted,
    case when kind in ('direct', 'post') then 1 else 0 end as lines
  from ledger.transfers where partner_id = ${partnerId}
  union all
  select id, party_id, reference, currency, debit_account_id,
    case kind when 'direct' then 0 when 'reserve' then amount else -amount end,
    case when kind in ('direct', 'post') then -amount else 0 end,
    case when kind in ('direct', 'post') then 1 else 0 end
  from ledger.transfers where partner_id = ${partnerId}`

/** Checks that each account is the sum of its transfers, and that each transfer has its accounts. */
export function checkAccounts(tx: Tx, partnerId: string, rowsMax: number): Promise<readonly Finding[]> {
  return tx.rows(sql`/* integrity.checkAccounts */
    select 'ledger.accounts' as table, coalesce(account.id, sums.account_id)::text as key, 'posted, reserved' as column,
      concat_ws(', ', sums.posted, sums.reserved) as expected, concat_ws(', ', account.posted, account.reserved) as found
    from (select * from ledger.accounts where partner_id = ${partnerId}) as account full join (
      select account_id, sum(posted) as posted, sum(reserved) as reserved
      from (${transferLegs(partnerId)}) as leg group by account_id) as sums on sums.account_id = account.id
    where account.id is null
      or (account.posted, account.reserved) <> (coalesce(sums.posted, 0), coalesce(sums.reserved, 0))
    order by key limit ${rowsMax}`)
}

/** Checks that a transfer has the currency of its accounts. */
export function checkTransfers(tx: Tx, partnerId: string, rowsMax: number): Promise<readonly Finding[]> {
  return tx.rows(sql`/* integrity.checkTransfers */
    select 'ledger.transfers' as table, leg.id::text as key, 'currency' as column, account.currency as expected,
      leg.currency as found
    from (${transferLegs(partnerId)}) as leg
      join ledger.accounts as account on account.partner_id = ${partnerId} and account.id = leg.account_id
    where account.currency <> leg.currency order by key limit ${rowsMax}`)
}

const factsOf = (of: Sql): Sql => sql`concat_ws(', ', ${of}.amount, ${of}.currency, ${of}.debit_account_id,
  ${of}.credit_account_id, ${of}.party_id, ${of}.reference, ${of}.entry_id)`

/** Checks that the end of a reserve equals the reserve, and that no other transfer refers to a reserve. */
export function checkReserveEnds(tx: Tx, partnerId: string, rowsMax: number): Promise<readonly Finding[]> {
  const [before, after] = [factsOf(sql`reserve`), factsOf(sql`ending`)]
  return tx.rows(sql`/* integrity.checkReserveEnds */
    select 'ledger.transfers' as table, ending.id::text as key,
      'amount, currency, debit_account_id, credit_account_id, party_id, reference, entry_id' as column,
      ${before} as expected, ${after} as found
    from ledger.transfers as ending left join ledger.transfers as reserve on reserve.partner_id = ${partnerId}
      and reserve.id = ending.reserve_id and reserve.kind = 'reserve'
    where ending.partner_id = ${partnerId} and ending.reserve_id is not null
      and (reserve.id is null or ${before} <> ${after})
    order by key limit ${rowsMax}`)
}

/** Checks that an entry has its first transfer, and that its reserves end together. */
export function checkEntries(tx: Tx, partnerId: string, rowsMax: number): Promise<readonly Finding[]> {
  return tx.rows(sql`/* integrity.checkEntries */
    select 'ledger.transfers' as table, entry_id::text as key, 'entry_id, kind' as column,
      'two transfers or more, which end together' as expected,
      concat_ws(', ', transfers || ' transfers', reserves || ' reserves', posted || ' posted', released || ' released') as found
    from (
      select transfer.entry_id, bool_or(transfer.id = transfer.entry_id) as has_first, count(*) as transfers,
        count(distinct transfer.created_at) as times, count(*) filter (where transfer.kind = 'reserve') as reserves,
        count(*) filter (where ending.kind = 'post') as posted, count(*) filter (where ending.kind = 'release') as released
      from ledger.transfers as transfer left join ledger.transfers as ending
        on ending.partner_id = ${partnerId} and ending.reserve_id = transfer.id
      where transfer.partner_id = ${partnerId} and transfer.entry_id is not null and transfer.reserve_id is null
      group by transfer.entry_id) as entry
    where transfers < 2 or times <> 1 or not has_first or posted not in (0, reserves) or released not in (0, reserves)
      or (posted > 0 and released > 0)
    order by key limit ${rowsMax}`)
}

/**
 * Checks that each checkpoint is the previous one plus the transfers between. The running sums need one sort for any
 * number of checkpoints.
 */
export function checkCheckpoints(tx: Tx, partnerId: string, rowsMax: number): Promise<readonly Finding[]> {
  return tx.rows(sql`/* integrity.checkCheckpoints */
    with stretch as (
      select position, lag(position, 1, ${nilId}::uuid) over (order by position) as before
      from (select distinct position from ledger.checkpoints where partner_id = ${partnerId}) as made
    ), running as (
      select id, account_id, is_checkpoint, told_posted, told_reserved, told_lines, stretch_after,
        sum(posted) over so_far as posted, sum(reserved) over so_far as reserved, sum(lines) over so_far as lines
      from (
        select id, account_id, 0 as is_checkpoint, posted, reserved, lines, null::bigint as told_posted,
          null::bigint as told_reserved, null::integer as told_lines, null::uuid as stretch_after
        from (${transferLegs(partnerId)}) as leg
        union all
        select position, account_id, 1, 0, 0, 0, posted, reserved, lines, stretch_after
        from ledger.checkpoints where partner_id = ${partnerId}) as step
      window so_far as (partition by account_id order by id, is_checkpoint)
    )
    select 'ledger.checkpoints' as table, id || ' ' || account_id as key, 'posted, reserved, lines, stretch_after' as column,
      concat_ws(', ', posted, reserved, lines - lines_before, before) as expected,
      concat_ws(', ', told_posted, told_reserved, told_lines, stretch_after) as found
    from (
      select running.*, lag(lines, 1, 0) over (partition by account_id order by id) as lines_before
      from running where is_checkpoint = 1) as told
      join stretch on stretch.position = told.id
    where (posted, reserved, lines - lines_before, before) is distinct from
      (told_posted, told_reserved, told_lines, stretch_after)
    order by key limit ${rowsMax}`)
}

/**
 * Checks that the progress is at the last checkpoint, that the parties are at a checkpoint, and that every transfer up
 * to there has a checkpoint of its accounts.
 */
export function checkCheckpointCoverage(tx: Tx, partnerId: string, rowsMax: number): Promise<readonly Finding[]> {
  return tx.rows(sql`/* integrity.checkCheckpointCoverage */
    select 'ledger.checkpoint_progress' as table, ${partnerId}::text as key, 'position' as column, expected, found
    from (
      select (select coalesce(max(position::text), ${nilId}) from ledger.checkpoints where partner_id = ${partnerId}) as expected,
        (select position::text from ledger.checkpoint_progress where partner_id = ${partnerId}) as found) as ends
    where coalesce(found, ${nilId}) <> expected
    union all
    select 'ledger.checkpoint_progress', ${partnerId}::text, 'party_position', 'a checkpoint', party_position::text
    from (select party_position from ledger.checkpoint_progress where partner_id = ${partnerId}) as progress
      left join (select distinct position from ledger.checkpoints where partner_id = ${partnerId}) as made
        on made.position = progress.party_position
    where made.position is null and progress.party_position <> ${nilId}::uuid
    union all
    select 'ledger.checkpoints', leg.account_id::text, 'position', max(leg.id::text), max(last.position::text)
    from (${transferLegs(partnerId)}) as leg
      left join (
        select account_id, max(position::text)::uuid as position from ledger.checkpoints
        where partner_id = ${partnerId} group by account_id) as last on last.account_id = leg.account_id
    where leg.id <= (select position from ledger.checkpoint_progress where partner_id = ${partnerId}) and leg.id > coalesce(last.position, ${nilId}::uuid)
      and (leg.lines > 0 or leg.reserved <> 0)
    group by leg.account_id
    order by 2 limit ${rowsMax}`)
}

/**
 * Checks that each party checkpoint is the sum of the transfers up to it. A transfer belongs to the next checkpoint
 * position.
 */
export function checkPartyCheckpoints(tx: Tx, partnerId: string, rowsMax: number): Promise<readonly Finding[]> {
  return tx.rows(sql`/* integrity.checkPartyCheckpoints */
    with step as (
      select leg.id, leg.party_id, leg.account_id, leg.posted, leg.reserved, leg.lines, false as is_position, null::uuid as stretch_after
      from (${transferLegs(partnerId)}) as leg join ledger.accounts as account
        on account.partner_id = ${partnerId} and account.id = leg.account_id and account.name = 'balance'
      where (leg.lines > 0 or leg.reserved <> 0) and leg.id <= (
        select party_position from ledger.checkpoint_progress where partner_id = ${partnerId})
      union all
      select distinct position, null::uuid, null::uuid, 0, 0, 0, true, stretch_after
      from ledger.checkpoints where partner_id = ${partnerId}
    ), numbered as (
      select *, count(*) filter (where is_position) over (order by id desc, is_position desc rows unbounded preceding) as number
      from step
    ), stretch as (
      select number, id as position, stretch_after from numbered where is_position
    ), expected as (
      select position, stretch_after, party_id, account_id, lines,
        sum(posted) over so_far as posted, sum(reserved) over so_far as reserved
      from (
        select stretch.position, stretch.stretch_after, leg.party_id, leg.account_id, sum(leg.posted) as posted,
          sum(leg.reserved) as reserved, sum(leg.lines) as lines
        from numbered as leg join stretch using (number)
        where not leg.is_position and leg.id > stretch.stretch_after
        group by stretch.position, stretch.stretch_after, leg.party_id, leg.account_id) as moved
      window so_far as (partition by party_id, account_id order by position)
    )
    select 'ledger.party_checkpoints' as table, concat_ws(' ', position, party_id, account_id) as key,
      'posted, reserved, lines, stretch_after' as column,
      concat_ws(', ', expected.posted, expected.reserved, expected.lines, expected.stretch_after) as expected,
      concat_ws(', ', told.posted, told.reserved, told.lines, told.stretch_after) as found
    from expected full join (select * from ledger.party_checkpoints where partner_id = ${partnerId}) as told
      using (position, party_id, account_id)
    where (expected.posted, expected.reserved, expected.lines, expected.stretch_after) is distinct from
      (told.posted, told.reserved, told.lines, told.stretch_after)
    order by key limit ${rowsMax}`)
}

/** Checks that each party of a segregated balance has the sum of its transfers. */
export function checkPartyAccounts(tx: Tx, partnerId: string, rowsMax: number): Promise<readonly Finding[]> {
  return tx.rows(sql`/* integrity.checkPartyAccounts */
    with segregated as (
      select partner_id, id from ledger.accounts where partner_id = ${partnerId} and name = 'balance' and segregated
    ), expected as (
      select account_id, party_id, sum(posted) as posted, sum(reserved) as reserved
      from (${transferLegs(partnerId)}) as leg where account_id in (select id from segregated where partner_id = ${partnerId})
      group by account_id, party_id
    ), told as (
      select * from ledger.party_accounts where partner_id = ${partnerId}
        and account_id in (select id from segregated where partner_id = ${partnerId})
    )
    select 'ledger.party_accounts' as table, concat_ws(' ', account_id, party_id) as key, 'posted, reserved' as column,
      concat_ws(', ', coalesce(expected.posted, 0), coalesce(expected.reserved, 0)) as expected,
      concat_ws(', ', coalesce(told.posted, 0), coalesce(told.reserved, 0)) as found
    from expected full join told using (account_id, party_id)
    where (coalesce(expected.posted, 0), coalesce(expected.reserved, 0)) <> (coalesce(told.posted, 0), coalesce(told.reserved, 0))
    order by key limit ${rowsMax}`)
}

/** Sums the posted and reserved amounts of each reference on a partner's accounts of one name. */
const movedSums = (partnerId: string, name: 'balance' | 'suspense' | 'parts'): Sql => sql`
  select leg.reference, account.currency, sum(leg.posted) as posted, sum(leg.reserved) as reserved
  from (${transferLegs(partnerId)}) as leg
    join ledger.accounts as account on account.partner_id = ${partnerId} and account.id = leg.account_id and account.name = ${name}
  group by leg.reference, account.currency`

/** Checks that each transaction has moved the balance by its amount and status, and that nothing else has. */
export function checkTransactionTransfers(tx: Tx, partnerId: string, rowsMax: number): Promise<readonly Finding[]> {
  return tx.rows(sql`/* integrity.checkTransactionTransfers */
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
      full join (${movedSums(partnerId, 'balance')}) as moved using (reference, currency)
    where told.posted is null
      or (told.posted, told.reserved) <> (coalesce(moved.posted, 0), coalesce(moved.reserved, 0))
    order by key limit ${rowsMax}`)
}

/** Checks that the last entry of a timeline has the status, and that the category has the direction. */
export function checkTimelines(tx: Tx, partnerId: string, rowsMax: number): Promise<readonly Finding[]> {
  return tx.rows(sql`/* integrity.checkTimelines */
    select 'transactions.transactions' as table, reference as key, 'status, timeline, category, direction' as column,
      concat_ws(', ', timeline -> -1 ->> 'status', direction) as expected, concat_ws(', ', status, category) as found
    from transactions.transactions
    where partner_id = ${partnerId} and ((timeline -> -1 ->> 'status') is distinct from status
      or (category, direction) not in (('Deposit', 'Inward'), ('Withdrawal', 'Outward'), ('Conversion', 'Internal')))
    order by key limit ${rowsMax}`)
}

/** Checks that each step has an audit record that names the reference. The record of the opening has the amount. */
export function checkAuditRecords(tx: Tx, partnerId: string, rowsMax: number): Promise<readonly Finding[]> {
  return tx.rows(sql`/* integrity.checkAuditRecords */
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
      or (record.amount is not null and (${minorText(sql`record.amount`, sql`record.currency`)}) is distinct from step.amount)
      or record.currency <> step.currency
    order by key limit ${rowsMax}`)
}

/**
 * Checks that a payout and its transaction agree, the creditor account by each of its two numbers, and that a
 * transaction that has reserved money belongs to a payout.
 */
export function checkPayouts(tx: Tx, partnerId: string, rowsMax: number): Promise<readonly Finding[]> {
  return tx.rows(sql`/* integrity.checkPayouts */
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

/** Checks that a payout has reserved its money under its own reference, for its bank or for an exchange. */
export function checkReserves(tx: Tx, partnerId: string, rowsMax: number): Promise<readonly Finding[]> {
  return tx.rows(sql`/* integrity.checkReserves */
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

/**
 * Checks that an internal payout and its transfer agree: the payee is credited before the payout is completed, and then
 * no work is left.
 */
export function checkInternalTransfers(tx: Tx, partnerId: string, rowsMax: number): Promise<readonly Finding[]> {
  return tx.rows(sql`/* integrity.checkInternalTransfers */
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

/** Checks that a deposit and its transaction agree. An incoming transaction that is not completed belongs to a deposit. */
export function checkDeposits(tx: Tx, partnerId: string, rowsMax: number): Promise<readonly Finding[]> {
  return tx.rows(sql`/* integrity.checkDeposits */
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

/** Checks that a conversion has the amounts of its quote, its transaction and its ledger entry. */
export function checkConversions(tx: Tx, partnerId: string, rowsMax: number): Promise<readonly Finding[]> {
  return tx.rows(sql`/* integrity.checkConversions */
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
 * Checks that money of an open case is in suspense. Money of a resolved case has left; if it was released, the payment
 * has received it.
 */
export function checkCases(tx: Tx, partnerId: string, rowsMax: number): Promise<readonly Finding[]> {
  return tx.rows(sql`/* integrity.checkCases */
    select 'cases.cases' as table, coalesce(told.reference, moved.reference) as key, 'booked, currency, resolution' as column,
      concat_ws(' ', moved.posted, moved.currency) as expected, concat_ws(' ', told.posted, told.currency) as found
    from (
      select 'case ' || id as reference, currency,
        case when resolution is null or resolution = 'released' then booked else 0 end as posted
      from cases.cases where partner_id = ${partnerId} and booked is not null) as told
    full join (${movedSums(partnerId, 'suspense')}) as moved
      on moved.reference = told.reference and moved.currency = told.currency
    where (told.reference is not null or moved.reference like 'case %') and told.posted is distinct from coalesce(moved.posted, 0)
    order by key limit ${rowsMax}`)
}

/** Checks that the account `parts` has exactly the parts that wait for the rest of a deposit, under its reference. */
export function checkParts(tx: Tx, partnerId: string, rowsMax: number): Promise<readonly Finding[]> {
  return tx.rows(sql`/* integrity.checkParts */
    select 'deposits.parts' as table, coalesce(told.reference, moved.reference) as key, 'amount, status' as column,
      concat_ws(' ', moved.posted, moved.currency) as expected, concat_ws(' ', told.posted, told.currency) as found
    from (
      select reference, currency, sum(case when part.status = 'Held' then part.amount else 0 end) as posted
      from deposits.parts as part join deposits.deposits as deposit
        on deposit.partner_id = ${partnerId} and deposit.id = part.deposit_id
      where part.partner_id = ${partnerId} group by reference, currency) as told
    full join (${movedSums(partnerId, 'parts')}) as moved
      on moved.reference = told.reference and moved.currency = told.currency
    where coalesce(told.posted, 0) <> coalesce(moved.posted, 0)
    order by key limit ${rowsMax}`)
}

/** Converts an amount to text in minor units of its currency. Null: the text is not an amount. */
const minorText = (amount: Sql, currency: Sql): Sql => sql`
  case when ${amount} ~ '^[0-9]+([.][0-9]+)?$' then ${amount}::numeric * (${minorPerUnit}::jsonb ->> ${currency})::numeric end`
const minorPerUnit = JSON.stringify(
  Object.fromEntries(Object.entries(currencies).map(([code, { digits }]) => [code, 10 ** digits])),
)

/** Selects the events of the partner with the fields of their data. The data of each event are read once. */
const eventsOf = (partnerId: string): Sql => sql`
  select id, event.type, event.reference, data.status, data.amount, data.currency, data.reference as told_reference,
    data."transactionType" as transaction_type, data."originatingTransactionReference" as originating_reference
  from events.events as event cross join lateral jsonb_to_record(event.data::jsonb) as data(status text, amount text, currency text,
    reference text, "transactionType" text, "originatingTransactionReference" text)
  where partner_id = ${partnerId}`

/**
 * Checks that a transaction that is no longer pending has one event. Transactions older than the oldest stored event
 * are not checked.
 */
export function checkStatusEvents(tx: Tx, partnerId: string, rowsMax: number): Promise<readonly Finding[]> {
  return tx.rows(sql`/* integrity.checkStatusEvents */
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
        select reference, concat_ws(', ', status, told_reference, trim_scale(${minorText(sql`amount`, sql`currency`)}), currency,
          transaction_type, coalesce(originating_reference, '-')) as facts
        from (${eventsOf(partnerId)}) as event where type = 'transaction.status.changed') as read
      group by reference) as event on event.reference = told.reference
    where told.created_at >= (select min(occurred_at) from events.events where partner_id = ${partnerId})
      and (event.count, event.first) is distinct from (1, told.facts)
    order by key limit ${rowsMax}`)
}

/** Checks that every event of a transaction has one of its amounts. */
export function checkEventAmounts(tx: Tx, partnerId: string, rowsMax: number): Promise<readonly Finding[]> {
  return tx.rows(sql`/* integrity.checkEventAmounts */
    select 'events.events' as table, event.id::text as key, 'data' as column,
      concat_ws(', ', told.amount, told.currency, told.user_amount, told.user_currency) as expected,
      concat_ws(', ', event.minor::bigint, event.currency) as found
    from (
      select id, reference, told_reference, currency, ${minorText(sql`amount`, sql`currency`)} as minor
      from (${eventsOf(partnerId)}) as read where amount is not null) as event
      join transactions.transactions as told on told.partner_id = ${partnerId} and told.reference = event.reference
    where event.told_reference is distinct from event.reference or not coalesce(
      (event.minor = told.amount and event.currency = told.currency)
      or coalesce(event.minor = told.user_amount and event.currency = told.user_currency, false), false)
    order by key limit ${rowsMax}`)
}

/** Difference that an integrity check found. */
export type Finding = {
  /** The table of the row that differs, if known: `schema.table`. */
  readonly table: string
  readonly key: string
  readonly column: string
  /** Value computed from the rows of other tables. */
  readonly expected: string
  readonly found: string
}

/** Limit of one comparison: a bug could otherwise fill the memory. */
export const findingsMax = 1000
