/** The documents for partners: guides and the sandbox page from the repository, and pages generated from the contract. */
import { readFile } from 'node:fs/promises'
import { posix } from 'node:path'
import { type Heading, renderMarkdown } from './markdown.ts'
import {
  bodyCodesOf,
  fieldErrorCodes,
  type Operation,
  operationIds,
  operations,
  specificCodes,
  permissions,
  type ProblemCode,
  problems,
  roleAllows,
  sharedCodes,
  users,
} from '@partner-payments/wire'
import { markdownTable, escapeHtml } from '../../../kernel/index.ts'

// The page of problems: the catalogue of problem codes and the operations that return each code.

const bodyCodes: ReadonlySet<ProblemCode> = new Set(operationIds.flatMap((id) => bodyCodesOf(operations[id])))
const isShared = (code: ProblemCode) => sharedCodes.some((shared) => shared === code)

function returnedBy(code: ProblemCode): string {
  if (isShared(code)) return 'every operation'
  if (bodyCodes.has(code)) return 'every operation with a body'
  const ids = operationIds.filter((id) => specificCodes(operations[id]).includes(code))
  return ids.length === 0 ? 'the gateway' : ids.map((id) => `\`${id}\``).join(', ')
}

export function problemsPage(): string {
  const codes = Object.keys(problems) as readonly ProblemCode[]
  return `# Problems

Error responses are \`application/problem+json\` (RFC 9457) with \`type\`, \`title\`, \`status\`, \`detail\` and \`instance\`. Three
fields are additions: \`code\`, \`requestId\` and, for invalid fields, \`errors\`. Programs should branch on \`code\`. \`title\` and
\`detail\` are for people and may change. \`type\` is \`/problems/<code>\`, the path of a page of the service with
the cause, the cure and an example.

\`detail\` below is the default text. An operation may return a more specific one.

${markdownTable(
  ['status', 'code', 'title', 'detail', 'returned by'],
  codes.map((code) => {
    const { status, title, detail } = problems[code]
    return [String(status), `\`${code}\``, title, detail, returnedBy(code)]
  }),
)}

## Field errors

Each entry of \`errors\` is \`{pointer, code, message}\`. \`pointer\` is an RFC 6901 JSON pointer into the body, or begins with
\`/query\` or \`/path\`. The field error codes are ${fieldErrorCodes.map((code) => `\`${code}\``).join(', ')}.
`
}

// The page of permissions, from the operations table and the rules of the roles.

const { roles } = users

const yesOrNo = (allowed: boolean) => (allowed ? 'yes' : 'no')

export function permissionsPage(): string {
  const matrix = markdownTable(
    ['permission', ...roles],
    permissions.map((permission) => [
      `\`${permission}\``,
      ...roles.map((role) => yesOrNo(roleAllows(role, permission))),
    ]),
  )
  const rows = operationIds.map((id) => {
    const { method, path, permission, source, sandboxOnly }: Operation = operations[id]
    const where = sandboxOnly === true ? `${source}, sandbox` : source
    const allowed = roles.map((role) => yesOrNo(roleAllows(role, permission)))
    return [`\`${id}\``, `\`${method} ${path}\``, where, `\`${permission}\``, ...allowed]
  })
  return `# Permissions

Each operation requires one permission, \`<group>:read\` or \`<group>:write\`. Without that permission the response is 403
\`permission_denied\`. A service account has explicit permissions, which the operator sets when creating the account. A role
is a named set of permissions (\`wire/src/roles.ts\`). An impersonated session can only read: each write is refused with 403
\`impersonation_write_blocked\`.

## Permissions and roles

${matrix}

## Operations, permissions and roles

${markdownTable(['operation', 'endpoint', 'source', 'permission', ...roles], rows)}
`
}

type Source = {
  /** Path of the file, relative to `docs/`, as other documents link to it. */
  readonly file: string
  readonly path: string
  readonly title: string
  /** The page describes the sandbox and does not apply to production. */
  readonly sandboxOnly?: true
  /** Generates the text. Default: the text of the file. */
  readonly generate?: (options: GuideOptions) => string
}

const sources: readonly Source[] = [
  { file: 'guides/first-payout.md', path: '/docs/guides/first-payout', title: 'First payout' },
  { file: 'guides/checkout.md', path: '/docs/guides/checkout', title: 'Checkout' },
  { file: 'guides/webhooks.md', path: '/docs/guides/webhooks', title: 'Webhooks' },
  { file: 'sandbox.md', path: '/docs/sandbox', title: 'Sandbox', sandboxOnly: true },
  {
    file: 'generated.md#sandbox-and-production',
    path: '/docs/defaults',
    title: 'Sandbox and production',
    generate: ({ differences }) => differencesPage(differences),
  },
  {
    file: 'generated.md#permissions',
    path: '/docs/permissions',
    title: 'Permissions',
    generate: permissionsPage,
  },
  { file: 'generated.md#problems', path: '/docs/problems', title: 'Problems', generate: problemsPage },
]

const folder = new URL('../../../../../docs/', import.meta.url)

