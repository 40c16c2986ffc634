/**
 * Generates requests from the valid one of each operation: fields replaced, removed and added, broken text, hostile path
 * parameters, queries and headers. The seed determines every request.
 */
import type { Call, Json, JsonObject } from './client.ts'
import { type Subject, subjects } from './requests.ts'
import type { Random } from './screening/corpus.ts'
import type { World } from './world.ts'

export type GeneratedRequest = { readonly subject: Subject; readonly call: Call; readonly mutation: string }

export const pick = <T>(random: Random, from: readonly T[]): T => {
  const chosen = from[Math.floor(random() * from.length)]
  if (chosen === undefined) throw new Error('the list is empty')
  return chosen
}

const hostileTexts: readonly string[] = [
  '',
  ' ',
  '.',
  '..',
  '\u0000',
  '\ud800',
  '\u202Egnp.exe',
  'Ａｄａ\u00A0Ｌｏｖｅｌａｃｅ',
  "'; drop table payouts.payouts; --",
  '<script>alert(1)</script>',
  '=HYPERLINK("http://example.com")',
  '${process.exit()}',
  '%00%2e%2e%2f',
  '../../etc/passwd',
  '\r\nX-Injected: 1',
  '9'.repeat(400),
  'é'.repeat(5_000),
  '👩‍👩‍👧‍👦'.repeat(40),
  '2026-02-30',
  '2026-02-29T25:61:61Z',
  '+275760-09-13T00:00:00.001Z',
  '00000000-0000-0000-0000-000000000000',
  'ffffffff-ffff-ffff-ffff-ffffffffffff',
  '__proto__',
  'constructor',
  'null',
  'NaN',
  'DE89370400440532013000',
  'GB82WEST12345698765432',
  'EUR',
  'JPY',
  'XXX',
]

/** Number literals, which JavaScript could not write. */
const hostileNumbers: readonly string[] = [
  ...['0', '-0', '-1', '0.001', '1e2', '1e400', '1E-400', '10000000.00', '10000000.01', '9007199254740993', '12.50'],
  ...['99999999999999999999999999999999', '0.1000000000000000055511151231257827'],
]

const literal = (random: Random): string => {
  const kind = random()
  if (kind < 0.45) return JSON.stringify(pick(random, hostileTexts))
  if (kind < 0.7) return pick(random, hostileNumbers)
  return pick(random, ['null', 'true', 'false', '[]', '{}', '[[]]', '[null]', '{"a":{"a":{"a":{}}}}', '[1,"1",{}]'])
}

/** A JSON text whose marked strings are replaced by literals, so that numbers keep their digits. */
const mark = '\u0001literal'
const writeWith = (value: Json, inserted: string): string =>
  JSON.stringify(value).replaceAll(JSON.stringify(mark), () => inserted)

type Path = readonly (string | number)[]
function pathsOf(value: Json, at: Path = []): readonly Path[] {
  if (typeof value !== 'object' || value === null) return [at]
  const inner = Object.entries(value).flatMap(([name, each]) =>
    pathsOf(each as Json, [...at, Array.isArray(value) ? Number(name) : name]),
  )
  return at.length === 0 ? inner : [at, ...inner]
}

/** The value with `change` applied to the object or array that holds the last step of the path. */
function changedAt(value: Json, path: Path, change: (holder: Record<string, Json>, name: string) => void): Json {
  const copy = structuredClone(value) as Json
  let holder = copy as Json
  for (const step of path.slice(0, -1)) holder = (holder as Record<string, Json>)[step] ?? null
  if (typeof holder === 'object' && holder !== null) change(holder as Record<string, Json>, String(path.at(-1)))
  return copy
}

