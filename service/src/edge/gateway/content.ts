/**
 * The answer of an operation with `content`: a stream, of which a request may read a range (RFC 9110, section 14). The
 * deadline of a request ends with the head of its answer, so that a download may take as long as its reader needs. A
 * paused reader holds only a socket and one part in memory.
 */
import { Readable } from 'node:stream'
import { type Content, Refusal } from '../../kernel/api/index.ts'
import type { Headers } from './signature.ts'

type ContentReply = {
  readonly status: 200 | 206
  readonly headers: Readonly<Record<string, string>>
  readonly body: Readable
}

type Range = { readonly from: number; readonly until: number }

const one = (value: string | readonly string[] | undefined) => (typeof value === 'string' ? value : undefined)

/** The requested range. The whole content is sent for another unit, several ranges, or a range of another version. */
function rangeOf(headers: Headers, bytes: number, etag: string): Range | undefined {
  const text = one(headers['range'])
  const condition = one(headers['if-range'])
  if (text === undefined || (condition !== undefined && condition !== etag)) return undefined
  const [, first = '', last = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/i.exec(text.trim()) ?? []
  if (first === '' && last === '') return undefined
  const suffix = first === ''
  if (!suffix && last !== '' && Number(last) < Number(first)) return undefined
  const from = suffix ? Math.max(0, bytes - Number(last)) : Number(first)
  const until = suffix || last === '' ? bytes : Math.min(bytes, Number(last) + 1)
  if (from >= until)
    throw new Refusal('range_not_satisfiable', undefined, { headers: { 'content-range': `bytes */${bytes}` } })
  return { from, until }
}

/** Refuses: range_not_satisfiable (416). */
export function contentReply(content: Content, headers: Headers): ContentReply {
  const { mediaType, fileName, bytes, sha256, read } = content
  const etag = `"${sha256}"`
  const range = rangeOf(headers, bytes, etag)
  const { from, until } = range ?? { from: 0, until: bytes }
  return {
    status: range ? 206 : 200,
    headers: {
      'content-type': mediaType,
      'content-length': String(until - from),
      'content-disposition': `attachment; filename="${fileName}"`,
      'accept-ranges': 'bytes',
      etag,
      // RFC 9530: of the whole content, also in the answer to a range.
      'repr-digest': `sha-256=:${Buffer.from(sha256, 'hex').toString('base64')}:`,
      ...(range ? { 'content-range': `bytes ${from}-${until - 1}/${bytes}` } : {}),
    },
    // The next part is read when the socket has taken the one before.
    body: Readable.from(read(from, until), { objectMode: false, highWaterMark: 1 }),
  }
}
