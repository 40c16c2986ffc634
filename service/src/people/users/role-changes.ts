/** The one verb by which the role of a member changes, with its record and its mails: to the member, and to every Admin. */
import type { users as wire } from '@partner-payments/wire'
import type { NewRecord } from '../../audit/index.ts'
import {
  escapeHtml,
  htmlPage,
  type MailContent,
  type MailToRender,
  type NewMail,
  oneLine,
  utc,
} from '../../mail/index.ts'
import { newId } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import type { Permitted } from './giving.ts'
import type { MembersDeps } from './member-deps.ts'
import * as members from './store.ts'
import { adminsOf } from './store.ts'

const adminsMax = 100

type Change = {
  readonly member: Pick<members.MemberRow, 'id' | 'email' | 'fullName'>
  /** Null: the person joins. */
  readonly from: wire.Role | null
  /** Null: the person is removed. */
  readonly to: wire.Role | null
  /** The name of who changes it. */
  readonly by: string
  readonly actor: NewRecord['actor']
}

/** Gives a member another role, or takes it by removing the member. Writes nothing if the role stays. */
export async function changeRole(
  deps: MembersDeps,
  tx: Tx,
  permitted: Permitted,
  { partnerId, ...change }: Change & { readonly partnerId: string },
): Promise<void> {
  const { member, from, to } = change
  if (from === to) return
  const now = deps.clock.now()
  if (to === null) await members.removeMember(tx, permitted, partnerId, { id: member.id, now })
  else await members.changeRole(tx, permitted, partnerId, { id: member.id, role: to, now })
  const about = { subject: { userId: member.id }, details: { act: permitted.act, from, to } }
  deps.audit.append(tx, [{ partnerId, actor: change.actor, action: 'changeRole', ...about }])
  const key = { partnerId, personId: member.id }
  await (to === null ? deps.inbox().forget(tx, key) : deps.inbox().endMails(tx, key))
  await mailRoleChange(deps, tx, partnerId, change)
}

/** Mails a change of a role: to the person, unless it joins, and to every Admin. */
export async function mailRoleChange(
  { mail, clock, facts }: Pick<MembersDeps, 'mail' | 'clock' | 'facts'>,
  tx: Tx,
  partnerId: string,
  { member, from, to, by }: Change,
): Promise<void> {
  const admins = (await adminsOf(tx, partnerId, adminsMax)).filter(({ id }) => id !== member.id)
  const data = { person: member.fullName, from, to, by, at: clock.now().toISOString() }
  const mails = [...(from === null ? [] : [member]), ...admins].map(({ id, email, fullName }): NewMail => ({
    ...{ kind: 'role_changed', subjectId: member.id, to: { name: fullName, address: email } },
    ...{ data: { ...data, isOwn: id === member.id ? 'yes' : null }, secret: null, expiresAt: null },
  }))
  if (mails.length > 0) await mail.enqueue(tx, partnerId, mails)
  const type = from === null ? 'member.joined' : to === null ? 'member.removed' : 'member.changed'
  const said = { name: member.fullName, role: to, by }
  facts.append(tx, [{ partnerId, type, subject: member.id, occasion: newId(), facts: said }])
}

type RoleChangeMail = Readonly<Record<'person' | 'by' | 'at', string>> & {
  readonly from: wire.Role | null
  readonly to: wire.Role | null
  readonly isOwn: 'yes' | null
}

function roleSentence({ person, from, to, isOwn }: RoleChangeMail, partner: string): string {
  const who = isOwn ? 'You' : oneLine(person)
  if (from === null) return `${who} joined the team of ${partner} with the role ${to}.`
  if (to === null) return `${who} ${isOwn ? 'were' : 'was'} removed from the team of ${partner}. The role was ${from}.`
  return `${who} ${isOwn ? 'have' : 'has'} the role ${to} at ${partner} now. It was ${from}.`
}

export function renderRoleChange(mail: MailToRender): MailContent {
  const shown = mail.data as RoleChangeMail
  const partner = oneLine(mail.partnerName)
  const lines = [
    `Hello ${oneLine(mail.toName)},`,
    roleSentence(shown, partner),
    `By: ${oneLine(shown.by)}. Time: ${utc(new Date(shown.at))}.`,
    'If your team has not done it, change it back on the page “Team”, or ask an Admin, and look at the audit log.',
  ]
  return {
    subject: `${shown.isOwn ? 'Your role' : `The role of ${oneLine(shown.person)}`} at ${partner}: ${shown.to ?? 'removed'}`,
    text: `${lines.join('\n\n')}\n`,
    html: htmlPage(lines.map(escapeHtml)),
    link: null,
  }
}
