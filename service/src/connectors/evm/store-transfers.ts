/** All SQL of the transfers that a chain connector sends. */
import type { ErrorKey } from '@partner-payments/wire'
import type { Currency, Minor } from '../../kernel/index.ts'
import { dueWork, ofPartners, sql, type Tx } from '../../postgres/index.ts'
import type { InstructionKey } from '../../rails/index.ts'

export type TransferEnd = 'Settled' | 'Failed'
export type Transfer = InstructionKey & {
  readonly connector: string
  readonly recipient: string
  readonly currency: Currency
  readonly amount: Minor
  readonly sender: string
  readonly nonce: bigint
  readonly gas: bigint
  /** The end that was reported before a deep reorganisation undid it. */
  readonly reported: TransferEnd | null
  readonly sentAt: Date | null
}

export type NewTransfer = InstructionKey & {
  readonly connector: string
  readonly endToEndId: string
  readonly creditorName: string
  readonly recipient: string
  readonly currency: Currency
  readonly amount: Minor
  readonly travelRuleSealed: Buffer
  readonly sender: string
  readonly nonce: bigint | null
  readonly gas: bigint | null
  readonly status: 'Refused' | 'Pending'
  readonly errorKey: ErrorKey | null
  readonly errorDetails: string | null
  readonly reasonCode: string | null
}

/** The next nonce of the account, under its lock. Undefined: this database has sent nothing from it. */
export async function lockSender(tx: Tx, connector: string, address: string): Promise<bigint | undefined> {
  const row = await tx.row<{ nextNonce: bigint }>(sql`/* rails.lockSender */
    select next_nonce from rails.chain_senders where connector = ${connector} and address = ${address} for update`)
  return row?.nextNonce
}

export async function insertSender(tx: Tx, connector: string, address: string, nextNonce: bigint): Promise<void> {
  await tx.run(sql`/* rails.insertSender */
    insert into rails.chain_senders (connector, address, next_nonce) values (${connector}, ${address}, ${nextNonce})
    on conflict (connector, address) do nothing`)
}

export async function setNextNonce(tx: Tx, connector: string, address: string, nextNonce: bigint): Promise<void> {
  await tx.run(sql`/* rails.setNextNonce */
    update rails.chain_senders set next_nonce = ${nextNonce} where connector = ${connector} and address = ${address}`)
}

export function insertNonce(
  tx: Tx,
  { connector, sender, nonce, id }: Pick<NewTransfer, 'connector' | 'sender' | 'nonce' | 'id'>,
): void {
  tx.later(sql`/* rails.insertNonce */
    insert into rails.chain_nonces (connector, address, nonce, instruction_id)
    values (${connector}, ${sender}, ${nonce}, ${id})`)
}

export function insertTransfer(tx: Tx, row: NewTransfer, now: Date): void {
  tx.later(sql`/* rails.insertTransfer */
    insert into rails.chain_transfers (partner_id, id, connector, end_to_end_id, creditor_name, recipient, currency, amount,
      travel_rule_sealed, sender, nonce, gas, status, error_key, error_details, reason_code, created_at, updated_at)
    values (${row.partnerId}, ${row.id}, ${row.connector}, ${row.endToEndId}, ${row.creditorName}, ${row.recipient},
      ${row.currency}, ${row.amount}, ${row.travelRuleSealed}, ${row.sender}, ${row.nonce}, ${row.gas}, ${row.status},
      ${row.errorKey}, ${row.errorDetails}, ${row.reasonCode}, ${now}, ${now})`)
}

export type StoredAnswer = InstructionKey & {
  readonly status: 'Refused' | 'Pending' | TransferEnd
  readonly transactionHash: string | null
  readonly errorKey: ErrorKey | null
  readonly errorDetails: string | null
  readonly reasonCode: string | null
}

export function answersOf(
  tx: Tx,
  connector: string,
  keys: readonly InstructionKey[],
): Promise<readonly StoredAnswer[]> {
  return tx.rows(sql`/* rails.answersOf */
    select partner_id, id, status, transaction_hash, error_key, error_details, reason_code from rails.chain_transfers
    where ${ofPartners(keys.map((key) => key.partnerId))} and id = any(${keys.map((key) => key.id)}::uuid[])
      and connector = ${connector}`)
}

const facts = sql`partner_id, id, connector, recipient, currency, amount, sender, nonce, gas, reported, sent_at`

/** Transfers without an end, in the order of their nonces: a due-work scan, which names no partner by design. */
export function openTransfers(tx: Tx, connector: string, transfersMax: number): Promise<readonly Transfer[]> {
  return tx.rows<Transfer>(
    dueWork(
      'finds the transfers of a chain that have no end, without a lock',
      (whose) => sql`/* rails.openTransfers */
        select ${facts} from rails.chain_transfers
        where connector = ${connector} and status = 'Pending' and ${whose()} order by nonce limit ${transfersMax}`,
    ),
  )
}

