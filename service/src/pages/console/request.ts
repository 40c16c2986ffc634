/**
 * Code that the routes of the console share: the view of a request, the signed-in person, permissions, lists, refusals.
 */
import type { FieldError, Permission } from '@partner-payments/wire'
import {
  type Caller,
  type Download,
  type Operate,
  partnerCookie,
  type PublicAnswer,
  type PublicRequest,
  type PublicRoute,
  readCookie,
  Refusal,
  sessionCookie,
} from '../../kernel/api/index.ts'
import type { Audit } from '../../audit/index.ts'
import type { Brand } from '../../branding/index.ts'
import type { Inbox } from '../../inbox/index.ts'
import { amountMajorMax, type Clock, type Log } from '../../kernel/index.ts'
import type { Accounts } from '../../accounts/index.ts'
import type { Beneficiaries } from '../../parties/beneficiaries/index.ts'
import type { Customers } from '../../parties/customers/index.ts'
import type { BulkPayouts } from '../../payouts/bulk/index.ts'
import type { Payouts } from '../../payouts/index.ts'
import type {
  Factors,
  FirstAdmin,
  GuestLinks,
  Members,
  SavedViews,
  SignedInUser,
  Uploads,
} from '../../people/users/index.ts'
import type { Confirmations, SignIn } from '../../people/sign-in/index.ts'
import type { Assets } from '../assets.ts'
import { html } from '../html.ts'
import type { FieldProblems, FieldValues } from '../kit/forms.ts'
import { consoleMessagePage, type ConsoleView, homePath } from '../kit/frame.ts'
import { formatGrouped } from '../kit/parts.ts'
import { readPreferences } from '../kit/preferences.ts'
import {
  cookieAttributes,
  deviceCookieFor,
  isPollingRequest,
  consoleHeaders,
  safeNextPath,
  page,
  pageLinks,
  readQuery,
  seeOther,
  withTimes,
  withoutBackticks,
  yearSeconds,
} from '../kit/request.ts'
import { fill } from '../language.ts'
import { visiblePlaces } from './places.ts'
import { readFilters, savedViewParts, savedPages } from './saved-views.ts'
import { type ConsoleTexts, texts } from './texts/index.ts'

export type ConsoleDeps = {
  readonly members: Members
  readonly guestLinks: Pick<GuestLinks, 'shown' | 'open' | 'guest' | 'leave'>
  readonly savedViews: SavedViews
  readonly inbox: Omit<Inbox, 'spreadStep' | 'mailStep' | 'retain'>
  /**
   * Lists the accounts whose payouts count as created by a person: the person, and the service accounts that the person
   * created.
   */
  readonly access: { readonly madeBy: (caller: Caller) => Promise<readonly string[]> }
  readonly uploads: Uploads
  readonly customers: Pick<Customers, 'assess'>
  readonly beneficiaries: Pick<Beneficiaries, 'assess' | 'atAccounts' | 'byTexts'>
  readonly bulkPayouts: Pick<BulkPayouts, 'check' | 'idByKey' | 'names' | 'snapshot'>
  readonly firstAdmin: Pick<FirstAdmin, 'partnerOf' | 'invitationOf'>
  readonly signIn: Pick<SignIn, 'passkeyOptions' | 'sessions' | 'end' | 'endOthers' | 'rotate' | 'forms'> &
    Confirmations
  readonly accounts: Pick<Accounts, 'dailyBalances'>
  readonly payouts: Pick<Payouts, 'feesOf' | 'snapshot' | 'waitingApprovals'>
  readonly audit: Pick<Audit, 'makerOfThing' | 'lastOnThing'>
  readonly factors: Factors
  readonly operate: Operate
  readonly download: Download
  readonly clock: Clock
  readonly log: Log
  readonly sandbox: boolean
  /** The brand of the installation. */
  readonly brand: Brand
}

/** The dependencies of the pages, and the file names of their assets. */
type BareFrame = Omit<ConsoleDeps, 'brand'> & Pick<Assets, 'css' | 'js' | 'brand'>

/** `withMoney` is for pages with money or customers: after five idle minutes the person signs in again. */
export type Frame = BareFrame & { readonly withPerson: WithPerson; readonly withMoney: WithPerson }

