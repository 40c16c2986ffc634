/** The team: who is in it, who is invited, and who may change it. Each form is an operation of the API. */
import { permissions, roleAllows, users as wire } from '@partner-payments/wire'
import type { PublicAnswer, PublicRequest, PublicRoute } from '../../api/index.ts'
import { errorsOf, type Form, page, type Person, readForm, type Routes, seeOther } from './request.ts'
import { teamPage } from './team-page.ts'

const membersShown = 50

export const teamRoutes: Routes = ({ operate }, withPerson) => {
  const callOf = ({ caller }: Person, { requestId, ip }: PublicRequest) => ({ caller, requestId, ip })
  const show = async (request: PublicRequest, person: Person, errors?: Readonly<Record<string, string>>) => {
    const call = callOf(person, request)
    const cursor = new URLSearchParams(request.query).get('cursor')
    const pageQuery = new URLSearchParams({ limit: String(membersShown), ...(cursor === null ? {} : { cursor }) })
    const [team, invited] = await Promise.all([
      operate('listUsers', { ...call, query: String(pageQuery) }),
      operate('listInvitations', { ...call, query: `limit=${membersShown}&status=Pending` }),
    ])
    const grantable = wire.roles.filter((role) =>
      permissions.every((each) => !roleAllows(role, each) || person.caller.permissions.includes(each)),
    )
    const shown = {
      members: team.data.map(({ userId: id, createdAt, lastSignInAt, ...user }) => ({
        ...user,
        id,
        joinedAt: new Date(createdAt),
        lastSignInAt: lastSignInAt === null ? null : new Date(lastSignInAt),
        isSelf: id === person.user.id,
      })),
      invitations: invited.data.map(({ inviteId: id, invitedByFullName: invitedByName, createdAt, ...each }) => ({
        ...each,
        invitedAt: new Date(createdAt),
        id,
        invitedByName,
      })),
      may: { write: person.caller.permissions.includes('users:write') },
      next: team.nextCursor === null ? null : `team?cursor=${encodeURIComponent(team.nextCursor)}`,
      grantable,
      ...(errors === undefined ? {} : { errors, typed: typedIn(request) }),
    }
    return page(request, errors === undefined ? 200 : 400, teamPage({ ...person.view, current: 'team' }, shown))
  }
  const form = (name: string, act: (form: Form, call: ReturnType<typeof callOf>) => Promise<unknown>): PublicRoute => ({
    method: 'POST',
    path: `/console/team/${name}`,
    handle: (request): Promise<PublicAnswer> =>
      withPerson(request, async (person) => {
        try {
          await act(readForm(request), callOf(person, request))
          return seeOther('../team')
        } catch (error) {
          return show(request, person, errorsOf(person.view.t, error))
        }
      }),
  })
  return [
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

/** Reads the form of an invitation again, so that a refusal loses nothing that was typed. */
function typedIn(request: PublicRequest) {
  const field = readForm(request)
  const role = wire.roles.find((each) => each === field('role'))
  return { email: field('email'), fullName: field('fullName'), ...(role === undefined ? {} : { role }) }
}
