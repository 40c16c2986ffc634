/** The mails of a recovery: the link for its person, and what the Admins of the team must know of it. */
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
import type { MemberRow, RecoveryRow } from './store.ts'

type Person = Pick<MemberRow, 'fullName' | 'email'>

/** The mail with the link. It has the only copy of the token, sealed. */
export const linkMail = (
  { id, begunByName, expiresAt }: RecoveryRow,
  to: Person,
  { token, linkUrl }: { readonly token: string; readonly linkUrl: string },
): NewMail => ({
  ...{ kind: 'recovery_link', subjectId: id, to: { name: to.fullName, address: to.email } },
  ...{ data: { begunByName, linkUrl }, secret: token, expiresAt },
})

export function renderRecoveryLink(mail: MailToRender): MailContent {
  const { begunByName, linkUrl } = mail.data as { readonly begunByName: string; readonly linkUrl: string }
  const link = withToken(linkUrl, present(mail.secret, 'the mail of a recovery has its token'))
  const expiresAt = present(mail.expiresAt, 'the mail of a recovery expires with its link')
  const partner = oneLine(mail.partnerName)
  const before = [
    `Hello ${oneLine(mail.toName)},`,
    `${oneLine(begunByName)} lets you set a new way to sign in to ${partner}. Open this link:`,
  ]
  const after = [
    `The link works once, until ${utc(expiresAt)}. Your earlier ways to sign in end when you use it.`,
    'If you have not asked for this, tell an Admin of your team or the operator at once.',
  ]
  return withLink(`A new way to sign in to ${partner}`, before, link, after)
}

/** The step that a mail to Admins reports. */
export type RecoveryEvent = 'reset' | 'waiting' | 'opened' | 'cancelled' | 'used'

/** The mails to Admins. `cancel`: the link by which each of them cancels the recovery. */
export const adminMails = (
  row: RecoveryRow,
  person: Person,
  told: {
    readonly event: RecoveryEvent
    readonly admins: readonly Person[]
    readonly cancel?: { readonly token: string; readonly linkUrl: string }
  },
): readonly NewMail[] =>
  told.admins.map(({ fullName, email }) => ({
    kind: 'recovery_report',
    // Not the recovery itself: the end of its link does not end the mails that report it.
    subjectId: row.memberId,
    to: { name: fullName, address: email },
    data: {
      event: told.event,
      person: `${person.fullName} (${person.email})`,
      begunByName: row.begunByName,
      reason: row.reason,
      dueAt: row.dueAt?.toISOString() ?? null,
      because: row.endedBecause,
      linkUrl: told.cancel?.linkUrl ?? null,
    },
    secret: told.cancel?.token ?? null,
    expiresAt: null,
  }))

type Reported = {
  readonly event: RecoveryEvent
  readonly person: string
  readonly begunByName: string
  readonly reason: string
  readonly dueAt: string | null
  readonly because: string | null
  readonly linkUrl: string | null
}

export function renderRecoveryReport(mail: MailToRender): MailContent {
  const told = mail.data as Reported
  const partner = oneLine(mail.partnerName)
  const lines = [`Hello ${oneLine(mail.toName)},`, sentenceOf(told), `Business: ${partner}.`]
  const reasons = told.event === 'waiting' || told.event === 'reset' ? [`Reason: ${oneLine(told.reason)}`] : []
  const subject = `Recovery of a sign-in to ${partner}: ${told.event}`
  const ends = 'If you do not expect this, look at the audit log, and tell the operator at once.'
  if (told.linkUrl === null || mail.secret === null) return withLink(subject, [...lines, ...reasons], null, [ends])
  const before = [...lines, ...reasons, 'If it is not right, open this link and cancel the recovery:']
  return withLink(subject, before, withToken(told.linkUrl, mail.secret), [ends])
}

function sentenceOf({ event, person, begunByName, dueAt, because }: Reported): string {
  const [who, by] = [oneLine(person), oneLine(begunByName)]
  if (event === 'reset') return `${by} has ended every way to sign in of ${who}, who gets a link to set a new one.`
  if (event === 'waiting')
    return `${by} asks to let ${who} set a new way to sign in. A second person of the operator has confirmed it. The link is mailed on ${utc(new Date(dueAt ?? 0))}, unless one of you cancels it before.`
  if (event === 'opened') return `The wait is over: a link to set a new way to sign in was mailed to ${who}.`
  if (event === 'used') return `${who} has set a new way to sign in. The earlier ones and all sessions have ended.`
  return `The recovery of the sign-in of ${who} was cancelled: ${oneLine(because ?? '')}.`
}

function withLink(
  subject: string,
  before: readonly string[],
  link: string | null,
  after: readonly string[],
): MailContent {
  const shown = link === null ? [] : [link]
  return {
    subject,
    text: `${[...before, ...shown, ...after].join('\n\n')}\n`,
    html: htmlPage([
      ...before.map(escapeHtml),
      ...shown.map((each) => `<a href="${escapeHtml(each)}">${escapeHtml(each)}</a>`),
      ...after.map(escapeHtml),
    ]),
    link,
  }
}
