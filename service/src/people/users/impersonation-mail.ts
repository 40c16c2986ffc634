/** The mail that informs the Admins of a partner that staff of the operator reads as their business, with the reason. */
import { escapeHtml, htmlPage, type MailContent, type MailQueue, type MailToRender, oneLine } from '../../mail/index.ts'
import type { Tx } from '../../postgres/index.ts'
import type { Users } from './service.ts'

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
  ({ mail, membersWithRoles }: { readonly mail: Pick<MailQueue, 'enqueue'> } & Pick<Users, 'membersWithRoles'>) =>
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
