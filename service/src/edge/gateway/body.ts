/** Reads the raw body: the signature covers these bytes, before any parsing. */
import type { IncomingMessage } from 'node:http'
import { Refusal } from '../../kernel/api/index.ts'

/**
 * How much of a body that is too large is read and discarded. A client that is cut off while it writes sees a connection
 * reset instead of the 413. Above this size the connection ends.
 */
const discardBytesMax = 32 * 1024 * 1024

/** A body as it arrives, in one block of memory: a body that arrives byte by byte holds no object for each byte. */
export type BodyBuffer = {
  readonly bytesMax: number
  /** Ignores everything after `bytesMax`. */
  readonly append: (chunk: Buffer) => void
  /** Bytes received, including those that were ignored. */
  readonly received: () => number
  readonly take: () => Buffer
  /** Frees the memory, and ignores what arrives later. */
  readonly release: () => void
}

/** Calls `hold` with each change of the memory in use, in bytes. */
export function createBodyBuffer(bytesMax: number, hold: (bytes: number) => void): BodyBuffer {
  let block: Buffer = Buffer.alloc(0)
  let isReleased = false
  let length = 0
  let received = 0
  const replace = (next: Buffer) => {
    hold(next.length - block.length)
    block = next
  }
  const grow = (needed: number) => {
    const next = Buffer.allocUnsafeSlow(Math.min(bytesMax, Math.max(needed, 2 * block.length)))
    block.copy(next, 0, 0, length)
    replace(next)
  }
  const release = () => {
    isReleased = true
    replace(Buffer.alloc(0))
    length = 0
  }
  return {
    bytesMax,
    received: () => received,
    take: () => block.subarray(0, length),
    release,
    append: (chunk) => {
      received += chunk.length
      if (isReleased) return
      if (received > bytesMax) return release()
      if (length + chunk.length > block.length) grow(length + chunk.length)
      chunk.copy(block, length)
      length += chunk.length
    },
  }
}

/** Refuses: body_too_large (413), malformed_request (400) if the connection ends before the body. */
export function readBody(request: IncomingMessage, body: BodyBuffer): Promise<Buffer> {
  const { bytesMax } = body
  return new Promise((resolve, reject) => {
    const tooLarge = () => new Refusal('body_too_large', `The body must not exceed ${bytesMax} bytes.`)
    request.on('data', (chunk: Buffer) => {
      body.append(chunk)
      if (body.received() > discardBytesMax) {
        request.pause()
        reject(tooLarge())
      }
    })
    request.once('end', () => (body.received() > bytesMax ? reject(tooLarge()) : resolve(body.take())))
    request.once('error', reject)
    request.once('aborted', () =>
      reject(new Refusal('malformed_request', 'The connection ended before the body was complete.')),
    )
    if (Number(request.headers['content-length'] ?? 0) > discardBytesMax) reject(tooLarge())
  })
}

/** Requires `application/json`, without parameters or with the charset UTF-8. Refuses: unsupported_media_type. */
export function requireJson(contentType: string | undefined): void {
  const [type = '', ...parameters] = (contentType ?? '').split(';').map((part) => part.trim().toLowerCase())
  const charsetIsUtf8 = parameters.every((parameter) => /^charset="?utf-?8"?$/.test(parameter) || parameter === '')
  if (type !== 'application/json' || !charsetIsUtf8)
    throw new Refusal('unsupported_media_type', 'Content-Type must be application/json in UTF-8.')
}

/** The signature covers the bytes as sent, so that compressed bodies are refused: unsupported_media_type. */
export function requireUnencoded(contentEncoding: string | string[] | undefined): void {
  if (contentEncoding !== undefined && contentEncoding !== 'identity')
    throw new Refusal('unsupported_media_type', 'Content-Encoding is not supported. Send the body unencoded.')
}