/** The amount that unfinished transfers still take from the sending account. */
export async function openAmount(tx: Tx, connector: string, currency: Currency): Promise<Minor> {
  const rows = await tx.rows<{ amount: bigint }>(
    dueWork(
      'sums what the transfers of a chain without an end still take, by the index of the open ones',
      (whose) => sql`/* rails.openAmount */
        select coalesce(sum(amount), 0)::bigint as amount from rails.chain_transfers
        where connector = ${connector} and currency = ${currency} and status = 'Pending' and ${whose()}`,
    ),
  )
  return rows.reduce((sum, { amount }) => sum + amount, 0n)
}

export type Attempt = {
  readonly attempt: number
  readonly hash: string
  readonly signed: string
  readonly feeMax: bigint
  readonly feePriority: bigint
  readonly madeAt: Date
}

/** Oldest first. */
export function attemptsOf(tx: Tx, { partnerId, id }: InstructionKey): Promise<readonly Attempt[]> {
  return tx.rows<Attempt>(sql`/* rails.attemptsOf */
    select attempt, hash, signed, fee_max, fee_priority, made_at from rails.chain_attempts
    where partner_id = ${partnerId} and transfer_id = ${id} order by attempt`)
}

/** Stores an attempt. If two workers make the same one, the first counts. Returns 1 or 0. */
export function insertAttempt(tx: Tx, { partnerId, id }: InstructionKey, row: Attempt): Promise<number> {
  return tx.run(sql`/* rails.insertAttempt */
    insert into rails.chain_attempts (partner_id, transfer_id, attempt, hash, signed, fee_max, fee_priority, made_at)
    values (${partnerId}, ${id}, ${row.attempt}, ${row.hash}, ${row.signed}, ${row.feeMax}, ${row.feePriority},
      ${row.madeAt})
    on conflict (partner_id, transfer_id, attempt) do nothing`)
}

/** `hash`: of the newest attempt, by which partners may look the transaction up while it waits. */
export async function noteSent(tx: Tx, { partnerId, id }: InstructionKey, hash: string, now: Date): Promise<void> {
  await tx.run(sql`/* rails.noteSent */
    update rails.chain_transfers set sent_at = ${now}, transaction_hash = ${hash}, updated_at = ${now}
    where partner_id = ${partnerId} and id = ${id} and status = 'Pending'`)
}

/** Ends a transfer. Returns 1, or 0 if it has ended. */
export function endTransfer(
  tx: Tx,
  { partnerId, id }: InstructionKey,
  end: { readonly status: TransferEnd; readonly minedBlock: number; readonly hash: string | null },
  now: Date,
): Promise<number> {
  return tx.run(sql`/* rails.endTransfer */
    update rails.chain_transfers set status = ${end.status}, reported = ${end.status}, mined_block = ${end.minedBlock},
      transaction_hash = coalesce(${end.hash}, transaction_hash), updated_at = ${now}
    where partner_id = ${partnerId} and id = ${id} and status = 'Pending'`)
}

/** Transfers whose end was in a block above `block`, which the chain has dropped. */
export function endedAbove(tx: Tx, connector: string, block: number): Promise<readonly InstructionKey[]> {
  return tx.rows<InstructionKey>(
    dueWork(
      'finds the transfers of a chain that a reorganisation undid, by the index of their blocks',
      (whose) => sql`/* rails.endedAbove */
        select partner_id, id from rails.chain_transfers
        where connector = ${connector} and mined_block > ${block} and ${whose()}`,
    ),
  )
}

export async function reopen(tx: Tx, { partnerId, id }: InstructionKey, now: Date): Promise<void> {
  await tx.run(sql`/* rails.reopen */
    update rails.chain_transfers set status = 'Pending', mined_block = null, sent_at = null, updated_at = ${now}
    where partner_id = ${partnerId} and id = ${id} and status <> 'Refused'`)
}

/** The transactions among these that are attempts of ours. */
export async function ownHashes(tx: Tx, hashes: readonly string[]): Promise<ReadonlySet<string>> {
  if (hashes.length === 0) return new Set()
  const rows = await tx.rows<{ hash: string }>(
    dueWork(
      'tells the transactions of a chain that are payments of ours, by the index of their hashes',
      (whose) => sql`/* rails.ownHashes */
        select hash from rails.chain_attempts where hash = any(${[...hashes]}::text[]) and ${whose()}`,
    ),
  )
  return new Set(rows.map(({ hash }) => hash))
}

/** The transfer of a transaction, with the sealed data of its parties. */
export async function transferByHash(
  tx: Tx,
  hash: string,
): Promise<(InstructionKey & { readonly travelRuleSealed: Buffer }) | undefined> {
  const [key] = await tx.rows<InstructionKey>(
    dueWork(
      'finds the transfer of a transaction of a chain, by the index of its hash',
      (whose) => sql`/* rails.transferByHash */
        select partner_id, transfer_id as id from rails.chain_attempts where hash = ${hash} and ${whose()}`,
    ),
  )
  return (
    key &&
    tx.row(sql`/* rails.transferByHash */
      select partner_id, id, travel_rule_sealed from rails.chain_transfers
      where partner_id = ${key.partnerId} and id = ${key.id}`)
  )
}
