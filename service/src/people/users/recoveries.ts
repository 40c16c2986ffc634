/** Recoveries: a member who has lost every way to sign in gets a link to set a new one. */
import { newLinkToken, notFound, linkPartnerId, Refusal, refuseField } from '../../kernel/api/index.ts'
import { after, dayMs, hourMs, newId, present, tokenHash } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import type { Client, Enrolment, FactorInput } from '../sign-in/index.ts'
import { callerActor, permit, roleGrant } from './giving.ts'
import type { MembersDeps, SignedInUser, SignInResult } from './member-deps.ts'
import { emailKey } from './rules.ts'
import * as store from './store.ts'
import { singleSignOnRow } from './store-entrances.ts'
import { changeMail, appendToken } from './mails.ts'
import { refuseIfProviderRequired } from './entrances.ts'
import {
  type MailContent,
  type MailToRender,
  mailWithLink,
  type NewMail,
  oneLine,
  plainMail,
  formatUtc,
} from '../../mail/index.ts'
import { defineJob, type Job } from '../../postgres/jobs/index.ts'

export type Recovery = Pick<store.RecoveryRow, 'id' | 'status' | 'reason' | 'dueAt' | 'expiresAt' | 'createdAt'> & {
  readonly begunBy: string
  readonly endedBecause: string | null
  readonly fullName: string
  readonly email: string
}

export type Recoveries = RecoveryLinks & {
  /**
   * Lets an Admin end all sessions of a colleague and every way to sign in, and mails a link to set a new one. Refuses:
   * not_found, permission_denied (not an Admin, or recovered since), validation_failed (/id: the caller's own account,
   * or one that signs in by the provider only).
   */
  readonly reset: (signed: SignedInUser, memberId: string, client: Client) => Promise<void>
  /**
   * Begins a recovery of an Admin, which two of the operator's staff have approved. The link is mailed after 24 hours. Refuses: validation_failed (no Admin
   * has the address, or a recovery is under way).
   */
  readonly begin: (
    tx: Tx,
    partnerId: string,
    given: { readonly email: string; readonly staff: string; readonly reason: string },
  ) => Promise<Recovery>
  /** Lets staff cancel a recovery before its link is used. Refuses: not_found. */
  readonly stop: (tx: Tx, partnerId: string, id: string, by: { readonly staff: string }) => Promise<void>
  /** Lists recoveries, newest first. */
  readonly list: (tx: Tx, partnerId: string) => Promise<readonly Recovery[]>
  /** Mails the links of recoveries whose cooling-off is over, and returns the number of recoveries that it changed. */
  readonly step: () => Promise<number>
}

const coolingOffMs = 24 * hourMs
const linkMs = dayMs
const listedMax = 50
const perStepMax = 50
const adminsMax = 100

export function createRecoveries(deps: MembersDeps): Recoveries {
  const { db } = deps
  return {
    opened: (token) => opened(deps, token),
    complete: (token, given, client) => complete(deps, token, given, client),
    ...createCancellation(deps),
    reset: (signed, memberId, { ip }) => db.transaction((tx) => reset(deps, tx, signed, memberId, ip)),
    begin: (tx, partnerId, given) => begin(deps, tx, partnerId, given),
    stop: async (tx, partnerId, id, { staff }) => {
      const row = await store.lockRecovery(tx, partnerId, id)
      if (row === undefined || !isLive(row)) throw notFound('recovery that is under way')
      await cancel(deps, tx, partnerId, row, `${staff}, who works for the operator, cancelled it`)
    },
    list: async (tx, partnerId) => (await store.recoveriesOf(tx, partnerId, listedMax)).map(toRecovery),
    step: async () => {
      const due = await store.dueRecoveries(db, deps.clock.now(), perStepMax)
      const changed = await Promise.all(due.map((each) => db.transaction((tx) => mailDueLink(deps, tx, each))))
      return changed.filter(Boolean).length
    },
  }
}

