/** Reads the raw body: the signature covers these bytes, before any parsing. `bytesMax` bounds the memory. */
import type { IncomingMessage } from 'node:http'
import { Refusal } from '../api/index.ts'

/**
 * How much of a body that is too large is read and discarded. A client that is cut off while it writes sees a connection
 * reset instead of the 413. Above this size the connection ends.
 */
const discardBytesMax = 32 * 1024 * 1024

/** Refuses: body_too_large (413), malformed_request (400) if the connection ends before the body. */
export function readBody(request: IncomingMessage, bytesMax: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let bytes = 0
    const tooLarge = () => new Refusal('body_too_large', `The body must not exceed ${bytesMax} bytes.`)
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes <= bytesMax) chunks.push(chunk)
      else chunks.length = 0
      if (bytes > discardBytesMax) {
        request.pause()
        reject(tooLarge())
      }
    })
    request.once('end', () => (bytes > bytesMax ? reject(tooLarge()) : resolve(Buffer.concat(chunks))))
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
