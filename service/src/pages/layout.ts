/** The layout of every page: head, sandbox band, card, and links to the languages. */
import type { PageBrand } from './assets.ts'
import { html, type Html } from './html.ts'
import { type Language, languages, texts } from './language.ts'
import type { Texts } from './texts/en.ts'

/** Request data that a page needs. All links are relative, so that PUBLIC_URL may have a path. */
export type View = {
  readonly language: Language
  readonly t: Texts
  /** Relative path from the page to `/checkout/`: empty or `../`. */
  readonly root: string
  /** `?lang=..` if the reader chose the language on the page: kept in links and forms. */
  readonly query: string
  readonly sandbox: boolean
  readonly css: string
  readonly js: string
  /** The brand of the installation. */
  readonly brand: PageBrand
}

export type Page = {
  readonly title: string
  readonly main: Html
  /** State for the script of the live status. */
  readonly state?: string
  readonly statusUrl?: string
  readonly expiresAt?: string
  readonly serverTime?: string
  /** Address of the style sheet of the partner. */
  readonly accentUrl?: string | undefined
  /** Look of the sandbox's bank page or of a message. Default: the payment page. */
  readonly look?: 'bank' | 'message'
}

export function layout(view: View, page: Page): string {
  const { language, t, root, css, js, sandbox, brand } = view
  const { html: text } = html`<!doctype html>
    <html lang="${language}">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${page.title}</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href="${root}assets/${css}" />
        ${brand.css !== undefined && html`<link rel="stylesheet" href="${root}assets/${brand.css}" />`}
        ${page.accentUrl !== undefined && html`<link rel="stylesheet" href="${page.accentUrl}" />`}
        <script type="module" src="${root}assets/${js}"></script>
      </head>
      <body class="${page.look ?? 'payment'}">
        ${sandbox && html`<header class="band">${t.sandbox}</header> `}
        <main
          id="main"
          data-state="${page.state ?? ''}"
          data-status="${page.statusUrl ?? ''}"
          data-expires="${page.expiresAt ?? ''}"
          data-now="${page.serverTime ?? ''}"
        >
          ${page.main}
        </main>
        <p id="live" class="away" role="status"></p>
        ${brandLine(view)} ${page.look !== 'message' && languageLinks(language, t)}
      </body>
    </html> `
  return text
}

/** Renders the brand of the installation below the card of the partner. */
function brandLine({ root, brand: { name, logo } }: View): Html | undefined {
  if (logo === undefined && name === undefined) return undefined
  return html`<footer class="brand">
    ${logo !== undefined && html`<img src="${root}assets/${logo}" alt="" height="24" />`} ${name}
  </footer>`
}

const languageLinks = (language: Language, t: Texts): Html =>
  html`<nav class="languages" aria-label="${t.languages}">
    ${languages.map((each) => languageLink(each, language))}
  </nav> `

const languageLink = (each: Language, current: Language): Html =>
  each === current
    ? html`<a lang="${each}" hreflang="${each}" href="?lang=${each}" aria-current="true"
        >${texts[each].languageName}</a
      > `
    : html`<a lang="${each}" hreflang="${each}" href="?lang=${each}">${texts[each].languageName}</a> `

/** Renders a page with an error. */
export function messagePage(view: View, title: string, text: string): string {
  const main = html`<div class="card">
    <h1 class="outcome">${title}</h1>
    <p>${text}</p>
  </div>`
  return layout(view, { title, main, look: 'message' })
}

export const countryDisplayName = (code: string, language: Language): string =>
  new Intl.DisplayNames(language, { type: 'region' }).of(code) ?? code
