/** Parts that the routes of the team's pages share: the view of a request, the person who is signed in, fields of forms, answers. */
import type { FieldError, ProblemCode } from '@partner-payments/wire'
import {
  deviceCookie,
  type Download,
  encodingFor,
  notFound,
  type Operate,
  partnerCookie,
  type PublicAnswer,
  type PublicRequest,
  type PublicRoute,
  readCookie,
  Refusal,
  sessionCookie,
} from '../../kernel/api/index.ts'
import type { Brand } from '../../branding/index.ts'
import { type Clock, type Log, randomBytes } from '../../kernel/index.ts'
import type { Accounts } from '../../accounts/index.ts'
import type { BulkPayouts } from '../../payouts/bulk/index.ts'
import type { Factors, FirstAdmin, GuestLinks, Members, SavedViews, Signed } from '../../people/users/index.ts'
import type { Payouts } from '../../payouts/index.ts'
import type { Client, Confirmations, SignIn } from '../../people/sign-in/index.ts'
import { compressed, pageHeaders } from '../answer.ts'
import type { Assets } from '../assets.ts'
import { fill } from '../language.ts'
import { passwordCharsMin } from './password-fields.ts'
import { consoleLanguageOf, consoleTexts } from './language.ts'
import { filtersOf, savedIn, savedPages } from './saved-views.ts'
import { placesOf } from './places.ts'
import { guestTexts } from './texts/guests.ts'
import { consoleMessage } from './message-page.ts'
import { html } from '../html.ts'
import type { Texts } from './texts/en.ts'
import { supportTexts } from './texts/support.ts'
import type { ConsoleView } from './view.ts'

export type ConsoleDeps = {
  readonly members: Members
  readonly guests: Pick<GuestLinks, 'shown' | 'open' | 'guest' | 'leave'>
  readonly savedViews: SavedViews
  readonly firstAdmin: Pick<FirstAdmin, 'partnerOf' | 'invitationOf'>
  readonly signIn: Pick<SignIn, 'passkeyOptions' | 'sessions' | 'end' | 'endOthers' | 'rotate'> & Confirmations
  readonly approvals: Pick<Payouts, 'snapshot' | 'waitingApprovals'> & {
    readonly snapshotOfBulk: BulkPayouts['snapshot']
  }
  readonly accounts: Pick<Accounts, 'dailyBalances'>
  readonly factors: Factors
  readonly operate: Operate
  readonly download: Download
  readonly clock: Clock
  readonly log: Log
  readonly sandbox: boolean
  /** The brand of the installation. */
  readonly brand: Brand
}

/** The parts, and the names of the files of the pages. */
export type Frame = Omit<ConsoleDeps, 'brand'> & Pick<Assets, 'css' | 'js' | 'brand'>

/** `/console/home` is one level below the root of the pages. */
const rootOf = (path: string): string => '../'.repeat(Math.max(0, path.split('/').length - 3))

export function viewOf({ sandbox, css, js, brand }: Frame, { path, headers }: PublicRequest): ConsoleView {
  const language = consoleLanguageOf(null, headers['accept-language'])
  return { language, t: consoleTexts[language], sandbox, root: rootOf(path), css, js, brand }
}

export type Person = Signed & { readonly view: ConsoleView }
/** A person, or a guest of the webhook pages. */
export type Visitor = Pick<Person, 'caller' | 'view'>

/** Answers with the page of a person. Without a session it leads to the sign-in and back. */
export type With<P extends Visitor> = (
  request: PublicRequest,
  answer: (person: P) => PublicAnswer | Promise<PublicAnswer>,
) => Promise<PublicAnswer>
export type WithPerson = With<Person>

