/** The only source of identifiers and randomness. */
import { hash, randomBytes, randomFillSync } from 'node:crypto'
import { systemClock } from './clock.ts'

/** Random bytes are generated in blocks, because a call to the generator costs more than the bytes of one identifier. */
const pool = Buffer.alloc(4096)
let poolAt = pool.length

/** Returns unused random bytes of the pool. The next call may overwrite them. */
function pooled(bytes: number): Buffer {
  if (poolAt + bytes > pool.length) {
    randomFillSync(pool)
    poolAt = 0
  }
  poolAt += bytes
  return pool.subarray(poolAt - bytes, poolAt)
}

let lastMs = 0
let counter = 0

/**
 * Creates a UUID version 7 (RFC 9562 section 5.7), strictly increasing within a process, so that rows sort in creation order.
 * Section 6.2, method 1: a 12-bit counter in rand_a, seeded with a low random value each millisecond.
 */
export function newId(): string {
  const now = systemClock.now().getTime()
  if (now > lastMs) {
    lastMs = now
    counter = pooled(2).readUInt16BE() & 0x3ff
  } else if (++counter > 0xfff) {
    lastMs += 1
    counter = 0
  }
  const bytes = pooled(16)
  bytes.writeUIntBE(lastMs, 0, 6)
  bytes.writeUInt16BE(0x7000 | counter, 6)
  bytes.writeUInt8(0x80 | (bytes.readUInt8(8) & 0x3f), 8)
  return formatUuid(bytes)
}

/**
 * Derives a UUID of version 7 from its inputs: the same inputs give the same id. It begins with the 48-bit timestamp of `timeId`, a
 * UUID version 7, so that the ids of a period are one range.
 */
export function deriveTimeId(timeId: string, ...names: readonly string[]): string {
  // Built from text because each delivery needs one: building it from bytes takes four times as long.
  const hex = hash('sha256', [timeId, ...names].join('\n'), 'hex')
  const variant = '89ab'.charAt(Number.parseInt(hex.charAt(16), 16) & 3)
  return `${timeId.slice(0, 13)}-7${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

/** Returns the id `steps` after `id`. Related rows get neighbouring ids, which form one range of a key. */
export function idAfter(id: string, steps: number): string {
  if (steps === 0) return id
  const hex = (BigInt(`0x${id.replaceAll('-', '')}`) + BigInt(steps)).toString(16).padStart(32, '0')
  return formatUuid(Buffer.from(hex, 'hex'))
}

/** The nil UUID (RFC 9562 section 5.9). It sorts before every other id, so a scan over ids starts with it. */
export const nilId = '00000000-0000-0000-0000-000000000000'

/** Matches an id in lower case, as the service writes it. */
export const uuidPattern = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/
const uuidForm = new RegExp(uuidPattern, 'i')
export const isUuid = (text: string): boolean => uuidForm.test(text)

/**
 * Returns the time of a UUID version 7. `firstIdOf` is the inverse: it returns the smallest id of a time, so that a
 * period is a range of ids.
 */
export const idTime = (id: string): Date => new Date(Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16))
export function firstIdOf(moment: Date): string {
  const bytes = Buffer.alloc(16)
  bytes.writeUIntBE(Math.max(0, moment.getTime()), 0, 6)
  return formatUuid(bytes)
}

function formatUuid(bytes: Buffer): string {
  const hex = bytes.toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

/** Crockford's base 32 in lower case: without i, l, o, u, so that people can read identifiers aloud. */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
/** Ten characters of five bits hold the milliseconds of 35,000 years. */
const timeChars = 10

export function randomText(chars: number): string {
  let text = ''
  for (const byte of pooled(chars)) text += alphabet.charAt(byte & 31)
  return text
}

/** Creates a random text that begins with the time. Texts created at about the same time are neighbours in an index. */
export function timeOrderedText(randomChars: number): string {
  let rest = systemClock.now().getTime()
  let text = ''
  for (let at = 0; at < timeChars; at += 1) {
    text = alphabet.charAt(rest % 32) + text
    rest = Math.floor(rest / 32)
  }
  return text + randomText(randomChars)
}

/** Creates a URL-safe token of 256 bits, for secrets and one-time tokens. */
export function randomToken(): string {
  return randomBytes(32).toString('base64url')
}

/** Returns a random number in [0, 1), for jitter. */
export function randomFraction(): number {
  return pooled(4).readUInt32BE() / 2 ** 32
}

export { randomBytes }

/** Names a row of a table of partners. */
export type RowKey = { readonly partnerId: string; readonly id: string }

/**
 * Joins the parts of a map key for data of a partner. Identifiers do not contain line feeds, so different parts never
 * give the same key.
 */
export const partnerKey = (partnerId: string, ...parts: readonly string[]): string => [partnerId, ...parts].join('\n')