/** Returns the relative path to the root of the pages. `/console/home` is one level below it. */
const rootPath = (path: string): string => '../'.repeat(Math.max(0, path.split('/').length - 3))

export function createView({ sandbox, css, js, brand }: BareFrame, request: PublicRequest): ConsoleView {
  const root = rootPath(request.path)
  return { ...readPreferences(request, root), sandbox, root, css, js, brand }
}

export type Person = SignedInUser & { readonly view: ConsoleView }

/** A member of the team, or a guest of the webhook pages. */
export type Visitor = Pick<Person, 'caller' | 'view'>

/** Responds to a signed-in person. Without a session, redirects to the sign-in, and from there back to the page. */
export type AnswerAs<P extends Visitor> = (
  request: PublicRequest,
  answer: (person: P) => PublicAnswer | Promise<PublicAnswer>,
) => Promise<PublicAnswer>

export type WithPerson = AnswerAs<Person>

/** `money`: for pages with money and for forms. A person whose session has rested must sign in again. */
export function createWithPerson(frame: BareFrame, shows: 'money' | 'settings'): WithPerson {
  return async (request, answer) => {
    const token = readCookie(request.headers['cookie'], sessionCookie)
    const by = isPollingRequest(request) ? 'page' : 'person'
    const signed = token === undefined ? undefined : await frame.members.signedIn(token, by)
    if (signed === undefined && token !== undefined && (await frame.guestLinks.guest(token)) !== undefined)
      return notForGuests(frame, request)
    if (signed === undefined || (shows === 'money' && signed.session.rested)) return leadToSignIn(request)
    const { user, partnerName, support } = signed
    const bare = createView(frame, request)
    const s = texts[bare.language].support
    const roleName = support === undefined ? user.role : html`${s.role}`
    const person = { fullName: user.fullName, email: user.email, roleName, partnerName }
    const { caller } = signed
    const key = { partnerId: caller.partnerId, personId: user.id }
    const unread = support === undefined ? await frame.inbox.unread(key, bare.language) : 0
    const places = visiblePlaces(bare.t, caller.permissions, frame.sandbox)
      .filter(({ isPersonal = false }) => support === undefined || !isPersonal)
      .map((place) => (place.name === 'inbox' && unread > 0 ? { ...place, count: unread } : place))
    const saved = support === undefined ? await readSavedViews(frame, request, signed, bare) : undefined
    const view = { ...bare, person, hasSearch: true, places, ...(saved && { saved }), ...(support && { support }) }
    return answer({ ...signed, view })
  }
}

/** Reads the saved views if the request is for a list. */
async function readSavedViews(
  { savedViews }: BareFrame,
  { path, query }: PublicRequest,
  signed: SignedInUser,
  view: ConsoleView,
) {
  const list = savedPages.find((each) => path === `/console/${each}`)
  if (list === undefined) return undefined
  return savedViewParts(view, { page: list, query: readFilters(query), views: await savedViews.list(signed, list) })
}

/** Responds to members of the team, and to guests on the pages that they may open. */
export function createWithVisitor(frame: Frame, withPerson: WithPerson): AnswerAs<Visitor> {
  return async (request, answer) => {
    const token = readCookie(request.headers['cookie'], sessionCookie)
    const guest = token === undefined ? undefined : await frame.guestLinks.guest(token)
    if (guest === undefined) return withPerson(request, answer)
    const { caller, link, partnerName } = guest
    const view = createView(frame, request)
    const { guest: role } = texts[view.language].guests
    const person = { fullName: link.fullName, email: link.email, roleName: html`${role}`, partnerName }
    const places = visiblePlaces(view.t, caller.permissions, frame.sandbox).filter(({ isForGuests }) => isForGuests)
    return answer({ caller, view: { ...view, person, places } })
  }
}

function notForGuests(frame: BareFrame, request: PublicRequest): PublicAnswer {
  const view = createView(frame, request)
  const g = texts[view.language].guests
  const action = { href: `${view.root}webhooks`, label: g.toWebhooks }
  return page(request, 403, consoleMessagePage(view, g.only, g.onlyText, action))
}

