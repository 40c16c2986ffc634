/** The team: members, invitations, roles, and the forms that change them. */
import { uuidPattern } from '../../kernel/index.ts'
import {
  permissions,
  type ResponseOf,
  roleAllows,
  users as wire,
  emailCharsMax,
  nameCharsMax,
} from '@partner-payments/wire'
import { notFound, type PublicAnswer, type PublicRequest, type PublicRoute, Refusal } from '../../kernel/api/index.ts'
import { isRecentSignIn } from '../../people/sign-in/index.ts'
import { html, type Html } from '../html.ts'
import {
  confirmationDialog,
  emptyForm,
  hiddenField,
  input,
  inputs,
  dialogButton,
  postButton,
  type FieldValues,
} from '../kit/forms.ts'
import { type ConsoleView, type RoleName, roleText, shell } from '../kit/frame.ts'
import { badge, message, table, time } from '../kit/parts.ts'
import {
  readClient,
  readCompletedForm,
  refusalTexts,
  type FieldReader,
  page,
  readForm,
  seeOther,
  readValues,
} from '../kit/request.ts'
import { fill } from '../language.ts'
import { callOf, type Frame, may, type Person, type Routes, redirectToSignIn } from './request.ts'

function roleChoices(view: ConsoleView, roles: readonly RoleName[]) {
  const { t } = view
  const helps = { Admin: t.roleAdminText, Developer: t.roleDeveloperText, Operator: t.roleOperatorText }
  return roles.map((value) => ({ value, label: roleText(view, value), help: helps[value] }))
}

type TeamMember = {
  readonly id: string
  readonly fullName: string
  readonly email: string
  readonly roleName: RoleName
  readonly joinedAt: Date
  readonly lastSignInAt: Date | null
  readonly isSelf: boolean
  readonly factors: readonly ('passkey' | 'password' | 'sso')[]
}

/** Renders the members. The reader's own row, and rows of members whose role the reader cannot grant, have no forms. */
function memberTable(
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
      ...(hasActions ? [mayChange(member) ? memberActions(view, member, { grantable, reset }) : ''] : []),
    ]),
  })
}

const factorsText = ({ t, language }: ConsoleView, factors: TeamMember['factors']): string =>
  factors.length === 0
    ? t.none
    : new Intl.ListFormat(language, { type: 'unit' }).format(
        factors.map((factor) => ({ passkey: t.factorPasskey, password: t.factorPassword, sso: t.factorSso })[factor]),
      )

function memberActions(
  view: ConsoleView,
  member: TeamMember,
  { grantable, reset }: { readonly grantable: readonly RoleName[]; readonly reset: boolean },
): Html {
  const { t } = view
  const { id, fullName } = member
  return html`<div class="actions">
    ${dialogButton({ id: `role-of-${id}`, label: t.changeRole, about: fullName })}
    ${reset && dialogButton({ id: `reset-${id}`, label: t.reset, about: fullName, tone: 'danger' })}
    ${dialogButton({ id: `remove-${id}`, label: t.remove, about: fullName, tone: 'danger' })}
    ${roleDialog(view, member, grantable)} ${removeDialog(view, member)} ${reset && resetDialog(view, member)}
  </div>`
}

function roleDialog(view: ConsoleView, { id, fullName, roleName }: TeamMember, grantable: readonly RoleName[]): Html {
  const { t, root } = view
  const own = `role-of-${id}`
  const choices = roleChoices(view, grantable)
  const role = input(view, emptyForm, { id: `${own}-choice`, name: 'role', label: t.role, value: roleName, choices })
  return confirmationDialog({
    id: own,
    title: fill(t.changeRoleOf, { name: fullName }),
    action: `${root}team/role`,
    about: html`${hiddenField('id', id)} ${role}`,
    fields: html`<p>${t.changeRoleEffect}</p>`,
    submit: t.changeRole,
    look: 'primary',
    cancel: t.cancel,
  })
}

const aboutMember = ({ id, email }: TeamMember): Html =>
  html`${hiddenField('id', id)}
    <p class="soft">${email}</p>`

const removeDialog = ({ t, root }: ConsoleView, member: TeamMember): Html =>
  confirmationDialog({
    id: `remove-${member.id}`,
    title: fill(t.removeTitle, { name: member.fullName }),
    action: `${root}team/remove`,
    about: aboutMember(member),
    effects: [t.removeSessions, t.removeSignIn, t.removeInvitations],
    submit: t.removeMember,
    cancel: t.cancel,
  })

const resetDialog = ({ t, root }: ConsoleView, member: TeamMember): Html =>
  confirmationDialog({
    id: `reset-${member.id}`,
    title: fill(t.resetSignInTitle, { name: member.fullName }),
    action: `${root}team/reset`,
    about: aboutMember(member),
    effects: [t.removeSessions, t.resetEndsFactors, t.resetMailsLink, t.resetTellsAdmins],
    submit: t.resetSignIn,
    cancel: t.cancel,
  })

