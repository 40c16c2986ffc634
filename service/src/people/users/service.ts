/** The operations of invitations. Each change and its mail share a transaction. */
import { type BodyOf, type QueryOf, users as wire } from '@partner-payments/wire'
import {
  type Caller,
  type Cursors,
  createLinkToken,
  notFound,
  type Page,
  linkPartnerId,
  Refusal,
} from '../../kernel/api/index.ts'
import { after, type Clock, dayMs, newId, present, randomBytes, tokenHash } from '../../kernel/index.ts'
import type { Access } from '../../access/index.ts'
import type { MailQueue } from '../../mail/index.ts'
import { type Database, inTransaction, sqlState, type Tx, violates } from '../../postgres/index.ts'
import { type Act, permit, type Permit, roleGrant } from './giving.ts'
import { currentCallerActor } from './makers.ts'
import { queueInvitationMails } from './mails.ts'
import type { MembersDeps } from './member-deps.ts'
import {
  utcDay,
  emailKey,
  type InvitationEntry,
  refuseBadEntries,
  refuseBadRedirect,
  refuseExcessMails,
  requireResendable,
  requireRevocable,
  refuseTakenAddresses,
  invitationStatus,
  encodeToken,
  tokenRandomBytes,
} from './rules.ts'
import * as store from './store.ts'
import { createHmac, timingSafeEqual } from 'node:crypto'

export type Invitation = Pick<
  store.InvitationRow,
  'id' | 'email' | 'role' | 'status' | 'invitedById' | 'invitedByName' | 'createdAt' | 'updatedAt'
>

export type Users = {
  /**
   * Creates all invitations or none, in the order of the request.
   * Refuses: validation_failed (address, name, redirect), permission_denied (a role above the caller's), invitation_exists (or a member),
   * rate_limited (daily limit of mails).
   */
  readonly createInvitations: (
    caller: Caller,
    body: BodyOf<'createInvitations'>,
    tx?: Tx,
  ) => Promise<readonly Invitation[]>
  /** Lists invitations, newest first. Refuses: validation_failed (cursor). */
  readonly listInvitations: (partnerId: string, query: QueryOf<'listInvitations'>) => Promise<Page<Invitation>>
  /** Reads an invitation. Refuses: not_found. */
  readonly getInvitation: (partnerId: string, id: string) => Promise<Invitation>
  /**
   * Issues a new token and revokes the previous one, whose mail is not sent if it is still queued. An expired
   * invitation becomes Pending again. From now on the caller counts as the sender who assigns the role, because
   * `redirectUrl` may lead to the caller's own page. Refuses: validation_failed (redirect), not_found,
   * permission_denied (a role above the caller's), invitation_not_pending, resend_limit_reached, resend_too_soon,
   * rate_limited (daily limit of mails).
   */
  readonly resendInvitation: (
    caller: Caller,
    id: string,
    redirectUrl: string | null | undefined,
    tx?: Tx,
  ) => Promise<Invitation>
  /** Revokes an invitation. Refuses: not_found, permission_denied (a role above the caller's), invitation_not_pending. */
  readonly revokeInvitation: (caller: Caller, id: string) => Promise<void>
  /**
   * Lists the members who have one of these roles, and the invited people who have not joined, in the order of their invitations.
   * Expired invitations count, because partners with their own pages do not report who has joined.
   */
  readonly membersWithRoles: typeof store.membersWithRoles
  /** Lists the people who are invited with one of the roles and have not joined. */
  readonly invitedWithRoles: typeof store.invitedWithRoles
  /** Finds the members and invited people with these addresses, by the address as given. */
  readonly membersByAddress: (
    tx: Tx,
    partnerId: string,
    addresses: readonly string[],
  ) => Promise<ReadonlyMap<string, store.Member>>
}

export type UsersDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly mail: Pick<MailQueue, 'enqueue' | 'endPending'>
  readonly cursors: Cursors
  readonly sandbox: boolean
  readonly access: Pick<Access, 'findServiceAccount'>
  /** The link for invitations without a redirect. Absent: their mail shows the token as a code. */
  readonly invitationBaseUrl?: string
}

