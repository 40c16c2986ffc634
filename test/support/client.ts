/**
 * A signing client written from the interface document. It shares no code with the service, so that each checks the other.
 * It can also sign one request and send another, and send invalid requests.
 */
import assert from 'node:assert/strict'
import { type KeyObject, createHash, createPrivateKey, randomUUID, sign as rsaSign } from 'node:crypto'
import { type Agent, type IncomingHttpHeaders, type OutgoingHttpHeaders, request } from 'node:http'

export type Json = null | boolean | number | string | readonly Json[] | JsonObject
export type JsonObject = { readonly [key: string]: Json }

export type Credentials = {
  readonly partnerId: string
  readonly apiKey: string
  readonly apiSecret: string
  readonly privateKeyPem: string
}

export type Answer = {
  readonly status: number
  /** The request, for the message of a failed assertion. */
  readonly asked: string
  readonly headers: IncomingHttpHeaders
  /** Lower case, sorted, without values. */
  readonly headerNames: readonly string[]
  readonly text: string
  /** The body as a JSON object. Throws if it is none. */
  readonly json: JsonObject
  /** The body with every number as its source text. */
  readonly literals: JsonObject
}

/** Signed parts that differ from the sent ones. `query` is the canonical query. */
export type SignedParts = {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly timestamp: string
  readonly nonce: string
  readonly secret: string
  readonly body: Uint8Array
}

export type Call = {
  readonly method: string
  /** Path and query exactly as they are sent. */
  readonly target: string
  /** Text and bytes are sent unchanged, other values as JSON. */
  readonly body?: Json | Uint8Array
  readonly timestamp?: string
  readonly nonce?: string
  readonly signed?: Partial<SignedParts>
  /** Replaces a header of that exact name. Undefined omits it; a list sends it several times. */
  readonly headers?: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly chunked?: boolean
  /** Keeps connections. Default: each request has its own. */
  readonly agent?: Agent
}

export type Client = {
  readonly send: (call: Call) => Promise<Answer>
  readonly get: (target: string) => Promise<Answer>
  readonly post: (target: string, body?: Json) => Promise<Answer>
  readonly put: (target: string, body: Json) => Promise<Answer>
  readonly patch: (target: string, body: Json) => Promise<Answer>
  readonly delete: (target: string) => Promise<Answer>
}

/** Encodes everything but the unreserved characters of RFC 3986. Contract page, canonical query. */
export function percentEncode(text: string): string {
  return [...Buffer.from(text, 'utf8')]
    .map((byte) => {
      const char = String.fromCharCode(byte)
      return /[A-Za-z0-9\-._~]/.test(char) ? char : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
    })
    .join('')
}

/** Sorted by name and value, with duplicates and empty values, without the leading `?`. */
export function canonicalQuery(query: string): string {
  if (query === '') return ''
  const pairs = query.split('&').map((pair): [string, string] => {
    const [name = '', ...rest] = pair.split('=')
    return [percentEncode(decodeURIComponent(name)), percentEncode(decodeURIComponent(rest.join('=')))]
  })
  const order = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)
  return pairs
    .sort((a, b) => order(a[0], b[0]) || order(a[1], b[1]))
    .map(([name, value]) => `${name}=${value}`)
    .join('&')
}

export function nowSeconds(): number {
  return Math.floor(Date.now() / 1000)
}

function bytesOf(body: Json | Uint8Array | undefined): Buffer {
  if (body === undefined) return Buffer.alloc(0)
  if (body instanceof Uint8Array) return Buffer.from(body)
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body), 'utf8')
}

function signatureOf(parts: SignedParts, key: KeyObject): string {
  const digest = createHash('sha256').update(parts.body).digest('hex')
  const text = [parts.method, parts.path, parts.query, parts.timestamp, parts.nonce, parts.secret, digest].join('\n')
  return rsaSign('sha256', Buffer.from(text, 'utf8'), key).toString('base64')
}

/** The types of Node lack the third argument of a `JSON.parse` reviver. */
type SourceReviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown
const parseWithSource = JSON.parse as (text: string, reviver?: SourceReviver) => unknown

function objectOf(text: string, reviver?: SourceReviver): JsonObject {
  const value = parseWithSource(text, reviver)
  assert.ok(typeof value === 'object' && value !== null && !Array.isArray(value), `not a JSON object: ${text}`)
  return value as JsonObject
}

