/** Single sign-on of a team at the provider of its partner. */
import type { ServiceAct } from '../../audit/index.ts'
import { type BodyOf, type FieldError, ownJson, type users as wire } from '@partner-payments/wire'
import { type Caller, newLinkToken, notFound, Refusal, refuseField, refuseFields } from '../../kernel/api/index.ts'
import { after, hourMs, checkDeciders, newId, randomBytes, tokenHash } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import {
  type Client,
  type ProviderClaims,
  type SignOnProvider,
  type SignOnPurpose,
  SignOnFailed,
} from '../sign-in/index.ts'
import { changeMail, type SignInChange } from './mails.ts'
import { acceptInvitation, openSession, pendingInvitation } from './entrances.ts'
import { callerActor, allRoleGrants, permit, type Permit, roleGrant } from './giving.ts'
import type { MembersDeps, SignedInUser } from './member-deps.ts'
import { changeRole, mailRoleChange } from './role-changes.ts'
import { emailKey, personKey, urlErrors } from './rules.ts'
import * as providers from './store-entrances.ts'
import * as store from './store.ts'
import { currentCallerActor } from './makers.ts'

/** The reason why a person goes to the provider: to sign in, join or connect an account. */
export type TeamPurpose =
  | { readonly kind: 'sign in'; readonly partnerId: string; readonly next: string }
  | { readonly kind: 'join'; readonly token: string }
  | { readonly kind: 'connect'; readonly signed: SignedInUser }

export type TeamSingleSignOn = SingleSignOnSettings & {
  /** Reports whether single sign-on is active for a partner. */
  readonly isOn: (partnerId: string) => Promise<boolean>
  /** Returns when an account was connected. Null: it is not connected. Undefined: there is no provider. */
  readonly connectedSince: (signed: SignedInUser) => Promise<Date | null | undefined>
  /** Starts a sign-in at the provider. Throws SignOnFailed (`off`, `unreachable`). Refuses: not_found (the invitation). */
  readonly begin: (purpose: TeamPurpose) => Promise<{ readonly url: string; readonly attempt: string }>
  /**
   * Completes the attempt of `begin`. `signed`: the person signed in in this browser. `token`: of the new session. `next`:
   * the requested page. Throws SignOnFailed. Refuses: not_found (the invitation).
   */
  readonly finish: (
    partnerId: string,
    given: { readonly attempt: string; readonly query: string; readonly signed: SignedInUser | undefined },
    client: Client,
  ) => Promise<{ readonly kind: SignOnPurpose['kind']; readonly token?: string; readonly next?: string }>
}

type TeamProvider = SignOnProvider & { readonly emailDomain: string; readonly roles: providers.RoleValues }

/** Reads the provider of a partner. Throws SignOnFailed (`off`). */
async function readProvider({ sealer, isClosed }: MembersDeps, tx: Tx, partnerId: string): Promise<TeamProvider> {
  const row = await providers.singleSignOnRow(tx, partnerId)
  if (row === undefined || row.domainProvedAt === null || (await isClosed(tx, partnerId))) throw new SignOnFailed('off')
  const { issuer, clientId, roleClaim, emailDomain } = row
  const clientSecret = sealer.open(row.clientSecretSealed, providers.clientSecretContext(partnerId))
  return {
    issuer,
    clientId,
    clientSecret,
    roleClaim,
    emailDomain,
    roles: ownJson<providers.RoleValues>(row.roleValues),
  }
}

