/** Parts of pages about single sign-on, for teams and for staff: the way to the provider, and the way back. */
import { type PublicAnswer, type PublicRequest, readCookie } from '../../kernel/api/index.ts'
import { SignOnFailed } from '../../people/sign-in/index.ts'
import { fill } from '../language.ts'
import { html, type Html } from '../html.ts'
import { time } from './components.ts'
import { consoleMessage } from './message-page.ts'
import { headersOf, page } from './request.ts'
import { signOnTexts } from './texts/single-sign-on.ts'
import type { ConsoleView } from './view.ts'

/** The cookie of what a browser has begun at a provider, sealed. `Lax`: the provider leads back here. */
const attemptCookie = '__Host-sso'
const attemptSeconds = 600
const attributes = `Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=${attemptSeconds}`

export const attemptOf = ({ headers }: PublicRequest): string => readCookie(headers['cookie'], attemptCookie) ?? ''

type Begun = { readonly url: string; readonly attempt: string }
const cookieOf = ({ attempt }: Begun): string => `${attemptCookie}=${attempt}; ${attributes}`

/** Leads to the provider. */
export const toProvider = (begun: Begun): PublicAnswer => ({
  status: 303,
  headers: { ...headersOf, location: begun.url },
  cookies: [cookieOf(begun)],
  body: '',
})

/** Leads to the provider by a page of ours: the policy (`form-action`) lets no answer to a form redirect to another site. */
export const onToProvider = (request: PublicRequest, view: ConsoleView, begun: Begun): PublicAnswer =>
  leadsOn(request, view, begun.url, cookieOf(begun))

/**
 * Leads on by a page of ours, so that the browser sends cookies which are `SameSite=Strict` with what follows.
 */
export function leadsOn(
  request: PublicRequest,
  view: ConsoleView,
  href: string,
  ...cookies: readonly string[]
): PublicAnswer {
  const s = signOnTexts[view.language]
  const body = consoleMessage(view, s.leads, s.leadsText, { href, label: s.leadsOn })
  const answer = page(request, 200, body, ...cookies)
  return { ...answer, headers: { ...answer.headers, refresh: `0; url=${href}` } }
}

/** Answers with a page that says why a sign-in at the provider failed. Throws any other error. */
export function failedPage(request: PublicRequest, view: ConsoleView, error: unknown): PublicAnswer {
  if (!(error instanceof SignOnFailed)) throw error
  const s = signOnTexts[view.language]
  const action = { href: `${view.root}sign-in`, label: s.again }
  const status = error.reason === 'unreachable' ? 503 : 403
  return page(request, status, consoleMessage(view, s.failed, s.failures[error.reason], action))
}

/** The text of a form that is refused because its person has to come by the provider. Undefined: another error. */
export const signOnError = ({ language }: ConsoleView, error: unknown): { readonly form: string } | undefined =>
  error instanceof SignOnFailed ? { form: signOnTexts[language].failures[error.reason] } : undefined

/** The way to sign in or to join by the provider. */
export const signOnWay = (
  view: ConsoleView,
  { href, label }: { readonly href: string; readonly label: 'signIn' | 'join' },
): Html => {
  const s = signOnTexts[view.language]
  return html`<section class="way" aria-labelledby="sso-title">
    <h2 id="sso-title">${s.title}</h2>
    <p>${s.text}</p>
    <p class="buttons"><a class="button" href="${href}">${s[label]}</a></p>
  </section>`
}

/** Says whether an account is connected, and connects it. `action`: the target of the form. */
export function connection(
  view: ConsoleView,
  { since, action }: { readonly since: Date | null; readonly action: string },
): Html {
  const s = signOnTexts[view.language]
  const [before = '', after = ''] = fill(s.connected, {}).split('{time}')
  return html`<section aria-labelledby="sso-title">
    <h2 id="sso-title">${s.title}</h2>
    ${since === null ? html`<p>${s.connectText}</p>` : html`<p>${before}${time(view, since)}${after}</p>`}
    <form method="post" action="${action}"><button type="submit">${s.connect}</button></form>
  </section>`
}
