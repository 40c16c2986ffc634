/** The SQL of erasures at identity providers. */
import { dueWork, noSql, type Sql, sql, type Tx } from '../../postgres/index.ts'

export type ErasureClaim = {
  readonly partnerId: string
  readonly id: string
  readonly provider: string
  readonly providerSession: string | null
  readonly attempts: number
}
type Key = Pick<ErasureClaim, 'partnerId' | 'id'>

/** Asks again for what a provider has refused before. `undecided`: leaves out what is kept as a proof. */
export async function queueErasures(
  tx: Tx,
  partnerId: string,
  customerId: string,
  { which, dueAt, now }: { readonly which: 'undecided' | 'all'; readonly dueAt: Date; readonly now: Date },
): Promise<void> {
  await tx.run(sql`/* identity-checks.queueErasures */
    insert into customers.identity_erasures as kept
      (partner_id, id, provider, provider_session, attempts, due_at, refused_at, created_at)
    select partner_id, id, provider, provider_session, 0, ${dueAt}::timestamptz, null::timestamptz, ${now}::timestamptz
    from customers.identity_verifications where partner_id = ${partnerId} and customer_id = ${customerId}
      ${which === 'all' ? noSql : sql`and decided_at is null`}
    on conflict (partner_id, id) do update set due_at = excluded.due_at, refused_at = null`)
}

export function partnersWithErasures(
  tx: Tx,
  now: Date,
  partnersMax: number,
): Promise<readonly { readonly partnerId: string }[]> {
  return tx.rows(
    dueWork(
      'finds partners with due erasures at identity providers, without a lock, by an index of those',
      (whose) => sql`/* identity-checks.partnersWithErasures */
        select partner_id from customers.identity_erasures where due_at <= ${now} and ${whose()}
        group by partner_id order by min(due_at), partner_id limit ${partnersMax}`,
    ),
  )
}

/** When the next erasure is due. */
export const erasuresDue = (after: Date): Sql =>
  dueWork(
    'reads when the next erasure at an identity provider is due',
    (whose) => sql`/* identity-checks.erasuresDue */
      select due_at from customers.identity_erasures where due_at > ${after} and ${whose()} order by due_at limit 1`,
  )

/** Claims due erasures until the lease ends. There is no fence: a provider may be asked twice. */
export function claimErasures(
  tx: Tx,
  partnerId: string,
  { now, until, rowsMax }: { readonly now: Date; readonly until: Date; readonly rowsMax: number },
): Promise<readonly ErasureClaim[]> {
  return tx.rows<ErasureClaim>(sql`/* identity-checks.claimErasures */
    update customers.identity_erasures set due_at = ${until}, attempts = attempts + 1
    where partner_id = ${partnerId} and id = any(array(
      select id from customers.identity_erasures where partner_id = ${partnerId} and due_at <= ${now}
      order by due_at for update skip locked limit ${rowsMax}))
    returning partner_id, id, provider, provider_session, attempts`)
}

export async function deleteErasure(tx: Tx, { partnerId, id }: Key): Promise<void> {
  await tx.run(sql`/* identity-checks.deleteErasure */
    delete from customers.identity_erasures where partner_id = ${partnerId} and id = ${id}`)
}

export async function retryErasure(tx: Tx, { partnerId, id }: Key, dueAt: Date): Promise<void> {
  await tx.run(sql`/* identity-checks.retryErasure */
    update customers.identity_erasures set due_at = ${dueAt} where partner_id = ${partnerId} and id = ${id}`)
}

export async function refuseErasure(tx: Tx, { partnerId, id }: Key, now: Date): Promise<void> {
  await tx.run(sql`/* identity-checks.refuseErasure */
    update customers.identity_erasures set due_at = null, refused_at = ${now} where partner_id = ${partnerId} and id = ${id}`)
}
