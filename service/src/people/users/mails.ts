/** The mails to a partner's team: changes of a sign-in, invitations, sign-in links, and impersonations by staff. */
import {
  htmlPage,
  type MailContent,
  type MailQueue,
  type MailToRender,
  mailWithLink,
  type NewMail,
  oneLine,
  plainMail,
  formatUtc,
} from '../../mail/index.ts'
import type { users as wire } from '@partner-payments/wire'
import { present, escapeHtml } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import { type InvitationRow, membersWithRoles } from './store.ts'

// Changes of a member's sign-in, so that the member sees a change by another person.

export type SignInChange =
  | 'passkey added'
  | 'passkey removed'
  | 'password set'
  | 'recovery code used'
  | 'password blocked'
  | 'single sign-on connected'
  | 'single sign-on changed'
  | 'single sign-on waits'
  | 'single sign-on rejected'

const sentences: Readonly<Record<SignInChange, string>> = {
  'passkey added': 'A passkey was added to your account.',
  'passkey removed': 'A passkey was removed from your account.',
  'password set': 'A password and an authenticator app were set for your account. They replace the earlier ones.',
  'recovery code used': 'A recovery code was used to sign in to your account. It cannot be used again.',
  'password blocked':
    'Five attempts in a row to sign in with your password failed. The password is blocked for 15 minutes.',
  'single sign-on connected':
    'Your account was connected to the single sign-on of your team. You can use it to sign in from now on.',
  'single sign-on changed': 'The single sign-on of your team was set, changed or removed.',
  'single sign-on waits':
    'An Admin proposed a change of the single sign-on of your team. It waits for a second Admin on the page “Single sign-on”.',
  'single sign-on rejected':
    'A change of the single sign-on of your team was withdrawn or rejected, and has no effect.',
}

const adviceOf = (change: SignInChange): string =>
  change === 'single sign-on waits'
    ? 'If you did not expect this, reject it there, and check the audit log.'
    : change === 'single sign-on changed' || change === 'single sign-on rejected'
      ? 'If no Admin of your team did this, remove the single sign-on at once, and check the audit log.'
      : 'If this was not you, ask an Admin of your team at once to remove you and invite you again.'

export const changeMail = (
  { id, email, fullName }: { readonly id: string; readonly email: string; readonly fullName: string },
  change: SignInChange,
  { at, ip }: { readonly at: Date; readonly ip: string },
): NewMail => ({
  kind: 'sign_in_changed',
  subjectId: id,
  to: { name: fullName, address: email },
  data: { change, at: at.toISOString(), ip },
})

export function renderSignInChange(mail: MailToRender): MailContent {
  const { change, at, ip } = mail.data as { readonly change: SignInChange; readonly at: string; readonly ip: string }
  const partner = oneLine(mail.partnerName)
  const lines = [
    `Hello ${oneLine(mail.toName)},`,
    sentences[change],
    `Business: ${partner}. Time: ${formatUtc(new Date(at))}. IP address: ${ip}.`,
    adviceOf(change),
  ]
  return plainMail(`Your sign-in to ${partner}: ${change}`, lines)
}

// The link to the page on which a person signs in.

export function renderSignInLink(mail: MailToRender): MailContent {
  const { linkUrl: link = '' } = mail.data as { readonly linkUrl?: string }
  const partner = oneLine(mail.partnerName)
  const before = [`Hello ${oneLine(mail.toName)},`, `To sign in to ${partner}, open this link:`]
  const after = ['If you did not ask for this mail, you can ignore it. The link alone does not sign in.']
  return mailWithLink(`Sign in to ${partner}`, before, link, after)
}

type InvitationMailKind = 'invitation' | 'invitation_resent'

type InvitationMailData = {
  readonly role: wire.Role
  readonly invitedByName: string
  /** The link without the token. Null: the mail shows the token as a code. */
  readonly linkUrl: string | null
}

