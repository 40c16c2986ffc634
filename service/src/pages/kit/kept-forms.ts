/**
 * Keeps the fields of a form that met an ended session, and shows the form again to its person after the next sign-in. Every form of a site
 * passes here, so that a new one needs no code for it. Nothing is done by signing in: the person presses the button again.
 */
import { ownJson } from '@partner-payments/wire'
import { type PublicAnswer, type PublicRequest, type PublicRoute, Refusal } from '../../kernel/api/index.ts'
import type { KeptForms } from '../../people/sign-in/index.ts'
import { html } from '../html.ts'
import { fill } from '../language.ts'
import { type Fields, findForm, type KeptFile, withForm } from './form-html.ts'
import { consoleMessage, type ConsoleView, homeOf, shell } from './frame.ts'
import { readFormData } from './multipart.ts'
import { facts, message } from './parts.ts'
import { preferenceRoutes } from './preferences.ts'
import { deviceIn, isLive, nextOf, page, pageOf, seeOther, uuid } from './request.ts'

type Form = {
  readonly path: string
  /** The page that the form stood on, below the root. */
  readonly from?: string
  readonly fields: Fields
  readonly files: readonly KeptFile[]
}

type Site = {
  /** The first part of the paths. */
  readonly root: 'console' | 'desk'
  readonly routes: readonly PublicRoute[]
  readonly forms: KeptForms
  /** The token of the session. Undefined: the browser has none. */
  readonly tokenOf: (request: PublicRequest) => string | undefined
  readonly viewOf: (request: PublicRequest) => ConsoleView
  /** Answers the person who is signed in, and leads others to the sign-in and back. */
  readonly asPerson: (
    request: PublicRequest,
    answer: (view: ConsoleView) => PublicAnswer | Promise<PublicAnswer>,
  ) => Promise<PublicAnswer>
  /** Forms that are not kept, with the reason. The sign-in leads back to their page. */
  readonly notKept: Readonly<Record<string, string>>
  /** The path of the form before, which has the same fields, by that of a form without a page of its own. */
  readonly before: Readonly<Record<string, string>>
}

/** A larger form is refused before it is lost: the person signs in elsewhere, and sends it again. */
const keptBytesMax = 300 * 1024

/** Fields that are never kept: secrets, and what is valid for one page. */
const secretField = /password|secret|credential|private|^(?:code|nonce|pin|token)$/i

/** Finds the sign-in to which the answer to an interrupted form leads. */
const signInPath = /^((?:\.\.\/)*)sign-in(?:\?(.*))?$/

export function keepingForms(site: Site): readonly PublicRoute[] {
  const pages = createPages(site)
  return [
    ...preferenceRoutes({ ...site, isPage: pages.isPage }),
    {
      method: 'GET',
      path: `/${site.root}/kept/{id}`,
      handle: (request) => site.asPerson(request, (view) => lead(site, pages, request, view)),
    },
    ...site.routes.map((route) => ({
      ...route,
      handle: async (request: PublicRequest) =>
        withReferrer(
          route.method === 'GET' ? await showKept(site, route, request) : await sendOrKeep(site, pages, route, request),
        ),
    })),
  ]
}

/** A page tells its own site its address, so that a form is shown again where it was. */
const withReferrer = (answer: PublicAnswer): PublicAnswer =>
  answer.headers['content-type']?.startsWith('text/html') === true
    ? { ...answer, headers: { ...answer.headers, 'referrer-policy': 'same-origin' } }
    : answer

const keptIdOf = ({ query }: PublicRequest): string | undefined => {
  const id = query.includes('kept=') ? (new URLSearchParams(query).get('kept') ?? '') : ''
  return uuid.test(id) ? id : undefined
}

const senderOf = (site: Site, request: PublicRequest) => {
  const [token, device] = [site.tokenOf(request), deviceIn(request)]
  return token === undefined || device === undefined ? undefined : { token, device }
}