/** `money`: a session that has rested is refused too. */
export function createPerson(frame: Frame, shows: 'money' | 'settings'): WithPerson {
  return async (request, answer) => {
    const token = readCookie(request.headers['cookie'], sessionCookie)
    const signed = token === undefined ? undefined : await frame.members.signedIn(token)
    if (signed === undefined && token !== undefined && (await frame.guests.guest(token)) !== undefined)
      return notForGuests(frame, request)
    if (signed === undefined || (shows === 'money' && signed.session.rested)) return toSignIn(request)
    const { user, partnerName, support } = signed
    const bare = viewOf(frame, request)
    const s = supportTexts[bare.language]
    const roleName = support === undefined ? user.role : html`${s.role}`
    const person = { fullName: user.fullName, email: user.email, roleName, partnerName }
    const places = placesOf(bare.t, signed.caller.permissions, frame.sandbox)
    const saved = support === undefined ? await savedOf(frame, request, signed, bare) : undefined
    const view = { ...bare, person, hasSearch: true, places, ...(saved && { saved }), ...(support && { support }) }
    return answer({ ...signed, view })
  }
}

/** The saved views of a list, if the request is for one. */
async function savedOf({ savedViews }: Frame, { path, query }: PublicRequest, signed: Signed, view: ConsoleView) {
  const list = savedPages.find((each) => path === `/console/${each}`)
  if (list === undefined) return undefined
  return savedIn(view, { page: list, query: filtersOf(query), views: await savedViews.of(signed, list) })
}

/** Answers guests as well, with the pages that the team has for them. */
export function createVisitor(frame: Frame, withPerson: WithPerson): With<Visitor> {
  return async (request, answer) => {
    const token = readCookie(request.headers['cookie'], sessionCookie)
    const guest = token === undefined ? undefined : await frame.guests.guest(token)
    if (guest === undefined) return withPerson(request, answer)
    const { caller, link, partnerName } = guest
    const view = viewOf(frame, request)
    const { guest: role } = guestTexts[view.language]
    const person = { fullName: link.fullName, email: link.email, roleName: html`${role}`, partnerName }
    const places = placesOf(view.t, caller.permissions, frame.sandbox).filter(({ isForGuests }) => isForGuests)
    return answer({ caller, view: { ...view, person, places } })
  }
}

function notForGuests(frame: Frame, request: PublicRequest): PublicAnswer {
  const view = viewOf(frame, request)
  const g = guestTexts[view.language]
  const action = { href: `${view.root}webhooks`, label: g.toWebhooks }
  return page(request, 403, consoleMessage(view, g.only, g.onlyText, action))
}

function toSignIn(request: PublicRequest): PublicAnswer {
  const asked = request.path.slice('/console/'.length) + (request.query === '' ? '' : `?${request.query}`)
  // A form has fields, and its path shows no page.
  return signInAgain(request, request.body.length === 0 ? asked : undefined)
}

/** Leads to the sign-in, and from there to a page. */
export function signInAgain(request: PublicRequest, asked: string | undefined): PublicAnswer {
  const next = nextOf(asked)
  const partner = readCookie(request.headers['cookie'], partnerCookie)
  const query = new URLSearchParams({ ...(partner === undefined ? {} : { partner }), next })
  return seeOther(`${rootOf(request.path)}sign-in?${query.toString()}`)
}

const nextCharsMax = 1000
/** Path and query of a page of ours, below the root. It cannot begin with a slash, nor name a host or a scheme. */
const nextForm = /^(?!.*%2e)[a-z][a-z0-9-]*(?:\/(?!\.{1,2}(?:[/?]|$))[\w.%~-]+)*(?:\?[\w&=%.+*~-]*)?$/i

/** The page after the sign-in: one of ours. */
export const nextOf = (text: string | undefined): string =>
  text !== undefined && text.length <= nextCharsMax && nextForm.test(text) ? text : 'home'

export const headersOf = {
  ...pageHeaders,
  'content-security-policy': `${pageHeaders['content-security-policy']}; require-trusted-types-for 'script'`,
}

export function page(
  { headers }: PublicRequest,
  status: number,
  body: string,
  ...cookies: readonly string[]
): PublicAnswer {
  const all = { ...headersOf, 'content-type': 'text/html; charset=utf-8' }
  return compressed({ status, headers: all, cookies, body }, encodingFor(headers['accept-encoding']), 'quick')
}