export function createTeamSingleSignOn(deps: MembersDeps): TeamSingleSignOn {
  const { db, singleSignOn } = deps
  return {
    ...createSingleSignOnSettings(deps),
    isOn: async (partnerId) => ((await providers.singleSignOnRow(db, partnerId))?.domainProvedAt ?? null) !== null,
    connectedSince: async ({ user, session: { partnerId } }) => {
      const row = await providers.singleSignOnRow(db, partnerId)
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
      const kept: SignOnPurpose =
        purpose.kind === 'connect' ? { kind: 'connect', memberId: purpose.signed.user.id } : purpose
      const { issuer, clientId, clientSecret, roleClaim } = await readProvider(deps, db, partnerId)
      return singleSignOn.begin(partnerId, { issuer, clientId, clientSecret, roleClaim }, kept)
    },
    finish: async (partnerId, { signed, ...given }, client) => {
      const provider = await readProvider(deps, db, partnerId)
      const { purpose, proved, asked } = await singleSignOn.finish(partnerId, provider, given)
      return db.transaction(async (tx) => {
        if (!(await singleSignOn.answer(tx, partnerId, asked))) throw new SignOnFailed('expired')
        if (purpose.kind === 'connect') {
          if (signed?.session.partnerId !== partnerId || signed.user.id !== purpose.memberId)
            throw new SignOnFailed('expired')
          await connectAccount(deps, tx, signed, proved, client)
          return { kind: 'connect' }
        }
        const proof = { partnerId, provider, proved, client }
        if (purpose.kind === 'join') return { kind: 'join', token: await join(deps, tx, purpose.token, proof) }
        return { kind: 'sign in', token: await signIn(deps, tx, proof), next: purpose.next }
      })
    },
  }
}

type ProviderProof = {
  readonly partnerId: string
  readonly provider: TeamProvider
  readonly proved: ProviderClaims
  readonly client: Client
}

async function signIn(deps: MembersDeps, tx: Tx, proof: ProviderProof): Promise<string> {
  const { singleSignOn, clock } = deps
  const { partnerId, provider, proved, client } = proof
  const id = await singleSignOn.findMember(tx, partnerId, proved)
  if (id === undefined) return addMember(deps, tx, proof)
  const { member, admins } = await store.lockWithAdmins(tx, partnerId, id)
  // A reset may have disconnected the account before the lock.
  const isConnected = (await singleSignOn.findMember(tx, partnerId, proved)) === id
  if (member === undefined || !isConnected) throw new SignOnFailed('unknown')
  const role = providerRole(provider, proved) ?? member.role
  // The last Admin keeps the role, because a team without an Admin could not correct the provider.
  if (role !== member.role && !(member.role === 'Admin' && admins === 1))
    await changeByProvider(deps, tx, proof, member, role)
  await singleSignOn.recordUse(tx, partnerId, proved, clock.now())
  return openSession(deps, tx, partnerId, member, { ...client, factor: 'sso' })
}

/** Permits the provider to assign a mapped role. */
const permitProvider = ({ roles }: TeamProvider, role: wire.Role) => {
  const mapped = roleOrder.filter((each) => (roles[each]?.length ?? 0) > 0)
  return permit({ kind: 'provider', roles: mapped }, 'giveRoleByProvider', [roleGrant(role)])
}

const providerName = 'Single sign-on'

function changeByProvider(
  deps: MembersDeps,
  tx: Tx,
  { partnerId, provider, client }: ProviderProof,
  { id, email, fullName, role: from }: Pick<store.MemberRow, 'id' | 'email' | 'fullName' | 'role'>,
  to: wire.Role,
): Promise<void> {
  const actor = { kind: 'partner', id, name: fullName, ip: client.ip } as const
  const change = { partnerId, member: { id, email, fullName }, from, to, by: providerName, actor }
  return changeRole(deps, tx, permitProvider(provider, to), change)
}

/**
 * Accepts an invitation. Its link proves the address, and the provider must report the same address: other provider
 * accounts cannot use the link.
 */
async function join(deps: MembersDeps, tx: Tx, token: string, proof: ProviderProof) {
  const { partnerId, provider, proved, client } = proof
  const { row } = await pendingInvitation(deps, token)
  if (proved.email === null || proved.emailVerified === false || emailKey(proved.email) !== row.emailKey)
    throw new SignOnFailed('address')
  const role = providerRole(provider, proved)
  const { ip } = client
  const { id } = await acceptInvitation(deps, tx, partnerId, { token, factor: 'sso', ip })
  if (role !== undefined) await changeByProvider(deps, tx, proof, row, role)
  await connect(deps, tx, partnerId, id, proved)
  const opened = await deps.signIn.open(tx, partnerId, id, { ...client, factor: 'sso' })
  return opened.token
}

