/** All SQL of the mail queue. */
import { dueWork, insertBy, type RowOf, type Sql, sql, type Tx } from '../postgres/index.ts'

const types = {
  partnerId: 'uuid',
  id: 'uuid',
  kind: 'text',
  subjectId: 'uuid',
  toAddress: 'text',
  toName: 'text',
  /** A JSON object. */
  data: 'jsonb',
  secretSealed: 'bytea?',
  expiresAt: 'timestamptz?',
  createdAt: 'timestamptz',
  status: 'text',
  /** Including the current attempt. */
  attempts: 'integer',
  dueAt: 'timestamptz',
} as const
type NewMail = RowOf<typeof types, { status: 'pending' }>
export type MailRow = Omit<NewMail, 'partnerId' | 'status' | 'attempts' | 'dueAt'>
export type ClaimedMail = Omit<NewMail, 'subjectId' | 'status' | 'dueAt'> & { readonly leaseId: string }

const newMails = insertBy<NewMail>(types, [['partnerId', 'status', 'attempts', 'dueAt']])

export async function insertMails(tx: Tx, partnerId: string, mails: readonly MailRow[], now: Date): Promise<void> {
  const rows = mails.map((mail) => ({ ...mail, partnerId, status: 'pending' as const, attempts: 0, dueAt: now }))
  await tx.run(sql`/* mail.insertMails */
    insert into mail.messages (partner_id, id, kind, subject_id, to_address, to_name, data, secret_sealed, expires_at,
      created_at, status, attempts, due_at) ${newMails(tx, rows)}`)
}

/** Ends the pending mails about a subject, including leased ones. */
export async function endPendingMails(
  tx: Tx,
  partnerId: string,
  subjectId: string,
  reason: string,
  now: Date,
): Promise<void> {
  await tx.run(sql`/* mail.endPendingMails */
    update mail.messages set status = 'failed', secret_sealed = null, lease_id = null, last_error = ${reason},
      ended_at = ${now}
    where partner_id = ${partnerId} and subject_id = ${subjectId} and status = 'pending'`)
}

export async function deleteMailsEndedBefore(tx: Tx, partnerId: string, before: Date): Promise<void> {
  await tx.run(sql`/* mail.deleteMailsEndedBefore */
    delete from mail.messages where partner_id = ${partnerId} and ended_at < ${before}`)
}

/** Reads when the next mail is due. */
export const mailDue = (after: Date): Sql =>
  dueWork(
    'reads when the next mail is due',
    (whose) => sql`/* mail.mailDue */
      select min(due_at) as due_at from mail.messages where status = 'pending' and due_at > ${after} and ${whose()}`,
  )

export function partnersWithDueMail(tx: Tx, now: Date, partnersMax: number): Promise<readonly { partnerId: string }[]> {
  return tx.rows<{ partnerId: string }>(
    dueWork(
      'finds partners with mail to send, without a lock',
      (whose) => sql`/* mail.partnersWithDueMail */
      select partner_id from mail.messages where status = 'pending' and due_at <= ${now} and ${whose()}
      group by partner_id order by min(due_at) limit ${partnersMax}`,
    ),
  )
}

/** Claims due mails. Counts the attempt at the claim, so that a mail that crashes its worker is counted too. */
export function claimMails(
  tx: Tx,
  partnerId: string,
  lease: { readonly id: string; readonly until: Date },
  now: Date,
  mailsMax: number,
): Promise<readonly ClaimedMail[]> {
  return tx.rows<ClaimedMail>(sql`/* mail.claimMails */
    update mail.messages set lease_id = ${lease.id}, due_at = ${lease.until}, attempts = attempts + 1
    where partner_id = ${partnerId} and id = any(array(
      select id from mail.messages where partner_id = ${partnerId} and status = 'pending' and due_at <= ${now}
      order by due_at, id for update skip locked limit ${mailsMax}))
    returning partner_id, id, kind, to_address, to_name, data, secret_sealed, expires_at, created_at, attempts, lease_id`)
}

type LeaseKey = Pick<ClaimedMail, 'partnerId' | 'id' | 'leaseId'>

/**
 * Records that a mail was sent or has failed. Returns 0 if the lease was lost: the mail has ended, or another worker
 * has claimed it.
 */
export function endMail(
  tx: Tx,
  { partnerId, id, leaseId }: LeaseKey,
  end: { readonly status: 'sent' | 'failed'; readonly error: string | null; readonly at: Date },
): Promise<number> {
  return tx.run(sql`/* mail.endMail */
    update mail.messages set status = ${end.status}, secret_sealed = null, lease_id = null,
      last_error = coalesce(${end.error}, last_error), ended_at = ${end.at}
    where partner_id = ${partnerId} and id = ${id} and lease_id = ${leaseId} and status = 'pending'`)
}

/** Makes a mail due again. Returns 0 if the lease was lost. */
export function postponeMail(
  tx: Tx,
  { partnerId, id, leaseId }: LeaseKey,
  error: string,
  dueAt: Date,
): Promise<number> {
  return tx.run(sql`/* mail.postponeMail */
    update mail.messages set lease_id = null, last_error = ${error}, due_at = ${dueAt}
    where partner_id = ${partnerId} and id = ${id} and lease_id = ${leaseId} and status = 'pending'`)
}
