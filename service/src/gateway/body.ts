/** The raw body, before anything parses it: the signature covers these bytes. Memory is bounded by `bytesMax`. */
import type { IncomingMessage } from 'node:http'
import { Refusal } from '../api/index.ts'

/**
 * What a refused sender may still push before it is answered: a client that is cut off while it writes sees a reset,
 * not our answer. Read and thrown away as it comes, so that it costs no memory; beyond this the connection ends.
 */
const discardBytesMax = 32 * 1024 * 1024

/** Refuses (413): body_too_large; (400) malformed_request where the body ends early. */
export function readBody(request: IncomingMessage, bytesMax: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let bytes = 0
    const tooLarge = () => new Refusal('body_too_large', `The body may have ${bytesMax} bytes at most.`)
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
    request.once('aborted', () => reject(new Refusal('malformed_request', 'The body ended early.')))
    if (Number(request.headers['content-length'] ?? 0) > discardBytesMax) reject(tooLarge())
  })
}

/** JSON in UTF-8, said as `application/json` (parameters: only a charset of utf-8). */
export function requireJson(contentType: string | undefined): void {
  const [type = '', ...parameters] = (contentType ?? '').split(';').map((part) => part.trim().toLowerCase())
  const charsetIsUtf8 = parameters.every((parameter) => /^charset="?utf-?8"?$/.test(parameter) || parameter === '')
  if (type !== 'application/json' || !charsetIsUtf8)
    throw new Refusal('unsupported_media_type', 'Content-Type must be application/json, in UTF-8.')
}

/** The signature covers the bytes as sent; a compressed body is refused rather than read as something else. */
export function requireIdentity(contentEncoding: string | string[] | undefined): void {
  if (contentEncoding !== undefined && contentEncoding !== 'identity')
    throw new Refusal('unsupported_media_type', 'The body must not be encoded (Content-Encoding).')
}
