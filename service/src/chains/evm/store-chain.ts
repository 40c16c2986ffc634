/** All SQL of chain connectors: blocks, credits, notifications, transfers and keys. */
import type { Currency, Minor, Sealer } from '../../kernel/index.ts'
import {
  acrossPartners,
  dueWork,
  insertBy,
  ofPartners,
  type SealedColumn,
  type Sql,
  sql,
  type Tx,
} from '../../postgres/index.ts'
import type { ErrorKey } from '@partner-payments/wire'
import type { InstructionKey } from '../../rails/index.ts'

export type ChainCursor = { readonly blockNumber: number; readonly blockHash: string; readonly headSeen: number }
type StoredCursor = { readonly blockNumber: bigint; readonly blockHash: string; readonly headSeen: bigint }

const toCursor = (row: StoredCursor | undefined): ChainCursor | undefined =>
  row && { blockNumber: Number(row.blockNumber), blockHash: row.blockHash, headSeen: Number(row.headSeen) }

export async function readCursor(tx: Tx, connector: string): Promise<ChainCursor | undefined> {
  return toCursor(
    await tx.row<StoredCursor>(sql`/* rails.readCursor */
      select block_number, block_hash, head_seen from rails.chain_cursors where connector = ${connector}`),
  )
}

export async function lockCursor(tx: Tx, connector: string): Promise<ChainCursor | undefined> {
  return toCursor(
    await tx.row<StoredCursor>(sql`/* rails.lockCursor */
      select block_number, block_hash, head_seen from rails.chain_cursors where connector = ${connector} for update`),
  )
}

export async function insertCursor(tx: Tx, connector: string, cursor: ChainCursor): Promise<void> {
  await tx.run(sql`/* rails.insertCursor */
    insert into rails.chain_cursors (connector, block_number, block_hash, head_seen)
    values (${connector}, ${cursor.blockNumber}, ${cursor.blockHash}, ${cursor.headSeen})
    on conflict (connector) do nothing`)
}

export function moveCursor(tx: Tx, connector: string, { blockNumber, blockHash, headSeen }: ChainCursor): void {
  tx.later(sql`/* rails.moveCursor */
    update rails.chain_cursors set block_number = ${blockNumber}, block_hash = ${blockHash}, head_seen = ${headSeen}
    where connector = ${connector}`)
}

/** Lists the hashes of read blocks, newest first. */
export async function listReadBlocks(
  tx: Tx,
  connector: string,
): Promise<readonly { readonly number: number; readonly hash: string }[]> {
  const rows = await tx.rows<{ number: bigint; hash: string }>(sql`/* rails.listReadBlocks */
    select number, hash from rails.chain_blocks where connector = ${connector} order by number desc`)
  return rows.map(({ number, hash }) => ({ number: Number(number), hash }))
}

type BlockHash = { readonly number: number; readonly hash: string }
const newBlocks = insertBy<BlockHash & { readonly connector: string }>(
  { connector: 'text', number: 'bigint', hash: 'text' },
  [['connector']],
)

export function insertBlocks(tx: Tx, connector: string, blocks: readonly BlockHash[]): void {
  const rows = blocks.map((block) => ({ ...block, connector }))
  tx.later(sql`/* rails.insertBlocks */
    insert into rails.chain_blocks (connector, number, hash) ${newBlocks(tx, rows)}
    on conflict (connector, number) do update set hash = excluded.hash`)
}

/** Deletes blocks above `last`, which the chain has dropped, and below `first`, which are too old to be dropped. */
export function deleteBlocks(
  tx: Tx,
  connector: string,
  { first, last }: { readonly first: number; readonly last: number },
): void {
  tx.later(sql`/* rails.deleteBlocks */
    delete from rails.chain_blocks where connector = ${connector} and (number > ${last} or number < ${first})`)
}

export type CreditStatus = 'Seen' | 'Small' | 'Booked' | 'Doubted' | 'Reversed'
export type CreditRow = {
  readonly partnerId: string
  readonly id: string
  readonly currency: Currency
  readonly amount: Minor
  readonly account: string
  readonly counterparty: string
  readonly transactionHash: string
  readonly blockNumber: bigint
  readonly status: CreditStatus
  readonly bookings: number
}

