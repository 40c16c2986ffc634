/** All SQL of parts: the bank credits of a deposit that is paid in parts. */
import {
  acrossPartners,
  erasePersonal,
  insertBy,
  ofPartners,
  type PersonalColumns,
  type RowOf,
  type Sql,
  sql,
  type Tx,
} from '../../postgres/index.ts'
import type { Movement, PartReads } from '../transactions/index.ts'
import type { DepositKey } from './store.ts'

/**
 * `Held`: on the account `parts`. `Screening`: in suspense, with a case that has the id of the part, while a name is under review. `Suspended`: in
 * suspense, with a case, because the deposit ended without it.
 */
export type PartStatus = 'Held' | 'Screening' | 'Credited' | 'Suspended' | 'Reversed'

const types = {
  partnerId: 'uuid',
  id: 'uuid',
  depositId: 'uuid',
  connector: 'text',
  /** The connector's id of the credit, or of the report. */
  creditId: 'text',
  notificationId: 'text',
  /** The amount that counts: without a surplus. */
  amount: 'bigint',
  status: 'text',
  /** `PartReport` as JSON. Null: the customer was erased. */
  report: 'text?',
  receivedAt: 'timestamptz',
} as const
export type PartRow = RowOf<typeof types, { status: PartStatus }>
export type Part = PartRow & {
  readonly reversedAt: Date | null
  /** The notification that took it back. */
  readonly reversedBy: string | null
}

const columns = sql`partner_id, id, deposit_id, connector, credit_id, notification_id, amount, status, report, received_at`

const newParts = insertBy<PartRow>(types, [['partnerId'], ['connector', 'receivedAt']])

/** A second part for a credit is a unique violation (`parts_credit`). */
export async function insertParts(tx: Tx, rows: readonly PartRow[]): Promise<void> {
  if (rows.length === 0) return
  await tx.run(sql`/* deposits.insertParts */ insert into deposits.parts (${columns}) ${newParts(tx, rows)}`)
}

/** The parts of deposits, oldest first. */
export async function partsOf(tx: Tx, keys: readonly DepositKey[]): Promise<readonly Part[]> {
  if (keys.length === 0) return []
  return tx.rows<Part>(sql`/* deposits.partsOf */
    select ${columns}, reversed_at, reversed_by from deposits.parts
    where ${ofPartners(keys.map((key) => key.partnerId))} and deposit_id = any(${keys.map((key) => key.id)}::uuid[])
    order by id`)
}

export type PartMoved = Pick<PartRow, 'partnerId' | 'id' | 'status'>

/** The caller holds the locks of their deposits. */
export async function moveParts(tx: Tx, moved: readonly PartMoved[]): Promise<void> {
  for (const [partnerId, ofPartner] of Map.groupBy(moved, (part) => part.partnerId))
    for (const [status, parts] of Map.groupBy(ofPartner, (part) => part.status))
      await tx.run(sql`/* deposits.moveParts */
        update deposits.parts set status = ${status}
        where partner_id = ${partnerId} and id = any(${parts.map(({ id }) => id)}::uuid[])`)
}

export async function markPartReversed(
  tx: Tx,
  { partnerId, id, status }: PartMoved,
  by: string,
  now: Date,
): Promise<void> {
  await tx.run(sql`/* deposits.markPartReversed */
    update deposits.parts set status = ${status}, reversed_at = ${now}, reversed_by = ${by}
    where partner_id = ${partnerId} and id = ${id}`)
}

/** The deposit of which a credit is a part. */
export function depositOfPart(
  tx: Tx,
  connector: string,
  creditId: string,
): Promise<(DepositKey & { readonly partId: string }) | undefined> {
  return tx.row(
    acrossPartners(
      'finds the deposit of a part, whose partner its reversal does not name, by an index',
      sql`/* deposits.depositOfPart */
        select partner_id, deposit_id as id, id as part_id from deposits.parts
        where credit_id = ${creditId} and connector = ${connector}`,
    ),
  )
}

/** Returns those of these credits that are parts: the ledger has their money. */
export function creditsInParts(
  tx: Tx,
  connector: string,
  creditIds: readonly string[],
): Promise<readonly { readonly creditId: string }[]> {
  return tx.rows(
    acrossPartners(
      'finds the parts of credits, whose partner the bank does not name, by an index',
      sql`/* deposits.creditsInParts */
        select credit_id from deposits.parts where credit_id = any(${creditIds}::text[]) and connector = ${connector}`,
    ),
  )
}

/** A part counts once it is there, whatever becomes of its session, until it is taken back or while its payer is under review. */
const counts = sql`part.status in ('Held', 'Credited', 'Suspended')`
/** The columns of `Movement`, for the monitoring of transactions. */
const movements = (partnerId: string, which: Sql): Sql => sql`/* deposits.movements */
  select part.id, deposit.transaction_id, deposit.reference, part.amount, deposit.currency, deposit.customer_id,
    nullif(part.report::json -> 'debtor' ->> 'account', '') as account, nullif(part.report::json -> 'debtor' ->> 'bic', '') as bic,
    part.received_at as created_at
  from deposits.deposits as deposit
  join deposits.parts as part on part.partner_id = ${partnerId} and part.deposit_id = deposit.id and ${counts}
  where deposit.partner_id = ${partnerId} and deposit.in_parts and ${which}`

export const partReads: PartReads = {
  areIn: (partnerId, reference) => sql`exists (/* deposits.areIn */
    select from deposits.deposits as deposit
    join deposits.parts as part on part.partner_id = ${partnerId} and part.deposit_id = deposit.id and ${counts}
    where deposit.partner_id = ${partnerId} and deposit.reference = ${reference} and deposit.in_parts)`,
  between: (partnerId, { customerId, sessionsFrom, from, to }) =>
    movements(
      partnerId,
      sql`deposit.customer_id = ${customerId} and deposit.id between ${sessionsFrom} and ${to}
        and part.id between ${from} and ${to}`,
    ),
}

export type PartMovement = Pick<
  Movement,
  'id' | 'transactionId' | 'reference' | 'amount' | 'currency' | 'customerId' | 'account' | 'bic' | 'createdAt'
>

/** The parts of the sessions with these references, oldest first. */
export async function partMovements(
  tx: Tx,
  partnerId: string,
  references: readonly string[],
): Promise<readonly PartMovement[]> {
  return references.length === 0
    ? []
    : tx.rows<PartMovement>(sql`/* deposits.partMovements */
        ${movements(partnerId, sql`deposit.reference = any(${[...references]}::text[])`)} order by part.id`)
}

const personal: PersonalColumns = { table: 'deposits.parts', by: 'deposit_id', erased: { report: null } }

/** Erases who paid the parts of deposits. */
export const eraseParts = (tx: Tx, partnerId: string, depositIds: readonly string[]) =>
  erasePersonal(tx, personal, partnerId, depositIds)
