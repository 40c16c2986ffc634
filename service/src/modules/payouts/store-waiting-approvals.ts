/** The SQL of what waits for an approval: payouts alone, and bulks as one. */
import type { Currency, Minor } from '../../kernel/index.ts'
import { noSql, sql, type Tx } from '../../postgres/index.ts'
import { payoutColumns, type PayoutRow } from './store.ts'

/** Chooses the makers: anybody, the account, or another one. A bulk of several makers is of each of them. */
export type MadeBy = 'any' | { readonly by: string } | { readonly notBy: string }

type Page = { readonly made: MadeBy; readonly afterId: string | null; readonly rowsMax: number }

/**
 * The newest keys behind one: of payouts that are approved alone, by the index approvals_open_alone, and of bulks, by approvals_open_of_bulk.
 * So a page of them never reads the payouts that it does not show, but the keys of the bulks.
 */
export function waitingKeys(
  tx: Tx,
  partnerId: string,
  { made, afterId, rowsMax }: Page,
): Promise<readonly { readonly id: string; readonly isBulk: boolean }[]> {
  const [alone, bulk] =
    made === 'any'
      ? [noSql, noSql]
      : 'by' in made
        ? [sql`and requested_by = ${made.by}`, sql`having bool_or(requested_by = ${made.by})`]
        : [sql`and requested_by <> ${made.notBy}`, sql`having bool_and(requested_by <> ${made.notBy})`]
  return tx.rows(sql`/* payouts.waitingKeys */
    (select payout_id as id, false as is_bulk from payouts.approvals
      where partner_id = ${partnerId} and decision is null and bulk_id is null
        ${afterId === null ? noSql : sql`and payout_id < ${afterId}`} ${alone}
      order by payout_id desc limit ${rowsMax})
    union all
    (select bulk_id, true from payouts.approvals
      where partner_id = ${partnerId} and decision is null and bulk_id is not null
        ${afterId === null ? noSql : sql`and bulk_id < ${afterId}`}
      group by bulk_id ${bulk} order by bulk_id desc limit ${rowsMax})
    order by id desc limit ${rowsMax}`)
}

type WaitingAlone = PayoutRow & { readonly requestedName: string; readonly expiresAt: Date }

export async function waitingAlone(
  tx: Tx,
  partnerId: string,
  ids: readonly string[],
): Promise<readonly WaitingAlone[]> {
  if (ids.length === 0) return []
  return tx.rows<WaitingAlone>(sql`/* payouts.waitingAlone */
    select payout.*, approval.requested_name, approval.expires_at
    from (select ${payoutColumns} from payouts.payouts where partner_id = ${partnerId} and id = any(${[...ids]}::uuid[])) as payout
      join payouts.approvals approval on approval.partner_id = ${partnerId} and approval.payout_id = payout.id
    where approval.decision is null`)
}

export type BulkSum = {
  readonly bulkId: string
  readonly currency: Currency
  readonly payouts: bigint
  readonly amount: Minor
  readonly expiresAt: Date
  readonly createdAt: Date
  readonly requestedNames: readonly string[]
}

/** The payouts that wait of some bulks, added up by currency. */
export async function waitingOfBulks(
  tx: Tx,
  partnerId: string,
  bulkIds: readonly string[],
): Promise<readonly BulkSum[]> {
  if (bulkIds.length === 0) return []
  return tx.rows<BulkSum>(sql`/* payouts.waitingOfBulks */
    select approval.bulk_id, payout.currency, count(*) as payouts, sum(payout.amount)::bigint as amount,
      min(approval.expires_at) as expires_at, min(payout.created_at) as created_at,
      array_agg(distinct approval.requested_name order by approval.requested_name) as requested_names
    from payouts.approvals approval
      join payouts.payouts payout on payout.partner_id = ${partnerId} and payout.id = approval.payout_id
    where approval.partner_id = ${partnerId} and approval.decision is null and approval.bulk_id = any(${[...bulkIds]}::uuid[])
    group by approval.bulk_id, payout.currency order by approval.bulk_id, payout.currency`)
}
