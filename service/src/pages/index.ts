/**
 * The payment page of a checkout session, and the bank of the payer in the sandbox: HTML for a browser, without a signature.
 * The link is the credential. Everything works without JavaScript but the live status, the countdown and the copy buttons.
 * `console/` has the pages of a partner's team: a session is the credential.
 * `desk/` has the pages of the operator's staff, on the operations port.
 * Owns no tables.
 */
import type { PublicSite } from '../kernel/api/index.ts'
import type { ConsoleDeps } from './console/request.ts'
import type { DeskDeps } from './desk/request.ts'
import type { SiteDeps } from './site.ts'

export { hideFromPartnerHosts, createPageHosts } from './hosts.ts'
export type { ConnectorStatus, DeskChanges, FormOption } from './desk/request.ts'

// The first call loads them: workers and commands of the operator show no pages.
export const createDeskSite = async (deps: DeskDeps): Promise<PublicSite> =>
  (await import('./desk/site.ts')).createDeskSite(deps)
export const createConsoleSite = async (deps: ConsoleDeps): Promise<PublicSite> =>
  (await import('./console/site.ts')).createConsoleSite(deps)
export const createCheckoutSite = async (deps: SiteDeps): Promise<PublicSite> =>
  (await import('./site.ts')).createCheckoutSite(deps)
