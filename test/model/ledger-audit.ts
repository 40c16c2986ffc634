/** Audits the ledger of a partner: recomputes every account from its transfers, without the code of the service. */
import assert from 'node:assert/strict'
import { nilId } from '../../service/src/kernel/index.ts'
import { sql, type Tx } from '../../service/src/postgres/index.ts'

type Account = {
  readonly id: string
  readonly name: string
  readonly currency: string
  readonly posted: bigint
  readonly reserved: bigint
}
type Totals = Pick<Account, 'id' | 'posted' | 'reserved'>

const accountsOf = (tx: Tx, partnerId: string) =>
  tx.rows<Account>(sql`
    select id, name, currency, posted, reserved from ledger.accounts where partner_id = ${partnerId} order by id`)

/** Each account from its transfers: posted by `direct` and `post`, reserved by reserves that have not ended. */
const recomputed = (tx: Tx, partnerId: string) =>
  tx.rows<Totals>(sql`
    select account.id,
      coalesce(sum(case
        when transfer.kind in ('direct', 'post') and transfer.credit_account_id = account.id then transfer.amount
        when transfer.kind in ('direct', 'post') then -transfer.amount end), 0)::bigint as posted,
      coalesce(sum(transfer.amount) filter (where transfer.kind = 'reserve' and transfer.debit_account_id = account.id
        and not exists (select from ledger.transfers as reserve_end
          where reserve_end.partner_id = ${partnerId} and reserve_end.reserve_id = transfer.id)), 0)::bigint as reserved
    from ledger.accounts as account left join ledger.transfers as transfer on transfer.partner_id = account.partner_id
      and account.id in (transfer.debit_account_id, transfer.credit_account_id)
    where account.partner_id = ${partnerId} group by account.id order by account.id`)

/**
 * Finds entries of several transfers that were not written together, with consecutive ids from that of the entry, or
 * whose reserves were not posted or released together.
 */
const brokenEntries = (tx: Tx, partnerId: string) =>
  tx.rows(sql`
    select entry_id from (
      select transfer.entry_id, min(transfer.id::text) as first_id, max(transfer.id::text) as last_id,
        count(*) as transfers, count(distinct transfer.created_at) as times,
        count(*) filter (where transfer.kind = 'reserve') as reserves,
        count(*) filter (where ending.kind = 'post') as posted, count(*) filter (where ending.kind = 'release') as released
      from ledger.transfers as transfer left join ledger.transfers as ending
        on ending.partner_id = transfer.partner_id and ending.reserve_id = transfer.id
      where transfer.partner_id = ${partnerId} and transfer.entry_id is not null and transfer.reserve_id is null
      group by transfer.entry_id) as entry
    where transfers < 2 or times <> 1 or first_id <> entry_id::text or posted not in (0, reserves)
      or released not in (0, reserves) or (posted > 0 and released > 0)
      or left(first_id, 24) = left(last_id, 24) and ('x' || right(last_id, 12))::bit(48)::bigint
        <> ('x' || right(first_id, 12))::bit(48)::bigint + transfers - 1`)

/** Every checkpoint is the full sum of the transfers up to its position, and follows the previous one. */
const brokenCheckpoints = (tx: Tx, partnerId: string) =>
  tx.rows(sql`
    select checkpoint.position, checkpoint.account_id, checkpoint.posted, checkpoint.reserved, sums.*
    from ledger.checkpoints as checkpoint cross join lateral (
      select
        coalesce(sum(case when kind not in ('direct', 'post') then 0
          when credit_account_id = checkpoint.account_id then amount else -amount end), 0) as full_posted,
        coalesce(sum(case when debit_account_id <> checkpoint.account_id then 0 when kind = 'reserve' then amount
          when kind in ('post', 'release') then -amount else 0 end), 0) as full_reserved,
        count(*) filter (where kind in ('direct', 'post') and id > checkpoint.stretch_after) as full_lines
      from ledger.transfers as transfer where transfer.partner_id = ${partnerId} and transfer.id <= checkpoint.position
        and checkpoint.account_id in (debit_account_id, credit_account_id)) as sums
    where checkpoint.partner_id = ${partnerId} and (
      (checkpoint.posted, checkpoint.reserved, checkpoint.lines) <> (full_posted, full_reserved, full_lines)
      or checkpoint.stretch_after::text <> coalesce((select max(earlier.position::text) from ledger.checkpoints as earlier
        where earlier.partner_id = ${partnerId} and earlier.position < checkpoint.position), ${nilId})
      or checkpoint.position > (select position from ledger.checkpoint_progress where partner_id = ${partnerId}))`)

