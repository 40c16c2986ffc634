/**
 * SQL of the checkpoints of parties: the sums of each customer, and of the partner itself, on the partner's balances.
 */
import { type Currency, type Minor, nilId } from '../kernel/index.ts'
import { columnValues, insertBy, ofOnePartner, sql, type Tx, unprepared } from '../postgres/index.ts'
import { type SortDirection, type IdRange, orderBy, idMax, transferSides, type Stretch } from './store-history.ts'
import type { BalanceChange } from './rules.ts'

/** Lists the next stretches that have checkpoints of accounts and not yet of parties. */
export function listStretchesMissingParties(
  tx: Tx,
  partnerId: string,
  position: string,
  stretchesMax: number,
): Promise<readonly Omit<Stretch, 'lines'>[]> {
  return tx.rows(
    unprepared(sql`/* ledger.listStretchesMissingParties */
      select distinct position, stretch_after from ledger.checkpoints
      where partner_id = ${partnerId} and position > ${position} order by position limit ${stretchesMax}`),
  )
}

/** Writes the sum of each party at the end of a stretch in which it changed. Earlier stretches are already written. */
export function insertPartyCheckpoints(
  tx: Tx,
  partnerId: string,
  { position, stretchAfter }: Omit<Stretch, 'lines'>,
): void {
  tx.later(
    unprepared(sql`/* ledger.insertPartyCheckpoints */
      insert into ledger.party_checkpoints (partner_id, party_id, account_id, position, stretch_after, lines, posted,
        reserved)
      select ${partnerId}::uuid, change.party_id, change.account_id, ${position}::uuid, ${stretchAfter}::uuid,
        change.lines, change.posted + coalesce(before.posted, 0), change.reserved + coalesce(before.reserved, 0)
      from (
        select transfer.party_id, side.account_id, sum(side.posted)::bigint as posted,
          sum(side.reserved)::bigint as reserved, (count(*) filter (where side.posted <> 0))::integer as lines
        from ${transferSides}
          join ledger.accounts as account on account.partner_id = ${partnerId} and account.id = side.account_id
        where transfer.partner_id = ${partnerId} and transfer.id > ${stretchAfter} and transfer.id <= ${position}
          and account.name = 'balance' and (side.posted <> 0 or side.reserved <> 0)
        group by transfer.party_id, side.account_id) as change
        left join lateral (
          select posted, reserved from ledger.party_checkpoints where partner_id = ${partnerId}
            and party_id = change.party_id and account_id = change.account_id
          order by position desc limit 1) as before on true`),
  )
}

export function setPartyPosition(tx: Tx, partnerId: string, position: string | null): void {
  tx.later(sql`/* ledger.setPartyPosition */
    update ledger.checkpoint_progress set party_position = ${position} where partner_id = ${partnerId}`)
}

export function deletePartyCheckpoints(tx: Tx, partnerId: string): void {
  tx.later(sql`/* ledger.deletePartyCheckpoints */
    delete from ledger.party_checkpoints where partner_id = ${partnerId}`)
}

/** Finds the last transfer that the checkpoints of parties cover. */
export async function partyPosition(tx: Tx, partnerId: string): Promise<string> {
  const row = await tx.row<{ readonly partyPosition: string | null }>(sql`/* ledger.partyPosition */
    select party_position from ledger.checkpoint_progress where partner_id = ${partnerId}`)
  return row?.partyPosition ?? nilId
}

export type PartyKey = { readonly partnerId: string; readonly partyId: string }
export type PartySum = {
  /** Id of the account `balance` on which the money moved. */
  readonly id: string
  readonly currency: Currency
  readonly posted: Minor
  readonly reserved: Minor
}