type InvitationStatus = 'Pending' | 'Accepted' | 'Expired' | 'Revoked'

type TeamInvitation = {
  readonly id: string
  readonly email: string
  readonly fullName?: string
  readonly roleName: RoleName
  readonly status: InvitationStatus
  readonly invitedAt: Date
  readonly invitedByName: string
}

function invitationTable(view: ConsoleView, invitations: readonly TeamInvitation[], mayWrite: boolean): Html {
  const { t } = view
  return table({
    caption: t.invitations,
    columns: [
      [t.person, 'head'],
      t.role,
      t.status,
      t.invitedAt,
      t.invitedBy,
      ...(mayWrite ? [[t.actions, 'actions'] as const] : []),
    ],
    rows: invitations.map((invitation) => [
      personCell(invitation),
      roleText(view, invitation.roleName),
      statusBadge(view, invitation.status),
      time(view, invitation.invitedAt),
      html`<span class="free">${invitation.invitedByName}</span>`,
      ...(mayWrite ? [invitationActions(view, invitation)] : []),
    ]),
  })
}

const personCell = ({ fullName, email }: TeamInvitation): Html =>
  fullName === undefined
    ? html`<span class="name">${email}</span>`
    : html`<span class="name">${fullName}</span> <span class="soft">${email}</span>`

function statusBadge({ t }: ConsoleView, status: InvitationStatus): Html {
  switch (status) {
    case 'Pending':
      return badge('neutral', t.statusPending)
    case 'Accepted':
      return badge('good', t.statusAccepted)
    case 'Expired':
      return badge('warning', t.statusExpired)
    case 'Revoked':
      return badge('bad', t.statusRevoked)
  }
}

function invitationActions({ t, root }: ConsoleView, { id, email, status }: TeamInvitation): Html | string {
  if (status === 'Accepted' || status === 'Revoked') return ''
  const form = (path: string, label: string, look: string) =>
    postButton(`${root}team/${path}`, label, { look, about: email, hidden: { id } })
  return html`<div class="actions">
    ${form('resend', t.resend, 'small')} ${status === 'Pending' && form('revoke', t.revoke, 'small danger')}
  </div>`
}

type TeamView = {
  readonly members: readonly TeamMember[]
  readonly invitations: readonly TeamInvitation[]
  /** `reset`: true for an Admin, who may reset the sign-in of others. */
  readonly may: { readonly write: boolean; readonly reset: boolean }
  /** The next page of members. */
  readonly next: string | null
  /** The roles that the person may grant. */
  readonly grantable: readonly RoleName[]
  /** Error texts by field of the invitation (`email`, `fullName`, `role`); any other key is about the whole page. */
  readonly errors?: Readonly<Record<string, string>>
  /** The values of a refused invitation. */
  readonly typed?: FieldValues
  /** Confirmation of the last form. */
  readonly confirmation?: string
}

/** The ids of the fields of an invitation. */
const inviteIds = { email: 'invite-email', fullName: 'invite-name', role: 'invite-role' } as const

export function teamPage(view: ConsoleView, team: TeamView): string {
  const { t } = view
  const { members, invitations, may, next, grantable, errors = {}, confirmation } = team
  const ids: Readonly<Record<string, string>> = may.write ? inviteIds : {}
  const problems = Object.fromEntries(
    Object.entries(errors).map(([name, text]) => [ids[name] ?? 'form', text] as const),
  )
  return shell(view, {
    title: t.team,
    wide: true,
    problems,
    main: html`${confirmation !== undefined && message('good', confirmation)}
      <div class="heading">
        <h1>${t.team}</h1>
        <div class="buttons">
          <a class="button" href="${view.root}team/single-sign-on">${t.factorSso}</a>
          ${may.write && html`<a class="button primary" href="#invite">${t.invite}</a>`}
        </div>
      </div>
      ${!may.write && html`<p class="lead">${t.teamReadOnly}</p>`}
      <section aria-labelledby="members-title">
        <h2 id="members-title">${t.members}</h2>
        ${memberTable(view, members, { grantable: may.write ? grantable : [], reset: may.reset })}
        ${next !== null && html`<p class="more"><a class="button" href="${next}">${t.nextPage}</a></p>`}
      </section>
      <section aria-labelledby="invitations-title">
        <h2 id="invitations-title">${t.invitations}</h2>
        ${
          invitations.length === 0
            ? html`<p class="calm">${t.invitationsEmpty}</p>`
            : invitationTable(view, invitations, may.write)
        }
      </section>
      ${may.write && inviteForm(view, team)}`,
  })
}

