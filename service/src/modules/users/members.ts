/** The verbs of a team: who joins by an invitation, signs in, gets another role or is removed. */
import { type BodyOf, permissions, type QueryOf, roleAllows } from '@partner-payments/wire'
import { type Caller, type Cursors, notFound, type Page, readLink, Refusal } from '../../api/index.ts'
import type { Audit } from '../../audit/index.ts'
import type { Clock } from '../../kernel/index.ts'
import type { MailQueue } from '../../mail/index.ts'
import { type Database, type Tx } from '../../postgres/index.ts'
import type { Client, Enrolment, GivenFactor, Session, SignIn } from '../../sign-in/index.ts'
import { changeMail, type SignInChange } from './change-mail.ts'
import { dayOf, emailKey, refuseLastAdmin, refuseMails, refuseRoleAbove, statusAt, tokenHash } from './rules.ts'
import * as store from './store.ts'
import * as members from './store-members.ts'

export type User = members.MemberRow & { readonly factors: readonly ('passkey' | 'password')[] }

/** An invitation as the page shows it to the person who has its link. */
export type OpenInvitation = Pick<store.InvitationRow, 'fullName' | 'email' | 'role' | 'invitedByName' | 'expiresAt'> &
  Enrolment & { readonly partnerName: string }

/** A person who has just signed in. */
export type SignedIn = { readonly token: string; readonly recoveryCodes: readonly string[] }

/** The person of a session, with the permissions that the role has now. */
export type Signed = {
  readonly session: Session
  readonly user: members.MemberRow
  readonly caller: Caller
  readonly partnerName: string
}

export type Members = {
  /** Newest first. Refuses: validation_failed (cursor). */
  readonly listUsers: (partnerId: string, query: QueryOf<'listUsers'>) => Promise<Page<User>>
  /** Refuses: not_found. */
  readonly getUser: (partnerId: string, id: string) => Promise<User>
  /** Refuses: not_found, permission_denied (a role above the caller's), last_admin. */
  readonly updateUser: (caller: Caller, id: string, body: BodyOf<'updateUser'>) => Promise<User>
  /** Refuses: not_found, permission_denied (a role above the caller's), last_admin. */
  readonly removeUser: (caller: Caller, id: string) => Promise<void>
  /** The pending invitation of a token. Refuses: not_found. */
  readonly openInvitation: (token: string) => Promise<OpenInvitation>
  /** Accepts an invitation with the first factor of the member, and signs in. Refuses: not_found, validation_failed (factor). */
  readonly join: (token: string, given: GivenFactor, client: Client) => Promise<SignedIn>
  /** Signs in by an answer of a passkey. Undefined: the answer is refused. */
  readonly signInByPasskey: (partnerId: string, credential: string, client: Client) => Promise<SignedIn | undefined>
  /** Undefined: address, password or code is wrong, or there were too many failures. */
  readonly signInByPassword: (
    partnerId: string,
    given: { readonly email: string; readonly password: string; readonly code: string },
    client: Client,
  ) => Promise<SignedIn | undefined>
  /** Undefined: the session has ended. */
  readonly signedIn: (token: string) => Promise<Signed | undefined>
  /** Mails the links of the partners where an address can sign in. Says nothing of whether there are any. */
  readonly mailSignInLinks: (address: string) => Promise<void>
}

export type MembersDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly cursors: Cursors
  readonly mail: Pick<MailQueue, 'enqueue' | 'endPending'>
  readonly audit: Pick<Audit, 'append'>
  readonly signIn: SignIn
  readonly partnerName: (tx: Tx, partnerId: string) => Promise<string>
  /** Whether the partner is being moved to another database. Then nothing of its team may change here. */
  readonly isClosed: (tx: Tx, partnerId: string) => Promise<boolean>
  /** The page where people sign in. */
  readonly signInUrl: string
}

