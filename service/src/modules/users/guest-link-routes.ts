/** Operation id -> verb -> shape, of guest links. */
import type { ResponseOf } from '@partner-payments/wire'
import type { Handlers } from '../../api/index.ts'
import type { Idempotency } from '../../idempotency/index.ts'
import type { GuestLink, GuestLinks } from './guest-links.ts'

function toWire(link: GuestLink): ResponseOf<'createGuestLink'> {
  const { id: guestLinkId, email, fullName, access, status, madeById, madeByName: madeByFullName } = link
  const time = (at: Date | null) => at?.toISOString() ?? null
  return {
    ...{ guestLinkId, email, fullName, access, status, madeById, madeByFullName },
    createdAt: link.createdAt.toISOString(),
    expiresAt: link.expiresAt.toISOString(),
    openedAt: time(link.openedAt),
    lastUsedAt: time(link.lastUsedAt),
    revokedAt: time(link.revokedAt),
  }
}

export function guestLinksRoutes(links: GuestLinks, idempotency: Idempotency) {
  return {
    createGuestLink: idempotency.handler('createGuestLink', async ({ caller, body, ip }, tx) => {
      const link = await links.create(caller, body, { ip, ...(tx && { tx }) })
      return { body: toWire(link), created: `the guest link ${link.id}` }
    }),
    listGuestLinks: async ({ caller, query }) => {
      const page = await links.list(caller.partnerId, query)
      return { body: { ...page, data: page.data.map(toWire) } }
    },
    revokeGuestLink: async ({ caller, params, ip }) => {
      await links.revoke(caller, params.guestLinkId, ip)
      return { body: undefined }
    },
  } satisfies Partial<Handlers<'guestLinks'>>
}
