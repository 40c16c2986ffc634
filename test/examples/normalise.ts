/**
 * Replaces what differs between two recordings: identifiers, times, secrets, durations and local addresses. The same value
 * gets the same replacement everywhere, so that the examples still belong together.
 */
import { isRawNumber, parseJsonExactly } from '@partner-payments/wire'

const itemsMax = 2
const secondMs = 1000
const firstInstant = Date.parse('2026-01-15T09:30:00.000Z')
/** Replacement of keys: the bytes 0 to 31. */
const key = Buffer.from(Array.from({ length: 32 }, (_, index) => index)).toString('base64')

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi
const compactUuid = /(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])/g
/** Matches times, except those of a schedule, which belong to its dates. */
const instant = /\d{4}-\d\d-\d\dT(?!06:00:00\.000Z)\d\d:\d\d:\d\d\.\d{3}Z/g

const fixedFields: Readonly<Record<string, unknown>> = {
  durationMs: 12,
  p50: 12,
  p95: 12,
  p99: 12,
  checkedOn: '2026-01-15',
}
const cursor = 'AZvAEjRWeHiau83v'

/** Numbers each distinct value by its first appearance. */
function numbered(write: (count: number) => string) {
  const known = new Map<string, string>()
  return (value: string): string => {
    const found = known.get(value) ?? write(known.size + 1)
    known.set(value, found)
    return found
  }
}

/** The values of fields that a pattern cannot recognise. Shortens long lists. */
function normaliseFields(value: unknown, name = ''): unknown {
  if (name === 'nextCursor' && typeof value === 'string') return cursor
  if (Object.hasOwn(fixedFields, name) && value !== null) return fixedFields[name]
  if (isRawNumber(value)) return value
  if (Array.isArray(value))
    return (name === 'data' ? value.slice(0, itemsMax) : value).map((item) => normaliseFields(item))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([field, inner]) => [field, normaliseFields(inner, field)]))
}

export function normalise(recorded: unknown): string {
  const text = JSON.stringify(normaliseFields(recorded), null, 2)
  const uuidOf = numbered((count) => `018f3c5e-7d1a-7c3e-9a52-${count.toString(16).padStart(12, '0')}`)
  const customerOf = numbered((count) => `cus_${String(count).padStart(16, '0')}`)
  const referenceOf = numbered((count) => `txn_${String(count).padStart(22, '0')}`)
  const instants = [...new Set(text.match(instant))].toSorted()
  const instantOf = (value: string) => new Date(firstInstant + instants.indexOf(value) * secondMs).toISOString()
  const hyphenated = (compact: string) => compact.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
  return text
    .replaceAll(uuid, uuidOf)
    .replaceAll(compactUuid, (value) => uuidOf(hyphenated(value)).replaceAll('-', ''))
    .replaceAll(/cus_[0-9a-hjkmnp-tv-z]{16}/g, customerOf)
    .replaceAll(/\btxn_[0-9a-hjkmnp-tv-z]{22}\b/g, referenceOf)
    .replaceAll(instant, instantOf)
    .replaceAll(/\b(whsec_|whpk_)[A-Za-z0-9+/=]+/g, `$1${key}`)
    .replaceAll(/http:\/\/127\.0\.0\.1:\d+/g, 'https://partner.example.com')
    .replaceAll(/\bada\.[0-9a-f]{8}@/g, 'ada@')
}

/** The fields of a recording with the types of their values: equal for two recordings of the same service. */
export function outlineOf(text: string): unknown {
  const outline = (value: unknown): unknown => {
    if (typeof value === 'number' || isRawNumber(value)) return 'number'
    if (Array.isArray(value)) return value.slice(0, 1).map(outline)
    if (typeof value !== 'object' || value === null) return value === null ? 'null' : typeof value
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, outline(inner)]))
  }
  return outline(parseJsonExactly(text))
}
