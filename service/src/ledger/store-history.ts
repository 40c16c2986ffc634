/** SQL of checkpoints, past balances and statements. A range does not include its ids `after` and `end`. */
import { type Minor, nilId } from '../kernel/index.ts'
import {
  columnValues,
  insertBy,
  noSql,
  ofOnePartner,
  type RowOf,
  type Sql,
  sql,
  type Tx,
  unprepared,
} from '../postgres/index.ts'
import type { AccountRow, TransferRow } from './store.ts'
import type { AccountState } from './account-kinds.ts'

/** Sorts after every id. */
export const idMax = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

export type IdRange = { readonly after: string; readonly end: string }
export type SortDirection = 'ascending' | 'descending'

/**
 * Selects the changes that transfers make to their accounts, like `effects` in rules.ts: one row per changed account.
 * `lines` counts the transfers that move posted money.
 */
export const transferSides = sql`ledger.transfers as transfer cross join lateral (values
      (debit_account_id, case when kind in ('direct', 'post') then -amount else 0 end,
        case kind when 'reserve' then amount when 'direct' then 0 else -amount end),
      (credit_account_id, case when kind in ('direct', 'post') then amount else 0 end, 0)
    ) as side (account_id, posted, reserved)`

/** Finds the last transfer of the next stretch after the checkpoints of a partner. Undefined: there are too few transfers. */
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
export async function arePartyCheckpointsBehind(tx: Tx, partnerId: string): Promise<boolean> {
  const row = await tx.row<{ readonly isBehind: boolean }>(sql`/* ledger.arePartyCheckpointsBehind */
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

/** Sums the changes of each account by the transfers after `after` and up to `position`. */
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
      from ${transferSides}
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

/** `partyPosition`: position of the checkpoints of parties. Null: there are none. */
export type CheckpointProgress = {
  readonly position: string
  readonly differs: boolean
  readonly partyPosition: string | null
}

/** Locks the progress of a partner. Undefined: none exists, or another process has locked it. */
export function claimProgress(tx: Tx, partnerId: string): Promise<CheckpointProgress | undefined> {
  return tx.row<CheckpointProgress>(sql`/* ledger.claimProgress */
    select position, differs, party_position from ledger.checkpoint_progress where partner_id = ${partnerId} for update skip locked`)
}

/** Locks the checkpoints of a partner, and waits for a process that has them. Creates the row if it is missing. */
export async function lockProgress(tx: Tx, partnerId: string): Promise<void> {
  await createProgress(tx, partnerId)
  await tx.run(sql`/* ledger.lockProgress */
    select 1 from ledger.checkpoint_progress where partner_id = ${partnerId} for update`)
}

/** Creates the progress of a partner. Returns false if it exists. */
export async function createProgress(tx: Tx, partnerId: string): Promise<boolean> {
  const count = await tx.run(sql`/* ledger.createProgress */
    insert into ledger.checkpoint_progress (partner_id, position, differs) values (${partnerId}, ${nilId}, false)
    on conflict (partner_id) do nothing`)
  return count > 0
}

export function setProgress(
  tx: Tx,
  partnerId: string,
  { position, differs }: Pick<CheckpointProgress, 'position' | 'differs'>,
): void {
  tx.later(sql`/* ledger.setProgress */
    update ledger.checkpoint_progress set position = ${position}, differs = ${differs}
    where partner_id = ${partnerId}`)
}

export function deleteCheckpoints(tx: Tx, partnerId: string): void {
  tx.later(sql`/* ledger.deleteCheckpoints */ delete from ledger.checkpoints where partner_id = ${partnerId}`)
}

export type PastBalance = AccountRow & {
  /** Posted sum of the account row: the present balance. */
  readonly postedNow: Minor
  readonly reservedNow: Minor
}

/** Finds the last transfer before `end` that ends a stretch. */
async function boundaryBefore(tx: Tx, partnerId: string, end: string): Promise<string> {
  const row = await tx.row<{ readonly position: string }>(sql`/* ledger.boundaryBefore */
    select position from ledger.checkpoints where partner_id = ${partnerId} and position < ${end}
    order by position desc limit 1`)
  return row?.position ?? nilId
}

/**
 * Sums all transfers before `end` in one snapshot: the last checkpoints before it, and the transfers since. The
 * position is a parameter, because PostgreSQL estimates an unknown range as a third of the table.
 */
export async function balancesBefore(tx: Tx, partnerId: string, end: string): Promise<readonly PastBalance[]> {
  for (;;) {
    const boundary = await boundaryBefore(tx, partnerId, end)
    const rows = await balancesSince(tx, partnerId, boundary, end)
    // The checkpoints may have been deleted in the meantime, to be recreated.
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
        from ${transferSides}
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

/** Finds the last transfer that the checkpoints of a partner cover. */
export async function lastPosition(tx: Tx, partnerId: string): Promise<string> {
  const row = await tx.row<{ readonly position: string }>(sql`/* ledger.lastPosition */
    select position from ledger.checkpoints where partner_id = ${partnerId} order by position desc limit 1`)
  return row?.position ?? nilId
}

export const orderBy = (direction: SortDirection): Sql => (direction === 'ascending' ? sql`asc` : sql`desc`)

/** Lists the stretches in a range in which posted money of the account moved. */
export function listStretches(
  tx: Tx,
  { partnerId, accountId }: AccountOfPartner,
  { after, end }: IdRange,
  direction: SortDirection,
  stretchesMax: number,
): Promise<readonly Stretch[]> {
  return tx.rows<Stretch>(
    unprepared(sql`/* ledger.listStretches */
      select position, stretch_after, lines from ledger.checkpoints
      where partner_id = ${partnerId} and account_id = ${accountId} and lines > 0 and position > ${after}
        and position <= coalesce((select position from ledger.checkpoints where partner_id = ${partnerId}
          and position >= ${end} order by position limit 1), ${idMax})
      order by position ${orderBy(direction)} limit ${stretchesMax}`),
  )
}

/** `partyId` undefined: the lines of all parties. */
export type AccountOfPartner = {
  readonly partnerId: string
  readonly accountId: string
  readonly partyId?: string | undefined
}

/** Reads the transfers in some ranges that move posted money of the account. Each range is read by the primary key. */
export function readLines(
  tx: Tx,
  { partnerId, accountId, partyId }: AccountOfPartner,
  ranges: readonly IdRange[],
  direction: SortDirection,
  linesMax: number,
): Promise<readonly TransferRow[]> {
  return tx.rows<TransferRow>(
    unprepared(sql`/* ledger.readLines */
      select line.* from unnest(${ranges.map(({ after }) => after)}::uuid[], ${ranges.map(({ end }) => end)}::uuid[])
        as stretch (after_id, end_id) cross join lateral (
          select id, kind, debit_account_id, credit_account_id, currency, amount, party_id, reference, entry_id
          from ledger.transfers where partner_id = ${partnerId} and id > stretch.after_id and id < stretch.end_id
            and ${accountId} in (debit_account_id, credit_account_id) and kind in ('direct', 'post')
            ${partyId === undefined ? noSql : sql`and party_id = ${partyId}`}
          order by id ${orderBy(direction)} limit ${linesMax}) as line
      order by line.id ${orderBy(direction)} limit ${linesMax}`),
  )
}

// SQL of closing balances: checkpoints and the transfers between them, at several moments.

/** Finds the last transfer before each end that ends a stretch. An end without one is absent. */
export function boundariesBefore(
  tx: Tx,
  partnerId: string,
  ends: readonly string[],
): Promise<readonly { readonly endId: string; readonly position: string }[]> {
  return tx.rows(
    unprepared(sql`/* ledger.boundariesBefore */
      select moment.end_id, boundary.position from unnest(${ends}::uuid[]) as moment (end_id) cross join lateral (
        select position from ledger.checkpoints where partner_id = ${partnerId} and position < moment.end_id
        order by position desc limit 1) as boundary`),
  )
}

export type AccountSum = { readonly accountId: string; readonly posted: Minor; readonly reserved: Minor }

/** Reads the last checkpoint of each account at each position. An account that had not moved by then is absent. */
export function checkpointsAt(
  tx: Tx,
  partnerId: string,
  accountIds: readonly string[],
  positions: readonly string[],
): Promise<readonly (AccountSum & { readonly position: string })[]> {
  return tx.rows(
    unprepared(sql`/* ledger.checkpointsAt */
      select boundary.position, account.id as account_id, last.posted, last.reserved
      from unnest(${positions}::uuid[]) as boundary (position) cross join unnest(${accountIds}::uuid[]) as account (id)
        cross join lateral (
          select posted, reserved from ledger.checkpoints where partner_id = ${partnerId} and account_id = account.id
            and position <= boundary.position order by position desc limit 1) as last`),
  )
}

/** Sums the changes of accounts in some ranges. Each range is read by the primary key. */
export function sumChanges(
  tx: Tx,
  partnerId: string,
  accountIds: readonly string[],
  ranges: readonly IdRange[],
): Promise<readonly (AccountSum & { readonly endId: string })[]> {
  return tx.rows(
    unprepared(sql`/* ledger.sumChanges */
      select stretch.end_id, moved.account_id, moved.posted, moved.reserved
      from unnest(${ranges.map(({ after }) => after)}::uuid[], ${ranges.map(({ end }) => end)}::uuid[])
        as stretch (after_id, end_id) cross join lateral (
          select side.account_id, sum(side.posted)::bigint as posted, sum(side.reserved)::bigint as reserved
          from ${transferSides}
          where transfer.partner_id = ${partnerId} and transfer.id > stretch.after_id and transfer.id < stretch.end_id
            and side.account_id = any(${accountIds}::uuid[])
          group by side.account_id) as moved`),
  )
}

// SQL that reads the transfers of a period in pages. A page is a range of ids without `after` and `end`.

/** Lists the last transfers of the next full pages of `transfersPerPart` transfers. */
export async function pageEnds(
  tx: Tx,
  partnerId: string,
  { after, end }: IdRange,
  transfersPerPart: number,
  partsMax: number,
): Promise<readonly string[]> {
  const rows = await tx.rows<{ readonly id: string }>(
    unprepared(sql`/* ledger.pageEnds */
      select id from (select id, row_number() over (order by id) as position from (
          select id from ledger.transfers where partner_id = ${partnerId} and id > ${after} and id < ${end}
          order by id limit ${transfersPerPart * partsMax}) as next) as numbered
      where position % ${transfersPerPart} = 0 order by id`),
  )
  return rows.map(({ id }) => id)
}

/** `partyId` undefined: of all parties. `counterAccountId` undefined: against all accounts. */
export type LineFilter = {
  readonly partnerId: string
  readonly accountId: string
  readonly counterAccountId?: string | undefined
  readonly partyId?: string | undefined
}

const lineConditions = ({ accountId, counterAccountId, partyId }: LineFilter) => sql`
          and ${accountId} in (debit_account_id, credit_account_id)
          ${counterAccountId === undefined ? noSql : sql`and ${counterAccountId} in (debit_account_id, credit_account_id)`}
          ${partyId === undefined ? noSql : sql`and party_id = ${partyId}`}`

/**
 * Reads the transfers of a page that move posted money of an account, as one text: the driver needs longer for a row of
 * columns than PostgreSQL needs to read it. References are one line without control characters, so that they cannot
 * contain a separator.
 */
export async function readLinesAsText(tx: Tx, filter: LineFilter, { after, end }: IdRange): Promise<string> {
  const { partnerId, accountId } = filter
  const row = await tx.row<{ readonly lines: string | null }>(
    unprepared(sql`/* ledger.readLinesAsText */
      select string_agg(line, chr(30)) as lines from (
        select id::text || case when debit_account_id = ${accountId} then '-' || credit_account_id::text
            else '+' || debit_account_id::text end || kind || chr(31) || amount || chr(31) || party_id || chr(31)
            || translate(reference, chr(30) || chr(31), '  ') as line
        from ledger.transfers
        where partner_id = ${partnerId} and id > ${after} and id < ${end} and kind in ('direct', 'post') ${lineConditions(filter)}
        order by id) as ordered`),
  )
  return row?.lines ?? ''
}

export type PeriodSums = {
  readonly lines: bigint
  readonly creditLines: bigint
  readonly credits: Minor
  readonly debits: Minor
}

/** Sums the lines of a page. */
export async function sumLines(tx: Tx, filter: LineFilter, { after, end }: IdRange): Promise<PeriodSums> {
  const { partnerId, accountId } = filter
  const row = await tx.row<PeriodSums>(
    unprepared(sql`/* ledger.sumLines */
      select count(*) as lines, count(*) filter (where credit_account_id = ${accountId}) as credit_lines,
        coalesce(sum(amount) filter (where credit_account_id = ${accountId}), 0)::bigint as credits,
        coalesce(sum(amount) filter (where debit_account_id = ${accountId}), 0)::bigint as debits
      from ledger.transfers
      where partner_id = ${partnerId} and id > ${after} and id < ${end} and kind in ('direct', 'post') ${lineConditions(filter)}`),
  )
  return row ?? { lines: 0n, creditLines: 0n, credits: 0n, debits: 0n }
}

export type AccountPeriodSums = PeriodSums & { readonly accountId: string }

/** Sums the debits and credits of each account by the transfers of a page. */
export function sumsByAccount(
  tx: Tx,
  partnerId: string,
  { after, end }: IdRange,
): Promise<readonly AccountPeriodSums[]> {
  return tx.rows<AccountPeriodSums>(
    unprepared(sql`/* ledger.sumsByAccount */
      select side.account_id, count(*) as lines, count(*) filter (where side.credit > 0) as credit_lines,
        sum(side.credit)::bigint as credits, sum(side.debit)::bigint as debits
      from ledger.transfers as transfer cross join lateral (values (debit_account_id, 0::bigint, amount),
        (credit_account_id, amount, 0::bigint)) as side (account_id, credit, debit)
      where transfer.partner_id = ${partnerId} and transfer.id > ${after} and transfer.id < ${end}
        and kind in ('direct', 'post')
      group by side.account_id`),
  )
}

// SQL that reads account movements after a position, for many accounts at a time.

/** Account, and the transfer id up to which its transfers were read. */
export type AccountPosition = { readonly partnerId: string; readonly accountId: string; readonly position: string }

export type StandingRow = Pick<AccountRow, 'posted' | 'reserved'> & {
  readonly accountId: string
  /** Null: Active. */
  readonly state: AccountState | null
  readonly hasMoved: boolean
  readonly isQuiet: boolean
}

/**
 * Reads the sums and states of all accounts in one snapshot. Each position is one look-up in the primary key, for any
 * number of transfers after it.
 */
export function readStandings(
  tx: Tx,
  positions: readonly AccountPosition[],
  end: string,
): Promise<readonly StandingRow[]> {
  const column = columnValues(positions)
  const partnerIds = column('partnerId')
  return tx.rows<StandingRow>(
    unprepared(sql`/* ledger.readStandings */
      select account.id as account_id, account.posted, account.reserved, account.state,
        exists (select from ledger.transfers as transfer where transfer.partner_id = known.owner_id
          and ${ofOnePartner(partnerIds, sql`transfer.partner_id`)}
          and transfer.id > known.position and transfer.id < ${end}) as has_moved,
        not exists (select from ledger.transfers as transfer where transfer.partner_id = known.owner_id
          and ${ofOnePartner(partnerIds, sql`transfer.partner_id`)} and transfer.id > known.position) as is_quiet
      from unnest(${partnerIds}::uuid[], ${column('accountId')}::uuid[], ${column('position')}::uuid[])
          as known (owner_id, account_id, position)
        join ledger.accounts as account on account.partner_id = known.owner_id and account.id = known.account_id
      where ${ofOnePartner(partnerIds, sql`account.partner_id`)}`),
  )
}

export type MovementRow = Pick<TransferRow, 'id' | 'kind' | 'amount' | 'reference' | 'entryId'> & {
  readonly accountId: string
  readonly isDebit: boolean
  readonly isCredit: boolean
  /** Place among the transfers of the partner after the position, from 1. */
  readonly place: bigint
}

/**
 * Reads the account's transfers among the next `transfersMax` transfers of the partner after each position, and the
 * last transfer of these, which marks how far was read.
 */
export function listMovementsAfter(
  tx: Tx,
  positions: readonly AccountPosition[],
  end: string,
  transfersMax: number,
): Promise<readonly MovementRow[]> {
  const column = columnValues(positions)
  const partnerIds = column('partnerId')
  return tx.rows<MovementRow>(
    unprepared(sql`/* ledger.listMovementsAfter */
      select movement.* from unnest(${partnerIds}::uuid[], ${column('accountId')}::uuid[], ${column('position')}::uuid[])
        as known (owner_id, account_id, position) cross join lateral (
          select known.account_id, id, kind, amount, reference, entry_id, place,
            debit_account_id = known.account_id as is_debit, credit_account_id = known.account_id as is_credit
          from (select id, kind, amount, reference, entry_id, debit_account_id, credit_account_id,
              row_number() over (order by id) as place
            from ledger.transfers where partner_id = known.owner_id and ${ofOnePartner(partnerIds)}
              and id > known.position and id < ${end}
            order by id limit ${transfersMax}) as next
          where known.account_id in (debit_account_id, credit_account_id) or place = ${transfersMax}) as movement
      order by movement.account_id, movement.id`),
  )
}