/** Sums a party's transfers before `end` on each balance on which it had any, like `balancesBefore`. */
export async function partySumsBefore(
  tx: Tx,
  { partnerId, partyId }: PartyKey,
  end: string,
): Promise<readonly PartySum[]> {
  for (;;) {
    const boundary = await partyBoundaryBefore(tx, partnerId, end)
    const rows = await partySumsSince(tx, { partnerId, partyId }, boundary, end)
    // The checkpoints may have been deleted in the meantime, to be recreated.
    if (boundary === nilId || rows.every(({ hasBoundary }) => hasBoundary))
      return rows.filter(({ hasMoved }) => hasMoved)
  }
}

async function partyBoundaryBefore(tx: Tx, partnerId: string, end: string): Promise<string> {
  const row = await tx.row<{ readonly position: string }>(sql`/* ledger.partyBoundaryBefore */
    select position from ledger.checkpoints where partner_id = ${partnerId} and position < ${end}
      and position <= (select party_position from ledger.checkpoint_progress where partner_id = ${partnerId})
    order by position desc limit 1`)
  return row?.position ?? nilId
}

function partySumsSince(
  tx: Tx,
  { partnerId, partyId }: PartyKey,
  boundary: string,
  end: string,
): Promise<readonly (PartySum & { readonly hasBoundary: boolean; readonly hasMoved: boolean })[]> {
  return tx.rows(
    unprepared(sql`/* ledger.partySumsSince */
      with recent as (
        select side.account_id, sum(side.posted)::bigint as posted, sum(side.reserved)::bigint as reserved
        from ${transferSides}
        where transfer.partner_id = ${partnerId} and transfer.id > ${boundary} and transfer.id < ${end}
          and transfer.party_id = ${partyId} and (side.posted <> 0 or side.reserved <> 0)
        group by side.account_id)
      select account.id, account.currency, coalesce(checkpoint.posted, 0) + coalesce(recent.posted, 0) as posted,
        coalesce(checkpoint.reserved, 0) + coalesce(recent.reserved, 0) as reserved,
        checkpoint.posted is not null or recent.posted is not null as has_moved,
        exists (select from ledger.checkpoints where partner_id = ${partnerId} and position = ${boundary}) as has_boundary
      from ledger.accounts as account left join recent on recent.account_id = account.id
        left join lateral (
          select posted, reserved from ledger.party_checkpoints where partner_id = ${partnerId}
            and party_id = ${partyId} and account_id = account.id and position <= ${boundary}
          order by position desc limit 1) as checkpoint on true
      where account.partner_id = ${partnerId} and account.name = 'balance' order by account.currency`),
  )
}

/** Lists stretches in a range in which the account had lines of the party, like `listStretches`. */
export function listStretchesOfParty(
  tx: Tx,
  { partnerId, partyId, accountId }: PartyKey & { readonly accountId: string },
  { after, end }: IdRange,
  direction: SortDirection,
  stretchesMax: number,
): Promise<readonly Stretch[]> {
  return tx.rows<Stretch>(
    unprepared(sql`/* ledger.listStretchesOfParty */
      select position, stretch_after, lines from ledger.party_checkpoints
      where partner_id = ${partnerId} and party_id = ${partyId} and account_id = ${accountId} and lines > 0
        and position > ${after}
        and position <= coalesce((select position from ledger.party_checkpoints where partner_id = ${partnerId}
          and party_id = ${partyId} and account_id = ${accountId} and position >= ${end} order by position limit 1),
          ${idMax})
      order by position ${orderBy(direction)} limit ${stretchesMax}`),
  )
}

// SQL of the accounts of parties, and of the change between pooled and segregated balances.

/** `accountId`: the balance. */
export type PartyAccountKey = { readonly partnerId: string; readonly accountId: string; readonly partyId: string }
export type PartyChange = PartyAccountKey & BalanceChange

const newParties = insertBy<PartyAccountKey & BalanceChange>(
  { partnerId: 'uuid', accountId: 'uuid', partyId: 'uuid', posted: 'bigint', reserved: 'bigint' },
  [
    ['partnerId', 'accountId'],
    ['posted', 'reserved'],
  ],
)

