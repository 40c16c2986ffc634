/** Changes the role of a member, records it, and mails the member and every Admin. No other code changes a role. */
import type { users as wire } from '@partner-payments/wire'
import type { NewRecord } from '../../audit/index.ts'
import { type MailContent, type MailToRender, type NewMail, oneLine, plainMail, formatUtc } from '../../mail/index.ts'
import { newId } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import type { Permit } from './giving.ts'
import type { MembersDeps } from './member-deps.ts'
import * as members from './store.ts'

const adminsMax = 100

type RoleChange = {
  readonly member: Pick<members.MemberRow, 'id' | 'email' | 'fullName'>
  /** Null: the person joins. */
  readonly from: wire.Role | null
  /** Null: the person is removed. */
  readonly to: wire.Role | null
  /** The name of the person, key or provider that changes the role. */
  readonly by: string
  readonly actor: NewRecord['actor']
}

/** Changes the role of a member, or removes the member. Writes nothing if the role stays the same. */
export async function changeRole(
  deps: MembersDeps,
  tx: Tx,
  permitted: Permit,
  { partnerId, ...change }: RoleChange & { readonly partnerId: string },
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

/** Mails a change of a role to the person, except at joining, and to every Admin. */
export async function mailRoleChange(
  { mail, clock, facts }: Pick<MembersDeps, 'mail' | 'clock' | 'facts'>,
  tx: Tx,
  partnerId: string,
  { member, from, to, by }: RoleChange,
): Promise<void> {
  const admins = (await members.adminsOf(tx, partnerId, adminsMax)).filter(({ id }) => id !== member.id)
  const data = { person: member.fullName, from, to, by, at: clock.now().toISOString() }
  const mails = [...(from === null ? [] : [member]), ...admins].map(({ id, email, fullName }): NewMail => ({
    kind: 'role_changed',
    subjectId: member.id,
    to: { name: fullName, address: email },
    data: { ...data, isOwn: id === member.id ? 'yes' : null },
  }))
  if (mails.length > 0) await mail.enqueue(tx, partnerId, mails)
  const type = from === null ? 'member.joined' : to === null ? 'member.removed' : 'member.changed'
  const fact = { name: member.fullName, role: to, by }
  facts.append(tx, [{ partnerId, type, subject: member.id, occasion: newId(), facts: fact }])
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
  const change = mail.data as RoleChangeMail
  const partner = oneLine(mail.partnerName)
  const lines = [
    `Hello ${oneLine(mail.toName)},`,
    roleSentence(change, partner),
    `By: ${oneLine(change.by)}. Time: ${formatUtc(new Date(change.at))}.`,
    'If your team did not do this, change it back on the page “Team”, or ask an Admin, and check the audit log.',
  ]
  return plainMail(
    `${change.isOwn ? 'Your role' : `The role of ${oneLine(change.person)}`} at ${partner}: ${change.to ?? 'removed'}`,
    lines,
  )
}
