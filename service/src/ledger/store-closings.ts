/** The SQL of closing balances: checkpoints and the transfers between them, at several moments. */
import type { Minor } from '../kernel/index.ts'
import { sql, type Tx, unprepared } from '../postgres/index.ts'
import { type IdRange, sidesOfTransfers } from './store-history.ts'

/** The last transfer before each end that ends a stretch. An end without one is absent. */
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

/** The last checkpoint of each account at each position. An account that had not moved by then is absent. */
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

/** The changes of some accounts in some ranges. Each range is read by the primary key. */
export function changesIn(
  tx: Tx,
  partnerId: string,
  accountIds: readonly string[],
  ranges: readonly IdRange[],
): Promise<readonly (AccountSum & { readonly endId: string })[]> {
  return tx.rows(
    unprepared(sql`/* ledger.changesIn */
      select stretch.end_id, moved.account_id, moved.posted, moved.reserved
      from unnest(${ranges.map(({ after }) => after)}::uuid[], ${ranges.map(({ end }) => end)}::uuid[])
        as stretch (after_id, end_id) cross join lateral (
          select side.account_id, sum(side.posted)::bigint as posted, sum(side.reserved)::bigint as reserved
          from ${sidesOfTransfers}
          where transfer.partner_id = ${partnerId} and transfer.id > stretch.after_id and transfer.id < stretch.end_id
            and side.account_id = any(${accountIds}::uuid[])
          group by side.account_id) as moved`),
  )
}
