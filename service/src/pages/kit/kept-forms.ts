/**
 * Keeps the fields of a form whose session had ended, and shows the form again after the next sign-in. This covers every form of a site.
 * Signing in does not send the form: the person presses the button again.
 */
import { uuidPattern } from '../../kernel/index.ts'
import { ownJson } from '@partner-payments/wire'
import { type PublicAnswer, type PublicRequest, type PublicRoute, Refusal } from '../../kernel/api/index.ts'
import type { KeptForms } from '../../people/sign-in/index.ts'
import { html } from '../html.ts'
import { fill } from '../language.ts'
import { type FormFields, findForm, type KeptFile, pageWithForm } from './form-html.ts'
import { consoleMessagePage, type ConsoleView, homePath, shell } from './frame.ts'
import { readFormData } from './multipart.ts'
import { facts, message } from './parts.ts'
import { preferenceRoutes } from './preferences.ts'
import { readDevice, isPollingRequest, safeNextPath, page, readRefererPath, seeOther } from './request.ts'

type KeptForm = {
  readonly path: string
  /** The path of the page with the form, below the root. */
  readonly from?: string
  readonly fields: FormFields
  readonly files: readonly KeptFile[]
}

type Site = {
  /** First segment of the paths. */
  readonly root: 'console' | 'desk'
  readonly routes: readonly PublicRoute[]
  readonly forms: KeptForms
  /** The token of the session. Undefined: the browser has none. */
  readonly tokenOf: (request: PublicRequest) => string | undefined
  readonly viewOf: (request: PublicRequest) => ConsoleView
  /** Answers a person who is signed in. Redirects others to the sign-in first. */
  readonly asPerson: (
    request: PublicRequest,
    answer: (view: ConsoleView) => PublicAnswer | Promise<PublicAnswer>,
  ) => Promise<PublicAnswer>
  /** Forms that are not kept, with the reason. After the sign-in the person sees their page. */
  readonly notKept: Readonly<Record<string, string>>
  /** Forms without a page of their own, with the path of the earlier form that has the same fields. */
  readonly before: Readonly<Record<string, string>>
}

/** A larger form is not kept: the person signs in in another tab and sends it again. */
const keptBytesMax = 300 * 1024

/** Fields that are never kept: secrets, and values that are valid for one page. */
const secretField = /password|secret|credential|private|^(?:code|nonce|pin|token)$/i

/** Matches the redirect to the sign-in that answers an interrupted form. */
const signInPath = /^((?:\.\.\/)*)sign-in(?:\?(.*))?$/

