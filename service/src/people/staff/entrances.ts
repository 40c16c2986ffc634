/**
 * Lets staff join by an invitation, and sign in by a passkey, a password or single sign-on. Sign-ins and changes are
 * mailed.
 */
import { notFound } from '../../kernel/api/index.ts'
import { operatorPartnerId } from '../../cases/index.ts'
import { personKey, tokenHash } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import {
  type Client,
  describeDevice,
  type Enrolment,
  type FactorInput,
  type ProviderClaims,
  type Session,
  type SignOnAnswer,
  SignOnFailed,
} from '../sign-in/index.ts'
import { emailKey, staffRealmId } from './rules.ts'
import type { SignedInStaff, StaffAccount, StaffDeps } from './deps.ts'
import * as store from './store.ts'
import { type MailContent, type MailToRender, oneLine, plainMail, formatUtc } from '../../mail/index.ts'

type Factor = Session['factor']
type JoinResult = { readonly token: string; readonly recoveryCodes: readonly string[] }

export type StaffSignIn = {
  /** Reads the pending invitation of a token for its page. Refuses: not_found. */
  readonly openInvitation: (token: string) => Promise<Omit<store.InvitationRow, 'tokenHash'> & Enrolment>
  /** Accepts an invitation with the first factor, and signs in. Refuses: not_found (also if the address or the name is taken), validation_failed (factor). */
  readonly join: (token: string, given: FactorInput, client: Client) => Promise<JoinResult>
  readonly passkeyOptions: () => Promise<string>
  /** Signs in with a passkey. Undefined: its answer is refused. Throws SignOnFailed (`required`). */
  readonly signInByPasskey: (credential: string, client: Client) => Promise<string | undefined>
  /** Signs in with a password. Undefined: address, password or code is wrong, or too many attempts failed. Throws SignOnFailed (`required`). */
  readonly signInByPassword: (
    given: { readonly email: string; readonly password: string; readonly code: string },
    client: Client,
  ) => Promise<string | undefined>
}

/** Opens a session of an account, records it in the operator's log, and returns its token. */
export async function openSession(
  deps: StaffDeps,
  tx: Tx,
  account: StaffAccount,
  { factor, action, ...client }: Client & { readonly factor: Factor; readonly action: 'staff join' | 'staff sign in' },
): Promise<string> {
  const { audit, addOperator, signIn } = deps
  await addOperator(tx, operatorPartnerId)
  const actor = { kind: 'operator', id: account.id, name: account.fullName, ip: client.ip } as const
  const subject = { staffId: account.id }
  audit.append(tx, [{ partnerId: operatorPartnerId, actor, action, subject, details: { factor } }])
  const { token, isNewDevice } = await signIn.open(tx, staffRealmId, account.id, { ...client, factor })
  // A person who joins does not need a mail about the first device.
  if (isNewDevice && action === 'staff sign in') await mailStaffChange(deps, tx, account, 'new device', client)
  return token
}

/** Refuses a person who must sign in by the provider. Admins are exempt, because the provider may be down or misconfigured. */
function refuseWithoutProvider({ provider }: StaffDeps, { role }: Pick<StaffAccount, 'role'>): void {
  if (provider?.required === true && role !== 'admin') throw new SignOnFailed('required')
}

/** Finds the pending invitation of a token. Refuses: not_found. */
export async function pendingInvitation({ db, clock }: StaffDeps, token: string): Promise<store.InvitationRow> {
  const row = await store.pendingByToken(db, tokenHash(token), clock.now())
  if (row === undefined) throw notFound('pending invitation')
  return row
}

/** Turns an invitation into an account, once. Refuses: not_found. */
export async function acceptInvitation({ clock }: StaffDeps, tx: Tx, row: store.InvitationRow): Promise<void> {
  const now = clock.now()
  if (!(await store.acceptInvitation(tx, row.id, now))) throw notFound('pending invitation')
  const account = { ...row, createdAt: now, emailKey: emailKey(row.email), nameKey: personKey(row.fullName) }
  if (!(await store.insertAccount(tx, account))) throw notFound('pending invitation')
}

