/** The site of the operator's desk: joining by a link, sign-in and sign-out, single sign-on, and the runbooks. */
import {
  encodingFor,
  notFound,
  type PublicAnswer,
  type PublicRequest,
  type PublicRoute,
  type PublicSite,
  readCookie,
  Refusal,
  staffCookie,
} from '../../kernel/api/index.ts'
import type { SignedInStaff } from '../../people/staff/index.ts'
import { type Client, type FactorInput, isRecentSignIn } from '../../people/sign-in/index.ts'
import { readAssets } from '../assets.ts'
import { joinPage, recoveryCodesPage } from '../console/join.ts'
import { consoleMessagePage, shell } from '../kit/frame.ts'
import { withKeptForms } from '../kit/kept-forms.ts'
import {
  readBrowser,
  deviceCookieFor,
  refusalTexts,
  type FieldReader,
  safeNextPath,
  page,
  readForm,
  seeOther,
} from '../kit/request.ts'
import {
  readAttempt,
  signOnFailedPage,
  redirectByPage,
  redirectToProviderByPage,
  signInPage,
  signOnError,
  redirectToProvider,
} from '../console/sign-in.ts'
import { texts as consoleTexts } from '../console/texts/index.ts'
import { html } from '../html.ts'
import { qrCode } from '../qr.ts'
import { actionRoutes, runbookActions } from './acts.ts'
import { caseRoutes } from './cases.ts'
import { commandRoutes } from './commands.ts'
import { connectorRoutes } from './connectors.ts'
import { countryRoutes } from './countries.ts'
import { deciderRoutes } from './deciders.ts'
import { fileRoutes } from './files.ts'
import { findRoutes } from './find.ts'
import { hitRoutes } from './hits.ts'
import { notificationRoutes } from './notifications.ts'
import { customerRoutes } from './customers.ts'
import { noteRoutes } from './notes.ts'
import { numberRoutes } from './numbers.ts'
import { partnerRoutes } from './partners.ts'
import { payeeRoutes } from './payees.ts'
import { paymentRoutes } from './payments.ts'
import { reviewRoutes } from './reviews.ts'
import { payoutRoutes } from './payouts.ts'
import { reconciliationRoutes } from './reconciliation.ts'
import {
  type DeskDeps,
  type DeskFrame,
  clearedStaffCookie,
  staffCookieOf,
  staffRoute,
  redirectToSignIn,
  viewOf,
  withStaff,
} from './request.ts'
import { ruleRoutes } from './rules.ts'
import { safeguardingRoutes } from './safeguarding.ts'
import { staffRoutes } from './staff.ts'
import { deskTexts } from './texts.ts'
import { waitingItemRoutes } from './things.ts'

export async function createDeskSite(deps: DeskDeps): Promise<PublicSite> {
  const assets = await readAssets(new URL('../browser/', import.meta.url), 'console', deps.brand)
  const frame: DeskFrame = { ...deps, css: assets.css, js: assets.js, brand: assets.brand }
  return {
    routes: [
      { method: 'GET', path: '/desk', handle: () => seeOther('desk/queue') },
      // The page of recovery codes links to the home page. At the desk this is the queue.
      { method: 'GET', path: '/desk/home', handle: () => seeOther('queue') },
      // The link in a mail. Its page redirects to the sign-in, which redirects back to it.
      {
        method: 'GET',
        path: '/desk/open',
        handle: (request) =>
          redirectByPage(
            request,
            viewOf(frame, request),
            safeNextPath(new URLSearchParams(request.query).get('to') ?? undefined),
          ),
      },
      {
        method: 'GET',
        path: '/desk/assets/{name}',
        handle: (request) => {
          const found = assets.find(request.params['name'] ?? '', encodingFor(request.headers['accept-encoding']))
          if (found === undefined) throw new Refusal('not_found')
          return found
        },
      },
      ...joinRoutes(frame),
      ...signInRoutes(frame),
      ...ssoRoutes(frame),
      ...withKeptForms(keptSite(frame)),
    ],
    refused: (request, { status }) => {
      const view = viewOf(frame, request)
      const { t } = view
      const [title, text] =
        status === 404
          ? request.path.startsWith('/desk/join')
            ? [t.linkInvalid, t.linkInvalidText]
            : [t.notFound, t.notFoundText]
          : status === 403
            ? [t.refused, deskTexts[view.language].queue.readOnly]
            : status === 429
              ? [t.tooMany, t.tooManyText]
              : [t.broken, t.brokenText]
      return page(request, status, consoleMessagePage(view, title, text))
    },
  }
}

