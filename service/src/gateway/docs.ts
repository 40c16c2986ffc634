/**
 * The documentation of the API: `/docs` (swagger-ui, from its npm package) and `/openapi.json`. Read once, at start, and
 * public. The Content-Security-Policy allows no other host.
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
 * No inline script or style, no eval, no other host. The style sheet of swagger-ui contains its images as data URLs. The
 * browser test loads the page with this policy and fails if the policy blocks anything.
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
  // The files change with the version of the service, but their names do not.
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

/** Without a validator: its badge would send the URL to swagger.io. Without "Try it out": a browser cannot sign. */
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

/** Every file of the documentation. Rejects if a package lacks its file. */
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