export function createMembers(deps: MembersDeps): Members {
  const { db, clock, cursors, signIn } = deps
  const listName = (partnerId: string) => `users:${partnerId}`
  const withFactors = async (
    tx: Tx,
    partnerId: string,
    rows: readonly members.MemberRow[],
  ): Promise<readonly User[]> => {
    const ids = rows.map(({ id }) => id)
    const factors = Map.groupBy(await signIn.factorsOf(tx, partnerId, ids), ({ memberId }) => memberId)
    return rows.map((row) => ({ ...row, factors: (factors.get(row.id) ?? []).map(({ factor }) => factor).toSorted() }))
  }
  const getUser: Members['getUser'] = async (partnerId, id) => {
    const row = await members.memberById(db, partnerId, id)
    const [user] = row === undefined ? [] : await withFactors(db, partnerId, [row])
    if (user === undefined) throw notFound('user')
    return user
  }
  return {
    getUser,
    listUsers: async (partnerId, query) => {
      const request = cursors.read(listName(partnerId), query)
      const rows = await members.listMembers(db, partnerId, query.role, request)
      const page = cursors.page(listName(partnerId), request, rows)
      return { ...page, data: await withFactors(db, partnerId, page.data) }
    },
    updateUser: async (caller, id, { role }) => {
      const { partnerId } = caller
      refuseRoleAbove(caller.permissions, role)
      await db.transaction(async (tx) => {
        const { member, admins } = await members.lockWithAdmins(tx, partnerId, id)
        if (member === undefined) throw notFound('user')
        refuseRoleAbove(caller.permissions, member.role)
        if (role !== member.role) refuseLastAdmin(member.role, admins)
        await members.changeRole(tx, partnerId, id, role, clock.now())
      })
      return getUser(partnerId, id)
    },
    removeUser: (caller, id) =>
      db.transaction(async (tx) => {
        const { partnerId } = caller
        const { member, admins } = await members.lockWithAdmins(tx, partnerId, id)
        if (member === undefined) throw notFound('user')
        refuseRoleAbove(caller.permissions, member.role)
        refuseLastAdmin(member.role, admins)
        await members.removeMember(tx, partnerId, id, clock.now())
        await signIn.forget(tx, partnerId, id)
      }),
    ...createJoining(deps),
    ...createSessions(deps),
    mailSignInLinks: createLinkMails(deps),
  }
}

function createJoining({
  db,
  clock,
  mail,
  audit,
  signIn,
  partnerName,
  isClosed,
}: MembersDeps): Pick<Members, 'openInvitation' | 'join'> {
  const find = async (token: string) => {
    const partnerId = readLink(token)
    const found = partnerId && (await members.idOfToken(db, partnerId, tokenHash(token)))
    const row = partnerId && found && (await store.byId(db, partnerId, found.id))
    if (!partnerId || !row || statusAt(row, clock.now()) !== 'Pending') throw notFound('pending invitation')
    if (await isClosed(db, partnerId)) throw notFound('pending invitation')
    const name = await partnerName(db, partnerId)
    return { partnerId, row, invited: { ...row, memberId: row.id, seed: row.tokenHash, partnerName: name } }
  }
  return {
    openInvitation: async (token) => {
      const { row, invited } = await find(token)
      const { fullName, email, role, invitedByName, expiresAt } = row
      const shown = { fullName, email, role, invitedByName, expiresAt, partnerName: invited.partnerName }
      return { ...shown, ...(await signIn.enrolment(invited)) }
    },
    join: async (token, given, client) => {
      const { partnerId, invited } = await find(token)
      const factor = await signIn.prove(invited, given)
      return db.transaction(async (tx) => {
        const locked = await members.lockByToken(tx, partnerId, tokenHash(token))
        const row = locked && (await store.byId(tx, partnerId, locked.id))
        const now = clock.now()
        if (!row || statusAt(row, now) !== 'Pending') throw notFound('pending invitation')
        if (!(await members.insertMember(tx, partnerId, row, now))) throw notFound('pending invitation')
        await store.update(tx, partnerId, { ...row, status: 'Accepted', updatedAt: now })
        await mail.endPending(tx, partnerId, row.id, 'the invitation was accepted')
        const recoveryCodes = await signIn.enrol(tx, partnerId, row.id, factor)
        audit.append(tx, [joined(partnerId, row, client, factor.kind)])
        const opened = await signIn.open(tx, partnerId, row.id, { ...client, factor: factor.kind })
        return { token: opened, recoveryCodes }
      })
    },
  }
}