function leadToSignIn(request: PublicRequest): PublicAnswer {
  const asked = request.path.slice('/console/'.length) + (request.query === '' ? '' : `?${request.query}`)
  // The path of a form is not a page.
  return redirectToSignIn(request, request.body.length === 0 ? asked : undefined)
}

/** Redirects to the sign-in, which then redirects to a page. */
export function redirectToSignIn(request: PublicRequest, asked: string | undefined): PublicAnswer {
  const next = safeNextPath(asked)
  const partner = readCookie(request.headers['cookie'], partnerCookie)
  const query = new URLSearchParams({ ...(partner === undefined ? {} : { partner }), next })
  return seeOther(`${rootPath(request.path)}sign-in?${query.toString()}`)
}

/** Formats the session cookie. It is deleted when the browser closes; the service expires the session earlier. */
export const sessionCookieFor = (token: string): string => `${sessionCookie}=${token}; ${cookieAttributes}`

export const clearedSessionCookie = `${sessionCookie}=; ${cookieAttributes}; Max-Age=0`

export const partnerCookieFor = (partnerId: string): string =>
  `${partnerCookie}=${partnerId}; ${cookieAttributes}; Max-Age=${yearSeconds}`

/** Formats the cookies after a sign-in. Each sign-in renews the device cookie for a year; signing out keeps it. */
export const signedInCookies = (token: string, { device }: { readonly device: string }): readonly string[] => [
  sessionCookieFor(token),
  deviceCookieFor(device),
]

/**
 * Creates the routes of a page. `withMoney` is for pages with money or customers: after five idle minutes the person
 * signs in again. Forms of `withPerson` ask for it too (`site.ts`).
 */
export type Routes = (frame: Frame) => readonly PublicRoute[]

export const callOf = ({ caller }: Pick<Visitor, 'caller'>, { requestId, ip }: PublicRequest) => ({
  caller,
  requestId,
  ip,
})

type Act<P> = (request: PublicRequest, person: P) => Promise<PublicAnswer>

/** Responds to a person who has the permission. A missing permission and an unknown id get an error page. */
export const withPermission =
  <P extends Visitor>(withMoney: AnswerAs<P>, permission: Permission, act: Act<P>): PublicRoute['handle'] =>
  (request) =>
    withMoney(request, async (person) => {
      const { caller, view } = person
      const { t } = view
      const p = texts[view.language].payments
      const home = { href: `${view.root}${homePath(view)}`, label: t.home }
      const refuse = () =>
        page(request, 403, consoleMessagePage(view, t.refused, fill(p.noPermission, { permission }), home))
      if (!caller.permissions.includes(permission)) return refuse()
      try {
        return await act(request, person)
      } catch (error) {
        if (!(error instanceof Refusal)) throw error
        if (error.code === 'permission_denied') return refuse()
        if (error.code !== 'not_found') throw error
        return page(request, 404, consoleMessagePage(view, t.notFound, p.notFoundText, home))
      }
    })

/** Adds the refusal texts of a section to the texts of all pages. */
export function textsWithRefusals(
  { view: { language } }: Pick<Visitor, 'view'>,
  place: { [K in keyof ConsoleTexts]: 'refusal' extends keyof ConsoleTexts[K] ? K : never }[keyof ConsoleTexts],
): ConsoleTexts['payments'] {
  const p = texts[language].payments
  return { ...p, refusal: { ...p.refusal, ...texts[language][place].refusal } }
}

/**
 * Returns the error texts of a refusal in the language of the page, by field, or as `form` for the whole form. Throws
 * other errors.
 */
export function refusalProblems(
  p: ConsoleTexts['payments'],
  error: unknown,
  fields: readonly string[],
  own: FieldProblems = {},
): FieldProblems {
  if (!(error instanceof Refusal) || error.code === 'permission_denied') throw error
  // An unknown id in a field is a problem of that field. An unknown id in the path has no page.
  if (error.code === 'not_found' && error.errors.length === 0) throw error
  const known: Readonly<Record<string, string>> = p.refusal
  const byField = error.errors.map((field) => {
    const name = field.pointer.split('/').at(-1) ?? ''
    if (fields.includes(name)) return [name, own[name] ?? fieldText(p, field)] as const
    return ['form', known[error.code] ?? withoutBackticks(field.message)] as const
  })
  return byField.length > 0
    ? Object.fromEntries(byField)
    : { form: known[error.code] ?? withoutBackticks(error.detail) }
}

