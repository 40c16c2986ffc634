/** Queues and renders the mails of monitors. */
import type { MonitorRow } from './store.ts'
import { amountText, escapeHtml } from '../../kernel/index.ts'
import { htmlPage, type MailContent, type MailQueue, type MailToRender, oneLine, formatUtc } from '../../mail/index.ts'
import type { Tx } from '../../postgres/index.ts'
import { type Crossing, rearmThreshold } from './rules.ts'

type Member = { readonly fullName: string; readonly email: string }
export type MembersByAddress = (
  tx: Tx,
  partnerId: string,
  addresses: readonly string[],
) => Promise<ReadonlyMap<string, Member>>

/** All fields are text. Amounts are in major units of `currency`. */
type MonitorMailData = {
  readonly monitorId: string
  readonly accountId: string
  readonly direction: MonitorRow['direction']
  readonly measure: MonitorRow['measure']
  readonly currency: string
  readonly threshold: string
  readonly rearmAt: string
  readonly balance: string
  /** ISO 8601. */
  readonly crossedAt: string
  readonly reference: string | null
  readonly description: string | null
}

const toMailData = ({ monitor, balance, crossedAt, reference }: Crossing): MonitorMailData => ({
  monitorId: monitor.id,
  accountId: monitor.accountId,
  direction: monitor.direction,
  measure: monitor.measure,
  currency: monitor.currency,
  threshold: amountText(monitor.threshold, monitor.currency),
  rearmAt: amountText(rearmThreshold(monitor), monitor.currency),
  balance: amountText(balance, monitor.currency),
  crossedAt: crossedAt.toISOString(),
  reference,
  description: monitor.description,
})

/**
 * Queues a mail to each address for each crossing that triggered. Addresses of people who have left the team get none.
 */
export async function queueMonitorMails(
  {
    mail,
    membersByAddress,
  }: { readonly mail: Pick<MailQueue, 'enqueue'>; readonly membersByAddress: MembersByAddress },
  tx: Tx,
  crossings: readonly Crossing[],
): Promise<void> {
  const mailed = crossings.filter(({ kind, monitor }) => kind === 'Triggered' && monitor.emails.length > 0)
  for (const [partnerId, ofPartner] of Map.groupBy(mailed, (crossing) => crossing.partnerId)) {
    const addresses = [...new Set(ofPartner.flatMap(({ monitor }) => monitor.emails))]
    const members = await membersByAddress(tx, partnerId, addresses)
    const mails = ofPartner.flatMap((crossing) =>
      crossing.monitor.emails.flatMap((address) => {
        const member = members.get(address)
        if (member === undefined) return []
        return [
          {
            kind: 'balance_crossed',
            subjectId: crossing.monitorId,
            to: { name: member.fullName, address: member.email },
            data: toMailData(crossing),
            secret: null,
            expiresAt: null,
          },
        ]
      }),
    )
    await mail.enqueue(tx, partnerId, mails)
  }
}

const balanceSums = { Posted: 'posted', Available: 'available' } as const

/** Renders the template `balance_crossed`. */
export function renderMonitorMail(mail: MailToRender): MailContent {
  const data = mail.data as MonitorMailData
  const { accountId, balance, currency, description, direction, measure, monitorId, rearmAt, reference, threshold } =
    data
  const subject = `${currency} balance is ${direction.toLowerCase()} ${threshold}`
  const paragraphs = [
    `Hello ${oneLine(mail.toName)},`,
    `The ${balanceSums[measure]} ${currency} balance of ${oneLine(mail.partnerName)} is ${direction.toLowerCase()} ${threshold} ${currency}.`,
    ...(description === null ? [] : [`Your note: ${oneLine(description)}`]),
    `Balance: ${balance} ${currency}`,
    `Crossed at: ${formatUtc(new Date(data.crossedAt))}`,
    ...(reference === null ? [] : [`Transaction: ${oneLine(reference)}`]),
    `The monitor triggers again after the balance was ${direction === 'Below' ? 'at least' : 'at most'} ${rearmAt} ${currency}.`,
    `To change or delete the monitor: /v1/accounts/${accountId}/monitors/${monitorId}`,
    'You get this mail because the monitor names your address.',
  ]
  return {
    subject,
    text: `${paragraphs.join('\n\n')}\n`,
    html: htmlPage(paragraphs.map(escapeHtml)),
    link: null,
  }
}
