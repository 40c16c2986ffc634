/**
 * Converts a logo for documents to a small RGB PNG on white, which the PDF library embeds unchanged. The original could be expensive to
 * decode: 19 kB may be four million pixels.
 */
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { crc32, deflateSync, inflate } from 'node:zlib'
import { readPngChunks, pngSignature } from './logo.ts'

/** Size of the converted logo: three pixels per point of the logo in a document. */
const drawnSize = { width: 450, height: 126 } as const

/** Samples per pixel, by colour type (PNG, section 11.2.1). */
const samplesOf: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 }
/** Rows that are decoded before the event loop runs other work. */
const rowsAtOnce = 64
const white = 255

/** Returns the digest that identifies the original logo. */
export const logoDigest = (logo: Uint8Array): Buffer => createHash('sha256').update(logo).digest()

type Picture = {
  readonly width: number
  readonly height: number
  readonly samples: number
  /** Rows without their filters, one after the other. */
  readonly raw: Buffer
  readonly palette: Buffer
  /** Alpha of the entries of the palette (tRNS). */
  readonly alpha: Buffer
}

/** Converts a PNG logo. Undefined: an SVG, or a PNG that is interlaced, damaged or of another depth. Documents then show the name. */
export async function convertLogo(logo: Uint8Array): Promise<Buffer | undefined> {
  const picture = await decode(Buffer.from(logo))
  return picture && encode(await scale(picture))
}

const inflated = promisify(inflate)

async function decode(bytes: Buffer): Promise<Picture | undefined> {
  if (!bytes.subarray(0, pngSignature.length).equals(pngSignature)) return undefined
  const chunks = [...readPngChunks(bytes)]
  const dataOf = (name: string) => chunks.find((chunk) => chunk.name === name)?.data
  const head = dataOf('IHDR')
  if (head === undefined || head.length < 13) return undefined
  const [width, height] = [head.readUInt32BE(0), head.readUInt32BE(4)]
  const [depth = 0, type = -1, , , interlace] = head.subarray(8)
  const samples = samplesOf[type]
  const [palette = Buffer.alloc(0), alpha = Buffer.alloc(0)] = [dataOf('PLTE'), dataOf('tRNS')]
  if (samples === undefined || depth !== 8 || interlace !== 0) return undefined
  if (type === 3 && palette.length < 3) return undefined
  const rowBytes = 1 + width * samples
  const size = rowBytes * height
  try {
    const data = Buffer.concat(chunks.flatMap((chunk) => (chunk.name === 'IDAT' ? [chunk.data] : [])))
    const filtered = await inflated(data, { maxOutputLength: Math.max(1, size) })
    if (filtered.length !== size) return undefined
    const raw = await unfilter(filtered, rowBytes, samples)
    return raw && { width, height, samples, raw, palette: type === 3 ? palette : Buffer.alloc(0), alpha }
  } catch {
    return undefined
  }
}

/** Removes the filter of each row (PNG, section 9.2). Undefined: a filter is unknown. */
async function unfilter(filtered: Buffer, rowBytes: number, samples: number): Promise<Buffer | undefined> {
  const length = rowBytes - 1
  const height = filtered.length / rowBytes
  const raw = Buffer.alloc(length * height)
  for (let row = 0; row < height; row += 1) {
    if (row % rowsAtOnce === 0) await pause()
    const filter = filtered[row * rowBytes] ?? 5
    if (filter > 4) return undefined
    const from = row * rowBytes + 1
    const to = row * length
    for (let at = 0; at < length; at += 1) {
      const left = at < samples ? 0 : (raw[to + at - samples] ?? 0)
      const up = row === 0 ? 0 : (raw[to + at - length] ?? 0)
      const corner = row === 0 || at < samples ? 0 : (raw[to + at - length - samples] ?? 0)
      raw[to + at] = (filtered[from + at] ?? 0) + predict(filter, left, up, corner)
    }
  }
  return raw
}

function predict(filter: number, left: number, up: number, corner: number): number {
  if (filter === 0) return 0
  if (filter === 1) return left
  if (filter === 2) return up
  if (filter === 3) return (left + up) >> 1
  const [toLeft, toUp, toCorner] = [Math.abs(up - corner), Math.abs(left - corner), Math.abs(left + up - 2 * corner)]
  if (toLeft <= toUp && toLeft <= toCorner) return left
  return toUp <= toCorner ? up : corner
}

/** Lets other work of the event loop run. */
const pause = () => new Promise<void>((resolve) => setImmediate(resolve))

type Pixels = { readonly width: number; readonly height: number; readonly pixels: Buffer }

/** Scales the picture down to the size for documents. Each pixel is the mean of the pixels that it covers. */
async function scale(picture: Picture): Promise<Pixels> {
  const factor = Math.max(1, picture.width / drawnSize.width, picture.height / drawnSize.height)
  const width = Math.max(1, Math.floor(picture.width / factor))
  const height = Math.max(1, Math.floor(picture.height / factor))
  const pixels = Buffer.alloc(3 * width * height)
  const sum = [0, 0, 0]
  for (let y = 0; y < height; y += 1) {
    if (y % (rowsAtOnce / 4) === 0) await pause()
    const [top, bottom] = [Math.floor((y * picture.height) / height), Math.ceil(((y + 1) * picture.height) / height)]
    for (let x = 0; x < width; x += 1) {
      const [start, end] = [Math.floor((x * picture.width) / width), Math.ceil(((x + 1) * picture.width) / width)]
      sum.fill(0)
      for (let row = top; row < bottom; row += 1)
        for (let column = start; column < end; column += 1) addPixel(picture, row * picture.width + column, sum)
      const count = (bottom - top) * (end - start)
      for (let part = 0; part < 3; part += 1) pixels[3 * (y * width + x) + part] = Math.round((sum[part] ?? 0) / count)
    }
  }
  return { width, height, pixels }
}

/** Adds the colour of a pixel, blended with white, to a sum. */
function addPixel({ samples, raw, palette, alpha }: Picture, index: number, sum: number[]): void {
  const at = index * samples
  const first = raw[at] ?? 0
  const isIndexed = palette.length > 0
  const from = isIndexed ? palette : raw
  const start = isIndexed ? 3 * first : at
  const opacity = isIndexed ? (alpha[first] ?? white) : samples % 2 === 0 ? (raw[at + samples - 1] ?? white) : white
  const step = isIndexed || samples > 2 ? 1 : 0
  for (let part = 0; part < 3; part += 1) {
    const value = from[start + part * step] ?? 0
    sum[part] = (sum[part] ?? 0) + white + ((value - white) * opacity) / white
  }
}

function encode({ width, height, pixels }: Pixels): Buffer {
  const head = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 8, 2, 0, 0, 0])
  head.writeUInt32BE(width)
  head.writeUInt32BE(height, 4)
  const rows = Buffer.alloc(height * (1 + 3 * width))
  for (let row = 0; row < height; row += 1)
    pixels.copy(rows, row * (1 + 3 * width) + 1, row * 3 * width, (row + 1) * 3 * width)
  return Buffer.concat([pngSignature, chunk('IHDR', head), chunk('IDAT', deflateSync(rows)), chunk('IEND')])
}

function chunk(name: string, data: Buffer = Buffer.alloc(0)): Buffer {
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
  const body = Buffer.concat([Buffer.from(name), data])
  length.writeUInt32BE(data.length)
  sum.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, sum])
}
