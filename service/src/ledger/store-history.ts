/** The SQL of checkpoints, past balances and statements. `end` and `after` are ids that a range does not contain. */
import { type Minor, nilId } from '../kernel/index.ts'
import { insertBy, noSql, type RowOf, type Sql, sql, type Tx, unprepared } from '../postgres/index.ts'
import type { AccountRow, TransferRow } from './store.ts'

/** Sorts after every id. */
export const lastId = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

export type IdRange = { readonly after: string; readonly end: string }
export type Direction = 'ascending' | 'descending'

/**
 * Changes that transfers make to their accounts, as `effects` in rules.ts: one row per changed account. `lines`
 * counts the transfers that move posted money.
 */
export const sidesOfTransfers = sql`ledger.transfers as transfer cross join lateral (values
      (debit_account_id, case when kind in ('direct', 'post') then -amount else 0 end,
        case kind when 'reserve' then amount when 'direct' then 0 else -amount end),
      (credit_account_id, case when kind in ('direct', 'post') then amount else 0 end, 0)
    ) as side (account_id, posted, reserved)`

/** The last transfer of the next stretch after the checkpoints of a partner; undefined: there are too few transfers. */
export async function nextStretchEnd(
  tx: Tx,
  partnerId: string,
  end: string,
  transfersPerStretch: number,
): Promise<string | undefined> {
  const row = await tx.row<{ readonly id: string }>(
    unprepared(sql`/* ledger.nextStretchEnd */
      select id from ledger.transfers where partner_id = ${partnerId} and id < ${end} and id > coalesce(
        (select position from ledger.checkpoint_progress where partner_id = ${partnerId}), ${nilId})
      order by id offset ${transfersPerStretch - 1} limit 1`),
  )
  return row?.id
}

/** Reports whether checkpoints of accounts exist that those of parties do not cover yet. */
export async function partiesAreBehind(tx: Tx, partnerId: string): Promise<boolean> {
  const row = await tx.row<{ readonly isBehind: boolean }>(sql`/* ledger.partiesAreBehind */
    select position <> coalesce(party_position, ${nilId}) as is_behind from ledger.checkpoint_progress
    where partner_id = ${partnerId}`)
  return row?.isBehind ?? false
}

export type AccountChanges = {
  readonly accountId: string
  readonly posted: Minor
  readonly reserved: Minor
  readonly lines: number
}

/** Reads the changes that the transfers after `after`, up to `position`, make to each account. */
export function changesOfStretch(
  tx: Tx,
  partnerId: string,
  after: string,
  position: string,
): Promise<readonly AccountChanges[]> {
  return tx.rows<AccountChanges>(
    unprepared(sql`/* ledger.changesOfStretch */
      select side.account_id, sum(side.posted)::bigint as posted, sum(side.reserved)::bigint as reserved,
        (count(*) filter (where side.posted <> 0))::integer as lines
      from ${sidesOfTransfers}
      where transfer.partner_id = ${partnerId} and transfer.id > ${after} and transfer.id <= ${position}
        and (side.posted <> 0 or side.reserved <> 0)
      group by side.account_id`),
  )
}

const types = {
  partnerId: 'uuid',
  position: 'uuid',
  accountId: 'uuid',
  stretchAfter: 'uuid',
  lines: 'integer',
  posted: 'bigint',
  reserved: 'bigint',
} as const
export type Checkpoint = RowOf<typeof types>

const newCheckpoints = insertBy<Checkpoint>(types, [])

export function insertCheckpoints(tx: Tx, checkpoints: readonly Checkpoint[]): void {
  tx.later(sql`/* ledger.insertCheckpoints */
    insert into ledger.checkpoints (partner_id, position, account_id, stretch_after, lines, posted, reserved)
    ${newCheckpoints(tx, checkpoints)}`)
}

/** `partyPosition`: how far the checkpoints of parties reach. Null: there are none. */
export type Progress = { readonly position: string; readonly differs: boolean; readonly partyPosition: string | null }

/** Undefined: there is none, or another process has locked it. */
export function claimProgress(tx: Tx, partnerId: string): Promise<Progress | undefined> {
  return tx.row<Progress>(sql`/* ledger.claimProgress */
    select position, differs, party_position from ledger.checkpoint_progress where partner_id = ${partnerId} for update skip locked`)
}

/** Locks the checkpoints of a partner, and waits for a process that has them. A partner without any is as new. */
export async function lockProgress(tx: Tx, partnerId: string): Promise<void> {
  await createProgress(tx, partnerId)
  await tx.run(sql`/* ledger.lockProgress */
    select 1 from ledger.checkpoint_progress where partner_id = ${partnerId} for update`)
}

/** Returns whether it was created: without it the partner has no checkpoints. */
export async function createProgress(tx: Tx, partnerId: string): Promise<boolean> {
  const count = await tx.run(sql`/* ledger.createProgress */
    insert into ledger.checkpoint_progress (partner_id, position, differs) values (${partnerId}, ${nilId}, false)
    on conflict (partner_id) do nothing`)
  return count > 0
}

export function setProgress(
  tx: Tx,
  partnerId: string,
  { position, differs }: Pick<Progress, 'position' | 'differs'>,
): void {
  tx.later(sql`/* ledger.setProgress */
    update ledger.checkpoint_progress set position = ${position}, differs = ${differs}
    where partner_id = ${partnerId}`)
}

