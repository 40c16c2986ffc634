/**
 * The API's documentation: `/docs` (swagger-ui, from its npm package) and `/openapi.json`. Read once, at start; served
 * to anyone. Nothing here speaks to another host, and the Content-Security-Policy sees to it.
 */
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

export type DocsAsset = {
  readonly path: string
  readonly contentType: string
  readonly body: Buffer
  readonly headers: Record<string, string>
}

/**
 * No inline script or style, no eval, no foreign host; swagger-ui's style sheet holds its images as data URLs. The
 * browser test renders the page under this very policy and fails at the first thing that it blocks.
 */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const headers: Record<string, string> = {
  'content-security-policy': contentSecurityPolicy,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  // The files change with the service's version, under names that do not.
  'cache-control': 'no-cache',
}

const html = 'text/html; charset=utf-8'
const javascript = 'text/javascript; charset=utf-8'
const css = 'text/css; charset=utf-8'

const indexPage = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Partner Payments Service: API</title>
<link rel="icon" type="image/png" href="/docs/favicon-32x32.png">
<link rel="stylesheet" href="/docs/swagger-ui.css">
</head>
<body>
<noscript>This page needs JavaScript; the document itself is <a href="/openapi.json">/openapi.json</a>.</noscript>
<div id="docs"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`

/** `validatorUrl: null`: the badge would send the document's address to swagger.io. A browser cannot sign a request. */
const startScript = `'use strict'
SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#docs',
  deepLinking: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  displayOperationId: true,
  filter: true,
  showExtensions: true,
  supportedSubmitMethods: [],
  tryItOutEnabled: false,
  validatorUrl: null,
})
`

const fromPackages = [
  ['/openapi.json', 'application/json; charset=utf-8', '@partner-payments/wire/openapi.json'],
  ['/docs/swagger-ui-bundle.js', javascript, 'swagger-ui-dist/swagger-ui-bundle.js'],
  ['/docs/swagger-ui.css', css, 'swagger-ui-dist/swagger-ui.css'],
  ['/docs/favicon-32x32.png', 'image/png', 'swagger-ui-dist/favicon-32x32.png'],
] as const

/** Every page and file of the documentation, as bytes. Rejects where a package does not hold its file. */
export async function docsAssets(): Promise<readonly DocsAsset[]> {
  const asset = (path: string, contentType: string, body: Buffer): DocsAsset => ({ path, contentType, body, headers })
  const files = await Promise.all(
    fromPackages.map(async ([path, contentType, specifier]) =>
      asset(path, contentType, await readFile(fileURLToPath(import.meta.resolve(specifier)))),
    ),
  )
  return [
    asset('/docs', html, Buffer.from(indexPage)),
    asset('/docs/start.js', javascript, Buffer.from(startScript)),
    ...files,
  ]
}