/**
 * Adds a person to whom the provider assigns a role. The address must be verified and in the proved domain; it must not
 * belong to a present or former member, nor have an invitation. Stores an accepted invitation with the member.
 */
async function addMember(
  deps: MembersDeps,
  tx: Tx,
  { partnerId, provider, proved, client }: ProviderProof,
): Promise<string> {
  const { clock, audit, screening } = deps
  const role = providerRole(provider, proved)
  const { email } = proved
  if (role === undefined || email === null || proved.emailVerified !== true) throw new SignOnFailed('unknown')
  const key = emailKey(email)
  const now = clock.now()
  if (!key.endsWith(`@${provider.emailDomain}`)) throw new SignOnFailed('unknown')
  const known = await providers.addressStatus(tx, partnerId, key, now)
  if (known !== undefined) throw new SignOnFailed(known)
  const id = newId()
  const fullName = (proved.name ?? email).slice(0, nameCharsMax)
  const row: store.InvitationRow = {
    id,
    email,
    emailKey: key,
    fullName,
    role,
    status: 'Accepted',
    redirectUrl: null,
    invitedById: id,
    invitedByName: providerName,
    givenById: id,
    tokenHash: tokenHash(newLinkToken(partnerId)),
    expiryDays: 1,
    expiresAt: now,
    resends: 0,
    resentAt: null,
    createdAt: now,
    updatedAt: now,
  }
  const permitted = permitProvider(provider, role)
  const isNew = await store.insertInvitation(tx, permitted, partnerId, row)
  if (!isNew || !(await store.insertMember(tx, permitted, partnerId, { row, now }))) throw new SignOnFailed('unknown')
  await screening.request(tx, personKey(partnerId, id))
  await connect(deps, tx, partnerId, id, proved)
  const actor = { kind: 'partner', id, name: fullName, ip: client.ip } as const
  const about = { subject: { userId: id }, details: { role, factor: 'sso' } }
  audit.append(tx, [{ partnerId, actor, action: 'joinBySingleSignOn', ...about }])
  await mailRoleChange(deps, tx, partnerId, { member: row, from: null, to: role, by: providerName, actor })
  const opened = await deps.signIn.open(tx, partnerId, id, { ...client, factor: 'sso' })
  return opened.token
}

const nameCharsMax = 140

async function connectAccount(deps: MembersDeps, tx: Tx, signed: SignedInUser, proved: ProviderClaims, { ip }: Client) {
  const { user, session } = signed
  const { partnerId } = session
  // The session may have ended, by a reset, while the person was at the provider.
  if (!(await deps.signIn.holdSession(tx, session))) throw new SignOnFailed('expired')
  await connect(deps, tx, partnerId, user.id, proved)
  const change = 'single sign-on connected'
  const actor = { kind: 'partner', id: user.id, name: user.fullName, ip } as const
  const about = { subject: { userId: user.id }, details: { change } }
  deps.audit.append(tx, [{ partnerId, actor, action: 'changeSignIn', ...about }])
  await deps.mail.enqueue(tx, partnerId, [changeMail(user, change, { at: deps.clock.now(), ip })])
}

async function connect(
  { singleSignOn, clock }: MembersDeps,
  tx: Tx,
  partnerId: string,
  id: string,
  proved: ProviderClaims,
) {
  const previous = await singleSignOn.findMember(tx, partnerId, proved)
  if (previous !== undefined && previous !== id && (await store.memberById(tx, partnerId, previous)))
    throw new SignOnFailed('taken')
  const connection = { memberId: id, replaced: previous ?? null, now: clock.now() }
  if (!(await singleSignOn.connect(tx, partnerId, proved, connection))) throw new SignOnFailed('taken')
}

/** Precedence of roles: a person whose claim maps to several roles gets the first one. */
const roleOrder: readonly wire.Role[] = ['Admin', 'Operator', 'Developer']