const joined = (
  partnerId: string,
  { id, fullName: name, role }: store.InvitationRow,
  { ip }: Client,
  factor: string,
) => {
  const actor = { kind: 'partner', id, name, ip } as const
  return { partnerId, actor, action: 'acceptInvitation', subject: { invitationId: id }, details: { role, factor } }
}

function createSessions({ db, clock, audit, mail, signIn, partnerName, isClosed }: MembersDeps) {
  const tell = (partnerId: string, member: members.MemberRow, change: SignInChange, { ip }: Client) =>
    db.transaction((tx) => mail.enqueue(tx, partnerId, [changeMail(member, change, { at: clock.now(), ip })]))
  const open = (partnerId: string, id: string, client: Client & { readonly factor: 'passkey' | 'password' }) =>
    db.transaction(async (tx) => {
      const member = await members.memberById(tx, partnerId, id)
      if (member === undefined || (await isClosed(tx, partnerId))) return undefined
      await members.recordSignIn(tx, partnerId, id, clock.now())
      const actor = { kind: 'partner', id, name: member.fullName, ip: client.ip } as const
      audit.append(tx, [
        { partnerId, actor, action: 'signIn', subject: { userId: id }, details: { factor: client.factor } },
      ])
      return { token: await signIn.open(tx, partnerId, id, client), recoveryCodes: [] }
    })
  return {
    signInByPasskey: async (partnerId, credential, client) => {
      const id = await signIn.byPasskey(partnerId, credential)
      return id === undefined ? undefined : open(partnerId, id, { ...client, factor: 'passkey' })
    },
    signInByPassword: async (partnerId, { email, password, code }, client) => {
      const member = await members.memberByAddress(db, partnerId, emailKey(email.trim()))
      const verdict = await signIn.byPassword(partnerId, member?.id, { password, code })
      if (member === undefined || verdict === 'refused') return undefined
      if (verdict === 'blocked') await tell(partnerId, member, 'password blocked', client)
      if (verdict === 'blocked') return undefined
      if (verdict === 'recovery code') await tell(partnerId, member, 'recovery code used', client)
      return open(partnerId, member.id, { ...client, factor: 'password' })
    },
    signedIn: async (token) => {
      const session = await signIn.session(token)
      if (session === undefined) return undefined
      const { partnerId, memberId } = session
      const user = await members.memberById(db, partnerId, memberId)
      if (user === undefined || (await isClosed(db, partnerId))) return undefined
      const allowed = permissions.filter((permission) => roleAllows(user.role, permission))
      const caller = { partnerId, serviceAccountId: memberId, name: user.fullName, permissions: allowed }
      return { session, user, caller, partnerName: await partnerName(db, partnerId) }
    },
  } satisfies Partial<Members>
}

/** An address has so many partners at most in one answer. */
const partnersOfAddressMax = 10

function createLinkMails({ db, clock, mail, signInUrl }: MembersDeps): Members['mailSignInLinks'] {
  return async (address) => {
    const key = emailKey(address.trim())
    for (const { partnerId, id, fullName, email } of await members.membersOfAddress(db, key, partnersOfAddressMax))
      await db
        .transaction(async (tx) => {
          const now = clock.now()
          refuseMails(await store.countMails(tx, partnerId, dayOf(now), [key]), now)
          const to = { name: fullName, address: email }
          const data = { linkUrl: `${signInUrl}?partner=${partnerId}` }
          await mail.enqueue(tx, partnerId, [
            { kind: 'sign_in_link', subjectId: id, to, data, secret: null, expiresAt: null },
          ])
        })
        // The answer is the same for an address that had its mails of the day.
        .catch((error: unknown) => {
          if (!(error instanceof Refusal)) throw error
        })
  }
}
