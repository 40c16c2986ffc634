/** The routes of the team's pages: which page a request gets, and what a form does. */
import { encodingFor, type PublicAnswer, type PublicRoute, type PublicSite } from '../../api/index.ts'
import { type Assets, readAssets } from '../assets.ts'
import { accountRoutes } from './account-routes.ts'
import { approvalRoutes } from './approval-routes.ts'
import { auditRoutes } from './audit-routes.ts'
import { bulkRoutes } from './bulk-routes.ts'
import { checkoutRoutes } from './checkout-routes.ts'
import { customerRoutes } from './customer-routes.ts'
import { designPage } from './design.ts'
import { exchangeRoutes } from './exchange-routes.ts'
import { eventRoutes } from './event-routes.ts'
import { findRoutes } from './find-routes.ts'
import { firstAdminRoutes } from './first-admin-routes.ts'
import { joinRoutes } from './join-routes.ts'
import { newPayoutRoutes } from './new-payout-routes.ts'
import { orderRoutes } from './order-routes.ts'
import { payeeRoutes } from './payee-routes.ts'
import { payoutRoutes } from './payout-routes.ts'
import { transactionRoutes } from './transaction-routes.ts'
import { consoleMessage } from './message-page.ts'
import { type ConsoleDeps, createPerson, type Frame, page, seeOther, viewOf } from './request.ts'
import { serviceAccountRoutes } from './service-account-routes.ts'
import { sessionRoutes } from './session-routes.ts'
import { reportRoutes } from './report-routes.ts'
import { simulationRoutes } from './simulation-routes.ts'
import { signInRoutes } from './sign-in-routes.ts'
import { ssoRoutes } from './sso-routes.ts'
import { teamRoutes } from './team-routes.ts'
import { walletRoutes } from './wallet-routes.ts'
import { webhookRoutes } from './webhook-routes.ts'
import { homeRoutes } from './home-routes.ts'

export async function createConsoleSite(deps: ConsoleDeps): Promise<PublicSite> {
  const assets = await readAssets(new URL('../browser/', import.meta.url), 'console')
  const frame: Frame = { ...deps, css: assets.css, js: assets.js }
  const people = [createPerson(frame, 'settings'), createPerson(frame, 'money')] as const
  return {
    routes: [
      { method: 'GET', path: '/console', handle: () => seeOther('console/home') },
      { method: 'GET', path: '/console/', handle: () => seeOther('home') },
      assetRoute(assets, frame),
      ...firstAdminRoutes(frame),
      ...joinRoutes(frame),
      ...signInRoutes(frame),
      ...homeRoutes(frame, ...people),
      ...transactionRoutes(frame, ...people),
      ...payoutRoutes(frame, ...people),
      ...newPayoutRoutes(frame, ...people),
      ...bulkRoutes(frame, ...people),
      ...orderRoutes(frame, ...people),
      ...payeeRoutes(frame, ...people),
      ...customerRoutes(frame, ...people),
      ...checkoutRoutes(frame, ...people),
      ...exchangeRoutes(frame, ...people),
      ...walletRoutes(frame, ...people),
      ...reportRoutes(frame, ...people),
      ...eventRoutes(frame, ...people),
      ...webhookRoutes(frame, ...people),
      ...teamRoutes(frame, ...people),
      ...ssoRoutes(frame, ...people),
      ...serviceAccountRoutes(frame, ...people),
      ...auditRoutes(frame, ...people),
      ...accountRoutes(frame, ...people),
      ...approvalRoutes(frame, ...people),
      ...findRoutes(frame, ...people),
      ...sessionRoutes(frame, ...people),
      ...(deps.sandbox ? [designRoute(frame), ...simulationRoutes(frame, ...people)] : []),
    ],
    refused: (request, { status }) => {
      const view = viewOf(frame, request)
      const { t } = view
      const [title, text] =
        status === 404
          ? /^\/console\/(?:join|first-admin)/.test(request.path)
            ? [t.linkInvalid, t.linkInvalidText]
            : [t.notFound, t.notFoundText]
          : status === 403
            ? [t.refused, t.refusedText]
            : status === 429
              ? [t.tooMany, t.tooManyText]
              : [t.broken, t.brokenText]
      return page(request, status, consoleMessage(view, title, text))
    },
  }
}

const assetRoute = (assets: Assets, frame: Frame): PublicRoute => ({
  method: 'GET',
  path: '/console/assets/{name}',
  handle: (request): PublicAnswer => {
    const found = assets.find(request.params['name'] ?? '', encodingFor(request.headers['accept-encoding']))
    if (found !== undefined) return found
    const view = viewOf(frame, request)
    return page(request, 404, consoleMessage(view, view.t.notFound, view.t.notFoundText))
  },
})

const designRoute = (frame: Frame): PublicRoute => ({
  method: 'GET',
  path: '/console/design',
  handle: (request) => page(request, 200, designPage(viewOf(frame, request))),
})
