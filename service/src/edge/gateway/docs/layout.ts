/** The frame of every page below `/docs` and `/problems`: title, navigation and search. */
import { escapeHtml } from './markdown.ts'

export type NavigationLink = { readonly path: string; readonly title: string }

export type PageContent = {
  readonly path: string
  readonly title: string
  /** HTML, already escaped. */
  readonly main: string
  readonly scripts?: readonly string[]
  readonly styles?: readonly string[]
}

export function layout(navigation: readonly NavigationLink[], page: PageContent): string {
  const { path, title, main, scripts = [], styles = [] } = page
  const links = navigation.map((link) => {
    const current = link.path === path ? ' aria-current="page"' : ''
    return `<li><a href="${escapeHtml(link.path)}"${current}>${escapeHtml(link.title)}</a></li>`
  })
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} - Partner Payments Service</title>
<link rel="icon" type="image/png" href="/docs/favicon-32x32.png">
${[...styles, '/docs/style.css'].map((href) => `<link rel="stylesheet" href="${href}">`).join('\n')}
</head>
<body>
<header>
<a class="brand" href="/docs">Partner Payments Service</a>
<nav aria-label="Documentation"><ul>${links.join('')}</ul></nav>
<form id="search" role="search">
<input id="search-text" type="search" placeholder="Search operations, guides and problems" aria-label="Search" autocomplete="off" spellcheck="false">
<ol id="search-results" hidden></ol>
</form>
</header>
<main>
${main}
</main>
${[...scripts, '/docs/search.js'].map((source) => `<script type="module" src="${source}"></script>`).join('\n')}
</body>
</html>
`
}
