/** The routes of the team's pages: which page a request gets, and what a form does. */
import { encodingFor, type PublicAnswer, type PublicRoute, type PublicSite } from '../../kernel/api/index.ts'
import { unknownPage } from '../answer.ts'
import { type Assets, readAssets } from '../assets.ts'
import { accountRoutes } from './account-routes.ts'
import { approvalRoutes } from './approval-routes.ts'
import { auditRoutes } from './audit-routes.ts'
import { bulkRoutes } from './bulk-routes.ts'
import { appearanceRoutes } from './appearance-routes.ts'
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
import { type ConsoleDeps, createPerson, createVisitor, type Frame, page, seeOther, viewOf } from './request.ts'
import { savedViewRoutes } from './saved-view-routes.ts'
import { requestLogRoutes } from './request-log-routes.ts'
import { serviceAccountRoutes } from './service-account-routes.ts'
import { sessionRoutes } from './session-routes.ts'
import { recoverRoutes } from './recover-routes.ts'
import { reportRoutes } from './report-routes.ts'
import { simulationRoutes } from './simulation-routes.ts'
import { signInRoutes } from './sign-in-routes.ts'
import { ssoRoutes } from './sso-routes.ts'
import { refusingSupport, supportRoutes } from './support-routes.ts'
import { teamRoutes } from './team-routes.ts'
import { walletRoutes } from './wallet-routes.ts'
import { webhookRoutes } from './webhook-routes.ts'
import { guestRoutes } from './guest-routes.ts'
import { homeRoutes } from './home-routes.ts'

export async function createConsoleSite(deps: ConsoleDeps): Promise<PublicSite> {
  const assets = await readAssets(new URL('../browser/', import.meta.url), 'console', deps.brand)
  const frame: Frame = { ...deps, css: assets.css, js: assets.js, brand: assets.brand }
  return {
    routes: [
      { method: 'GET', path: '/console', handle: () => seeOther('console/home') },
      { method: 'GET', path: '/console/', handle: () => seeOther('home') },
      assetRoute(assets, frame),
      ...firstAdminRoutes(frame),
      ...joinRoutes(frame),
      ...recoverRoutes(frame),
      ...signInRoutes(frame),
      ...supportRoutes(frame),
      ...refusingSupport(frame, personRoutes(frame)),
      unknownPage('/console/*'),
    ],
    refused: (request, { status }) => {
      const view = viewOf(frame, request)
      const { t } = view
      const [title, text] =
        status === 404
          ? /^\/console\/(?:join|recover|first-admin|guest|support)/.test(request.path)
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

/** The pages of a person who is signed in. */
function personRoutes(frame: Frame): readonly PublicRoute[] {
  const people = [createPerson(frame, 'settings'), createPerson(frame, 'money')] as const
  const [withPerson, withMoney] = people
  return [
    ...homeRoutes(frame, ...people),
    ...transactionRoutes(frame, ...people),
    ...payoutRoutes(frame, ...people),
    ...newPayoutRoutes(frame, ...people),
    ...bulkRoutes(frame, ...people),
    ...orderRoutes(frame, ...people),
    ...payeeRoutes(frame, ...people),
    ...customerRoutes(frame, ...people),
    ...appearanceRoutes(frame, ...people),
    ...checkoutRoutes(frame, ...people),
    ...exchangeRoutes(frame, ...people),
    ...walletRoutes(frame, ...people),
    ...reportRoutes(frame, ...people),
    ...eventRoutes(frame, createVisitor(frame, withMoney)),
    ...webhookRoutes(frame, createVisitor(frame, withPerson)),
    ...guestRoutes(frame, ...people),
    ...requestLogRoutes(frame, ...people),
    ...teamRoutes(frame, ...people),
    ...ssoRoutes(frame, ...people),
    ...serviceAccountRoutes(frame, ...people),
    ...auditRoutes(frame, ...people),
    ...accountRoutes(frame, ...people),
    ...approvalRoutes(frame, ...people),
    ...findRoutes(frame, ...people),
    ...savedViewRoutes(frame, ...people),
    ...sessionRoutes(frame, ...people),
    ...(frame.sandbox ? [designRoute(frame), ...simulationRoutes(frame, ...people)] : []),
  ]
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
