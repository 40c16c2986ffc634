/**
 * Encryption at rest: AES-256-GCM with a master key that is stored outside the database. The context (row and column)
 * is authenticated as well, so that a value copied to another row cannot be decrypted.
 */
import { createCipheriv, createDecipheriv, createHash, createSecretKey, hkdfSync } from 'node:crypto'
import { promisify } from 'node:util'
import { constants, zstdCompress, zstdDecompress } from 'node:zlib'
import { randomBytes } from './ids.ts'

export type Sealer = {
  readonly seal: (plain: string, context: readonly string[]) => Buffer
  /** Throws an AssertionFailure if the text was sealed with another key or for another context. */
  readonly open: (sealed: Uint8Array, context: readonly string[]) => string
  /** Returns the iv and tag, which identify a sealed value: two sealed values of the same text differ. */
  readonly mark: (sealed: Uint8Array) => string
}

export const masterKeyBytes = 32
const version = 1
const keyIdBytes = 4
const ivBytes = 12
const tagBytes = 16
const ivAt = 1 + keyIdBytes
const tagAt = ivAt + ivBytes
const textAt = tagAt + tagBytes

const keyId = (key: Uint8Array) => createHash('sha256').update(key).digest().subarray(0, keyIdBytes)
const aad = (context: readonly string[]) => Buffer.from(context.join('\u0000'), 'utf8')

/** Returns the id of a key, which every sealed value contains. */
export const masterKeyId = (key: Uint8Array): string => keyId(key).toString('hex')

/** Hashes a token. No salt is needed: a hash does not reveal a token of 256 random bits. */
export const tokenHash = (token: string): Buffer => createHash('sha256').update(token).digest()

/** Creates a sealer. `keys[0]` encrypts and all keys decrypt, for key rotation. Layout: version, key id, iv, tag, text. */
export function createSealer(keys: readonly Uint8Array[]): Sealer {
  assert(keys.length > 0 && keys.every((key) => key.length === masterKeyBytes), 'a master key must have 32 bytes')
  const byId = new Map(keys.map((key) => [keyId(key).readUInt32BE(), createSecretKey(key)]))
  const [sealing] = keys as readonly [Uint8Array]
  const bytesOf = (sealed: Uint8Array) => Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength)
  return {
    seal: (plain, context) => {
      const iv = randomBytes(ivBytes)
      const cipher = createCipheriv('aes-256-gcm', sealing, iv).setAAD(aad(context))
      const text = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
      return Buffer.concat([Buffer.of(version), keyId(sealing), iv, cipher.getAuthTag(), text])
    },
    open: (sealed, context) => {
      const bytes = bytesOf(sealed)
      assert(bytes[0] === version, 'the sealed value has an unknown version')
      // Node would accept a truncated tag.
      assert(bytes.length >= textAt, 'the sealed value is truncated')
      const key = byId.get(bytes.readUInt32BE(1))
      assert(key, 'the value was sealed under a master key that is not configured')
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(ivAt, tagAt), { authTagLength: tagBytes })
      decipher.setAAD(aad(context)).setAuthTag(bytes.subarray(tagAt, textAt))
      try {
        return Buffer.concat([decipher.update(bytes.subarray(textAt)), decipher.final()]).toString('utf8')
      } catch {
        assert(false, 'the sealed value does not belong to this context')
      }
    },
    mark: (sealed) => bytesOf(sealed).toString('latin1', ivAt, textAt),
  }
}

/** Derives a key for a single purpose from the master key (RFC 5869). */
export function deriveKey(masterKey: Uint8Array, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', masterKey, '', `partner-payments/${purpose}`, masterKeyBytes))
}

/** A broken invariant, which is a bug. The request or the worker step fails, and its transaction is rolled back. */
export class AssertionFailure extends Error {
  override readonly name = 'AssertionFailure'
}

export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new AssertionFailure(message)
}

/** Returns a value that must be present. `message` describes the missing value, with its id if there is one. */
export function present<T>(value: T | null | undefined, message: string): T {
  if (value === null || value === undefined) throw new AssertionFailure(message)
  return value
}

// Compression (zstd) outside the main thread, at level 1 for speed.

const zstdOptions = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }
const deflate = promisify(zstdCompress)
const inflate = promisify(zstdDecompress)

export const compress = (bytes: Uint8Array): Promise<Uint8Array> => deflate(bytes, zstdOptions)
export const decompress = (bytes: Uint8Array): Promise<Uint8Array> => inflate(bytes)
