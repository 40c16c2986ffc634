/** The mark of a brand at the top of a document: its logo, or its name where the logo cannot be drawn. */
import { inflateSync } from 'node:zlib'

export type DocumentBrand = {
  readonly name?: string | undefined
  /** `#rrggbb`, readable on white. */
  readonly accent?: string | undefined
  /** The bytes of a PNG or an SVG. */
  readonly logo?: Uint8Array | undefined
}

/** The mark is at the top right, and its height is that of the title with the issuer. */
export const markBox = { width: 150, height: 42 } as const

const pngSignature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
/** Samples of a pixel by the colour type (PNG, section 11.2.1). */
const samplesOf: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 }

/**
 * Whether the library can draw the logo: a PNG of 8 bits without interlacing, whose pixels are complete. The library would
 * throw outside of every call for others, which ends the process. It draws no SVG.
 */
export function isDrawable(logo: Uint8Array): boolean {
  const bytes = Buffer.from(logo)
  if (!bytes.subarray(0, pngSignature.length).equals(pngSignature)) return false
  let rowBytes = 0
  let height = 0
  let hasPalette = false
  const pixels: Buffer[] = []
  for (let at = pngSignature.length; at + 8 <= bytes.length;) {
    const data = bytes.subarray(at + 8, at + 8 + bytes.readUInt32BE(at))
    const name = bytes.toString('latin1', at + 4, at + 8)
    if (name === 'IHDR') {
      const samples = samplesOf[data[9] ?? -1]
      if (samples === undefined || data[8] !== 8 || data[12] !== 0) return false
      rowBytes = 1 + data.readUInt32BE(0) * samples
      height = data.readUInt32BE(4)
      hasPalette = data[9] !== 3
    } else if (name === 'PLTE') hasPalette = true
    else if (name === 'IDAT') pixels.push(data)
    at += 12 + data.length
  }
  try {
    const raw = inflateSync(Buffer.concat(pixels), { maxOutputLength: Math.max(1, rowBytes * height) })
    return hasPalette && raw.length === rowBytes * height && filtersAreKnown(raw, rowBytes)
  } catch {
    return false
  }
}

/** Each row begins with one of five filters (PNG, section 9.2). */
function filtersAreKnown(raw: Buffer, rowBytes: number): boolean {
  for (let at = 0; at < raw.length; at += rowBytes) if ((raw[at] ?? 5) > 4) return false
  return true
}
