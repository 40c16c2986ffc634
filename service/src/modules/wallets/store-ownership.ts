/** All SQL of proofs of ownership. */
import type { PageRequest } from '../../api/index.ts'
import { columnOf, noSql, ofPartners, sql, type Tx } from '../../postgres/index.ts'

export type OwnershipProof = {
  readonly id: string
  readonly customerId: string | null
  /** Lower case. */
  readonly address: string
  readonly status: 'Requested' | 'Proved' | 'Declared'
  readonly message: string | null
  readonly signature: string | null
  readonly vasp: string | null
  readonly createdAt: Date
  readonly expiresAt: Date | null
  readonly provedAt: Date | null
}

const columns = sql`id, customer_id, address, status, message, signature, vasp, created_at, expires_at, proved_at`

export async function insertProof(tx: Tx, partnerId: string, row: OwnershipProof): Promise<void> {
  await tx.run(sql`/* wallets.insertProof */
    insert into wallets.ownership_proofs (partner_id, ${columns})
    values (${partnerId}, ${row.id}, ${row.customerId}, ${row.address}, ${row.status}, ${row.message}, ${row.signature},
      ${row.vasp}, ${row.createdAt}, ${row.expiresAt}, ${row.provedAt})`)
}

export function lockProof(tx: Tx, partnerId: string, id: string): Promise<OwnershipProof | undefined> {
  return tx.row<OwnershipProof>(sql`/* wallets.lockProof */
    select ${columns} from wallets.ownership_proofs where partner_id = ${partnerId} and id = ${id} for update`)
}

export function proofById(tx: Tx, partnerId: string, id: string): Promise<OwnershipProof | undefined> {
  return tx.row<OwnershipProof>(sql`/* wallets.proofById */
    select ${columns} from wallets.ownership_proofs where partner_id = ${partnerId} and id = ${id}`)
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
    select ${columns} from wallets.ownership_proofs where partner_id = ${partnerId}
      ${afterId === null ? noSql : sql`and id < ${afterId}`}
      ${customerId === undefined ? noSql : sql`and customer_id = ${customerId}`}
      ${address === undefined ? noSql : sql`and address = ${address}`}
    order by id desc limit ${limit + 1}`)
}

/** Finds who has proved or declared these addresses, among these partners. */
export function knownWallets(
  tx: Tx,
  wallets: readonly { readonly partnerId: string; readonly address: string }[],
): Promise<readonly { readonly partnerId: string; readonly customerId: string | null; readonly address: string }[]> {
  const column = columnOf(wallets)
  return tx.rows(sql`/* wallets.knownWallets */
    select distinct partner_id, customer_id, address from wallets.ownership_proofs
    where ${ofPartners(column('partnerId'))} and address = any(${column('address')}::text[])
      and status in ('Proved', 'Declared')`)
}

/** Deletes the proofs of a customer whose payments are erased: until then they are evidence of them. */
export async function eraseProofs(tx: Tx, partnerId: string, customerId: string): Promise<void> {
  await tx.run(sql`/* wallets.eraseProofs */
    delete from wallets.ownership_proofs where partner_id = ${partnerId} and customer_id = ${customerId}`)
}
