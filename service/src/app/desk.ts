/** Composes the desk of the operator's staff. */
import type { RequestListener } from 'node:http'
import { partnerRow, partnersPage } from '../access/index.ts'
import type { BackgroundDeps } from './background.ts'
import { installationBrand, deskUrlOf, hstsAt, pageRate } from './derived-settings.ts'
import { createSiteListener, findRunbook } from '../edge/gateway/index.ts'
import type { Modules } from './modules.ts'
import { createDeskSite, type DeskChanges } from '../pages/index.ts'

export async function composeDesk(
  { config, db, clock, log }: BackgroundDeps,
  modules: Modules,
  changes: DeskChanges,
): Promise<RequestListener> {
  const partners = { byId: partnerRow, page: partnersPage }
  const bankFiles = modules.isoBanks.shown
  return createSiteListener({
    site: await createDeskSite({
      ...modules,
      changes,
      db,
      clock,
      log,
      partners,
      bankFiles,
      runbooks: { find: findRunbook },
      sandbox: config.MODE === 'sandbox',
      brand: installationBrand(config),
    }),
    clock,
    log,
    requestTimeoutMs: config.REQUEST_TIMEOUT_MS,
    trustedProxies: config.TRUSTED_PROXIES,
    pageRate: pageRate(config),
    strictTransport: hstsAt(config, deskUrlOf(config).href),
  })
}
