/** Pure: checks that bytes are a logo that is safe in browsers: a PNG, or an SVG of plain shapes. */
import { crc32 } from 'node:zlib'
import sax from 'sax'

export type Logo = { readonly bytes: Buffer; readonly type: LogoType }
const logoTypes = ['image/png', 'image/svg+xml'] as const
type LogoType = (typeof logoTypes)[number]

export const logoBytesMax = 64 * 1024
/** A small PNG file can be huge when decoded. */
const sideMax = 2000
/** Maximum number of pixels of a partner's logo, which the service decodes for documents. */
export const drawnPixelsMax = 1_000_000

/** Reads a logo and its type from the bytes. Returns the problem if the logo is invalid. */
export function readLogo(bytes: Buffer, pixelsMax = sideMax ** 2): Logo | string {
  if (bytes.length > logoBytesMax) return `must have at most ${logoBytesMax} bytes`
  const isPng = bytes.subarray(0, pngSignature.length).equals(pngSignature)
  const problem = isPng ? pngProblem(bytes, pixelsMax) : svgProblem(bytes)
  return problem ?? { bytes, type: isPng ? 'image/png' : 'image/svg+xml' }
}

export const pngSignature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
/** Length and name before the data of a chunk, and the checksum after it (PNG, section 5.3). */
const chunkHeadBytes = 8
const chunkSumBytes = 4

type Chunk = { readonly name: string; readonly data: Buffer; readonly isWhole: boolean; readonly end: number }

/** Reads the chunks of a PNG up to its end or the first damaged chunk. */
export function* readPngChunks(bytes: Buffer): Generator<Chunk> {
  let at = pngSignature.length
  while (at + chunkHeadBytes + chunkSumBytes <= bytes.length) {
    const dataAt = at + chunkHeadBytes
    const sumAt = dataAt + bytes.readUInt32BE(at)
    const end = sumAt + chunkSumBytes
    const isWhole = end <= bytes.length && crc32(bytes.subarray(at + 4, sumAt)) === bytes.readUInt32BE(sumAt)
    const name = bytes.toString('latin1', at + 4, dataAt)
    yield { name, data: bytes.subarray(dataAt, sumAt), isWhole, end }
    if (!isWhole || name === 'IEND') return
    at = end
  }
}

function pngProblem(bytes: Buffer, pixelsMax: number): string | undefined {
  const broken = 'is a damaged PNG file'
  const chunks = [...readPngChunks(bytes)]
  const [first, last] = [chunks[0], chunks.at(-1)]
  const heads = chunks.filter(({ name }) => name === 'IHDR')
  if (first?.name !== 'IHDR' || heads.length > 1 || first.data.length < 8) return broken
  if (chunks.some(({ isWhole }) => !isWhole) || last?.name !== 'IEND' || last.end !== bytes.length) return broken
  const [width, height] = [first.data.readUInt32BE(0), first.data.readUInt32BE(4)]
  if ([width, height].some((side) => side < 1 || side > sideMax)) return `must have at most ${sideMax} pixels a side`
  const pixels = width * height
  return pixels > pixelsMax
    ? `must have at most ${pixelsMax} pixels, and has ${width} x ${height}: make it smaller`
    : undefined
}

const svgNamespace = 'http://www.w3.org/2000/svg'
/**
 * The allowed elements: shapes and paints. Scripts, styles, foreign content, animations, images and filters are
 * refused, and so are copies (`use`), which can be nested endlessly.
 */
const elements: ReadonlySet<string> = new Set(
  'svg g path rect circle ellipse line polyline polygon text tspan defs linearGradient radialGradient stop clipPath mask title desc'.split(
    ' ',
  ),
)
const depthMax = 32

class Unfit extends Error {}
const refuse = (reason: string): never => {
  throw new Unfit(reason)
}

function svgProblem(bytes: Buffer): string | undefined {
  const other = 'must be a PNG or an SVG file'
  const text = decoded(bytes)
  if (text === undefined || !/^\s*<(?:\?xml|!--|svg)/.test(text)) return other
  const parser = sax.parser(true)
  let depth = 0
  parser.ondoctype = () => refuse('must be an SVG without a document type and entities')
  parser.onprocessinginstruction = ({ name }) => name === 'xml' || refuse('must be an SVG without instructions')
  parser.onopentag = ({ name, attributes }) => {
    const isRoot = depth === 0
    depth += 1
    if (isRoot && (name !== 'svg' || attributes['xmlns'] !== svgNamespace)) refuse(other)
    if (!elements.has(name)) refuse(`must be an SVG of plain shapes, without the element ${shown(name)}`)
    if (depth > depthMax) refuse(`must be an SVG with at most ${depthMax} levels`)
    for (const [key, value] of Object.entries(attributes)) readAttribute(key, value as string)
  }
  parser.onclosetag = () => {
    depth -= 1
  }
  parser.onerror = (error) => {
    throw error
  }
  try {
    parser.write(text).close()
    return undefined
  } catch (error) {
    return error instanceof Unfit ? error.message : 'must be an SVG of well-formed XML'
  }
}

function decoded(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

const nameCharsMax = 40
const shown = (name: string): string => name.slice(0, nameCharsMax)

const namespaces: Readonly<Record<string, string>> = {
  xmlns: svgNamespace,
  'xmlns:xlink': 'http://www.w3.org/1999/xlink',
}

/** Checks an attribute: references may lead only to parts of the file. A backslash could hide a reference in CSS. */
function readAttribute(name: string, value: string): void {
  const refused = () => refuse(`must be an SVG of plain shapes, without the attribute ${shown(name)} or its value`)
  if (name in namespaces) {
    if (namespaces[name] !== value) refused()
    return
  }
  if (name === 'xml:space') return
  if (!/^[a-z][\w-]*$/i.test(name) && name !== 'xlink:href') refused()
  if (/^on/i.test(name) || (/href$/i.test(name) && !/^#[\w-]+$/.test(value))) refused()
  if (/\\|\/\*|@|image|src\s*\(/i.test(value) && name !== 'id') refused()
  if (/url\s*\(/i.test(value.replaceAll(/url\(#[\w-]+\)/g, ''))) refused()
}
