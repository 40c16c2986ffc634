/** The SQL of support sessions. The service account of the impersonation says whether one is open. */
import { sql, type Tx } from '../postgres/index.ts'

export type SupportRow = {
  readonly partnerId: string
  readonly id: string
  readonly staff: string
  readonly reason: string
  /** Separated by spaces. */
  readonly permissions: string
  readonly createdAt: Date
  readonly expiresAt: Date
}
type NewSupport = Pick<SupportRow, 'partnerId' | 'id' | 'reason' | 'createdAt'> & {
  readonly codeHash: Buffer
  readonly codeExpiresAt: Date
}

export async function insertSupport(tx: Tx, row: NewSupport): Promise<void> {
  await tx.run(sql`/* access.insertSupport */
    insert into access.support_sessions (partner_id, id, reason, code_hash, code_expires_at, created_at)
    values (${row.partnerId}, ${row.id}, ${row.reason}, ${row.codeHash}, ${row.codeExpiresAt}, ${row.createdAt})`)
}

const open = (now: Date) => sql`account.revoked_at is null and account.expires_at > ${now}
  and account.impersonated_by is not null`

/** Uses the code. Of two requests at once, the second one waits for the row and then finds no code. */
export async function useCode(
  tx: Tx,
  partnerId: string,
  { codeHash, tokenHash, now }: { readonly codeHash: Buffer; readonly tokenHash: Buffer; readonly now: Date },
): Promise<boolean> {
  const used = await tx.run(sql`/* access.useCode */
    update access.support_sessions support set code_hash = null, token_hash = ${tokenHash}
    from access.service_accounts account
    where support.partner_id = ${partnerId} and account.partner_id = ${partnerId} and account.id = support.id
      and support.code_hash = ${codeHash} and support.code_expires_at > ${now} and ${open(now)}`)
  return used === 1
}

export function supportByToken(
  tx: Tx,
  partnerId: string,
  tokenHash: Buffer,
  now: Date,
): Promise<SupportRow | undefined> {
  return tx.row<SupportRow>(sql`/* access.supportByToken */
    select support.partner_id, support.id, account.impersonated_by as staff, support.reason,
      array_to_string(account.permissions, ' ') as permissions, support.created_at, account.expires_at
    from access.support_sessions support
    join access.service_accounts account on account.partner_id = support.partner_id and account.id = support.id
    where support.partner_id = ${partnerId} and support.token_hash = ${tokenHash} and account.partner_id = ${partnerId}
      and ${open(now)}`)
}