function inviteForm(view: ConsoleView, { grantable, errors = {}, typed = {} }: TeamView): Html {
  const { t, root } = view
  return html`<section class="card" aria-labelledby="invite">
    <h2 id="invite" tabindex="-1">${t.inviteTitle}</h2>
    <p>${t.inviteText}</p>
    <form method="post" action="${root}team/invite" class="invite">
      ${inputs(view, { values: typed, problems: errors }, [
        { id: inviteIds.email, name: 'email', type: 'email', label: t.email, charsMax: emailCharsMax },
        { id: inviteIds.fullName, name: 'fullName', label: t.fullName, charsMax: nameCharsMax },
        { id: inviteIds.role, name: 'role', label: t.role, choices: roleChoices(view, grantable) },
      ])}
      <button type="submit" class="primary">${t.sendInvitation}</button>
    </form>
  </section>`
}

const membersShown = 50

type ShowTeam = (
  request: PublicRequest,
  person: Person,
  errors?: Readonly<Record<string, string>>,
) => Promise<PublicAnswer>

export const teamRoutes: Routes = (frame) => {
  const { operate, withPerson } = frame
  const show: ShowTeam = async (request, person, errors) => {
    const call = callOf(person, request)
    const query = new URLSearchParams(request.query)
    const cursor = query.get('cursor')
    const pageQuery = new URLSearchParams({ limit: String(membersShown), ...(cursor === null ? {} : { cursor }) })
    const [team, invited] = await Promise.all([
      operate('listUsers', { ...call, query: String(pageQuery) }),
      operate('listInvitations', { ...call, query: `limit=${membersShown}&status=Pending` }),
    ])
    const grantable = grantableRoles(person)
    const shown = {
      members: memberRows(person, team.data),
      invitations: invitationRows(invited.data),
      may: { write: may(person, 'users:write'), reset: person.user.role === 'Admin' },
      ...(readCompletedForm(request, ['reset']) && { confirmation: person.view.t.signInReset }),
      next: team.nextCursor === null ? null : `team?cursor=${encodeURIComponent(team.nextCursor)}`,
      grantable,
      ...(errors && { errors, typed: readValues(readForm(request), Object.keys(inviteIds)) }),
    }
    return page(request, errors === undefined ? 200 : 400, teamPage({ ...person.view, current: 'team' }, shown))
  }
  const form = (
    name: string,
    act: (form: FieldReader, call: ReturnType<typeof callOf>) => Promise<unknown>,
  ): PublicRoute => ({
    method: 'POST',
    path: `/console/team/${name}`,
    handle: (request): Promise<PublicAnswer> =>
      withPerson(request, async (person) => {
        try {
          await act(readForm(request), callOf(person, request))
          return seeOther('../team')
        } catch (error) {
          return show(request, person, refusalTexts(person.view.t, error))
        }
      }),
  })
  return [
    {
      method: 'POST',
      path: '/console/team/reset',
      handle: (request) => withPerson(request, (person) => reset(frame, request, person, show)),
    },
    {
      method: 'GET',
      path: '/console/team',
      handle: (request) => withPerson(request, (person) => show(request, person)),
    },
    form('invite', (field, call) => {
      const invitation = { email: field('email').trim(), fullName: field('fullName').trim(), role: field('role') }
      return operate('createInvitations', { ...call, body: { invitations: [invitation] } })
    }),
    form('resend', (field, call) => operate('resendInvitation', { ...call, params: { invitationId: field('id') } })),
    form('revoke', (field, call) => operate('revokeInvitation', { ...call, params: { invitationId: field('id') } })),
    form('role', (field, call) =>
      operate('updateUser', { ...call, params: { userId: field('id') }, body: { role: field('role') } }),
    ),
    form('remove', (field, call) => operate('removeUser', { ...call, params: { userId: field('id') } })),
  ]
}

const grantableRoles = ({ caller }: Person) =>
  wire.roles.filter((role) => permissions.every((each) => !roleAllows(role, each) || caller.permissions.includes(each)))

async function reset({ members, clock }: Frame, request: PublicRequest, person: Person, show: ShowTeam) {
  if (!isRecentSignIn(person.session.createdAt, clock.now())) return redirectToSignIn(request, 'team')
  const id = readForm(request)('id')
  const { t } = person.view
  if (id === person.user.id) return show(request, person, { form: t.resetSelf })
  if (!uuidPattern.test(id)) throw notFound('user')
  try {
    await members.recoveries.reset(person, id, readClient(request))
    return seeOther('../team?done=reset')
  } catch (error) {
    if (error instanceof Refusal && error.errors.length > 0) return show(request, person, { form: t.resetSso })
    throw error
  }
}

const memberRows = (person: Person, users: ResponseOf<'listUsers'>['data']) =>
  users.map(({ userId: id, createdAt, lastSignInAt, ...user }) => ({
    ...user,
    id,
    joinedAt: new Date(createdAt),
    lastSignInAt: lastSignInAt === null ? null : new Date(lastSignInAt),
    isSelf: id === person.user.id,
  }))

const invitationRows = (invitations: ResponseOf<'listInvitations'>['data']) =>
  invitations.map(({ inviteId: id, invitedByFullName: invitedByName, createdAt, ...each }) => ({
    ...each,
    invitedAt: new Date(createdAt),
    id,
    invitedByName,
  }))
