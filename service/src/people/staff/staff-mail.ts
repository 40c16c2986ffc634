/** The mail that informs a person of staff of a sign-in from a new device, or of a change of the account, so that a stranger's is seen. */
import { escapeHtml, htmlPage, type MailContent, type MailToRender, oneLine, utc } from '../../mail/index.ts'
import { operatorPartnerId } from '../../cases/index.ts'
import type { Tx } from '../../postgres/index.ts'
import { type Client, deviceOf } from '../sign-in/index.ts'
import type { StaffAccount, StaffDeps } from './deps.ts'

type StaffChange =
  | 'new device'
  | 'recovery code used'
  | 'password blocked'
  | 'single sign-on connected'
  | 'role changed'
  | 'sessions ended'
  | 'removed'

const sentences: Readonly<Record<StaffChange, string>> = {
  'new device': 'A device that did not sign in to your account before has signed in.',
  'recovery code used': 'A recovery code was used to sign in to your account. It cannot be used again.',
  'password blocked':
    'Five attempts to sign in with your password failed, one after the other. The password is blocked for 15 minutes.',
  'single sign-on connected': 'Your account was connected with the single sign-on. You can sign in there from now on.',
  'role changed': 'The role of your account was changed to {role}.',
  'sessions ended': 'All your sessions and the tokens of your commands were ended. You can sign in again.',
  removed: 'Your account was removed. You can no longer sign in.',
}

/** Queues the mail in the transaction of the change. `by`: the browser, if the person itself signs in. */
export async function tellStaff(
  { mail, clock, addOperator, deskName }: StaffDeps,
  tx: Tx,
  { id, email, fullName, role }: StaffAccount,
  change: StaffChange,
  by?: Pick<Client, 'ip' | 'userAgent'>,
): Promise<void> {
  await addOperator(tx, operatorPartnerId)
  const from = by === undefined ? null : `Device: ${deviceOf(by.userAgent)}. IP address: ${by.ip}.`
  const data = { change, role, from, deskName, at: clock.now().toISOString() }
  const to = { name: fullName, address: email }
  await mail.enqueue(tx, operatorPartnerId, [
    { kind: 'staff_account', subjectId: id, to, data, secret: null, expiresAt: null },
  ])
}

export function renderStaffMail({ data, toName }: MailToRender): MailContent {
  const { change, role, from, deskName, at } = data as {
    readonly change: StaffChange
    readonly from: string | null
  } & Readonly<Record<'role' | 'deskName' | 'at', string>>
  const desk = oneLine(deskName)
  const lines = [
    `Hello ${oneLine(toName)},`,
    sentences[change].replace('{role}', role),
    [`Site: ${desk}.`, `Time: ${utc(new Date(at))}.`, from].filter((part) => part !== null).join(' '),
    'If you do not expect this, tell an admin of your staff at once, who can end your sessions.',
  ]
  return {
    subject: `Your account at ${desk}: ${change}`,
    text: `${lines.join('\n\n')}\n`,
    html: htmlPage(lines.map(escapeHtml)),
    link: null,
  }
}
