/**
 * The documentation: `/docs` (swagger-ui, from its npm package), guides, a page per problem, and `/openapi.json`. They
 * are public and are built at the first request. The Content-Security-Policy does not allow other hosts.
 */
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import {
  type Operation,
  operationIds,
  operations,
  ownJsonExactly,
  type ProblemCode,
  problemPath,
  problems,
} from '@partner-payments/wire'
import { loadOnce, present, escapeHtml } from '../../../kernel/index.ts'
import { guideLinks, type GuideOptions, type GuidePage, guidePages, layout, type NavigationLink } from './pages.ts'
import { headingAnchor, renderMarkdown } from './markdown.ts'
import { explainProblem } from './explanations.ts'

export type DocsAsset = {
  readonly path: string
  /** Default: 200. */
  readonly status?: number
  readonly contentType: string
  readonly body: () => Promise<Buffer>
  readonly headers: Record<string, string>
}

export type DocsOptions = {
  /** True: includes the sandbox pages and "Try it out". */
  readonly sandbox: boolean
  /** True: the operations below `/v1/simulations` exist. */
  readonly simulations: boolean
} & Pick<GuideOptions, 'differences'>

/**
 * Forbids inline scripts and styles, eval and other hosts. The style sheet of swagger-ui contains its images as data URLs. The
 * browser test loads the page with this policy and fails if the policy blocks anything.
 */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const headers: Record<string, string> = {
  'content-security-policy': contentSecurityPolicy,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  // The files change with the version of the service, but their names do not.
  'cache-control': 'no-cache',
}

const html = 'text/html; charset=utf-8'
const json = 'application/json; charset=utf-8'
const javascript = 'text/javascript; charset=utf-8'
const css = 'text/css; charset=utf-8'

const files = [
  ['/docs/swagger-ui-bundle.js', javascript, import.meta.resolve('swagger-ui-dist/swagger-ui-bundle.js')],
  ['/docs/swagger-ui.css', css, import.meta.resolve('swagger-ui-dist/swagger-ui.css')],
  ['/docs/favicon-32x32.png', 'image/png', import.meta.resolve('swagger-ui-dist/favicon-32x32.png')],
  ['/docs/style.css', css, import.meta.resolve('./browser/style.css')],
  ['/docs/search.js', javascript, import.meta.resolve('./browser/search.js')],
  ['/docs/reference.js', javascript, import.meta.resolve('./browser/reference.js')],
] as const
const sandboxFiles = [
  ['/docs/sign.js', javascript, import.meta.resolve('./browser/sign.js')],
  ['/docs/try.js', javascript, import.meta.resolve('./browser/try.js')],
  ['/docs/fill.js', javascript, import.meta.resolve('./browser/fill.js')],
] as const

const asset = (path: string, contentType: string, body: () => Promise<Buffer | string>): DocsAsset => ({
  path,
  contentType,
  body: async () => Buffer.from(await body()),
  headers,
})

const redirect = (path: string, location: string): DocsAsset => ({
  ...asset(path, html, () => Promise.resolve('')),
  status: 302,
  headers: { ...headers, location },
})

/** The form for signing requests in the browser. The key stays in the memory of the page. */
const credentialsForm = `<form id="credentials" autocomplete="off" hidden>
<details>
<summary>Credentials for "Try it out"</summary>
<p>Requests are signed in this page. The credentials stay in its memory until you close or reload it. With them the page reads
what your sandbox has and fills it into the examples. It creates what the sandbox lacks, such as a customer and a payout. An
idempotency key and other texts that must be new are new at each Execute.</p>
<label>API key <input id="api-key" type="text" autocomplete="off" spellcheck="false"></label>
<label>API secret <input id="api-secret" type="password" autocomplete="off"></label>
<label>Private key (PEM) <textarea id="private-key" rows="4" autocomplete="off" spellcheck="false"></textarea></label>
<p>Or paste the whole file <code>.data/sandbox-credentials.json</code> into any of the fields.</p>
<button type="submit">Use these credentials</button> <button id="forget" type="button">Forget</button>
</details>
<p id="credentials-state" role="status">No credentials.</p>
<details id="signed" hidden><summary>Last signed request</summary><pre id="canonical"></pre></details>
</form>
`

const referenceMain = (sandbox: boolean): string =>
  `<noscript>This page needs JavaScript. The document itself is at <a href="/openapi.json">/openapi.json</a>.</noscript>
${sandbox ? credentialsForm : ''}<div id="docs" data-try="${sandbox ? 'on' : 'off'}"></div>`

