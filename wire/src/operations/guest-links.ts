/** The operations on guest links, in the group `users`: a person who may manage the team may also invite guests. */
import * as guests from '../guest-links.ts'
import { emailPlaceholder, resource } from './example.ts'
import type { Operation } from './operation.ts'
import { guestLinkId } from './params.ts'

export const guestLinksOperations = {
  createGuestLink: {
    tag: 'users',
    method: 'POST',
    path: '/v1/users/guest-links',
    body: guests.GuestLinkCreate,
    response: guests.GuestLink,
    idempotency: 'header',
    makes: { id: 'guestLinkId' },
    permission: 'users:write',
    source: 'extension',
    summary: 'Create a guest link',
    description:
      'Emails a link that lets a person without an account into the webhook pages of the console, and no other page. The link works ' +
      'once. Its session ends with the link, and when you lose `users:write` or the permission for webhooks. Responses never contain the link. ' +
      'Idempotent by `Idempotency-Key`; without a key a repeated request emails a second link.',
    refusals: ['validation_failed'],
    example: { body: { email: emailPlaceholder, fullName: 'Joan Clarke', access: 'read', expiresInHours: 24 } },
  },
  listGuestLinks: {
    tag: 'users',
    method: 'GET',
    path: '/v1/users/guest-links',
    query: guests.GuestLinkQuery,
    response: guests.GuestLinkPage,
    permission: 'users:read',
    source: 'extension',
    summary: 'List guest links',
    description: 'Returns the guest links, newest first.',
    refusals: [],
    example: {},
  },
  revokeGuestLink: {
    tag: 'users',
    method: 'DELETE',
    path: '/v1/users/guest-links/{guestLinkId}',
    params: guestLinkId,
    permission: 'users:write',
    source: 'extension',
    summary: 'Revoke a guest link',
    description:
      'Ends the link and the session of the guest at once, and cancels an unsent email. You can revoke only access that you could grant (403). ' +
      'A link that has ended is not found.',
    refusals: ['not_found'],
    example: { params: { guestLinkId: resource('guestLink') } },
  },
} as const satisfies Record<string, Operation>
