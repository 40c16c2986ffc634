/**
 * Signing in: with a passkey, a password or a provider, and the sessions in which staff view the console of the
 * partner.
 */
import { uuidPattern } from '../../kernel/index.ts'
import { emailCharsMax } from '@partner-payments/wire'
import {
  partnerCookie,
  type PublicAnswer,
  type PublicRequest,
  type PublicRoute,
  readCookie,
  sessionCookie,
} from '../../kernel/api/index.ts'
import type { SignInResult } from '../../people/users/index.ts'
import { type Client, SignOnFailed } from '../../people/sign-in/index.ts'
import { html, type Html } from '../html.ts'
import { emptyForm, hiddenField, input, inputs } from '../kit/forms.ts'
import { consoleMessagePage, type ConsoleView, shell } from '../kit/frame.ts'
import { message, time } from '../kit/parts.ts'
import {
  readBrowser,
  readClient,
  type FieldReader,
  consoleHeaders,
  safeNextPath,
  page,
  passwordCharsMax,
  readForm,
  seeOther,
} from '../kit/request.ts'
import { fill } from '../language.ts'
import {
  type Frame,
  clearedSessionCookie,
  partnerCookieFor,
  sessionCookieFor,
  signedInCookies,
  createView,
} from './request.ts'
import { texts } from './texts/index.ts'

type PasskeyForm = {
  readonly action: string
  readonly kind: 'create' | 'get'
  /** Options for `navigator.credentials`, as JSON. */
  readonly options: string
  readonly label: string
  readonly title: string
  readonly text: string
  readonly fields: readonly (readonly [name: string, value: string])[]
}

export function passkeyForm({ t }: ConsoleView, form: PasskeyForm): Html {
  return html`<section class="way" data-passkey hidden aria-labelledby="passkey-title">
    <h2 id="passkey-title">${form.title}</h2>
    <p>${form.text}</p>
    <form
      method="post"
      action="${form.action}"
      data-kind="${form.kind}"
      data-options="${form.options}"
      data-cancelled="${t.passkeyCancelled}"
      data-exists="${t.passkeyExists}"
      data-failed="${t.passkeyFailed}"
    >
      ${form.fields.map(([name, value]) => hiddenField(name, value))} ${hiddenField('credential', '')}
      <p class="error" role="alert"></p>
      <button type="submit" class="primary">
        <svg viewBox="0 0 20 20" aria-hidden="true" focusable="false">
          <path d="M12.5 2.5a5 5 0 0 0-4.7 6.7L2.5 14.5v3h3v-2h2v-2h2l1.3-1.3a5 5 0 1 0 1.7-9.7zM13.5 6.5h.01" />
        </svg>
        ${form.label}
      </button>
    </form>
  </section>`
}

/** The sealed cookie of a sign-in at a provider that is in progress. `Lax`, because the provider redirects back. */
const attemptCookie = '__Host-sso'

const attemptSeconds = 600

const attributes = `Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=${attemptSeconds}`

export const readAttempt = ({ headers }: PublicRequest): string => readCookie(headers['cookie'], attemptCookie) ?? ''

type SignInAttempt = { readonly url: string; readonly attempt: string }

const attemptCookieFor = ({ attempt }: SignInAttempt): string => `${attemptCookie}=${attempt}; ${attributes}`

/** Redirects to the provider. */
export const redirectToProvider = (begun: SignInAttempt): PublicAnswer => ({
  status: 303,
  headers: { ...consoleHeaders, location: begun.url },
  cookies: [attemptCookieFor(begun)],
  body: '',
})

/**
 * Redirects to the provider through a page, because the content security policy (`form-action`) does not allow a form
 * to redirect to another site.
 */
export const redirectToProviderByPage = (
  request: PublicRequest,
  view: ConsoleView,
  begun: SignInAttempt,
): PublicAnswer => redirectByPage(request, view, begun.url, attemptCookieFor(begun))

