/** The documents that partners read: guides and the sandbox from the repository, and the pages made from the contract. */
import { readFile } from 'node:fs/promises'
import { posix } from 'node:path'
import type { NavigationLink } from './layout.ts'
import { type Heading, renderMarkdown } from './markdown.ts'
import { type Difference, differencesPage } from './differences-page.ts'
import { permissionsPage } from './permissions-page.ts'
import { problemsPage } from './problems-page.ts'

type Source = {
  /** The path by which other documents link to it, seen from the folder of documents. */
  readonly file: string
  readonly path: string
  readonly title: string
  /** Describes the sandbox, and does not apply to production. */
  readonly sandboxOnly?: true
  /** Makes the text. Absent: it is the text of the file. */
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

const folder = new URL('../../../../docs/', import.meta.url)

export type GuidePage = NavigationLink & {
  readonly html: string
  readonly headings: readonly Heading[]
  /** The Markdown text, for the search. */
  readonly text: string
}

/** Links lead to pages of this site. A link to any other file of the repository becomes plain text. */
function linkFrom(file: string, served: readonly Source[]) {
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
  /** The defaults that differ between a sandbox and production. */
  readonly differences: readonly Difference[]
}

const servedBy = ({ sandbox }: Pick<GuideOptions, 'sandbox'>): readonly Source[] =>
  sources.filter(({ sandboxOnly }) => sandbox || sandboxOnly !== true)

/** The pages in their order, unread. */
export const guideLinks = (options: Pick<GuideOptions, 'sandbox'>): readonly NavigationLink[] =>
  servedBy(options).map(({ path, title }) => ({ path, title }))

export async function guidePages(options: GuideOptions): Promise<readonly GuidePage[]> {
  const served = servedBy(options)
  return Promise.all(
    served.map(async ({ file, path, title, generate }) => {
      const text = generate?.(options) ?? (await readFile(new URL(file, folder), 'utf8'))
      return { path, title, text, ...renderMarkdown(text, linkFrom(file, served)) }
    }),
  )
}