/** Reads the role that the provider assigns. Undefined: it does not assign roles. Throws SignOnFailed (`role`). */
function providerRole({ roleClaim, roles }: TeamProvider, proved: ProviderClaims): wire.Role | undefined {
  if (roleClaim === null) return undefined
  const role = roleOrder.find((each) => roles[each]?.some((value) => proved.roles.includes(value)))
  if (role === undefined) throw new SignOnFailed('role')
  return role
}

// The settings of single sign-on: the provider of a partner and the proof of its domain. Each change is mailed to all Admins.

type SingleSignOnView = Omit<providers.SingleSignOnRow, 'clientSecretSealed' | 'domainToken' | 'roleValues'> & {
  readonly redirectUri: string
  readonly domainRecord: { readonly name: string; readonly type: 'TXT'; readonly value: string }
  readonly roles: providers.RoleValues | null
}

/** A change that is pending approval by a second Admin, as the page shows it. */
type WaitingSingleSignOn = Omit<providers.SingleSignOnChangeRow, 'settings' | 'clientSecretSealed'> &
  Pick<SingleSignOnView, 'issuer' | 'clientId' | 'emailDomain' | 'roleClaim' | 'roles' | 'required'> & {
    readonly hasNewSecret: boolean
  }

type SingleSignOnSettings = {
  /** Reads the settings. Refuses: not_found. */
  readonly settings: (partnerId: string) => Promise<SingleSignOnView>
  /**
   * Sets the provider. If payouts need a second person, a change by a person is pending until a second Admin confirms
   * it. Refuses: permission_denied, validation_failed (pointers), last_admin.
   */
  readonly set: (caller: Caller, body: Body, ip?: string) => Promise<SingleSignOnView>
  /** Reads the pending change. Undefined: there is none. */
  readonly waiting: (partnerId: string) => Promise<WaitingSingleSignOn | undefined>
  /**
   * Carries out the change of another Admin. Both must be Admins at this moment. Refuses: permission_denied, not_found (decided, replaced or
   * expired), and as `set`.
   */
  readonly confirm: (signed: SignedInUser, id: string, ip: string) => Promise<void>
  /** Rejects a change, or withdraws the person's own. Refuses: permission_denied, not_found. */
  readonly reject: (signed: SignedInUser, id: string, ip: string) => Promise<void>
  /**
   * Looks up the DNS record that proves the domain. Waits for the partner's name servers. Refuses: permission_denied, not_found, validation_failed
   * (/emailDomain), overloaded.
   */
  readonly proveDomain: (caller: Caller) => Promise<SingleSignOnView>
  /** Removes the settings. Refuses: permission_denied, not_found, last_admin. */
  readonly remove: (caller: Caller) => Promise<void>
}

type Body = BodyOf<'setSingleSignOn'>
/**
 * A request that may need approval by a second Admin. Its DNS record, which contains the token, can be added meanwhile.
 */
type ProviderRequest = Body & { readonly domainToken: string }

/** Time after which a pending change expires; the same as for changes by staff. */
const changeMs = 72 * hourMs

