import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { test } from 'node:test'
import {
  eventNames,
  type Operation,
  operationIds,
  operations,
  type ProblemCode,
  problems,
} from '@partner-payments/wire'
import { resources } from '../../../../../wire/src/operations/example.ts'
import { type DocsAsset, docsAssets, type SearchEntry } from './assets.ts'
import { renderMarkdown } from './markdown.ts'
import { differingDefaults } from '../../../app/derived-settings.ts'

type BuiltAsset = Omit<DocsAsset, 'body'> & { readonly body: Buffer }
const made = (list: readonly DocsAsset[]): Promise<readonly BuiltAsset[]> =>
  Promise.all(list.map(async (asset) => ({ ...asset, body: await asset.body() })))

const assets = await made(docsAssets({ sandbox: true, simulations: true, differences: differingDefaults() }))
const production = await made(docsAssets({ sandbox: false, simulations: false, differences: differingDefaults() }))
const find = (list: readonly BuiltAsset[], path: string): BuiltAsset => {
  const found = list.find((asset) => asset.path === path)
  assert.ok(found, `no ${path}`)
  return found
}
const at = (path: string): BuiltAsset => find(assets, path)

type Responses = Readonly<Record<string, { readonly $ref?: string; readonly content?: Record<string, unknown> }>>
type Document = {
  readonly paths: Readonly<
    Record<
      string,
      Record<string, { readonly operationId: string; readonly responses: Responses } & Record<string, unknown>>
    >
  >
  readonly webhooks: Readonly<Record<string, unknown>>
  readonly components: { readonly schemas: Record<string, unknown>; readonly examples: Record<string, unknown> }
}
const document = JSON.parse(at('/openapi.json').body.toString()) as Document

for (const [mode, list] of Object.entries({ sandbox: assets, production }))
  test(`every link on a page leads to a served page, and no page has inline code: ${mode}`, () => {
    const pages = list.filter(({ contentType, status }) => contentType.startsWith('text/html') && status === undefined)
    assert.ok(pages.length >= Object.keys(problems).length + 5)
    for (const { path: from, body } of pages) {
      const page = body.toString()
      const named = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path]) => path ?? '')
      assert.ok(named.length >= 5, from)
      for (const target of named.filter((each) => !each.startsWith('https:'))) {
        const [path = '', anchor = ''] = target.split('#')
        const linked = path === '' ? page : find(list, path).body.toString()
        if (anchor !== '' && !anchor.startsWith('/')) assert.ok(linked.includes(`id="${anchor}"`), `${from}: ${target}`)
      }
      assert.doesNotMatch(page, /<script>|<style|style=|onload=/)
    }
  })

test('the page finds or creates each resource that an example names', async () => {
  const page: unknown = await import(new URL('browser/fill.js', import.meta.url).href)
  const { createSources } = page as { readonly createSources: (page: object) => object }
  assert.deepEqual(Object.keys(createSources({})).toSorted(), Object.keys(resources).toSorted())
})

test('302 from / and /docs/ to /docs', () => {
  for (const { status, headers } of [at('/'), at('/docs/')])
    assert.deepEqual([status, headers['location']], [302, '/docs'])
})

test('every problem code has a page with its cause, remedy, status and an example', () => {
  for (const [code, { status }] of Object.entries(problems)) {
    const page = at(`/problems/${code}`).body.toString()
    for (const part of ['<h2>Cause</h2>', '<h2>Cure</h2>', '<h2>Example</h2>', `HTTP status ${status}`])
      assert.ok(page.includes(part), `${code}: ${part}`)
    assert.match(page, new RegExp(`&quot;type&quot;: &quot;/problems/${code}&quot;`))
    assert.doesNotMatch(page, /<h2>\w+<\/h2>\s*<h2>/, `${code}: an empty section`)
  }
})

