import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { test } from 'node:test'
import { type ProblemCode, eventNames, operationIds, operations, problems } from '@partner-payments/wire'
import { type DocsAsset, docsAssets } from './docs.ts'

const assets = await docsAssets()
const at = (path: string): DocsAsset => {
  const found = assets.find((asset) => asset.path === path)
  assert.ok(found, `no ${path}`)
  return found
}

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

test('the index page refers only to files that are served, and has no inline script or style', () => {
  const page = at('/docs').body.toString()
  const named = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path]) => path ?? '')
  assert.ok(named.length >= 5)
  for (const path of named) at(path)
  assert.doesNotMatch(page, /<script>|<style|style=|onload=/)
})

test('every file carries a Content-Security-Policy without other hosts, inline scripts and eval', () => {
  assert.ok(assets.length >= 6)
  for (const { headers, body, path } of assets) {
    const policy = headers['content-security-policy'] ?? ''
    assert.match(policy, /^default-src 'none'; script-src 'self';/, path)
    assert.doesNotMatch(policy, /https?:|unsafe-eval|\*/)
    assert.ok(body.length > 0, path)
  }
})

test('the telemetry package that swagger-ui depends on is not installed', () => {
  const require = createRequire(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))
  const manifest = `${dirname(require.resolve('@scarf/scarf'))}/package.json`
  assert.equal((JSON.parse(readFileSync(manifest, 'utf8')) as { readonly name: string }).name, 'abstract-logging')
})

test('the document contains every operation and event of the contract once', () => {
  const ids = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId }]) => `${operationId} ${method.toUpperCase()} ${path}`),
  )
  assert.deepEqual(ids.sort(), operationIds.map((id) => `${id} ${operations[id].method} ${operations[id].path}`).sort())
  assert.deepEqual(Object.keys(document.webhooks), eventNames)
})

test('every reference of the document resolves', () => {
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, path]) => path ?? '')
  assert.ok(references.length > 500)
  for (const reference of new Set(references)) {
    const target = reference
      .split('/')
      .reduce<unknown>((node, key) => (node as Record<string, unknown>)?.[key], document)
    assert.ok(target, reference)
  }
})

test('every refusal of an operation is documented as a problem, by status', () => {
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
