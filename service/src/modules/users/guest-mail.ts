/** The mail with a guest link. It has the only copy of the token, sealed. */
import { present } from '../../kernel/index.ts'
import {
  escapeHtml,
  htmlPage,
  type MailContent,
  type MailToRender,
  type NewMail,
  oneLine,
  utc,
} from '../../mail/index.ts'
import { withToken } from './invitation-mail.ts'
import type { GuestLinkRow } from './store-guest-links.ts'

export const guestMail = (
  { id, email, fullName, madeByName, expiresAt }: GuestLinkRow,
  token: string,
  linkUrl: string,
): NewMail => ({
  kind: 'guest_link',
  subjectId: id,
  to: { name: fullName, address: email },
  data: { madeByName, linkUrl },
  secret: token,
  expiresAt,
})

export function renderGuestLink(mail: MailToRender): MailContent {
  const { madeByName, linkUrl } = mail.data as Readonly<Record<'madeByName' | 'linkUrl', string>>
  const link = withToken(linkUrl, present(mail.secret, 'a pending mail has its token'))
  const expiresAt = present(mail.expiresAt, 'the mail expires with its link')
  const [partner, maker] = [oneLine(mail.partnerName), oneLine(madeByName)]
  const before = [
    `Hello ${oneLine(mail.toName)},`,
    `${maker} lets you into the webhook pages of ${partner}. Open this link:`,
  ]
  const after = [
    `The link works once, in one browser, until ${utc(expiresAt)}. What you do there is recorded with your name.`,
    'If you did not expect this mail, you can ignore it.',
  ]
  const shown = `<a href="${escapeHtml(link)}">${escapeHtml(link)}</a>`
  return {
    subject: `${maker} lets you into the webhooks of ${partner}`,
    text: `${[...before, link, ...after].join('\n\n')}\n`,
    html: htmlPage([...before.map(escapeHtml), shown, ...after.map(escapeHtml)]),
    link,
  }
}