const isLive = ({ status }: store.RecoveryRow) => status === 'Waiting' || status === 'Open'

const toRecovery = (row: store.RecoveryRow & Pick<store.MemberRow, 'fullName' | 'email'>): Recovery => {
  const { id, fullName, email, status, begunByName: begunBy, reason, dueAt, expiresAt, endedBecause, createdAt } = row
  return { id, fullName, email, status, begunBy, reason, dueAt, expiresAt, endedBecause, createdAt }
}

/** Mails all Admins, including the person of the recovery if it is an Admin. */
async function mailAdmins(
  { mail, signInUrl }: MembersDeps,
  tx: Tx,
  partnerId: string,
  row: store.RecoveryRow,
  {
    event,
    person,
    cancelToken: token,
  }: { readonly event: RecoveryEvent; readonly person: store.MemberRow; readonly cancelToken?: string },
): Promise<void> {
  const all = await store.adminsOf(tx, partnerId, adminsMax)
  // The person gets the mail with the link instead.
  const admins = event === 'opened' ? all.filter(({ id }) => id !== person.id) : all
  const cancel = token === undefined ? {} : { cancel: { token, linkUrl: new URL('recover/cancel', signInUrl).href } }
  await mail.enqueue(tx, partnerId, adminMails(row, person, { event, admins, ...cancel }))
}

/** Mails a new link, and returns the row with its hash. */
async function sendLink(deps: MembersDeps, tx: Tx, partnerId: string, row: store.RecoveryRow, person: store.MemberRow) {
  const now = deps.clock.now()
  const token = newLinkToken(partnerId)
  const expiresAt = after(now, linkMs)
  const open = { ...row, status: 'Open', tokenHash: tokenHash(token), expiresAt, updatedAt: now } as const
  const linkUrl = new URL('recover', deps.signInUrl).href
  await deps.mail.enqueue(tx, partnerId, [recoveryLinkMail(open, person, { token, linkUrl })])
  return open
}

function newRecovery(
  memberId: string,
  by: Pick<store.RecoveryRow, 'byStaff' | 'begunByName' | 'reason'>,
  now: Date,
): store.RecoveryRow {
  const none = { dueAt: null, tokenHash: null, expiresAt: null, cancelHash: null, endedBecause: null }
  return { id: newId(), memberId, status: 'Waiting', ...by, ...none, createdAt: now, updatedAt: now }
}

async function reset(deps: MembersDeps, tx: Tx, signed: SignedInUser, memberId: string, ip: string): Promise<void> {
  const { clock, signIn, audit } = deps
  const { partnerId } = signed.session
  const by = signed.user
  const { member } = await store.lockWithAdmins(tx, partnerId, memberId)
  const actor = await store.memberById(tx, partnerId, by.id)
  // If two Admins reset each other at the same time, the second one no longer has a way to sign in.
  const actorFactors = await signIn.factorsOf(tx, partnerId, [by.id])
  if (actor?.role !== 'Admin' || actorFactors.length === 0) throw new Refusal('permission_denied')
  if (member === undefined) throw notFound('user')
  permit(callerActor(deps, signed.caller), 'resetSignIn', [roleGrant(member.role)])
  if (member.id === by.id)
    throw refuseField({
      pointer: '/id',
      code: 'invalid_value',
      message: 'is your own account: ask another Admin to reset it',
    })
  const provider = await singleSignOnRow(tx, partnerId)
  if (member.role !== 'Admin' && provider?.required === true && provider.domainProvedAt !== null)
    throw refuseField({
      pointer: '/id',
      code: 'invalid_value',
      message:
        'signs in by single sign-on only: recover the account at your provider, or remove the person and invite again',
    })
  const now = clock.now()
  const earlier = await store.lockLiveRecovery(tx, partnerId, memberId)
  if (earlier !== undefined) await end(deps, tx, partnerId, earlier, `${by.fullName} reset the sign-in`)
  await signIn.forget(tx, partnerId, memberId)
  const reason = 'An Admin of the team reset the sign-in'
  const row = newRecovery(memberId, { byStaff: false, begunByName: by.fullName, reason }, now)
  const open = await sendLink(deps, tx, partnerId, row, member)
  await store.insertRecovery(tx, partnerId, open)
  const about = { partnerId, action: 'resetSignIn', subject: { userId: memberId, recoveryId: row.id } } as const
  audit.append(tx, [{ ...about, actor: { kind: 'partner', id: by.id, name: by.fullName, ip } }])
  await mailAdmins(deps, tx, partnerId, open, { event: 'reset', person: member })
}

