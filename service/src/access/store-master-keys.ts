/** The SQL of the master keys that a database knows. The table belongs to no partner. */
import { acrossPartners, sql, type Tx } from '../postgres/index.ts'

export type MasterKeyRow = { readonly keyId: string; readonly checkValue: Buffer; readonly createdAt: Date }
export type SealedSample = { readonly partnerId: string; readonly id: string; readonly sealed: Buffer }

/** Names the tables that the migrations have created so far. */
export async function existingTables(
  tx: Tx,
): Promise<{ readonly masterKeys: boolean; readonly serviceAccounts: boolean }> {
  const row = await tx.row<{ masterKeys: boolean; serviceAccounts: boolean }>(sql`/* access.existingTables */
    select to_regclass('access.master_keys') is not null as master_keys,
      to_regclass('access.service_accounts') is not null as service_accounts`)
  return row ?? { masterKeys: false, serviceAccounts: false }
}

export function masterKeys(tx: Tx): Promise<readonly MasterKeyRow[]> {
  return tx.rows<MasterKeyRow>(
    sql`/* access.masterKeys */ select key_id, check_value, created_at from access.master_keys order by created_at`,
  )
}

/** Locks the key records: no other process records a key until the transaction ends. */
export async function lockMasterKeys(tx: Tx): Promise<void> {
  await tx.run(sql`/* access.lockMasterKeys */ lock table access.master_keys in share row exclusive mode`)
}

export async function insertMasterKey(tx: Tx, row: Omit<MasterKeyRow, 'createdAt'>, now: Date): Promise<void> {
  await tx.run(sql`/* access.insertMasterKey */
    insert into access.master_keys (key_id, check_value, created_at)
    values (${row.keyId}, ${row.checkValue}, ${now}) on conflict (key_id) do nothing`)
}

/** Forgets the keys that no longer seal a value. Returns their ids. */
export async function deleteOtherKeys(tx: Tx, keyId: string): Promise<readonly string[]> {
  const rows = await tx.rows<{ readonly keyId: string }>(sql`/* access.deleteOtherKeys */
    delete from access.master_keys where key_id <> ${keyId} returning key_id`)
  return rows.map((row) => row.keyId)
}

/** One API secret of each key. Bytes 2 to 5 of a sealed value are the id of its key (`kernel/seal.ts`). */
export function sealedSamples(tx: Tx): Promise<readonly SealedSample[]> {
  return tx.rows<SealedSample>(
    acrossPartners(
      'the keys of a database from before migration 0026 are found by one scan, once',
      sql`/* access.sealedSamples */
        select distinct on (substring(api_secret_sealed from 2 for 4)) partner_id, id, api_secret_sealed as sealed
        from access.service_accounts order by substring(api_secret_sealed from 2 for 4), partner_id, id`,
    ),
  )
}
