/** The mail that informs the Admins of a partner of a change of its keys, so that a key of a stranger is seen. */
import {
  escapeHtml,
  htmlPage,
  type MailContent,
  type MailToRender,
  type NewMail,
  oneLine,
  utc,
} from '../../mail/index.ts'

export type KeyChange = 'created' | 'rotated' | 'changed' | 'revoked'

const sentences: Readonly<Record<KeyChange, string>> = {
  created: 'was created. It can sign requests of your business.',
  rotated: 'got a new key. The key before works on for the overlap.',
  changed: 'was changed: name, permissions, addresses or end.',
  revoked: 'was revoked. It can no longer sign requests.',
}

type About = {
  readonly id: string
  readonly name: string
  readonly change: KeyChange
  readonly by: string
  readonly at: Date
}

export const keyMail = (
  { email, fullName }: { readonly email: string; readonly fullName: string },
  { id, name, change, by, at }: About,
): NewMail => ({
  kind: 'service_account_changed',
  subjectId: id,
  to: { name: fullName, address: email },
  data: { name, change, by, at: at.toISOString() },
  secret: null,
  expiresAt: null,
})

export function renderKeyChange(mail: MailToRender): MailContent {
  const { name, change, by, at } = mail.data as Readonly<Record<'name' | 'by' | 'at', string>> & {
    readonly change: KeyChange
  }
  const partner = oneLine(mail.partnerName)
  const lines = [
    `Hello ${oneLine(mail.toName)},`,
    `The service account ${oneLine(name)} of ${partner} ${sentences[change]}`,
    `By: ${oneLine(by)}. Time: ${utc(new Date(at))}.`,
    'If your team has not done it, revoke the service account at once, and look at the audit log.',
  ]
  return {
    subject: `Service account ${oneLine(name)} of ${partner}: ${change}`,
    text: `${lines.join('\n\n')}\n`,
    html: htmlPage(lines.map(escapeHtml)),
    link: null,
  }
}
