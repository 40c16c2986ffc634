/** The mail to a member about a change of its sign-in, so that a change by another person is seen. */
import {
  escapeHtml,
  htmlPage,
  type MailContent,
  type MailToRender,
  type NewMail,
  oneLine,
  utc,
} from '../../mail/index.ts'

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
