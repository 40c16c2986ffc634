/**
 * The hosts at which pages are shown. The operator gives a partner a host of its own: it shows the payment pages of that partner only, and neither the
 * console nor a page of another partner. Links are built from the configuration, never from the header `Host`.
 */
import { notFound, type PublicSite } from '../kernel/api/index.ts'

export type PageHosts = {
  /** True for the host of a partner. */
  readonly isOfPartner: (host: string | undefined) => boolean
  /** `partnerId`: whose page it is. Undefined: of no partner. */
  readonly shows: (host: string | undefined, partnerId: string | undefined) => boolean
}

type Given = {
  /** The URLs of the pages of partners. */
  readonly pageUrls: ReadonlyMap<string, string>
  /** Undefined: the address is that of the process, and any host that leads to it is the service's. */
  readonly publicUrl: string | undefined
}

export function createPageHosts({ pageUrls, publicUrl }: Given): PageHosts {
  const owners = new Map([...pageUrls].map(([partnerId, url]) => [new URL(url).host, partnerId]))
  const own = publicUrl === undefined ? undefined : new URL(publicUrl).host
  const ownerOf = (host: string | undefined) => owners.get(host?.toLowerCase() ?? '')
  return {
    isOfPartner: (host) => ownerOf(host) !== undefined,
    shows: (given, partnerId) => {
      const owner = ownerOf(given)
      if (owner !== undefined) return owner === partnerId
      // Without hosts of partners, the name under which a browser came decides nothing.
      return owners.size === 0 || own === undefined || given?.toLowerCase() === own
    },
  }
}

/** Keeps a site of no partner away from the hosts of partners. */
export const awayFromPartners = (site: PublicSite, hosts: PageHosts): PublicSite => ({
  ...site,
  routes: site.routes.map((route) => ({
    ...route,
    handle: (request) => {
      if (hosts.isOfPartner(request.headers['host'])) throw notFound('page')
      return route.handle(request)
    },
  })),
})
