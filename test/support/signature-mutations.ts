/**
 * Signed requests with one mistake each, as real clients make them: a wrong line feed, an unsorted query, a body that was
 * serialised again, PSS padding and so on. Written from the interface document, not from the code that names the mistakes.
 */
import {
  constants,
  createHash,
  createPrivateKey,
  generateKeyPairSync,
  type KeyObject,
  privateEncrypt,
  randomUUID,
  sign,
} from 'node:crypto'
import { canonicalQuery, type Credentials, nowSeconds } from './client.ts'

export type SignedCall = {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly body: string
  readonly timestamp: string
  readonly nonce: string
  readonly signature: string
}
export type MutatedCall = { readonly name: string; readonly expected: string; readonly call: SignedCall }

type Base = { readonly method: string; readonly path: string; readonly query: string; readonly body: string }
type Plan = Base & {
  timestamp: string
  nonce: string
  lines: string[]
  separator: string
  ending: string
  signer: (text: string) => Buffer
  encode: (signature: Buffer) => string
}
type Mutation = {
  readonly name: string
  readonly expected: string
  readonly needs?: 'query' | 'body' | 'json' | 'path'
  readonly change: (plan: Plan) => void
}

const [METHOD, PATH, QUERY, TIMESTAMP, NONCE, SECRET, BODY] = [0, 1, 2, 3, 4, 5, 6]
const sha256 = (text: string | Uint8Array) => createHash('sha256').update(text).digest()
const hex = (text: string) => sha256(text).toString('hex')
const line = (plan: Plan, index: number) => plan.lines[index] ?? ''
const set = (index: number, text: (plan: Plan) => string) => (plan: Plan) => {
  plan.lines[index] = text(plan)
}
const swap = (a: number, b: number) => (plan: Plan) => {
  const first = line(plan, a)
  plan.lines[a] = line(plan, b)
  plan.lines[b] = first
}
const otherKey = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey

const sortedJson = (text: string) => {
  const value = JSON.parse(text) as Record<string, unknown>
  return JSON.stringify(Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))))
}
/** As `json.dumps` of Python writes it: spaces after commas and colons, escapes outside ASCII. */
const pythonJson = (text: string) =>
  JSON.stringify(JSON.parse(text), null, 1)
    .replaceAll(/\n\s*/g, ' ')
    .replaceAll('{ ', '{')
    .replaceAll(' }', '}')
    .replaceAll('[ ', '[')
    .replaceAll(' ]', ']')
    .replaceAll(/[\u0080-\uffff]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)