/** Creates missing accounts without money. */
export function ensurePartyAccounts(tx: Tx, parties: readonly PartyAccountKey[]): void {
  const rows = parties.map(({ partnerId, accountId, partyId }) => {
    return { partnerId, accountId, partyId, posted: 0n, reserved: 0n }
  })
  tx.later(sql`/* ledger.ensurePartyAccounts */
    insert into ledger.party_accounts (partner_id, account_id, party_id, posted, reserved) ${newParties(tx, rows)}
    on conflict (partner_id, account_id, party_id) do nothing`)
}

/** Changes each account of a party once. The transaction has locked the balance. */
export function changePartyAccounts(tx: Tx, changes: readonly PartyChange[]): void {
  const column = columnValues(changes)
  tx.later(sql`/* ledger.changePartyAccounts */
    update ledger.party_accounts as party set posted = party.posted + change.posted_by,
      reserved = party.reserved + change.reserved_by
    from unnest(${column('partnerId')}::uuid[], ${column('accountId')}::uuid[], ${column('partyId')}::uuid[],
      ${column('posted')}::bigint[], ${column('reserved')}::bigint[])
      as change (partner_id, balance_id, changed_id, posted_by, reserved_by)
    where party.partner_id = change.partner_id and party.account_id = change.balance_id
      and party.party_id = change.changed_id and ${ofOnePartner(column('partnerId'), sql`party.partner_id`)}`)
}

export async function readParties(tx: Tx, keys: readonly PartyAccountKey[]): Promise<readonly PartyChange[]> {
  // Without a key the statement selects no partner, and a sharded database would query all shards.
  if (keys.length === 0) return []
  const column = columnValues(keys)
  return tx.rows(sql`/* ledger.readParties */
    select party.partner_id, party.account_id, party.party_id, party.posted, party.reserved
    from unnest(${column('partnerId')}::uuid[], ${column('accountId')}::uuid[], ${column('partyId')}::uuid[])
        as asked (owner_id, balance_id, asked_id)
      join ledger.party_accounts as party on party.partner_id = asked.owner_id and party.account_id = asked.balance_id
        and party.party_id = asked.asked_id
    where ${ofOnePartner(column('partnerId'), sql`party.partner_id`)}`)
}

/** Balance with its mode, and the partner's own part. Null: the balance is pooled, or the partner has no money of its own. */
export type BalanceModeRow = {
  readonly id: string
  readonly currency: Currency
  readonly posted: Minor
  readonly reserved: Minor
  readonly segregated: boolean
  readonly ownPosted: Minor | null
  readonly ownReserved: Minor | null
}

export function readModes(tx: Tx, partnerId: string): Promise<readonly BalanceModeRow[]> {
  return tx.rows(sql`/* ledger.readModes */
    select account.id, account.currency, account.posted, account.reserved, coalesce(account.segregated, false) as segregated,
      own.posted as own_posted, own.reserved as own_reserved
    from ledger.accounts as account left join ledger.party_accounts as own on own.partner_id = ${partnerId}
      and own.account_id = account.id and own.party_id = ${partnerId} and account.segregated
    where account.partner_id = ${partnerId} and account.name = 'balance' order by account.currency`)
}

/** Deletes the accounts of parties of a pooled balance. */
export async function deletePartyAccounts(tx: Tx, partnerId: string, accountId: string): Promise<void> {
  await tx.run(sql`/* ledger.deletePartyAccounts */
    delete from ledger.party_accounts where partner_id = ${partnerId} and account_id = ${accountId}`)
}

/** Selects the last checkpoint of each party of a balance up to a position, at which no transfer can still appear. */
const sumsAt = (partnerId: string, accountId: string, position: string) => sql`
  select distinct on (party_id) party_id, posted, reserved from ledger.party_checkpoints
  where partner_id = ${partnerId} and account_id = ${accountId} and position <= ${position}
  order by party_id, position desc`