/** Stores a movement of the chain. Confirms a doubted movement; a reversed one is booked again under another id. */
export function putCredit(tx: Tx, connector: string, row: Omit<CreditRow, 'bookings'>, now: Date): void {
  tx.later(sql`/* rails.putCredit */
    insert into rails.chain_credits (partner_id, id, connector, currency, amount, account, counterparty, transaction_hash,
      block_number, status, bookings, created_at)
    values (${row.partnerId}, ${row.id}, ${connector}, ${row.currency}, ${row.amount}, ${row.account},
      ${row.counterparty}, ${row.transactionHash}, ${row.blockNumber}, ${row.status}, 0, ${now})
    on conflict (partner_id, id) do update set block_number = excluded.block_number,
      status = case when chain_credits.status = 'Doubted' then 'Booked' when chain_credits.status = 'Reversed' then 'Seen'
        else chain_credits.status end`)
}

const creditColumns = sql`partner_id, id, currency, amount, account, counterparty, transaction_hash, block_number, status, bookings`

/** Lists credits in blocks above `block`. */
export function creditsAbove(tx: Tx, connector: string, block: number): Promise<readonly CreditRow[]> {
  return tx.rows<CreditRow>(
    dueWork(
      'finds the credits that a reorganisation undid, by the index of their blocks',
      (whose) => sql`/* rails.creditsAbove */
        select ${creditColumns} from rails.chain_credits
        where connector = ${connector} and block_number > ${block} and status in ('Seen', 'Small', 'Booked', 'Doubted')
          and ${whose()}`,
    ),
  )
}

/** Lists credits of a status up to a block, oldest first. */
export function creditsUpTo(
  tx: Tx,
  connector: string,
  status: 'Seen' | 'Doubted',
  block: number,
): Promise<readonly CreditRow[]> {
  return tx.rows<CreditRow>(
    dueWork(
      'finds the credits of a chain that are to be booked or taken back, by the index of their blocks',
      (whose) => sql`/* rails.creditsUpTo */
        select ${creditColumns} from rails.chain_credits
        where connector = ${connector} and status = ${status} and status in ('Seen', 'Small', 'Booked', 'Doubted')
          and block_number <= ${block} and ${whose()} order by block_number, id`,
    ),
  )
}

export function setCredit(
  tx: Tx,
  { partnerId, id }: Pick<CreditRow, 'partnerId' | 'id'>,
  { status, bookings }: Pick<CreditRow, 'status' | 'bookings'>,
): void {
  tx.later(
    sql`/* rails.setCredit */
    update rails.chain_credits set status = ${status}, bookings = ${bookings}
    where partner_id = ${partnerId} and id = ${id}`,
    1,
  )
}

export function deleteCredit(tx: Tx, { partnerId, id }: Pick<CreditRow, 'partnerId' | 'id'>): void {
  tx.later(sql`/* rails.deleteCredit */
    delete from rails.chain_credits where partner_id = ${partnerId} and id = ${id}`)
}

/** Sums the amounts that addresses of a partner have received and that were not reversed, by token. */
export function sumReceived(
  tx: Tx,
  partnerId: string,
  accounts: readonly string[],
): Promise<readonly { readonly account: string; readonly currency: Currency; readonly amount: Minor }[]> {
  return tx.rows(sql`/* rails.sumReceived */
    select account, currency, sum(amount)::bigint as amount from rails.chain_credits
    where partner_id = ${partnerId} and account = any(${[...accounts]}::text[]) and status in ('Booked', 'Doubted')
    group by account, currency`)
}

export type NotificationRow = InstructionKey & {
  readonly subjectId: string
  readonly kind: string
  readonly payload: string
}

export function insertNotification(tx: Tx, connector: string, row: NotificationRow, now: Date): void {
  tx.later(sql`/* rails.insertNotification */
    insert into rails.chain_notifications (partner_id, id, connector, subject_id, kind, payload, due_at)
    values (${row.partnerId}, ${row.id}, ${connector}, ${row.subjectId}, ${row.kind}, ${row.payload}, ${now})
    on conflict (partner_id, id) do nothing`)
}

export function chainNotifications(tx: Tx, connector: string, rowsMax: number): Promise<readonly NotificationRow[]> {
  return tx.rows<NotificationRow>(
    dueWork(
      'reads the notifications of a chain in order of time',
      (whose) => sql`/* rails.chainNotifications */
        select partner_id, id, subject_id, kind, payload from rails.chain_notifications
        where connector = ${connector} and ${whose()} order by due_at, id limit ${rowsMax}`,
    ),
  )
}

export async function deleteChainNotifications(
  tx: Tx,
  connector: string,
  rows: readonly InstructionKey[],
): Promise<void> {
  await tx.run(sql`/* rails.deleteChainNotifications */
    delete from rails.chain_notifications
    where ${ofPartners(rows.map(({ partnerId }) => partnerId))} and id = any(${rows.map(({ id }) => id)}::uuid[])
      and connector = ${connector}`)
}

