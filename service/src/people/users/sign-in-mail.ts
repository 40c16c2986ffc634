/** The mail that says where a person signs in. */
import { escapeHtml, htmlPage, type MailContent, type MailToRender, oneLine } from '../../mail/index.ts'

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
