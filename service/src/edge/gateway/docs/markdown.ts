/** Renders the Markdown of our own documents to HTML. Raw HTML is escaped and links are limited to pages that exist. */
import { Marked, type Tokens } from 'marked'

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