function createSingleSignOnSettings(deps: MembersDeps): SingleSignOnSettings {
  const { db, clock } = deps
  const view = viewBuilder(deps)
  return {
    settings: async (partnerId) => {
      const row = await providers.singleSignOnRow(db, partnerId)
      if (row === undefined) throw notFound('single sign-on')
      return view(partnerId, row)
    },
    set: (caller, body, ip) => {
      const { partnerId } = caller
      const wanted = { ...body, domainToken: Buffer.from(randomBytes(tokenBytes)).toString('base64url') }
      return db.transaction(async (tx) => {
        const permitted = permit(await currentCallerActor(deps, tx, caller), 'setSingleSignOn', allRoleGrants)
        const row = await providerRow(deps, tx, partnerId, wanted)
        if (caller.signedInAt !== undefined && (await deps.decidesByTwo(tx, partnerId)))
          await propose(deps, tx, permitted, { caller, wanted, ip })
        else await carryOut(deps, tx, permitted, partnerId, row)
        return view(partnerId, row)
      })
    },
    ...createDecisions(deps),
    proveDomain: async (caller) => {
      const { partnerId } = caller
      const permitted = permit(await currentCallerActor(deps, db, caller), 'proveSingleSignOnDomain', allRoleGrants)
      const row = await providers.singleSignOnRow(db, partnerId)
      if (row === undefined) throw notFound('single sign-on')
      if (row.domainProvedAt !== null) return view(partnerId, row)
      await refuseUnproved(deps, partnerId, view(partnerId, row))
      return db.transaction(async (tx) => {
        const now = await providers.lockSingleSignOn(tx, partnerId)
        if (now === undefined) throw notFound('single sign-on')
        // The provider was set again during the lookup.
        if (now.domainToken !== row.domainToken) return view(partnerId, now)
        const proved = { ...now, domainProvedAt: clock.now(), updatedAt: clock.now() }
        await carryOut(deps, tx, permitted, partnerId, proved)
        return view(partnerId, proved)
      })
    },
    remove: (caller) => {
      const { partnerId } = caller
      return db.transaction(async (tx) => {
        const permitted = permit(await currentCallerActor(deps, tx, caller), 'removeSingleSignOn', allRoleGrants)
        if ((await providers.lockSingleSignOn(tx, partnerId)) === undefined) throw notFound('single sign-on')
        await refuseLockedOut(deps, tx, partnerId)
        await providers.removeSingleSignOn(tx, permitted, partnerId)
        await announceChange(deps, tx, partnerId)
      })
    },
  }
}

/** Builds the row of a request. Refuses: validation_failed, last_admin. */
async function providerRow(
  deps: MembersDeps,
  tx: Tx,
  partnerId: string,
  given: ProviderRequest,
): Promise<providers.SingleSignOnRow> {
  const { clock, sealer, sandbox } = deps
  const emailDomain = given.emailDomain.trim().toLowerCase().replace(/\.$/, '')
  const before = await providers.lockSingleSignOn(tx, partnerId)
  refuseFields(providerErrors({ ...given, emailDomain }, { sandbox, hasSecret: before !== undefined }))
  const { issuer, clientId } = given
  const secret = given.clientSecret ?? null
  const isSame = before?.emailDomain === emailDomain
  // No person is connected with another issuer, and the provider signs in no person before the new domain is proved.
  const endsSignIns = before !== undefined && (before.issuer !== issuer || (before.domainProvedAt !== null && !isSame))
  if (endsSignIns) await refuseLockedOut(deps, tx, partnerId)
  const now = clock.now()
  return {
    issuer,
    clientId,
    emailDomain,
    roleClaim: given.roleClaim ?? null,
    clientSecretSealed:
      secret === null && before !== undefined
        ? before.clientSecretSealed
        : sealer.seal(secret ?? '', providers.clientSecretContext(partnerId)),
    domainToken: isSame ? before.domainToken : given.domainToken,
    domainProvedAt: isSame ? before.domainProvedAt : null,
    roleValues: JSON.stringify(given.roles ?? {}),
    required: given.required ?? false,
    createdAt: before?.createdAt ?? now,
    updatedAt: now,
  }
}

async function announceChange(deps: MembersDeps, tx: Tx, partnerId: string): Promise<void> {
  await mailAdmins(deps, tx, partnerId, 'single sign-on changed')
  deps.facts.append(tx, [{ partnerId, type: 'signOn.changed', subject: partnerId, occasion: newId() }])
}

async function carryOut(
  deps: MembersDeps,
  tx: Tx,
  permitted: Permit,
  partnerId: string,
  row: providers.SingleSignOnRow,
): Promise<void> {
  await providers.setSingleSignOn(tx, permitted, partnerId, row)
  await announceChange(deps, tx, partnerId)
}