/** Copies the sums at a position. Omits parties that had less than their reserved part. */
export async function copyParties(tx: Tx, partnerId: string, accountId: string, position: string): Promise<void> {
  await tx.run(
    unprepared(sql`/* ledger.copyParties */
      insert into ledger.party_accounts (partner_id, account_id, party_id, posted, reserved)
      select ${partnerId}::uuid, ${accountId}::uuid, party_id, posted, reserved
      from (${sumsAt(partnerId, accountId, position)}) as sums
      where posted >= reserved and reserved >= 0`),
  )
}

export type PartyTotal = { readonly partyId: string; readonly posted: Minor; readonly reserved: Minor }

/** Lists the parties that `copyParties` omits. */
export function listShortParties(
  tx: Tx,
  partnerId: string,
  accountId: string,
  position: string,
): Promise<readonly PartyTotal[]> {
  return tx.rows(
    unprepared(sql`/* ledger.listShortParties */
      select party_id, posted, reserved from (${sumsAt(partnerId, accountId, position)}) as sums
      where posted < reserved or reserved < 0 order by party_id`),
  )
}

/** Sums the transfers of parties up to a position. A party without any is absent. */
export async function sumPartyTransfers(
  tx: Tx,
  partnerId: string,
  accountId: string,
  position: string,
  partyIds: readonly string[],
): Promise<readonly PartyTotal[]> {
  return tx.rows(
    unprepared(sql`/* ledger.sumPartyTransfers */
      select distinct on (party_id) party_id, posted, reserved from ledger.party_checkpoints
      where partner_id = ${partnerId} and account_id = ${accountId} and position <= ${position}
        and party_id = any(${partyIds}::uuid[])
      order by party_id, position desc`),
  )
}

/** Sums the changes of each party by the transfers after a position. */
export function sumChangesSince(
  tx: Tx,
  partnerId: string,
  accountId: string,
  position: string,
): Promise<readonly PartyTotal[]> {
  return tx.rows(
    unprepared(sql`/* ledger.sumChangesSince */
      select transfer.party_id, sum(side.posted)::bigint as posted, sum(side.reserved)::bigint as reserved
      from ${transferSides}
      where transfer.partner_id = ${partnerId} and transfer.id > ${position} and side.account_id = ${accountId}
        and (side.posted <> 0 or side.reserved <> 0)
      group by transfer.party_id order by transfer.party_id`),
  )
}

/** Sets the sums of parties. */
export async function setPartySums(
  tx: Tx,
  partnerId: string,
  accountId: string,
  totals: readonly PartyTotal[],
): Promise<void> {
  const rows = totals.map((total) => ({ partnerId, accountId, ...total }))
  await tx.run(sql`/* ledger.setPartySums */
    insert into ledger.party_accounts (partner_id, account_id, party_id, posted, reserved) ${newParties(tx, rows)}
    on conflict (partner_id, account_id, party_id)
      do update set posted = excluded.posted, reserved = excluded.reserved`)
}

/** Sums all parties of a balance. */
export async function sumPartyAccounts(tx: Tx, partnerId: string, accountId: string): Promise<BalanceChange> {
  const sum = await tx.row<BalanceChange>(
    unprepared(sql`/* ledger.sumPartyAccounts */
      select coalesce(sum(posted), 0)::bigint as posted, coalesce(sum(reserved), 0)::bigint as reserved
      from ledger.party_accounts where partner_id = ${partnerId} and account_id = ${accountId}`),
  )
  return sum ?? { posted: 0n, reserved: 0n }
}

/** Sets the mode of a balance. `segregated`: true, or null for a pooled balance. */
export async function setMode(tx: Tx, partnerId: string, accountId: string, segregated: true | null): Promise<void> {
  await tx.run(sql`/* ledger.setMode */
    update ledger.accounts set segregated = ${segregated}::boolean where partner_id = ${partnerId} and id = ${accountId}`)
}