/** Links each code in the table of all problems to its page. */
const linkProblems = (text: string): string =>
  text.replaceAll(/<td><code>(\w+)<\/code><\/td>/g, (cell, code: string) =>
    Object.hasOwn(problems, code)
      ? `<td><a href="${problemPath(code as keyof typeof problems)}"><code>${code}</code></a></td>`
      : cell,
  )

/** Reads the sources of the pages. */
async function readContent({ sandbox, simulations, differences }: DocsOptions) {
  const source = await readFile(fileURLToPath(import.meta.resolve('@partner-payments/wire/openapi.json')), 'utf8')
  const document = servedDocument(ownJsonExactly<OpenApiDocument>(source), simulations)
  return { document, guides: await guidePages({ sandbox, differences }), explained: problemPages(document) }
}

const fileAssets = (list: typeof files | typeof sandboxFiles): readonly DocsAsset[] =>
  list.map(([path, type, url]) => asset(path, type, () => readFile(fileURLToPath(url))))

/** Returns the example requests of the operations. The page fills in their placeholders. */
function exampleRequests(simulations: boolean): string {
  const examples = operationIds.flatMap((id) => {
    const { method, path, example, sandboxOnly }: Operation = operations[id]
    const { params, query, body } = example
    return sandboxOnly && !simulations ? [] : [[id, { method, path, params, query, body }] as const]
  })
  return JSON.stringify(Object.fromEntries(examples))
}

type Article = { readonly path: string; readonly title: string; readonly html: string }
const articleAt = (articles: readonly Article[], path: string): Article =>
  present(
    articles.find((each) => each.path === path),
    `no article at ${path}`,
  )

/** Creates all pages and files of the documentation. */
export function docsAssets(options: DocsOptions): readonly DocsAsset[] {
  const { sandbox, simulations } = options
  const content = loadOnce(() => readContent(options))
  const guides = guideLinks({ sandbox })
  const navigation: readonly NavigationLink[] = [{ path: '/docs', title: 'Reference' }, ...guides]
  const page = ({ path, title, html: text }: Article): string => {
    const main = `<article>${path === '/docs/problems' ? linkProblems(text) : text}</article>`
    return layout(navigation, { path, title, main })
  }
  const reference = layout(navigation, {
    path: '/docs',
    title: 'API reference',
    main: referenceMain(sandbox),
    styles: ['/docs/swagger-ui.css'],
    scripts: ['/docs/reference.js'],
  }).replace('<script type="module"', '<script src="/docs/swagger-ui-bundle.js"></script>\n<script type="module"')
  return [
    redirect('/', '/docs'),
    redirect('/docs/', '/docs'),
    asset('/docs', html, () => Promise.resolve(reference)),
    asset('/openapi.json', json, async () => `${JSON.stringify((await content()).document, null, 2)}\n`),
    asset('/docs/search.json', json, async () => {
      const { document, guides: read, explained } = await content()
      return JSON.stringify(searchIndex(document, read, explained))
    }),
    ...guides.map(({ path }) => asset(path, html, async () => page(articleAt((await content()).guides, path)))),
    ...(Object.keys(problems) as ProblemCode[])
      .map(problemPath)
      .map((path) => asset(path, html, async () => page(articleAt((await content()).explained, path)))),
    ...fileAssets(files),
    ...(sandbox ? [asset('/docs/examples.json', json, () => Promise.resolve(exampleRequests(simulations)))] : []),
    ...(sandbox ? fileAssets(sandboxFiles) : []),
  ]
}

// The index of the search on the documentation pages: one entry per operation, event, section and problem.

export type SearchEntry = {
  readonly kind: 'Operation' | 'Event' | 'Guide' | 'Problem'
  readonly title: string
  /** Searchable text besides the title: path, code, description. */
  readonly text: string
  readonly path: string
  /** Names of parameters and fields of the section. */
  readonly fields?: string
}

type Components = OpenApiDocument['components']

