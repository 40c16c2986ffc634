/** All SQL of verifications. A row is evidence: it never changes, and is deleted when its retention ends (`keptVerifications`). */
import type { NotPossibleReason } from '@partner-payments/wire'
import type { PageRequest } from '../../kernel/api/index.ts'
import { acrossPartners, columnValues, dueWork, insertBy, noSql, sql, type Sql, type Tx } from '../../postgres/index.ts'

export type VerificationRow = {
  readonly id: string
  readonly name: string
  readonly iban: string
  readonly result: 'Match' | 'CloseMatch' | 'NoMatch' | 'NotPossible'
  readonly matchedName: string | null
  readonly reason: NotPossibleReason | null
  readonly source: string
  readonly schemeReference: string | null
  readonly requestedBy: string
  readonly requestedByName: string
  readonly requestedAt: Date
  readonly answeredAt: Date
}

const columns = sql`id, name, iban, result, matched_name, reason, source, scheme_reference, requested_by,
  requested_by_name, requested_at, answered_at`

export async function insertVerification(tx: Tx, partnerId: string, row: VerificationRow): Promise<void> {
  await tx.run(sql`/* beneficiaries.insertVerification */
    insert into beneficiaries.verifications (partner_id, ${columns})
    values (${partnerId}, ${row.id}, ${row.name}, ${row.iban}, ${row.result}, ${row.matchedName}, ${row.reason},
      ${row.source}, ${row.schemeReference}, ${row.requestedBy}, ${row.requestedByName}, ${row.requestedAt},
      ${row.answeredAt})`)
}

export function verificationById(tx: Tx, partnerId: string, id: string): Promise<VerificationRow | undefined> {
  return tx.row<VerificationRow>(sql`/* beneficiaries.verificationById */
    select ${columns} from beneficiaries.verifications where partner_id = ${partnerId} and id = ${id}`)
}

/** Reads the newest answer about a name and an IBAN, at a given time or overall. */
export function verificationOfPayee(
  tx: Tx,
  partnerId: string,
  { name, iban }: Pick<VerificationRow, 'name' | 'iban'>,
  moment: Date | undefined,
): Promise<VerificationRow | undefined> {
  return tx.row<VerificationRow>(sql`/* beneficiaries.verificationOfPayee */
    select ${columns} from beneficiaries.verifications
    where partner_id = ${partnerId} and iban = ${iban} and name = ${name}
      ${moment === undefined ? noSql : sql`and answered_at <= ${moment}`}
    order by id desc limit 1`)
}

/** Reads the newest answer about each name and IBAN, by the index of payees. */
export function answersAbout(
  tx: Tx,
  partnerId: string,
  payees: readonly Pick<VerificationRow, 'name' | 'iban'>[],
): Promise<readonly VerificationRow[]> {
  const column = columnValues(payees)
  return tx.rows<VerificationRow>(sql`/* beneficiaries.answersAbout */
    select ${columns} from beneficiaries.verifications
    where partner_id = ${partnerId} and id in (
      select distinct on (answer.iban, answer.name) answer.id
      from unnest(${column('name')}::text[], ${column('iban')}::text[]) as given (name, iban)
        join beneficiaries.verifications as answer on answer.iban = given.iban and answer.name = given.name
      where answer.partner_id = ${partnerId} order by answer.iban, answer.name, answer.id desc)`)
}

export function listVerifications(
  tx: Tx,
  partnerId: string,
  iban: string | undefined,
  { limit, afterId }: PageRequest,
): Promise<readonly VerificationRow[]> {
  return tx.rows<VerificationRow>(sql`/* beneficiaries.listVerifications */
    select ${columns} from beneficiaries.verifications where partner_id = ${partnerId}
      ${iban === undefined ? noSql : sql`and iban = ${iban}`} ${afterId === null ? noSql : sql`and id < ${afterId}`}
    order by id desc limit ${limit + 1}`)
}

// The SQL of renewals: the queue of beneficiaries to verify again.

type Answer = Pick<VerificationRow, 'result' | 'answeredAt'>

/**
 * Makes the renewal due now. A worker that waits for the scheme loses its lease and discards the answer. Returns 0 if
 * the beneficiary was never verified.
 */
export function requestRenewal(tx: Tx, partnerId: string, beneficiaryId: string, now: Date): Promise<number> {
  return tx.run(sql`/* beneficiaries.requestRenewal */
    update beneficiaries.renewals set due_at = ${now}, attempts = 0, lease_id = null, leased_until = null
    where partner_id = ${partnerId} and beneficiary_id = ${beneficiaryId}`)
}

type NewAnswer = Answer & { readonly partnerId: string; readonly beneficiaryId: string; readonly attempts: number }
const newAnswers = insertBy<NewAnswer>(
  { partnerId: 'uuid', beneficiaryId: 'uuid', result: 'text', answeredAt: 'timestamptz', attempts: 'integer' },
  [['partnerId', 'result', 'answeredAt', 'attempts']],
)

/**
 * Stores answers, and ends due renewals. A worker that waits for the scheme meanwhile loses its lease. The caller has
 * locked the beneficiaries.
 */
