/**
 * Pure: common mistakes in canonical strings. Each function lists texts that a client may have signed instead of the right
 * item, with the name of the mistake.
 */
import { createHash } from 'node:crypto'
import { canonicalQuery, parseJsonExactly, sha256Hex, type SignatureMistake } from '@partner-payments/wire'

export type CanonicalItems = {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly timestamp: string
  readonly nonce: string
  readonly secret: string
  readonly bodyHash: string
}

/** Items that a client may have signed instead of the right ones. */
export type Variant = { readonly changes: Partial<CanonicalItems>; readonly mistake: SignatureMistake }

/** One way in which a client may have laid out the correct items. */
export type Layout = { readonly write: (items: readonly string[]) => string; readonly mistake: SignatureMistake }

export type SignedParts = {
  readonly method: string
  readonly path: string
  /** The query as sent, without the leading `?`. */
  readonly query: string
  readonly timestamp: string
  readonly nonce: string
  readonly body: Uint8Array
}

/** Maximum size of a body that is serialised in other forms. Larger bodies would take longer than the request. */
const reserialisedBytesMax = 16 * 1024

const isSafeToDecode = (text: string): boolean => {
  try {
    return decodeURIComponent(text) !== ''
  } catch {
    return false
  }
}

export function methodVariants({ method }: SignedParts): readonly Variant[] {
  const cased = [method.toLowerCase(), method.charAt(0) + method.slice(1).toLowerCase(), method.toUpperCase()]
  const others = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', '']
  return [
    ...cased.map((text): Variant => ({ changes: { method: text }, mistake: 'method_case' })),
    ...others.map((text): Variant => ({ changes: { method: text }, mistake: 'method' })),
  ]
}

