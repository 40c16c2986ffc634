/** Joins people by an invitation, and signs them in with a passkey or a password. */
import { tokenHash } from '../../kernel/index.ts'
import { permissions, roleAllows } from '@partner-payments/wire'
import { notFound, linkPartnerId } from '../../kernel/api/index.ts'
import type { Tx } from '../../postgres/index.ts'
import {
  type Client,
  describeDevice,
  type Enrolment,
  type FactorInput,
  type Session,
  SignOnFailed,
} from '../sign-in/index.ts'
import { changeMail, type SignInChange } from './mails.ts'
import { permit, roleGrant, denialReason } from './giving.ts'
import { findMaker } from './makers.ts'
import type { MembersDeps, SignedInUser, SignInResult } from './member-deps.ts'
import { emailKey, personKey, invitationStatus } from './rules.ts'
import * as store from './store.ts'
import { singleSignOnRow } from './store-entrances.ts'
import { createSupportEntrance, type SupportAccess } from './support-entrance.ts'
import {
  type MailContent,
  type MailToRender,
  mailWithLink,
  type NewMail,
  oneLine,
  formatUtc,
} from '../../mail/index.ts'

/** An invitation as its page shows it to the invited person. */
export type OpenInvitation = Pick<store.InvitationRow, 'fullName' | 'email' | 'role' | 'invitedByName' | 'expiresAt'> &
  Enrolment & { readonly partnerId: string; readonly partnerName: string }

export type SignInOperations = Pick<SupportAccess, 'openSupport' | 'endSupport' | 'isSupport'> & {
  /** Reads the pending invitation of a token. Refuses: not_found. */
  readonly openInvitation: (token: string) => Promise<OpenInvitation>
  /**
   * Accepts an invitation with the first factor of the member, and signs in. Refuses: not_found, validation_failed (factor). Throws SignOnFailed
   * (`required`).
   */
  readonly join: (token: string, given: FactorInput, client: Client) => Promise<SignInResult>
  /** Signs in with a passkey. Undefined: the response of the passkey is refused. Throws SignOnFailed (`required`). */
  readonly signInByPasskey: (partnerId: string, credential: string, client: Client) => Promise<SignInResult | undefined>
  /** Signs in with a password. Undefined: address, password or code is wrong, or too many attempts failed. Throws SignOnFailed (`required`). */
  readonly signInByPassword: (
    partnerId: string,
    given: { readonly email: string; readonly password: string; readonly code: string },
    client: Client,
  ) => Promise<SignInResult | undefined>
  /** Finds the person of a session. Undefined: the session has ended. */
  readonly signedIn: (token: string, by?: 'person' | 'page') => Promise<SignedInUser | undefined>
}

type Factor = Session['factor']

/** Finds the pending invitation of a token. Refuses: not_found. */
export async function pendingInvitation(deps: MembersDeps, token: string) {
  const { db, clock, isClosed } = deps
  const partnerId = linkPartnerId(token)
  const found = partnerId && (await store.invitationIdByToken(db, partnerId, tokenHash(token)))
  const row = partnerId && found && (await store.invitationById(db, partnerId, found.id))
  if (!partnerId || !row || invitationStatus(row, clock.now()) !== 'Pending') throw notFound('pending invitation')
  if (await isClosed(db, partnerId)) throw notFound('pending invitation')
  await permitJoin(deps, db, partnerId, row)
  return { partnerId, row }
}

/**
 * Checks that the last sender of an invitation may still assign its role. Refuses: not_found, so that the link does not
 * reveal the reason.
 */
async function permitJoin({ support }: MembersDeps, tx: Tx, partnerId: string, row: store.InvitationRow) {
  const maker = await findMaker(support, tx, partnerId, row.givenById)
  const by = { kind: 'maker', permissions: maker?.permissions ?? permissions } as const
  const grants = [roleGrant(row.role)]
  if (denialReason(by, 'acceptInvitation', grants) !== undefined) throw notFound('pending invitation')
  return permit(by, 'acceptInvitation', grants)
}

/**
 * Reports whether a person must not sign in: the partner is being moved, or staff confirmed a sanctions match. The page
 * does not say why.
 */
const isBarred = async ({ isClosed, screening }: MembersDeps, tx: Tx, partnerId: string, id: string) =>
  (await isClosed(tx, partnerId)) || screening.isConfirmed(tx, personKey(partnerId, id))