async function begin(
  deps: MembersDeps,
  tx: Tx,
  partnerId: string,
  { email, staff, reason }: { readonly email: string; readonly staff: string; readonly reason: string },
): Promise<Recovery> {
  const now = deps.clock.now()
  const found = await store.memberByAddress(tx, partnerId, emailKey(email.trim()))
  const { member } = found === undefined ? { member: undefined } : await store.lockWithAdmins(tx, partnerId, found.id)
  if (member?.role !== 'Admin')
    throw new Refusal(
      'validation_failed',
      'No Admin of this partner has the address. An Admin of the team can reset other members.',
    )
  permit({ kind: 'operator' }, 'recoverAdmin', [roleGrant(member.role)])
  const earlier = await store.lockLiveRecovery(tx, partnerId, member.id)
  if (earlier !== undefined && (earlier.expiresAt === null || earlier.expiresAt > now))
    throw new Refusal('validation_failed', 'A recovery of this person is under way. Cancel it first.')
  if (earlier !== undefined) await end(deps, tx, partnerId, earlier, 'its link was not used in time')
  const cancelToken = newLinkToken(partnerId)
  const by = { byStaff: true, begunByName: staff, reason }
  const times = { dueAt: after(now, coolingOffMs), cancelHash: tokenHash(cancelToken) }
  const row = { ...newRecovery(member.id, by, now), ...times }
  await store.insertRecovery(tx, partnerId, row)
  await mailAdmins(deps, tx, partnerId, row, { event: 'waiting', person: member, cancelToken })
  return toRecovery({ ...row, fullName: member.fullName, email: member.email })
}

/** Ends a recovery without a mail to the Admins. A queued link is not sent, and a sent link no longer works. */
async function end(
  { clock, mail }: MembersDeps,
  tx: Tx,
  partnerId: string,
  row: store.RecoveryRow,
  endedBecause: string,
): Promise<store.RecoveryRow> {
  const ended = { ...row, status: 'Cancelled', endedBecause, updatedAt: clock.now() } as const
  await store.updateRecovery(tx, partnerId, ended)
  await mail.endPending(tx, partnerId, row.id, 'the recovery was cancelled')
  return ended
}

async function cancel(
  deps: MembersDeps,
  tx: Tx,
  partnerId: string,
  row: store.RecoveryRow,
  because: string,
): Promise<void> {
  const ended = await end(deps, tx, partnerId, row, because)
  const person = await store.memberById(tx, partnerId, row.memberId)
  if (person !== undefined) await mailAdmins(deps, tx, partnerId, ended, { event: 'cancelled', person })
}

/** Mails the link of a recovery whose cooling-off is over. False: it was cancelled or opened meanwhile. */
async function mailDueLink(
  deps: MembersDeps,
  tx: Tx,
  { partnerId, id, memberId }: { readonly partnerId: string; readonly id: string; readonly memberId: string },
): Promise<boolean> {
  if (await deps.isClosed(tx, partnerId)) return false
  const { member } = await store.lockWithAdmins(tx, partnerId, memberId)
  const row = await store.lockRecovery(tx, partnerId, id)
  if (row?.status !== 'Waiting') return false
  const actor = { kind: 'time' } as const
  const about = { partnerId, actor, subject: { userId: memberId, recoveryId: id } }
  if (member?.role !== 'Admin') {
    const reason = member === undefined ? 'the person was removed' : 'the person is no longer an Admin'
    await cancel(deps, tx, partnerId, row, reason)
    deps.audit.append(tx, [{ ...about, action: 'cancelRecovery', reason }])
    return true
  }
  const opened = await sendLink(deps, tx, partnerId, row, member)
  await store.updateRecovery(tx, partnerId, opened)
  await mailAdmins(deps, tx, partnerId, opened, { event: 'opened', person: member })
  deps.audit.append(tx, [{ ...about, action: 'openRecovery' }])
  return true
}

