/** How staff come in: by an invitation, and by a passkey or a password. */
import { notFound } from '../../kernel/api/index.ts'
import { operatorPartnerId } from '../../cases/index.ts'
import { personKey } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import { type Client, type Enrolment, type GivenFactor, type Session, SignOnFailed } from '../sign-in/index.ts'
import { emailKey, staffRealmId, tokenHash } from './rules.ts'
import type { StaffAccount, StaffDeps } from './deps.ts'
import { tellStaff } from './staff-mail.ts'
import * as store from './store.ts'

type Factor = Session['factor']
type Opened = { readonly token: string; readonly recoveryCodes: readonly string[] }

export type Entrances = {
  /** Refuses: not_found. */
  readonly openInvitation: (token: string) => Promise<Omit<store.InvitationRow, 'tokenHash'> & Enrolment>
  /** Refuses: not_found (also if an account has the address or the name), validation_failed (factor). */
  readonly join: (token: string, given: GivenFactor, client: Client) => Promise<Opened>
  readonly passkeyOptions: () => Promise<string>
  /** Undefined: the answer is refused. Throws SignOnFailed (`required`). */
  readonly signInByPasskey: (credential: string, client: Client) => Promise<string | undefined>
  /** Undefined: address, password or code is wrong, or there were too many failures. Throws SignOnFailed (`required`). */
  readonly signInByPassword: (
    given: { readonly email: string; readonly password: string; readonly code: string },
    client: Client,
  ) => Promise<string | undefined>
}

/** Opens a session of an account, with its record in the log of the operator, and returns its token. */
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
  // Who joins needs no mail about the own first device.
  if (isNewDevice && action === 'staff sign in') await tellStaff(deps, tx, account, 'new device', client)
  return token
}

/** Refuses who has to come by the provider. Admins may not be able to: the provider may be down, or badly configured. */
function refuseWithoutProvider({ provider }: StaffDeps, { role }: Pick<StaffAccount, 'role'>): void {
  if (provider?.required === true && role !== 'admin') throw new SignOnFailed('required')
}

/** The pending invitation of a token. Refuses: not_found. */
export async function pendingInvitation({ db, clock }: StaffDeps, token: string): Promise<store.InvitationRow> {
  const row = await store.pendingByToken(db, tokenHash(token), clock.now())
  if (row === undefined) throw notFound('pending invitation')
  return row
}

/** Makes an account of an invitation, once. Refuses: not_found. */
export async function acceptInvitation({ clock }: StaffDeps, tx: Tx, row: store.InvitationRow): Promise<void> {
  const now = clock.now()
  if (!(await store.acceptInvitation(tx, row.id, now))) throw notFound('pending invitation')
  const account = { ...row, createdAt: now, emailKey: emailKey(row.email), nameKey: personKey(row.fullName) }
  if (!(await store.insertAccount(tx, account))) throw notFound('pending invitation')
}

export function createEntrances(deps: StaffDeps): Entrances {
  const { db, signIn } = deps
  const find = async (token: string) => {
    const row = await pendingInvitation(deps, token)
    return { row, invited: { ...row, memberId: row.id, seed: row.tokenHash, partnerName: '' } }
  }
  const signInAs = (id: string, client: Client, factor: 'passkey' | 'password') =>
    db.transaction(async (tx) => {
      const account = await store.holdAccount(tx, id)
      if (account === undefined) return undefined
      refuseWithoutProvider(deps, account)
      return openSession(deps, tx, account, { ...client, factor, action: 'staff sign in' })
    })
  return {
    openInvitation: async (token) => {
      const { row, invited } = await find(token)
      const { tokenHash: _hash, ...shown } = row
      return { ...shown, ...(await signIn.enrolment(invited)) }
    },
    join: async (token, given, client) => {
      const { row, invited } = await find(token)
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
      const id = await signIn.byPasskey(staffRealmId, credential)
      return id === undefined ? undefined : signInAs(id, client, 'passkey')
    },
    signInByPassword: async ({ email, ...given }, client) => {
      const account = await store.accountByAddress(db, emailKey(email))
      const verdict = await signIn.byPassword(staffRealmId, account?.id, given)
      if (account === undefined || verdict === 'refused') return undefined
      if (verdict !== 'code') {
        const change = verdict === 'blocked' ? 'password blocked' : 'recovery code used'
        await db.transaction((tx) => tellStaff(deps, tx, account, change, client))
      }
      if (verdict === 'blocked') return undefined
      return signInAs(account.id, client, 'password')
    },
  }
}
