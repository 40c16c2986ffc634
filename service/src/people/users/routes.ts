/** Operation id -> verb -> shape. */
import { users as wire } from '@partner-payments/wire'
import { type Handlers, pageOf, writerOf } from '../../kernel/api/index.ts'
import type { Idempotency } from '../../idempotency/index.ts'
import type { Invitation, Users } from './service.ts'

const writeInvitation = writerOf(wire.Invitation)
const toWire = ({ id: inviteId, role: roleName, invitedByName: invitedByFullName, ...invitation }: Invitation) =>
  writeInvitation({ ...invitation, inviteId, roleName, invitedByFullName })

export function usersRoutes(users: Users, idempotency: Idempotency) {
  return {
    createInvitations: idempotency.handler('createInvitations', async ({ caller, body }, tx) => {
      const invitations = await users.createInvitations(caller, body, tx)
      const ids = invitations.map(({ id }) => id).join(', ')
      return { body: { invitations: invitations.map(toWire) }, created: `the invitations ${ids}` }
    }),
    listInvitations: async ({ caller, query }) => pageOf(await users.listInvitations(caller.partnerId, query), toWire),
    getInvitation: async ({ caller, params }) => ({
      body: toWire(await users.getInvitation(caller.partnerId, params.invitationId)),
    }),
    resendInvitation: idempotency.handler('resendInvitation', async ({ caller, params, body }, tx) => {
      const invitation = await users.resendInvitation(caller, params.invitationId, body?.redirectUrl, tx)
      return { body: toWire(invitation), created: `a resend of the invitation ${invitation.id}` }
    }),
    revokeInvitation: async ({ caller, params }) => {
      await users.revokeInvitation(caller, params.invitationId)
      return { body: undefined }
    },
  } satisfies Partial<Handlers<'users'>>
}