/**
 * Redirects through a page, so that the browser sends `SameSite=Strict` cookies with the next request.
 */
export function redirectByPage(
  request: PublicRequest,
  view: ConsoleView,
  href: string,
  ...cookies: readonly string[]
): PublicAnswer {
  const s = texts[view.language].signOn
  const body = consoleMessagePage(view, s.leads, s.leadsText, { href, label: s.leadsOn })
  const answer = page(request, 200, body, ...cookies)
  return { ...answer, headers: { ...answer.headers, refresh: `0; url=${href}` } }
}

/** Responds with the reason why a sign-in at the provider failed. Throws other errors. */
export function signOnFailedPage(request: PublicRequest, view: ConsoleView, error: unknown): PublicAnswer {
  if (!(error instanceof SignOnFailed)) throw error
  const s = texts[view.language].signOn
  const action = { href: `${view.root}sign-in`, label: s.again }
  const status = error.reason === 'unreachable' ? 503 : 403
  return page(request, status, consoleMessagePage(view, s.failed, s.failures[error.reason], action))
}

/** Returns the text for a person who must sign in at the provider. Undefined: another error. */
export const signOnError = ({ language }: ConsoleView, error: unknown): { readonly form: string } | undefined =>
  error instanceof SignOnFailed ? { form: texts[language].signOn.failures[error.reason] } : undefined

/** Renders the link to sign in or join through the provider. */
export const signOnLink = (
  view: ConsoleView,
  { href, label }: { readonly href: string; readonly label: 'signIn' | 'join' },
): Html => {
  const s = texts[view.language].signOn
  return html`<section class="way" aria-labelledby="sso-title">
    <h2 id="sso-title">${s.title}</h2>
    <p>${s.text}</p>
    <p class="buttons"><a class="button" href="${href}">${s[label]}</a></p>
  </section>`
}

/** Renders whether an account is connected with the provider, and the form that connects it. */
export function connectionPart(
  view: ConsoleView,
  { since, action }: { readonly since: Date | null; readonly action: string },
): Html {
  const s = texts[view.language].signOn
  const [before = '', after = ''] = fill(s.connected, {}).split('{time}')
  return html`<section aria-labelledby="sso-title">
    <h2 id="sso-title">${s.title}</h2>
    ${since === null ? html`<p>${s.connectText}</p>` : html`<p>${before}${time(view, since)}${after}</p>`}
    <form method="post" action="${action}"><button type="submit">${s.connect}</button></form>
  </section>`
}

type SignIn = {
  /** Absent on the page of the operator's staff. */
  readonly partner?: string
  readonly partnerName?: string
  /** PublicKeyCredentialRequestOptionsJSON. */
  readonly passkeyOptions: string
  readonly email?: string
  /**
   * The same text for every failure, so that it does not reveal which factor was wrong or whether the address exists.
   */
  readonly error?: string
  /** True if people sign in at the provider of the organisation. */
  readonly sso?: boolean
  /** The page to open after the sign-in. */
  readonly next?: string
}

export function signInPage(view: ConsoleView, given: SignIn): string {
  const { t, root } = view
  const { partner, partnerName, error, next } = given
  const kept = [
    ...(partner === undefined ? [] : [['partner', partner] as const]),
    ...(next === undefined ? [] : [['next', next] as const]),
  ]
  const title = partnerName === undefined ? t.signIn : fill(t.signInTo, { partner: partnerName })
  return shell(view, {
    title,
    problems: { form: error },
    card: true,
    main: html`<h1>${title}</h1>
      ${next?.startsWith('kept/') === true && message('warning', t.keptForm.waits)}
      ${passkeyForm(view, {
        action: `${root}sign-in/passkey`,
        kind: 'get',
        options: given.passkeyOptions,
        label: t.usePasskey,
        title: t.signInPasskey,
        text: t.signInPasskeyText,
        fields: kept,
      })}
      ${given.sso === true && signOnLink(view, { href: `${root}sign-in/sso${keptQuery(kept)}`, label: 'signIn' })}
      ${passwordWay(view, given, kept)}
      ${partner !== undefined && html`<p class="foot"><a href="${root}sign-in">${t.otherPartner}</a></p>`}`,
  })
}

