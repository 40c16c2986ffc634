/** All SQL of payouts. */
import type { ErrorKey, Rail } from '@partner-payments/wire'
import type { Currency, Minor } from '../../kernel/index.ts'
import { type Columns, givenBy, namesOf, noSql, ofPartners, unprepared, sql, type Tx } from '../../postgres/index.ts'
import type { PayoutStatus } from './rules.ts'

export type PayoutRow = {
  readonly partnerId: string
  readonly id: string
  readonly operation: string
  readonly idempotencyKey: string | null
  readonly requestFingerprint: string
  readonly transactionId: string
  readonly reference: string
  readonly reserveId: string
  readonly beneficiaryId: string | null
  readonly customerId: string | null
  readonly amount: Minor
  readonly currency: Currency
  readonly creditorName: string
  readonly creditorAccount: string
  readonly creditorBic: string | null
  readonly creditorCountry: string
  readonly remittance: string | null
  readonly rail: Rail
  readonly endToEndId: string
  readonly ipAddress: string
  readonly simulatedOutcome: string | null
  readonly status: PayoutStatus
  readonly errorKey: ErrorKey | null
  readonly errorDetails: string | null
  readonly sendAttempts: number
  readonly dueAt: Date | null
  readonly leaseId: string | null
  readonly createdAt: Date
  readonly updatedAt: Date
}

const types: Columns<PayoutRow> = {
  partnerId: 'uuid',
  id: 'uuid',
  operation: 'text',
  idempotencyKey: 'text',
  requestFingerprint: 'text',
  transactionId: 'uuid',
  reference: 'text',
  reserveId: 'uuid',
  beneficiaryId: 'uuid',
  customerId: 'uuid',
  amount: 'bigint',
  currency: 'text',
  creditorName: 'text',
  creditorAccount: 'text',
  creditorBic: 'text',
  creditorCountry: 'text',
  remittance: 'text',
  rail: 'text',
  endToEndId: 'text',
  ipAddress: 'text',
  simulatedOutcome: 'text',
  status: 'text',
  errorKey: 'text',
  errorDetails: 'text',
  sendAttempts: 'integer',
  dueAt: 'timestamptz',
  leaseId: 'uuid',
  createdAt: 'timestamptz',
  updatedAt: 'timestamptz',
}
const columns = namesOf(types)
const given = givenBy(types, [
  ['partnerId', 'ipAddress'],
  ['operation', 'currency', 'rail', 'status', 'sendAttempts', 'dueAt', 'createdAt', 'updatedAt'],
  ['simulatedOutcome', 'errorKey', 'errorDetails', 'leaseId'],
])

/**
 * A key that is taken is a unique violation (`payouts_key`); a concurrent holder of a key is waited for, and all take
 * them in one order.
 */
export function insertPayouts(tx: Tx, rows: readonly PayoutRow[]): void {
  tx.later(sql`
    insert into payouts.payouts (${columns}) ${given(rows)} order by partner_id, operation, idempotency_key`)
}

export type PayoutKey = { readonly partnerId: string; readonly operation: string; readonly idempotencyKey: string }

/**
 * The payouts of these keys, and perhaps others of the same partners: whoever asks matches partner, operation and key.
 * Columns against lists, each on its own: a join with `unnest` is planned once for an empty table and then reads every
 * payout of a partner for a lookup of two keys (94 to 170 ms against 1 ms on 20,000 rows).
 */
export function payoutsByKeys(tx: Tx, keys: readonly PayoutKey[]): Promise<readonly PayoutRow[]> {
  return tx.rows<PayoutRow>(sql`
    select ${columns} from payouts.payouts
    where ${ofPartners(keys.map((key) => key.partnerId))}
      and operation = any(${[...new Set(keys.map((key) => key.operation))]}::text[])
      and idempotency_key = any(${keys.map((key) => key.idempotencyKey)}::text[])`)
}

