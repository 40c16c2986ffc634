/** The sessions of the person who is signed in. */
import { readForm, page, type Routes, seeOther, uuid } from './request.ts'
import { callOf } from './payments-request.ts'
import { sessionsPage } from './sessions-page.ts'

export const sessionRoutes: Routes = ({ signIn, operate }, withPerson) => [
  {
    method: 'GET',
    path: '/console/sessions',
    handle: (request) =>
      withPerson(request, async (person) => {
        const { session, view, caller } = person
        const { id: ownId, partnerId, memberId } = session
        const sessions = (await signIn.sessions(partnerId, memberId)).map(({ userAgent, ...session }) => ({
          ...session,
          device: userAgent,
          isCurrent: session.id === ownId,
        }))
        const mayRead = caller.permissions.includes('users:read')
        const call = { ...callOf(person, request), query: 'status=Active&limit=100' }
        const accounts = mayRead ? (await operate('listServiceAccounts', call)).data : []
        const support = accounts
          .filter(({ impersonation }) => impersonation)
          .map(({ serviceAccountId: id, name, createdAt, expiresAt }) => ({ id, name, createdAt, expiresAt }))
        const mayEnd = caller.impersonatedBy === undefined && caller.permissions.includes('users:write')
        return page(request, 200, sessionsPage({ ...view, current: 'sessions' }, { sessions, support, mayEnd }))
      }),
  },
  {
    method: 'POST',
    path: '/console/sessions/end',
    handle: (request) =>
      withPerson(request, async ({ session: { partnerId, memberId } }) => {
        const id = readForm(request)('id')
        if (uuid.test(id)) await signIn.end(partnerId, memberId, id)
        return seeOther('../sessions')
      }),
  },
  {
    method: 'POST',
    path: '/console/sessions/end-others',
    handle: (request) =>
      withPerson(request, async ({ session: { id, partnerId, memberId } }) => {
        await signIn.endOthers(partnerId, memberId, id)
        return seeOther('../sessions')
      }),
  },
]
