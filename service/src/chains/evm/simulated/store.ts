/** All SQL of the simulated chain. Its tables do not belong to partners. */
import type { Currency, Minor } from '../../../kernel/index.ts'
import { type Sql, sql, type Tx } from '../../../postgres/index.ts'

export type SimulatedBlock = {
  readonly number: bigint
  readonly hash: string
  readonly parentHash: string
  readonly madeAt: Date
}

const blockColumns = sql`number, hash, parent_hash, made_at`

/** Locks the first block, which is never dropped, to serialise changes of the chain. */
export async function lockFirst(tx: Tx): Promise<void> {
  await tx.run(sql`/* rails.lockFirst */ select 1 from rails.sandbox_blocks where number = 0 for update`)
}

export function headBlock(tx: Tx): Promise<SimulatedBlock | undefined> {
  return tx.row<SimulatedBlock>(sql`/* rails.headBlock */
    select ${blockColumns} from rails.sandbox_blocks order by number desc limit 1`)
}

/** Inserts a block. A concurrent worker may already have created the first block. */
export async function insertBlock(tx: Tx, block: SimulatedBlock): Promise<void> {
  await tx.run(sql`/* rails.insertBlock */
    insert into rails.sandbox_blocks (number, hash, parent_hash, made_at)
    values (${block.number}, ${block.hash}, ${block.parentHash}, ${block.madeAt}) on conflict (number) do nothing`)
}

export function blocksBetween(tx: Tx, from: number, to: number): Promise<readonly SimulatedBlock[]> {
  return tx.rows<SimulatedBlock>(sql`/* rails.blocksBetween */
    select ${blockColumns} from rails.sandbox_blocks where number between ${from} and ${to} order by number`)
}

export async function deleteBlocksAbove(tx: Tx, number: bigint): Promise<void> {
  await tx.run(sql`/* rails.deleteBlocksAbove */ delete from rails.sandbox_blocks where number > ${number}`)
}

export type SimulatedTransfer = {
  readonly hash: string
  readonly currency: Currency
  readonly sender: string
  readonly recipient: string
  readonly amount: Minor
  /** Null for a simulated deposit. */
  readonly nonce: bigint | null
  /** The partner that simulated the deposit. Null for a payment. */
  readonly simulatedBy: string | null
  /** Null while the transfer waits for a block. */
  readonly blockNumber: bigint | null
  readonly receivedAt: Date
}

const transferColumns = sql`hash, currency, sender, recipient, amount, nonce, simulated_by, block_number, received_at`

export async function insertSimulatedTransfer(tx: Tx, row: SimulatedTransfer): Promise<void> {
  await tx.run(sql`/* rails.insertSimulatedTransfer */
    insert into rails.sandbox_chain_transfers (${transferColumns})
    values (${row.hash}, ${row.currency}, ${row.sender}, ${row.recipient}, ${row.amount}, ${row.nonce},
      ${row.simulatedBy}, ${row.blockNumber}, ${row.receivedAt})
    on conflict (hash) do nothing`)
}

/** Reads when the next block is due, if a transfer waits for its first block or for `confirmations`. */
export const blockDue = (
  { blockMs, confirmations }: { readonly blockMs: number; readonly confirmations: number },
  after: Date,
): Sql => sql`/* rails.blockDue */
  select head.due_at from (
    select number, made_at + make_interval(secs => ${blockMs / 1000}) as due_at from rails.sandbox_blocks
    order by number desc limit 1) as head
  where head.due_at > ${after} and exists (
    select from rails.sandbox_chain_transfers
    where block_number is null or block_number > head.number + 1 - ${confirmations}::bigint)`

/** Lists waiting transfers in the order in which a block includes them. */
export function waitingTransfers(tx: Tx): Promise<readonly SimulatedTransfer[]> {
  return tx.rows<SimulatedTransfer>(sql`/* rails.waitingTransfers */
    select ${transferColumns} from rails.sandbox_chain_transfers
    where block_number is null order by nonce nulls first, received_at, hash`)
}

export function transfersBetween(tx: Tx, from: number, to: number): Promise<readonly SimulatedTransfer[]> {
  return tx.rows<SimulatedTransfer>(sql`/* rails.transfersBetween */
    select ${transferColumns} from rails.sandbox_chain_transfers
    where block_number between ${from} and ${to} order by block_number, hash`)
}

export function simulatedTransfer(tx: Tx, hash: string): Promise<SimulatedTransfer | undefined> {
  return tx.row<SimulatedTransfer>(sql`/* rails.simulatedTransfer */
    select ${transferColumns} from rails.sandbox_chain_transfers where hash = ${hash}`)
}

export async function includeInBlock(tx: Tx, hashes: readonly string[], blockNumber: bigint): Promise<void> {
  if (hashes.length === 0) return
  await tx.run(sql`/* rails.includeInBlock */
    update rails.sandbox_chain_transfers set block_number = ${blockNumber}
    where hash = any(${[...hashes]}::text[]) and block_number is null`)
}

/** Makes the transfers of dropped blocks wait again. */
export async function removeFromBlocks(tx: Tx, above: bigint): Promise<void> {
  await tx.run(sql`/* rails.removeFromBlocks */
    update rails.sandbox_chain_transfers set block_number = null where block_number > ${above}`)
}

/** Deletes the deposits that a partner simulated in blocks above `above`, which vanish with their blocks. */
export async function deleteDepositsAbove(tx: Tx, above: bigint, simulatedBy: string): Promise<readonly string[]> {
  const rows = await tx.rows<{ hash: string }>(sql`/* rails.deleteDepositsAbove */
    delete from rails.sandbox_chain_transfers
    where block_number > ${above} and nonce is null and simulated_by = ${simulatedBy} returning hash`)
  return rows.map(({ hash }) => hash)
}

/** Counts the transactions of a sender in the blocks up to `block`. */
export async function countMinedTransactions(tx: Tx, sender: string, block: number): Promise<number> {
  const row = await tx.row<{ count: bigint }>(sql`/* rails.countMinedTransactions */
    select count(distinct nonce) as count from rails.sandbox_chain_transfers
    where sender = ${sender} and nonce is not null and block_number <= ${block}`)
  return Number(row?.count ?? 0n)
}

/** Finds the block of the newest transfer. */
export async function newestTransferBlock(tx: Tx): Promise<bigint | undefined> {
  const row = await tx.row<{ number: bigint | null }>(sql`/* rails.newestTransferBlock */
    select max(block_number) as number from rails.sandbox_chain_transfers`)
  return row?.number ?? undefined
}