export type GuidePage = NavigationLink & {
  readonly html: string
  readonly headings: readonly Heading[]
  /** The Markdown text, for the search index. */
  readonly text: string
}

/** Resolves links to pages of this site. A link to any other file of the repository becomes plain text. */
function documentLinks(file: string, served: readonly Source[]) {
  return (href: string): string | undefined => {
    if (href.startsWith('/problems/')) return href
    const pathOf = (target: string) =>
      served.find((source) => source.file === posix.join(posix.dirname(file), target))?.path
    const [target = '', anchor] = href.split('#')
    const path = pathOf(target)
    return path === undefined ? pathOf(href) : anchor === undefined ? path : `${path}#${anchor}`
  }
}

export type GuideOptions = {
  readonly sandbox: boolean
  /** The settings whose defaults differ between a sandbox and production. */
  readonly differences: readonly Difference[]
}

const availableSources = ({ sandbox }: Pick<GuideOptions, 'sandbox'>): readonly Source[] =>
  sources.filter(({ sandboxOnly }) => sandbox || sandboxOnly !== true)

/** Lists the paths and titles of the pages in order, without reading their files. */
export const guideLinks = (options: Pick<GuideOptions, 'sandbox'>): readonly NavigationLink[] =>
  availableSources(options).map(({ path, title }) => ({ path, title }))

export async function guidePages(options: GuideOptions): Promise<readonly GuidePage[]> {
  const served = availableSources(options)
  return Promise.all(
    served.map(async ({ file, path, title, generate }) => {
      const text = generate?.(options) ?? (await readFile(new URL(file, folder), 'utf8'))
      return { path, title, text, ...renderMarkdown(text, documentLinks(file, served)) }
    }),
  )
}

// The page of all defaults that differ between a sandbox and production, generated from the settings.

type Difference = {
  readonly name: string
  readonly sandbox: string
  readonly production: string
  readonly inWords: string
  readonly description: string
  readonly isStandIn: boolean
}

const tableOf = (differences: readonly Difference[]): string =>
  markdownTable(
    ['setting', 'sandbox', 'production', 'default', 'meaning'],
    differences.map(({ name, sandbox, production, inWords, description }) => [
      `\`${name}\``,
      `\`${sandbox}\``,
      `\`${production}\``,
      inWords,
      description,
    ]),
  )

export function differencesPage(differences: readonly Difference[]): string {
  const standIns = differences.filter(({ isStandIn }) => isStandIn)
  const others = differences.filter(({ isStandIn }) => !isStandIn)
  return `# Sandbox and production

A sandbox has other defaults than production. The operator can set each of them. Ask the operator which ones apply to you.

The most important one is whose money pays. In a sandbox a balance is pooled: a payout for a customer may use the money of all
customers and yours. In production it is segregated: only the money of that customer pays. \`payoutsUse\` in
\`GET /v1/accounts\` and the rule \`funds\` of a preview say which one a balance is.

## Defaults that differ

A sandbox that is started with \`SANDBOX_DEFAULTS=production\` has the defaults of production for these settings.

${tableOf(others)}

## Systems that a sandbox simulates

They stand for banks, markets, schemes, providers and receivers of webhooks outside, and stay with \`SANDBOX_DEFAULTS=production\`.

${tableOf(standIns)}

## What no setting changes

Only a sandbox explains a signature that it refuses, and takes \`http\` to \`localhost\` as an address of your team or of an identity
provider. It asks for no proof of a domain that ends with \`.example\` or \`.test\`, and signs a head of the audit log after five
seconds; production signs one a day.
`
}

// The layout of every page below `/docs` and `/problems`: title, navigation and search.

export type NavigationLink = { readonly path: string; readonly title: string }

type PageContent = {
  readonly path: string
  readonly title: string
  /** The HTML of the page's main part, already escaped. */
  readonly main: string
  readonly scripts?: readonly string[]
  readonly styles?: readonly string[]
}

export function layout(navigation: readonly NavigationLink[], page: PageContent): string {
  const { path, title, main, scripts = [], styles = [] } = page
  const links = navigation.map((link) => {
    const current = link.path === path ? ' aria-current="page"' : ''
    return `<li><a href="${escapeHtml(link.path)}"${current}>${escapeHtml(link.title)}</a></li>`
  })
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} - Partner Payments Service</title>
<link rel="icon" type="image/png" href="/docs/favicon-32x32.png">
${[...styles, '/docs/style.css'].map((href) => `<link rel="stylesheet" href="${href}">`).join('\n')}
</head>
<body>
<header>
<a class="brand" href="/docs">Partner Payments Service</a>
<nav aria-label="Documentation"><ul>${links.join('')}</ul></nav>
<form id="search" role="search">
<input id="search-text" type="search" placeholder="Search operations, guides and problems" aria-label="Search" autocomplete="off" spellcheck="false">
<ol id="search-results" hidden></ol>
</form>
</header>
<main>
${main}
</main>
${[...scripts, '/docs/search.js'].map((source) => `<script type="module" src="${source}"></script>`).join('\n')}
</body>
</html>
`
}