export function createUsers(deps: UsersDeps): Users {
  const { db, clock, cursors, mail } = deps
  const listName = (partnerId: string) => `invitations:${partnerId}`
  return {
    membersWithRoles: store.membersWithRoles,
    invitedWithRoles: store.invitedWithRoles,
    membersByAddress: async (tx, partnerId, addresses) => {
      const rows = await store.membersByKeys(tx, partnerId, [...new Set(addresses.map(emailKey))])
      const byKey = new Map(rows.map((row) => [row.emailKey, row]))
      return new Map(
        addresses.flatMap((address) => {
          const member = byKey.get(emailKey(address))
          return member === undefined ? [] : [[address, member] as const]
        }),
      )
    },
    createInvitations: createInvitations(deps),
    resendInvitation: resendInvitation(deps),
    listInvitations: async (partnerId, query) => {
      const request = cursors.read(listName(partnerId), query)
      const now = clock.now()
      const rows = await store.listInvitations(db, partnerId, query.status, now, request)
      const page = cursors.page(listName(partnerId), request, rows)
      return { ...page, data: page.data.map((row) => toInvitation(row, now)) }
    },
    getInvitation: async (partnerId, id) => {
      const row = await store.invitationById(db, partnerId, id)
      if (row === undefined) throw notFound('invitation')
      return toInvitation(row, clock.now())
    },
    revokeInvitation: (caller, id) =>
      db.transaction(async (tx) => {
        const { partnerId } = caller
        const row = await store.lockInvitation(tx, partnerId, id)
        if (row === undefined) throw notFound('invitation')
        const permitted = await permitRole(deps, tx, caller, 'revokeInvitation', row.role)
        const now = clock.now()
        requireRevocable(row, now)
        await store.updateInvitation(tx, permitted, partnerId, { ...row, status: 'Revoked', updatedAt: now })
        await mail.endPending(tx, partnerId, id, 'the invitation was revoked')
      }),
  }
}

function createInvitations(deps: UsersDeps): Users['createInvitations'] {
  const { db, clock, sandbox } = deps
  return async (caller, body, outerTx) => {
    refuseBadEntries(body.invitations, sandbox)
    const { partnerId } = caller
    const grants = body.invitations.map(({ role }) => roleGrant(role))
    const expiryDays = body.expiryInDays ?? wire.invitationExpiryDaysDefault
    return inTransaction(db, outerTx, async (tx) => {
      const permitted = permit(await currentCallerActor(deps, tx, caller), 'createInvitations', grants)
      const now = clock.now()
      const drafts = body.invitations.map((entry) => newInvitation(caller, entry, expiryDays, now))
      // Sorted by address, so that two requests with the same addresses cannot deadlock.
      const rows = drafts.map(({ row }) => row).toSorted((a, b) => (a.emailKey < b.emailKey ? -1 : 1))
      const emailKeys = rows.map((row) => row.emailKey)
      await store.expireInvitations(tx, partnerId, emailKeys, now)
      const taken = new Set(await store.addressesWithMember(tx, partnerId, emailKeys))
      for (const row of rows)
        if (!(await store.insertInvitation(tx, permitted, partnerId, row))) taken.add(row.emailKey)
      refuseTakenAddresses(body.invitations, taken)
      await countDailyMails(tx, partnerId, emailKeys, now)
      await queueInvitationMails(deps, tx, partnerId, 'invitation', drafts)
      return drafts.map(({ row }) => toInvitation(row, now))
    })
  }
}

function resendInvitation(deps: UsersDeps): Users['resendInvitation'] {
  const { db, clock, mail, sandbox } = deps
  return async (caller, id, redirectUrl, outerTx) => {
    const { partnerId } = caller
    refuseBadRedirect(redirectUrl, sandbox)
    return inTransaction(db, outerTx, async (tx) => {
      const found = await store.invitationById(tx, partnerId, id)
      if (found === undefined) throw notFound('invitation')
      // Another invitation of the address may have expired although its row still says Pending.
      await store.expireInvitations(tx, partnerId, [found.emailKey], clock.now())
      const before = present(await store.lockInvitation(tx, partnerId, id), `no invitation ${id}`)
      const permitted = await permitRole(deps, tx, caller, 'resendInvitation', before.role)
      // Read under the lock, so that the times of concurrent resends follow the order of the lock.
      const now = clock.now()
      requireResendable(before, now)
      const token = newToken(partnerId)
      const row: store.InvitationRow = {
        ...before,
        status: 'Pending',
        redirectUrl: redirectUrl ?? before.redirectUrl,
        givenById: caller.serviceAccountId,
        tokenHash: tokenHash(token),
        expiresAt: after(now, before.expiryDays * dayMs),
        resends: before.resends + 1,
        resentAt: now,
        updatedAt: now,
      }
      await store.updateInvitation(tx, permitted, partnerId, row).catch(refuseSuperseded)
      await countDailyMails(tx, partnerId, [row.emailKey], now)
      await mail.endPending(tx, partnerId, id, 'superseded by a resend')
      await queueInvitationMails(deps, tx, partnerId, 'invitation_resent', [{ row, token }])
      return toInvitation(row, now)
    })
  }
}

/** Refuses: permission_denied (the role is above the caller's). */
const permitRole = async (deps: UsersDeps, tx: Tx, caller: Caller, act: Act, role: wire.Role): Promise<Permit> =>
  permit(await currentCallerActor(deps, tx, caller), act, [roleGrant(role)])

