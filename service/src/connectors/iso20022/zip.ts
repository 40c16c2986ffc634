/**
 * Reads the entries of a ZIP file that banks send: stored or deflated, whole, in one part. Everything else is refused. The sizes
 * of the directory are claims: an entry is read up to a limit, and its length and checksum must fit.
 */
import { type FileHandle, open } from 'node:fs/promises'

export type ZipEntry = {
  readonly name: string
  readonly isDeflated: boolean
  readonly crc32: number
  readonly packedBytes: number
  readonly bytes: number
  /** The place of its packed bytes in the file. */
  readonly at: number
}
/** `cut`: the file ends before its directory, as one that a writer has not finished. */
export type ZipProblem = { readonly problem: string; readonly isCut?: true }

/** APPNOTE.TXT of PKWARE, sections 4.3.7, 4.3.12 and 4.3.16. */
const localMark = 0x04034b50
const entryMark = 0x02014b50
const endMark = 0x06054b50
const localBytes = 30
const entryBytes = 46
const endBytes = 22
const commentBytesMax = 0xffff
const encrypted = 1
const methods: ReadonlyMap<number, boolean> = new Map([
  [0, false],
  [8, true],
])
/** The values of a ZIP64 file, whose sizes are elsewhere. */
const elsewhere = [0xffff, 0xffffffff]
/** A directory of 1,000 entries with names and extra fields of usual length. */
const directoryBytesMax = 1 << 20

const refuse = (problem: string): ZipProblem => ({ problem })

async function bytesAt(handle: FileHandle, at: number, count: number): Promise<Buffer> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(count), 0, count, at)
  return buffer.subarray(0, bytesRead)
}

export async function zipEntries(path: string, entriesMax: number): Promise<readonly ZipEntry[] | ZipProblem> {
  const handle = await open(path, 'r')
  try {
    const { size } = await handle.stat()
    const tailAt = Math.max(0, size - endBytes - commentBytesMax)
    const tail = await bytesAt(handle, tailAt, size - tailAt)
    const end = endIn(tail)
    if (end === undefined) return { problem: 'the ZIP file has no directory', isCut: true }
    const [count, length, at] = [tail.readUInt16LE(end + 10), tail.readUInt32LE(end + 12), tail.readUInt32LE(end + 16)]
    if (tail.readUInt32LE(end + 4) !== 0) return refuse('the ZIP file has several parts')
    if ([count, length, at].some((value) => elsewhere.includes(value))) return refuse('the ZIP file is a ZIP64 file')
    if (count === 0) return refuse('the ZIP file is empty')
    if (count > entriesMax) return refuse(`the ZIP file has ${count} entries, and at most ${entriesMax} are read`)
    if (length > directoryBytesMax || at + length > tailAt + end)
      return refuse('the directory of the ZIP file is wrong')
    const listed = entriesOf(await bytesAt(handle, at, length), count)
    return 'problem' in listed ? listed : await placed(handle, listed, at)
  } finally {
    await handle.close()
  }
}

/** The place of the last end record whose comment ends with the file. */
function endIn(tail: Buffer): number | undefined {
  for (let at = tail.length - endBytes; at >= 0; at -= 1)
    if (tail.readUInt32LE(at) === endMark && at + endBytes + tail.readUInt16LE(at + 20) === tail.length) return at
  return undefined
}

function entriesOf(directory: Buffer, count: number): readonly ZipEntry[] | ZipProblem {
  const entries: ZipEntry[] = []
  let at = 0
  for (let number = 0; number < count; number += 1) {
    if (at + entryBytes > directory.length || directory.readUInt32LE(at) !== entryMark)
      return refuse('the directory of the ZIP file is wrong')
    const [flags, method] = [directory.readUInt16LE(at + 8), directory.readUInt16LE(at + 10)]
    const [nameBytes, extraBytes] = [directory.readUInt16LE(at + 28), directory.readUInt16LE(at + 30)]
    const isDeflated = methods.get(method)
    const name = directory.toString('utf8', at + entryBytes, at + entryBytes + nameBytes)
    if ((flags & encrypted) !== 0) return refuse(`the entry ${name} is encrypted`)
    if (isDeflated === undefined) return refuse(`the entry ${name} has the compression method ${method}`)
    const [crc32, packedBytes] = [directory.readUInt32LE(at + 16), directory.readUInt32LE(at + 20)]
    const [bytes, local] = [directory.readUInt32LE(at + 24), directory.readUInt32LE(at + 42)]
    if ([packedBytes, bytes, local].some((value) => elsewhere.includes(value)))
      return refuse('the ZIP file is a ZIP64 file')
    if (!name.endsWith('/')) entries.push({ name, isDeflated, crc32, packedBytes, bytes, at: local })
    at += entryBytes + nameBytes + extraBytes + directory.readUInt16LE(at + 32)
  }
  return entries.length === 0 ? refuse('the ZIP file is empty') : entries
}

/** The entries with the places of their bytes. Entries that share bytes are a way to unpack a small file to a huge one. */
async function placed(
  handle: FileHandle,
  entries: readonly ZipEntry[],
  directoryAt: number,
): Promise<readonly ZipEntry[] | ZipProblem> {
  const found: ZipEntry[] = []
  let free = 0
  for (const entry of entries.toSorted((a, b) => a.at - b.at)) {
    const head = await bytesAt(handle, entry.at, localBytes)
    if (head.length < localBytes || head.readUInt32LE(0) !== localMark)
      return refuse(`the entry ${entry.name} is not there`)
    const at = entry.at + localBytes + head.readUInt16LE(26) + head.readUInt16LE(28)
    if (entry.at < free || at + entry.packedBytes > directoryAt)
      return refuse(`the entry ${entry.name} overlaps another one`)
    free = at + entry.packedBytes
    found.push({ ...entry, at })
  }
  return found
}
