/** The SQL of the kept states of verification. A state is written under the lock of its customer. */
import type { VerificationState } from '@partner-payments/wire'
import { dueWork, sql, type Tx } from '../../postgres/index.ts'
import type { CustomerType } from './rules.ts'

/** Stored result of a verification. `state` is null if the KYC cannot be read. */
export type KeptVerification = {
  readonly verificationState: VerificationState | null
  /** When the state may change without a change of the data. */
  readonly verificationDueAt: Date | null
}

/** The first partner after `afterId` with customers whose KYC was created or changed by a process that keeps no state. */
export async function partnerWithUnverified(tx: Tx, afterId: string): Promise<string | undefined> {
  const row = await tx.row<{ readonly partnerId: string }>(
    dueWork(
      'finds a partner with customers to verify, without a lock, by an index of those',
      (whose) => sql`/* customers.partnerWithUnverified */
      select partner_id from customers.customers
      where partner_id > ${afterId} and ${whose()} and erased_at is null
        and (verified_at is null or verified_at < updated_at)
      order by partner_id limit 1`,
    ),
  )
  return row?.partnerId
}

/** The partner of the customer whose state has been due for the longest time. */
export async function partnerWithVerificationDue(tx: Tx, now: Date): Promise<string | undefined> {
  const row = await tx.row<{ readonly partnerId: string }>(
    dueWork(
      'finds a partner with states that a date has changed, without a lock, by an index of those',
      (whose) => sql`/* customers.partnerWithVerificationDue */
      select partner_id from customers.customers
      where ${whose()} and erased_at is null and verification_due_at <= ${now}
      order by verification_due_at limit 1`,
    ),
  )
  return row?.partnerId
}

export type UnverifiedRow = { readonly id: string; readonly customerType: CustomerType; readonly kycSealed: Uint8Array }

/** Skips customers that another transaction changes, because it judges them. */
export function claimUnverified(tx: Tx, partnerId: string, rowsMax: number): Promise<readonly UnverifiedRow[]> {
  return tx.rows(sql`/* customers.claimUnverified */
    select id, customer_type, kyc_sealed from customers.customers
    where partner_id = ${partnerId} and erased_at is null and (verified_at is null or verified_at < updated_at)
    order by id limit ${rowsMax}
    for no key update skip locked`)
}

/** Skips customers that another transaction changes, because it judges them. */
export function claimVerificationDue(
  tx: Tx,
  partnerId: string,
  now: Date,
  rowsMax: number,
): Promise<readonly UnverifiedRow[]> {
  return tx.rows(sql`/* customers.claimVerificationDue */
    select id, customer_type, kyc_sealed from customers.customers
    where partner_id = ${partnerId} and erased_at is null and verification_due_at <= ${now}
    order by verification_due_at limit ${rowsMax}
    for no key update skip locked`)
}

export async function keepVerifications(
  tx: Tx,
  partnerId: string,
  kept: readonly (KeptVerification & { readonly id: string })[],
): Promise<void> {
  await tx.run(sql`/* customers.keepVerifications */
    update customers.customers set verification_state = kept.state, verification_due_at = kept.due_at, verified_at = updated_at
    from unnest(${kept.map(({ id }) => id)}::uuid[], ${kept.map((each) => each.verificationState)}::text[],
      ${kept.map((each) => each.verificationDueAt)}::timestamptz[]) as kept (id, state, due_at)
    where customers.partner_id = ${partnerId} and customers.id = kept.id`)
}
