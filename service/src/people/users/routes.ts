/** Handlers of invitations, guest links and service accounts. */
import { guestLinks, serviceAccounts, users as wire } from '@partner-payments/wire'
import { type Handlers, writePage, createRecordWriter } from '../../kernel/api/index.ts'
import type { Idempotency } from '../../idempotency/index.ts'
import type { Invitation, Users } from './service.ts'
import type { GuestLink, GuestLinks } from './guest-links.ts'
import type { ListedCredential } from '../../access/index.ts'
import type { CreatedServiceAccount, ServiceAccounts } from './service-accounts.ts'

const writeInvitation = createRecordWriter(wire.Invitation)
const toWireInvitation = ({
  id: inviteId,
  role: roleName,
  invitedByName: invitedByFullName,
  ...invitation
}: Invitation) => writeInvitation({ ...invitation, inviteId, roleName, invitedByFullName })

export function usersRoutes(users: Users, idempotency: Idempotency) {
  return {
    createInvitations: idempotency.handler('createInvitations', async ({ caller, body }, tx) => {
      const invitations = await users.createInvitations(caller, body, tx)
      const ids = invitations.map(({ id }) => id).join(', ')
      return { body: { invitations: invitations.map(toWireInvitation) }, created: `the invitations ${ids}` }
    }),
    listInvitations: async ({ caller, query }) =>
      writePage(await users.listInvitations(caller.partnerId, query), toWireInvitation),
    getInvitation: async ({ caller, params }) => ({
      body: toWireInvitation(await users.getInvitation(caller.partnerId, params.invitationId)),
    }),
    resendInvitation: idempotency.handler('resendInvitation', async ({ caller, params, body }, tx) => {
      const invitation = await users.resendInvitation(caller, params.invitationId, body?.redirectUrl, tx)
      return { body: toWireInvitation(invitation), created: `a resend of the invitation ${invitation.id}` }
    }),
    revokeInvitation: async ({ caller, params }) => {
      await users.revokeInvitation(caller, params.invitationId)
      return { body: undefined }
    },
  } satisfies Partial<Handlers<'users'>>
}

const writeLink = createRecordWriter(guestLinks.GuestLink)
const toWireGuestLink = ({ id: guestLinkId, madeByName: madeByFullName, ...link }: GuestLink) =>
  writeLink({ ...link, guestLinkId, madeByFullName })

export function guestLinksRoutes(links: GuestLinks, idempotency: Idempotency) {
  return {
    createGuestLink: idempotency.handler('createGuestLink', async ({ caller, body, ip }, tx) => {
      const link = await links.create(caller, body, { ip, ...(tx && { tx }) })
      return { body: toWireGuestLink(link), created: `the guest link ${link.id}` }
    }),
    listGuestLinks: async ({ caller, query }) => writePage(await links.list(caller.partnerId, query), toWireGuestLink),
    revokeGuestLink: async ({ caller, params, ip }) => {
      await links.revoke(caller, params.guestLinkId, ip)
      return { body: undefined }
    },
  } satisfies Partial<Handlers<'guestLinks'>>
}

const accountStatuses = { valid: 'Active', expired: 'Expired', revoked: 'Revoked' } as const

const writeAccount = createRecordWriter(serviceAccounts.ServiceAccount)
const toWireServiceAccount = (account: ListedCredential) =>
  writeAccount({
    ...account,
    status: accountStatuses[account.status],
    impersonation: account.impersonatedBy !== null,
    issuedById: account.issuedBy,
    issuedByFullName: account.issuedByName,
  })

const withSecret = ({ account, apiSecret }: CreatedServiceAccount) => ({
  body: { ...toWireServiceAccount(account), apiSecret },
  created: `the service account ${account.serviceAccountId}`,
})

export function serviceAccountsRoutes(accounts: ServiceAccounts, idempotency: Idempotency) {
  return {
    createServiceAccount: idempotency.handler('createServiceAccount', async ({ caller, body }, tx) =>
      withSecret(await accounts.create(caller, body, tx)),
    ),
    rotateServiceAccount: idempotency.handler('rotateServiceAccount', async ({ caller, params, body }, tx) =>
      withSecret(await accounts.rotate(caller, params.serviceAccountId, body, tx)),
    ),
    listServiceAccounts: async ({ caller, query }) =>
      writePage(await accounts.list(caller.partnerId, query), toWireServiceAccount),
    getServiceAccount: async ({ caller, params }) => ({
      body: toWireServiceAccount(await accounts.get(caller.partnerId, params.serviceAccountId)),
    }),
    updateServiceAccount: async ({ caller, params, body }) => ({
      body: toWireServiceAccount(await accounts.update(caller, params.serviceAccountId, body)),
    }),
    revokeServiceAccount: async ({ caller, params }) => {
      await accounts.revoke(caller, params.serviceAccountId)
      return { body: undefined }
    },
  } satisfies Partial<Handlers<'serviceAccounts'>>
}