export async function storeAnswers(
  tx: Tx,
  partnerId: string,
  beneficiaryIds: readonly string[],
  { result, answeredAt }: Answer,
): Promise<void> {
  const rows = beneficiaryIds.map((beneficiaryId) => ({ partnerId, beneficiaryId, result, answeredAt, attempts: 0 }))
  await tx.run(sql`/* beneficiaries.storeAnswers */
    insert into beneficiaries.renewals (partner_id, beneficiary_id, result, answered_at, attempts)
      ${newAnswers(tx, rows)}
    on conflict (partner_id, beneficiary_id) do update set
      result = case when excluded.result = 'NotPossible' then renewals.result else excluded.result end,
      answered_at = excluded.answered_at, due_at = null, attempts = 0, lease_id = null, leased_until = null`)
}

/**
 * Times by which renewals are due. `answeredBefore`: earlier answers are due too. Null: answers never become due by
 * age.
 */
export type DueTimes = { readonly now: Date; readonly answeredBefore: Date | null }

const isDue = ({ now, answeredBefore }: DueTimes) => sql`(due_at <= ${now}
  or due_at is null and answered_at <= ${answeredBefore}) and (leased_until is null or leased_until <= ${now})`

export function partnersWithDueRenewals(
  tx: Tx,
  due: DueTimes,
  partnersMax: number,
): Promise<readonly { readonly partnerId: string }[]> {
  return tx.rows(
    dueWork(
      'finds partners with verifications to renew, without a lock',
      (whose) => sql`/* beneficiaries.partnersWithDueRenewals */
        select partner_id from beneficiaries.renewals where ${isDue(due)} and ${whose()}
        group by partner_id order by min(coalesce(due_at, answered_at)), partner_id limit ${partnersMax}`,
    ),
  )
}

/** Reads when the next requested renewal is due. */
export const renewalsDue = (after: Date): Sql =>
  dueWork(
    'reads when the next verification is due to be renewed',
    (whose) => sql`/* beneficiaries.renewalsDue */
      select due_at from beneficiaries.renewals where due_at > ${after} and ${whose()} order by due_at limit 1`,
  )

export type ClaimedRenewal = {
  readonly partnerId: string
  readonly beneficiaryId: string
  readonly result: VerificationRow['result']
  readonly attempts: number
  readonly leaseId: string
}

export function claimRenewals(
  tx: Tx,
  partnerId: string,
  lease: { readonly id: string; readonly until: Date },
  due: DueTimes,
  rowsMax: number,
): Promise<readonly ClaimedRenewal[]> {
  return tx.rows<ClaimedRenewal>(sql`/* beneficiaries.claimRenewals */
    update beneficiaries.renewals set lease_id = ${lease.id}, leased_until = ${lease.until}
    where partner_id = ${partnerId} and beneficiary_id = any(array(
      select beneficiary_id from beneficiaries.renewals where partner_id = ${partnerId} and ${isDue(due)}
      order by coalesce(due_at, answered_at) for update skip locked limit ${rowsMax}))
    returning partner_id, beneficiary_id, result, attempts, lease_id`)
}

/**
 * Ends a renewal. Returns 0 if the lease was lost, or the beneficiary was renamed or verified meanwhile. The caller
 * then discards the answer.
 */
export function endRenewal(tx: Tx, claim: ClaimedRenewal, { result, answeredAt }: Answer): Promise<number> {
  return tx.run(sql`/* beneficiaries.endRenewal */
    update beneficiaries.renewals set result = ${result}, answered_at = ${answeredAt}, due_at = null, attempts = 0,
      lease_id = null, leased_until = null
    where partner_id = ${claim.partnerId} and beneficiary_id = ${claim.beneficiaryId} and lease_id = ${claim.leaseId}`)
}

export function postponeRenewal(tx: Tx, claim: ClaimedRenewal, dueAt: Date): Promise<number> {
  return tx.run(sql`/* beneficiaries.postponeRenewal */
    update beneficiaries.renewals set due_at = ${dueAt}, attempts = ${claim.attempts + 1}, lease_id = null,
      leased_until = null
    where partner_id = ${claim.partnerId} and beneficiary_id = ${claim.beneficiaryId} and lease_id = ${claim.leaseId}`)
}

export function removeRenewal(tx: Tx, claim: ClaimedRenewal): Promise<number> {
  return tx.run(sql`/* beneficiaries.removeRenewal */
    delete from beneficiaries.renewals
    where partner_id = ${claim.partnerId} and beneficiary_id = ${claim.beneficiaryId} and lease_id = ${claim.leaseId}`)
}

export async function releaseRenewals(tx: Tx, partnerId: string): Promise<void> {
  await tx.run(sql`/* beneficiaries.releaseRenewals */
    update beneficiaries.renewals set lease_id = null, leased_until = null
    where partner_id = ${partnerId} and lease_id is not null`)
}

/** Returns when the oldest due renewal became due. If only the age of an answer makes it due, returns the time of that answer. */
export async function oldestDueRenewal(
  tx: Tx,
  { now, answeredBefore }: DueTimes,
): Promise<{ readonly dueAt: Date | null; readonly answeredAt: Date | null }> {
  const row = await tx.row<{ dueAt: Date | null; answeredAt: Date | null }>(
    acrossPartners(
      'reads how long the oldest renewal waits, by indexes',
      sql`/* beneficiaries.oldestDueRenewal */
        select min(due_at) filter (where due_at <= ${now}) as due_at,
          min(answered_at) filter (where due_at is null and answered_at <= ${answeredBefore}) as answered_at
        from beneficiaries.renewals where due_at <= ${now} or due_at is null and answered_at <= ${answeredBefore}`,
    ),
  )
  return row ?? { dueAt: null, answeredAt: null }
}
