/**
 * The documentation: `/docs` (swagger-ui, from its npm package), guides, a page per problem, and `/openapi.json`. Public, and built
 * once, when it is first asked for. The Content-Security-Policy allows no other host.
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
import { once, present } from '../../kernel/index.ts'
import { type OpenApiDocument, servedDocument } from './document.ts'
import { layout, type NavigationLink } from './layout.ts'
import { guideLinks, type GuideOptions, guidePages } from './pages.ts'
import { problemPages } from './problem-pages.ts'
import { searchIndex } from './search-index.ts'

export type DocsAsset = {
  readonly path: string
  /** Default: 200. */
  readonly status?: number
  readonly contentType: string
  readonly body: () => Promise<Buffer>
  readonly headers: Record<string, string>
}

export type DocsOptions = {
  /** The sandbox: pages about it, and "Try it out". */
  readonly sandbox: boolean
  /** The operations below `/v1/simulations` exist. */
  readonly simulations: boolean
} & Pick<GuideOptions, 'differences'>

/**
 * No inline script or style, no eval, no other host. The style sheet of swagger-ui contains its images as data URLs. The
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

/** Signs requests in the page. The key stays in its memory. */
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

/** The table of all problems links each code to its page. */
const linkProblems = (text: string): string =>
  text.replaceAll(/<td><code>(\w+)<\/code><\/td>/g, (cell, code: string) =>
    Object.hasOwn(problems, code)
      ? `<td><a href="${problemPath(code as keyof typeof problems)}"><code>${code}</code></a></td>`
      : cell,
  )

/** Reads what the pages are made from. */
async function readContent({ sandbox, simulations, differences }: DocsOptions) {
  const source = await readFile(fileURLToPath(import.meta.resolve('@partner-payments/wire/openapi.json')), 'utf8')
  const document = servedDocument(ownJsonExactly<OpenApiDocument>(source), simulations)
  return { document, guides: await guidePages({ sandbox, differences }), explained: problemPages(document) }
}

const fileAssets = (list: typeof files | typeof sandboxFiles): readonly DocsAsset[] =>
  list.map(([path, type, url]) => asset(path, type, () => readFile(fileURLToPath(url))))

/** The examples of the operations with their placeholders, which the page fills. */
function exampleRequests(simulations: boolean): string {
  const examples = operationIds.flatMap((id) => {
    const { method, path, example, sandboxOnly }: Operation = operations[id]
    const { params, query, body } = example
    return sandboxOnly && !simulations ? [] : [[id, { method, path, params, query, body }] as const]
  })
  return JSON.stringify(Object.fromEntries(examples))
}

/** An article of the content, by its path. */
type Article = { readonly path: string; readonly title: string; readonly html: string }
const articleAt = (articles: readonly Article[], path: string): Article =>
  present(
    articles.find((each) => each.path === path),
    'the content has every page',
  )

/** Every page and file of the documentation. */
export function docsAssets(options: DocsOptions): readonly DocsAsset[] {
  const { sandbox, simulations } = options
  const content = once(() => readContent(options))
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