async function sendOrKeep(site: Site, pages: Pages, route: PublicRoute, request: PublicRequest): Promise<PublicAnswer> {
  const answer = await route.handle(request)
  const [, up = '', query] = (answer.status === 303 && signInPath.exec(answer.headers['location'] ?? '')) || []
  const sender = senderOf(site, request)
  const isInterrupted = query !== undefined || answer.headers['location']?.endsWith('sign-in') === true
  if (!isInterrupted) {
    const sent = keptIdOf(request)
    if (sent !== undefined && sender !== undefined) await site.forms.forget(sender, sent)
    return answer
  }
  const signIn = (next: string | undefined) => {
    const asked = new URLSearchParams(query)
    if (next !== undefined) asked.set('next', next)
    return {
      ...answer,
      headers: { ...answer.headers, location: `${up}sign-in${asked.size > 0 ? `?${asked.toString()}` : ''}` },
    }
  }
  const from = pageOf(request, site.root)
  const back = pages.isPage(from) ? from : undefined
  if (route.path in site.notKept || sender === undefined) return signIn(back)
  if (request.body.length > keptBytesMax) return tooLarge(site, request, `${up}sign-in`)
  const form = await fieldsOf(request)
  const id = await site.forms.keep(sender, JSON.stringify({ ...form, ...(from !== undefined && { from }) }))
  return signIn(id === undefined ? back : `kept/${id}`)
}

/** Reads the fields of a form of any encoding, without secrets. */
async function fieldsOf({ path, body }: PublicRequest): Promise<Form> {
  if (!body.subarray(0, 2).equals(Buffer.from('--'))) {
    const fields = [...new URLSearchParams(body.toString('utf8'))]
    return { path, fields: fields.filter(([name]) => !secretField.test(name)), files: [] }
  }
  const parts = [...(await readFormData(body))]
  const fields = parts.flatMap(([name, value]) =>
    typeof value === 'string' && !secretField.test(name) ? [[name, value] as const] : [],
  )
  const files = parts.flatMap(([name, value]) =>
    value instanceof File && value.size > 0 ? [{ name, file: value }] : [],
  )
  return {
    ...{ path, fields },
    files: await Promise.all(
      files.map(async ({ name, file }) => ({
        ...{ name, fileName: file.name, type: file.type },
        base64: Buffer.from(await file.arrayBuffer()).toString('base64'),
      })),
    ),
  }
}

function tooLarge(site: Site, request: PublicRequest, signIn: string): PublicAnswer {
  const view = site.viewOf(request)
  const { title, text, how, label } = view.t.formTooLarge
  const kilobytes = (bytes: number) => String(Math.ceil(bytes / 1024))
  const sizes = { size: kilobytes(request.body.length), most: kilobytes(keptBytesMax) }
  const main = html`<h1>${title}</h1>
    <p class="lead">${fill(text, sizes)}</p>
    <p>${how}</p>
    <p class="buttons"><a class="button primary" href="${signIn}" target="_blank" rel="noopener">${label}</a></p>`
  return page(request, 413, shell(view, { title, card: true, main }))
}

async function read(site: Site, request: PublicRequest, id: string): Promise<Form | undefined> {
  const sender = senderOf(site, request)
  const text = sender && (await site.forms.open(sender, id))
  return text === undefined ? undefined : ownJson<Form>(text)
}

/** The form that a page is looked for: itself, or the one before it. */
function shownAs({ before }: Site, form: Form): Form {
  for (const [pattern, path] of Object.entries(before)) {
    const groups = patternOf(pattern).exec(form.path)
    if (groups !== null)
      return { ...form, path: path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => groups.groups?.[name] ?? '') }
  }
  return form
}

/** Leads from the sign-in to the page with the form. Without one it shows what was typed. */
async function lead(site: Site, pages: Pages, request: PublicRequest, view: ConsoleView): Promise<PublicAnswer> {
  const { id = '' } = request.params
  const kept = uuid.test(id) ? await read(site, request, id) : undefined
  const { t } = view
  const home = { href: `${view.root}${homeOf(view)}`, label: t.home }
  if (kept === undefined) return page(request, 404, consoleMessage(view, t.keptForm.over, t.keptForm.overText, home))
  const form = shownAs(site, kept)
  for (const path of candidates(form)) {
    const body = await pages.read(path, request)
    if (body === undefined || findForm(body, `/${site.root}/${path}`, form) === undefined) continue
    return seeOther(`../${path}${path.includes('?') ? '&' : '?'}kept=${id}`)
  }
  const typed = kept.fields.filter(([, value]) => value !== '' && !uuid.test(value))
  const main = html`<h1>${t.keptForm.changed}</h1>
    <p class="lead">${t.keptForm.changedText}</p>
    ${facts(typed)}
    <p class="buttons"><a class="button primary" href="${home.href}">${home.label}</a></p>`
  return page(request, 200, shell(view, { title: t.keptForm.changed, card: true, main }))
}