/** Creates the member of an invitation, once, and records it. Refuses: not_found. */
export async function acceptInvitation(
  deps: MembersDeps,
  tx: Tx,
  partnerId: string,
  { token, factor, ip }: { readonly token: string; readonly factor: Factor; readonly ip: string },
): Promise<store.InvitationRow> {
  const { clock, mail, audit, screening, facts } = deps
  const locked = await store.lockByToken(tx, partnerId, tokenHash(token))
  const row = locked && (await store.invitationById(tx, partnerId, locked.id))
  const now = clock.now()
  if (!row || invitationStatus(row, now) !== 'Pending') throw notFound('pending invitation')
  const permitted = await permitJoin(deps, tx, partnerId, row)
  if (!(await store.insertMember(tx, permitted, partnerId, { row, now }))) throw notFound('pending invitation')
  await screening.request(tx, personKey(partnerId, row.id))
  await store.updateInvitation(tx, permitted, partnerId, { ...row, status: 'Accepted', updatedAt: now })
  await mail.endPending(tx, partnerId, row.id, 'the invitation was accepted')
  const { id, fullName: name, role } = row
  const actor = { kind: 'partner', id, name, ip } as const
  const subject = { invitationId: id }
  audit.append(tx, [{ partnerId, actor, action: 'acceptInvitation', subject, details: { role, factor } }])
  const fact = { name, role, by: row.invitedByName }
  facts.append(tx, [{ partnerId, type: 'member.joined', subject: id, facts: fact }])
  return row
}

/**
 * Opens a session of a member who signs in, records it, and returns its token. Mails the member about a new device in the same
 * transaction. A person who joins does not need a mail about the first device, so `join` opens the session without this function.
 */
export async function openSession(
  { clock, audit, mail, signIn, signInUrl }: MembersDeps,
  tx: Tx,
  partnerId: string,
  member: store.MemberRow,
  client: Client & { readonly factor: Factor },
): Promise<string> {
  const { id, fullName: name } = member
  const at = clock.now()
  await store.recordSignIn(tx, partnerId, id, at)
  const actor = { kind: 'partner', id, name, ip: client.ip } as const
  const details = { factor: client.factor }
  audit.append(tx, [{ partnerId, actor, action: 'signIn', subject: { userId: id }, details }])
  const { token, isNewDevice } = await signIn.open(tx, partnerId, id, client)
  if (isNewDevice) await mail.enqueue(tx, partnerId, [newDeviceMail(member, client, { at, signInUrl })])
  return token
}

/**
 * Refuses a person who must sign in with the provider. Admins are exempt, because the provider may be down or
 * misconfigured.
 */
export async function refuseIfProviderRequired(tx: Tx, partnerId: string, { role }: Pick<store.MemberRow, 'role'>) {
  if (role === 'Admin') return
  const provider = await singleSignOnRow(tx, partnerId)
  if (provider?.required === true && provider.domainProvedAt !== null) throw new SignOnFailed('required')
}

export function createSignInOperations(deps: MembersDeps): SignInOperations {
  const { db, signIn, partnerName } = deps
  const findInvitation = async (token: string) => {
    const { partnerId, row } = await pendingInvitation(deps, token)
    const name = await partnerName(db, partnerId)
    return { partnerId, row, invited: { ...row, memberId: row.id, seed: row.tokenHash, partnerName: name } }
  }
  return {
    openInvitation: async (token) => {
      const { partnerId, row, invited } = await findInvitation(token)
      const { fullName, email, role, invitedByName, expiresAt } = row
      const enrolment = await signIn.enrolment(invited)
      return {
        fullName,
        email,
        role,
        invitedByName,
        expiresAt,
        partnerId,
        partnerName: invited.partnerName,
        ...enrolment,
      }
    },
    join: async (token, given, client) => {
      const { partnerId, row, invited } = await findInvitation(token)
      await refuseIfProviderRequired(db, partnerId, row)
      const factor = await signIn.prove(invited, given)
      return db.transaction(async (tx) => {
        const { ip } = client
        const { id } = await acceptInvitation(deps, tx, partnerId, { token, factor: factor.kind, ip })
        const recoveryCodes = await signIn.enrol(tx, partnerId, id, factor)
        const { token: opened } = await signIn.open(tx, partnerId, id, { ...client, factor: factor.kind })
        return { token: opened, recoveryCodes }
      })
    },
    ...createSessions(deps),
  }
}

