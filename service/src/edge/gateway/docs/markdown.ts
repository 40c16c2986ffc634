/** Renders the Markdown of our own documents to HTML. Raw HTML is escaped and links are limited to pages that exist. */
import { Marked, type Tokens } from 'marked'
import { readFile } from 'node:fs/promises'
import { posix } from 'node:path'

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}
export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (char) => entities[char] ?? char)

export type Heading = { readonly depth: number; readonly text: string; readonly anchor: string }
export type Rendered = { readonly html: string; readonly headings: readonly Heading[] }

/** Resolves a link of a document to a page of this site. Undefined: the document has no page. */
export type LinkOf = (href: string) => string | undefined

/** The anchor that GitHub gives a heading, so that links inside the documents work in both places. */
export const anchorOf = (heading: string): string =>
  heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-')

export function renderMarkdown(text: string, linkOf: LinkOf): Rendered {
  const headings: Heading[] = []
  const marked = new Marked({
    gfm: true,
    renderer: {
      html: ({ text: source }: Tokens.HTML | Tokens.Tag) => (source.startsWith('<!--') ? '' : escapeHtml(source)),
      heading({ tokens, depth }) {
        const plain = this.parser.parseInline(tokens, this.parser.textRenderer)
        const anchor = anchorOf(plain)
        headings.push({ depth, text: plain, anchor })
        return `<h${depth} id="${escapeHtml(anchor)}">${this.parser.parseInline(tokens)}</h${depth}>\n`
      },
      link({ href, tokens }) {
        const content = this.parser.parseInline(tokens)
        const target = href.startsWith('https://') || href.startsWith('#') ? href : linkOf(href)
        return target === undefined ? content : `<a href="${escapeHtml(target)}">${content}</a>`
      },
      image: ({ text: alternative }) => escapeHtml(alternative),
      table(token) {
        const row = (cells: readonly Tokens.TableCell[], tag: 'td' | 'th') =>
          `<tr>${cells.map(({ tokens }) => `<${tag}>${this.parser.parseInline(tokens)}</${tag}>`).join('')}</tr>`
        const head = row(token.header, 'th')
        const body = token.rows.map((cells) => row(cells, 'td')).join('')
        return `<div class="table"><table><thead>${head}</thead><tbody>${body}</tbody></table></div>\n`
      },
    },
  })
  return { html: marked.parse(text, { async: false }), headings }
}

// Renders the runbooks of the repository for the desk.

const folder = new URL('../../../../../docs/', import.meta.url)
const nameForm = /^(?:alerts\/)?[A-Za-z][A-Za-z-]*$/

/** The file of a runbook. Runbooks lead to the page of operations, which is beside their folder. */
const fileOf = (name: string): string => (name === 'operations' ? 'operations.md' : `runbooks/${name}.md`)

/** Leads from one runbook to another. A link to any other document becomes plain text. */
const linkFrom = (name: string) => (href: string) => {
  const [path = '', anchor] = href.split('#')
  const target = posix.join(posix.dirname(fileOf(name)), path)
  const other = target === 'operations.md' ? 'operations' : /^runbooks\/(?<name>.+)\.md$/.exec(target)?.groups?.['name']
  if (other === undefined || !nameForm.test(other)) return undefined
  const link = posix.relative(posix.dirname(name), other)
  return anchor === undefined ? link : `${link}#${anchor}`
}

/** The commands of the operator that a text names, each once, without their options. */
const commandsIn = (text: string): readonly string[] => [
  ...new Set(
    [...text.matchAll(/\boperator (?:-- )?(?<command>[a-z][a-z-]*(?: [a-z][a-z-]*)*)/g)].flatMap(({ groups }) => {
      const words = groups?.['command']?.split(' ') ?? []
      // A text goes on behind a command: each beginning of the words may be one.
      return words.map((_word, at) => words.slice(0, at + 1).join(' '))
    }),
  ),
]

/** `name`: as `bank-files` or `alerts/PaymentsCaseOpen`. Undefined: there is none. */
export async function findRunbook(name: string) {
  if (!nameForm.test(name)) return undefined
  const text = await readFile(new URL(fileOf(name), folder), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
  if (text === undefined) return undefined
  const { html, headings } = renderMarkdown(text, linkFrom(name))
  return { title: headings[0]?.text ?? name, body: { html }, commands: commandsIn(text) }
}