/** Lists wrong paths. `origins`: the addresses of the API, with scheme, host and port. */
export function pathVariants(
  { path, query }: SignedParts,
  items: CanonicalItems,
  origins: readonly string[],
): readonly Variant[] {
  const hosts = origins.flatMap((origin) => [origin, origin.replace(/^https?:\/\//, '')])
  const paths = [
    path.replace(/^\/v1(?=\/|$)/, ''),
    path.replace(/^\/v1\//, ''),
    path.replace(/^\//, ''),
    `${path}/`,
    path.replace(/\/$/, ''),
    `/api${path}`,
    `/v1${path}`,
    ...(isSafeToDecode(path) ? [decodeURIComponent(path), encodeURI(decodeURIComponent(path))] : []),
    encodeURI(path),
    encodeURIComponent(path),
    path.toLowerCase(),
    path.toUpperCase(),
    '',
    ...hosts.map((host) => `${host}${path}`),
  ]
  const queries = query === '' ? [] : [query, items.query]
  const targets = queries.flatMap((text) =>
    [path, ...hosts.map((host) => host + path)].map((each) => `${each}?${text}`),
  )
  return [
    ...paths.map((text): Variant => ({ changes: { path: text }, mistake: 'path' })),
    ...targets.flatMap((text): readonly Variant[] => [
      { changes: { path: text }, mistake: 'path_with_query' },
      { changes: { path: text, query: '' }, mistake: 'path_with_query' },
    ]),
  ]
}

const encodeForm = (text: string) => new URLSearchParams([['', text]]).toString().slice(1)

type Pair = readonly [name: string, value: string]

const sorted = (pairs: readonly Pair[]) =>
  pairs.toSorted(([a, x], [b, y]) => (a < b ? -1 : a > b ? 1 : x < y ? -1 : x > y ? 1 : 0))
const joined = (pairs: readonly Pair[], encode: (text: string) => string) =>
  pairs.map(([name, value]) => `${encode(name)}=${encode(value)}`).join('&')
const unchanged = (text: string) => text

export function queryVariants({ query }: SignedParts, items: CanonicalItems): readonly Variant[] {
  if (query === '')
    return ['?', 'null', 'undefined'].map((text) => ({ changes: { query: text }, mistake: 'query_missing' }))
  const sent = query.split('&').map((pair): Pair => {
    const [name = '', ...value] = pair.split('=')
    return [name, value.join('=')]
  })
  const decoded = sent.map(([name, value]): Pair => [decodeURIComponent(name), decodeURIComponent(value)])
  const plus = sent.map(([name, value]): Pair => [name.replaceAll('+', ' '), value.replaceAll('+', ' ')])
  const spaced = plus.map(([name, value]): Pair => [decodeURIComponent(name), decodeURIComponent(value)])
  const last = [...new Map(sorted(decoded)).entries()]
  const canonicalInOrder = query.split('&').map(canonicalQuery).join('&')
  const encodings: readonly string[] = [
    joined(sorted(sent), unchanged),
    ...[decoded, sorted(decoded), sorted(spaced), last].flatMap((pairs) => [
      joined(pairs, unchanged),
      joined(pairs, encodeURIComponent),
      joined(pairs, encodeForm),
    ]),
    items.query.replaceAll(/%[0-9A-F]{2}/g, (digits) => digits.toLowerCase()),
    items.query.replaceAll(/=(?=&|$)/g, ''),
    items.query
      .split('&')
      .filter((pair) => !pair.endsWith('='))
      .join('&'),
  ]
  const orders = [
    canonicalInOrder,
    canonicalInOrder.split('&').toReversed().join('&'),
    items.query.split('&').toReversed().join('&'),
  ]
  return [
    ...[items.query, query].map((text): Variant => ({
      changes: { query: `?${text}` },
      mistake: 'query_question_mark',
    })),
    { changes: { query: '' }, mistake: 'query_missing' },
    ...orders.map((text): Variant => ({ changes: { query: text }, mistake: 'query_order' })),
    ...encodings.map((text): Variant => ({ changes: { query: text }, mistake: 'query_encoding' })),
    { changes: { query }, mistake: canonicalQuery(query) === items.query ? 'query_encoding' : 'query_order' },
  ]
}

/** Lists wrong timestamps: seconds around the header, the nearest first, and the milliseconds of its second. */
export function timestampVariants({ timestamp }: SignedParts): readonly Variant[] {
  const seconds = Number(timestamp)
  if (!/^\d{1,10}$/.test(timestamp)) return []
  const near = Array.from({ length: 60 }, (_, index) => [seconds + index + 1, seconds - index - 1].map(String)).flat()
  const iso = new Date(seconds * 1000).toISOString()
  const dates = [
    iso,
    iso.replace('.000Z', 'Z'),
    iso.replace('.000Z', '+00:00'),
    iso.slice(0, 19),
    new Date(seconds * 1000).toUTCString(),
  ]
  const exact = Array.from({ length: 1000 }, (_, ms) => `${timestamp}${String(ms).padStart(3, '0')}`)
  return [...near.slice(0, 4), ...dates, `${timestamp}.0`, '', ...near.slice(4), ...exact].map((text) => ({
    changes: { timestamp: text },
    mistake: 'timestamp_mismatch',
  }))
}

export function nonceVariants({ nonce }: SignedParts): readonly Variant[] {
  const digits = nonce.replaceAll(/[^0-9a-fA-F]/g, '')
  const hyphens = digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
  const forms = [nonce, hyphens, digits, `{${hyphens}}`, `(${hyphens})`]
  return [...forms.flatMap((text) => [text, text.toLowerCase(), text.toUpperCase()]), ''].map((text) => ({
    changes: { nonce: text },
    mistake: 'nonce_spelling',
  }))
}

export function secretVariants(secret: string, apiKey: string | undefined): readonly Variant[] {
  const bytes = Buffer.from(secret, 'utf8')
  const spelled = [
    `${secret}\n`,
    `${secret}\r\n`,
    ` ${secret}`,
    `${secret} `,
    `"${secret}"`,
    bytes.toString('base64'),
    bytes.toString('hex'),
    sha256Hex(bytes),
    encodeURIComponent(secret),
    secret.toLowerCase(),
    secret.toUpperCase(),
    ...(['base64', 'base64url', 'hex'] as const).map((encoding) => Buffer.from(secret, encoding).toString('utf8')),
    ...(['base64', 'base64url'] as const).map((encoding) => Buffer.from(secret, encoding).toString('hex')),
  ]
  const missing = ['', '<API_SECRET>', 'null', 'undefined', ...(apiKey === undefined ? [] : [apiKey])]
  return [
    ...missing.map((text): Variant => ({ changes: { secret: text }, mistake: 'secret_missing' })),
    ...spelled.map((text): Variant => ({ changes: { secret: text }, mistake: 'secret_spelling' })),
  ]
}

type HashAlgorithm = 'sha1' | 'sha256' | 'sha512' | 'md5'
const bodyHasher = (algorithm: HashAlgorithm, bytes: Uint8Array) => createHash(algorithm).update(bytes)

export function bodyVariants({ body }: SignedParts, items: CanonicalItems): readonly Variant[] {
  const hash = bodyHasher('sha256', body).digest()
  const variant = (bodyHash: string, mistake: SignatureMistake): Variant => ({ changes: { bodyHash }, mistake })
  const forms = [
    hash.toString('base64'),
    hash.toString('base64url'),
    sha256Hex(hash),
    sha256Hex(Buffer.from(items.bodyHash, 'utf8')),
    ...(['sha1', 'sha512', 'md5'] as const).map((algorithm) => bodyHasher(algorithm, body).digest('hex')),
  ]
  const always = [
    variant(items.bodyHash.toUpperCase(), 'body_hash_case'),
    ...forms.map((text) => variant(text, 'body_hash_form')),
    variant('', 'body_missing'),
  ]
  if (body.length === 0)
    return [
      ...always,
      ...['{}', 'null', '""', '[]', 'undefined'].map((text) =>
        variant(sha256Hex(Buffer.from(text)), 'body_reserialised'),
      ),
    ]
  const text = Buffer.from(body).toString('utf8')
  const serialised = body.length > reserialisedBytesMax ? [] : reserialise(text)
  return [
    ...always,
    variant(sha256Hex(Buffer.alloc(0)), 'body_missing'),
    variant(text, 'body_not_hashed'),
    variant(bodyHasher('sha256', Buffer.from(text, 'latin1')).digest('hex'), 'body_reserialised'),
    ...serialised.map((each) => variant(sha256Hex(Buffer.from(each)), 'body_reserialised')),
  ]
}

const outsideStrings = (text: string, pattern: RegExp, replacement: string) =>
  text.replace(new RegExp(`("(?:[^"\\\\]|\\\\.)*")|${pattern.source}`, 'g'), (match, string?: string) =>
    string === undefined ? match.replace(pattern, replacement) : match,
  )
const escapeNonAscii = (text: string) =>
  text.replaceAll(/[\u0080-\uffff]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !('rawJSON' in value)

/** Applies `change` to the fields of each object, from the innermost one. */
function rebuild(value: unknown, change: (fields: [string, unknown][]) => [string, unknown][]): unknown {
  if (Array.isArray(value)) return value.map((each) => rebuild(each, change))
  if (!isObject(value)) return value
  const fields = Object.entries(value).map(([name, each]): [string, unknown] => [name, rebuild(each, change)])
  return Object.fromEntries(change(fields))
}

/** Lists other texts of the same JSON value: the output of common libraries, and common changes in transit. */
function reserialise(text: string): readonly string[] {
  const changed = [
    `${text}\n`,
    text.trim(),
    `\ufeff${text}`,
    text.replaceAll('\r\n', '\n'),
    text.replaceAll('\n', '\r\n'),
  ]
  let exact: unknown
  let plain: unknown
  try {
    exact = parseJsonExactly(text)
    plain = JSON.parse(text)
  } catch {
    return changed
  }
  const withPoint = outsideStrings(text, /(\d)\.(\d*?)0*(?=[,}\]\s]|$)/, '$1.$2').replaceAll(
    /(\d)\.(?=[,}\]\s]|$)/g,
    '$1.0',
  )
  const values = [plain, exact, ...(isJson(withPoint) ? [parseJsonExactly(withPoint)] : [])]
  const ordered = values.flatMap((value) => [
    value,
    rebuild(value, (fields) => fields.toSorted(([a], [b]) => (a < b ? -1 : 1))),
    rebuild(value, (fields) => fields.filter(([, each]) => each !== null)),
  ])
  const written = ordered.flatMap((value) => {
    const compact = JSON.stringify(value)
    return [
      compact,
      outsideStrings(outsideStrings(compact, /,/, ', '), /:/, ': '),
      ...[2, 4, '\t'].map((indent) => JSON.stringify(value, null, indent)),
    ]
  })
  const escaped = written.flatMap((each) => [
    each,
    escapeNonAscii(each),
    each.replaceAll('/', '\\/'),
    JSON.stringify(each),
  ])
  return [...new Set([...changed, ...escaped, ...written.map((each) => `${each}\n`)])]
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

const joinedBy =
  (separator: string, before = '', after = '') =>
  (items: readonly string[]) =>
    before + items.join(separator) + after

/** The ways to join the items that may be combined with a wrong item. */
export const joinLayouts: readonly Layout[] = [
  { write: joinedBy('\n', '', '\n'), mistake: 'trailing_line_feed' },
  { write: joinedBy('\n', '\n'), mistake: 'trailing_line_feed' },
  { write: joinedBy('\r\n'), mistake: 'line_feeds' },
  { write: joinedBy('\r\n', '', '\r\n'), mistake: 'line_feeds' },
]

/** The places of the items in the canonical string. */
const itemCount = 7
const itemNames = ['method', 'path', 'query', 'timestamp', 'nonce', 'secret', 'bodyHash'] as const
const indexes = Array.from({ length: itemCount }, (_, index) => index)

export const itemList = (items: CanonicalItems): readonly string[] => itemNames.map((name) => items[name])

const omitted: Readonly<Record<(typeof itemNames)[number], SignatureMistake>> = {
  method: 'method',
  path: 'path',
  query: 'query_missing',
  timestamp: 'timestamp_mismatch',
  nonce: 'nonce_spelling',
  secret: 'secret_missing',
  bodyHash: 'body_missing',
}

/** Returns the mistake of a line that differs, if no variant explains the canonical string. */
export const lineMistake = (index: number): SignatureMistake =>
  (
    [
      'method',
      'path',
      'query_encoding',
      'timestamp_mismatch',
      'nonce_spelling',
      'secret_spelling',
      'body_reserialised',
    ] as const
  )[index] ?? 'line_feeds'

const withoutIndex = (items: readonly string[], index: number) => items.filter((_, at) => at !== index)

export const layouts: readonly Layout[] = [
  ...joinLayouts,
  { write: joinedBy('\n', '', '\r\n'), mistake: 'trailing_line_feed' },
  { write: joinedBy('\n', '', '\n\n'), mistake: 'trailing_line_feed' },
  { write: joinedBy('\n', '', ' '), mistake: 'trailing_line_feed' },
  ...['\r', '\n\r', '\n\n', '\\n', '\\r\\n', '', ' ', '|', '&', ',', ':', '.', ';', '\t', '\0'].map(
    (separator): Layout => ({ write: joinedBy(separator), mistake: 'line_feeds' }),
  ),
  ...itemNames.map((name, index): Layout => ({
    write: (items) => withoutIndex(items, index).join('\n'),
    mistake: omitted[name],
  })),
  ...indexes.flatMap((from) =>
    indexes.map((to): Layout => ({
      write: (items) =>
        withoutIndex(items, from)
          .toSpliced(to, 0, items[from] ?? '')
          .join('\n'),
      mistake: 'item_order',
    })),
  ),
  ...indexes.flatMap((a) =>
    indexes.map((b): Layout => ({
      write: (items) =>
        items
          .with(a, items[b] ?? '')
          .with(b, items[a] ?? '')
          .join('\n'),
      mistake: 'item_order',
    })),
  ),
]
