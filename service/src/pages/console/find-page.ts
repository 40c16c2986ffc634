/** The page of a search: what was found, or what can be searched for. */
import { html } from '../html.ts'
import { fill } from '../language.ts'
import { empty, table } from './components.ts'
import { money } from './lists.ts'
import { findTexts } from './texts/find.ts'
import { type ConsoleView, shell } from './view.ts'

export type Found = {
  readonly kind: 'transaction' | 'payout' | 'payee' | 'customer' | 'request'
  /** Path below the root of the pages. */
  readonly href: string
  readonly name: string
  readonly amount?: string
  readonly currency?: string
}

type Search = { readonly text: string; readonly found: readonly Found[] }

export function findPage(view: ConsoleView, { text, found }: Search): string {
  const t = findTexts[view.language]
  return shell(view, {
    title: t.title,
    wide: true,
    main: html`<h1>${t.title}</h1>
      ${
        found.length === 0
          ? empty({ title: text === '' ? t.nothingTyped : fill(t.nothing, { text }), text: t.what })
          : table({
              caption: t.title,
              columns: [[t.found, 'head'], t.kind, [t.amount, 'number']],
              rows: found.map(({ href, name, kind, amount, currency }) => [
                html`<a href="${view.root}${href}">${name}</a>`,
                t.kinds[kind],
                amount === undefined || currency === undefined ? '' : money(view, amount, currency),
              ]),
            })
      }`,
  })
}