const bodyMutations: Readonly<Record<string, (random: Random, body: JsonObject, text: string) => string | Uint8Array>> =
  {
    replace: (random, body) => {
      const path = pick(random, pathsOf(body))
      return writeWith(
        changedAt(body, path, (holder, name) => (holder[name] = mark)),
        literal(random),
      )
    },
    replaceTwo: (random, body) => {
      const [one, other] = [pick(random, pathsOf(body)), pick(random, pathsOf(body))]
      const once = changedAt(body, one, (holder, name) => (holder[name] = mark))
      return writeWith(
        changedAt(once, other, (holder, name) => (holder[name] = mark)),
        literal(random),
      )
    },
    remove: (random, body) => {
      const path = pick(random, pathsOf(body))
      return JSON.stringify(changedAt(body, path, (holder, name) => delete holder[name]))
    },
    add: (random, body) => {
      const path = pick(random, pathsOf(body))
      return JSON.stringify(
        changedAt(body, path, (holder) => (holder[pick(random, hostileTexts)] = pick(random, hostileTexts))),
      )
    },
    duplicate: (_random, _body, text) => `${text.slice(0, -1)},${text.slice(1)}`,
    truncate: (random, _body, text) => text.slice(0, Math.floor(random() * text.length)),
    bytes: (random, _body, text) => {
      const bytes = Buffer.from(text)
      bytes[Math.floor(random() * bytes.length)] = Math.floor(random() * 256)
      return bytes
    },
    other: (random) => literal(random),
    deep: () => '['.repeat(10_000) + ']'.repeat(10_000),
    long: (random, body) => JSON.stringify({ ...body, filler: 'x'.repeat(Math.floor(random() * 300_000)) }),
  }

/** A path with one of its parameters replaced. */
function hostilePath(random: Random, { operation }: Subject, target: string): string {
  const names = operation.path.split('/')
  const parameters = names.flatMap((name, at) => (name.startsWith('{') ? [at] : []))
  if (parameters.length === 0) return `${target}/${encodeURIComponent(pick(random, hostileTexts).toWellFormed())}`
  const [path = '', ...query] = target.split('?')
  const steps = path.split('/')
  steps[pick(random, parameters)] = encodeURIComponent(pick(random, hostileTexts).toWellFormed())
  return [steps.join('/'), ...query].join('?')
}

const commonParameters = ['limit', 'cursor', 'createdFrom', 'createdTo', 'currency', 'status', 'customerId', 'after']
function hostileQuery(random: Random, { operation }: Subject, target: string): string {
  const own = Object.keys((operation.query as { properties?: object } | undefined)?.properties ?? {})
  const pairs = Array.from({ length: 1 + Math.floor(random() * 3) }, () => {
    const name = pick(random, [...own, ...own, ...commonParameters])
    return `${name}=${encodeURIComponent(pick(random, [...hostileTexts, ...hostileNumbers]).toWellFormed())}`
  })
  return `${target}${target.includes('?') ? '&' : '?'}${pairs.join('&')}`
}

const headerMutations: readonly NonNullable<Call['headers']>[] = [
  { 'Idempotency-Key': 'x'.repeat(256) },
  { 'Idempotency-Key': 'the same key for many requests' },
  { 'Content-Type': 'text/plain' },
  { 'Content-Type': 'application/json; charset=utf-16' },
  { 'Accept-Encoding': 'br;q=0, *;q=0' },
  { Range: 'bytes=0-0' },
  { Expect: '100-continue' },
  { 'X-HTTP-Method-Override': 'DELETE' },
  { Cookie: 'a=b' },
]

const lasting = subjects.filter(({ operation }) => operation.method !== 'DELETE')

/** One request. Three in ten are valid, so that the data grows and money moves. */
export function generate(random: Random, world: World): GeneratedRequest {
  // A deletion leaves later requests of the same world without their resource, so it is rare.
  const subject = pick(random, random() < 0.02 ? subjects : lasting)
  const { target, body } = subject.request(world)
  const { method } = subject.operation
  const valid: Call = body === undefined ? { method, target } : { method, target, body }
  const chosen = random()
  if (chosen < 0.3) return { subject, mutation: 'none', call: valid }
  if (body !== undefined && chosen < 0.75) {
    const mutation = pick(random, Object.keys(bodyMutations))
    const mutated = bodyMutations[mutation]?.(random, JSON.parse(body) as JsonObject, body) ?? body
    return { subject, mutation, call: { ...valid, body: mutated } }
  }
  if (chosen < 0.83)
    return { subject, mutation: 'path', call: { ...valid, target: hostilePath(random, subject, target) } }
  if (chosen < 0.94)
    return { subject, mutation: 'query', call: { ...valid, target: hostileQuery(random, subject, target) } }
  if (chosen < 0.96)
    return {
      subject,
      mutation: 'method',
      call: { ...valid, method: pick(random, ['PUT', 'PATCH', 'HEAD', 'DELETE', 'OPTIONS']) },
    }
  return { subject, mutation: 'header', call: { ...valid, headers: pick(random, headerMutations) } }
}
