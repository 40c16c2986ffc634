/** ZIP files as banks write them, and broken ones. */
import { crc32, deflateRawSync } from 'node:zlib'

export type ZipPart = {
  readonly name: string
  readonly bytes: Uint8Array
  readonly isStored?: boolean
  /** Claims of the directory that differ from the truth. */
  readonly flags?: number
  readonly method?: number
  readonly checksum?: number
  readonly claimedBytes?: number
  /** The entry whose bytes this one shares. */
  readonly sharedWith?: number
}

export function zipOf(parts: readonly ZipPart[], { comment = '' } = {}): Buffer {
  const locals: Buffer[] = []
  const directory: Buffer[] = []
  const places: number[] = []
  let at = 0
  for (const part of parts) {
    const { name, bytes, isStored = false, flags = 0x0800 } = part
    const packed = isStored ? Buffer.from(bytes) : deflateRawSync(bytes)
    const method = part.method ?? (isStored ? 0 : 8)
    const label = Buffer.from(name)
    const facts = Buffer.alloc(16)
    facts.writeUInt32LE(part.checksum ?? crc32(Buffer.from(bytes)), 4)
    facts.writeUInt32LE(packed.length, 8)
    facts.writeUInt32LE(part.claimedBytes ?? bytes.length, 12)
    const local = Buffer.alloc(10)
    local.writeUInt32LE(0x04034b50, 0)
    local.writeUInt16LE(20, 4)
    local.writeUInt16LE(flags, 6)
    local.writeUInt16LE(method, 8)
    const lengths = Buffer.alloc(4)
    lengths.writeUInt16LE(label.length, 0)
    const place = part.sharedWith === undefined ? at : (places[part.sharedWith] ?? 0)
    places.push(place)
    if (part.sharedWith === undefined) {
      const whole = Buffer.concat([local, facts, lengths, label, packed])
      locals.push(whole)
      at += whole.length
    }
    const entry = Buffer.alloc(12)
    entry.writeUInt32LE(0x02014b50, 0)
    entry.writeUInt16LE(20, 4)
    entry.writeUInt16LE(20, 6)
    entry.writeUInt16LE(flags, 8)
    entry.writeUInt16LE(method, 10)
    const rest = Buffer.alloc(18)
    rest.writeUInt16LE(label.length, 0)
    rest.writeUInt32LE(place, 14)
    directory.push(Buffer.concat([entry, facts, rest, label]))
  }
  const listed = Buffer.concat(directory)
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06054b50, 0)
  end.writeUInt16LE(parts.length, 8)
  end.writeUInt16LE(parts.length, 10)
  end.writeUInt32LE(listed.length, 12)
  end.writeUInt32LE(at, 16)
  end.writeUInt16LE(Buffer.byteLength(comment), 20)
  return Buffer.concat([...locals, listed, end, Buffer.from(comment)])
}