/** Pages on which the form may stand, the likeliest first: that of the browser, then those above the path that it is sent to. */
function candidates({ path, from, fields }: Form): readonly string[] {
  const [, , ...parts] = path.split('/')
  const above = parts.map((_part, at) => parts.slice(0, parts.length - at).join('/'))
  const short = fields.filter(
    ([name, value]) => /^\w+$/.test(name) && value !== '' && value.length <= queryValueCharsMax,
  )
  const query = new URLSearchParams(short.slice(0, queryFieldsMax).map(([name, value]) => [name, value])).toString()
  const all = above.flatMap((each) => [...(query === '' ? [] : [`${each}?${query}`]), each])
  return [...(from === undefined ? [] : [from]), ...all].filter((each) => nextOf(each) === each)
}
const queryValueCharsMax = 100
const queryFieldsMax = 8

/** Shows a page with the form of its address filled in. */
async function showKept(site: Site, route: PublicRoute, request: PublicRequest): Promise<PublicAnswer> {
  // An open page that asks by itself must not keep its session alive.
  const id = isLive(request) ? undefined : keptIdOf(request)
  const kept = id === undefined ? undefined : await read(site, request, id)
  if (id === undefined || kept === undefined) return route.handle(request)
  const answer = await route.handle(plainly(request))
  const body = bodyOf(answer)
  if (body === undefined) return answer
  const form = shownAs(site, kept)
  const found = findForm(body, request.path, form)
  const { t, root } = site.viewOf(request)
  if (found === undefined) return seeOther(`${root}kept/${id}`)
  const said = message('warning', t.keptForm.asLeft)
  const filled = page(
    request,
    200,
    withForm(body, found, form, { said, query: `kept=${id}` }),
    ...(answer.cookies ?? []),
  )
  return { ...filled, headers: { ...answer.headers, ...filled.headers } }
}

/** The request of a page without compression, a condition, and the id of a form. */
function plainly({ headers, query, ...request }: PublicRequest): PublicRequest {
  const { 'accept-encoding': _encoding, 'if-none-match': _condition, 'x-live': _live, ...others } = headers
  const fields = new URLSearchParams(query)
  fields.delete('kept')
  return { ...request, headers: others, query: fields.toString(), body: Buffer.alloc(0) }
}

const bodyOf = ({ status, headers, body }: PublicAnswer): string | undefined =>
  status === 200 &&
  headers['content-type']?.startsWith('text/html') === true &&
  (typeof body === 'string' || Buffer.isBuffer(body))
    ? body.toString()
    : undefined

const patternOf = (path: string): RegExp => new RegExp(`^${path.replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`)

type Pages = {
  /** Reports whether a path below the root is a page of a person. */
  readonly isPage: (path: string | undefined) => boolean
  /** The HTML of a page for the person of a request. Undefined: there is none. */
  readonly read: (path: string, request: PublicRequest) => Promise<string | undefined>
}

/** The pages of a site by their paths. One that calls a chosen host has an effect. */
function createPages({ root, routes }: Pick<Site, 'root' | 'routes'>): Pages {
  const pages = routes
    .filter(({ method, callsChosenHost }) => method === 'GET' && callsChosenHost !== true)
    .map((route) => ({ route, pattern: patternOf(route.path) }))
    .toSorted((one, other) => one.route.path.split('{').length - other.route.path.split('{').length)
  const find = (path: string) => {
    const match = pages.find(({ pattern }) => pattern.test(path))
    return match && { ...match.route, params: { ...match.pattern.exec(path)?.groups } }
  }
  return {
    isPage: (path) => path !== undefined && find(`/${root}/${path.split('?', 1)[0] ?? ''}`) !== undefined,
    read: async (below, request) => {
      const [part = '', query = ''] = below.split('?')
      const path = `/${root}/${part}`
      const found = find(path)
      if (found === undefined) return undefined
      try {
        return bodyOf(await found.handle({ ...plainly({ ...request, query }), path, params: found.params }))
      } catch (error) {
        // The page does not exist for this person, or not with these values.
        if (error instanceof Refusal) return undefined
        throw error
      }
    },
  }
}
