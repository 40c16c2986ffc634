/** One page per problem code: `type` of a problem leads to it. */
import { type ProblemCode, problemPath, problems } from '@partner-payments/wire'
import type { OpenApiDocument } from './document.ts'
import { explanationOf } from './explanations.ts'
import { escapeHtml, renderMarkdown } from './markdown.ts'

export type ProblemPage = {
  readonly code: ProblemCode
  readonly path: string
  readonly title: string
  readonly html: string
  /** Text for the search index. */
  readonly text: string
}

const paragraph = (text: string): string => renderMarkdown(text, () => undefined).html

/** The operations that document the code among their own refusals. */
function operationsOf(code: ProblemCode, { paths }: OpenApiDocument): readonly string[] {
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

function htmlOf(code: ProblemCode, document: OpenApiDocument): string {
  const { status, title, detail } = problems[code]
  const { cause, cure } = explanationOf(code)
  const operations = operationsOf(code, document)
  const example = document.components.examples[code]?.value
  return `<h1>${escapeHtml(title)}</h1>
<p><code>${code}</code>, HTTP status ${status}. ${escapeHtml(detail).replace(/`([^`]+)`/g, '<code>$1</code>')}</p>
<h2>Cause</h2>
${paragraph(cause)}<h2>Cure</h2>
${paragraph(cure)}${operations.length === 0 ? '' : `<h2>Operations</h2>\n<ul>${operations.join('')}</ul>\n`}<h2>Example</h2>
<pre><code>${escapeHtml(JSON.stringify(example, null, 2) ?? '')}</code></pre>
<p><a href="/docs/problems">All problems</a></p>`
}

export function problemPages(document: OpenApiDocument): readonly ProblemPage[] {
  const codes = Object.keys(problems) as readonly ProblemCode[]
  return codes.map((code) => {
    const { cause, cure } = explanationOf(code)
    const { title, detail } = problems[code]
    const text = [title, detail, cause, cure].join(' ')
    return { code, path: problemPath(code), title, text, html: htmlOf(code, document) }
  })
}