export function withKeptForms(site: Site): readonly PublicRoute[] {
  const pages = createPages(site)
  return [
    ...preferenceRoutes({ ...site, isPage: pages.isPage }),
    {
      method: 'GET',
      path: `/${site.root}/kept/{id}`,
      handle: (request) => site.asPerson(request, (view) => leadToForm(site, pages, request, view)),
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

/** Lets the browser send the page of a form to this site as the `Referer`, so that the form is shown there again. */
const withReferrer = (answer: PublicAnswer): PublicAnswer =>
  answer.headers['content-type']?.startsWith('text/html') === true
    ? { ...answer, headers: { ...answer.headers, 'referrer-policy': 'same-origin' } }
    : answer

const readKeptId = ({ query }: PublicRequest): string | undefined => {
  const id = query.includes('kept=') ? (new URLSearchParams(query).get('kept') ?? '') : ''
  return uuidPattern.test(id) ? id : undefined
}

const readSender = (site: Site, request: PublicRequest) => {
  const [token, device] = [site.tokenOf(request), readDevice(request)]
  return token === undefined || device === undefined ? undefined : { token, device }
}

async function sendOrKeep(site: Site, pages: Pages, route: PublicRoute, request: PublicRequest): Promise<PublicAnswer> {
  const answer = await route.handle(request)
  const [, up = '', query] = (answer.status === 303 && signInPath.exec(answer.headers['location'] ?? '')) || []
  const sender = readSender(site, request)
  const isInterrupted = query !== undefined || answer.headers['location']?.endsWith('sign-in') === true
  if (!isInterrupted) {
    const sent = readKeptId(request)
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
  const from = readRefererPath(request, site.root)
  const back = pages.isPage(from) ? from : undefined
  if (route.path in site.notKept || sender === undefined) return signIn(back)
  if (request.body.length > keptBytesMax) return tooLarge(site, request, `${up}sign-in`)
  const form = await readFields(request)
  const id = await site.forms.keep(sender, JSON.stringify({ ...form, ...(from !== undefined && { from }) }))
  return signIn(id === undefined ? back : `kept/${id}`)
}

/** Reads the fields of a form of any encoding, without secrets. */
async function readFields({ path, body }: PublicRequest): Promise<KeptForm> {
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
    path,
    fields,
    files: await Promise.all(
      files.map(async ({ name, file }) => ({
        name,
        fileName: file.name,
        type: file.type,
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

async function readKept(site: Site, request: PublicRequest, id: string): Promise<KeptForm | undefined> {
  const sender = readSender(site, request)
  const text = sender && (await site.forms.open(sender, id))
  return text === undefined ? undefined : ownJson<KeptForm>(text)
}

/** Returns the form to look for in a page: the sent one, or the earlier one with the same fields. */
function formToFind({ before }: Site, form: KeptForm): KeptForm {
  for (const [pattern, path] of Object.entries(before)) {
    const groups = pathPattern(pattern).exec(form.path)
    if (groups !== null)
      return { ...form, path: path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => groups.groups?.[name] ?? '') }
  }
  return form
}

/** Redirects from the sign-in to the page with the form. If no page has it any more, shows what was typed. */
async function leadToForm(site: Site, pages: Pages, request: PublicRequest, view: ConsoleView): Promise<PublicAnswer> {
  const { id = '' } = request.params
  const kept = uuidPattern.test(id) ? await readKept(site, request, id) : undefined
  const { t } = view
  const home = { href: `${view.root}${homePath(view)}`, label: t.home }
  if (kept === undefined)
    return page(request, 404, consoleMessagePage(view, t.keptForm.over, t.keptForm.overText, home))
  const form = formToFind(site, kept)
  for (const path of candidatePaths(form)) {
    const body = await pages.read(path, request)
    if (body === undefined || findForm(body, `/${site.root}/${path}`, form) === undefined) continue
    return seeOther(`../${path}${path.includes('?') ? '&' : '?'}kept=${id}`)
  }
  const typed = kept.fields.filter(([, value]) => value !== '' && !uuidPattern.test(value))
  const main = html`<h1>${t.keptForm.changed}</h1>
    <p class="lead">${t.keptForm.changedText}</p>
    ${facts(typed)}
    <p class="buttons"><a class="button primary" href="${home.href}">${home.label}</a></p>`
  return page(request, 200, shell(view, { title: t.keptForm.changed, card: true, main }))
}

/** Lists pages that may have the form, the likeliest first: the page that the browser names, then those above the form's path. */
function candidatePaths({ path, from, fields }: KeptForm): readonly string[] {
  const [, , ...parts] = path.split('/')
  const above = parts.map((_part, at) => parts.slice(0, parts.length - at).join('/'))
  const short = fields.filter(
    ([name, value]) => /^\w+$/.test(name) && value !== '' && value.length <= queryValueCharsMax,
  )
  const query = new URLSearchParams(short.slice(0, queryFieldsMax).map(([name, value]) => [name, value])).toString()
  const all = above.flatMap((each) => [...(query === '' ? [] : [`${each}?${query}`]), each])
  return [...(from === undefined ? [] : [from]), ...all].filter((each) => safeNextPath(each) === each)
}
const queryValueCharsMax = 100
const queryFieldsMax = 8

/** Shows a page with the form of its address filled in. */
async function showKept(site: Site, route: PublicRoute, request: PublicRequest): Promise<PublicAnswer> {
  // The poll of an open page must not extend the session.
  const id = isPollingRequest(request) ? undefined : readKeptId(request)
  const kept = id === undefined ? undefined : await readKept(site, request, id)
  if (id === undefined || kept === undefined) return route.handle(request)
  const answer = await route.handle(withoutConditions(request))
  const body = htmlBody(answer)
  if (body === undefined) return answer
  const form = formToFind(site, kept)
  const found = findForm(body, request.path, form)
  const { t, root } = site.viewOf(request)
  if (found === undefined) return seeOther(`${root}kept/${id}`)
  const said = message('warning', t.keptForm.asLeft)
  const filled = page(
    request,
    200,
    pageWithForm(body, found, form, { said, query: `kept=${id}` }),
    ...(answer.cookies ?? []),
  )
  return { ...filled, headers: { ...answer.headers, ...filled.headers } }
}

/** Returns the request without compression, conditions and the id of a kept form. */
function withoutConditions({ headers, query, ...request }: PublicRequest): PublicRequest {
  const { 'accept-encoding': _encoding, 'if-none-match': _condition, 'x-live': _live, ...others } = headers
  const fields = new URLSearchParams(query)
  fields.delete('kept')
  return { ...request, headers: others, query: fields.toString(), body: Buffer.alloc(0) }
}

const htmlBody = ({ status, headers, body }: PublicAnswer): string | undefined =>
  status === 200 &&
  headers['content-type']?.startsWith('text/html') === true &&
  (typeof body === 'string' || Buffer.isBuffer(body))
    ? body.toString()
    : undefined

const pathPattern = (path: string): RegExp => new RegExp(`^${path.replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`)

type Pages = {
  /** Reports whether a path below the root is a page of the site. */
  readonly isPage: (path: string | undefined) => boolean
  /** Reads the HTML of a page for the person of a request. Undefined: the page does not exist. */
  readonly read: (path: string, request: PublicRequest) => Promise<string | undefined>
}

/** Finds the pages of a site by path, without those that call another host. */
function createPages({ root, routes }: Pick<Site, 'root' | 'routes'>): Pages {
  const pages = routes
    .filter(({ method, callsChosenHost }) => method === 'GET' && callsChosenHost !== true)
    .map((route) => ({ route, pattern: pathPattern(route.path) }))
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
        return htmlBody(await found.handle({ ...withoutConditions({ ...request, query }), path, params: found.params }))
      } catch (error) {
        // The page does not exist for this person, or not with these values.
        if (error instanceof Refusal) return undefined
        throw error
      }
    },
  }
}