/** Returns the error text of a field, with the service's reason, which states what is accepted. */
function fieldText(p: ConsoleTexts['payments'], { code, message: reason }: FieldError): string {
  if (code === 'required' || code === 'empty') return p.fieldRequired
  if (code === 'too_precise') return p.fieldPrecise
  if (code === 'exists') return p.fieldExists
  const text = code === 'too_long' ? p.fieldTooLong : code === 'out_of_range' ? p.fieldRange : p.fieldWrong
  return fill(text, { reason: withoutBackticks(reason) })
}

/** Returns the error text of a refused amount: too large, too small, or not an amount. */
export function amountProblem({ language }: ConsoleView, typed: string): string {
  const p = texts[language].payments
  const amount = /^\d+(?:[.,]\d{1,2})?$/.test(typed.trim()) ? Number(typed.trim().replace(',', '.')) : Number.NaN
  if (amount > Number(amountMajorMax))
    return fill(p.amountLarge, { most: formatGrouped(language, `${amountMajorMax}.00`) })
  return amount < amountMin
    ? fill(p.amountSmall, { least: formatGrouped(language, String(amountMin)) })
    : p.payoutAmountWrong
}
const amountMin = 0.01

/** Reads a page of a list. A refused filter results in an empty list and a problem at its field. */
export async function readPage<T>(
  p: ConsoleTexts['payments'],
  fields: readonly string[],
  read: () => Promise<{ readonly data: readonly T[]; readonly nextCursor: string | null }>,
): Promise<{ readonly data: readonly T[]; readonly nextCursor: string | null; readonly problems: FieldProblems }> {
  try {
    return { ...(await read()), problems: {} }
  } catch (error) {
    return { data: [], nextCursor: null, problems: refusalProblems(p, error, fields) }
  }
}

/** Reads a page of a list by the filters and the cursor of the query. */
export async function readList<T>(
  request: PublicRequest,
  { view }: Pick<Visitor, 'view'>,
  filters: readonly string[],
  read: (query: Partial<FieldValues>) => ReturnType<Parameters<typeof readPage<T>>[2]>,
) {
  const values = readQuery(request, filters)
  const { cursor } = readQuery(request, ['cursor'])
  const found = await readPage(texts[view.language].payments, filters, () => read({ ...withTimes(values), cursor }))
  const { data, nextCursor, problems } = found
  const path = request.path.split('/').at(-1) ?? ''
  return { data, shown: { values, problems, pages: pageLinks(path, values, cursor, nextCursor) } }
}

/** Reports whether a person has a permission. */
export const may = ({ caller }: Pick<Visitor, 'caller'>, permission: Permission): boolean =>
  caller.permissions.includes(permission)

/** Creates the routes of a section of the console. Each route requires a permission. */
export const placeRoutes =
  <P extends Visitor>(frame: Frame, withMoney: AnswerAs<P>, place: string) =>
  (
    method: 'GET' | 'POST',
    path: string,
    permission: Permission,
    act: (frame: Frame, request: PublicRequest, person: P) => Promise<PublicAnswer> | PublicAnswer,
  ): PublicRoute => ({
    method,
    path: `/console/${place}${path}`,
    handle: withPermission(withMoney, permission, async (request, person) => {
      const [current] = place.split('/')
      return act(frame, request, { ...person, view: { ...person.view, ...(current && { current }) } })
    }),
  })

/** Sends the proof of a transaction as a file for `npm run verify:proof`. */
export async function sendProof(
  { operate }: Frame,
  request: PublicRequest,
  person: Person,
  reference: string,
): Promise<PublicAnswer> {
  const proof = await operate('getTransactionProof', { ...callOf(person, request), params: { reference } })
  const headers = {
    ...consoleHeaders,
    'content-type': 'application/json; charset=utf-8',
    'content-disposition': 'attachment; filename="proof.json"',
  }
  return { status: 200, headers, body: JSON.stringify(proof) }
}