/** Redirects after a form: the browser asks for the page, so that a reload does not send the form again. */
export const seeOther = (location: string, ...cookies: readonly string[]): PublicAnswer => ({
  status: 303,
  headers: { ...headersOf, location },
  cookies,
  body: '',
})

const attributes = 'Path=/; Secure; HttpOnly; SameSite=Lax'
/** Ends with the browser at the latest; the service ends it earlier. */
export const sessionCookieOf = (token: string): string => `${sessionCookie}=${token}; ${attributes}`
export const noSessionCookie = `${sessionCookie}=; ${attributes}; Max-Age=0`
const yearSeconds = 31_536_000
export const partnerCookieOf = (partnerId: string): string =>
  `${partnerCookie}=${partnerId}; ${attributes}; Max-Age=${yearSeconds}`

export const clientOf = ({ ip, headers }: PublicRequest): Client => ({ ip, userAgent: headers['user-agent'] ?? '' })

const deviceBytes = 32
const deviceForm = /^[\w-]{43}$/
/** The client of a sign-in, with the value of its device: that of the cookie, or a new one. */
export function browserOf(request: PublicRequest): Client & { readonly device: string } {
  const given = readCookie(request.headers['cookie'], deviceCookie) ?? ''
  const device = deviceForm.test(given) ? given : Buffer.from(randomBytes(deviceBytes)).toString('base64url')
  return { ...clientOf(request), device }
}

export const deviceCookieOf = (device: string): string =>
  `${deviceCookie}=${device}; ${attributes}; Max-Age=${yearSeconds}`

/** The cookies of a browser that has signed in. Each sign-in renews the year of the device; signing out keeps it. */
export const signedInCookies = (token: string, { device }: { readonly device: string }): readonly string[] => [
  sessionCookieOf(token),
  deviceCookieOf(device),
]

/** The id in the path of a page. Refuses (404) what is no id. */
export function idOf({ params }: PublicRequest): string {
  const id = params['id'] ?? ''
  if (!uuid.test(id)) throw notFound('page')
  return id
}
export const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

export type Form = (name: string) => string

/** The fields of a form. A field that is absent is empty. */
export function readForm({ body }: PublicRequest): Form {
  const fields = new URLSearchParams(body.toString('utf8'))
  return (name) => fields.get(name) ?? ''
}

/** Returns the text of each field's refusal, by its name. `form`: a refusal of the form as a whole. */
export function errorsOf(t: Texts, error: unknown): Readonly<Record<string, string>> {
  if (!(error instanceof Refusal)) throw error
  const fields = error.errors.map((refused) => {
    const name = refused.pointer.split('/').at(-1) ?? ''
    return name in fieldTexts
      ? ([name, fieldTexts[name]?.(t, refused.code) ?? ''] as const)
      : (['form', refused.message] as const)
  })
  if (fields.length > 0) return Object.fromEntries(fields)
  return { form: formTexts[error.code]?.(t) ?? error.detail }
}

const fieldTexts: Readonly<Record<string, (t: Texts, code: FieldError['code']) => string>> = {
  password: (t, code) =>
    code === 'out_of_range' ? fill(t.passwordShort, { count: String(passwordCharsMin) }) : t.passwordCommon,
  code: (t) => t.codeWrong,
  email: (t, code) => (code === 'exists' ? t.invitationExists : t.emailWrong),
  fullName: (t) => t.fullNameWrong,
  role: (t) => t.roleWrong,
}
const formTexts: Readonly<Partial<Record<ProblemCode, (t: Texts) => string>>> = {
  last_admin: (t) => t.lastAdmin,
  resend_too_soon: (t) => t.tooSoon,
  rate_limited: (t) => t.tooManyText,
}

export type GuestPages = (frame: Frame, withVisitor: With<Visitor>) => readonly PublicRoute[]

/** `withMoney` is for pages that show money or customers: a person who was away for five minutes signs in again. */
export type Routes = (frame: Frame, withPerson: WithPerson, withMoney: WithPerson) => readonly PublicRoute[]
