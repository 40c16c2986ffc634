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
  /** Names of parameters and fields. */
  readonly fields?: string
}

type Components = OpenApiDocument['components']

/** The names of the parameters and of the fields of a part of the document, also of the schemas to which it refers. */
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

/** The sections of the introduction, which stands above the operations. */
const introduction = ({ info }: OpenApiDocument): readonly SearchEntry[] =>
  sectionsOf({ path: '/docs', title: 'API reference', text: info.description }).map((entry) => ({
    ...entry,
    path: '/docs',
  }))

/** One entry per section: a heading and the text up to the next one. */
function sectionsOf({ path, title, text }: Pick<GuidePage, 'path' | 'title' | 'text'>): readonly SearchEntry[] {
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
  const sections = guides.filter(({ path }) => path !== '/docs/problems').flatMap(sectionsOf)
  return [...operationEntries(document), ...introduction(document), ...sections, ...problems]
}
