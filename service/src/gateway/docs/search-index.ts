/** The index of the search on the documentation pages: one entry per operation, event, section and problem. */
import type { OpenApiDocument } from './document.ts'
import { anchorOf } from './markdown.ts'
import type { GuidePage } from './pages.ts'
import type { ProblemPage } from './problem-pages.ts'

export type SearchEntry = {
  readonly kind: 'Operation' | 'Event' | 'Guide' | 'Problem'
  readonly title: string
  /** Searchable text that the title does not contain: path, code, description. */
  readonly text: string
  readonly path: string
}

function operationEntries({ paths, webhooks }: OpenApiDocument): readonly SearchEntry[] {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId, tags, summary, description }]) => ({
      kind: 'Operation' as const,
      title: summary,
      text: `${method.toUpperCase()} ${path} ${operationId} ${description}`,
      path: `/docs#/${tags[0] ?? ''}/${operationId}`,
    })),
  )
  const events = Object.entries(webhooks).map(([name, { post }]) => ({
    kind: 'Event' as const,
    title: post.summary,
    text: `${name} ${post.description.split('\n')[0] ?? ''}`,
    path: `/docs#/webhooks/${post.operationId}`,
  }))
  return [...operations, ...events]
}

/** One entry per section: a heading and the text up to the next one. */
function guideEntries({ path, title, text }: GuidePage): readonly SearchEntry[] {
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
        path: `${path}#${anchorOf(plain)}`,
      }
    })
}

export function searchIndex(
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
  const sections = guides.filter(({ path }) => path !== '/docs/problems').flatMap(guideEntries)
  return [...operationEntries(document), ...sections, ...problems]
}