/** Stores a validated change until a second Admin decides, with its audit record and mails. */
async function propose(
  deps: MembersDeps,
  tx: Tx,
  permitted: Permit,
  {
    caller,
    wanted,
    ip,
  }: { readonly caller: Caller; readonly wanted: ProviderRequest; readonly ip: string | undefined },
): Promise<void> {
  const { clock, sealer } = deps
  const { partnerId, serviceAccountId: proposedBy, name: proposedByName } = caller
  const { clientSecret = null, ...settings } = wanted
  const now = clock.now()
  const row = {
    id: newId(),
    settings: JSON.stringify(settings),
    proposedBy,
    proposedByName,
    clientSecretSealed:
      clientSecret === null ? null : sealer.seal(clientSecret, providers.pendingSecretContext(partnerId)),
    proposedAt: now,
    expiresAt: after(now, changeMs),
  }
  await providers.replacePendingChange(tx, permitted, partnerId, row)
  record(deps, tx, row, { caller, action: 'proposeSingleSignOn', ip })
  await mailAdmins(deps, tx, partnerId, 'single sign-on waits')
  deps.facts.append(tx, [{ partnerId, type: 'signOn.waits', subject: row.id }])
}

function record(
  { audit }: MembersDeps,
  tx: Tx,
  row: providers.SingleSignOnChangeRow,
  { caller, action, ip }: { readonly caller: Caller; readonly action: ServiceAct; readonly ip: string | undefined },
): void {
  const { partnerId, serviceAccountId: id, name } = caller
  const {
    issuer,
    clientId,
    emailDomain,
    roleClaim = null,
    roles = null,
    required,
  } = ownJson<ProviderRequest>(row.settings)
  const details = { issuer, clientId, emailDomain, roleClaim, roles, required, proposedBy: row.proposedByName }
  const actor = { kind: 'partner', id, name, ...(ip === undefined ? {} : { ip }) } as const
  audit.append(tx, [{ partnerId, actor, action, subject: { changeId: row.id }, details }])
}

function createDecisions(deps: MembersDeps): Pick<SingleSignOnSettings, 'waiting' | 'confirm' | 'reject'> {
  const { db, clock, sealer } = deps
  const takeChange = async (tx: Tx, partnerId: string, id: string) => {
    const change = await providers.deletePendingChange(tx, partnerId, id, clock.now())
    if (change === undefined) throw notFound('change of the single sign-on')
    return change
  }
  return {
    waiting: async (partnerId) => {
      const row = await providers.pendingChange(db, partnerId, clock.now())
      if (row === undefined) return undefined
      const { settings, clientSecretSealed, ...shown } = row
      const {
        issuer,
        clientId,
        emailDomain,
        roleClaim = null,
        roles = null,
        required,
      } = ownJson<ProviderRequest>(settings)
      const wanted = { issuer, clientId, emailDomain, roleClaim, roles, required: required ?? false }
      return { ...shown, ...wanted, hasNewSecret: clientSecretSealed !== null }
    },
    confirm: ({ caller }, id, ip) =>
      db.transaction(async (tx) => {
        const permitted = permit(callerActor(deps, caller), 'decideSingleSignOn', allRoleGrants)
        const { partnerId, serviceAccountId, name } = caller
        const admins = await providers.lockAdmins(tx, partnerId)
        const change = await takeChange(tx, partnerId, id)
        const author = { id: change.proposedBy, name: change.proposedByName, may: admins.includes(change.proposedBy) }
        const not = checkDeciders(author, { id: serviceAccountId, name, may: admins.includes(serviceAccountId) })
        if (not !== undefined) throw new Refusal('permission_denied', not.why)
        const sealed = change.clientSecretSealed
        const secret =
          sealed === null ? {} : { clientSecret: sealer.open(sealed, providers.pendingSecretContext(partnerId)) }
        const row = await providerRow(deps, tx, partnerId, { ...ownJson<ProviderRequest>(change.settings), ...secret })
        await carryOut(deps, tx, permitted, partnerId, row)
        record(deps, tx, change, { caller, action: 'confirmSingleSignOn', ip })
      }),
    reject: ({ caller }, id, ip) =>
      db.transaction(async (tx) => {
        permit(callerActor(deps, caller), 'decideSingleSignOn', allRoleGrants)
        const change = await takeChange(tx, caller.partnerId, id)
        record(deps, tx, change, { caller, action: 'rejectSingleSignOn', ip })
        await mailAdmins(deps, tx, caller.partnerId, 'single sign-on rejected')
      }),
  }
}

