/** All SQL of uploads. Each statement filters by the person, so that a person cannot read another person's file. */
import { dueWork, type Sql, sql, type Tx, unprepared } from '../../postgres/index.ts'

type Owner = { readonly partnerId: string; readonly memberId: string }

export type UploadRow = {
  readonly id: string
  readonly kind: 'Bulk' | 'Payees' | 'Customers'
  /** Null after the upload was sent. */
  readonly contentSealed: Uint8Array | null
  readonly revision: number
  /** The id of the result. Null: the upload was not sent. */
  readonly resultId: string | null
  readonly createdAt: Date
  readonly expiresAt: Date
}

type NewUpload = Owner & Pick<UploadRow, 'id' | 'kind' | 'contentSealed' | 'createdAt' | 'expiresAt'>

export async function insertUpload(tx: Tx, row: NewUpload): Promise<void> {
  await tx.run(sql`/* users.insertUpload */
    insert into users.uploads (partner_id, id, member_id, kind, content_sealed, revision, created_at, updated_at, expires_at)
    values (${row.partnerId}, ${row.id}, ${row.memberId}, ${row.kind}, ${row.contentSealed}, 1, ${row.createdAt},
      ${row.createdAt}, ${row.expiresAt})`)
}

/** Deletes all but the person's newest uploads of a kind. */
export async function deleteOldestUploads(
  tx: Tx,
  { partnerId, memberId }: Owner,
  kind: UploadRow['kind'],
  keptMax: number,
): Promise<void> {
  await tx.run(sql`/* users.deleteOldestUploads */
    delete from users.uploads where partner_id = ${partnerId} and member_id = ${memberId} and kind = ${kind} and id <= (
      select id from users.uploads where partner_id = ${partnerId} and member_id = ${memberId} and kind = ${kind}
      order by id desc offset ${keptMax} limit 1)`)
}

export function uploadById(
  tx: Tx,
  { partnerId, memberId }: Owner,
  kind: UploadRow['kind'],
  id: string,
  now: Date,
): Promise<UploadRow | undefined> {
  return tx.row<UploadRow>(sql`/* users.uploadById */
    select id, kind, content_sealed, revision, result_id, created_at, expires_at from users.uploads
    where partner_id = ${partnerId} and id = ${id} and member_id = ${memberId} and kind = ${kind} and expires_at > ${now}`)
}

export function unsentUploads(
  tx: Tx,
  { partnerId, memberId }: Owner,
  kind: UploadRow['kind'],
  now: Date,
  rowsMax: number,
): Promise<readonly Pick<UploadRow, 'id' | 'createdAt'>[]> {
  return tx.rows(sql`/* users.unsentUploads */
    select id, created_at from users.uploads
    where partner_id = ${partnerId} and member_id = ${memberId} and kind = ${kind} and result_id is null and expires_at > ${now}
    order by id desc limit ${rowsMax}`)
}

type Revision = { readonly id: string; readonly revision: number }

/** Returns 0 if the upload was changed or sent meanwhile, or is being sent. */
export function replaceContent(
  tx: Tx,
  { partnerId, memberId }: Owner,
  { id, revision, contentSealed }: Revision & { readonly contentSealed: Uint8Array },
  now: Date,
): Promise<number> {
  return tx.run(sql`/* users.replaceContent */
    update users.uploads set content_sealed = ${contentSealed}, revision = revision + 1, lease_id = null, leased_until = null,
      updated_at = ${now}
    where partner_id = ${partnerId} and id = ${id} and member_id = ${memberId} and revision = ${revision}
      and result_id is null and (leased_until is null or leased_until <= ${now})`)
}

/** Returns 0 if the upload was changed or sent meanwhile, or is being sent. */
export function leaseUpload(
  tx: Tx,
  { partnerId, memberId }: Owner,
  { id, revision, leaseId, until }: Revision & { readonly leaseId: string; readonly until: Date },
  now: Date,
): Promise<number> {
  return tx.run(sql`/* users.leaseUpload */
    update users.uploads set lease_id = ${leaseId}, leased_until = ${until}
    where partner_id = ${partnerId} and id = ${id} and member_id = ${memberId} and revision = ${revision}
      and result_id is null and (leased_until is null or leased_until <= ${now})`)
}

type Lease = { readonly id: string; readonly leaseId: string }

export async function releaseUpload(tx: Tx, { partnerId, memberId }: Owner, { id, leaseId }: Lease): Promise<void> {
  await tx.run(sql`/* users.releaseUpload */
    update users.uploads set lease_id = null, leased_until = null
    where partner_id = ${partnerId} and id = ${id} and member_id = ${memberId} and lease_id = ${leaseId}`)
}

export async function finishUpload(
  tx: Tx,
  { partnerId, memberId }: Owner,
  { id, leaseId, resultId }: Lease & { readonly resultId: string },
  now: Date,
): Promise<void> {
  await tx.run(sql`/* users.finishUpload */
    update users.uploads set content_sealed = null, result_id = ${resultId}, lease_id = null, leased_until = null, updated_at = ${now}
    where partner_id = ${partnerId} and id = ${id} and member_id = ${memberId} and lease_id = ${leaseId}`)
}

export function deleteUpload(
  tx: Tx,
  { partnerId, memberId }: Owner,
  kind: UploadRow['kind'],
  id: string,
): Promise<number> {
  return tx.run(sql`/* users.deleteUpload */
    delete from users.uploads where partner_id = ${partnerId} and id = ${id} and member_id = ${memberId} and kind = ${kind}`)
}

/** Deletes the uploads of a removed member. */
export async function deleteUploadsOf(tx: Tx, partnerId: string, memberId: string): Promise<void> {
  await tx.run(sql`/* users.deleteUploadsOf */
    delete from users.uploads where partner_id = ${partnerId} and member_id = ${memberId}`)
}

/** Deletes the partner's files that were not sent, because their sealed rows may name the erased customer or its payees. */
export async function eraseUploads(tx: Tx, partnerId: string): Promise<void> {
  await tx.run(sql`/* users.eraseUploads */
    delete from users.uploads where partner_id = ${partnerId} and content_sealed is not null`)
}

export const uploadsDue = (after: Date): Sql =>
  dueWork(
    'reads when the next upload expires',
    (whose) => sql`/* users.uploadsDue */
      select expires_at as due_at from users.uploads where expires_at > ${after} and ${whose()} order by expires_at limit 1`,
  )

export async function partnerWithExpiredUploads(tx: Tx, afterId: string, now: Date): Promise<string | undefined> {
  const [row] = await tx.rows<{ readonly partnerId: string }>(
    dueWork('finds a partner with uploads that have expired, without a lock', (whose) =>
      unprepared(sql`/* users.partnerWithExpiredUploads */
        select partner_id from users.uploads
        where expires_at <= ${now} and partner_id > ${afterId} and ${whose()} order by partner_id limit 1`),
    ),
  )
  return row?.partnerId
}

export function deleteExpiredUploads(tx: Tx, partnerId: string, now: Date, rowsMax: number): Promise<number> {
  return tx.run(sql`/* users.deleteExpiredUploads */
    delete from users.uploads where partner_id = ${partnerId} and id in (
      select id from users.uploads where partner_id = ${partnerId} and expires_at <= ${now} order by expires_at limit ${rowsMax})`)
}
