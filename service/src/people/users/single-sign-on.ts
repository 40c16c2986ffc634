/** Single sign-on of a team at the provider that its partner has set. */
import { ownJson, type users as wire } from '@partner-payments/wire'
import { newLinkToken } from '../../kernel/api/index.ts'
import { newId } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import { type Client, type Proved, type Provider, type Purpose, SignOnFailed } from '../sign-in/index.ts'
import { changeMail } from './change-mail.ts'
import { acceptInvitation, openSession, pendingInvitation } from './entrances.ts'
import { permit, roleAsPower } from './giving.ts'
import type { MembersDeps, Signed } from './member-deps.ts'
import { changeRole, tellOfRole } from './role-changes.ts'
import { emailKey, personKey, tokenHash } from './rules.ts'
import { clientSecretContext } from './sealed.ts'
import { createSingleSignOnSettings, type SingleSignOnSettings } from './single-sign-on-settings.ts'
import * as store from './store.ts'
import { knownAs, type RoleValues, singleSignOnOf } from './store-single-sign-on.ts'

/** A person of a team signs in, joins or connects an account. */
export type TeamPurpose =
  | { readonly kind: 'sign in'; readonly partnerId: string; readonly next: string }
  | { readonly kind: 'join'; readonly token: string }
  | { readonly kind: 'connect'; readonly signed: Signed }

export type TeamSingleSignOn = SingleSignOnSettings & {
  /** Reports whether the provider of a partner signs people in. */
  readonly isOn: (partnerId: string) => Promise<boolean>
  /** The time at which an account was connected. Null: it is not. Undefined: there is no provider. */
  readonly connectedSince: (signed: Signed) => Promise<Date | null | undefined>
  /** Starts a sign-in at the provider. Throws SignOnFailed (`off`, `unreachable`). Refuses: not_found (the invitation). */
  readonly begin: (purpose: TeamPurpose) => Promise<{ readonly url: string; readonly attempt: string }>
  /**
   * Does what was begun. `token`: that of a session which was opened. `next`: the page that the person wanted. `signed`: who is signed in in the
   * browser. Throws SignOnFailed. Refuses: not_found (the invitation).
   */
  readonly finish: (
    partnerId: string,
    given: { readonly attempt: string; readonly query: string; readonly signed: Signed | undefined },
    client: Client,
  ) => Promise<{ readonly kind: Purpose['kind']; readonly token?: string; readonly next?: string }>
}

type TeamProvider = Provider & { readonly emailDomain: string; readonly roles: RoleValues }

/** The provider of a partner. Throws SignOnFailed (`off`). */
async function providerOf({ sealer, isClosed }: MembersDeps, tx: Tx, partnerId: string): Promise<TeamProvider> {
  const row = await singleSignOnOf(tx, partnerId)
  if (row === undefined || row.domainProvedAt === null || (await isClosed(tx, partnerId))) throw new SignOnFailed('off')
  const { issuer, clientId, roleClaim, emailDomain } = row
  const clientSecret = sealer.open(row.clientSecretSealed, clientSecretContext(partnerId))
  return { issuer, clientId, clientSecret, roleClaim, emailDomain, roles: ownJson<RoleValues>(row.roleValues) }
}