const tokenBytes = 24

const viewBuilder =
  ({ redirectUri }: MembersDeps) =>
  (partnerId: string, row: providers.SingleSignOnRow): SingleSignOnView => {
    const { clientSecretSealed: _secret, domainToken, roleValues, ...shown } = row
    const value = `partner-payments-domain=${domainToken}`
    return {
      ...shown,
      redirectUri: redirectUri(partnerId),
      domainRecord: { name: `_partner-payments.${row.emailDomain}`, type: 'TXT', value },
      roles: row.roleClaim === null ? null : ownJson<providers.RoleValues>(roleValues),
    }
  }

/** A domain of at least two labels (RFC 1035, section 2.3.1), in lower case. */
const domainForm = /^(?=.{4,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/

function providerErrors(
  body: Body,
  { sandbox, hasSecret }: { readonly sandbox: boolean; readonly hasSecret: boolean },
): readonly FieldError[] {
  const invalid = (pointer: string, message: string): FieldError => ({ pointer, code: 'invalid_value', message })
  const { roleClaim = null, roles = null } = body
  const values = Object.values(roles ?? {}).flat()
  return [
    ...urlErrors('/issuer', body.issuer, { sandbox, example: 'https://id.example.com' }),
    ...(/[?#]/.test(body.issuer) ? [invalid('/issuer', 'must not have a query or a fragment')] : []),
    ...(domainForm.test(body.emailDomain) ? [] : [invalid('/emailDomain', 'must be a domain such as acme.example')]),
    ...(hasSecret || (body.clientSecret ?? null) !== null
      ? []
      : [invalid('/clientSecret', 'is required, because none is stored yet')]),
    ...(roleClaim !== null && values.length === 0
      ? [invalid('/roles', 'must map at least one role, because roleClaim is set')]
      : []),
    ...(roleClaim === null && values.length > 0 ? [invalid('/roleClaim', 'is required with roles')] : []),
  ]
}

/** Refuses (409) a change that locks out all Admins, because each of them can sign in only by the provider. */
async function refuseLockedOut({ signIn }: MembersDeps, tx: Tx, partnerId: string): Promise<void> {
  const admins = await providers.lockAdmins(tx, partnerId)
  if (admins.length === 0) return
  const own = (await signIn.factorsOf(tx, partnerId, admins)).filter(({ factor }) => factor !== 'sso')
  if (own.length === 0)
    throw new Refusal(
      'last_admin',
      'No Admin has a passkey or a password. An Admin must first add one on the page “Sign-in”.',
    )
}

/** Top-level domains that RFC 2606 reserves for examples and tests. */
const reservedDomains = /\.(?:example|test)$/

/** Refuses (400) if the DNS record is absent, has another value, or could not be read. */
async function refuseUnproved(
  { resolveTxt, sandbox }: MembersDeps,
  partnerId: string,
  { emailDomain, domainRecord }: SingleSignOnView,
) {
  if (sandbox && reservedDomains.test(emailDomain)) return
  const { name, value } = domainRecord
  const refuse = (message: string) => refuseField({ pointer: '/emailDomain', code: 'invalid_value', message })
  const found = await resolveTxt(partnerId, name).catch((error: unknown) => {
    if (error instanceof Refusal) throw error
    const { code } = error as { readonly code?: string }
    throw refuse(
      code === 'ENOTFOUND' || code === 'ENODATA'
        ? `has no TXT record ${name}. A new record can take hours to be seen`
        : `could not be looked up: its name servers did not answer. Try again`,
    )
  })
  if (!found.includes(value)) throw refuse(`has a TXT record ${name} with another value: set it to ${value}`)
}

async function mailAdmins(
  { mail, clock }: MembersDeps,
  tx: Tx,
  partnerId: string,
  change: SignInChange,
): Promise<void> {
  const at = clock.now()
  for (const id of await providers.lockAdmins(tx, partnerId)) {
    const member = await store.memberById(tx, partnerId, id)
    if (member) await mail.enqueue(tx, partnerId, [changeMail(member, change, { at, ip: '–' })])
  }
}