export function payoutById(tx: Tx, partnerId: string, id: string): Promise<PayoutRow | undefined> {
  return tx.row<PayoutRow>(sql`select ${columns} from payouts.payouts where partner_id = ${partnerId} and id = ${id}`)
}

export function lockPayout(tx: Tx, partnerId: string, id: string): Promise<PayoutRow | undefined> {
  return tx.row<PayoutRow>(sql`
    select ${columns} from payouts.payouts where partner_id = ${partnerId} and id = ${id} for update`)
}

/**
 * Which partners have payouts due, behind `after` in the order of their ids: the unlocked scan that finds work (it names no
 * partner by design). One probe of the index for each partner that waits for anything, however many payouts it has.
 */
export async function partnersWithDue(
  tx: Tx,
  now: Date,
  after: string,
  partnersMax: number,
): Promise<readonly string[]> {
  const rows = await tx.rows<{ partnerId: string }>(
    unprepared(sql`
      with recursive found (partner_id, due_at) as (
        (select partner_id, due_at from payouts.payouts where due_at is not null and partner_id > ${after}
          order by partner_id, due_at limit 1)
        union all
        select n.partner_id, n.due_at from found cross join lateral (
          select p.partner_id, p.due_at from payouts.payouts p
          where p.due_at is not null and p.partner_id > found.partner_id
          order by p.partner_id, p.due_at limit 1) as n)
      select partner_id from found where due_at <= ${now} limit ${partnersMax}`),
  )
  return rows.map((row) => row.partnerId)
}

/** Takes due payouts under a lease: until it ends nobody else finds them due. */
export function claimDue(
  tx: Tx,
  partnerId: string,
  claim: { readonly now: Date; readonly leaseId: string; readonly leaseUntil: Date; readonly payoutsMax: number },
): Promise<readonly PayoutRow[]> {
  return tx.rows<PayoutRow>(sql`
    update payouts.payouts set lease_id = ${claim.leaseId}, due_at = ${claim.leaseUntil}
    where partner_id = ${partnerId} and id = any(array(
      select id from payouts.payouts where partner_id = ${partnerId} and due_at <= ${claim.now}
      order by due_at, id for update skip locked limit ${claim.payoutsMax}))
    returning ${columns}`)
}

export async function releaseLeases(tx: Tx, partnerId: string, now: Date): Promise<void> {
  await tx.run(sql`
    update payouts.payouts set lease_id = null, due_at = ${now} where partner_id = ${partnerId} and lease_id is not null`)
}

export async function updatePayout(
  tx: Tx,
  partnerId: string,
  id: string,
  change: {
    readonly status: PayoutStatus
    readonly errorKey: ErrorKey | null
    readonly errorDetails: string | null
    readonly sendAttempts: number
    readonly dueAt: Date | null
    readonly leaseId: string | null
  },
  now: Date,
): Promise<void> {
  await tx.run(sql`
    update payouts.payouts set status = ${change.status}, error_key = ${change.errorKey},
      error_details = ${change.errorDetails}, send_attempts = ${change.sendAttempts}, due_at = ${change.dueAt},
      lease_id = ${change.leaseId}, updated_at = ${now}
    where partner_id = ${partnerId} and id = ${id}`)
}

export function listPayouts(
  tx: Tx,
  partnerId: string,
  filter: {
    readonly status: string | null
    readonly beneficiaryId: string | null
    readonly idempotencyKey: string | null
  },
  afterId: string | null,
  rowsMax: number,
): Promise<readonly PayoutRow[]> {
  const { status, beneficiaryId, idempotencyKey } = filter
  return tx.rows<PayoutRow>(sql`
    select ${columns} from payouts.payouts where partner_id = ${partnerId}
    ${afterId === null ? noSql : sql`and id < ${afterId}`}
    ${status === null ? noSql : sql`and status = ${status}`}
    ${beneficiaryId === null ? noSql : sql`and beneficiary_id = ${beneficiaryId}`}
    ${idempotencyKey === null ? noSql : sql`and idempotency_key = ${idempotencyKey}`}
    order by id desc limit ${rowsMax}`)
}