const mutationsOf = (key: KeyObject, baseUrl: string): readonly Mutation[] => [
  { name: 'CRLF', expected: 'line_feeds', change: (plan) => (plan.separator = '\r\n') },
  { name: 'escaped line feeds', expected: 'line_feeds', change: (plan) => (plan.separator = '\\n') },
  { name: 'no line feeds', expected: 'line_feeds', change: (plan) => (plan.separator = '') },
  { name: 'trailing LF', expected: 'trailing_line_feed', change: (plan) => (plan.ending = '\n') },
  { name: 'method in lower case', expected: 'method_case', change: set(METHOD, (plan) => plan.method.toLowerCase()) },
  {
    name: 'another method',
    expected: 'method',
    change: set(METHOD, (plan) => (plan.method === 'GET' ? 'POST' : 'GET')),
  },
  { name: 'path without version', expected: 'path', change: set(PATH, (plan) => plan.path.replace('/v1', '')) },
  { name: 'path with slash at the end', expected: 'path', change: set(PATH, (plan) => `${plan.path}/`) },
  { name: 'path without first slash', expected: 'path', change: set(PATH, (plan) => plan.path.slice(1)) },
  { name: 'absolute URL', expected: 'path', change: set(PATH, (plan) => `${baseUrl}${plan.path}`) },
  { name: 'decoded path', expected: 'path', needs: 'path', change: set(PATH, (plan) => decodeURIComponent(plan.path)) },
  {
    name: 'path with query',
    expected: 'path_with_query',
    needs: 'query',
    change: set(PATH, (plan) => `${plan.path}?${plan.query}`),
  },
  {
    name: 'path with query instead of the query',
    expected: 'path_with_query',
    needs: 'query',
    change: (plan) => {
      plan.lines[PATH] = `${plan.path}?${plan.query}`
      plan.lines[QUERY] = ''
    },
  },
  { name: 'no query', expected: 'query_missing', needs: 'query', change: set(QUERY, () => '') },
  { name: 'no line for the query', expected: 'query_missing', change: (plan) => void plan.lines.splice(QUERY, 1) },
  {
    name: 'question mark',
    expected: 'query_question_mark',
    needs: 'query',
    change: set(QUERY, (plan) => `?${line(plan, QUERY)}`),
  },
  {
    name: 'query in the order of the request',
    expected: 'query_order',
    needs: 'query',
    change: set(QUERY, (plan) => plan.query.split('&').map(canonicalQuery).join('&')),
  },
  {
    name: 'decoded query',
    expected: 'query_encoding',
    needs: 'query',
    change: set(QUERY, (plan) => decodeURIComponent(line(plan, QUERY))),
  },
  {
    name: 'lower-case percent-encoding',
    expected: 'query_encoding',
    needs: 'query',
    change: set(QUERY, (plan) => line(plan, QUERY).replaceAll(/%../g, (code) => code.toLowerCase())),
  },
  {
    name: 'form encoding',
    expected: 'query_encoding',
    needs: 'query',
    change: set(QUERY, (plan) => line(plan, QUERY).replaceAll('%20', '+')),
  },
  {
    name: 'milliseconds signed',
    expected: 'timestamp_mismatch',
    change: set(TIMESTAMP, (plan) => `${plan.timestamp}417`),
  },
  {
    name: 'a later second signed',
    expected: 'timestamp_mismatch',
    change: set(TIMESTAMP, (plan) => String(Number(plan.timestamp) + 1)),
  },
  {
    name: 'date signed',
    expected: 'timestamp_mismatch',
    change: set(TIMESTAMP, (plan) => new Date(Number(plan.timestamp) * 1000).toISOString()),
  },
  {
    name: 'milliseconds sent',
    expected: 'timestamp_unit',
    change: (plan) => {
      plan.timestamp = `${plan.timestamp}000`
      plan.lines[TIMESTAMP] = plan.timestamp
    },
  },
  {
    name: 'slow clock',
    expected: 'clock',
    change: (plan) => {
      plan.timestamp = String(Number(plan.timestamp) - 3600)
      plan.lines[TIMESTAMP] = plan.timestamp
    },
  },
  { name: 'nonce in upper case', expected: 'nonce_spelling', change: set(NONCE, (plan) => plan.nonce.toUpperCase()) },
  {
    name: 'nonce without hyphens',
    expected: 'nonce_spelling',
    change: set(NONCE, (plan) => plan.nonce.replaceAll('-', '')),
  },
  {
    name: 'nonce that is no GUID',
    expected: 'nonce_format',
    change: (plan) => {
      plan.nonce = plan.nonce.slice(0, 12)
      plan.lines[NONCE] = plan.nonce
    },
  },
  { name: 'empty secret', expected: 'secret_missing', change: set(SECRET, () => '') },
  { name: 'no line for the secret', expected: 'secret_missing', change: (plan) => void plan.lines.splice(SECRET, 1) },
  {
    name: 'secret with a line feed',
    expected: 'secret_spelling',
    change: set(SECRET, (plan) => `${line(plan, SECRET)}\n`),
  },
  { name: 'secret at the end', expected: 'item_order', change: swap(SECRET, BODY) },
  { name: 'nonce before timestamp', expected: 'item_order', change: swap(TIMESTAMP, NONCE) },
  {
    name: 'secret first',
    expected: 'item_order',
    change: (plan) => plan.lines.unshift(...plan.lines.splice(SECRET, 1)),
  },
  { name: 'upper-case hash', expected: 'body_hash_case', change: set(BODY, (plan) => line(plan, BODY).toUpperCase()) },
  {
    name: 'hash in Base64',
    expected: 'body_hash_form',
    change: set(BODY, (plan) => sha256(plan.body).toString('base64')),
  },
  { name: 'hash of the hash', expected: 'body_hash_form', change: set(BODY, (plan) => hex(hex(plan.body))) },
  {
    name: 'body instead of its hash',
    expected: 'body_not_hashed',
    needs: 'body',
    change: set(BODY, (plan) => plan.body),
  },
  { name: 'hash of an empty body', expected: 'body_missing', needs: 'body', change: set(BODY, () => hex('')) },
  { name: 'empty hash', expected: 'body_missing', change: set(BODY, () => '') },
  {
    name: 'keys sorted',
    expected: 'body_reserialised',
    needs: 'json',
    change: set(BODY, (plan) => hex(sortedJson(plan.body))),
  },
  {
    name: 'JSON with indentation',
    expected: 'body_reserialised',
    needs: 'json',
    change: set(BODY, (plan) => hex(JSON.stringify(JSON.parse(plan.body), null, 2))),
  },
  {
    name: 'JSON of Python',
    expected: 'body_reserialised',
    needs: 'json',
    change: set(BODY, (plan) => hex(pythonJson(plan.body))),
  },
  {
    name: 'body with a line feed',
    expected: 'body_reserialised',
    needs: 'body',
    change: set(BODY, (plan) => hex(`${plan.body}\n`)),
  },
  {
    name: 'PSS padding',
    expected: 'padding_scheme',
    change: (plan) => {
      plan.signer = (text) =>
        sign('sha256', Buffer.from(text), { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 })
    },
  },
  {
    name: 'SHA-1',
    expected: 'hash_algorithm',
    change: (plan) => (plan.signer = (text) => sign('sha1', Buffer.from(text), key)),
  },
  {
    name: 'SHA-512',
    expected: 'hash_algorithm',
    change: (plan) => (plan.signer = (text) => sign('sha512', Buffer.from(text), key)),
  },
  {
    name: 'digest without its algorithm',
    expected: 'digest_info_missing',
    change: (plan) =>
      (plan.signer = (text) => privateEncrypt({ key, padding: constants.RSA_PKCS1_PADDING }, sha256(text))),
  },
  {
    name: 'hash of the string signed',
    expected: 'double_hash',
    change: (plan) => (plan.signer = (text) => sign('sha256', sha256(text), key)),
  },
  {
    name: 'hexadecimal hash of the string signed',
    expected: 'double_hash',
    change: (plan) => (plan.signer = (text) => sign('sha256', Buffer.from(hex(text)), key)),
  },
  {
    name: 'another private key',
    expected: 'private_key',
    change: (plan) => (plan.signer = (text) => sign('sha256', Buffer.from(text), otherKey)),
  },
  {
    name: 'HMAC',
    expected: 'signature_length',
    change: (plan) => (plan.signer = (text) => sha256(text)),
  },
  {
    name: 'hexadecimal signature',
    expected: 'signature_hex',
    change: (plan) => (plan.encode = (bytes) => bytes.toString('hex')),
  },
  {
    name: 'base64url signature',
    expected: 'signature_encoding',
    change: (plan) => (plan.encode = (bytes) => bytes.toString('base64url')),
  },
  {
    name: 'Base64 twice',
    expected: 'signature_encoding',
    change: (plan) => (plan.encode = (bytes) => Buffer.from(bytes.toString('base64')).toString('base64')),
  },
]

