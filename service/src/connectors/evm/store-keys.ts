/** All SQL of the keys of chain connectors. They belong to no partner. */
import { sql, type Tx } from '../../postgres/index.ts'

export type KeyName = 'addresses' | 'sender'
export type KeyRow = { readonly name: KeyName; readonly publicKey: string; readonly secretSealed: Buffer }

/** An existing key stays: issued addresses depend on it. */
export async function insertKey(tx: Tx, { name, publicKey, secretSealed }: KeyRow, now: Date): Promise<void> {
  await tx.run(sql`/* rails.insertKey */
    insert into rails.chain_keys (name, public_key, secret_sealed, created_at)
    values (${name}, ${publicKey}, ${secretSealed}, ${now}) on conflict (name) do nothing`)
}

export function keyByName(tx: Tx, name: KeyName): Promise<KeyRow | undefined> {
  return tx.row<KeyRow>(sql`/* rails.keyByName */
    select name, public_key, secret_sealed from rails.chain_keys where name = ${name}`)
}

export function keys(tx: Tx): Promise<readonly Omit<KeyRow, 'secretSealed'>[]> {
  return tx.rows(sql`/* rails.keys */ select name, public_key from rails.chain_keys order by name`)
}
