/** Composes the gateway: the handlers of all operations, and the pages of payers and teams. */
import { auditedHandlers } from '../audit/index.ts'
import { type AllHandlers } from '../kernel/api/index.ts'
import type { BackgroundDeps } from './background.ts'
import {
  installationBrand,
  differingDefaults,
  gatewayLimits,
  hstsAt,
  itemRate,
  pageRate,
  publicUrlOf,
  requestRate,
} from './derived-settings.ts'
import { createGateway, createOperate, docsAssets, type Gateway } from '../edge/gateway/index.ts'
import { deriveKey, present } from '../kernel/index.ts'
import { accountsRoutes, monitorRoutes } from '../accounts/index.ts'
import { auditLogRoutes } from '../audit/api/index.ts'
import { beneficiariesRoutes } from '../parties/beneficiaries/index.ts'
import { bulkPayoutsRoutes } from '../payouts/bulk/index.ts'
import { checkoutRoutes } from '../checkout/index.ts'
import { customersRoutes } from '../parties/customers/index.ts'
import { fxRoutes } from '../fx/index.ts'
import { createIdentityWebhookSite, identityRoutes } from '../parties/identity-checks/index.ts'
import type { Modules } from './modules.ts'
import { payoutControlsRoutes } from '../payouts/controls/index.ts'
import { payoutsRoutes } from '../payouts/index.ts'
import { recallsRoutes } from '../payouts/recalls/index.ts'
import { reportsRoutes } from '../reports/index.ts'
import { requestLogRoutes } from '../requests/api/index.ts'
import { simulationsRoutes } from '../simulations/index.ts'
import { standingOrdersRoutes } from '../payouts/standing-orders/index.ts'
import { transactionsRoutes } from '../transactions/index.ts'
import { guestLinksRoutes, membersRoutes, serviceAccountsRoutes, usersRoutes } from '../people/users/index.ts'
import { walletsRoutes } from '../chains/wallets/index.ts'
import { webhooksRoutes } from '../webhooks/api/index.ts'
import { hideFromPartnerHosts, createCheckoutSite, createConsoleSite, createPageHosts } from '../pages/index.ts'
import { createRequestRecorder } from '../requests/index.ts'

export type GatewayForm = 'standalone' | 'gateway' | 'api'

const createHandlers = (modules: Modules): AllHandlers => ({
  ...accountsRoutes(modules.accounts, modules.idempotency),
  ...monitorRoutes(modules.monitors, modules.idempotency),
  ...beneficiariesRoutes(modules.beneficiaries, modules.idempotency),
  ...checkoutRoutes(modules.checkout, modules.idempotency),
  ...customersRoutes(modules.customers, modules.personalData, modules.idempotency, modules.accounts.holderIn),
  ...fxRoutes(modules.fx),
  ...payoutsRoutes(modules.payouts),
  ...payoutControlsRoutes(modules.payoutControls),
  ...bulkPayoutsRoutes(modules.bulkPayouts),
  ...standingOrdersRoutes(modules.standingOrders, modules.idempotency),
  ...recallsRoutes(modules.recalls, modules.idempotency),
  ...identityRoutes(modules.identityChecks, modules.idempotency),
  ...reportsRoutes(modules.reports, modules.idempotency),
  ...simulationsRoutes(modules.simulations, modules.idempotency),
  ...transactionsRoutes(modules.transactions, modules.holdOf),
  ...usersRoutes(modules.users, modules.idempotency),
  ...membersRoutes(modules.members),
  ...guestLinksRoutes(modules.guestLinks, modules.idempotency),
  ...serviceAccountsRoutes(modules.serviceAccounts, modules.idempotency),
  ...auditLogRoutes(modules.audit),
  ...requestLogRoutes(modules.requests),
  ...walletsRoutes(modules.wallets, modules.idempotency),
  ...webhooksRoutes(modules.webhooks, modules.testDeliveries, modules.idempotency),
})

export async function composeGateway(deps: BackgroundDeps, modules: Modules, form: GatewayForm): Promise<Gateway> {
  const { config, clock, log, observability, tracing } = deps
  const { access, checkout } = modules
  if (form !== 'gateway') await modules.rates.prepare()
  const sandbox = config.MODE === 'sandbox'
  const brand = installationBrand(config)
  const hosts = createPageHosts({ pageUrls: config.CHECKOUT_URLS, publicUrl: config.PUBLIC_URL })
  const { operate, download, operationOf } = await createOperate({
    handlers: auditedHandlers(modules.idempotency.keepAnswers(createHandlers(modules)), modules.audit),
    clock,
    sandbox: config.SIMULATIONS,
    itemRate: itemRate(config),
  })
  const recorder = createRequestRecorder({
    ...{ db: deps.db, clock, log, credential: access.credential },
    dropped: observability?.metrics.requestsDropped,
  })
  const common = {
    operationOf,
    clock,
    sandbox: config.SIMULATIONS,
    downloads: { open: modules.reports.contentOfLink },
    sites: [
      createIdentityWebhookSite({ checks: modules.identityChecks, provider: modules.identityProvider, clock }),
      await createCheckoutSite({ checkout, clock, sandbox, brand, hosts }),
      hideFromPartnerHosts(
        await createConsoleSite({
          ...modules,
          access: {
            madeBy: async ({ partnerId, serviceAccountId: id }) => [
              id,
              ...(await access.issuedBy(deps.db, partnerId, id)),
            ],
          },
          operate,
          download,
          clock,
          log,
          sandbox,
          brand,
        }),
        hosts,
      ),
    ],
    internalKey: deriveKey(config.MASTER_KEY[0], 'internal'),
    log,
    ...gatewayLimits(config),
    tracing,
    ...(observability ? { observe: observability.metrics.request } : {}),
    record: recorder.record,
  }
  const signed = {
    access,
    windowSeconds: config.TIMESTAMP_WINDOW_SECONDS,
    rate: requestRate(config),
    pageRate: pageRate(config),
    strictTransport: hstsAt(config, publicUrlOf(config)),
  }
  /** Makes `close` write the buffered request log after the last answer. */
  const recorded = async (opening: Promise<Gateway>): Promise<Gateway> => {
    const gateway = await opening
    const close: Gateway['close'] = async (lingerMs) => {
      await gateway.close(lingerMs)
      await recorder.flush()
    }
    return { ...gateway, close }
  }
  if (form === 'api') return recorded(createGateway({ ...common, form }))
  const pages = await docsAssets({
    sandbox: config.MODE === 'sandbox',
    simulations: config.SIMULATIONS,
    differences: differingDefaults(),
  })
  if (form === 'standalone') return recorded(createGateway({ ...common, ...signed, form, pages }))
  const apiUrl = present(config.API_URL, 'no API_URL, which the configuration checks for this role')
  return recorded(createGateway({ ...common, ...signed, form, pages, apiUrl, apiTimeoutMs: config.REQUEST_TIMEOUT_MS }))
}