test('in production the documentation has no simulations and no "Try it out"', () => {
  const text = find(production, '/openapi.json').body.toString()
  const { paths } = JSON.parse(text) as Document
  const all: readonly Operation[] = Object.values(operations)
  assert.ok(all.some(({ sandboxOnly }) => sandboxOnly === true))
  assert.equal(
    Object.values(paths).flatMap((methods) => Object.keys(methods)).length,
    all.filter(({ sandboxOnly }) => sandboxOnly !== true).length,
  )
  assert.doesNotMatch(text, /\/simulations|simulations:|"Simulated/)
  for (const { path, body, contentType } of production) {
    if (!contentType.startsWith('text/html')) continue
    assert.doesNotMatch(body.toString(), /href="\/docs\/sandbox|id="credentials"/, path)
  }
  for (const path of ['/docs/sandbox', '/docs/try.js', '/docs/sign.js']) {
    at(path)
    assert.ok(!production.some((asset) => asset.path === path), path)
  }
  assert.doesNotMatch(find(production, '/docs/search.json').body.toString(), /Simulate a deposit/)
})

test("the sandbox's magic values and both guides are served as pages", () => {
  assert.match(at('/docs/sandbox').body.toString(), /<td><code>4001\.01<\/code><\/td>/)
  for (const path of ['/docs/guides/first-payout', '/docs/guides/webhooks'])
    assert.match(at(path).body.toString(), /<h1 id=/)
})

test('the search index contains every operation, event, guide and problem, and only served pages', () => {
  const entries = JSON.parse(at('/docs/search.json').body.toString()) as readonly SearchEntry[]
  for (const { path } of entries) at(path.split('#')[0] ?? '')
  const paths = new Set(entries.map(({ path }) => path))
  for (const id of operationIds) assert.ok(paths.has(`/docs#/${operations[id].tag}/${id}`), id)
  for (const code of Object.keys(problems)) assert.ok(paths.has(`/problems/${code}`), code)
  assert.equal(entries.filter(({ kind }) => kind === 'Event').length, eventNames.length)
  assert.ok(entries.some(({ kind, text }) => kind === 'Guide' && text.includes('4001.01')))
})

test('the search index contains the sections of the introduction, the fields and the parameters', () => {
  const entries = JSON.parse(at('/docs/search.json').body.toString()) as readonly SearchEntry[]
  for (const word of ['pagination', 'authentication', 'idempotency'])
    assert.ok(
      entries.some(({ title, path }) => path === '/docs' && title.toLowerCase().includes(word)),
      word,
    )
  const withField = (field: string) => entries.filter(({ fields = '' }) => fields.split(' ').includes(field))
  for (const field of ['endToEndId', 'websiteReference', 'nextCursor', 'createdFrom', 'Idempotency-Key'])
    assert.ok(withField(field).length > 0, field)
  const payout = entries.find(({ path }) => path === '/docs#/payouts/createFiatPayout')
  assert.deepEqual(
    ['amount', 'beneficiaryAccount', 'errorKey'].filter((name) => payout?.fields?.split(' ').includes(name)),
    ['amount', 'beneficiaryAccount'],
  )
})

test('the page on sandbox and production lists every setting whose default differs', () => {
  for (const list of [assets, production]) {
    const text = find(list, '/docs/defaults').body.toString()
    for (const { name } of differingDefaults()) assert.ok(text.includes(`<code>${name}</code>`), name)
  }
  assert.ok(differingDefaults().some(({ name }) => name === 'CUSTOMER_MONEY'))
})

test('HTML in a document is escaped, and a link to a file without a page becomes text', () => {
  const text = 'x <b>y</b> [a](javascript:alert) [b](../x.md) [c](https://d.example)\n\n<script>z</script>\n'
  const link = '<a href="https://d.example">c</a>'
  assert.equal(
    renderMarkdown(text, () => undefined).html,
    `<p>x &lt;b&gt;y&lt;/b&gt; a b ${link}</p>\n&lt;script&gt;z&lt;/script&gt;\n`,
  )
})

test('every file has a Content-Security-Policy that forbids other hosts, inline scripts and eval', () => {
  assert.ok(assets.length >= 6)
  for (const { headers, body, path, status } of assets) {
    const policy = headers['content-security-policy'] ?? ''
    assert.match(policy, /^default-src 'none'; script-src 'self';/, path)
    assert.doesNotMatch(policy, /https?:|unsafe-eval|\*/)
    assert.ok(body.length > 0 || status === 302, path)
  }
})

test('the telemetry package that swagger-ui depends on is not installed', () => {
  const require = createRequire(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))
  const manifest = `${dirname(require.resolve('@scarf/scarf'))}/package.json`
  assert.equal((JSON.parse(readFileSync(manifest, 'utf8')) as { readonly name: string }).name, 'abstract-logging')
})

test('the OpenAPI document contains every operation and event of the contract once', () => {
  const ids = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId }]) => `${operationId} ${method.toUpperCase()} ${path}`),
  )
  assert.deepEqual(ids.sort(), operationIds.map((id) => `${id} ${operations[id].method} ${operations[id].path}`).sort())
  assert.deepEqual(Object.keys(document.webhooks), eventNames)
})

test('every reference in the OpenAPI document resolves', () => {
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, path]) => path ?? '')
  assert.ok(references.length > 500)
  for (const reference of new Set(references)) {
    const target = reference
      .split('/')
      .reduce<unknown>((node, key) => (node as Record<string, unknown>)?.[key], document)
    assert.ok(target, reference)
  }
})

test('every refusal of an operation is documented as a problem under its status', () => {
  for (const methods of Object.values(document.paths))
    for (const { operationId, responses } of Object.values(methods)) {
      for (const status of [400, 401, 403, 404, 413, 415, 429, 500, 502, 504])
        assert.ok(responses[status], `${operationId} ${status}`)
      const refusals: readonly ProblemCode[] = operations[operationId as keyof typeof operations].refusals
      for (const code of refusals) {
        const response = responses[problems[code].status]
        const shared = response?.$ref
          ?.split('/')
          .reduce<unknown>((node, key) => (key === '#' ? node : (node as Record<string, unknown>)?.[key]), document)
        assert.match(JSON.stringify(shared ?? response), new RegExp(`examples/${code}"`), `${operationId} ${code}`)
      }
    }
})

test('amounts are numbers, and no response contains the identification number', () => {
  assert.equal((document.components.schemas.Amount as { readonly type: string }).type, 'number')
  assert.doesNotMatch(at('/openapi.json').body.toString(), /x-json-type/)
  assert.doesNotMatch(JSON.stringify(document.components.schemas.Kyc), /personalIdentificationNumber/)
  assert.deepEqual(Object.keys(document.components.examples), Object.keys(problems))
})