export function createStaffSignIn(deps: StaffDeps): StaffSignIn {
  const { db, signIn } = deps
  const findInvitation = async (token: string) => {
    const row = await pendingInvitation(deps, token)
    return { row, invited: { ...row, memberId: row.id, seed: row.tokenHash, partnerName: '' } }
  }
  const signInAs = (id: string, client: Client, factor: 'passkey' | 'password') =>
    db.transaction(async (tx) => {
      const account = await store.lockAccount(tx, id)
      if (account === undefined) return undefined
      refuseWithoutProvider(deps, account)
      return openSession(deps, tx, account, { ...client, factor, action: 'staff sign in' })
    })
  return {
    openInvitation: async (token) => {
      const { row, invited } = await findInvitation(token)
      const { tokenHash: _hash, ...shown } = row
      return { ...shown, ...(await signIn.enrolment(invited)) }
    },
    join: async (token, given, client) => {
      const { row, invited } = await findInvitation(token)
      refuseWithoutProvider(deps, row)
      const factor = await signIn.prove(invited, given)
      return db.transaction(async (tx) => {
        await acceptInvitation(deps, tx, row)
        const recoveryCodes = await signIn.enrol(tx, staffRealmId, row.id, factor)
        const opened = await openSession(deps, tx, row, { ...client, factor: factor.kind, action: 'staff join' })
        return { token: opened, recoveryCodes }
      })
    },
    passkeyOptions: () => signIn.passkeyOptions(staffRealmId),
    signInByPasskey: async (credential, client) => {
      const id = await signIn.verifyPasskey(staffRealmId, credential)
      return id === undefined ? undefined : signInAs(id, client, 'passkey')
    },
    signInByPassword: async ({ email, ...given }, client) => {
      const account = await store.accountByAddress(db, emailKey(email))
      const verdict = await signIn.verifyPassword(staffRealmId, account?.id, given)
      if (account === undefined || verdict === 'refused') return undefined
      if (verdict !== 'code') {
        const change = verdict === 'blocked' ? 'password blocked' : 'recovery code used'
        await db.transaction((tx) => mailStaffChange(deps, tx, account, change, client))
      }
      if (verdict === 'blocked') return undefined
      return signInAs(account.id, client, 'password')
    },
  }
}

// Single sign-on of staff by the provider of the installation. The provider identifies a person; two staff members decide the role.

/** The reason why a person is sent to the provider: to sign in, join or connect an account. */
export type StaffPurpose =
  | { readonly kind: 'sign in'; readonly next: string }
  | { readonly kind: 'join'; readonly token: string }
  | { readonly kind: 'connect'; readonly signed: SignedInStaff }

export type StaffSingleSignOn = {
  readonly isOn: boolean
  /** Returns when an account was connected. Null: it is not connected. */
  readonly connectedSince: (id: string) => Promise<Date | null>
  /** Starts a sign-in at the provider. Throws SignOnFailed (`off`, `unreachable`). Refuses: not_found (the invitation). */
  readonly begin: (purpose: StaffPurpose) => Promise<{ readonly url: string; readonly attempt: string }>
  /**
   * Completes the act that the person began at the provider. `signed`: the person who is signed in in the browser.
   * `token`: the token of the new session. `next`: the page that the person wanted. Throws SignOnFailed. Refuses:
   * not_found (the invitation, also if the address or the name is taken).
   */
  readonly finish: (
    given: { readonly attempt: string; readonly query: string; readonly signed: SignedInStaff | undefined },
    client: Client,
  ) => Promise<{ readonly kind: SignOnAnswer['purpose']['kind']; readonly token?: string; readonly next?: string }>
}

export function createStaffSingleSignOn(deps: StaffDeps): StaffSingleSignOn {
  const { db, singleSignOn, provider } = deps
  return {
    isOn: provider !== undefined,
    connectedSince: async (id) =>
      provider === undefined
        ? null
        : ((await singleSignOn.connectedSince(db, staffRealmId, provider.issuer, id)) ?? null),
    begin: async (purpose) => {
      if (provider === undefined) throw new SignOnFailed('off')
      if (purpose.kind === 'sign in') return singleSignOn.begin(staffRealmId, provider, purpose)
      if (purpose.kind === 'connect') {
        const memberId = purpose.signed.account.id
        return singleSignOn.begin(staffRealmId, provider, { kind: 'connect', memberId })
      }
      await pendingInvitation(deps, purpose.token)
      return singleSignOn.begin(staffRealmId, provider, purpose)
    },
    finish: async ({ signed, ...given }, client) => {
      if (provider === undefined) throw new SignOnFailed('off')
      const answer = await singleSignOn.finish(staffRealmId, provider, given)
      const { purpose, proved } = answer
      return db.transaction(async (tx) => {
        if (!(await singleSignOn.answer(tx, staffRealmId, answer.asked))) throw new SignOnFailed('expired')
        if (purpose.kind === 'connect') {
          if (signed?.account.id !== purpose.memberId) throw new SignOnFailed('expired')
          await connectAccount(deps, tx, signed, proved)
          return { kind: 'connect' }
        }
        if (purpose.kind === 'join') return { kind: 'join', token: await join(deps, tx, purpose.token, proved, client) }
        return { kind: 'sign in', token: await signIn(deps, tx, proved, client), next: purpose.next }
      })
    },
  }
}

async function signIn(deps: StaffDeps, tx: Tx, proved: ProviderClaims, client: Client): Promise<string> {
  const { singleSignOn, clock } = deps
  const id = await singleSignOn.findMember(tx, staffRealmId, proved)
  const account = id === undefined ? undefined : await store.lockAccount(tx, id)
  if (account === undefined) throw new SignOnFailed('unknown')
  refuseRole(deps, account, proved)
  await singleSignOn.recordUse(tx, staffRealmId, proved, clock.now())
  return openSession(deps, tx, account, { ...client, factor: 'sso', action: 'staff sign in' })
}

