/** Traces: requests and their database work arrive at an OpenTelemetry collector, as parts of the caller's trace. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { success } from '../support/client.ts'
import { atEnd, useService } from '../support/fixture.ts'
import { until } from '../support/until.ts'

type Value = { readonly stringValue?: string; readonly intValue?: number | string }
type Span = {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly attributes: readonly { readonly key: string; readonly value: Value }[]
}
type Export = {
  readonly resourceSpans: readonly { readonly scopeSpans: readonly { readonly spans: readonly Span[] }[] }[]
}

const spans: Span[] = []
const collector = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.once('end', () => {
    assert.equal(request.url, '/v1/traces')
    const { resourceSpans } = JSON.parse(Buffer.concat(chunks).toString('utf8')) as Export
    spans.push(...resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)))
    response.setHeader('content-type', 'application/json').end('{}')
  })
})
await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve))
const { port } = collector.address() as AddressInfo
atEnd(() => collector.close())
const service = await useService({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` } })

const attribute = ({ attributes }: Span, key: string) => attributes.find((each) => each.key === key)?.value

test('a request with a traceparent is a span of that trace, and its database work is below it', async () => {
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
  const headers = { traceparent: `00-${traceId}-00f067aa0ba902b7-01` }
  success(await service.client.send({ method: 'GET', target: '/v1/customers', headers }))
  const own = () => spans.filter((span) => span.traceId === traceId)
  const request = await until('the span of the request', () => own().find(({ name }) => name === 'listCustomers'))
  assert.equal(request.parentSpanId, '00f067aa0ba902b7')
  assert.equal(attribute(request, 'partnerId')?.stringValue, service.credentials.partnerId)
  assert.equal(Number(attribute(request, 'http.response.status_code')?.intValue), 200)
  await until('the span of a statement', () => own().find(({ parentSpanId }) => parentSpanId === request.spanId))
})

test('the span of a refused request has its problem code, and no span contains a secret', async () => {
  await service.client.send({ method: 'GET', target: '/v1/transactions/unknown-reference' })
  const refused = await until('the span of the refusal', () => spans.find(({ name }) => name === 'getTransaction'))
  assert.equal(attribute(refused, 'code')?.stringValue, 'not_found')
  const text = JSON.stringify(spans)
  for (const secret of [service.credentials.apiSecret, service.credentials.apiKey]) assert.ok(!text.includes(secret))
})
