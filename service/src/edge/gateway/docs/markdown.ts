/** Renders the Markdown of our own documents to HTML. Raw HTML is escaped and links are limited to pages that exist. */
import { escapeHtml } from '../../../kernel/index.ts'
import { Marked, type Tokens } from 'marked'
import { readFile } from 'node:fs/promises'
import { posix } from 'node:path'

export type Heading = { readonly depth: number; readonly text: string; readonly anchor: string }
export type RenderedMarkdown = { readonly html: string; readonly headings: readonly Heading[] }

/** Resolves a link of a document to a page of this site. Undefined: the target has no page. */
type ResolveLink = (href: string) => string | undefined

/** Returns the anchor that GitHub generates for a heading, so that links within documents work on both sites. */
export const headingAnchor = (heading: string): string =>
  heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-')

export function renderMarkdown(text: string, resolveLink: ResolveLink): RenderedMarkdown {
  const headings: Heading[] = []
  const marked = new Marked({
    gfm: true,
    renderer: {
      html: ({ text: source }: Tokens.HTML | Tokens.Tag) => (source.startsWith('<!--') ? '' : escapeHtml(source)),
      heading({ tokens, depth }) {
        const plain = this.parser.parseInline(tokens, this.parser.textRenderer)
        const anchor = headingAnchor(plain)
        headings.push({ depth, text: plain, anchor })
        return `<h${depth} id="${escapeHtml(anchor)}">${this.parser.parseInline(tokens)}</h${depth}>\n`
      },
      link({ href, tokens }) {
        const content = this.parser.parseInline(tokens)
        const target = href.startsWith('https://') || href.startsWith('#') ? href : resolveLink(href)
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

/** Returns the path of a runbook's file. `operations.md` is outside the folder of runbooks. */
const runbookFile = (name: string): string => (name === 'operations' ? 'operations.md' : `runbooks/${name}.md`)

/** Resolves links between runbooks. A link to any other document becomes plain text. */
const runbookLinks = (name: string) => (href: string) => {
  const [path = '', anchor] = href.split('#')
  const target = posix.join(posix.dirname(runbookFile(name)), path)
  const other = target === 'operations.md' ? 'operations' : /^runbooks\/(?<name>.+)\.md$/.exec(target)?.groups?.['name']
  if (other === undefined || !nameForm.test(other)) return undefined
  const link = posix.relative(posix.dirname(name), other)
  return anchor === undefined ? link : `${link}#${anchor}`
}

/** Lists the operator commands in a text, each once, without options. */
const commandsIn = (text: string): readonly string[] => [
  ...new Set(
    [...text.matchAll(/\boperator (?:-- )?(?<command>[a-z][a-z-]*(?: [a-z][a-z-]*)*)/g)].flatMap(({ groups }) => {
      const words = groups?.['command']?.split(' ') ?? []
      // Text may follow a command: each prefix of the words is a candidate.
      return words.map((_word, at) => words.slice(0, at + 1).join(' '))
    }),
  ),
]

/** Reads and renders a runbook. `name`: for example `bank-files` or `alerts/PaymentsCaseOpen`. Undefined: it does not exist. */
export async function findRunbook(name: string) {
  if (!nameForm.test(name)) return undefined
  const text = await readFile(new URL(runbookFile(name), folder), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
  if (text === undefined) return undefined
  const { html, headings } = renderMarkdown(text, runbookLinks(name))
  return { title: headings[0]?.text ?? name, body: { html }, commands: commandsIn(text) }
}