// The links of a recovery: its person sets a new way to sign in, and an Admin can cancel it.

/** A recovery as the page shows it to its person. */
type OpenRecovery = Pick<store.MemberRow, 'fullName' | 'email' | 'role'> &
  Enrolment & {
    readonly partnerId: string
    readonly partnerName: string
    readonly begunByName: string
    readonly expiresAt: Date
  }

/** A recovery as the page shows it to an Admin who may cancel it. */
export type CancellableRecovery = Pick<store.MemberRow, 'fullName' | 'email'> &
  Pick<store.RecoveryRow, 'begunByName' | 'reason' | 'dueAt'> & { readonly partnerName: string }

type RecoveryLinks = {
  /** Reads the recovery of a link. Refuses: not_found (no such link, or it has ended). */
  readonly opened: (token: string) => Promise<OpenRecovery>
  /**
   * Replaces the person's ways to sign in by a new one, ends all sessions, and signs in. Works once. Refuses: not_found, validation_failed (factor).
   * Throws SignOnFailed (`required`).
   */
  readonly complete: (token: string, given: FactorInput, client: Client) => Promise<SignInResult>
  /** Reads the recovery of a cancel link. Refuses: not_found. */
  readonly cancellable: (token: string) => Promise<CancellableRecovery>
  /** Cancels a recovery whose link was not used. Refuses: not_found. */
  readonly cancel: (token: string, client: Client) => Promise<void>
}

const isOpen = (row: store.RecoveryRow | undefined, now: Date): row is store.RecoveryRow & { expiresAt: Date } =>
  row?.status === 'Open' && row.expiresAt !== null && row.expiresAt > now

async function findOpen({ clock, isClosed, partnerName }: MembersDeps, tx: Tx, token: string) {
  const partnerId = linkPartnerId(token)
  if (partnerId === undefined || (await isClosed(tx, partnerId))) throw notFound('link')
  const row = await store.recoveryByToken(tx, partnerId, tokenHash(token))
  if (!isOpen(row, clock.now())) throw notFound('link')
  const member = await store.memberById(tx, partnerId, row.memberId)
  // Staff recover only Admins. An Admin recovers a person whose role has changed meanwhile.
  if (member === undefined || (row.byStaff && member.role !== 'Admin')) throw notFound('link')
  const name = await partnerName(tx, partnerId)
  const invited = { ...member, memberId: member.id, seed: tokenHash(token), partnerName: name }
  return { partnerId, row, member, invited }
}

async function opened(deps: MembersDeps, token: string): Promise<OpenRecovery> {
  const { partnerId, row, member, invited } = await findOpen(deps, deps.db, token)
  const { fullName, email, role } = member
  const { begunByName, expiresAt } = row
  const enrolment = await deps.signIn.enrolment(invited)
  return { fullName, email, role, begunByName, expiresAt, partnerId, partnerName: invited.partnerName, ...enrolment }
}

