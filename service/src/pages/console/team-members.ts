/** The table of members, with a dialog for a change of role and one for a removal. */
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { asking, badge, choices, hiddenField, openDialog, table, time } from './components.ts'
import { roleOptions } from './team-roles.ts'
import { type ConsoleView, type RoleName, roleText } from './view.ts'

export type TeamMember = {
  readonly id: string
  readonly fullName: string
  readonly email: string
  readonly roleName: RoleName
  readonly joinedAt: Date
  readonly lastSignInAt: Date | null
  readonly isSelf: boolean
  readonly factors: readonly ('passkey' | 'password' | 'sso')[]
}

/** A member whose role the reader may not grant has no forms, nor has the reader's own row. */
export function memberTable(
  view: ConsoleView,
  members: readonly TeamMember[],
  { grantable, reset }: { readonly grantable: readonly RoleName[]; readonly reset: boolean },
): Html {
  const { t } = view
  const mayChange = ({ isSelf, roleName }: TeamMember) => !isSelf && grantable.includes(roleName)
  const hasActions = members.some(mayChange)
  return table({
    caption: t.members,
    columns: [
      [t.person, 'head'],
      t.role,
      t.factors,
      t.lastSignIn,
      t.joined,
      ...(hasActions ? [[t.actions, 'actions'] as const] : []),
    ],
    rows: members.map((member) => [
      html`<span class="name">${member.fullName}</span> ${member.isSelf && badge('neutral', t.you)}
        <span class="soft">${member.email}</span>`,
      roleText(view, member.roleName),
      factorsText(view, member.factors),
      member.lastSignInAt === null ? t.never : time(view, member.lastSignInAt),
      time(view, member.joinedAt, 'date'),
      ...(hasActions ? [mayChange(member) ? actions(view, member, { grantable, reset }) : ''] : []),
    ]),
  })
}

const factorsText = ({ t, language }: ConsoleView, factors: TeamMember['factors']): string =>
  factors.length === 0
    ? t.none
    : new Intl.ListFormat(language, { type: 'unit' }).format(
        factors.map((factor) => ({ passkey: t.factorPasskey, password: t.factorPassword, sso: t.factorSso })[factor]),
      )

function actions(
  view: ConsoleView,
  member: TeamMember,
  { grantable, reset }: { readonly grantable: readonly RoleName[]; readonly reset: boolean },
): Html {
  const { t } = view
  const { id, fullName } = member
  return html`<div class="actions">
    ${openDialog({ id: `role-of-${id}`, label: t.changeRole, about: fullName })}
    ${reset && openDialog({ id: `reset-${id}`, label: t.reset, about: fullName, tone: 'danger' })}
    ${openDialog({ id: `remove-${id}`, label: t.remove, about: fullName, tone: 'danger' })}
    ${roleDialog(view, member, grantable)} ${removeDialog(view, member)} ${reset && resetDialog(view, member)}
  </div>`
}

function roleDialog(view: ConsoleView, { id, fullName, roleName }: TeamMember, grantable: readonly RoleName[]): Html {
  const { t, root } = view
  const own = `role-of-${id}`
  const role = { id: `${own}-choice`, name: 'role', legend: t.role, chosen: roleName }
  return asking({
    ...{ id: own, title: fill(t.changeRoleOf, { name: fullName }), action: `${root}team/role` },
    about: html`${hiddenField('id', id)} ${choices({ ...role, options: roleOptions(view, grantable) })}`,
    fields: html`<p>${t.changeRoleEffect}</p>`,
    ...{ submit: t.changeRole, look: 'primary', cancel: t.cancel },
  })
}

const aboutMember = ({ id, email }: TeamMember): Html =>
  html`${hiddenField('id', id)}
    <p class="soft">${email}</p>`

const removeDialog = ({ t, root }: ConsoleView, member: TeamMember): Html =>
  asking({
    id: `remove-${member.id}`,
    title: fill(t.removeTitle, { name: member.fullName }),
    action: `${root}team/remove`,
    about: aboutMember(member),
    effects: [t.removeSessions, t.removeSignIn, t.removeInvitations],
    ...{ submit: t.removeMember, cancel: t.cancel },
  })

const resetDialog = ({ t, root }: ConsoleView, member: TeamMember): Html =>
  asking({
    id: `reset-${member.id}`,
    title: fill(t.resetSignInTitle, { name: member.fullName }),
    action: `${root}team/reset`,
    about: aboutMember(member),
    effects: [t.removeSessions, t.resetEndsFactors, t.resetMailsLink, t.resetTellsAdmins],
    ...{ submit: t.resetSignIn, cancel: t.cancel },
  })
