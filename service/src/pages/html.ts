/** HTML as a value. The template escapes every text in it. */
import { escapeHtml } from '../kernel/index.ts'

export type Html = { readonly html: string }
type Part = Html | string | number | undefined | false | readonly Html[]

function write(part: Part): string {
  if (part === undefined || part === false) return ''
  if (typeof part === 'string' || typeof part === 'number') return escapeHtml(String(part))
  return 'html' in part ? part.html : part.map(({ html }) => html).join('')
}

/** Writes HTML. An undefined or false part is empty, so that a template can have conditions. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return { html: strings.reduce((text, next, at) => text + write(parts[at - 1]) + next) }
}
