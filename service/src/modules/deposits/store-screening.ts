/** All SQL of deposits that wait for a decision about a name. */
import { acrossPartners, dueWork, type Sql, sql, type Tx } from '../../postgres/index.ts'
import type { Deposit, DepositKey } from './store.ts'

/** Deposits to look at again: the due-work scan, without a lock. */
export function depositsInScreening(tx: Tx, now: Date, rowsMax: number): Promise<readonly DepositKey[]> {
  return tx.rows<DepositKey>(
    dueWork(
      'finds partners with deposits that wait for a decision about a name, without a lock',
      (whose) => sql`/* deposits.depositsInScreening */
      select partner_id, id from deposits.deposits where screening_due_at <= ${now} and ${whose()}
      order by screening_due_at limit ${rowsMax}`,
    ),
  )
}

/** When the next look at a deposit that waits is due. */
export const screenedDepositsDue = (after: Date): Sql =>
  dueWork(
    'reads when the next look at a deposit in screening is due',
    (whose) => sql`/* deposits.screenedDepositsDue */
      select screening_due_at as due_at from deposits.deposits where screening_due_at > ${after} and ${whose()}
      order by screening_due_at limit 1`,
  )

/**
 * Postpones the next look at deposits that still wait. Locks in the order of the ids, so that two workers cannot
 * deadlock.
 */
export async function lookAgain(tx: Tx, partnerId: string, ids: readonly string[], dueAt: Date): Promise<void> {
  await tx.run(sql`/* deposits.lookAgain */
    update deposits.deposits set screening_due_at = ${dueAt}
    where partner_id = ${partnerId} and id = any(array(
      select id from deposits.deposits where partner_id = ${partnerId} and id = any(${ids}::uuid[])
        and screening_due_at is not null
      order by id for update))`)
}

/** The time since which the oldest of all partners waits; null: none does. */
export async function oldestInScreening(tx: Tx): Promise<Date | null> {
  const row = await tx.row<{ since: Date }>(
    acrossPartners(
      'reads since when the oldest deposit waits for a decision about a name, for a metric',
      sql`/* deposits.oldestInScreening */ select screening_since as since from deposits.deposits
        where screening_since is not null order by screening_since limit 1`,
    ),
  )
  return row?.since ?? null
}

/** Undefined: there is no such deposit. */
export function payerOf(
  tx: Tx,
  { partnerId, id }: DepositKey,
): Promise<
  { readonly debtor: string | null; readonly craftText: string | null; readonly isInScreening: boolean } | undefined
> {
  return tx.row(sql`/* deposits.payerOf */
    select debtor, craft_text, status = 'Screening' as is_in_screening from deposits.deposits
    where partner_id = ${partnerId} and id = ${id}`)
}

export type WaitingRow = DepositKey & {
  readonly status: string
  readonly screeningSince: Date | null
  readonly heldSince: Date | null
}
const waitingColumns = sql`partner_id, id, status, screening_since, held_since`

/** Deposits that wait for a decision about a name, the longest wait first. */
export function heldDeposits(tx: Tx, rowsMax: number): Promise<readonly WaitingRow[]> {
  return tx.rows<WaitingRow>(
    acrossPartners(
      'lists deposits that wait for a decision about a name, by an index',
      sql`/* deposits.heldDeposits */ select ${waitingColumns} from deposits.deposits
        where screening_since is not null order by screening_since limit ${rowsMax}`,
    ),
  )
}

/** Deposits that the bank has had since before a time, the longest wait first. */
export function standingDeposits(tx: Tx, before: Date, rowsMax: number): Promise<readonly WaitingRow[]> {
  return tx.rows<WaitingRow>(
    acrossPartners(
      'lists deposits that stand still, by an index',
      sql`/* deposits.standingDeposits */ select ${waitingColumns} from deposits.deposits
        where held_since < ${before} order by held_since limit ${rowsMax}`,
    ),
  )
}

/** Reads these deposits of a partner, if they may wait for a person. */
export function waitingByIds(tx: Tx, partnerId: string, ids: readonly string[]): Promise<readonly WaitingRow[]> {
  return tx.rows<WaitingRow>(sql`/* deposits.waitingByIds */
    select ${waitingColumns} from deposits.deposits
    where partner_id = ${partnerId} and id = any(${[...ids]}::uuid[]) and (screening_since is not null or held_since is not null)`)
}

/** The deposits of a customer, of one payer or of a partner that wait for a decision about a name, the longest wait first. */
export function depositsOfHit(
  tx: Tx,
  { partnerId, subjectKind, subjectId }: Readonly<Record<'partnerId' | 'subjectKind' | 'subjectId', string>>,
  rowsMax: number,
): Promise<readonly (Pick<Deposit, 'id' | 'reference' | 'amount' | 'currency'> & { readonly since: Date })[]> {
  const ofParty = {
    customer: sql`customer_id = ${subjectId}`,
    payer: sql`id = ${subjectId}`,
    partner: sql`customer_id is null`,
  }[subjectKind]
  if (ofParty === undefined) return Promise.resolve([])
  return tx.rows(sql`/* deposits.depositsOfHit */
    select id, reference, amount, currency, screening_since as since from deposits.deposits
    where partner_id = ${partnerId} and screening_since is not null and ${ofParty}
    order by screening_since, id limit ${rowsMax}`)
}