function answerOf(asked: string, status: number, headers: IncomingHttpHeaders, text: string): Answer {
  return {
    status,
    asked,
    headers,
    headerNames: Object.keys(headers).sort(),
    text,
    get json() {
      return objectOf(text)
    },
    get literals() {
      return objectOf(text, (_key, value, context) => (typeof value === 'number' ? context.source : value))
    },
  }
}

const askedCharsMax = 300

/** Uses one connection per request, so that a closed connection does not affect another test. */
function exchange(url: URL, { target, method, agent }: Call, headers: OutgoingHttpHeaders, body: Buffer) {
  return new Promise<Answer>((resolve, reject) => {
    const { hostname, port } = url
    const said = JSON.stringify({ ...headers, Signature: undefined })
    const asked = `${method} ${target} ${body.toString('utf8').slice(0, askedCharsMax)} ${said.slice(0, askedCharsMax)}`
    const outgoing = request({ hostname, port, path: target, method, headers, agent: agent ?? false }, (incoming) => {
      const chunks: Buffer[] = []
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
      incoming.on('error', reject)
      incoming.on('end', () =>
        resolve(answerOf(asked, incoming.statusCode ?? 0, incoming.headers, Buffer.concat(chunks).toString('utf8'))),
      )
    })
    outgoing.setTimeout(60_000, () => outgoing.destroy(new Error(`no answer in 60 s: ${method} ${target}`)))
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}

export function createClient(baseUrl: string, credentials: Credentials): Client {
  const url = new URL(baseUrl)
  const key = createPrivateKey(credentials.privateKeyPem)

  const send = (call: Call): Promise<Answer> => {
    const [path = '', ...query] = call.target.split('?')
    const body = bytesOf(call.body)
    const timestamp = call.timestamp ?? String(nowSeconds())
    const nonce = call.nonce ?? randomUUID()
    const secret = credentials.apiSecret
    const defaults = { method: call.method, path, timestamp, nonce, secret, body }
    const parts = { ...defaults, query: call.signed?.query ?? canonicalQuery(query.join('?')), ...call.signed }
    const given: Call['headers'] = {
      ApiKey: credentials.apiKey,
      Nonce: nonce,
      Timestamp: timestamp,
      Signature: signatureOf(parts, key),
      'Content-Type': call.body === undefined ? undefined : 'application/json',
      'Content-Length': call.chunked || (call.method === 'GET' && body.length === 0) ? undefined : String(body.length),
      'Transfer-Encoding': call.chunked ? 'chunked' : undefined,
      ...call.headers,
    }
    const headers = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
    return exchange(url, call, headers as OutgoingHttpHeaders, body)
  }

  return clientSending(send)
}

/** A client whose methods all send by `send`. */
export function clientSending(send: Client['send']): Client {
  const withBody = (method: string) => (target: string, body?: Json) =>
    send(body === undefined ? { method, target } : { method, target, body })
  return {
    send,
    get: (target) => send({ method: 'GET', target }),
    post: withBody('POST'),
    put: withBody('PUT'),
    patch: withBody('PATCH'),
    delete: (target) => send({ method: 'DELETE', target }),
  }
}

/** Requires `status` and returns the body. */
export function success(answer: Answer, status = 200): JsonObject {
  assert.equal(answer.status, status, `expected ${status}, got ${answer.status} ${answer.text}\n  to ${answer.asked}`)
  return answer.json
}

export function textAt(object: JsonObject, field: string): string {
  const value = object[field]
  assert.ok(typeof value === 'string', `${field} must be text: ${JSON.stringify(object)}`)
  return value
}

/** The first of these fields that is text. */
export const firstText = (object: JsonObject, fields: readonly string[]): string | undefined =>
  fields.map((field) => object[field]).find((value) => typeof value === 'string')

export function objectAt(object: JsonObject, field: string): JsonObject {
  const value = object[field]
  assert.ok(typeof value === 'object' && value !== null && !Array.isArray(value), `${field} must be an object`)
  return value as JsonObject
}

export function listAt(object: JsonObject, field = 'data'): readonly JsonObject[] {
  const value = object[field]
  assert.ok(Array.isArray(value), `${field} must be a list: ${JSON.stringify(object)}`)
  return value as readonly JsonObject[]
}