export function deleteCheckpoints(tx: Tx, partnerId: string): void {
  tx.later(sql`/* ledger.deleteCheckpoints */ delete from ledger.checkpoints where partner_id = ${partnerId}`)
}

export type PastBalance = AccountRow & {
  /** Posted sum of the account row: the balance at this moment. */
  readonly postedNow: Minor
  readonly reservedNow: Minor
}

/** The last transfer before `end` that ends a stretch. */
async function boundaryBefore(tx: Tx, partnerId: string, end: string): Promise<string> {
  const row = await tx.row<{ readonly position: string }>(sql`/* ledger.boundaryBefore */
    select position from ledger.checkpoints where partner_id = ${partnerId} and position < ${end}
    order by position desc limit 1`)
  return row?.position ?? nilId
}

/**
 * The sums of all transfers before `end`, by one snapshot: the last checkpoints before it, and the transfers since. Their
 * position is a parameter, because PostgreSQL plans a range that it does not know as a third of the table.
 */
export async function balancesBefore(tx: Tx, partnerId: string, end: string): Promise<readonly PastBalance[]> {
  for (;;) {
    const boundary = await boundaryBefore(tx, partnerId, end)
    const rows = await balancesSince(tx, partnerId, boundary, end)
    // The checkpoints may have been deleted in between, to be made again.
    if (boundary === nilId || rows.every(({ hasBoundary }) => hasBoundary)) return rows
  }
}

function balancesSince(
  tx: Tx,
  partnerId: string,
  boundary: string,
  end: string,
): Promise<readonly (PastBalance & { readonly hasBoundary: boolean })[]> {
  return tx.rows(
    unprepared(sql`/* ledger.balancesSince */
      with recent as (
        select side.account_id, sum(side.posted)::bigint as posted, sum(side.reserved)::bigint as reserved
        from ${sidesOfTransfers}
        where transfer.partner_id = ${partnerId} and transfer.id > ${boundary} and transfer.id < ${end}
          and (side.posted <> 0 or side.reserved <> 0)
        group by side.account_id)
      select account.id, account.name, account.currency,
        coalesce(checkpoint.posted, 0) + coalesce(recent.posted, 0) as posted,
        coalesce(checkpoint.reserved, 0) + coalesce(recent.reserved, 0) as reserved,
        account.posted as posted_now, account.reserved as reserved_now,
        exists (select from ledger.checkpoints where partner_id = ${partnerId} and position = ${boundary}) as has_boundary
      from ledger.accounts as account left join recent on recent.account_id = account.id
        left join lateral (
          select posted, reserved from ledger.checkpoints where partner_id = ${partnerId} and account_id = account.id
            and position <= ${boundary} order by position desc limit 1) as checkpoint on true
      where account.partner_id = ${partnerId} order by account.name, account.currency`),
  )
}

export type Stretch = { readonly position: string; readonly stretchAfter: string; readonly lines: number }

/** The last transfer that the checkpoints of a partner cover. */
export async function lastPosition(tx: Tx, partnerId: string): Promise<string> {
  const row = await tx.row<{ readonly position: string }>(sql`/* ledger.lastPosition */
    select position from ledger.checkpoints where partner_id = ${partnerId} order by position desc limit 1`)
  return row?.position ?? nilId
}

export const inOrder = (direction: Direction): Sql => (direction === 'ascending' ? sql`asc` : sql`desc`)

/** The stretches that reach into a range, and in which posted money of the account moved. */
export function stretchesOf(
  tx: Tx,
  { partnerId, accountId }: AccountOfPartner,
  { after, end }: IdRange,
  direction: Direction,
  stretchesMax: number,
): Promise<readonly Stretch[]> {
  return tx.rows<Stretch>(
    unprepared(sql`/* ledger.stretchesOf */
      select position, stretch_after, lines from ledger.checkpoints
      where partner_id = ${partnerId} and account_id = ${accountId} and lines > 0 and position > ${after}
        and position <= coalesce((select position from ledger.checkpoints where partner_id = ${partnerId}
          and position >= ${end} order by position limit 1), ${lastId})
      order by position ${inOrder(direction)} limit ${stretchesMax}`),
  )
}

/** `partyId` undefined: the lines of all parties. */
export type AccountOfPartner = {
  readonly partnerId: string
  readonly accountId: string
  readonly partyId?: string | undefined
}

/** The transfers in some ranges that move posted money of the account. Each range is read by the primary key. */
export function linesIn(
  tx: Tx,
  { partnerId, accountId, partyId }: AccountOfPartner,
  ranges: readonly IdRange[],
  direction: Direction,
  linesMax: number,
): Promise<readonly TransferRow[]> {
  return tx.rows<TransferRow>(
    unprepared(sql`/* ledger.linesIn */
      select line.* from unnest(${ranges.map(({ after }) => after)}::uuid[], ${ranges.map(({ end }) => end)}::uuid[])
        as stretch (after_id, end_id) cross join lateral (
          select id, kind, debit_account_id, credit_account_id, currency, amount, party_id, reference, entry_id
          from ledger.transfers where partner_id = ${partnerId} and id > stretch.after_id and id < stretch.end_id
            and ${accountId} in (debit_account_id, credit_account_id) and kind in ('direct', 'post')
            ${partyId === undefined ? noSql : sql`and party_id = ${partyId}`}
          order by id ${inOrder(direction)} limit ${linesMax}) as line
      order by line.id ${inOrder(direction)} limit ${linesMax}`),
  )
}
