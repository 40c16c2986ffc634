/** The only source of identifiers and randomness. */
import { createHash, hash, randomBytes, randomFillSync } from 'node:crypto'
import { systemClock } from './clock.ts'

/** Randomness is asked for in one piece: a call to the generator costs more than what it gives to one identifier. */
const pool = Buffer.alloc(4096)
let poolAt = pool.length

/** The next bytes of the pool, each given once; to be used before the next call. */
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
 * UUID version 7 (RFC 9562 section 5.7), strictly increasing within a process (section 6.2, method 1: a 12-bit counter
 * in rand_a that starts low and is seeded anew each millisecond), so that rows made one after another sort that way.
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

/** A UUID (version 8, RFC 9562 section 5.8) that is the same for the same names: derived identifiers. */
export function derivedId(...names: readonly string[]): string {
  const bytes = createHash('sha256').update(names.join('\n')).digest().subarray(0, 16)
  bytes.writeUInt8(0x80 | (bytes.readUInt8(6) & 0x0f), 6)
  bytes.writeUInt8(0x80 | (bytes.readUInt8(8) & 0x3f), 8)
  return formatUuid(bytes)
}

/**
 * Derived as well, and told by time: the first 48 bits are those of `timeId`, a UUID version 7, so that what belongs to
 * one moment is one range of ids. Its form is version 7, too.
 */
export function derivedTimeId(timeId: string, ...names: readonly string[]): string {
  // Text all the way: one for each delivery, and bytes would cost four times as much.
  const hex = hash('sha256', [timeId, ...names].join('\n'), 'hex')
  const variant = '89ab'.charAt(Number.parseInt(hex.charAt(16), 16) & 3)
  return `${timeId.slice(0, 13)}-7${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

/** RFC 9562 section 5.9: before every id that is given; where a walk over ids begins. */
export const nilId = '00000000-0000-0000-0000-000000000000'

/** The moment that a UUID version 7 bears, and the least id of a moment: a span of time is a range of ids. */
export const momentOfId = (id: string): Date => new Date(Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16))
export function firstIdOf(moment: Date): string {
  const bytes = Buffer.alloc(16)
  bytes.writeUIntBE(Math.max(0, moment.getTime()), 0, 6)
  return formatUuid(bytes)
}

function formatUuid(bytes: Buffer): string {
  const hex = bytes.toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

/** Crockford's alphabet in lower case: no i, l, o, u, so that an identifier can be read out on the telephone. */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
/** Milliseconds for 35,000 years. */
const timeChars = 10

export function randomText(chars: number): string {
  let text = ''
  for (const byte of pooled(chars)) text += alphabet.charAt(byte & 31)
  return text
}

/** The same alphabet, in the order of the time: what is made one after another stands side by side in an index. */
export function timedText(randomChars: number): string {
  let rest = systemClock.now().getTime()
  let text = ''
  for (let at = 0; at < timeChars; at += 1) {
    text = alphabet.charAt(rest % 32) + text
    rest = Math.floor(rest / 32)
  }
  return text + randomText(randomChars)
}

/** 256 bits, URL-safe: secrets and one-time tokens. */
export function randomToken(): string {
  return randomBytes(32).toString('base64url')
}

/** A number in [0, 1) for jitter. */
export function randomFraction(): number {
  return pooled(4).readUInt32BE() / 2 ** 32
}

export { randomBytes }
