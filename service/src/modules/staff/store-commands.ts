/** All SQL of the tokens by which commands act for a person of staff. */
import { sql, type Tx } from '../../postgres/index.ts'
import type { AccountRow } from './store.ts'

export type RequestRow = {
  readonly id: string
  readonly origin: string
  readonly requestedAt: Date
}

export type TokenRow = RequestRow & {
  /** Null: no person has confirmed it. */
  readonly staffId: string | null
  /** Null: each command of the person's role. */
  readonly commands: readonly string[] | null
  readonly expiresAt: Date | null
}

const columns = sql`id, origin, requested_at, staff_id, commands, expires_at`

type NewRequest = RequestRow & {
  readonly tokenHash: Buffer
  readonly userCodeHash: Buffer
  readonly confirmBefore: Date
}

/** Adds a request, and forgets those that were not confirmed in time. */
export async function insertRequest(tx: Tx, row: NewRequest): Promise<void> {
  await tx.run(sql`/* staff.insertRequest */
    delete from staff.command_tokens where staff_id is null and confirm_before < ${row.requestedAt}`)
  await tx.run(sql`/* staff.insertRequest */
    insert into staff.command_tokens (id, token_hash, user_code_hash, origin, requested_at, confirm_before)
    values (${row.id}, ${row.tokenHash}, ${row.userCodeHash}, ${row.origin}, ${row.requestedAt}, ${row.confirmBefore})`)
}

type NewToken = RequestRow & {
  readonly tokenHash: Buffer
  readonly staffId: string
  readonly commands: readonly string[]
  readonly expiresAt: Date
}

export async function insertToken(tx: Tx, row: NewToken): Promise<void> {
  await tx.run(sql`/* staff.insertToken */
    insert into staff.command_tokens (id, token_hash, origin, staff_id, commands, requested_at, confirm_before,
      confirmed_at, expires_at)
    values (${row.id}, ${row.tokenHash}, ${row.origin}, ${row.staffId}, ${row.commands}::text[], ${row.requestedAt},
      ${row.requestedAt}, ${row.requestedAt}, ${row.expiresAt})`)
}

export function requestByCode(tx: Tx, userCodeHash: Buffer, now: Date): Promise<RequestRow | undefined> {
  return tx.row<RequestRow>(sql`/* staff.requestByCode */
    select id, origin, requested_at from staff.command_tokens
    where user_code_hash = ${userCodeHash} and staff_id is null and ended_at is null and confirm_before > ${now}`)
}

/** Undefined: the code was used, or is over. Waits for a concurrent confirmation. */
export function confirmRequest(
  tx: Tx,
  userCodeHash: Buffer,
  given: { readonly staffId: string; readonly now: Date; readonly expiresAt: Date },
): Promise<RequestRow | undefined> {
  return tx.row<RequestRow>(sql`/* staff.confirmRequest */
    update staff.command_tokens
    set staff_id = ${given.staffId}, confirmed_at = ${given.now}, expires_at = ${given.expiresAt}, user_code_hash = null
    where user_code_hash = ${userCodeHash} and staff_id is null and ended_at is null and confirm_before > ${given.now}
    returning id, origin, requested_at`)
}

/** The row of a token that has not ended, with the account of its person. */
export function tokenByHash(
  tx: Tx,
  tokenHash: Buffer,
): Promise<(TokenRow & { readonly confirmBefore: Date }) | undefined> {
  return tx.row(sql`/* staff.tokenByHash */
    select ${columns}, confirm_before from staff.command_tokens where token_hash = ${tokenHash} and ended_at is null`)
}

export type ListedToken = TokenRow & Pick<AccountRow, 'fullName' | 'email'>

/** Tokens that work now, of everyone or of one person, newest first. */
export function tokens(tx: Tx, staffId: string | null, now: Date): Promise<readonly ListedToken[]> {
  return tx.rows<ListedToken>(sql`/* staff.tokens */
    select t.id, t.origin, t.requested_at, t.staff_id, t.commands, t.expires_at, a.full_name, a.email
    from staff.command_tokens t join staff.accounts a on a.id = t.staff_id and a.removed_at is null
    where t.ended_at is null and t.expires_at > ${now} and (${staffId}::uuid is null or t.staff_id = ${staffId}::uuid)
    order by t.id desc`)
}

/** False: there is no such token, or it has ended. */
export async function endToken(tx: Tx, id: string, now: Date): Promise<boolean> {
  const ended = await tx.run(sql`/* staff.endToken */
    update staff.command_tokens set ended_at = ${now} where id = ${id} and ended_at is null`)
  return ended === 1
}

export async function endTokensOf(tx: Tx, staffId: string, now: Date): Promise<void> {
  await tx.run(sql`/* staff.endTokensOf */
    update staff.command_tokens set ended_at = ${now} where staff_id = ${staffId} and ended_at is null`)
}
