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
type Mutation = readonly [
  name: string,
  expected: string,
  change: (plan: Plan) => void,
  needs?: 'query' | 'body' | 'path',
]

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
const signing = (signer: Plan['signer']) => (plan: Plan) => {
  plan.signer = signer
}
const sent = (index: number, key: 'timestamp' | 'nonce', text: (plan: Plan) => string) => (plan: Plan) => {
  plan[key] = text(plan)
  plan.lines[index] = plan[key]
}
const otherKey = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey

const sortedJson = (text: string) => {
  const value = JSON.parse(text) as Record<string, unknown>
  return JSON.stringify(Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))))
}
/** Writes JSON as `json.dumps` of Python does: spaces after commas and colons, escapes outside ASCII. */
const pythonJson = (text: string) =>
  JSON.stringify(JSON.parse(text), null, 1)
    .replaceAll(/\n\s*/g, ' ')
    .replaceAll('{ ', '{')
    .replaceAll(' }', '}')
    .replaceAll('[ ', '[')
    .replaceAll(' ]', ']')
    .replaceAll(/[\u0080-\uffff]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)

const mutationsOf = (key: KeyObject, baseUrl: string): readonly Mutation[] => [
  ['CRLF', 'line_feeds', (plan) => (plan.separator = '\r\n')],
  ['escaped line feeds', 'line_feeds', (plan) => (plan.separator = '\\n')],
  ['no line feeds', 'line_feeds', (plan) => (plan.separator = '')],
  ['trailing LF', 'trailing_line_feed', (plan) => (plan.ending = '\n')],
  ['method in lower case', 'method_case', set(METHOD, (plan) => plan.method.toLowerCase())],
  ['another method', 'method', set(METHOD, (plan) => (plan.method === 'GET' ? 'POST' : 'GET'))],
  ['path without version', 'path', set(PATH, (plan) => plan.path.replace('/v1', ''))],
  ['path with slash at the end', 'path', set(PATH, (plan) => `${plan.path}/`)],
  ['path without first slash', 'path', set(PATH, (plan) => plan.path.slice(1))],
  ['absolute URL', 'path', set(PATH, (plan) => `${baseUrl}${plan.path}`)],
  ['decoded path', 'path', set(PATH, (plan) => decodeURIComponent(plan.path)), 'path'],
  ['path with query', 'path_with_query', set(PATH, (plan) => `${plan.path}?${plan.query}`), 'query'],
  [
    'path with query instead of the query',
    'path_with_query',
    (plan) => {
      plan.lines[PATH] = `${plan.path}?${plan.query}`
      plan.lines[QUERY] = ''
    },
    'query',
  ],
  ['no query', 'query_missing', set(QUERY, () => ''), 'query'],
  ['no line for the query', 'query_missing', (plan) => void plan.lines.splice(QUERY, 1)],
  ['question mark', 'query_question_mark', set(QUERY, (plan) => `?${line(plan, QUERY)}`), 'query'],
  [
    'query in the order of the request',
    'query_order',
    set(QUERY, (plan) => plan.query.split('&').map(canonicalQuery).join('&')),
    'query',
  ],
  ['decoded query', 'query_encoding', set(QUERY, (plan) => decodeURIComponent(line(plan, QUERY))), 'query'],
  [
    'lower-case percent-encoding',
    'query_encoding',
    set(QUERY, (plan) => line(plan, QUERY).replaceAll(/%../g, (code) => code.toLowerCase())),
    'query',
  ],
  ['form encoding', 'query_encoding', set(QUERY, (plan) => line(plan, QUERY).replaceAll('%20', '+')), 'query'],
  ['milliseconds signed', 'timestamp_mismatch', set(TIMESTAMP, (plan) => `${plan.timestamp}417`)],
  ['a later second signed', 'timestamp_mismatch', set(TIMESTAMP, (plan) => String(Number(plan.timestamp) + 1))],
  [
    'date signed',
    'timestamp_mismatch',
    set(TIMESTAMP, (plan) => new Date(Number(plan.timestamp) * 1000).toISOString()),
  ],
  ['milliseconds sent', 'timestamp_unit', sent(TIMESTAMP, 'timestamp', (plan) => `${plan.timestamp}000`)],
  ['slow clock', 'clock', sent(TIMESTAMP, 'timestamp', (plan) => String(Number(plan.timestamp) - 3600))],
  ['nonce in upper case', 'nonce_spelling', set(NONCE, (plan) => plan.nonce.toUpperCase())],
  ['nonce without hyphens', 'nonce_spelling', set(NONCE, (plan) => plan.nonce.replaceAll('-', ''))],
  ['nonce that is no GUID', 'nonce_format', sent(NONCE, 'nonce', (plan) => plan.nonce.slice(0, 12))],
  ['empty secret', 'secret_missing', set(SECRET, () => '')],
  ['no line for the secret', 'secret_missing', (plan) => void plan.lines.splice(SECRET, 1)],
  ['secret with a line feed', 'secret_spelling', set(SECRET, (plan) => `${line(plan, SECRET)}\n`)],
  ['secret at the end', 'item_order', swap(SECRET, BODY)],
  ['nonce before timestamp', 'item_order', swap(TIMESTAMP, NONCE)],
  ['secret first', 'item_order', (plan) => plan.lines.unshift(...plan.lines.splice(SECRET, 1))],
  ['upper-case hash', 'body_hash_case', set(BODY, (plan) => line(plan, BODY).toUpperCase())],
  ['hash in Base64', 'body_hash_form', set(BODY, (plan) => sha256(plan.body).toString('base64'))],
  ['hash of the hash', 'body_hash_form', set(BODY, (plan) => hex(hex(plan.body)))],
  ['body instead of its hash', 'body_not_hashed', set(BODY, (plan) => plan.body), 'body'],
  ['hash of an empty body', 'body_missing', set(BODY, () => hex('')), 'body'],
  ['empty hash', 'body_missing', set(BODY, () => '')],
  ['keys sorted', 'body_reserialised', set(BODY, (plan) => hex(sortedJson(plan.body))), 'body'],
  [
    'JSON with indentation',
    'body_reserialised',
    set(BODY, (plan) => hex(JSON.stringify(JSON.parse(plan.body), null, 2))),
    'body',
  ],
  ['JSON of Python', 'body_reserialised', set(BODY, (plan) => hex(pythonJson(plan.body))), 'body'],
  ['body with a line feed', 'body_reserialised', set(BODY, (plan) => hex(`${plan.body}\n`)), 'body'],
  [
    'PSS padding',
    'padding_scheme',
    signing((text) =>
      sign('sha256', Buffer.from(text), { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 }),
    ),
  ],
  ['SHA-1', 'hash_algorithm', signing((text) => sign('sha1', Buffer.from(text), key))],
  ['SHA-512', 'hash_algorithm', signing((text) => sign('sha512', Buffer.from(text), key))],
  [
    'digest without its algorithm',
    'digest_info_missing',
    signing((text) => privateEncrypt({ key, padding: constants.RSA_PKCS1_PADDING }, sha256(text))),
  ],
  ['hash of the string signed', 'double_hash', signing((text) => sign('sha256', sha256(text), key))],
  [
    'hexadecimal hash of the string signed',
    'double_hash',
    signing((text) => sign('sha256', Buffer.from(hex(text)), key)),
  ],
  ['another private key', 'private_key', signing((text) => sign('sha256', Buffer.from(text), otherKey))],
  ['HMAC', 'signature_length', signing((text) => sha256(text))],
  ['hexadecimal signature', 'signature_hex', (plan) => (plan.encode = (bytes) => bytes.toString('hex'))],
  ['base64url signature', 'signature_encoding', (plan) => (plan.encode = (bytes) => bytes.toString('base64url'))],
  [
    'Base64 twice',
    'signature_encoding',
    (plan) => (plan.encode = (bytes) => Buffer.from(bytes.toString('base64')).toString('base64')),
  ],
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

function applies(needs: Mutation[3], base: Base): boolean {
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
  return mutationsOf(key, baseUrl).flatMap(([name, expected, change, needs]) =>
    bases
      .filter((base) => applies(needs, base))
      .flatMap((base) => {
        const right = planOf(base, credentials, key)
        const plan = { ...right, lines: [...right.lines] }
        change(plan)
        const call = callOf(plan)
        const isSame = call.signature === callOf(right).signature && call.timestamp === right.timestamp
        return isSame ? [] : [{ name: `${name}: ${base.method} ${base.path}?${base.query}`, expected, call }]
      }),
  )
}