/** Describes the pages whose forms are stored when a session ends. */
const keptSite = (frame: DeskFrame): Parameters<typeof withKeptForms>[0] => ({
  root: 'desk',
  routes: staffPages(frame),
  forms: frame.staff.forms,
  tokenOf: ({ headers }) => readCookie(headers['cookie'], staffCookie),
  viewOf: (request) => viewOf(frame, request),
  asPerson: (request, answer) =>
    withStaff(frame, request, 'queue', ({ view, signed }) =>
      signed.session.rested ? redirectToSignIn(view, request) : answer(view),
    ),
  notKept: { '/desk/device': 'it has no field but a code that a command shows' },
  before: {},
})

/** Routes that need a sign-in. */
const staffPages = (frame: DeskFrame): readonly PublicRoute[] => [
  ...actionRoutes(frame),
  ...caseRoutes(frame),
  ...waitingItemRoutes(frame),
  ...deciderRoutes(frame),
  ...connectorRoutes(frame),
  ...findRoutes(frame),
  ...payoutRoutes(frame),
  ...hitRoutes(frame),
  ...fileRoutes(frame),
  ...reconciliationRoutes(frame),
  ...safeguardingRoutes(frame),
  ...reviewRoutes(frame),
  ...customerRoutes(frame),
  ...payeeRoutes(frame),
  ...paymentRoutes(frame),
  ...noteRoutes(frame),
  ...numberRoutes(frame),
  ...ruleRoutes(frame),
  ...countryRoutes(frame),
  ...runbookRoutes(frame),
  ...partnerRoutes(frame),
  ...commandRoutes(frame),
  ...staffRoutes(frame),
  ...notificationRoutes(frame),
]

function joinRoutes(frame: DeskFrame): readonly PublicRoute[] {
  const { staff } = frame
  const show = async (request: PublicRequest, token: string, errors: Readonly<Record<string, string>> = {}) => {
    const view = viewOf(frame, request)
    const d = deskTexts[view.language].queue
    const { totpSecret, totpUri, role, ...shown } = await staff.openInvitation(token)
    const totp = { secret: totpSecret, qrSvg: qrCode(totpUri, view.t.qrLabel) }
    const names = { partnerName: d.desk, invitedByName: d.operator, roleName: html`${d[role]}` }
    const status = Object.keys(errors).length > 0 ? 400 : 200
    const sso = staff.singleSignOn.isOn
    return page(request, status, joinPage(view, { ...shown, ...names, token, totp, errors, sso }))
  }
  const choose = (way: 'passkey' | 'password', read: (form: FieldReader) => FactorInput): PublicRoute => ({
    method: 'POST',
    path: `/desk/join/${way}`,
    handle: async (request) => {
      const form = readForm(request)
      try {
        const browser = readBrowser(request)
        const { token, recoveryCodes: codes } = await staff.join(form('token'), read(form), browser)
        const cookies = [staffCookieOf(token), deviceCookieFor(browser.device)]
        if (codes.length === 0) return seeOther('../queue', ...cookies)
        return page(request, 200, recoveryCodesPage(viewOf(frame, request), { codes }), ...cookies)
      } catch (error) {
        if (error instanceof Refusal && error.code === 'not_found') throw error
        const view = viewOf(frame, request)
        return show(request, form('token'), signOnError(view, error) ?? refusalTexts(view.t, error))
      }
    },
  })
  return [
    {
      method: 'GET',
      path: '/desk/join',
      handle: (request) => show(request, new URLSearchParams(request.query).get('token') ?? ''),
    },
    choose('passkey', (form) => ({ kind: 'passkey', credential: form('credential') })),
    choose('password', (form) => ({ kind: 'password', password: form('password'), code: form('code') })),
  ]
}

