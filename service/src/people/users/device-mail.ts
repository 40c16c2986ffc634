/** The mail that informs a member of a sign-in from a device that did not sign in to the account before. */
import {
  escapeHtml,
  htmlPage,
  type MailContent,
  type MailToRender,
  type NewMail,
  oneLine,
  utc,
} from '../../mail/index.ts'
import { type Client, deviceOf } from '../sign-in/index.ts'

type Recipient = { readonly id: string; readonly email: string; readonly fullName: string }

export const newDeviceMail = (
  { id, email, fullName }: Recipient,
  { ip, userAgent }: Pick<Client, 'ip' | 'userAgent'>,
  { at, signInUrl }: { readonly at: Date; readonly signInUrl: string },
): NewMail => ({
  kind: 'new_device',
  subjectId: id,
  to: { name: fullName, address: email },
  data: { device: deviceOf(userAgent), at: at.toISOString(), ip, sessionsUrl: new URL('sessions', signInUrl).href },
  secret: null,
  expiresAt: null,
})

export function renderNewDevice(mail: MailToRender): MailContent {
  const { device, at, ip, sessionsUrl } = mail.data as Readonly<Record<'device' | 'at' | 'ip' | 'sessionsUrl', string>>
  const partner = oneLine(mail.partnerName)
  const before = [
    `Hello ${oneLine(mail.toName)},`,
    'A device that did not sign in to your account before has signed in.',
    `Business: ${partner}. Device: ${device}. Time: ${utc(new Date(at))}. IP address: ${ip}.`,
    'If it was you, there is nothing to do. A browser also counts as new in a private window, and after its cookies were deleted.',
    'If it was not you, end all sessions that you do not know on the page Sessions, and tell an Admin of your team at once:',
  ]
  return {
    subject: `New device signed in to ${partner}`,
    text: `${[...before, sessionsUrl].join('\n\n')}\n`,
    html: htmlPage([...before.map(escapeHtml), `<a href="${escapeHtml(sessionsUrl)}">${escapeHtml(sessionsUrl)}</a>`]),
    link: sessionsUrl,
  }
}