const keptQuery = (kept: readonly (readonly [string, string])[]): string =>
  kept.length === 0 ? '' : `?${new URLSearchParams(kept.map(([name, value]) => [name, value])).toString()}`

/** Maximum length of a recovery code, which can be entered instead of a code. */
const recoveryCodeCharsMax = 64

function passwordWay(view: ConsoleView, { email }: SignIn, kept: readonly (readonly [string, string])[]): Html {
  const { t, root } = view
  return html`<section class="way" aria-labelledby="password-title">
    <h2 id="password-title">${t.signInPassword}</h2>
    <form method="post" action="${root}sign-in/password">
      ${kept.map(([name, value]) => hiddenField(name, value))}
      ${inputs(view, emptyForm, [
        {
          name: 'email',
          type: 'email',
          label: t.email,
          value: email,
          autocomplete: 'username',
          charsMax: emailCharsMax,
        },
        {
          name: 'password',
          type: 'password',
          label: t.password,
          autocomplete: 'current-password',
          charsMax: passwordCharsMax,
        },
        {
          name: 'code',
          label: t.code,
          help: t.codeOrRecovery,
          autocomplete: 'one-time-code',
          charsMax: recoveryCodeCharsMax,
          more: html`class="code" autocapitalize="none" spellcheck="false"`,
        },
      ])}
      <button type="submit">${t.signIn}</button>
    </form>
    <details class="help-more">
      <summary>${t.lostFactor}</summary>
      <p>${t.lostFactorText}</p>
    </details>
  </section>`
}

/** Renders the same page for every address, so that it does not reveal who has an account. */
export function findPartnerPage(view: ConsoleView, { sent = false }: { readonly sent?: boolean }): string {
  const { t, root } = view
  return shell(view, {
    title: t.signIn,
    card: true,
    main: html`${sent && message('good', t.findSent)}
      <h1>${t.signIn}</h1>
      <p class="lead">${t.findText}</p>
      <form method="post" action="${root}sign-in/find">
        ${input(view, emptyForm, {
          name: 'email',
          type: 'email',
          label: t.email,
          autocomplete: 'email',
          charsMax: emailCharsMax,
        })}
        <button type="submit" class="primary">${t.findSend}</button>
      </form>`,
  })
}

type SignInRequest = {
  readonly partner: string
  readonly next: string
  readonly email?: string
  readonly error?: string
}

