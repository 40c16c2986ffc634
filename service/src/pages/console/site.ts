/** The routes of the console. */
import {
  encodingFor,
  type PublicAnswer,
  type PublicRoute,
  type PublicSite,
  readCookie,
  sessionCookie,
} from '../../kernel/api/index.ts'
import { notFoundRoute } from '../answer.ts'
import { type Assets, readAssets } from '../assets.ts'
import { consoleMessagePage } from '../kit/frame.ts'
import { withKeptForms } from '../kit/kept-forms.ts'
import { page, seeOther } from '../kit/request.ts'
import { accountRoutes, sessionRoutes } from './account.ts'
import { appearanceRoutes } from './appearance.ts'
import { approvalRoutes } from './approvals.ts'
import { auditRoutes } from './audit.ts'
import { bulkRoutes } from './bulk.ts'
import { checkoutRoutes } from './checkout.ts'
import { customerRoutes } from './customer-routes.ts'
import { designPage } from './design.ts'
import { eventRoutes } from './events.ts'
import { exchangeRoutes } from './exchange.ts'
import { findRoutes } from './find.ts'
import { guestRoutes } from './guests.ts'
import { homeRoutes } from './home.ts'
import { inboxRoutes } from './inbox.ts'
import { firstAdminRoutes, joinRoutes, recoverRoutes } from './join.ts'
import { newPayoutRoutes } from './new-payout.ts'
import { orderRoutes } from './orders.ts'
import { payeeRoutes } from './payees.ts'
import { payoutRoutes } from './payout.ts'
import { payoutListRoutes } from './payouts.ts'
import { reportRoutes } from './reports.ts'
import { requestLogRoutes } from './request-log.ts'
import { type ConsoleDeps, createWithPerson, type Frame, createView, type Routes } from './request.ts'
import { savedViewRoutes } from './saved-view-routes.ts'
import { serviceAccountRoutes } from './service-accounts.ts'
import { refuseInSupportSession, signInRoutes, supportRoutes } from './sign-in.ts'
import { simulationRoutes } from './simulations.ts'
import { ssoRoutes } from './sso.ts'
import { teamRoutes } from './team.ts'
import { transactionRoutes } from './transactions.ts'
import { walletRoutes } from './wallets.ts'
import { webhookRoutes } from './webhooks.ts'

export async function createConsoleSite(deps: ConsoleDeps): Promise<PublicSite> {
  const assets = await readAssets(new URL('../browser/', import.meta.url), 'console', deps.brand)
  const bare = { ...deps, css: assets.css, js: assets.js, brand: assets.brand }
  const frame: Frame = {
    ...bare,
    withPerson: createWithPerson(bare, 'settings'),
    withMoney: createWithPerson(bare, 'money'),
  }
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
      ...withKeptForms(keptSite(frame)),
      notFoundRoute('/console/*'),
    ],
    refused: (request, { status }) => {
      const view = createView(frame, request)
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
      return page(request, status, consoleMessagePage(view, title, text))
    },
  }
}

/** Describes the pages whose forms are stored when the session ends. */
const keptSite = (frame: Frame): Parameters<typeof withKeptForms>[0] => ({
  root: 'console',
  routes: refuseInSupportSession(frame, personRoutes(frame)),
  forms: frame.signIn.forms,
  tokenOf: ({ headers }) => readCookie(headers['cookie'], sessionCookie),
  viewOf: (request) => createView(frame, request),
  asPerson: (request, answer) => frame.withMoney(request, ({ view }) => answer(view)),
  notKept: {
    '/console/account/passkey': 'it has no field but the answer of a passkey',
    '/console/account/password': 'it has no field but a password and a code',
    '/console/payouts/{id}/approve': 'a passkey or a code confirms what is shown now',
    '/console/bulk-payouts/{id}/approve': 'a passkey or a code confirms what is shown now',
  },
  before: {
    '/console/payouts/new/send': '/console/payouts/new/preview',
    '/console/payees/new': '/console/payees/new/check',
    '/console/payees/new/save': '/console/payees/new/check',
    '/console/checkout/{id}/refund/send': '/console/checkout/{id}/refund',
  },
})

/** Forms that a session that has rested may send, because they only end access. */
const alsoRested: readonly string[] = ['/console/sessions/end', '/console/sessions/end-others']

/**
 * Lists the routes for people who are signed in. Someone else may be using a session that has rested, so that every
 * form asks for a sign-in then, and not only the pages with money.
 */
function personRoutes(frame: Frame): readonly PublicRoute[] {
  const isOpen = ({ method, path }: PublicRoute) => method === 'GET' || alsoRested.includes(path)
  return [
    ...routesOf(frame).filter((route) => isOpen(route)),
    ...routesOf({ ...frame, withPerson: frame.withMoney }).filter((route) => !isOpen(route)),
  ]
}

const routesOf: Routes = (frame) => [
  ...homeRoutes(frame),
  ...inboxRoutes(frame),
  ...transactionRoutes(frame),
  ...payoutListRoutes(frame),
  ...payoutRoutes(frame),
  ...newPayoutRoutes(frame),
  ...bulkRoutes(frame),
  ...orderRoutes(frame),
  ...payeeRoutes(frame),
  ...customerRoutes(frame),
  ...appearanceRoutes(frame),
  ...checkoutRoutes(frame),
  ...exchangeRoutes(frame),
  ...walletRoutes(frame),
  ...reportRoutes(frame),
  ...eventRoutes(frame),
  ...webhookRoutes(frame),
  ...guestRoutes(frame),
  ...requestLogRoutes(frame),
  ...teamRoutes(frame),
  ...ssoRoutes(frame),
  ...serviceAccountRoutes(frame),
  ...auditRoutes(frame),
  ...accountRoutes(frame),
  ...approvalRoutes(frame),
  ...findRoutes(frame),
  ...savedViewRoutes(frame),
  ...sessionRoutes(frame),
  ...(frame.sandbox ? [designRoute(frame), ...simulationRoutes(frame)] : []),
]

const assetRoute = (assets: Assets, frame: Frame): PublicRoute => ({
  method: 'GET',
  path: '/console/assets/{name}',
  handle: (request): PublicAnswer => {
    const found = assets.find(request.params['name'] ?? '', encodingFor(request.headers['accept-encoding']))
    if (found !== undefined) return found
    const view = createView(frame, request)
    return page(request, 404, consoleMessagePage(view, view.t.notFound, view.t.notFoundText))
  },
})

const designRoute = (frame: Frame): PublicRoute => ({
  method: 'GET',
  path: '/console/design',
  handle: (request) => page(request, 200, designPage(createView(frame, request))),
})
