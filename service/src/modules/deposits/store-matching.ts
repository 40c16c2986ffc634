/** Reads deposits for reconciliation: the credits that the ledger has, and the deposits that money may belong to. */
import type { Currency, Minor } from '../../kernel/index.ts'
import { acrossPartners, sql, type Tx } from '../../postgres/index.ts'
import { creditsInParts } from './store-parts.ts'
import type { DepositStatus } from './rules.ts'

/** Returns the credits whose money a partner has received, also as a part that waits for the rest. */
export async function creditsCompleted(
  tx: Tx,
  connector: string,
  creditIds: readonly string[],
): Promise<readonly string[]> {
  const rows = await tx.rows<{ creditId: string }>(
    acrossPartners(
      'finds the deposits of credits, whose partner the bank does not name, by an index',
      sql`/* deposits.creditsCompleted */
        select credit_id from deposits.deposits
        where credit_id = any(${creditIds}::text[]) and connector = ${connector} and status = 'Completed'`,
    ),
  )
  const parts = await creditsInParts(tx, connector, creditIds)
  return [...rows, ...parts].map(({ creditId }) => creditId)
}

export type WaitingDeposit = {
  readonly partnerId: string
  readonly id: string
  readonly status: DepositStatus
  readonly currency: Currency
  readonly amount: Minor
  readonly reference: string
  readonly endToEndId: string
  readonly creditorReference: string | null
  readonly createdAt: Date
}

const facts = sql`partner_id, id, status, currency, amount, reference, end_to_end_id, creditor_reference, created_at`

/** The deposits that creditor references name, of all partners. */
export function depositsNamed(tx: Tx, references: readonly string[]): Promise<readonly WaitingDeposit[]> {
  return tx.rows<WaitingDeposit>(
    acrossPartners(
      'finds deposits by what a payer wrote, which does not name the partner, by an index',
      sql`/* deposits.depositsNamed */
        select ${facts} from deposits.deposits where creditor_reference = any(${references}::text[])`,
    ),
  )
}

/** Unpaid deposits of a partner with this amount, after an id, newest first. */
export function waitingOfAmount(
  tx: Tx,
  partnerId: string,
  wanted: { readonly currency: Currency; readonly amount: Minor; readonly after: string; readonly rowsMax: number },
): Promise<readonly WaitingDeposit[]> {
  return tx.rows<WaitingDeposit>(sql`/* deposits.waitingOfAmount */
    select ${facts} from deposits.deposits
    where partner_id = ${partnerId} and currency = ${wanted.currency} and amount = ${wanted.amount} and id > ${wanted.after}::uuid
      and status not in ('Completed', 'Screening')
    order by id desc limit ${wanted.rowsMax}`)
}