/** Accepts an invitation. Its link proves the address, and the provider must name the same address: other provider accounts cannot use the link. */
async function join(deps: StaffDeps, tx: Tx, token: string, proved: ProviderClaims, client: Client): Promise<string> {
  const row = await pendingInvitation(deps, token)
  if (proved.email === null || proved.emailVerified === false || emailKey(proved.email) !== emailKey(row.email))
    throw new SignOnFailed('address')
  refuseRole(deps, row, proved)
  await acceptInvitation(deps, tx, row)
  await connect(deps, tx, row.id, proved)
  return openSession(deps, tx, row, { ...client, factor: 'sso', action: 'staff join' })
}

async function connectAccount(
  deps: StaffDeps,
  tx: Tx,
  { session, account: { id } }: SignedInStaff,
  proved: ProviderClaims,
) {
  const account = await store.lockAccount(tx, id)
  if (account === undefined) throw notFound('staff account')
  // The session may have ended while the person was at the provider.
  if (!(await deps.signIn.holdSession(tx, session))) throw new SignOnFailed('expired')
  refuseRole(deps, account, proved)
  await connect(deps, tx, id, proved)
  await mailStaffChange(deps, tx, account, 'single sign-on connected', session)
  const actor = { kind: 'operator', id, name: account.fullName, ip: session.ip } as const
  const about = { partnerId: operatorPartnerId, subject: { staffId: id } }
  deps.audit.append(tx, [{ ...about, actor, action: 'staff connect single sign-on' }])
}

async function connect(
  { singleSignOn, clock }: StaffDeps,
  tx: Tx,
  memberId: string,
  proved: ProviderClaims,
): Promise<void> {
  const previous = await singleSignOn.findMember(tx, staffRealmId, proved)
  if (previous !== undefined && previous !== memberId && (await store.accountById(tx, previous)))
    throw new SignOnFailed('taken')
  const connection = { memberId, replaced: previous ?? null, now: clock.now() }
  if (!(await singleSignOn.connect(tx, staffRealmId, proved, connection))) throw new SignOnFailed('taken')
}

function refuseRole({ provider }: StaffDeps, { role }: Pick<StaffAccount, 'role'>, { roles }: ProviderClaims): void {
  if (provider === undefined || provider.roleClaim === null) return
  const needed = provider.roles[role] ?? []
  if (!needed.some((value) => roles.includes(value))) throw new SignOnFailed('role')
}

// Mails a staff member about a sign-in from a new device and changes of the account, so that the person learns of an
// intruder.

type StaffChange =
  | 'new device'
  | 'recovery code used'
  | 'password blocked'
  | 'single sign-on connected'
  | 'role changed'
  | 'sessions ended'
  | 'removed'

const sentences: Readonly<Record<StaffChange, string>> = {
  'new device': 'A device that did not sign in to your account before has signed in.',
  'recovery code used': 'A recovery code was used to sign in to your account. It cannot be used again.',
  'password blocked':
    'Five attempts in a row to sign in with your password failed. The password is blocked for 15 minutes.',
  'single sign-on connected':
    'Your account was connected to the single sign-on. You can use it to sign in from now on.',
  'role changed': 'The role of your account was changed to {role}.',
  'sessions ended': 'All your sessions and the tokens of your commands were ended. You can sign in again.',
  removed: 'Your account was removed. You can no longer sign in.',
}

/** Queues the mail in the transaction of the change. `by`: the person's browser. Absent: another person made the change. */
export async function mailStaffChange(
  { mail, clock, addOperator, deskName }: StaffDeps,
  tx: Tx,
  { id, email, fullName, role }: StaffAccount,
  change: StaffChange,
  by?: Pick<Client, 'ip' | 'userAgent'>,
): Promise<void> {
  await addOperator(tx, operatorPartnerId)
  const from = by === undefined ? null : `Device: ${describeDevice(by.userAgent)}. IP address: ${by.ip}.`
  const data = { change, role, from, deskName, at: clock.now().toISOString() }
  const to = { name: fullName, address: email }
  await mail.enqueue(tx, operatorPartnerId, [{ kind: 'staff_account', subjectId: id, to, data }])
}

export function renderStaffMail({ data, toName }: MailToRender): MailContent {
  const { change, role, from, deskName, at } = data as {
    readonly change: StaffChange
    readonly from: string | null
  } & Readonly<Record<'role' | 'deskName' | 'at', string>>
  const desk = oneLine(deskName)
  const lines = [
    `Hello ${oneLine(toName)},`,
    sentences[change].replace('{role}', role),
    [`Site: ${desk}.`, `Time: ${formatUtc(new Date(at))}.`, from].filter((part) => part !== null).join(' '),
    'If you did not expect this, tell an admin of your staff at once, who can end your sessions.',
  ]
  return plainMail(`Your account at ${desk}: ${change}`, lines)
}
