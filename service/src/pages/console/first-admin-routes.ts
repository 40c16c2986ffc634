/** The link that the service prints for a partner without members: its first Admin gives a name and an address, and chooses how to sign in. */
import { permissions } from '@partner-payments/wire'
import { Refusal, type PublicAnswer, type PublicRequest, type PublicRoute } from '../../kernel/api/index.ts'
import { firstAdminPage } from './first-admin-page.ts'
import { errorsOf, type Form, type Frame, page, readForm, seeOther, viewOf } from './request.ts'

export function firstAdminRoutes(frame: Frame): readonly PublicRoute[] {
  const { firstAdmin, operate } = frame
  const show = async (
    request: PublicRequest,
    token: string,
    typed: {
      readonly fullName?: string
      readonly email?: string
      readonly errors?: Readonly<Record<string, string>>
    } = {},
  ): Promise<PublicAnswer> => {
    const { partnerName } = await firstAdmin.partnerOf(token)
    const status = typed.errors === undefined ? 200 : 400
    return page(request, status, firstAdminPage(viewOf(frame, request), { ...typed, token, partnerName }))
  }
  const invite = async ({ requestId, ip }: PublicRequest, form: Form): Promise<string> => {
    const { partnerId, partnerName: name } = await firstAdmin.partnerOf(form('token'))
    const email = form('email').trim()
    const caller = { partnerId, serviceAccountId: partnerId, name, permissions }
    const invitations = [{ email, fullName: form('fullName').trim(), role: 'Admin' }]
    // The page may be sent again: then the address has its invitation.
    await operate('createInvitations', { caller, requestId, ip, body: { invitations } }).catch((error: unknown) => {
      if (!(error instanceof Refusal) || !error.errors.every(({ code }) => code === 'exists')) throw error
    })
    return firstAdmin.invitationOf(form('token'), email)
  }
  return [
    {
      method: 'GET',
      path: '/console/first-admin',
      handle: (request) => show(request, new URLSearchParams(request.query).get('token') ?? ''),
    },
    {
      method: 'POST',
      path: '/console/first-admin',
      handle: async (request) => {
        const form = readForm(request)
        try {
          return seeOther(`join?token=${encodeURIComponent(await invite(request, form))}`)
        } catch (error) {
          if (error instanceof Refusal && error.code === 'not_found') throw error
          const errors = errorsOf(viewOf(frame, request).t, error)
          return show(request, form('token'), { fullName: form('fullName'), email: form('email'), errors })
        }
      },
    },
  ]
}
