/** The mails to the team of a partner: changes of a sign-in, invitations, links to sign in, and staff that read as the partner. */
import {
  escapeHtml,
  htmlPage,
  type MailContent,
  type MailQueue,
  type MailToRender,
  type NewMail,
  oneLine,
  utc,
} from '../../mail/index.ts'
import type { users as wire } from '@partner-payments/wire'
import { present } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import { type InvitationRow, membersWithRoles } from './store.ts'

// Informs a member of a change of its sign-in, so that a change by another person is seen.

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
  'password set': 'A password and an authenticator app were set for your account. They replace those before.',
  'recovery code used': 'A recovery code was used to sign in to your account. It cannot be used again.',
  'password blocked':
    'Five attempts to sign in with your password failed, one after the other. The password is blocked for 15 minutes.',
  'single sign-on connected':
    'Your account was connected with the single sign-on of your team. You can sign in there from now on.',
  'single sign-on changed': 'The single sign-on of your team was set, changed or removed.',
  'single sign-on waits':
    'An Admin proposed a change of the single sign-on of your team. It waits for a second Admin on the page “Single sign-on”.',
  'single sign-on rejected':
    'A change of the single sign-on of your team was withdrawn or rejected, and has no effect.',
}

const ifWrong = (change: SignInChange): string =>
  change === 'single sign-on waits'
    ? 'If you do not know of it, reject it there, and look at the audit log.'
    : change === 'single sign-on changed' || change === 'single sign-on rejected'
      ? 'If no Admin of your team has done it, remove the single sign-on at once, and look at the audit log.'
      : 'If it was not you, ask an Admin of your team at once to remove you and invite you again.'

export const changeMail = (
  { id, email, fullName }: { readonly id: string; readonly email: string; readonly fullName: string },
  change: SignInChange,
  { at, ip }: { readonly at: Date; readonly ip: string },
): NewMail => ({
  kind: 'sign_in_changed',
  subjectId: id,
  to: { name: fullName, address: email },
  data: { change, at: at.toISOString(), ip },
  secret: null,
  expiresAt: null,
})

export function renderSignInChange(mail: MailToRender): MailContent {
  const { change, at, ip } = mail.data as { readonly change: SignInChange; readonly at: string; readonly ip: string }
  const partner = oneLine(mail.partnerName)
  const lines = [
    `Hello ${oneLine(mail.toName)},`,
    sentences[change],
    `Business: ${partner}. Time: ${utc(new Date(at))}. IP address: ${ip}.`,
    ifWrong(change),
  ]
  return {
    subject: `Your sign-in to ${partner}: ${change}`,
    text: `${lines.join('\n\n')}\n`,
    html: htmlPage(lines.map(escapeHtml)),
    link: null,
  }
}

// The link of the page on which a person signs in.

export function renderSignInLink(mail: MailToRender): MailContent {
  const { linkUrl: link = '' } = mail.data as { readonly linkUrl?: string }
  const partner = oneLine(mail.partnerName)
  const before = [`Hello ${oneLine(mail.toName)},`, `To sign in to ${partner}, open this link:`]
  const after = ['If you did not ask for this mail, you can ignore it. The link alone does not sign in.']
  return {
    subject: `Sign in to ${partner}`,
    text: `${[...before, link, ...after].join('\n\n')}\n`,
    html: htmlPage([
      ...before.map(escapeHtml),
      `<a href="${escapeHtml(link)}">${escapeHtml(link)}</a>`,
      ...after.map(escapeHtml),
    ]),
    link,
  }
}

export type InvitationMailKind = 'invitation' | 'invitation_resent'

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
export function withToken(linkUrl: string, token: string): string {
  const url = new URL(linkUrl)
  if (url.searchParams.has('token')) url.searchParams.delete('token')
  url.search = `${url.search === '' ? '?' : `${url.search}&`}token=${token}`
  return url.href
}

/** The template of both kinds. */
export function renderInvitation(mail: MailToRender): MailContent {
  const { role, invitedByName, linkUrl } = mail.data as InvitationMailData
  const token = present(mail.secret, `no token in a mail of kind ${mail.kind}`)
  const expiresAt = present(mail.expiresAt, `no expiry of a mail of kind ${mail.kind}`)
  const name = oneLine(mail.toName)
  const inviter = oneLine(invitedByName)
  const partner = oneLine(mail.partnerName)
  const resent = mail.kind === 'invitation_resent'
  const link = linkUrl === null ? null : withToken(linkUrl, token)
  const before = [
    `Hello ${name},`,
    `${inviter} invites you to join ${partner} as ${role}.`,
    link === null ? 'To accept, use this code:' : 'To accept, open this link:',
  ]
  const after = [
    `The invitation expires on ${utc(expiresAt)}.`,
    ...(resent ? ['This mail replaces an earlier invitation mail, which no longer works.'] : []),
    'If you did not expect this mail, you can ignore it.',
  ]
  const shown =
    link === null ? `<code>${escapeHtml(token)}</code>` : `<a href="${escapeHtml(link)}">${escapeHtml(link)}</a>`
  return {
    subject: `${resent ? 'Reminder: ' : ''}${inviter} invites you to ${partner}`,
    text: `${[...before, link ?? token, ...after].join('\n\n')}\n`,
    html: htmlPage([...before.map(escapeHtml), shown, ...after.map(escapeHtml)]),
    link,
  }
}

// Informs the Admins of a partner that staff of the operator reads its data, and why.

type Impersonation = {
  readonly partnerId: string
  /** The service account of the session. */
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
        secret: null,
        expiresAt: null,
      })),
    )
  }

export function renderImpersonation(mail: MailToRender): MailContent {
  const { staff, reason, minutes } = mail.data as {
    readonly staff: string
    readonly reason: string
    readonly minutes: string
  }
  const partner = oneLine(mail.partnerName)
  const lines = [
    `Hello ${oneLine(mail.toName)},`,
    `${oneLine(staff)}, who works for the operator of the service, can read the data of ${partner} for ${minutes} minutes, and change nothing.`,
    `Reason: ${oneLine(reason)}`,
    'The audit log of your business has each request of this session. If you do not expect it, ask the operator.',
  ]
  return {
    subject: `Staff of the operator reads the data of ${partner}`,
    text: `${lines.join('\n\n')}\n`,
    html: htmlPage(lines.map(escapeHtml)),
    link: null,
  }
}
