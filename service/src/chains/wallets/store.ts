/** All SQL of wallets. */
import type { PageRequest } from '../../kernel/api/index.ts'
import type { Currency } from '../../kernel/index.ts'
import { acrossPartners, columnValues, noSql, ofPartners, sql, type Tx } from '../../postgres/index.ts'

export type Wallet = {
  readonly id: string
  /** The customer, or the partner itself. */
  readonly ownerId: string
  readonly customerId: string | null
  readonly currency: Currency
  readonly connector: string
  readonly chainId: bigint
  readonly network: string
  /** The address in lower case. */
  readonly address: string
  readonly publicKey: string
  readonly addressIndex: number
  readonly createdAt: Date
}
type WalletFilter = { readonly customerId?: string; readonly currency?: string }

const columns = sql`id, owner_id, customer_id, currency, connector, chain_id, network, address, public_key, address_index,
  created_at`

/** Locks and reads the next unused index of a public key. The lock serialises all new wallets. */
export async function lockIndex(tx: Tx, publicKey: string): Promise<number> {
  await tx.run(sql`/* wallets.lockIndex */
    insert into wallets.address_indexes (public_key, next_index) values (${publicKey}, 0)
    on conflict (public_key) do nothing`)
  const row = await tx.row<{ nextIndex: number }>(sql`/* wallets.lockIndex */
    select next_index from wallets.address_indexes where public_key = ${publicKey} for update`)
  return row?.nextIndex ?? 0
}

export async function setNextIndex(tx: Tx, publicKey: string, nextIndex: number): Promise<void> {
  await tx.run(sql`/* wallets.setNextIndex */
    update wallets.address_indexes set next_index = ${nextIndex} where public_key = ${publicKey}`)
}

export async function insertWallet(tx: Tx, partnerId: string, row: Wallet): Promise<void> {
  await tx.run(sql`/* wallets.insertWallet */
    insert into wallets.wallets (partner_id, ${columns})
    values (${partnerId}, ${row.id}, ${row.ownerId}, ${row.customerId}, ${row.currency}, ${row.connector}, ${row.chainId},
      ${row.network}, ${row.address}, ${row.publicKey}, ${row.addressIndex}, ${row.createdAt})`)
}

export function walletByOwner(
  tx: Tx,
  partnerId: string,
  ownerId: string,
  currency: Currency,
): Promise<Wallet | undefined> {
  return tx.row<Wallet>(sql`/* wallets.walletByOwner */
    select ${columns} from wallets.wallets
    where partner_id = ${partnerId} and owner_id = ${ownerId} and currency = ${currency}`)
}

export function walletById(tx: Tx, partnerId: string, id: string): Promise<Wallet | undefined> {
  return tx.row<Wallet>(sql`/* wallets.walletById */
    select ${columns} from wallets.wallets where partner_id = ${partnerId} and id = ${id}`)
}

export function listWallets(
  tx: Tx,
  partnerId: string,
  { customerId, currency }: WalletFilter,
  { limit, afterId }: PageRequest,
): Promise<readonly Wallet[]> {
  return tx.rows<Wallet>(sql`/* wallets.listWallets */
    select ${columns} from wallets.wallets where partner_id = ${partnerId}
      ${afterId === null ? noSql : sql`and id < ${afterId}`}
      ${customerId === undefined ? noSql : sql`and customer_id = ${customerId}`}
      ${currency === undefined ? noSql : sql`and currency = ${currency}`}
    order by id desc limit ${limit + 1}`)
}

/** Finds the owners of wallets. An address is issued once, to one partner. */
export function addressOwners(
  tx: Tx,
  addresses: readonly string[],
): Promise<readonly { readonly address: string; readonly partnerId: string; readonly customerId: string | null }[]> {
  return tx.rows(
    acrossPartners(
      'finds the owner of an address that has received tokens, by an index',
      sql`/* wallets.addressOwners */
        select address, partner_id, customer_id from wallets.wallets
        where address = any(${[...addresses]}::text[]) and closed_at is null`,
    ),
  )
}

