/** The mails of schedules, with a link to the report or the reason why it failed. */
import { ownJson } from '@partner-payments/wire'
import { htmlPage, type MailContent, type MailQueue, type MailToRender, oneLine, formatUtc } from '../mail/index.ts'
import { present, tokenHash, escapeHtml } from '../kernel/index.ts'
import { type Member, newLinkToken } from '../kernel/api/index.ts'
import type { Tx } from '../postgres/index.ts'
import * as store from './store.ts'

export type MembersByAddress = (
  tx: Tx,
  partnerId: string,
  addresses: readonly string[],
) => Promise<ReadonlyMap<string, Member>>
type MailDeps = {
  readonly mail: Pick<MailQueue, 'enqueue'>
  readonly membersByAddress: MembersByAddress
  readonly publicUrl: string
}
type MailOutcome = { readonly expiresAt: Date } | { readonly failure: string }

/** Queues a mail for each address that still belongs to a member. Each mail has its own token. */
export async function queueReportMails(
  { mail, membersByAddress, publicUrl }: MailDeps,
  tx: Tx,
  schedule: store.ScheduleRow,
  { partnerId, id, kind, format, currency, periodFrom, periodTo }: store.ReportRow,
  outcome: MailOutcome,
): Promise<void> {
  const addresses = ownJson<readonly string[]>(schedule.emails)
  const expiresAt = 'expiresAt' in outcome ? outcome.expiresAt : null
  const members = await membersByAddress(tx, partnerId, addresses)
  const mails = [...members.values()].map(({ email: address }) => ({
    kind: 'failure' in outcome ? 'report_failed' : 'report_ready',
    subjectId: id,
    to: { name: address, address },
    data: {
      kind,
      format,
      currency,
      from: periodFrom.toISOString(),
      to: periodTo.toISOString(),
      baseUrl: publicUrl,
      failure: 'failure' in outcome ? outcome.failure : null,
    },
    secret: expiresAt === null ? null : newLinkToken(partnerId),
    expiresAt,
  }))
  if (expiresAt !== null)
    for (const { secret } of mails)
      if (secret !== null)
        await store.insertLink(tx, { partnerId, reportId: id, tokenHash: tokenHash(secret), expiresAt })
  await mail.enqueue(tx, partnerId, mails)
}

export function renderReportMail(mail: MailToRender): MailContent {
  const { kind, format, currency, from, to, baseUrl, failure } = mail.data
  const partner = oneLine(mail.partnerName)
  const what = `${kind ?? 'report'}${currency === null || currency === undefined ? '' : ` in ${currency}`}`
  const period = `${formatUtc(new Date(from ?? 0))} to ${formatUtc(new Date(to ?? 0))}`
  const intro = [`The scheduled ${what} of ${partner} (${format ?? ''}) covers ${period}.`]
  if (mail.kind === 'report_failed') {
    const lines = [...intro, `It could not be written. ${oneLine(failure ?? '')}`]
    return {
      subject: `Failed: ${what} of ${partner}`,
      text: `${lines.join('\n\n')}\n`,
      html: htmlPage(lines.map(escapeHtml)),
      link: null,
    }
  }
  const link = `${baseUrl ?? ''}/reports/${present(mail.secret, 'no token in a mail with a link to a report')}`
  const expiresAt = present(mail.expiresAt, 'no end of the link in a mail with a link to a report')
  const before = [...intro, 'Everyone who has this link can read the report:']
  const end = [`The link works until ${formatUtc(expiresAt)}. Do not pass this mail on.`]
  return {
    subject: `${what.charAt(0).toUpperCase()}${what.slice(1)} of ${partner}`,
    text: `${[...before, link, ...end].join('\n\n')}\n`,
    html: htmlPage([
      ...before.map(escapeHtml),
      `<a href="${escapeHtml(link)}">${escapeHtml(link)}</a>`,
      ...end.map(escapeHtml),
    ]),
    link,
  }
}
