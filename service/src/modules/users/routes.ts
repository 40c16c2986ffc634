/** Operation id -> verb -> shape. */
import type { ResponseOf } from '@partner-payments/wire'
import type { Handlers } from '../../api/index.ts'
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

export function usersRoutes(users: Users): Handlers<'users'> {
  return {
    createInvitations: async ({ caller, body }) => ({
      body: { invitations: (await users.createInvitations(caller, body)).map(toWire) },
    }),
    listInvitations: async ({ caller, query }) => {
      const page = await users.listInvitations(caller.partnerId, query)
      return { body: { ...page, data: page.data.map(toWire) } }
    },
    getInvitation: async ({ caller, params }) => ({
      body: toWire(await users.getInvitation(caller.partnerId, params.invitationId)),
    }),
    resendInvitation: async ({ caller, params, body }) => ({
      body: toWire(await users.resendInvitation(caller.partnerId, params.invitationId, body?.redirectUrl)),
    }),
    revokeInvitation: async ({ caller, params }) => {
      await users.revokeInvitation(caller.partnerId, params.invitationId)
      return { body: undefined }
    },
  }
}
