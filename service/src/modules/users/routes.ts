/** Operation id -> verb -> shape. */
import type { ResponseOf } from '@partner-payments/wire'
import type { Handlers } from '../../api/index.ts'
import type { Idempotency } from '../../idempotency/index.ts'
import type { Invitation, Users } from './service.ts'

function toWire(invitation: Invitation): ResponseOf<'getInvitation'> {
  return {
    inviteId: invitation.id,
    email: invitation.email,
    roleName: invitation.role,
    status: invitation.status,
    invitedById: invitation.invitedById,
    invitedByFullName: invitation.invitedByName,
    createdAt: invitation.createdAt.toISOString(),
    updatedAt: invitation.updatedAt.toISOString(),
  }
}

export function usersRoutes(users: Users, idempotency: Idempotency) {
  return {
    createInvitations: idempotency.handler('createInvitations', async ({ caller, body }, tx) => {
      const invitations = await users.createInvitations(caller, body, tx)
      const ids = invitations.map(({ id }) => id).join(', ')
      return { body: { invitations: invitations.map(toWire) }, created: `the invitations ${ids}` }
    }),
    listInvitations: async ({ caller, query }) => {
      const page = await users.listInvitations(caller.partnerId, query)
      return { body: { ...page, data: page.data.map(toWire) } }
    },
    getInvitation: async ({ caller, params }) => ({
      body: toWire(await users.getInvitation(caller.partnerId, params.invitationId)),
    }),
    resendInvitation: idempotency.handler('resendInvitation', async ({ caller, params, body }, tx) => {
      const invitation = await users.resendInvitation(caller.partnerId, params.invitationId, body?.redirectUrl, tx)
      return { body: toWire(invitation), created: `a resend of the invitation ${invitation.id}` }
    }),
    revokeInvitation: async ({ caller, params }) => {
      await users.revokeInvitation(caller.partnerId, params.invitationId)
      return { body: undefined }
    },
  } satisfies Partial<Handlers<'users'>>
}
