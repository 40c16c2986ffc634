/** An HTTP server on loopback that records every request and responds as a test says, and an SDK client for it. */
import assert from 'node:assert/strict'
import { createPublicKey, verify } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type IncomingHttpHeaders, type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { type ClientOptions, createClient } from '@partner-payments/sdk'
import { canonicalString } from '@partner-payments/wire'

export type ReceivedRequest = {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}
export type Respond = (response: ServerResponse, count: number, request: ReceivedRequest) => void

export const privateKeyPem = readFileSync(new URL('../../sdk/vectors/key.pem', import.meta.url), 'utf8')
const apiSecret = 'sk_test'
const publicKey = createPublicKey(privateKeyPem)

export async function startScriptedApi(
  context: TestContext,
  respond: Respond,
  options: Partial<ClientOptions> = {},
  prefix = '',
) {
  const requests: ReceivedRequest[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { method = '', url = '', headers } = request
      const received = { method, url, headers, body: Buffer.concat(chunks).toString() }
      requests.push(received)
      respond(response, requests.length, received)
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  context.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const baseUrl = `http://127.0.0.1:${port}${prefix}`
  const client = createClient({ baseUrl, apiKey: 'ak_test', apiSecret, privateKeyPem, backoffMs: 1, ...options })
  return { requests, client, baseUrl }
}

export const json = (status: number, body: unknown, headers: Record<string, string> = {}): Respond => {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return (response) => void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text)
}
export const problem = (status: number, code: string, headers: Record<string, string> = {}) =>
  json(status, { type: 't', title: 'T', status, detail: 'D', instance: '/', code, requestId: 'r-1' }, headers)
export const drop: Respond = (response) => void response.destroy()
export const inSequence =
  (...responds: readonly Respond[]): Respond =>
  (response, count, request) =>
    responds[Math.min(count, responds.length) - 1]?.(response, count, request)

export function assertSigned({ method, url, headers, body }: ReceivedRequest): void {
  const [path = '', query = ''] = url.split('?')
  const canonical = canonicalString({
    method,
    path,
    query,
    timestamp: String(headers.timestamp),
    nonce: String(headers.nonce),
    apiSecret,
    body: Buffer.from(body),
  })
  const signature = Buffer.from(String(headers.signature), 'base64')
  assert.ok(verify('sha256', Buffer.from(canonical), publicKey, signature), `${method} ${url} is not signed`)
  assert.equal(headers.apikey, 'ak_test')
}