function signInRoutes(frame: DeskFrame): readonly PublicRoute[] {
  const { staff } = frame
  const ask = async (
    request: PublicRequest,
    next: string,
    refused?: { readonly email: string; readonly error: string },
  ) => {
    const view = viewOf(frame, request)
    const passkeyOptions = await staff.passkeyOptions()
    const partnerName = deskTexts[view.language].queue.desk
    const shown = { passkeyOptions, partnerName, next, sso: staff.singleSignOn.isOn }
    return page(request, refused ? 400 : 200, signInPage(view, { ...shown, ...refused }))
  }
  const signIn = (
    way: 'passkey' | 'password',
    verify: (form: FieldReader, browser: Client) => Promise<string | undefined>,
  ): PublicRoute => ({
    method: 'POST',
    path: `/desk/sign-in/${way}`,
    handle: async (request) => {
      const form = readForm(request)
      const view = viewOf(frame, request)
      const next = safeNextPath(form('next'))
      try {
        const browser = readBrowser(request)
        const token = await verify(form, browser)
        if (token !== undefined) return seeOther(`../${next}`, staffCookieOf(token), deviceCookieFor(browser.device))
      } catch (error) {
        const said = signOnError(view, error)
        if (said === undefined) throw error
        return ask(request, next, { email: form('email'), error: said.form })
      }
      return ask(request, next, { email: form('email'), error: view.t.signInRefused })
    },
  })
  return [
    { method: 'GET', path: '/desk/sign-in', handle: (request) => ask(request, nextIn(request)) },
    signIn('passkey', (form, browser) => staff.signInByPasskey(form('credential'), browser)),
    signIn('password', (form, browser) => {
      const given = { email: form('email'), password: form('password'), code: form('code') }
      return staff.signInByPassword(given, browser)
    }),
    {
      method: 'POST',
      path: '/desk/sign-out',
      handle: async (request) => {
        const token = readCookie(request.headers['cookie'], staffCookie)
        const signed = token === undefined ? undefined : await staff.signedIn(token)
        if (signed) await staff.signOut(signed)
        return seeOther('sign-in', clearedStaffCookie)
      },
    },
  ]
}

/** Reads the page to open after the sign-in. */
const nextIn = ({ query }: PublicRequest): string => safeNextPath(new URLSearchParams(query).get('next') ?? undefined)

function ssoRoutes(frame: DeskFrame): readonly PublicRoute[] {
  const { staff, clock } = frame
  const { singleSignOn } = staff
  const tried = async (request: PublicRequest, work: () => Promise<PublicAnswer>): Promise<PublicAnswer> => {
    try {
      return await work()
    } catch (error) {
      return signOnFailedPage(request, viewOf(frame, request), error)
    }
  }
  return [
    {
      method: 'GET',
      path: '/desk/sign-in/sso',
      callsChosenHost: true,
      handle: (request) =>
        tried(request, async () =>
          redirectToProvider(await singleSignOn.begin({ kind: 'sign in', next: nextIn(request) })),
        ),
    },
    {
      method: 'GET',
      path: '/desk/join/sso',
      callsChosenHost: true,
      handle: (request) => {
        const token = new URLSearchParams(request.query).get('token') ?? ''
        return tried(request, async () => redirectToProvider(await singleSignOn.begin({ kind: 'join', token })))
      },
    },
    {
      ...staffRoute(frame, 'device', 'POST', '/sso/connect', (request, { signed, view }) => {
        if (!isRecentSignIn(signed.session.createdAt, clock.now())) return seeOther('../sign-in')
        const begin = () => singleSignOn.begin({ kind: 'connect', signed })
        return tried(request, async () => redirectToProviderByPage(request, view, await begin()))
      }),
      callsChosenHost: true,
    },
    {
      method: 'GET',
      path: '/desk/sso',
      handle: (request) => redirectByPage(request, viewOf(frame, request), `sso/finish?${request.query}`),
    },
    {
      method: 'GET',
      path: '/desk/sso/finish',
      callsChosenHost: true,
      handle: (request) =>
        tried(request, async () => {
          const given = { attempt: readAttempt(request), query: request.query, signed: await signedIn(frame, request) }
          const browser = readBrowser(request)
          const { kind, token, next } = await singleSignOn.finish(given, browser)
          if (token !== undefined)
            return seeOther(`../${safeNextPath(next)}`, staffCookieOf(token), deviceCookieFor(browser.device))
          const view = viewOf(frame, request)
          const s = consoleTexts[view.language].signOn
          return kind === 'connect'
            ? page(
                request,
                200,
                consoleMessagePage(view, s.connectedNow, s.text, { href: '../device', label: s.leadsOn }),
              )
            : seeOther('../sign-in')
        }),
    },
  ]
}

async function signedIn({ staff }: DeskFrame, { headers }: PublicRequest): Promise<SignedInStaff | undefined> {
  const token = readCookie(headers['cookie'], staffCookie)
  return token === undefined ? undefined : staff.signedIn(token)
}

const runbookRoutes = (frame: DeskFrame): readonly PublicRoute[] =>
  ['', 'alerts/'].map((folder) =>
    staffRoute(frame, 'queue', 'GET', `/runbooks/${folder}{name}`, async (request, person) => {
      const { view } = person
      const found = await frame.runbooks.find(`${folder}${request.params['name'] ?? ''}`)
      if (found === undefined) throw notFound('page')
      const acts = runbookActions(view, { ...frame, person }, found.commands)
      const main = html`${acts}
        <article class="document" lang="en">${found.body}</article>`
      return page(request, 200, shell(view, { title: found.title, wide: true, main }))
    }),
  )
