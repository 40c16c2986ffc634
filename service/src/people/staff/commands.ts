/**
 * Lets commands act for a staff member: after a sign-in that the person confirms at the desk, or with a token for a
 * schedule.
 */
import { newLinkToken, notFound, Refusal } from '../../kernel/api/index.ts'
import { operatorPartnerId } from '../../cases/index.ts'
import { after, dayMs, newId, randomBytes, tokenHash } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import {
  commandSessionMs,
  confirmMs,
  originCharsMax,
  scheduleTokenDaysMax,
  staffRealmId,
  userCodeHash,
  formatUserCode,
} from './rules.ts'
import type { StaffDeps } from './deps.ts'
import * as store from './store.ts'

export type CommandRequest = store.RequestRow
/** The staff member for whom a command acts. `commands`: the allowed commands. Null: every command of the role. */
export type Bearer = {
  readonly tokenId: string
  readonly account: store.AccountRow
  readonly commands: readonly string[] | null
  readonly expiresAt: Date
}

/** The person at the desk who confirms. */
type ConfirmingStaff = { readonly session: { readonly ip: string }; readonly account: { readonly id: string } }

export type StaffCommands = {
  /**
   * Begins a device sign-in as in RFC 8628. The command stores the token, which is valid once a person has typed and
   * confirmed the code at the desk, within ten minutes.
   */
  readonly request: (origin: string) => Promise<{
    readonly id: string
    readonly token: string
    readonly userCode: string
    readonly confirmBefore: Date
  }>
  /** Finds the sign-in of a code. Refuses: not_found (the code is wrong, was used, or has expired). */
  readonly findRequest: (userCode: string) => Promise<CommandRequest>
  /** Lets the command act for the person for an hour. Refuses: not_found, permission_denied. */
  readonly confirm: (signed: ConfirmingStaff, userCode: string) => Promise<CommandRequest>
  /** Finds the person of a token. `waiting`: not confirmed yet. Undefined: no such token, it has ended, or its person was removed. */
  readonly bearer: (token: string) => Promise<Bearer | 'waiting' | undefined>
  /** Issues a token for the commands of a schedule. Refuses: validation_failed. */
  readonly issue: (
    tx: Tx,
    by: string,
    given: { readonly commands: readonly string[]; readonly days: number; readonly origin: string },
  ) => Promise<{ readonly id: string; readonly token: string; readonly expiresAt: Date }>
  /** Lists the valid tokens of everyone or of one person, newest first. */
  readonly list: (tx: Tx, staffId?: string) => Promise<readonly store.ListedToken[]>
  /** Ends a token. Refuses: not_found. */
  readonly end: (tx: Tx, id: string) => Promise<void>
  /** Locks the account of a command until the end of the transaction. Refuses: permission_denied (it was removed). */
  readonly hold: (tx: Tx, staffId: string) => Promise<void>
}

type StaffCommandsDeps = Pick<StaffDeps, 'db' | 'clock' | 'audit' | 'addOperator'>

export function createStaffCommands({ db, clock, audit, addOperator }: StaffCommandsDeps): StaffCommands {
  const hold = async (tx: Tx, staffId: string) => {
    const account = await store.lockAccount(tx, staffId)
    if (account === undefined) throw new Refusal('permission_denied', 'The staff account was removed.')
    return account
  }
  return {
    request: async (origin) => {
      const token = newLinkToken(staffRealmId)
      const userCode = formatUserCode(randomBytes(32))
      const now = clock.now()
      const row = { id: newId(), origin: origin.slice(0, originCharsMax), requestedAt: now }
      const confirmBefore = after(now, confirmMs)
      const hashes = { tokenHash: tokenHash(token), userCodeHash: userCodeHash(userCode) }
      await db.transaction((tx) => store.insertRequest(tx, { ...row, ...hashes, confirmBefore }))
      return { id: row.id, token, userCode, confirmBefore }
    },
    findRequest: async (userCode) => {
      const found = await store.requestByCode(db, userCodeHash(userCode), clock.now())
      if (found === undefined) throw notFound('sign-in of a command')
      return found
    },
    confirm: ({ session, account: { id } }, userCode) =>
      db.transaction(async (tx) => {
        const account = await hold(tx, id)
        const now = clock.now()
        const given = { staffId: id, now, expiresAt: after(now, commandSessionMs) }
        const confirmed = await store.confirmRequest(tx, userCodeHash(userCode), given)
        if (confirmed === undefined) throw notFound('sign-in of a command')
        await addOperator(tx, operatorPartnerId)
        const actor = { kind: 'operator', id, name: account.fullName, ip: session.ip } as const
        const subject = { staffId: id, tokenId: confirmed.id }
        const details = { origin: confirmed.origin }
        audit.append(tx, [{ partnerId: operatorPartnerId, actor, action: 'staff sign in commands', subject, details }])
        return confirmed
      }),
    bearer: async (token) => {
      const row = await store.tokenByHash(db, tokenHash(token))
      const now = clock.now()
      if (row === undefined) return undefined
      if (row.staffId === null || row.expiresAt === null) return row.confirmBefore > now ? 'waiting' : undefined
      if (row.expiresAt <= now) return undefined
      const account = await store.accountById(db, row.staffId)
      return account && { tokenId: row.id, account, commands: row.commands, expiresAt: row.expiresAt }
    },
    issue: async (tx, by, { commands, days, origin }) => {
      if (days < 1 || days > scheduleTokenDaysMax)
        throw new Refusal('validation_failed', `A token must be valid for 1 to ${scheduleTokenDaysMax} days.`)
      await hold(tx, by)
      const token = newLinkToken(staffRealmId)
      const now = clock.now()
      const row = { id: newId(), origin: origin.slice(0, originCharsMax), requestedAt: now }
      const expiresAt = after(now, days * dayMs)
      await store.insertToken(tx, { ...row, tokenHash: tokenHash(token), staffId: by, commands, expiresAt })
      return { id: row.id, token, expiresAt }
    },
    list: (tx, staffId) => store.listTokens(tx, staffId ?? null, clock.now()),
    end: async (tx, id) => {
      if (!(await store.endToken(tx, id, clock.now()))) throw notFound('token of commands')
    },
    hold: async (tx, staffId) => void (await hold(tx, staffId)),
  }
}