/** Collects the names of parameters and fields in a part of the document, including referenced schemas. */
function fieldsIn(
  node: unknown,
  components: Components,
  found = new Set<string>(),
  seen = new Set<string>(),
): Set<string> {
  if (Array.isArray(node)) for (const item of node) fieldsIn(item, components, found, seen)
  else if (typeof node === 'object' && node !== null) {
    const {
      $ref,
      properties,
      name,
      in: place,
      example: _example,
      examples: _examples,
      ...rest
    } = node as Readonly<Record<string, unknown>>
    if (typeof place === 'string' && typeof name === 'string') found.add(name)
    for (const field of Object.keys(properties ?? {})) found.add(field)
    if (typeof $ref === 'string' && !seen.has($ref)) {
      seen.add($ref)
      const [, , kind = '', id = ''] = $ref.split('/')
      // A problem is the same for every operation.
      if (kind !== 'responses')
        fieldsIn(
          (components as Readonly<Record<string, Readonly<Record<string, unknown>>>>)[kind]?.[id],
          components,
          found,
          seen,
        )
    }
    const inner: readonly unknown[] = [
      ...Object.values(rest),
      ...(Object.values(properties ?? {}) as readonly unknown[]),
    ]
    for (const each of inner) fieldsIn(each, components, found, seen)
  }
  return found
}

function operationEntries(document: OpenApiDocument): readonly SearchEntry[] {
  const { paths, webhooks } = document
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId, tags, summary, description }]) => ({
      kind: 'Operation' as const,
      title: summary,
      text: `${method.toUpperCase()} ${path} ${operationId} ${description}`,
      path: `/docs#/${tags[0] ?? ''}/${operationId}`,
      fields: [...fieldsIn(methods[method] ?? null, document.components)].join(' '),
    })),
  )
  const events = Object.entries(webhooks).map(([name, { post }]) => ({
    kind: 'Event' as const,
    title: post.summary,
    text: `${name} ${post.description.split('\n')[0] ?? ''}`,
    path: `/docs#/webhooks/${post.operationId}`,
    fields: [...fieldsIn(post, document.components)].join(' '),
  }))
  return [...operations, ...events]
}

/** Returns the sections of the introduction, which the page shows above the operations. */
const introduction = ({ info }: OpenApiDocument): readonly SearchEntry[] =>
  splitSections({ path: '/docs', title: 'API reference', text: info.description }).map((entry) => ({
    ...entry,
    path: '/docs',
  }))

/** Splits a page into sections: a heading and the text up to the next heading. */
function splitSections({ path, title, text }: Pick<GuidePage, 'path' | 'title' | 'text'>): readonly SearchEntry[] {
  const prose = text.replace(/^```[^\n]*\n[\s\S]*?^```$/gm, '').replace(/<!--[\s\S]*?-->/g, '')
  return prose
    .split(/^#+ /m)
    .slice(1)
    .map((section) => {
      const [heading = '', ...lines] = section.split('\n')
      const plain = heading.replaceAll('`', '')
      return {
        kind: 'Guide' as const,
        title: plain === title ? title : `${title}: ${plain}`,
        text: lines.join(' ').replace(/\s+/g, ' ').trim(),
        path: `${path}#${headingAnchor(plain)}`,
      }
    })
}

function searchIndex(
  document: OpenApiDocument,
  guides: readonly GuidePage[],
  problemPages: readonly ProblemPage[],
): readonly SearchEntry[] {
  const problems = problemPages.map(({ code, title, text, path }) => ({
    kind: 'Problem' as const,
    title,
    text: `${code} ${text}`,
    path,
  }))
  // The page of all problems repeats the text of each problem's own page.
  const sections = guides.filter(({ path }) => path !== '/docs/problems').flatMap(splitSections)
  return [...operationEntries(document), ...introduction(document), ...sections, ...problems]
}

// One page per problem code: `type` of a problem leads to it.

type ProblemPage = {
  readonly code: ProblemCode
  readonly path: string
  readonly title: string
  readonly html: string
  /** Returns the text of HTML for the search index. */
  readonly text: string
}

const paragraph = (text: string): string => renderMarkdown(text, () => undefined).html

/** Lists the operations that document the code among their refusals. */
function operationsWithCode(code: ProblemCode, { paths }: OpenApiDocument): readonly string[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, { description }]) => description.includes(`Problem codes of this operation:`))
      .filter(([, { description }]) =>
        description.split('Problem codes of this operation:')[1]?.includes(`\`${code}\``),
      )
      .map(([method, { operationId, tags }]) => {
        const name = escapeHtml(`${method.toUpperCase()} ${path}`)
        return `<li><a href="/docs#/${escapeHtml(tags[0] ?? '')}/${escapeHtml(operationId)}"><code>${name}</code></a></li>`
      }),
  )
}

