/** The SQL that reads account movements after a position, for many accounts at a time. */
import { columnOf, ofOnePartner, sql, type Tx, unprepared } from '../postgres/index.ts'
import type { AccountState } from './account-states.ts'
import type { AccountRow, TransferRow } from './store.ts'

/** An account, and the transfer up to which its transfers are known. */
export type AccountPosition = { readonly partnerId: string; readonly accountId: string; readonly position: string }

export type StandingRow = Pick<AccountRow, 'posted' | 'reserved'> & {
  readonly accountId: string
  /** Null: Active. */
  readonly state: AccountState | null
  readonly hasMoved: boolean
  readonly isQuiet: boolean
}

/**
 * All standings in one snapshot. Each position is one lookup in the primary key, whatever the number of transfers after
 * it.
 */
export function standings(tx: Tx, positions: readonly AccountPosition[], end: string): Promise<readonly StandingRow[]> {
  const column = columnOf(positions)
  const partnerIds = column('partnerId')
  return tx.rows<StandingRow>(
    unprepared(sql`/* ledger.standings */
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
  /** Counts the transfers of the partner after the position, from 1. */
  readonly place: bigint
}

/**
 * Reads the account's transfers among the next `transfersMax` of the partner after each position, and the last transfer
 * of all, which marks how far was read.
 */
export function movementsBehind(
  tx: Tx,
  positions: readonly AccountPosition[],
  end: string,
  transfersMax: number,
): Promise<readonly MovementRow[]> {
  const column = columnOf(positions)
  const partnerIds = column('partnerId')
  return tx.rows<MovementRow>(
    unprepared(sql`/* ledger.movementsBehind */
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