const bases: readonly Base[] = [
  { method: 'GET', path: '/v1/accounts', query: '', body: '' },
  { method: 'GET', path: '/v1/transactions', query: 'status=Completed&limit=10&category=Deposit', body: '' },
  {
    method: 'GET',
    path: '/v1/transactions',
    query: 'reference=Invoice%2042%2f7&cursor=&after=caf%C3%A9%20x',
    body: '',
  },
  { method: 'GET', path: '/v1/transactions/Order%207%2F2', query: '', body: '' },
  {
    method: 'POST',
    path: '/v1/customers',
    query: '',
    body: '{"email":"jörg@example.com","customerType":"Individual"}',
  },
  {
    method: 'PUT',
    path: '/v1/beneficiaries',
    query: '',
    body: '{ "name": "Grace B. Hopper", "alias": "rear", "id": 7 }',
  },
  {
    method: 'POST',
    path: '/v1/payouts/fiat',
    query: '',
    body: '{"amount":25.50,"currency":"EUR","beneficiaryId":"b1","reference":"Rent (June) / 7","idempotencyKey":"k:1, k:2"}',
  },
]

function applies({ needs }: Mutation, base: Base): boolean {
  if (needs === 'query') return base.query !== ''
  if (needs === 'path') return base.path.includes('%')
  if (needs === undefined) return true
  return base.body !== ''
}

function planOf(base: Base, credentials: Credentials, key: KeyObject): Plan {
  const timestamp = String(nowSeconds())
  const nonce = randomUUID()
  const { method, path, query, body } = base
  return {
    ...base,
    timestamp,
    nonce,
    lines: [method, path, canonicalQuery(query), timestamp, nonce, credentials.apiSecret, hex(body)],
    separator: '\n',
    ending: '',
    signer: (text) => sign('sha256', Buffer.from(text), key),
    encode: (bytes) => bytes.toString('base64'),
  }
}

function callOf({ method, path, query, body, timestamp, nonce, ...plan }: Plan): SignedCall {
  const text = plan.lines.join(plan.separator) + plan.ending
  return { method, path, query, body, timestamp, nonce, signature: plan.encode(plan.signer(text)) }
}

/** A request without mistake. */
export function signedCall(credentials: Credentials, base: Base): SignedCall {
  return callOf(planOf(base, credentials, createPrivateKey(credentials.privateKeyPem)))
}

/** Every mistake in every request that can have it. Mutations that change nothing for a request are left out. */
export function mutatedCalls(credentials: Credentials, baseUrl: string): readonly MutatedCall[] {
  const key = createPrivateKey(credentials.privateKeyPem)
  return mutationsOf(key, baseUrl).flatMap((mutation) =>
    bases
      .filter((base) => applies(mutation, base))
      .flatMap((base) => {
        const right = planOf(base, credentials, key)
        const plan = { ...right, lines: [...right.lines] }
        mutation.change(plan)
        const call = callOf(plan)
        const isSame = call.signature === callOf(right).signature && call.timestamp === right.timestamp
        return isSame
          ? []
          : [{ name: `${mutation.name}: ${base.method} ${base.path}?${base.query}`, expected: mutation.expected, call }]
      }),
  )
}
