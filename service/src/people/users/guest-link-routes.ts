/** Operation id -> verb -> shape, of guest links. */
import { guestLinks as wire } from '@partner-payments/wire'
import { type Handlers, pageOf, writerOf } from '../../kernel/api/index.ts'
import type { Idempotency } from '../../idempotency/index.ts'
import type { GuestLink, GuestLinks } from './guest-links.ts'

const writeLink = writerOf(wire.GuestLink)
const toWire = ({ id: guestLinkId, madeByName: madeByFullName, ...link }: GuestLink) =>
  writeLink({ ...link, guestLinkId, madeByFullName })

export function guestLinksRoutes(links: GuestLinks, idempotency: Idempotency) {
  return {
    createGuestLink: idempotency.handler('createGuestLink', async ({ caller, body, ip }, tx) => {
      const link = await links.create(caller, body, { ip, ...(tx && { tx }) })
      return { body: toWire(link), created: `the guest link ${link.id}` }
    }),
    listGuestLinks: async ({ caller, query }) => pageOf(await links.list(caller.partnerId, query), toWire),
    revokeGuestLink: async ({ caller, params, ip }) => {
      await links.revoke(caller, params.guestLinkId, ip)
      return { body: undefined }
    },
  } satisfies Partial<Handlers<'guestLinks'>>
}
