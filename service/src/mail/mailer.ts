/** What an invitation says: plain text, and the same in simple HTML. */
import type { users as wire } from '@partner-payments/wire'
import type { MailKind } from '../modules/users/index.ts'
import { escape, htmlPage, utc } from './text.ts'
import { type Mailbox, type MailTransport, oneLine } from './transport.ts'

export type InvitationMail = {
  readonly id: string
  readonly kind: MailKind
  readonly toAddress: string
  readonly toName: string
  readonly role: wire.Role
  readonly invitedByName: string
  readonly partnerName: string
  /** Where the link leads, without the token; null: the token is shown as a code. */
  readonly linkUrl: string | null
  readonly token: string
  readonly expiresAt: Date
}

export type Mailer = {
  /** Renders and sends. Throws what the transport throws. */
  readonly send: (mail: InvitationMail, now: Date) => Promise<void>
}

export function createMailer({
  transport,
  from,
}: {
  readonly transport: MailTransport
  readonly from: Mailbox
}): Mailer {
  const domain = from.address.slice(from.address.lastIndexOf('@') + 1)
  return {
    send: (mail, now) =>
      transport.send({
        messageId: `<${mail.id}@${domain}>`,
        date: now,
        from,
        to: { name: mail.toName, address: mail.toAddress },
        ...render(mail),
      }),
  }
}

/** The token as the last parameter of the query, the rest of the URL as it was; a `token` of its own gives way. */
export function withToken(linkUrl: string, token: string): string {
  const url = new URL(linkUrl)
  if (url.searchParams.has('token')) url.searchParams.delete('token')
  url.search = `${url.search === '' ? '?' : `${url.search}&`}token=${token}`
  return url.href
}

export function render(mail: InvitationMail): {
  readonly subject: string
  readonly text: string
  readonly html: string
  readonly link: string | null
} {
  const [name, by, partner] = [mail.toName, mail.invitedByName, mail.partnerName].map(oneLine) as [
    string,
    string,
    string,
  ]
  const link = mail.linkUrl === null ? null : withToken(mail.linkUrl, mail.token)
  const resent = mail.kind === 'invitation_resent'
  const subject = `${resent ? 'Reminder: ' : ''}${by} invites you to ${partner}`
  const invitation = `${by} invites you to join ${partner} as ${mail.role}.`
  const how = link === null ? 'To accept, use this code:' : 'To accept, open this link:'
  const expiry = `The invitation expires on ${utc(mail.expiresAt)}.`
  const former = resent ? ['An earlier invitation mail of ours no longer works; this one replaces it.'] : []
  const stray = 'If you did not expect this mail, you can ignore it.'
  const paragraphs = [`Hello ${name},`, invitation, how, link ?? mail.token, expiry, ...former, stray]
  const shown = link === null ? `<code>${escape(mail.token)}</code>` : `<a href="${escape(link)}">${escape(link)}</a>`
  const html = paragraphs.map((paragraph, index) => (index === 3 ? shown : escape(paragraph)))
  return {
    subject,
    text: `${paragraphs.join('\n\n')}\n`,
    html: htmlPage(html),
    link,
  }
}
