/** The sessions of the person who is signed in. */
import { readForm, page, type Routes, seeOther, uuid } from './request.ts'
import { sessionsPage } from './sessions-page.ts'

export const sessionRoutes: Routes = ({ signIn }, withPerson) => [
  {
    method: 'GET',
    path: '/console/sessions',
    handle: (request) =>
      withPerson(request, async ({ session: { id: ownId, partnerId, memberId }, view }) => {
        const sessions = (await signIn.sessions(partnerId, memberId)).map(({ userAgent, ...session }) => ({
          ...session,
          device: userAgent,
          isCurrent: session.id === ownId,
        }))
        return page(request, 200, sessionsPage({ ...view, current: 'sessions' }, { sessions }))
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