/** Every checkpoint of a party is the full sum of its transfers up to the position, and none is missing. */
const brokenPartyCheckpoints = (tx: Tx, partnerId: string) =>
  tx.rows(sql`
    with moved as (
      select stretch.position, stretch.stretch_after, transfer.party_id, account.id as account_id,
        (count(*) filter (where kind in ('direct', 'post')))::integer as lines
      from (select distinct position, stretch_after from ledger.checkpoints where partner_id = ${partnerId}) as stretch
        join ledger.transfers as transfer on transfer.partner_id = ${partnerId} and transfer.id <= stretch.position
          and transfer.id > stretch.stretch_after
        join ledger.accounts as account on account.partner_id = ${partnerId} and account.name = 'balance'
          and account.id in (debit_account_id, credit_account_id)
      where stretch.position <= (select party_position from ledger.checkpoint_progress where partner_id = ${partnerId})
        and not (kind = 'reserve' and account.id = credit_account_id)
        and not (kind = 'release' and account.id = credit_account_id)
      group by stretch.position, stretch.stretch_after, transfer.party_id, account.id)
    select moved.*, checkpoint.*, sums.* from moved
      full join (select * from ledger.party_checkpoints where partner_id = ${partnerId}) as checkpoint
        using (position, stretch_after, party_id, account_id, lines)
      cross join lateral (
        select
          coalesce(sum(case when kind not in ('direct', 'post') then 0
            when credit_account_id = account_id then amount else -amount end), 0) as full_posted,
          coalesce(sum(case when debit_account_id <> account_id then 0 when kind = 'reserve' then amount
            when kind in ('post', 'release') then -amount else 0 end), 0) as full_reserved
        from ledger.transfers as transfer where transfer.partner_id = ${partnerId} and transfer.id <= position
          and transfer.party_id = coalesce(moved.party_id, checkpoint.party_id)
          and account_id in (debit_account_id, credit_account_id)) as sums
    where (checkpoint.posted, checkpoint.reserved) is distinct from (full_posted, full_reserved)`)

/** Each party of a segregated balance has the sum of its transfers; a pooled balance has no parties. */
const brokenParties = (tx: Tx, partnerId: string) =>
  tx.rows(sql`
    with moved as (
      select account.id as account_id, transfer.party_id,
        coalesce(sum(case when kind not in ('direct', 'post') then 0
          when credit_account_id = account.id then amount else -amount end), 0) as posted,
        coalesce(sum(case when debit_account_id <> account.id then 0 when kind = 'reserve' then amount
          when kind in ('post', 'release') then -amount else 0 end), 0) as reserved
      from ledger.accounts as account join ledger.transfers as transfer on transfer.partner_id = account.partner_id
        and account.id in (debit_account_id, credit_account_id)
      where account.partner_id = ${partnerId} and account.name = 'balance' and account.segregated
      group by account.id, transfer.party_id)
    select * from moved full join (
        select party.* from ledger.party_accounts as party join ledger.accounts as account
          on account.partner_id = party.partner_id and account.id = party.account_id and account.segregated
        where party.partner_id = ${partnerId}) as told
      on told.account_id = moved.account_id and told.party_id = moved.party_id
    where (coalesce(told.posted, 0), coalesce(told.reserved, 0)) <> (coalesce(moved.posted, 0), coalesce(moved.reserved, 0))`)

/**
 * Checks conservation, the limit of the balance, that balances equal their transfers, one currency per transfer, whole
 * entries, and checkpoints.
 */
export async function checkLedger(tx: Tx, partnerId: string): Promise<readonly Account[]> {
  const accounts = await accountsOf(tx, partnerId)
  const rows = accounts.map(({ id, posted, reserved }) => ({ id, posted, reserved }))
  assert.deepEqual(rows, await recomputed(tx, partnerId), 'each account is the sum of its transfers')
  for (const [currency, group] of Map.groupBy(accounts, (account) => account.currency)) {
    const sum = group.reduce((total, account) => total + account.posted, 0n)
    assert.equal(sum, 0n, `the accounts in ${currency} add up to zero`)
  }
  for (const { name, currency, posted, reserved } of accounts) {
    assert.ok(reserved >= 0n, `${name} ${currency} has ${reserved} reserved`)
    if (name === 'balance') assert.ok(posted >= reserved, `${name} ${currency}: ${posted} posted, ${reserved} reserved`)
    // A payout in another currency reserves what it buys.
    else if (name !== 'fx') assert.equal(reserved, 0n, `${name}: only a balance or a position has a reserved part`)
  }
  const foreign = await tx.rows(sql`
    select transfer.id from ledger.transfers as transfer join ledger.accounts as account
      on account.partner_id = transfer.partner_id
        and account.id in (transfer.debit_account_id, transfer.credit_account_id)
    where transfer.partner_id = ${partnerId} and account.currency <> transfer.currency`)
  assert.deepEqual(foreign, [], 'a transfer has the currency of its accounts')
  assert.deepEqual(await brokenEntries(tx, partnerId), [], 'an entry is written and ended as a whole')
  assert.deepEqual(await brokenCheckpoints(tx, partnerId), [], 'a checkpoint is the sum of the transfers up to it')
  assert.deepEqual(await brokenPartyCheckpoints(tx, partnerId), [], 'so is each checkpoint of a party')
  assert.deepEqual(await brokenParties(tx, partnerId), [], 'and each account of a party')
  return accounts
}
