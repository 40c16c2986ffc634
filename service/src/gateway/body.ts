/** The raw body, before anything parses it: the signature covers these bytes. Memory is bounded by `bytesMax`. */
import type { IncomingMessage } from 'node:http'
import { Refusal } from '../kernel/index.ts'

/** What a refused sender may still push before its connection is cut: enough to read our answer first. */
const discardBytesMax = 64 * 1024 * 1024

const tooLarge = (bytesMax: number) => new Refusal('body_too_large', `The body may have ${bytesMax} bytes at most.`)

/** Refuses (413): body_too_large. The rest of a refused body is read and thrown away. */
export function readBody(request: IncomingMessage, bytesMax: number): Promise<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > bytesMax) {
    discard(request)
    return Promise.reject(tooLarge(bytesMax))
  }
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let bytes = 0
    const onData = (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes <= bytesMax) {
        chunks.push(chunk)
        return
      }
      request.off('data', onData)
      discard(request)
      reject(tooLarge(bytesMax))
    }
    request.on('data', onData)
    request.once('end', () => resolve(Buffer.concat(chunks)))
    request.once('error', reject)
    request.once('aborted', () => reject(new Refusal('malformed_request', 'The body ended early.')))
  })
}

/** Reads on without keeping anything: a client that is still sending would otherwise see a reset, not our answer. */
function discard(request: IncomingMessage): void {
  let bytes = 0
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > discardBytesMax) request.destroy()
  })
  request.on('error', () => undefined)
}

/** JSON in UTF-8, said as `application/json` (parameters: only a charset of utf-8). */
export function requireJson(contentType: string | undefined): void {
  const [type = '', ...parameters] = (contentType ?? '').split(';').map((part) => part.trim().toLowerCase())
  const charsetIsUtf8 = parameters.every((parameter) => /^charset="?utf-?8"?$/.test(parameter) || parameter === '')
  if (type !== 'application/json' || !charsetIsUtf8)
    throw new Refusal('unsupported_media_type', 'Content-Type must be application/json, in UTF-8.')
}
