/** All SQL of a chain connector's reading: blocks, credits, and the notifications that follow. */
import type { Currency, Minor } from '../../kernel/index.ts'
import { acrossPartners, dueWork, insertBy, ofPartners, type Sql, sql, type Tx } from '../../postgres/index.ts'

export type Cursor = { readonly blockNumber: number; readonly blockHash: string; readonly headSeen: number }
type StoredCursor = { readonly blockNumber: bigint; readonly blockHash: string; readonly headSeen: bigint }

const toCursor = (row: StoredCursor | undefined): Cursor | undefined =>
  row && { blockNumber: Number(row.blockNumber), blockHash: row.blockHash, headSeen: Number(row.headSeen) }

export async function cursorOf(tx: Tx, connector: string): Promise<Cursor | undefined> {
  return toCursor(
    await tx.row<StoredCursor>(sql`/* rails.cursorOf */
      select block_number, block_hash, head_seen from rails.chain_cursors where connector = ${connector}`),
  )
}

export async function lockCursor(tx: Tx, connector: string): Promise<Cursor | undefined> {
  return toCursor(
    await tx.row<StoredCursor>(sql`/* rails.lockCursor */
      select block_number, block_hash, head_seen from rails.chain_cursors where connector = ${connector} for update`),
  )
}

export async function insertCursor(tx: Tx, connector: string, cursor: Cursor): Promise<void> {
  await tx.run(sql`/* rails.insertCursor */
    insert into rails.chain_cursors (connector, block_number, block_hash, head_seen)
    values (${connector}, ${cursor.blockNumber}, ${cursor.blockHash}, ${cursor.headSeen})
    on conflict (connector) do nothing`)
}

export function moveCursor(tx: Tx, connector: string, { blockNumber, blockHash, headSeen }: Cursor): void {
  tx.later(sql`/* rails.moveCursor */
    update rails.chain_cursors set block_number = ${blockNumber}, block_hash = ${blockHash}, head_seen = ${headSeen}
    where connector = ${connector}`)
}

/** The hashes of blocks that were read, newest first. */
export async function blocksRead(
  tx: Tx,
  connector: string,
): Promise<readonly { readonly number: number; readonly hash: string }[]> {
  const rows = await tx.rows<{ number: bigint; hash: string }>(sql`/* rails.blocksRead */
    select number, hash from rails.chain_blocks where connector = ${connector} order by number desc`)
  return rows.map(({ number, hash }) => ({ number: Number(number), hash }))
}

type Block = { readonly number: number; readonly hash: string }
const newBlocks = insertBy<Block & { readonly connector: string }>(
  { connector: 'text', number: 'bigint', hash: 'text' },
  [['connector']],
)

export function insertBlocks(tx: Tx, connector: string, blocks: readonly Block[]): void {
  const rows = blocks.map((block) => ({ ...block, connector }))
  tx.later(sql`/* rails.insertBlocks */
    insert into rails.chain_blocks (connector, number, hash) ${newBlocks(tx, rows)}
    on conflict (connector, number) do update set hash = excluded.hash`)
}

/**
 * Deletes the blocks above `last`, which the chain has dropped, and those below `first`, which are too old to be
 * dropped.
 */
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

/**
 * Stores a movement that the chain has a log of. One in doubt is confirmed; a reversed one begins again, and is booked
 * under another id.
 */
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

const facts = sql`partner_id, id, currency, amount, account, counterparty, transaction_hash, block_number, status, bookings`

/** Credits in blocks above `block`. */
export function creditsAbove(tx: Tx, connector: string, block: number): Promise<readonly CreditRow[]> {
  return tx.rows<CreditRow>(
    dueWork(
      'finds the credits that a reorganisation undid, by the index of their blocks',
      (whose) => sql`/* rails.creditsAbove */
        select ${facts} from rails.chain_credits
        where connector = ${connector} and block_number > ${block} and status in ('Seen', 'Small', 'Booked', 'Doubted')
          and ${whose()}`,
    ),
  )
}

/** Credits of a status up to a block, oldest first. */
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
        select ${facts} from rails.chain_credits
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

/** Amounts booked on an address of a partner and not taken back, by token. */
export function receivedOn(
  tx: Tx,
  partnerId: string,
  accounts: readonly string[],
): Promise<readonly { readonly account: string; readonly currency: Currency; readonly amount: Minor }[]> {
  return tx.rows(sql`/* rails.receivedOn */
    select account, currency, sum(amount)::bigint as amount from rails.chain_credits
    where partner_id = ${partnerId} and account = any(${[...accounts]}::text[]) and status in ('Booked', 'Doubted')
    group by account, currency`)
}

export type NotificationRow = {
  readonly partnerId: string
  readonly id: string
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
  rows: readonly { readonly partnerId: string; readonly id: string }[],
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
