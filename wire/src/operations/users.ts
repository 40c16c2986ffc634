/** The operations of the group `users`. */
import * as users from '../users.ts'
import * as audit from '../audit.ts'
import { emailPlaceholder, resource } from './example.ts'
import type { Operation } from './operation.ts'
import { invitationId, userId } from './params.ts'

export const usersOperations = {
  createInvitations: {
    tag: 'users',
    method: 'POST',
    path: '/v1/users/invitations',
    body: users.InvitationsCreate,
    response: users.Invitations,
    idempotency: 'header',
    makes: { each: 'invitations', id: 'inviteId' },
    permission: 'users:write',
    items: 'invitations',
    source: 'documented',
    summary: 'Invite team members',
    description:
      'Creates one invitation per entry, or none if any entry is refused. Each invitation is emailed to its address ' +
      'in the background. An invitation expires after `expiryInDays` days, 7 by default. It also ends when you may no longer grant its ' +
      'role. An address with a pending ' +
      'invitation is refused with 409 `invitation_exists` and a pointer to the entry. Idempotent by ' +
      '`Idempotency-Key`; without a key a repeated request is refused with that code.',
    refusals: ['validation_failed', 'invitation_exists'],
    example: {
      body: { invitations: [{ email: emailPlaceholder, fullName: 'Joan Clarke', role: 'Operator' }], expiryInDays: 3 },
    },
  },
  listInvitations: {
    tag: 'users',
    method: 'GET',
    path: '/v1/users/invitations',
    query: users.InvitationQuery,
    response: users.InvitationPage,
    permission: 'users:read',
    source: 'extension',
    summary: 'List invitations',
    description: "Returns the partner's invitations, newest first. Filter by `status`.",
    refusals: [],
    example: {},
  },
  getInvitation: {
    tag: 'users',
    method: 'GET',
    path: '/v1/users/invitations/{invitationId}',
    params: invitationId,
    response: users.Invitation,
    permission: 'users:read',
    source: 'documented',
    summary: 'Retrieve an invitation',
    description:
      'Returns the invitation with its current status. A pending invitation becomes `Expired` at its expiry time.',
    refusals: ['not_found'],
    example: { params: { invitationId: resource('invitation') } },
  },
  resendInvitation: {
    tag: 'users',
    method: 'POST',
    path: '/v1/users/invitations/{invitationId}/resend',
    params: invitationId,
    body: users.InvitationResend,
    bodyOptional: true,
    response: users.Invitation,
    idempotency: 'header',
    makes: 'nothing',
    permission: 'users:write',
    source: 'documented',
    summary: 'Resend an invitation',
    description:
      'Issues a new token, revokes the previous one and emails the invitation again in the background. An expired ' +
      'invitation becomes `Pending` again, unless a newer one for the address is pending. At most 5 resends per ' +
      'invitation, 60 seconds apart. Without `redirectUrl`, the earlier redirect URL stays. A role with permissions that you ' +
      'do not have is refused (403), as for a new invitation. ' +
      'Idempotent by `Idempotency-Key`; without a key each request counts as a resend.',
    refusals: ['not_found', 'invitation_not_pending', 'resend_too_soon', 'resend_limit_reached'],
    example: {
      params: { invitationId: resource('invitation') },
      body: { redirectUrl: 'https://partner.example.com/join' },
    },
  },
  revokeInvitation: {
    tag: 'users',
    method: 'DELETE',
    path: '/v1/users/invitations/{invitationId}',
    params: invitationId,
    permission: 'users:write',
    source: 'extension',
    summary: 'Revoke a pending invitation',
    description:
      'Revokes the invitation and its token, and cancels its unsent emails. An invitation that is not `Pending` is ' +
      'refused with 409 `invitation_not_pending`. An invitation to a role with permissions that you do not have is refused with 403.',
    refusals: ['not_found', 'invitation_not_pending'],
    example: { params: { invitationId: resource('invitation') } },
  },
  listUsers: {
    tag: 'users',
    method: 'GET',
    path: '/v1/users',
    query: users.UserQuery,
    response: users.UserPage,
    permission: 'users:read',
    source: 'extension',
    summary: 'List the users of your team',
    description: 'Returns the people who accepted an invitation and were not removed, newest first. Filter by `role`.',
    refusals: [],
    example: {},
  },
  getUser: {
    tag: 'users',
    method: 'GET',
    path: '/v1/users/{userId}',
    params: userId,
    response: users.User,
    permission: 'users:read',
    source: 'extension',
    summary: 'Retrieve a user',
    description: 'Returns a member of your team. A user who was removed is not found.',
    refusals: ['not_found'],
    example: { params: { userId: resource('user') } },
  },
  updateUser: {
    tag: 'users',
    method: 'PATCH',
    path: '/v1/users/{userId}',
    params: userId,
    body: users.UserUpdate,
    response: users.User,
    permission: 'users:write',
    source: 'extension',
    summary: 'Update the role of a user',
    description:
      'Takes effect with the next request of the user, also in open sessions. The last `Admin` cannot get another role ' +
      '(409 `last_admin`). Refused (403) if the old or the new role has permissions that you do not have. The user and all Admins get a mail.',
    refusals: ['validation_failed', 'not_found', 'last_admin'],
    example: { params: { userId: resource('user') }, body: { role: 'Developer' } },
  },
  removeUser: {
    tag: 'users',
    method: 'DELETE',
    path: '/v1/users/{userId}',
    params: userId,
    permission: 'users:write',
    source: 'extension',
    summary: 'Remove a user',
    description:
      'Ends all sessions of the user at once, and deletes passkeys and password. The address can be invited again. The last ' +
      '`Admin` cannot be removed (409 `last_admin`). A user whose role has permissions that you do not have is refused (403). The user ' +
      'and all Admins get a mail.',
    refusals: ['not_found', 'last_admin'],
    example: { params: { userId: resource('removable') } },
  },
  getSingleSignOn: {
    tag: 'users',
    method: 'GET',
    path: '/v1/users/single-sign-on',
    response: users.SingleSignOn,
    permission: 'users:read',
    source: 'extension',
    summary: 'Retrieve the single sign-on',
    description: 'Returns the OpenID Connect provider of your team, without the client secret.',
    refusals: ['not_found'],
    example: {},
  },
  setSingleSignOn: {
    tag: 'users',
    method: 'PUT',
    path: '/v1/users/single-sign-on',
    body: users.SingleSignOnUpdate,
    response: users.SingleSignOn,
    permission: 'users:write',
    source: 'extension',
    summary: 'Set single sign-on',
    description:
      'Sets the OpenID Connect provider of your team. It signs people in once the domain is proved. After a change of the domain it must ' +
      'be proved again. After a change of the issuer each person must be connected again. All Admins get a mail. ' +
      'An Admin does this in the console, within five minutes of a sign-in (else 403). In the sandbox a service account with every permission does it too. ' +
      'If your payouts need a second person, a change in the console waits for a second Admin, and the answer has the proposal. Refused with ' +
      '409 `last_admin` if no Admin could still sign in.',
    refusals: ['validation_failed', 'last_admin'],
    example: {
      body: {
        issuer: 'https://id.example.com',
        clientId: 'partner-payments',
        clientSecret: 'correct horse battery staple',
        emailDomain: 'acme.example',
        roleClaim: 'groups',
        roles: { Admin: ['payments-admins'], Operator: ['payments'] },
      },
    },
  },
  proveSingleSignOnDomain: {
    tag: 'users',
    method: 'POST',
    path: '/v1/users/single-sign-on/domain',
    response: users.SingleSignOn,
    idempotency: 'kept',
    callsChosenHost: true,
    repeatable: true,
    permission: 'users:write',
    source: 'extension',
    summary: 'Prove the domain of the single sign-on',
    description:
      'Checks the DNS record of `domainRecord`. After that the provider signs people in. Refused with 400 if the record is ' +
      'absent or has another value. An Admin does this in the console, within five minutes of a sign-in (else 403). In the sandbox a service account with every permission does it too. ' +
      'In the sandbox a domain that ends with `.example` or `.test` needs no record (RFC 2606).',
    refusals: ['validation_failed', 'not_found'],
    example: {},
  },
  removeSingleSignOn: {
    tag: 'users',
    method: 'DELETE',
    path: '/v1/users/single-sign-on',
    permission: 'users:write',
    source: 'extension',
    summary: 'Remove single sign-on',
    description:
      'The provider no longer signs anyone in. Open sessions stay. An Admin does this in the console, within five minutes of a sign-in (else 403). In the sandbox a service account with every permission does it too. ' +
      'Refused with 409 `last_admin` if no Admin has a passkey or a ' +
      'password.',
    refusals: ['not_found', 'last_admin'],
    example: {},
  },
  listAuditRecords: {
    tag: 'users',
    method: 'GET',
    path: '/v1/audit',
    query: audit.AuditQuery,
    response: audit.AuditPage,
    permission: 'users:read',
    source: 'extension',
    summary: 'List audit records',
    description:
      'Returns the records of the audit log, newest first. Each step of a transaction has a record that commits with the step. Other ' +
      'writes, and reads of a customer, a report or a stream, have a record that commits before the request runs. A resource that a ' +
      'request creates has a further record with its `id`, which commits with it. Filters combine.',
    refusals: [],
    example: {},
  },
  listAuditHeads: {
    tag: 'users',
    method: 'GET',
    path: '/v1/audit/heads',
    query: audit.AuditHeadQuery,
    response: audit.AuditHeadPage,
    permission: 'users:read',
    source: 'extension',
    summary: 'List signed heads of the audit log',
    description:
      'Returns the signed heads, newest first: one for each day (UTC) with records. Each names the previous head. ' +
      'Keep them: with them you can prove that no record was changed, dropped or moved later.',
    refusals: [],
    example: {},
  },
} as const satisfies Record<string, Operation>
