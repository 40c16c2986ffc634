/**
 * The hosts at which pages are shown. The operator can give a partner its own host, which shows only the payment pages
 * of that partner, not the console. Links are built from the configuration, never from the header `Host`.
 */
import { notFound, type PublicSite } from '../kernel/api/index.ts'

export type PageHosts = {
  /** Reports whether the host belongs to a partner. */
  readonly isOfPartner: (host: string | undefined) => boolean
  /** Reports whether a host shows the pages of a partner. `partnerId`: undefined for a page without a partner. */
  readonly shows: (host: string | undefined, partnerId: string | undefined) => boolean
}

type HostSettings = {
  /** The URL of the pages of each partner that has its own host. */
  readonly pageUrls: ReadonlyMap<string, string>
  /** Undefined: every host that no partner has belongs to the service. */
  readonly publicUrl: string | undefined
}

export function createPageHosts({ pageUrls, publicUrl }: HostSettings): PageHosts {
  const owners = new Map([...pageUrls].map(([partnerId, url]) => [new URL(url).host, partnerId]))
  const own = publicUrl === undefined ? undefined : new URL(publicUrl).host
  const ownerOf = (host: string | undefined) => owners.get(host?.toLowerCase() ?? '')
  return {
    isOfPartner: (host) => ownerOf(host) !== undefined,
    shows: (given, partnerId) => {
      const owner = ownerOf(given)
      if (owner !== undefined) return owner === partnerId
      // If no partner has a host, or the service has no public URL, every host shows every page.
      return owners.size === 0 || own === undefined || given?.toLowerCase() === own
    },
  }
}

/** Answers 404 for every page of a site at the hosts of partners. */
export const hideFromPartnerHosts = (site: PublicSite, hosts: PageHosts): PublicSite => ({
  ...site,
  routes: site.routes.map((route) => ({
    ...route,
    handle: (request) => {
      if (hosts.isOfPartner(request.headers['host'])) throw notFound('page')
      return route.handle(request)
    },
  })),
})