function renderProblem(code: ProblemCode, document: OpenApiDocument): string {
  const { status, title, detail } = problems[code]
  const { cause, cure } = explainProblem(code)
  const operations = operationsWithCode(code, document)
  const example = document.components.examples[code]?.value
  return `<h1>${escapeHtml(title)}</h1>
<p><code>${code}</code>, HTTP status ${status}. ${escapeHtml(detail).replace(/`([^`]+)`/g, '<code>$1</code>')}</p>
<h2>Cause</h2>
${paragraph(cause)}<h2>Cure</h2>
${paragraph(cure)}${operations.length === 0 ? '' : `<h2>Operations</h2>\n<ul>${operations.join('')}</ul>\n`}<h2>Example</h2>
<pre><code>${escapeHtml(JSON.stringify(example, null, 2) ?? '')}</code></pre>
<p><a href="/docs/problems">All problems</a></p>`
}

function problemPages(document: OpenApiDocument): readonly ProblemPage[] {
  const codes = Object.keys(problems) as readonly ProblemCode[]
  return codes.map((code) => {
    const { cause, cure } = explainProblem(code)
    const { title, detail } = problems[code]
    const text = [title, detail, cause, cure].join(' ')
    return { code, path: problemPath(code), title, text, html: renderProblem(code, document) }
  })
}

// The OpenAPI document as this service serves it: a service without simulations does not document them.

type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }
type JsonObject = { readonly [key: string]: Json }

type DocumentedOperation = {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly summary: string
  readonly description: string
  readonly 'x-sandbox-only'?: true
}
type OpenApiDocument = {
  readonly info: { readonly description: string }
  readonly tags: readonly { readonly name: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>
  readonly webhooks: Readonly<Record<string, { readonly post: DocumentedOperation }>>
  readonly components: {
    readonly schemas: JsonObject
    readonly examples: Readonly<Record<string, { readonly value: Json }>>
  }
}

function referencesIn(node: Json, into: Set<string>): Set<string> {
  if (Array.isArray(node)) for (const item of node) referencesIn(item as Json, into)
  else if (typeof node === 'object' && node !== null)
    for (const [key, value] of Object.entries(node as JsonObject))
      if (key === '$ref' && typeof value === 'string') into.add(value)
      else referencesIn(value, into)
  return into
}

/** Returns the schemas that the rest of the document uses, directly or through other schemas. */
function usedSchemas(document: OpenApiDocument): JsonObject {
  const { schemas, ...components } = document.components
  const used = referencesIn({ ...document, components } as unknown as Json, new Set())
  for (const reference of used) referencesIn(schemas[reference.replace('#/components/schemas/', '')] ?? null, used)
  return Object.fromEntries(Object.entries(schemas).filter(([name]) => used.has(`#/components/schemas/${name}`)))
}

const isSimulationPermission = (value: Json): boolean => typeof value === 'string' && value.startsWith('simulations:')

/**
 * Removes the permissions of simulations. Returns a value without them unchanged, because exact numbers are objects
 * that a copy would lose.
 */
function withoutSimulations(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    const items = value as readonly Json[]
    const kept = items.filter((each) => !isSimulationPermission(each)).map((each) => withoutSimulations(each))
    return kept.length === items.length && kept.every((each, index) => each === items[index]) ? items : kept
  }
  const entries = Object.entries(value)
  const kept = entries.map(([name, each]) => [name, withoutSimulations(each)] as const)
  return kept.every(([, each], index) => each === entries[index]?.[1]) ? value : Object.fromEntries(kept)
}

function servedDocument(document: OpenApiDocument, simulations: boolean): OpenApiDocument {
  if (simulations) return document
  const paths = Object.entries(document.paths)
    .map(([path, methods]) => {
      const kept = Object.entries(methods).filter(([, operation]) => operation['x-sandbox-only'] !== true)
      return [path, Object.fromEntries(kept)] as const
    })
    .filter(([, methods]) => Object.keys(methods).length > 0)
  const used = new Set(paths.flatMap(([, methods]) => Object.values(methods).flatMap(({ tags }) => tags)))
  const served = {
    ...document,
    tags: document.tags.filter(({ name }) => used.has(name)),
    paths: Object.fromEntries(paths),
  }
  const whole = { ...served, components: { ...served.components, schemas: usedSchemas(served) } }
  return withoutSimulations(whole as unknown as Json) as unknown as OpenApiDocument
}