/** Queues the mails that carry new tokens. Each mail has the only copy of its token, sealed. */
export function queueInvitationMails(
  deps: { readonly mail: Pick<MailQueue, 'enqueue'>; readonly invitationBaseUrl?: string },
  tx: Tx,
  partnerId: string,
  kind: InvitationMailKind,
  invitations: readonly { readonly row: InvitationRow; readonly token: string }[],
): Promise<void> {
  const { mail, invitationBaseUrl = null } = deps
  return mail.enqueue(
    tx,
    partnerId,
    invitations.map(({ row, token }) => {
      const linkUrl = row.redirectUrl ?? invitationBaseUrl
      const data: InvitationMailData = { role: row.role, invitedByName: row.invitedByName, linkUrl }
      return {
        kind,
        subjectId: row.id,
        to: { name: row.fullName, address: row.email },
        data,
        secret: token,
        expiresAt: row.expiresAt,
      }
    }),
  )
}

/**
 * Appends the token as the last query parameter, and replaces an existing `token`. The rest of the URL stays as it is.
 */
export function appendToken(linkUrl: string, token: string): string {
  const url = new URL(linkUrl)
  if (url.searchParams.has('token')) url.searchParams.delete('token')
  url.search = `${url.search === '' ? '?' : `${url.search}&`}token=${token}`
  return url.href
}

/** Renders both kinds of invitation mails. */
export function renderInvitation(mail: MailToRender): MailContent {
  const { role, invitedByName, linkUrl } = mail.data as InvitationMailData
  const token = present(mail.secret, `no token in a mail of kind ${mail.kind}`)
  const expiresAt = present(mail.expiresAt, `no expiry of a mail of kind ${mail.kind}`)
  const name = oneLine(mail.toName)
  const inviter = oneLine(invitedByName)
  const partner = oneLine(mail.partnerName)
  const resent = mail.kind === 'invitation_resent'
  const link = linkUrl === null ? null : appendToken(linkUrl, token)
  const before = [
    `Hello ${name},`,
    `${inviter} invites you to join ${partner} as ${role}.`,
    link === null ? 'To accept, use this code:' : 'To accept, open this link:',
  ]
  const after = [
    `The invitation expires on ${formatUtc(expiresAt)}.`,
    ...(resent ? ['This mail replaces an earlier invitation mail, which no longer works.'] : []),
    'If you did not expect this mail, you can ignore it.',
  ]
  const subject = `${resent ? 'Reminder: ' : ''}${inviter} invites you to ${partner}`
  if (link !== null) return mailWithLink(subject, before, link, after)
  const html = htmlPage([...before.map(escapeHtml), `<code>${escapeHtml(token)}</code>`, ...after.map(escapeHtml)])
  return { ...plainMail(subject, [...before, token, ...after]), html }
}

// Impersonations: the Admins of a partner learn that the operator's staff read its data, and why.

type Impersonation = {
  readonly partnerId: string
  /** The id of the session's service account. */
  readonly id: string
  readonly staff: string
  readonly reason: string
  readonly minutes: number
}

const adminsMax = 100

/** Queues the mails in the transaction that opens the session. */
export const createImpersonationNotice =
  ({ mail }: { readonly mail: Pick<MailQueue, 'enqueue'> }) =>
  async (tx: Tx, { partnerId, id, staff, reason, minutes }: Impersonation): Promise<void> => {
    const admins = await membersWithRoles(tx, partnerId, ['Admin'], adminsMax)
    if (admins.length === 0) return
    await mail.enqueue(
      tx,
      partnerId,
      admins.map(({ fullName, email }) => ({
        kind: 'impersonation',
        subjectId: id,
        to: { name: fullName, address: email },
        data: { staff, reason, minutes: String(minutes) },
      })),
    )
  }

export function renderImpersonationMail(mail: MailToRender): MailContent {
  const { staff, reason, minutes } = mail.data as {
    readonly staff: string
    readonly reason: string
    readonly minutes: string
  }
  const partner = oneLine(mail.partnerName)
  const lines = [
    `Hello ${oneLine(mail.toName)},`,
    `${oneLine(staff)}, who works for the operator of the service, can read the data of ${partner} for ${minutes} minutes, but cannot change anything.`,
    `Reason: ${oneLine(reason)}`,
    'The audit log of your business lists each request of this session. If you did not expect this, ask the operator.',
  ]
  return plainMail(`Staff of the operator reads the data of ${partner}`, lines)
}
