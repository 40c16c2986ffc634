/** The SQL of identities: who a member is at a provider of single sign-on. */
import { sql, type Tx } from '../postgres/index.ts'

export type Identity = { readonly issuer: string; readonly subject: string }

/** The member of an identity, also one who was removed. */
export async function memberOf(tx: Tx, partnerId: string, { issuer, subject }: Identity): Promise<string | undefined> {
  const row = await tx.row<{ readonly memberId: string }>(sql`/* sign_in.memberOf */
    select member_id from sign_in.identities
    where partner_id = ${partnerId} and issuer = ${issuer} and subject = ${subject}`)
  return row?.memberId
}

/**
 * Connects an identity with a member, in place of the one that the member had at the provider. `replaced`: the member whose identity
 * it was before. False: it is another member's meanwhile.
 */
export async function connect(
  tx: Tx,
  partnerId: string,
  { issuer, subject }: Identity,
  { memberId, replaced, now }: { readonly memberId: string; readonly replaced: string | null; readonly now: Date },
): Promise<boolean> {
  await tx.run(sql`/* sign_in.connect */
    delete from sign_in.identities
    where partner_id = ${partnerId} and issuer = ${issuer} and member_id = ${memberId} and subject <> ${subject}`)
  const connected = await tx.run(sql`/* sign_in.connect */
    insert into sign_in.identities (partner_id, issuer, subject, member_id, connected_at)
    values (${partnerId}, ${issuer}, ${subject}, ${memberId}, ${now})
    on conflict (partner_id, issuer, subject) do update
      set member_id = excluded.member_id, connected_at = excluded.connected_at
      where identities.member_id = excluded.member_id or identities.member_id = ${replaced}::uuid`)
  return connected === 1
}

/** The time at which a member was connected at a provider. */
export async function connectedSince(
  tx: Tx,
  partnerId: string,
  issuer: string,
  memberId: string,
): Promise<Date | undefined> {
  const row = await tx.row<{ readonly connectedAt: Date }>(sql`/* sign_in.connectedSince */
    select connected_at from sign_in.identities
    where partner_id = ${partnerId} and issuer = ${issuer} and member_id = ${memberId}`)
  return row?.connectedAt
}

export async function recordUse(tx: Tx, partnerId: string, { issuer, subject }: Identity, now: Date): Promise<void> {
  await tx.run(sql`/* sign_in.recordUse */
    update sign_in.identities set last_used_at = ${now}
    where partner_id = ${partnerId} and issuer = ${issuer} and subject = ${subject}`)
}
