/** The team: who is in it, who is invited, and who may change it. Each form is an operation of the API. */
import { permissions, type ResponseOf, roleAllows, users as wire } from '@partner-payments/wire'
import { notFound, type PublicAnswer, type PublicRequest, type PublicRoute, Refusal } from '../../kernel/api/index.ts'
import { isRecentSignIn } from '../../people/sign-in/index.ts'
import {
  clientOf,
  errorsOf,
  type Form,
  page,
  type Person,
  readForm,
  type Frame,
  type Routes,
  seeOther,
  signInAgain,
  uuid,
} from './request.ts'
import { teamPage } from './team-page.ts'

const membersShown = 50

type Show = (request: PublicRequest, person: Person, errors?: Readonly<Record<string, string>>) => Promise<PublicAnswer>

export const teamRoutes: Routes = (frame, withPerson) => {
  const { operate } = frame
  const callOf = ({ caller }: Person, { requestId, ip }: PublicRequest) => ({ caller, requestId, ip })
  const show: Show = async (request, person, errors) => {
    const call = callOf(person, request)
    const query = new URLSearchParams(request.query)
    const cursor = query.get('cursor')
    const pageQuery = new URLSearchParams({ limit: String(membersShown), ...(cursor === null ? {} : { cursor }) })
    const [team, invited] = await Promise.all([
      operate('listUsers', { ...call, query: String(pageQuery) }),
      operate('listInvitations', { ...call, query: `limit=${membersShown}&status=Pending` }),
    ])
    const grantable = grantableBy(person)
    const shown = {
      members: membersOf(person, team.data),
      invitations: invitationsOf(invited.data),
      may: {
        write: person.caller.permissions.includes('users:write'),
        reset: person.user.role === 'Admin',
      },
      ...(query.get('done') === 'reset' ? { confirmation: person.view.t.signInReset } : {}),
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

/** Reads the form of an invitation again, so that a refusal loses nothing that was typed. */
function typedIn(request: PublicRequest) {
  const field = readForm(request)
  const role = wire.roles.find((each) => each === field('role'))
  return { email: field('email'), fullName: field('fullName'), ...(role === undefined ? {} : { role }) }
}

const grantableBy = ({ caller }: Person) =>
  wire.roles.filter((role) => permissions.every((each) => !roleAllows(role, each) || caller.permissions.includes(each)))

async function reset({ members, clock }: Frame, request: PublicRequest, person: Person, show: Show) {
  if (!isRecentSignIn(person.session.createdAt, clock.now())) return signInAgain(request, 'team')
  const id = readForm(request)('id')
  const { t } = person.view
  if (id === person.user.id) return show(request, person, { form: t.resetSelf })
  if (!uuid.test(id)) throw notFound('user')
  try {
    await members.recoveries.reset(person, id, clientOf(request))
    return seeOther('../team?done=reset')
  } catch (error) {
    if (error instanceof Refusal && error.errors.length > 0) return show(request, person, { form: t.resetSso })
    throw error
  }
}

const membersOf = (person: Person, users: ResponseOf<'listUsers'>['data']) =>
  users.map(({ userId: id, createdAt, lastSignInAt, ...user }) => ({
    ...user,
    id,
    joinedAt: new Date(createdAt),
    lastSignInAt: lastSignInAt === null ? null : new Date(lastSignInAt),
    isSelf: id === person.user.id,
  }))

const invitationsOf = (invitations: ResponseOf<'listInvitations'>['data']) =>
  invitations.map(({ inviteId: id, invitedByFullName: invitedByName, createdAt, ...each }) => ({
    ...each,
    invitedAt: new Date(createdAt),
    id,
    invitedByName,
  }))
