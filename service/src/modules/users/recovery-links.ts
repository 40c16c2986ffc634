/** The links of a recovery: its person sets a new way to sign in, or an Admin cancels it. */
import { notFound, readLink } from '../../api/index.ts'
import type { Tx } from '../../postgres/index.ts'
import type { Client, Enrolment, GivenFactor } from '../../sign-in/index.ts'
import { changeMail } from './change-mail.ts'
import { refuseWithoutProvider } from './entrances.ts'
import type { MembersDeps, SignedIn } from './member-deps.ts'
import type { RecoveryEvent } from './recovery-mail.ts'
import { tokenHash } from './rules.ts'
import { lockWithAdmins, memberById, type MemberRow, recordSignIn } from './store-members.ts'
import * as store from './store-recoveries.ts'

/** A recovery as the page shows it to the person who has its link. */
export type OpenRecovery = Pick<MemberRow, 'fullName' | 'email' | 'role'> &
  Enrolment & {
    readonly partnerId: string
    readonly partnerName: string
    readonly begunByName: string
    readonly expiresAt: Date
  }

/** A recovery as the page shows it to an Admin who may cancel it. */
export type CancellableRecovery = {
  readonly partnerName: string
  readonly fullName: string
  readonly email: string
  readonly begunByName: string
  readonly reason: string
  readonly dueAt: Date | null
}

export type RecoveryLinks = {
  /** Refuses: not_found (no such link, or it is over). */
  readonly opened: (token: string) => Promise<OpenRecovery>
  /**
   * Replaces every way to sign in of the person by a new one, once, ends all sessions, and signs in. Refuses: not_found, validation_failed (factor).
   * Throws SignOnFailed (`required`).
   */
  readonly complete: (token: string, given: GivenFactor, client: Client) => Promise<SignedIn>
  /** Refuses: not_found. */
  readonly cancellable: (token: string) => Promise<CancellableRecovery>
  /** Cancels a recovery whose link was not used yet. Refuses: not_found. */
  readonly cancel: (token: string, client: Client) => Promise<void>
}

type Steps = {
  readonly tell: (
    tx: Tx,
    partnerId: string,
    row: store.RecoveryRow,
    told: { readonly event: RecoveryEvent; readonly person: MemberRow },
  ) => Promise<void>
  readonly cancel: (tx: Tx, partnerId: string, row: store.RecoveryRow, because: string) => Promise<void>
}

type Deps = MembersDeps & { readonly steps: Steps }

export const createRecoveryLinks = (members: MembersDeps, steps: Steps): RecoveryLinks => {
  const deps = { ...members, steps }
  return {
    opened: (token) => opened(deps, token),
    complete: (token, given, client) => complete(deps, token, given, client),
    ...createCancellation(deps),
  }
}

const isOpen = (row: store.RecoveryRow | undefined, now: Date): row is store.RecoveryRow & { expiresAt: Date } =>
  row?.status === 'Open' && row.expiresAt !== null && row.expiresAt > now

async function find({ clock, isClosed, partnerName }: Deps, tx: Tx, token: string) {
  const partnerId = readLink(token)
  if (partnerId === undefined || (await isClosed(tx, partnerId))) throw notFound('link')
  const row = await store.recoveryByToken(tx, partnerId, tokenHash(token))
  if (!isOpen(row, clock.now())) throw notFound('link')
  const member = await memberById(tx, partnerId, row.memberId)
  // Staff recover Admins only: who has another role meanwhile is recovered by an Admin.
  if (member === undefined || (row.byStaff && member.role !== 'Admin')) throw notFound('link')
  const name = await partnerName(tx, partnerId)
  const invited = { ...member, memberId: member.id, seed: tokenHash(token), partnerName: name }
  return { partnerId, row, member, invited }
}

async function opened(deps: Deps, token: string): Promise<OpenRecovery> {
  const { partnerId, row, member, invited } = await find(deps, deps.db, token)
  const { fullName, email, role } = member
  const { begunByName, expiresAt } = row
  const shown = { fullName, email, role, begunByName, expiresAt, partnerId, partnerName: invited.partnerName }
  return { ...shown, ...(await deps.signIn.enrolment(invited)) }
}

async function complete(deps: Deps, token: string, given: GivenFactor, client: Client): Promise<SignedIn> {
  const { db, clock, audit, mail, signIn, steps } = deps
  const { partnerId, row, invited } = await find(deps, db, token)
  const factor = await signIn.prove(invited, given)
  return db.transaction(async (tx) => {
    await lockWithAdmins(tx, partnerId, row.memberId)
    await store.lockRecovery(tx, partnerId, row.id)
    const { row: locked, member } = await find(deps, tx, token)
    await refuseWithoutProvider(tx, partnerId, member)
    const now = clock.now()
    await signIn.forget(tx, partnerId, member.id)
    const recoveryCodes = await signIn.enrol(tx, partnerId, member.id, factor)
    const used = { ...locked, status: 'Used', updatedAt: now } as const
    await store.updateRecovery(tx, partnerId, used)
    await recordSignIn(tx, partnerId, member.id, now)
    const actor = { kind: 'partner', id: member.id, name: member.fullName, ip: client.ip } as const
    const subject = { userId: member.id, recoveryId: row.id }
    audit.append(tx, [{ partnerId, actor, action: 'recoverSignIn', subject, details: { factor: factor.kind } }])
    const change = factor.kind === 'passkey' ? 'passkey added' : 'password set'
    await mail.enqueue(tx, partnerId, [changeMail(member, change, { at: now, ip: client.ip })])
    await steps.tell(tx, partnerId, used, { event: 'used', person: member })
    const { token: session } = await signIn.open(tx, partnerId, member.id, { ...client, factor: factor.kind })
    return { token: session, recoveryCodes }
  })
}

function createCancellation(deps: Deps): Pick<RecoveryLinks, 'cancellable' | 'cancel'> {
  const { db, clock, audit, steps, partnerName, isClosed } = deps
  const isLive = (row: store.RecoveryRow | undefined): row is store.RecoveryRow =>
    row?.status === 'Waiting' || isOpen(row, clock.now())
  const findLive = async (token: string) => {
    const partnerId = readLink(token)
    const row = partnerId && (await store.recoveryByCancel(db, partnerId, tokenHash(token)))
    if (!partnerId || !row || !isLive(row)) throw notFound('link')
    const member = await memberById(db, partnerId, row.memberId)
    if (member === undefined || (await isClosed(db, partnerId))) throw notFound('link')
    return { partnerId, row, member }
  }
  return {
    cancellable: async (token) => {
      const { partnerId, row, member } = await findLive(token)
      const { begunByName, reason, dueAt } = row
      const { fullName, email } = member
      return { partnerName: await partnerName(db, partnerId), fullName, email, begunByName, reason, dueAt }
    },
    cancel: async (token, { ip }) => {
      const { partnerId, row: found } = await findLive(token)
      await db.transaction(async (tx) => {
        await lockWithAdmins(tx, partnerId, found.memberId)
        const row = await store.lockRecovery(tx, partnerId, found.id)
        if (!isLive(row)) throw notFound('link')
        // The link proves the mailbox of an Admin, but not which one.
        await steps.cancel(tx, partnerId, row, 'an Admin cancelled it by the link of the mail')
        const actor = { kind: 'partner', name: 'Link of a mail to the Admins', ip } as const
        const subject = { userId: row.memberId, recoveryId: row.id }
        audit.append(tx, [{ partnerId, actor, action: 'cancelRecovery', subject }])
      })
    },
  }
}