function createSessions(deps: MembersDeps): Omit<SignInOperations, 'openInvitation' | 'join'> {
  const { db, clock, mail, signIn, partnerName } = deps
  const { ofSupport, ...supportEntrance } = createSupportEntrance(deps)
  const mailChange = (partnerId: string, member: store.MemberRow, change: SignInChange, { ip }: Client) =>
    db.transaction((tx) => mail.enqueue(tx, partnerId, [changeMail(member, change, { at: clock.now(), ip })]))
  const open = (
    partnerId: string,
    id: string,
    client: Client & { readonly factor: 'passkey' | 'password' },
    isProved: (tx: Tx) => Promise<boolean>,
  ) =>
    db.transaction(async (tx) => {
      const member = await store.lockMember(tx, partnerId, id)
      if (member === undefined || (await isBarred(deps, tx, partnerId, id))) return undefined
      // A reset after the proof has deleted the factor, and must not leave a session.
      if (!(await isProved(tx))) return undefined
      await refuseIfProviderRequired(tx, partnerId, member)
      return { token: await openSession(deps, tx, partnerId, member, client), recoveryCodes: [] }
    })
  return {
    ...supportEntrance,
    signInByPasskey: async (partnerId, credential, client) => {
      const id = await signIn.verifyPasskey(partnerId, credential)
      if (id === undefined) return undefined
      const isProved = (tx: Tx) => signIn.hasPasskey(tx, partnerId, id, credential)
      return open(partnerId, id, { ...client, factor: 'passkey' }, isProved)
    },
    signInByPassword: async (partnerId, { email, password, code }, client) => {
      const member = await store.memberByAddress(db, partnerId, emailKey(email.trim()))
      const since = member && (await signIn.passwordSince(db, partnerId, member.id))
      const verdict = await signIn.verifyPassword(partnerId, member?.id, { password, code })
      if (member === undefined || verdict === 'refused') return undefined
      if (verdict === 'blocked') await mailChange(partnerId, member, 'password blocked', client)
      if (verdict === 'blocked') return undefined
      if (verdict === 'recovery code') await mailChange(partnerId, member, 'recovery code used', client)
      const isProved = async (tx: Tx) =>
        (await signIn.passwordSince(tx, partnerId, member.id))?.getTime() === since?.getTime()
      return open(partnerId, member.id, { ...client, factor: 'password' }, isProved)
    },
    signedIn: async (token, by) => {
      const session = await signIn.session(token, by)
      if (session === undefined) return ofSupport(token)
      const { partnerId, memberId } = session
      const user = await store.memberById(db, partnerId, memberId)
      if (user === undefined || (await isBarred(deps, db, partnerId, memberId))) return undefined
      const allowed = permissions.filter((permission) => roleAllows(user.role, permission))
      const signedInAt = session.createdAt
      const caller = { partnerId, serviceAccountId: memberId, name: user.fullName, permissions: allowed, signedInAt }
      return { session, user, caller, partnerName: await partnerName(db, partnerId) }
    },
  }
}

// The mail that informs a member about a sign-in from a new device.

type Recipient = { readonly id: string; readonly email: string; readonly fullName: string }

export const newDeviceMail = (
  { id, email, fullName }: Recipient,
  { ip, userAgent }: Pick<Client, 'ip' | 'userAgent'>,
  { at, signInUrl }: { readonly at: Date; readonly signInUrl: string },
): NewMail => ({
  kind: 'new_device',
  subjectId: id,
  to: { name: fullName, address: email },
  data: {
    device: describeDevice(userAgent),
    at: at.toISOString(),
    ip,
    sessionsUrl: new URL('sessions', signInUrl).href,
  },
})

export function renderNewDevice(mail: MailToRender): MailContent {
  const { device, at, ip, sessionsUrl } = mail.data as Readonly<Record<'device' | 'at' | 'ip' | 'sessionsUrl', string>>
  const partner = oneLine(mail.partnerName)
  const before = [
    `Hello ${oneLine(mail.toName)},`,
    'A device that did not sign in to your account before has signed in.',
    `Business: ${partner}. Device: ${device}. Time: ${formatUtc(new Date(at))}. IP address: ${ip}.`,
    'If this was you, there is nothing to do. A browser also counts as new in a private window, and after its cookies were deleted.',
    'If this was not you, end all sessions that you do not know on the page Sessions, and tell an Admin of your team at once:',
  ]
  return mailWithLink(`New device signed in to ${partner}`, before, sessionsUrl)
}