async function complete(deps: MembersDeps, token: string, given: FactorInput, client: Client): Promise<SignInResult> {
  const { db, clock, audit, mail, signIn } = deps
  const { partnerId, row, invited } = await findOpen(deps, db, token)
  const factor = await signIn.prove(invited, given)
  return db.transaction(async (tx) => {
    await store.lockWithAdmins(tx, partnerId, row.memberId)
    await store.lockRecovery(tx, partnerId, row.id)
    const { row: locked, member } = await findOpen(deps, tx, token)
    await refuseIfProviderRequired(tx, partnerId, member)
    const now = clock.now()
    await signIn.forget(tx, partnerId, member.id)
    const recoveryCodes = await signIn.enrol(tx, partnerId, member.id, factor)
    const used = { ...locked, status: 'Used', updatedAt: now } as const
    await store.updateRecovery(tx, partnerId, used)
    await store.recordSignIn(tx, partnerId, member.id, now)
    const actor = { kind: 'partner', id: member.id, name: member.fullName, ip: client.ip } as const
    const subject = { userId: member.id, recoveryId: row.id }
    audit.append(tx, [{ partnerId, actor, action: 'recoverSignIn', subject, details: { factor: factor.kind } }])
    const change = factor.kind === 'passkey' ? 'passkey added' : 'password set'
    await mail.enqueue(tx, partnerId, [changeMail(member, change, { at: now, ip: client.ip })])
    await mailAdmins(deps, tx, partnerId, used, { event: 'used', person: member })
    const { token: session } = await signIn.open(tx, partnerId, member.id, { ...client, factor: factor.kind })
    return { token: session, recoveryCodes }
  })
}

function createCancellation(deps: MembersDeps): Pick<RecoveryLinks, 'cancellable' | 'cancel'> {
  const { db, clock, audit, partnerName, isClosed } = deps
  const isCancellable = (row: store.RecoveryRow | undefined): row is store.RecoveryRow =>
    row?.status === 'Waiting' || isOpen(row, clock.now())
  const findCancellable = async (token: string) => {
    const partnerId = linkPartnerId(token)
    const row = partnerId ? await store.recoveryByCancel(db, partnerId, tokenHash(token)) : undefined
    if (!partnerId || !isCancellable(row)) throw notFound('link')
    const member = await store.memberById(db, partnerId, row.memberId)
    if (member === undefined || (await isClosed(db, partnerId))) throw notFound('link')
    return { partnerId, row, member }
  }
  return {
    cancellable: async (token) => {
      const { partnerId, row, member } = await findCancellable(token)
      const { begunByName, reason, dueAt } = row
      const { fullName, email } = member
      return { partnerName: await partnerName(db, partnerId), fullName, email, begunByName, reason, dueAt }
    },
    cancel: async (token, { ip }) => {
      const { partnerId, row: found } = await findCancellable(token)
      await db.transaction(async (tx) => {
        await store.lockWithAdmins(tx, partnerId, found.memberId)
        const row = await store.lockRecovery(tx, partnerId, found.id)
        if (!isCancellable(row)) throw notFound('link')
        // The link proves the mailbox of an Admin, but not which one.
        await cancel(deps, tx, partnerId, row, 'an Admin cancelled it with the link in the mail')
        const actor = { kind: 'partner', name: 'Link of a mail to the Admins', ip } as const
        const subject = { userId: row.memberId, recoveryId: row.id }
        audit.append(tx, [{ partnerId, actor, action: 'cancelRecovery', subject }])
      })
    },
  }
}

// The mails of a recovery: the link for its person, and a report to the Admins of the team.

type Person = Pick<store.MemberRow, 'fullName' | 'email'>

/** Builds the mail with the link, which has the only copy of the token, sealed. */
const recoveryLinkMail = (
  { id, begunByName, expiresAt }: store.RecoveryRow,
  to: Person,
  { token, linkUrl }: { readonly token: string; readonly linkUrl: string },
): NewMail => ({
  kind: 'recovery_link',
  subjectId: id,
  to: { name: to.fullName, address: to.email },
  data: { begunByName, linkUrl },
  secret: token,
  expiresAt,
})

