/** The routes of the pages for payers. */
import {
  encodingFor,
  notFound,
  type PublicAnswer,
  type PublicRequest,
  type PublicRoute,
  type PublicSite,
} from '../kernel/api/index.ts'
import { linkTokenPartnerId } from '../access/index.ts'
import { accentCss, type Brand } from '../branding/index.ts'
import type { Clock } from '../kernel/index.ts'
import type { Checkout, PaymentPage } from '../checkout/index.ts'
import { receiptPdf } from '../typesetting/index.ts'
import { compressAnswer, pageHeaders, notFoundRoute } from './answer.ts'
import { type Assets, logoPolicy, readAssets } from './assets.ts'
import { bankPage, nameCharsMax } from './bank-page.ts'
import { chooseLanguage, texts } from './language.ts'
import { messagePage, type View } from './layout.ts'
import { paymentPage, type PaymentView, pageState } from './payment-page.ts'
import type { PageHosts } from './hosts.ts'
import { linkRoutes } from './link-routes.ts'
import { receiptDocument, receiptPage } from './receipt-page.ts'

export type SiteDeps = {
  readonly checkout: Pick<
    Checkout,
    | 'documentBrand'
    | 'payment'
    | 'receipt'
    | 'logo'
    | 'begin'
    | 'signIn'
    | 'decide'
    | 'link'
    | 'linkLogo'
    | 'openByLink'
  >
  readonly clock: Clock
  /** True: each page states that no real money moves. */
  readonly sandbox: boolean
  /** The brand of the installation. */
  readonly brand: Brand
  readonly hosts: PageHosts
}

export async function createCheckoutSite(deps: SiteDeps): Promise<PublicSite> {
  const assets = await readAssets(new URL('./browser/', import.meta.url), 'checkout', deps.brand)
  const viewOf = createViewOf(deps, assets)
  const { checkout, hosts } = deps
  const ofTokens = [
    ...linkRoutes({ checkout, viewOf, page, seeOther, readName }),
    ...paymentRoutes(deps, viewOf),
    ...purchaseRoutes(deps, viewOf),
    ...bankRoutes(deps, viewOf),
  ]
  return {
    routes: [
      assetRoute(assets, viewOf),
      ...ofTokens.map((route) => atOwnHost(route, hosts)),
      notFoundRoute('/checkout/*'),
    ],
    refused: (request, { status }) => page(request, status, failurePage(viewOf(request), status)),
  }
}

/** Shows a page at the host of its partner and at the address of the service. Other hosts answer 404. */
const atOwnHost = (route: PublicRoute, hosts: PageHosts): PublicRoute => ({
  ...route,
  handle: (request) => {
    const partnerId = linkTokenPartnerId(request.params['token'] ?? '')
    if (!hosts.shows(request.headers['host'], partnerId)) throw notFound('page')
    return route.handle(request)
  },
})

type ViewOf = (request: PublicRequest) => View

/** Returns the relative path to the root of the pages. `/checkout/{token}` is one level below it. */
const rootPath = (path: string): string => '../'.repeat(Math.max(0, path.split('/').length - 3))

const createViewOf =
  ({ sandbox }: SiteDeps, { css, js, brand }: Assets): ViewOf =>
  ({ path, query, headers }) => {
    const chosen = new URLSearchParams(query).get('lang')
    const language = chooseLanguage(chosen, headers['accept-language'])
    const kept = chosen === language ? `?lang=${language}` : ''
    return { language, t: texts[language], root: rootPath(path), query: kept, sandbox, css, js, brand }
  }

function failurePage(view: View, status: number): string {
  const { t } = view
  if (status === 404) return messagePage(view, t.notFound, t.notFoundText)
  return status === 429 ? messagePage(view, t.tooMany, t.tooManyText) : messagePage(view, t.broken, t.brokenText)
}

const page = ({ headers }: PublicRequest, status: number, body: string): PublicAnswer => {
  const all = { ...pageHeaders, 'content-type': 'text/html; charset=utf-8' }
  return compressAnswer({ status, headers: all, body }, encodingFor(headers['accept-encoding']), 'quick')
}

/** Redirects to a page after a form, so that a reload does not send the form again. */
const seeOther = (location: string): PublicAnswer => ({
  status: 303,
  headers: { ...pageHeaders, location },
  body: '',
})

const assetRoute = (assets: Assets, viewOf: ViewOf): PublicRoute => ({
  method: 'GET',
  path: '/checkout/assets/{name}',
  handle: (request) =>
    assets.find(request.params['name'] ?? '', encodingFor(request.headers['accept-encoding'])) ??
    page(request, 404, failurePage(viewOf(request), 404)),
})

function createShow({ checkout, clock }: SiteDeps) {
  return async (request: PublicRequest): Promise<PaymentView> => {
    const token = request.params['token'] ?? ''
    return { payment: await checkout.payment(token), token, now: clock.now() }
  }
}

