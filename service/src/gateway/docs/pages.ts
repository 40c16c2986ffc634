/** The documents of the repository that partners read: guides, sandbox, problems and permissions. */
import { readFile } from 'node:fs/promises'
import { posix } from 'node:path'
import type { NavigationLink } from './layout.ts'
import { type Heading, renderMarkdown } from './markdown.ts'

type Source = {
  readonly file: string
  readonly path: string
  readonly title: string
  /** Describes the sandbox, and does not apply to production. */
  readonly sandboxOnly?: true
}

const sources: readonly Source[] = [
  { file: 'guides/first-payout.md', path: '/docs/guides/first-payout', title: 'First payout' },
  { file: 'guides/checkout.md', path: '/docs/guides/checkout', title: 'Checkout' },
  { file: 'guides/webhooks.md', path: '/docs/guides/webhooks', title: 'Webhooks' },
  { file: 'sandbox.md', path: '/docs/sandbox', title: 'Sandbox', sandboxOnly: true },
  { file: 'permissions.md', path: '/docs/permissions', title: 'Permissions' },
  { file: 'problems.md', path: '/docs/problems', title: 'Problems' },
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
    const [target = '', anchor] = href.split('#')
    const path = served.find((source) => source.file === posix.join(posix.dirname(file), target))?.path
    return path === undefined || anchor === undefined ? path : `${path}#${anchor}`
  }
}

export async function guidePages(options: { readonly sandbox: boolean }): Promise<readonly GuidePage[]> {
  const served = sources.filter(({ sandboxOnly }) => options.sandbox || sandboxOnly !== true)
  return Promise.all(
    served.map(async ({ file, path, title }) => {
      const text = await readFile(new URL(file, folder), 'utf8')
      return { path, title, text, ...renderMarkdown(text, linkFrom(file, served)) }
    }),
  )
}