/** Counts the mails of the day, including those of revoked and expired invitations. Refuses: rate_limited. */
async function countDailyMails(tx: Tx, partnerId: string, emailKeys: readonly string[], now: Date): Promise<void> {
  await store.deleteMailCounts(tx, partnerId, utcDay(now))
  refuseExcessMails(await store.countMails(tx, partnerId, utcDay(now), emailKeys), now)
}

function refuseSuperseded(error: unknown): never {
  if (violates(error, sqlState.uniqueViolation, 'invitations_one_live_per_address'))
    throw new Refusal(
      'invitation_not_pending',
      'The invitation has expired, and the address has a newer live invitation. Resend the newer one.',
    )
  throw error
}

function toInvitation(row: store.InvitationRow, now: Date): Invitation {
  const { id, email, role, invitedById, invitedByName, createdAt } = row
  const status = invitationStatus(row, now)
  const updatedAt = status === row.status ? row.updatedAt : row.expiresAt
  return { id, email, role, status, invitedById, invitedByName, createdAt, updatedAt }
}

// The invitation of a partner's first Admin. The service prints its link, because there is no member who could invite. The link
// works until the partner has a member.

export type FirstAdmin = {
  /** Returns the token of the link. Undefined: the partner has a member. */
  readonly linkToken: (partnerId: string) => Promise<string | undefined>
  /** Finds the partner of a link. Refuses: not_found (no such link, or the partner has a member). */
  readonly partnerOf: (token: string) => Promise<{ readonly partnerId: string; readonly partnerName: string }>
  /**
   * Issues a new token for the pending invitation of an address. The mail with the old token is not sent. Refuses: not_found (the
   * link, or no such invitation).
   */
  readonly invitationOf: (token: string, address: string) => Promise<string>
}

type FirstAdminDeps = Pick<MembersDeps, 'db' | 'clock' | 'partnerName' | 'isClosed'> & {
  readonly mail: Pick<MailQueue, 'endPending'>
  readonly linkKey: Uint8Array
}

export function createFirstAdmin({ db, clock, mail, partnerName, isClosed, linkKey }: FirstAdminDeps): FirstAdmin {
  const tokenFor = (partnerId: string): string =>
    createLinkToken(partnerId, createHmac('sha256', linkKey).update(`first admin ${partnerId}`).digest())
  const find = async (token: string): Promise<string> => {
    const partnerId = linkPartnerId(token)
    const isOurs = partnerId !== undefined && timingSafeEqual(Buffer.from(token), Buffer.from(tokenFor(partnerId)))
    if (!isOurs || (await store.hasMembers(db, partnerId)) || (await isClosed(db, partnerId))) throw notFound('link')
    return partnerId
  }
  return {
    linkToken: async (partnerId) => ((await store.hasMembers(db, partnerId)) ? undefined : tokenFor(partnerId)),
    partnerOf: async (token) => {
      const partnerId = await find(token)
      return { partnerId, partnerName: await partnerName(db, partnerId) }
    },
    invitationOf: async (token, address) => {
      const partnerId = await find(token)
      return db.transaction(async (tx) => {
        const row = await store.lockPendingInvitation(tx, partnerId, emailKey(address), clock.now())
        if (row === undefined) throw notFound('pending invitation')
        const fresh = newToken(partnerId)
        const permitted = permit({ kind: 'operator' }, 'openFirstInvitation', [roleGrant(row.role)])
        await store.updateInvitation(tx, permitted, partnerId, {
          ...row,
          tokenHash: tokenHash(fresh),
          updatedAt: clock.now(),
        })
        await mail.endPending(tx, partnerId, row.id, 'the page of the first Admin opened it')
        return fresh
      })
    },
  }
}

export function newToken(partnerId: string): string {
  return encodeToken(partnerId, randomBytes(tokenRandomBytes))
}

function newInvitation(
  caller: Pick<Caller, 'partnerId' | 'serviceAccountId' | 'name'>,
  entry: InvitationEntry,
  expiryDays: number,
  now: Date,
): { readonly row: store.InvitationRow; readonly token: string } {
  const token = newToken(caller.partnerId)
  const row: store.InvitationRow = {
    id: newId(),
    email: entry.email,
    emailKey: emailKey(entry.email),
    fullName: entry.fullName,
    role: entry.role,
    status: 'Pending',
    redirectUrl: entry.redirectUrl ?? null,
    invitedById: caller.serviceAccountId,
    invitedByName: caller.name,
    givenById: caller.serviceAccountId,
    tokenHash: tokenHash(token),
    expiryDays,
    expiresAt: after(now, expiryDays * dayMs),
    resends: 0,
    resentAt: null,
    createdAt: now,
    updatedAt: now,
  }
  return { row, token }
}