function paymentRoutes(deps: SiteDeps, viewOf: ViewOf): readonly PublicRoute[] {
  const show = createShow(deps)
  return [
    {
      method: 'GET',
      path: '/checkout/{token}',
      handle: async (request) => page(request, 200, paymentPage(viewOf(request), await show(request))),
    },
    {
      method: 'GET',
      path: '/checkout/{token}/status',
      handle: async (request) => status(request, (await show(request)).payment),
    },
    {
      method: 'POST',
      path: '/checkout/{token}/pay',
      handle: async (request) => {
        const { query } = viewOf(request)
        const chosen = new URLSearchParams(request.body.toString('utf8')).get('country') ?? undefined
        const token = request.params['token'] ?? ''
        const begun = await deps.checkout.begin(token, request.ip, chosen)
        return seeOther(begun ? `bank${query}` : `../${token}${query}`)
      },
    },
  ]
}

/** Creates the routes of the receipt, and of the colours and logo of the partner. */
function purchaseRoutes({ checkout }: SiteDeps, viewOf: ViewOf): readonly PublicRoute[] {
  const tokenOf = ({ params }: PublicRequest): string => params['token'] ?? ''
  return [
    {
      method: 'GET',
      path: '/checkout/{token}/receipt',
      handle: async (request) => {
        const token = tokenOf(request)
        return page(request, 200, receiptPage(viewOf(request), { ...(await checkout.receipt(token)), token }))
      },
    },
    {
      method: 'GET',
      path: '/checkout/{token}/receipt.pdf',
      handle: async (request) => {
        const receipt = await checkout.receipt(tokenOf(request))
        const brand = await checkout.documentBrand(receipt.payment.key.partnerId)
        const parts = await Array.fromAsync(receiptPdf(receiptDocument(viewOf(request), receipt, brand)))
        const disposition = `attachment; filename="receipt-${receipt.payment.creditorReference}.pdf"`
        const headers = { ...pageHeaders, 'content-type': 'application/pdf', 'content-disposition': disposition }
        return { status: 200, headers, body: Buffer.concat(parts) }
      },
    },
    {
      method: 'GET',
      path: '/checkout/{token}/accent.css',
      handle: async (request) => {
        const { branding } = await checkout.payment(tokenOf(request))
        const accent = { light: branding?.colour ?? undefined, dark: branding?.colourDark ?? undefined }
        return {
          status: 200,
          headers: { ...pageHeaders, 'content-type': 'text/css; charset=utf-8' },
          body: accentCss(accent),
        }
      },
    },
    {
      method: 'GET',
      path: '/checkout/{token}/logo',
      handle: async (request) => {
        const { bytes, type } = await checkout.logo(tokenOf(request))
        return { status: 200, headers: { ...pageHeaders, ...logoPolicy, 'content-type': type }, body: bytes }
      },
    },
  ]
}

/** Answers the script of an open page, without a body while nothing has changed. */
function status({ headers }: PublicRequest, payment: PaymentPage): PublicAnswer {
  const etag = `"${pageState(payment)}"`
  const all = { ...pageHeaders, 'content-type': 'application/json; charset=utf-8', etag }
  if (headers['if-none-match'] === etag) return { status: 304, headers: all, body: '' }
  return { status: 200, headers: all, body: JSON.stringify({ status: payment.status, state: pageState(payment) }) }
}

/** Reports whether the payer is at the sandbox bank: between the start there and the decision. */
const isAtBank = ({ bankCountries, mayPay, visit }: PaymentPage): boolean =>
  bankCountries.length > 0 && mayPay && visit !== undefined

function bankRoutes(deps: SiteDeps, viewOf: ViewOf): readonly PublicRoute[] {
  const { checkout } = deps
  const show = createShow(deps)
  const back = (request: PublicRequest, steps: string) =>
    seeOther(`${steps}${request.params['token'] ?? ''}${viewOf(request).query}`)
  const decide = (word: 'approve' | 'reject', decision: 'approved' | 'rejected'): PublicRoute => ({
    method: 'POST',
    path: `/checkout/{token}/bank/${word}`,
    handle: async (request) => {
      await checkout.decide(request.params['token'] ?? '', decision)
      return back(request, '../../')
    },
  })
  return [
    {
      method: 'GET',
      path: '/checkout/{token}/bank',
      handle: async (request) => {
        const shown = await show(request)
        if (!isAtBank(shown.payment)) return back(request, '../')
        const isWrong = new URLSearchParams(request.query).get('name') === 'wrong'
        return page(request, isWrong ? 400 : 200, bankPage(viewOf(request), shown, isWrong))
      },
    },
    {
      method: 'POST',
      path: '/checkout/{token}/bank/sign-in',
      handle: async (request) => {
        const shown = await show(request)
        if (!isAtBank(shown.payment)) return back(request, '../../')
        const name = readName(request.body)
        const view = viewOf(request)
        if (name === undefined) return seeOther(`../bank${view.query === '' ? '?' : `${view.query}&`}name=wrong`)
        await checkout.signIn(shown.token, name)
        return seeOther(`../bank${view.query}`)
      },
    },
    decide('approve', 'approved'),
    decide('reject', 'rejected'),
  ]
}

/** Reads a name of one line. Undefined: the form has no valid name. */
function readName(body: Buffer): string | undefined {
  const name = new URLSearchParams(body.toString('utf8')).get('name')?.replaceAll(/\s+/gu, ' ').trim() ?? ''
  return name === '' || Array.from(name).length > nameCharsMax || /\p{Cc}/u.test(name) ? undefined : name
}