export function createTeamSingleSignOn(deps: MembersDeps): TeamSingleSignOn {
  const { db, singleSignOn } = deps
  return {
    ...createSingleSignOnSettings(deps),
    isOn: async (partnerId) => ((await singleSignOnOf(db, partnerId))?.domainProvedAt ?? null) !== null,
    connectedSince: async ({ user, session: { partnerId } }) => {
      const row = await singleSignOnOf(db, partnerId)
      if (row === undefined || row.domainProvedAt === null) return undefined
      return (await singleSignOn.connectedSince(db, partnerId, row.issuer, user.id)) ?? null
    },
    begin: async (purpose) => {
      const partnerId =
        purpose.kind === 'sign in'
          ? purpose.partnerId
          : purpose.kind === 'connect'
            ? purpose.signed.session.partnerId
            : (await pendingInvitation(deps, purpose.token)).partnerId
      const kept: Purpose = purpose.kind === 'connect' ? { kind: 'connect', memberId: purpose.signed.user.id } : purpose
      const { issuer, clientId, clientSecret, roleClaim } = await providerOf(deps, db, partnerId)
      return singleSignOn.begin(partnerId, { issuer, clientId, clientSecret, roleClaim }, kept)
    },
    finish: async (partnerId, { signed, ...given }, client) => {
      const provider = await providerOf(deps, db, partnerId)
      const { purpose, proved, asked } = await singleSignOn.finish(partnerId, provider, given)
      return db.transaction(async (tx) => {
        if (!(await singleSignOn.answer(tx, partnerId, asked))) throw new SignOnFailed('expired')
        if (purpose.kind === 'connect') {
          if (signed?.session.partnerId !== partnerId || signed.user.id !== purpose.memberId)
            throw new SignOnFailed('expired')
          await connectAccount(deps, tx, signed, proved, client)
          return { kind: 'connect' }
        }
        const with_ = { partnerId, provider, proved, client }
        if (purpose.kind === 'join') return { kind: 'join', token: await join(deps, tx, purpose.token, with_) }
        return { kind: 'sign in', token: await signIn(deps, tx, with_), next: purpose.next }
      })
    },
  }
}

type Coming = {
  readonly partnerId: string
  readonly provider: TeamProvider
  readonly proved: Proved
  readonly client: Client
}

async function signIn(deps: MembersDeps, tx: Tx, coming: Coming): Promise<string> {
  const { singleSignOn, clock } = deps
  const { partnerId, provider, proved, client } = coming
  const id = await singleSignOn.memberOf(tx, partnerId, proved)
  if (id === undefined) return addMember(deps, tx, coming)
  const { member, admins } = await store.lockWithAdmins(tx, partnerId, id)
  if (member === undefined) throw new SignOnFailed('unknown')
  const role = givenRole(provider, proved) ?? member.role
  // The last Admin keeps the role: a team without an Admin could not even correct the provider.
  if (role !== member.role && !(member.role === 'Admin' && admins === 1))
    await changeByProvider(deps, tx, coming, member, role)
  await singleSignOn.recordUse(tx, partnerId, proved, clock.now())
  return openSession(deps, tx, partnerId, member, { ...client, factor: 'sso' })
}

/** The permission of the provider to give a role that is mapped. */
const permitProvider = ({ roles }: TeamProvider, role: wire.Role) => {
  const mapped = roleOrder.filter((each) => (roles[each]?.length ?? 0) > 0)
  return permit({ kind: 'provider', roles: mapped }, 'giveRoleByProvider', [roleAsPower(role)])
}

const providerName = 'Single sign-on'

function changeByProvider(
  deps: MembersDeps,
  tx: Tx,
  { partnerId, provider, client }: Coming,
  { id, email, fullName, role: from }: Pick<store.MemberRow, 'id' | 'email' | 'fullName' | 'role'>,
  to: wire.Role,
): Promise<void> {
  const actor = { kind: 'partner', id, name: fullName, ip: client.ip } as const
  const change = { partnerId, member: { id, email, fullName }, from, to, by: providerName, actor }
  return changeRole(deps, tx, permitProvider(provider, to), change)
}

/** The link of the invitation proves the address, and the provider has to name the same one: a link that was passed on opens no account. */
async function join(deps: MembersDeps, tx: Tx, token: string, coming: Coming) {
  const { partnerId, provider, proved, client } = coming
  const { row } = await pendingInvitation(deps, token)
  if (proved.email === null || proved.emailVerified === false || emailKey(proved.email) !== row.emailKey)
    throw new SignOnFailed('address')
  const role = givenRole(provider, proved)
  const { ip } = client
  const { id } = await acceptInvitation(deps, tx, partnerId, { token, factor: 'sso', ip })
  if (role !== undefined) await changeByProvider(deps, tx, coming, row, role)
  await connect(deps, tx, partnerId, id, proved)
  const opened = await deps.signIn.open(tx, partnerId, id, { ...client, factor: 'sso' })
  return opened.token
}