export const chainNotificationsDue = (connector: string, after: Date): Sql =>
  dueWork(
    'reads when the next notification of a chain is due',
    (whose) => sql`/* rails.chainNotificationsDue */
      select due_at from rails.chain_notifications where connector = ${connector} and due_at > ${after} and ${whose()} order by due_at limit 1`,
  )

export async function oldestChainNotification(tx: Tx, connector: string): Promise<Date | null> {
  const row = await tx.row<{ dueAt: Date }>(
    acrossPartners(
      'reads the age of the oldest notification of a chain, for a metric',
      sql`/* rails.oldestChainNotification */
        select due_at from rails.chain_notifications where connector = ${connector} order by due_at limit 1`,
    ),
  )
  return row?.dueAt ?? null
}

// The SQL of the transfers that a chain connector sends.

export type TransferEnd = 'Settled' | 'Failed'
export type PendingTransfer = InstructionKey & {
  readonly connector: string
  readonly recipient: string
  readonly currency: Currency
  readonly amount: Minor
  readonly sender: string
  readonly nonce: bigint
  readonly gas: bigint
  /** The end that was already reported when a deep reorganisation undid it. */
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

/** Locks the sending account and reads its next nonce; undefined if this database has not sent transactions from it. */
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

export function listAnswers(
  tx: Tx,
  connector: string,
  keys: readonly InstructionKey[],
): Promise<readonly StoredAnswer[]> {
  return tx.rows(sql`/* rails.listAnswers */
    select partner_id, id, status, transaction_hash, error_key, error_details, reason_code from rails.chain_transfers
    where ${ofPartners(keys.map((key) => key.partnerId))} and id = any(${keys.map((key) => key.id)}::uuid[])
      and connector = ${connector}`)
}

const transferColumns = sql`partner_id, id, connector, recipient, currency, amount, sender, nonce, gas, reported, sent_at`

/** Lists open transfers of all partners, in the order of their nonces. */
export function listOpenTransfers(
  tx: Tx,
  connector: string,
  transfersMax: number,
): Promise<readonly PendingTransfer[]> {
  return tx.rows<PendingTransfer>(
    dueWork(
      'finds the open transfers of a chain, without a lock',
      (whose) => sql`/* rails.listOpenTransfers */
        select ${transferColumns} from rails.chain_transfers
        where connector = ${connector} and status = 'Pending' and ${whose()} order by nonce limit ${transfersMax}`,
    ),
  )
}

/** Sums the amounts that open transfers will take from the sending account. */
export async function sumOpenTransfers(tx: Tx, connector: string, currency: Currency): Promise<Minor> {
  const rows = await tx.rows<{ amount: bigint }>(
    dueWork(
      'sums the amounts of the open transfers of a chain, by their index',
      (whose) => sql`/* rails.sumOpenTransfers */
        select coalesce(sum(amount), 0)::bigint as amount from rails.chain_transfers
        where connector = ${connector} and currency = ${currency} and status = 'Pending' and ${whose()}`,
    ),
  )
  return rows.reduce((sum, { amount }) => sum + amount, 0n)
}

export type TransferAttempt = {
  readonly attempt: number
  readonly hash: string
  readonly signed: string
  readonly feeMax: bigint
  readonly feePriority: bigint
  readonly madeAt: Date
}

/** Lists the attempts of a transfer, oldest first. */
export function listAttempts(tx: Tx, { partnerId, id }: InstructionKey): Promise<readonly TransferAttempt[]> {
  return tx.rows<TransferAttempt>(sql`/* rails.listAttempts */
    select attempt, hash, signed, fee_max, fee_priority, made_at from rails.chain_attempts
    where partner_id = ${partnerId} and transfer_id = ${id} order by attempt`)
}

/** Stores an attempt. Returns 1, or 0 if another worker has already stored it. */
export function insertAttempt(tx: Tx, { partnerId, id }: InstructionKey, row: TransferAttempt): Promise<number> {
  return tx.run(sql`/* rails.insertAttempt */
    insert into rails.chain_attempts (partner_id, transfer_id, attempt, hash, signed, fee_max, fee_priority, made_at)
    values (${partnerId}, ${id}, ${row.attempt}, ${row.hash}, ${row.signed}, ${row.feeMax}, ${row.feePriority},
      ${row.madeAt})
    on conflict (partner_id, transfer_id, attempt) do nothing`)
}

/** Marks a transfer as sent. Partners can look up the transaction by `hash`, that of the newest attempt, while it waits. */
export async function markSent(tx: Tx, { partnerId, id }: InstructionKey, hash: string, now: Date): Promise<void> {
  await tx.run(sql`/* rails.markSent */
    update rails.chain_transfers set sent_at = ${now}, transaction_hash = ${hash}, updated_at = ${now}
    where partner_id = ${partnerId} and id = ${id} and status = 'Pending'`)
}

/** Ends a transfer. Returns 1, or 0 if it has already ended. */
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

/** Lists transfers that ended in a block above `block`, which the chain has dropped. */
export function transfersEndedAbove(tx: Tx, connector: string, block: number): Promise<readonly InstructionKey[]> {
  return tx.rows<InstructionKey>(
    dueWork(
      'finds the transfers of a chain that a reorganisation undid, by the index of their blocks',
      (whose) => sql`/* rails.transfersEndedAbove */
        select partner_id, id from rails.chain_transfers
        where connector = ${connector} and mined_block > ${block} and ${whose()}`,
    ),
  )
}

export async function reopenTransfer(tx: Tx, { partnerId, id }: InstructionKey, now: Date): Promise<void> {
  await tx.run(sql`/* rails.reopenTransfer */
    update rails.chain_transfers set status = 'Pending', mined_block = null, sent_at = null, updated_at = ${now}
    where partner_id = ${partnerId} and id = ${id} and status <> 'Refused'`)
}

/** Finds the hashes of our own attempts. */
export async function ownHashes(tx: Tx, hashes: readonly string[]): Promise<ReadonlySet<string>> {
  if (hashes.length === 0) return new Set()
  const rows = await tx.rows<{ hash: string }>(
    dueWork(
      'finds the transactions of a chain that are our payments, by the index of their hashes',
      (whose) => sql`/* rails.ownHashes */
        select hash from rails.chain_attempts where hash = any(${[...hashes]}::text[]) and ${whose()}`,
    ),
  )
  return new Set(rows.map(({ hash }) => hash))
}

/** Finds the transfer of a transaction, with the sealed data of its parties. */
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

// The SQL of the keys of chain connectors. Keys do not belong to partners.

export type KeyName = 'addresses' | 'sender'
export type KeyRow = { readonly name: KeyName; readonly publicKey: string; readonly secretSealed: Buffer }

/** Inserts a key. An existing key stays, because issued addresses depend on it. */
export async function insertKey(tx: Tx, { name, publicKey, secretSealed }: KeyRow, now: Date): Promise<void> {
  await tx.run(sql`/* rails.insertKey */
    insert into rails.chain_keys (name, public_key, secret_sealed, created_at)
    values (${name}, ${publicKey}, ${secretSealed}, ${now}) on conflict (name) do nothing`)
}

export function keyByName(tx: Tx, name: KeyName): Promise<KeyRow | undefined> {
  return tx.row<KeyRow>(sql`/* rails.keyByName */
    select name, public_key, secret_sealed from rails.chain_keys where name = ${name}`)
}

export function listKeys(tx: Tx): Promise<readonly Omit<KeyRow, 'secretSealed'>[]> {
  return tx.rows(sql`/* rails.listKeys */ select name, public_key from rails.chain_keys order by name`)
}

// The SQL that erases the personal data of transfers after its retention.

/** Erases the parties of ended payments, and replaces those of the travel rule by a sealed empty value. `ids`: of instructions. */
export async function eraseTransfers(tx: Tx, sealer: Sealer, partnerId: string, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  const sealed = ids.map((id) => sealer.seal('{}', travelRuleContext(partnerId, id)))
  await tx.run(sql`/* rails.eraseTransfers */
    update rails.chain_transfers set creditor_name = '', error_details = null, travel_rule_sealed = erased.sealed
    from unnest(${ids}::uuid[], ${sealed}::bytea[]) as erased (id, sealed)
    where chain_transfers.partner_id = ${partnerId} and chain_transfers.id = erased.id`)
}

// The sealed keys of chain connectors, and the sealed parties of their transfers.

/** Binds a sealed key to its name. */
export const keyContext = (name: string) => ['rails.chain_keys', name]

export const sealedChainKeys: SealedColumn = {
  table: 'rails.chain_keys',
  column: 'secret_sealed',
  key: { name: 'text' },
  isShared: true,
  contextOf: (_partnerId, cell) => keyContext(cell('name')),
}

/** Binds the sealed parties of a transfer to their row. */
export const travelRuleContext = (partnerId: string, id: string) => ['rails.travel_rule', partnerId, id]

export const sealedTravelRules: SealedColumn = {
  table: 'rails.chain_transfers',
  column: 'travel_rule_sealed',
  key: { id: 'uuid' },
  contextOf: (partnerId, cell) => travelRuleContext(partnerId, cell('id')),
}
