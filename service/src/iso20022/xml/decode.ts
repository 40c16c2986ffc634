/** Decodes bytes to text. The byte order mark decides the encoding, or else the XML declaration, or else it is UTF-8. */
import { type MessageLimits, MessageProblem, type MessageSource } from '../source.ts'

export type TextPosition = { readonly path: string; readonly line: number }

/** A declaration is ASCII in each of the encodings below (XML 1.0, appendix F). */
const declaration = /^\s*<\?xml\s[^>]*?\bencoding\s*=\s*(?:"([^"]*)"|'([^']*)')/
const headBytes = 512
/** Small chunks are joined, because an incomplete tag is scanned again with each chunk. */
const charsMin = 16_384
const carriageReturn = 13
/** Bytes 80 to 9F of ISO-8859-2. A bank that writes them uses another encoding, in which other letters differ too. */
const controls = /[\u0080-\u009f]/

/**
 * Accepted names, and their decoders in the WHATWG standard. It decodes ISO-8859-1 as windows-1252, which only differs in
 * the control characters of ISO-8859-1.
 */
const encodings: Readonly<Record<string, string>> = {
  'utf-8': 'utf-8',
  utf8: 'utf-8',
  'us-ascii': 'utf-8',
  ascii: 'utf-8',
  'iso-8859-1': 'windows-1252',
  'iso_8859-1': 'windows-1252',
  'iso8859-1': 'windows-1252',
  latin1: 'windows-1252',
  'latin-1': 'windows-1252',
  'windows-1252': 'windows-1252',
  cp1252: 'windows-1252',
  'iso-8859-15': 'iso-8859-15',
  'iso_8859-15': 'iso-8859-15',
  'iso8859-15': 'iso-8859-15',
  'latin-9': 'iso-8859-15',
  'windows-1250': 'windows-1250',
  cp1250: 'windows-1250',
  'iso-8859-2': 'iso-8859-2',
  'iso_8859-2': 'iso-8859-2',
  'iso8859-2': 'iso-8859-2',
  latin2: 'iso-8859-2',
  'latin-2': 'iso-8859-2',
}

/** The first character of a document, by which UTF-16 without a byte order mark is recognised (XML 1.0, appendix F). */
const less = 0x3c

const startsWith = (bytes: Uint8Array, ...expected: readonly number[]): boolean =>
  expected.every((byte, index) => bytes[index] === byte)

/** Returns the name of the decoder, or the problem. */
function detectEncoding(head: Uint8Array): { readonly name: string } | { readonly problem: string } {
  if (startsWith(head, 0xef, 0xbb, 0xbf)) return { name: 'utf-8' }
  if (startsWith(head, 0xff, 0xfe, 0, 0) || startsWith(head, 0, 0, 0xfe, 0xff))
    return { problem: 'UTF-32 is not supported' }
  if (startsWith(head, 0xff, 0xfe)) return { name: 'utf-16le' }
  if (startsWith(head, 0xfe, 0xff)) return { name: 'utf-16be' }
  if (startsWith(head, less, 0)) return { name: 'utf-16le' }
  if (startsWith(head, 0, less)) return { name: 'utf-16be' }
  const [, double, single] = declaration.exec(Buffer.from(head.subarray(0, headBytes)).toString('latin1')) ?? []
  const declared = double ?? single
  if (declared === undefined) return { name: 'utf-8' }
  const name = encodings[declared.toLowerCase()]
  return name === undefined ? { problem: `the encoding ${declared.slice(0, 40)} is not supported` } : { name }
}

/** Yields chunks of at most `bytesMax` bytes in total. The first chunk contains the whole declaration. */
async function* bounded(
  source: MessageSource,
  { bytesMax }: MessageLimits,
  where: () => TextPosition,
): AsyncGenerator<Uint8Array> {
  let bytes = 0
  let head: Uint8Array | undefined = new Uint8Array()
  for await (const chunk of source) {
    bytes += chunk.length
    if (bytes > bytesMax) throw new MessageProblem('too_large', `the message has more than ${bytesMax} bytes`, where())
    if (head === undefined) yield chunk
    else {
      head = Buffer.concat([head, chunk])
      if (head.length < headBytes) continue
      yield head
      head = undefined
    }
  }
  if (head) yield head
}

/** Converts ends of lines to line feeds (XML 1.0, section 2.11). */
const normaliseLineEnds = (text: string): string => (text.includes('\r') ? text.replace(/\r\n?/g, '\n') : text)

/** Decodes a message in parts, without the byte order mark. `where` returns the current position, for problems. */
export async function* decodeMessage(
  source: MessageSource,
  limits: MessageLimits,
  where: () => TextPosition,
): AsyncGenerator<string> {
  let decoder: TextDecoder | undefined
  let pending = ''
  for await (const bytes of bounded(source, limits, where)) {
    decoder ??= createDecoder(bytes, where)
    try {
      pending += decoder.decode(bytes, { stream: true })
    } catch {
      throw new MessageProblem('encoding', `a byte after this line is not ${decoder.encoding}`, where())
    }
    if (decoder.encoding === 'iso-8859-2' && controls.test(pending))
      throw new MessageProblem('encoding', `a byte after this line is not iso-8859-2, perhaps windows-1250`, where())
    if (pending.length < charsMin) continue
    const isHeld = pending.charCodeAt(pending.length - 1) === carriageReturn
    yield normaliseLineEnds(isHeld ? pending.slice(0, -1) : pending)
    pending = isHeld ? '\r' : ''
  }
  yield normaliseLineEnds(pending + flushDecoder(decoder))
}

function createDecoder(head: Uint8Array, where: () => TextPosition): TextDecoder {
  const encoding = detectEncoding(head)
  if ('problem' in encoding) throw new MessageProblem('encoding', encoding.problem, where())
  return new TextDecoder(encoding.name, { fatal: true })
}

/** Ends the decoding. Returns U+FFFD for an incomplete last character: the scanner then finds that the document is truncated. */
function flushDecoder(decoder: TextDecoder | undefined): string {
  try {
    return decoder?.decode() ?? ''
  } catch {
    return '\ufffd'
  }
}