export function renderRecoveryLink(mail: MailToRender): MailContent {
  const { begunByName, linkUrl } = mail.data as { readonly begunByName: string; readonly linkUrl: string }
  const link = appendToken(linkUrl, present(mail.secret, `no token in a mail of kind ${mail.kind}`))
  const expiresAt = present(mail.expiresAt, `no expiry of a mail of kind ${mail.kind}`)
  const partner = oneLine(mail.partnerName)
  const before = [
    `Hello ${oneLine(mail.toName)},`,
    `${oneLine(begunByName)} lets you set a new way to sign in to ${partner}. Open this link:`,
  ]
  const after = [
    `The link works once, until ${formatUtc(expiresAt)}. Your earlier ways to sign in end when you use it.`,
    'If you did not ask for this, tell an Admin of your team or the operator at once.',
  ]
  return mailWithLink(`A new way to sign in to ${partner}`, before, link, after)
}

/** The step that a mail to Admins reports. */
type RecoveryEvent = 'reset' | 'waiting' | 'opened' | 'cancelled' | 'used'

/** Builds the mails to Admins. `cancel`: the link with which each of them can cancel the recovery. */
const adminMails = (
  row: store.RecoveryRow,
  person: Person,
  report: {
    readonly event: RecoveryEvent
    readonly admins: readonly Person[]
    readonly cancel?: { readonly token: string; readonly linkUrl: string }
  },
): readonly NewMail[] =>
  report.admins.map(({ fullName, email }) => ({
    kind: 'recovery_report',
    // The member, because the mails about the recovery end with its link, and a report must still be sent.
    subjectId: row.memberId,
    to: { name: fullName, address: email },
    data: {
      event: report.event,
      person: `${person.fullName} (${person.email})`,
      begunByName: row.begunByName,
      reason: row.reason,
      dueAt: row.dueAt?.toISOString() ?? null,
      because: row.endedBecause,
      linkUrl: report.cancel?.linkUrl ?? null,
    },
    secret: report.cancel?.token ?? null,
  }))

type RecoveryReport = {
  readonly event: RecoveryEvent
  readonly person: string
  readonly begunByName: string
  readonly reason: string
  readonly dueAt: string | null
  readonly because: string | null
  readonly linkUrl: string | null
}

export function renderRecoveryReport(mail: MailToRender): MailContent {
  const report = mail.data as RecoveryReport
  const partner = oneLine(mail.partnerName)
  const hasReason = report.event === 'waiting' || report.event === 'reset'
  const before = [
    `Hello ${oneLine(mail.toName)},`,
    reportSentence(report),
    `Business: ${partner}.`,
    ...(hasReason ? [`Reason: ${oneLine(report.reason)}`] : []),
  ]
  const after = ['If you did not expect this, check the audit log, and tell the operator at once.']
  const subject = `Recovery of a sign-in to ${partner}: ${report.event}`
  if (report.linkUrl === null || mail.secret === null) return plainMail(subject, [...before, ...after])
  before.push('If this is not right, open this link to cancel the recovery:')
  return mailWithLink(subject, before, appendToken(report.linkUrl, mail.secret), after)
}

function reportSentence({ event, person, begunByName, dueAt, because }: RecoveryReport): string {
  const [who, by] = [oneLine(person), oneLine(begunByName)]
  if (event === 'reset') return `${by} has reset the sign-in of ${who}, who gets a link to set a new one.`
  if (event === 'waiting')
    return `${by} asks to let ${who} set a new way to sign in. A second person of the operator has confirmed it. The link will be mailed on ${formatUtc(new Date(dueAt ?? 0))}, unless one of you cancels it.`
  if (event === 'opened') return `The waiting period is over: a link to set a new way to sign in was mailed to ${who}.`
  if (event === 'used') return `${who} has set a new way to sign in. The earlier ones and all sessions have ended.`
  return `The recovery of the sign-in of ${who} was cancelled: ${oneLine(because ?? '')}.`
}

/** Creates the job that mails the links of recoveries after the cooling-off. */
export const recoveriesJob = ({ step }: Pick<Recoveries, 'step'>): Job =>
  defineJob({ name: 'users.recoveries', due: store.recoveriesDue, run: step })