/**
 * Adds a person whom the provider gives a role, with a verified address of the proved domain that belongs to no member, was never a
 * removed one's and has no invitation. The invitation of the member is made with it, already accepted.
 */
async function addMember(deps: MembersDeps, tx: Tx, { partnerId, provider, proved, client }: Coming): Promise<string> {
  const { clock, audit, screening } = deps
  const role = givenRole(provider, proved)
  const { email } = proved
  if (role === undefined || email === null || proved.emailVerified !== true) throw new SignOnFailed('unknown')
  const key = emailKey(email)
  const now = clock.now()
  if (!key.endsWith(`@${provider.emailDomain}`)) throw new SignOnFailed('unknown')
  const known = await knownAs(tx, partnerId, key, now)
  if (known !== undefined) throw new SignOnFailed(known)
  const id = newId()
  const fullName = (proved.name ?? email).slice(0, nameCharsMax)
  const row: store.InvitationRow = {
    ...{ id, email, emailKey: key, fullName, role, status: 'Accepted', redirectUrl: null },
    ...{ invitedById: id, invitedByName: providerName, givenById: id, tokenHash: tokenHash(newLinkToken(partnerId)) },
    ...{ expiryDays: 1, expiresAt: now, resends: 0, resentAt: null, createdAt: now, updatedAt: now },
  }
  const permitted = permitProvider(provider, role)
  const isNew = await store.insert(tx, permitted, partnerId, row)
  if (!isNew || !(await store.insertMember(tx, permitted, partnerId, { row, now }))) throw new SignOnFailed('unknown')
  await screening.request(tx, personKey(partnerId, id))
  await connect(deps, tx, partnerId, id, proved)
  const actor = { kind: 'partner', id, name: fullName, ip: client.ip } as const
  const about = { subject: { userId: id }, details: { role, factor: 'sso' } }
  audit.append(tx, [{ partnerId, actor, action: 'joinBySingleSignOn', ...about }])
  await tellOfRole(deps, tx, partnerId, { member: row, from: null, to: role, by: providerName, actor })
  const opened = await deps.signIn.open(tx, partnerId, id, { ...client, factor: 'sso' })
  return opened.token
}

const nameCharsMax = 140

async function connectAccount(deps: MembersDeps, tx: Tx, signed: Signed, proved: Proved, { ip }: Client) {
  const { user, session } = signed
  const { partnerId } = session
  await connect(deps, tx, partnerId, user.id, proved)
  const change = 'single sign-on connected'
  const actor = { kind: 'partner', id: user.id, name: user.fullName, ip } as const
  const about = { subject: { userId: user.id }, details: { change } }
  deps.audit.append(tx, [{ partnerId, actor, action: 'changeSignIn', ...about }])
  await deps.mail.enqueue(tx, partnerId, [changeMail(user, change, { at: deps.clock.now(), ip })])
}

async function connect({ singleSignOn, clock }: MembersDeps, tx: Tx, partnerId: string, id: string, proved: Proved) {
  const before = await singleSignOn.memberOf(tx, partnerId, proved)
  if (before !== undefined && before !== id && (await store.memberById(tx, partnerId, before)))
    throw new SignOnFailed('taken')
  const given = { memberId: id, replaced: before ?? null, now: clock.now() }
  if (!(await singleSignOn.connect(tx, partnerId, proved, given))) throw new SignOnFailed('taken')
}

/** The order in which a person with the values of several roles gets one. */
const roleOrder: readonly wire.Role[] = ['Admin', 'Operator', 'Developer']

/** The role that the provider gives. Undefined: it gives no roles at all. Throws SignOnFailed (`role`). */
function givenRole({ roleClaim, roles }: TeamProvider, proved: Proved): wire.Role | undefined {
  if (roleClaim === null) return undefined
  const role = roleOrder.find((each) => roles[each]?.some((value) => proved.roles.includes(value)))
  if (role === undefined) throw new SignOnFailed('role')
  return role
}
