/** The SQL of devices: the browsers from which a member has signed in. */
import { sql, type Tx } from '../postgres/index.ts'

type Device = { readonly memberId: string; readonly hash: Buffer }

/** Records the use of a device. True: the member did not use it before. Of two records at once, one is true. */
export async function recordDevice(
  tx: Tx,
  partnerId: string,
  { memberId, hash }: Device,
  { now, usedAfter, devicesMax }: { readonly now: Date; readonly usedAfter: Date; readonly devicesMax: number },
): Promise<boolean> {
  await tx.run(sql`/* sign_in.recordDevice */
    delete from sign_in.known_devices
    where partner_id = ${partnerId} and member_id = ${memberId} and last_used_at <= ${usedAfter}`)
  const known = await tx.run(sql`/* sign_in.recordDevice */
    update sign_in.known_devices set last_used_at = greatest(last_used_at, ${now})
    where partner_id = ${partnerId} and member_id = ${memberId} and device_hash = ${hash}`)
  if (known === 1) return false
  const added = await tx.run(sql`/* sign_in.recordDevice */
    insert into sign_in.known_devices (partner_id, member_id, device_hash, first_used_at, last_used_at)
    values (${partnerId}, ${memberId}, ${hash}, ${now}, ${now}) on conflict do nothing`)
  await tx.run(sql`/* sign_in.recordDevice */
    delete from sign_in.known_devices where partner_id = ${partnerId} and member_id = ${memberId} and device_hash in (
      select device_hash from sign_in.known_devices where partner_id = ${partnerId} and member_id = ${memberId}
      order by device_hash = ${hash} desc, last_used_at desc, device_hash offset ${devicesMax})`)
  return added === 1
}

export async function forgetDevices(tx: Tx, partnerId: string, memberId: string): Promise<void> {
  await tx.run(sql`/* sign_in.forgetDevices */
    delete from sign_in.known_devices where partner_id = ${partnerId} and member_id = ${memberId}`)
}