export function signInRoutes(frame: Frame): readonly PublicRoute[] {
  const ask = async (request: PublicRequest, { partner, ...asked }: SignInRequest): Promise<PublicAnswer> => {
    const view = createView(frame, request)
    const passkeyOptions = await frame.signIn.passkeyOptions(partner)
    const sso = await frame.members.singleSignOn.isOn(partner)
    const body = signInPage(view, { ...asked, partner, passkeyOptions, sso })
    return page(request, asked.error === undefined ? 200 : 400, body, partnerCookieFor(partner))
  }
  const signIn = (
    way: 'passkey' | 'password',
    verify: (partner: string, form: FieldReader, browser: Client) => Promise<SignInResult | undefined>,
  ): PublicRoute => ({
    method: 'POST',
    path: `/console/sign-in/${way}`,
    handle: async (request) => {
      const form = readForm(request)
      const partner = form('partner')
      const view = createView(frame, request)
      const browser = readBrowser(request)
      const signed = uuidPattern.test(partner)
        ? await verify(partner, form, browser).catch((error: unknown) => {
            const refused = signOnError(view, error)
            if (refused === undefined) throw error
            return refused
          })
        : undefined
      if (!uuidPattern.test(partner)) return seeOther('../sign-in')
      const next = safeNextPath(form('next'))
      if (signed !== undefined && 'token' in signed)
        return seeOther(`../${next}`, ...signedInCookies(signed.token, browser))
      return ask(request, { partner, next, email: form('email'), error: signed?.form ?? view.t.signInRefused })
    },
  })
  return [
    {
      method: 'GET',
      path: '/console/sign-in',
      handle: (request) => {
        const query = new URLSearchParams(request.query)
        const partner = query.get('partner') ?? readCookie(request.headers['cookie'], partnerCookie) ?? ''
        if (!uuidPattern.test(partner)) return page(request, 200, findPartnerPage(createView(frame, request), {}))
        return ask(request, { partner, next: safeNextPath(query.get('next') ?? undefined) })
      },
    },
    {
      method: 'POST',
      path: '/console/sign-in/find',
      handle: (request) => {
        // Not awaited, because the response time would reveal whether the address is known.
        frame.members
          .mailSignInLinks(readForm(request)('email'))
          .catch((err: unknown) => frame.log.warn({ err }, 'sign-in links could not be mailed'))
        return page(request, 200, findPartnerPage(createView(frame, request), { sent: true }))
      },
    },
    signIn('passkey', (partner, form, browser) => frame.members.signInByPasskey(partner, form('credential'), browser)),
    signIn('password', (partner, form, browser) => {
      const given = { email: form('email'), password: form('password'), code: form('code') }
      return frame.members.signInByPassword(partner, given, browser)
    }),
    signOutRoute(frame),
  ]
}

const signOutRoute = (frame: Frame): PublicRoute => ({
  method: 'POST',
  path: '/console/sign-out',
  handle: async (request) => {
    const token = readCookie(request.headers['cookie'], sessionCookie)
    const signed = token === undefined ? undefined : await frame.members.signedIn(token)
    if (signed?.support) await frame.members.endSupport(signed.support, readClient(request))
    else if (signed) await frame.signIn.end(signed.session.partnerId, signed.user.id, signed.session.id)
    const guest = token === undefined || signed ? undefined : await frame.guestLinks.guest(token)
    if (guest) await frame.guestLinks.leave(guest, request.ip)
    return seeOther('sign-in', clearedSessionCookie)
  },
})

export function enterSupportPage(view: ConsoleView, code: string): string {
  const s = texts[view.language].support
  return shell(view, {
    title: s.title,
    card: true,
    main: html`<h1>${s.title}</h1>
      <p class="lead">${s.text}</p>
      <form method="post" action="${view.root}support">
        ${hiddenField('code', code)}
        <button type="submit" class="primary">${s.open}</button>
      </form>`,
  })
}

/**
 * Refuses every form in a support session. API operations refuse writes themselves, but the forms for factors, sessions
 * and recoveries call no operation.
 */
export const refuseInSupportSession = (frame: Frame, routes: readonly PublicRoute[]): readonly PublicRoute[] =>
  routes.map((route) =>
    route.method === 'GET'
      ? route
      : {
          ...route,
          handle: async (request) => {
            const token = readCookie(request.headers['cookie'], sessionCookie)
            if (token === undefined || !(await frame.members.isSupport(token))) return route.handle(request)
            const view = createView(frame, request)
            const s = texts[view.language].support
            const action = { href: `${view.root}home`, label: s.back }
            return page(request, 403, consoleMessagePage(view, s.readOnly, s.readOnlyText, action))
          },
        },
  )

export const supportRoutes = (frame: Frame): readonly PublicRoute[] => [
  {
    method: 'GET',
    path: '/console/support',
    handle: (request) => {
      const code = new URLSearchParams(request.query).get('code') ?? ''
      return page(request, 200, enterSupportPage(createView(frame, request), code))
    },
  },
  {
    method: 'POST',
    path: '/console/support',
    handle: async (request) => {
      const token = await frame.members.openSupport(readForm(request)('code'), readClient(request))
      return seeOther('home', sessionCookieFor(token))
    },
  },
]
