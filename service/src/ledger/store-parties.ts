/** The SQL of the checkpoints of parties: what moved on the balances of a partner for one customer, or for itself. */
import { type Currency, type Minor, nilId } from '../kernel/index.ts'
import { sql, type Tx, unprepared } from '../postgres/index.ts'
import { type Direction, type IdRange, inOrder, lastId, sidesOfTransfers, type Stretch } from './store-history.ts'

/** The next stretches that the checkpoints of accounts cover, and those of parties do not. */
export function stretchesBehind(
  tx: Tx,
  partnerId: string,
  position: string,
  stretchesMax: number,
): Promise<readonly Omit<Stretch, 'lines'>[]> {
  return tx.rows(
    unprepared(sql`/* ledger.stretchesBehind */
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
        from ${sidesOfTransfers}
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

/** The last transfer that the checkpoints of parties cover. */
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

/** The sums of a party's transfers before `end` on each balance on which it had any, as `balancesBefore`. */
export async function partySumsBefore(
  tx: Tx,
  { partnerId, partyId }: PartyKey,
  end: string,
): Promise<readonly PartySum[]> {
  for (;;) {
    const boundary = await partyBoundaryBefore(tx, partnerId, end)
    const rows = await partySumsSince(tx, { partnerId, partyId }, boundary, end)
    // The checkpoints may have been deleted in between, to be made again.
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
        from ${sidesOfTransfers}
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

/** Stretches that reach into a range and in which the account had lines of the party; as `stretchesOf`. */
export function stretchesOfParty(
  tx: Tx,
  { partnerId, partyId, accountId }: PartyKey & { readonly accountId: string },
  { after, end }: IdRange,
  direction: Direction,
  stretchesMax: number,
): Promise<readonly Stretch[]> {
  return tx.rows<Stretch>(
    unprepared(sql`/* ledger.stretchesOfParty */
      select position, stretch_after, lines from ledger.party_checkpoints
      where partner_id = ${partnerId} and party_id = ${partyId} and account_id = ${accountId} and lines > 0
        and position > ${after}
        and position <= coalesce((select position from ledger.party_checkpoints where partner_id = ${partnerId}
          and party_id = ${partyId} and account_id = ${accountId} and position >= ${end} order by position limit 1),
          ${lastId})
      order by position ${inOrder(direction)} limit ${stretchesMax}`),
  )
}
