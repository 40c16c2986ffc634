/** The mail of an invitation: its queueing and its text. */
import type { users as wire } from '@partner-payments/wire'
import { present } from '../../kernel/index.ts'
import {
  escapeHtml,
  htmlPage,
  type MailContent,
  type MailQueue,
  type MailToRender,
  oneLine,
  utc,
} from '../../mail/index.ts'
import type { Tx } from '../../postgres/index.ts'
import type { InvitationRow } from './store.ts'

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
  const token = present(mail.secret, 'a pending invitation mail has its token')
  const expiresAt = present(mail.expiresAt, 'an invitation mail expires with its invitation')
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
