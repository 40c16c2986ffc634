/** Compares the ledger with itself: accounts, transfers, entries and checkpoints. */
import { nilId } from '../kernel/index.ts'
import { sql, type Sql, type Tx } from '../postgres/index.ts'
import type { Finding } from './finding.ts'

/** The change that each transfer makes to each of its two accounts. */
export const legsOf = (partnerId: string): Sql => sql`/* integrity.legsOf */
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

/** Each account is the sum of its transfers, and each transfer has its accounts. */
export function accounts(tx: Tx, partnerId: string, rowsMax: number): Promise<readonly Finding[]> {
  return tx.rows(sql`/* integrity.accounts */
    select 'ledger.accounts' as table, coalesce(account.id, sums.account_id)::text as key, 'posted, reserved' as column,
      concat_ws(', ', sums.posted, sums.reserved) as expected, concat_ws(', ', account.posted, account.reserved) as found
    from (select * from ledger.accounts where partner_id = ${partnerId}) as account full join (
      select account_id, sum(posted) as posted, sum(reserved) as reserved
      from (${legsOf(partnerId)}) as leg group by account_id) as sums on sums.account_id = account.id
    where account.id is null
      or (account.posted, account.reserved) <> (coalesce(sums.posted, 0), coalesce(sums.reserved, 0))
    order by key limit ${rowsMax}`)
}

/** A transfer has the currency of its accounts. */
export function transfers(tx: Tx, partnerId: string, rowsMax: number): Promise<readonly Finding[]> {
  return tx.rows(sql`/* integrity.transfers */
    select 'ledger.transfers' as table, leg.id::text as key, 'currency' as column, account.currency as expected,
      leg.currency as found
    from (${legsOf(partnerId)}) as leg
      join ledger.accounts as account on account.partner_id = ${partnerId} and account.id = leg.account_id
    where account.currency <> leg.currency order by key limit ${rowsMax}`)
}

const factsOf = (of: Sql): Sql => sql`concat_ws(', ', ${of}.amount, ${of}.currency, ${of}.debit_account_id,
  ${of}.credit_account_id, ${of}.party_id, ${of}.reference, ${of}.entry_id)`

/** The end of a reserve equals its reserve, and no other transfer refers to one. */
export function ends(tx: Tx, partnerId: string, rowsMax: number): Promise<readonly Finding[]> {
  const [before, after] = [factsOf(sql`reserve`), factsOf(sql`ending`)]
  return tx.rows(sql`/* integrity.ends */
    select 'ledger.transfers' as table, ending.id::text as key,
      'amount, currency, debit_account_id, credit_account_id, party_id, reference, entry_id' as column,
      ${before} as expected, ${after} as found
    from ledger.transfers as ending left join ledger.transfers as reserve on reserve.partner_id = ${partnerId}
      and reserve.id = ending.reserve_id and reserve.kind = 'reserve'
    where ending.partner_id = ${partnerId} and ending.reserve_id is not null
      and (reserve.id is null or ${before} <> ${after})
    order by key limit ${rowsMax}`)
}

/** An entry has its first transfer, and its reserves end together. */
export function entries(tx: Tx, partnerId: string, rowsMax: number): Promise<readonly Finding[]> {
  return tx.rows(sql`/* integrity.entries */
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
 * Each checkpoint is the previous one plus the transfers between. The running sums need one sort, whatever the number
 * of checkpoints.
 */
export function checkpoints(tx: Tx, partnerId: string, rowsMax: number): Promise<readonly Finding[]> {
  return tx.rows(sql`/* integrity.checkpoints */
    with stretch as (
      select position, lag(position, 1, ${nilId}::uuid) over (order by position) as before
      from (select distinct position from ledger.checkpoints where partner_id = ${partnerId}) as made
    ), running as (
      select id, account_id, is_checkpoint, told_posted, told_reserved, told_lines, stretch_after,
        sum(posted) over so_far as posted, sum(reserved) over so_far as reserved, sum(lines) over so_far as lines
      from (
        select id, account_id, 0 as is_checkpoint, posted, reserved, lines, null::bigint as told_posted,
          null::bigint as told_reserved, null::integer as told_lines, null::uuid as stretch_after
        from (${legsOf(partnerId)}) as leg
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

/** The progress is at the last checkpoint, the parties are at one of them, and no account has transfers up to there without one. */
export function checkpointsMissing(tx: Tx, partnerId: string, rowsMax: number): Promise<readonly Finding[]> {
  return tx.rows(sql`/* integrity.checkpointsMissing */
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
    from (${legsOf(partnerId)}) as leg
      left join (
        select account_id, max(position::text)::uuid as position from ledger.checkpoints
        where partner_id = ${partnerId} group by account_id) as last on last.account_id = leg.account_id
    where leg.id <= (select position from ledger.checkpoint_progress where partner_id = ${partnerId}) and leg.id > coalesce(last.position, ${nilId}::uuid)
      and (leg.lines > 0 or leg.reserved <> 0)
    group by leg.account_id
    order by 2 limit ${rowsMax}`)
}

/** The same for the parts of a balance that belong to a party. A transfer belongs to the next position after it. */
export function partyCheckpoints(tx: Tx, partnerId: string, rowsMax: number): Promise<readonly Finding[]> {
  return tx.rows(sql`/* integrity.partyCheckpoints */
    with step as (
      select leg.id, leg.party_id, leg.account_id, leg.posted, leg.reserved, leg.lines, false as is_position, null::uuid as stretch_after
      from (${legsOf(partnerId)}) as leg join ledger.accounts as account
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

/** Each party of a segregated balance has what its transfers have moved. */
export function partyAccounts(tx: Tx, partnerId: string, rowsMax: number): Promise<readonly Finding[]> {
  return tx.rows(sql`/* integrity.partyAccounts */
    with segregated as (
      select partner_id, id from ledger.accounts where partner_id = ${partnerId} and name = 'balance' and segregated
    ), expected as (
      select account_id, party_id, sum(posted) as posted, sum(reserved) as reserved
      from (${legsOf(partnerId)}) as leg where account_id in (select id from segregated where partner_id = ${partnerId})
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