export function closeWallets(
  tx: Tx,
  partnerId: string,
  customerId: string,
  now: Date,
): Promise<readonly Pick<Wallet, 'id' | 'createdAt'>[]> {
  return tx.rows(sql`/* wallets.closeWallets */
    update wallets.wallets set closed_at = ${now} where partner_id = ${partnerId} and customer_id = ${customerId}
    returning id, created_at`)
}

// The SQL of proofs of ownership.

export type OwnershipProof = {
  readonly id: string
  readonly customerId: string | null
  /** The address in lower case. */
  readonly address: string
  readonly status: 'Requested' | 'Proved' | 'Declared'
  readonly message: string | null
  readonly signature: string | null
  readonly vasp: string | null
  readonly createdAt: Date
  readonly expiresAt: Date | null
  readonly provedAt: Date | null
}

const ownershipColumns = sql`id, customer_id, address, status, message, signature, vasp, created_at, expires_at, proved_at`

export async function insertProof(tx: Tx, partnerId: string, row: OwnershipProof): Promise<void> {
  await tx.run(sql`/* wallets.insertProof */
    insert into wallets.ownership_proofs (partner_id, ${ownershipColumns})
    values (${partnerId}, ${row.id}, ${row.customerId}, ${row.address}, ${row.status}, ${row.message}, ${row.signature},
      ${row.vasp}, ${row.createdAt}, ${row.expiresAt}, ${row.provedAt})`)
}

export function lockProof(tx: Tx, partnerId: string, id: string): Promise<OwnershipProof | undefined> {
  return tx.row<OwnershipProof>(sql`/* wallets.lockProof */
    select ${ownershipColumns} from wallets.ownership_proofs where partner_id = ${partnerId} and id = ${id} for update`)
}

export function proofById(tx: Tx, partnerId: string, id: string): Promise<OwnershipProof | undefined> {
  return tx.row<OwnershipProof>(sql`/* wallets.proofById */
    select ${ownershipColumns} from wallets.ownership_proofs where partner_id = ${partnerId} and id = ${id}`)
}

export async function proveOwnership(
  tx: Tx,
  partnerId: string,
  { id, signature, provedAt }: { readonly id: string; readonly signature: string; readonly provedAt: Date },
): Promise<void> {
  await tx.run(sql`/* wallets.proveOwnership */
    update wallets.ownership_proofs set status = 'Proved', signature = ${signature}, proved_at = ${provedAt}
    where partner_id = ${partnerId} and id = ${id}`)
}

export function listProofs(
  tx: Tx,
  partnerId: string,
  { customerId, address }: { readonly customerId?: string; readonly address?: string },
  { limit, afterId }: PageRequest,
): Promise<readonly OwnershipProof[]> {
  return tx.rows<OwnershipProof>(sql`/* wallets.listProofs */
    select ${ownershipColumns} from wallets.ownership_proofs where partner_id = ${partnerId}
      ${afterId === null ? noSql : sql`and id < ${afterId}`}
      ${customerId === undefined ? noSql : sql`and customer_id = ${customerId}`}
      ${address === undefined ? noSql : sql`and address = ${address}`}
    order by id desc limit ${limit + 1}`)
}

/** Lists wallets with one of these partners and addresses that are proved or declared. */
export function provedWallets(
  tx: Tx,
  wallets: readonly { readonly partnerId: string; readonly address: string }[],
): Promise<readonly { readonly partnerId: string; readonly customerId: string | null; readonly address: string }[]> {
  const column = columnValues(wallets)
  return tx.rows(sql`/* wallets.provedWallets */
    select distinct partner_id, customer_id, address from wallets.ownership_proofs
    where ${ofPartners(column('partnerId'))} and address = any(${column('address')}::text[])
      and status in ('Proved', 'Declared')`)
}

/** Deletes the proofs of a customer whose payments are erased. Until then they are evidence. */
export async function eraseProofs(tx: Tx, partnerId: string, customerId: string): Promise<void> {
  await tx.run(sql`/* wallets.eraseProofs */
    delete from wallets.ownership_proofs where partner_id = ${partnerId} and customer_id = ${customerId}`)
}
