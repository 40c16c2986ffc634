/** Single sign-on of staff by the provider of the installation. The provider says who a person is; two persons of staff say what the person may do. */
import { notFound } from '../../kernel/api/index.ts'
import { operatorPartnerId } from '../../cases/index.ts'
import type { Tx } from '../../postgres/index.ts'
import { type Client, type Proved, type SignOnAnswer, SignOnFailed } from '../sign-in/index.ts'
import { acceptInvitation, openSession, pendingInvitation } from './entrances.ts'
import { emailKey, staffRealmId } from './rules.ts'
import type { SignedStaff, StaffAccount, StaffDeps } from './deps.ts'
import { tellStaff } from './staff-mail.ts'
import * as store from './store.ts'

/** A person of staff signs in, joins or connects an account. */
export type StaffPurpose =
  | { readonly kind: 'sign in' }
  | { readonly kind: 'join'; readonly token: string }
  | { readonly kind: 'connect'; readonly signed: SignedStaff }

export type StaffSingleSignOn = {
  readonly isOn: boolean
  /** The time at which an account was connected with the provider. Null: it is not. */
  readonly connectedSince: (id: string) => Promise<Date | null>
  /** Starts a sign-in at the provider. Throws SignOnFailed (`off`, `unreachable`). Refuses: not_found (the invitation). */
  readonly begin: (purpose: StaffPurpose) => Promise<{ readonly url: string; readonly attempt: string }>
  /**
   * Does what was begun. `token`: that of a session which was opened. `signed`: who is signed in in the browser. Throws SignOnFailed. Refuses:
   * not_found (the invitation, also if an account has the address or the name).
   */
  readonly finish: (
    given: { readonly attempt: string; readonly query: string; readonly signed: SignedStaff | undefined },
    client: Client,
  ) => Promise<{ readonly kind: SignOnAnswer['purpose']['kind']; readonly token?: string }>
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
      if (purpose.kind === 'sign in') return singleSignOn.begin(staffRealmId, provider, { ...purpose, next: 'queue' })
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
        const token =
          purpose.kind === 'join'
            ? await join(deps, tx, purpose.token, proved, client)
            : await signIn(deps, tx, proved, client)
        return { kind: purpose.kind, token }
      })
    },
  }
}

async function signIn(deps: StaffDeps, tx: Tx, proved: Proved, client: Client): Promise<string> {
  const { singleSignOn, clock } = deps
  const id = await singleSignOn.memberOf(tx, staffRealmId, proved)
  const account = id === undefined ? undefined : await store.holdAccount(tx, id)
  if (account === undefined) throw new SignOnFailed('unknown')
  refuseRole(deps, account, proved)
  await singleSignOn.recordUse(tx, staffRealmId, proved, clock.now())
  return openSession(deps, tx, account, { ...client, factor: 'sso', action: 'staff sign in' })
}

/** The link of the invitation proves the address, and the provider has to name the same one: a link that was passed on opens no account. */
async function join(deps: StaffDeps, tx: Tx, token: string, proved: Proved, client: Client): Promise<string> {
  const row = await pendingInvitation(deps, token)
  if (proved.email === null || proved.emailVerified === false || emailKey(proved.email) !== emailKey(row.email))
    throw new SignOnFailed('address')
  refuseRole(deps, row, proved)
  await acceptInvitation(deps, tx, row)
  await connect(deps, tx, row.id, proved)
  return openSession(deps, tx, row, { ...client, factor: 'sso', action: 'staff join' })
}

async function connectAccount(deps: StaffDeps, tx: Tx, { session, account: { id } }: SignedStaff, proved: Proved) {
  const account = await store.holdAccount(tx, id)
  if (account === undefined) throw notFound('staff account')
  refuseRole(deps, account, proved)
  await connect(deps, tx, id, proved)
  await tellStaff(deps, tx, account, 'single sign-on connected', session)
  const actor = { kind: 'operator', id, name: account.fullName, ip: session.ip } as const
  const about = { partnerId: operatorPartnerId, subject: { staffId: id } }
  deps.audit.append(tx, [{ ...about, actor, action: 'staff connect single sign-on' }])
}

async function connect({ singleSignOn, clock }: StaffDeps, tx: Tx, memberId: string, proved: Proved): Promise<void> {
  const before = await singleSignOn.memberOf(tx, staffRealmId, proved)
  if (before !== undefined && before !== memberId && (await store.accountById(tx, before)))
    throw new SignOnFailed('taken')
  const given = { memberId, replaced: before ?? null, now: clock.now() }
  if (!(await singleSignOn.connect(tx, staffRealmId, proved, given))) throw new SignOnFailed('taken')
}

function refuseRole({ provider }: StaffDeps, { role }: Pick<StaffAccount, 'role'>, { roles }: Proved): void {
  if (provider === undefined || provider.roleClaim === null) return
  const needed = provider.roles[role] ?? []
  if (!needed.some((value) => roles.includes(value))) throw new SignOnFailed('role')
}
