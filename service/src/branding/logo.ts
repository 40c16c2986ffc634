/** Pure: whether bytes are a logo that browsers can show without harm: a PNG, or an SVG of plain shapes. */
import { crc32 } from 'node:zlib'
import sax from 'sax'

export type Logo = { readonly bytes: Buffer; readonly type: LogoType }
const logoTypes = ['image/png', 'image/svg+xml'] as const
export type LogoType = (typeof logoTypes)[number]

export const logoBytesMax = 64 * 1024
/** A PNG of few bytes can be huge once it is decoded. */
const pixelsMax = 2000

/** Reads the type from the bytes. A text says what is wrong. */
export function readLogo(bytes: Buffer): Logo | string {
  if (bytes.length > logoBytesMax) return `must have at most ${logoBytesMax} bytes`
  const isPng = bytes.subarray(0, pngSignature.length).equals(pngSignature)
  const problem = isPng ? pngProblem(bytes) : svgProblem(bytes)
  return problem ?? { bytes, type: isPng ? 'image/png' : 'image/svg+xml' }
}

const pngSignature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
/** Length and name before the data of a chunk, and the checksum after it (PNG, section 5.3). */
const chunkHeadBytes = 8
const chunkSumBytes = 4

function pngProblem(bytes: Buffer): string | undefined {
  const broken = 'is a damaged PNG file'
  let at = pngSignature.length
  let last = ''
  while (at < bytes.length && last !== 'IEND') {
    if (at + chunkHeadBytes + chunkSumBytes > bytes.length) return broken
    const dataAt = at + chunkHeadBytes
    const end = dataAt + bytes.readUInt32BE(at)
    if (end + chunkSumBytes > bytes.length) return broken
    const isFirst = last === ''
    last = bytes.toString('latin1', at + 4, dataAt)
    if (isFirst !== (last === 'IHDR') || crc32(bytes.subarray(at + 4, end)) !== bytes.readUInt32BE(end)) return broken
    if (isFirst) {
      if (end - dataAt < 8) return broken
      const sides = [bytes.readUInt32BE(dataAt), bytes.readUInt32BE(dataAt + 4)]
      if (sides.some((side) => side < 1 || side > pixelsMax)) return `must have at most ${pixelsMax} pixels a side`
    }
    at = end + chunkSumBytes
  }
  return last === 'IEND' && at === bytes.length ? undefined : broken
}

const svgNamespace = 'http://www.w3.org/2000/svg'
/** Shapes and paints. No scripts, styles, foreign content, animations, images, filters or copies, which can be nested without a bound. */
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

/** References lead to parts of the file only. A backslash could hide one in CSS. */
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
