/**
 * Unpacks containers of a bank: gzip, ZIP files, and XML with several documents. The number of entries, the bytes and the
 * growth are checked before the bytes are on our disk.
 */
import { createReadStream } from 'node:fs'
import { appendFile, type FileHandle, open, rm, writeFile } from 'node:fs/promises'
import { createHash, type Hash } from 'node:crypto'
import { Readable, type Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { crc32, createGunzip, createInflateRaw } from 'node:zlib'
import { MessageProblem, splitDocuments } from '../../iso20022/index.ts'
import { readFileStream, type SpooledFile } from './spool.ts'

/** `name`: the name of the document in the container. */
export type UnpackedDocument = { readonly name: string; readonly spooled: SpooledFile }
export type UnpackResult =
  | { readonly documents: readonly UnpackedDocument[] }
  | { readonly problem: string; readonly isCut: boolean }

const entriesMax = 1000
/** Account reports compress about 30:1. The maximum ratio of DEFLATE is 1,032:1. */
const growthMax = 200
/** A file that unpacks to less may grow by any factor. */
const freeBytes = 1 << 20
const nameCharsMax = 100
const headBytes = 4

class TooLarge extends Error {}

type Streams = readonly [Readable] | readonly [Readable, Transform]
type Limits = { readonly bytesMax: number; readonly keep: () => Promise<void> }

/** Unpacks a file; undefined if it is not a container. */
export async function unpack(spooled: SpooledFile, limits: Limits): Promise<UnpackResult | undefined> {
  const head = await readHead(spooled.path)
  if (head.startsWith('\x1f\x8b')) return unpackGzip(spooled, limits)
  if (head.startsWith('PK\x03\x04') || head.startsWith('PK\x05\x06')) return unpackZip(spooled, limits)
  return unpackEnvelope(spooled, limits)
}

async function readHead(path: string): Promise<string> {
  const handle = await open(path, 'r')
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(headBytes), 0, headBytes, 0)
    return buffer.toString('latin1', 0, bytesRead)
  } finally {
    await handle.close()
  }
}

/**
 * Unpacks XML with several messages. Undefined: the file has one message, or is unreadable, and is processed as a
 * whole.
 */
async function unpackEnvelope(spooled: SpooledFile, { bytesMax, keep }: Limits): Promise<UnpackResult | undefined> {
  const open: OpenDocument[] = []
  let bytes = 0
  try {
    for await (const { number, text } of splitDocuments(readFileStream(spooled.path), { bytesMax })) {
      if (number >= entriesMax) return { problem: `the file has more than ${entriesMax} messages`, isCut: false }
      const part = Buffer.from(text)
      bytes += part.length
      if (bytes > bytesMax)
        return { problem: `the messages of the file have more than ${bytesMax} bytes`, isCut: false }
      open[number] ??= await openDocument(documentPath(spooled, number))
      await appendTo(open[number], part)
      await keep()
    }
    if (open.length < 2) return undefined
    const documents = open.map((writing, number) => ({ name: String(number + 1), spooled: finishDocument(writing) }))
    open.length = 0
    return { documents }
  } catch (error) {
    if (!(error instanceof MessageProblem)) throw error
    const isCut = error.code === 'not_whole' && open.length > 1
    return isCut ? { problem: `the file ends before its last message: ${error.message}`, isCut } : undefined
  } finally {
    for (const { path } of open) await rm(path, { force: true })
  }
}

type OpenDocument = { readonly path: string; readonly digest: Hash; bytes: number }

async function openDocument(path: string): Promise<OpenDocument> {
  await writeFile(path, '')
  return { path, digest: createHash('sha256'), bytes: 0 }
}
async function appendTo(writing: OpenDocument, part: Buffer): Promise<void> {
  await appendFile(writing.path, part)
  writing.digest.update(part)
  writing.bytes += part.length
}
const finishDocument = ({ path, digest, bytes }: OpenDocument): SpooledFile => ({
  path,
  bytes,
  sha256: digest.digest('hex'),
})

const documentPath = ({ path }: SpooledFile, number: number): string => `${path}.${number}`

async function unpackGzip(spooled: SpooledFile, limits: Limits): Promise<UnpackResult> {
  const packed = createReadStream(spooled.path)
  const path = documentPath(spooled, 0)
  try {
    const written = await write([packed, createGunzip()], path, { ...limits, packedBytes: spooled.bytes })
    return { documents: [{ name: '', spooled: written.spooled }] }
  } catch (error) {
    await rm(path, { force: true })
    return unpackProblem(error, 'the gzip file')
  }
}

async function unpackZip(spooled: SpooledFile, limits: Limits): Promise<UnpackResult> {
  const entries = await zipEntries(spooled.path, entriesMax)
  if ('problem' in entries) return { problem: entries.problem, isCut: entries.isCut === true }
  const documents: UnpackedDocument[] = []
  let left = limits.bytesMax
  for (const [number, entry] of entries.entries()) {
    const path = documentPath(spooled, number)
    const outcome = await unpackEntry(spooled, entry, path, { ...limits, bytesMax: left })
    if ('problem' in outcome) {
      for (const made of [path, ...documents.map((one) => one.spooled.path)]) await rm(made, { force: true })
      return outcome
    }
    documents.push(outcome)
    left -= outcome.spooled.bytes
  }
  return { documents }
}

async function unpackEntry(
  { path: zipPath }: SpooledFile,
  entry: ZipEntry,
  path: string,
  { bytesMax, keep }: Limits,
): Promise<UnpackedDocument | { readonly problem: string; readonly isCut: boolean }> {
  const { name, at, packedBytes, isDeflated } = entry
  const what = `the entry ${name.slice(0, nameCharsMax)}`
  const packed =
    packedBytes === 0 ? Readable.from([]) : createReadStream(zipPath, { start: at, end: at + packedBytes - 1 })
  try {
    const streams: Streams = isDeflated ? [packed, createInflateRaw()] : [packed]
    const { spooled, checksum } = await write(streams, path, { bytesMax, packedBytes, keep })
    if (spooled.bytes !== entry.bytes || checksum !== entry.crc32)
      return { problem: `${what} does not fit its checksum`, isCut: false }
    return { name, spooled }
  } catch (error) {
    return { ...unpackProblem(error, what), isCut: false }
  }
}

/** Writes the bytes while they are within the limits. */
async function write(
  streams: Streams,
  path: string,
  { bytesMax, packedBytes, keep }: Limits & { readonly packedBytes: number },
) {
  const handle = await open(path, 'w')
  const digest = createHash('sha256')
  let [bytes, checksum] = [0, 0]
  try {
    await pipeline([
      ...streams,
      async (source: AsyncIterable<Buffer>) => {
        for await (const chunk of source) {
          bytes += chunk.length
          if (bytes > bytesMax) throw new TooLarge(`has more than ${bytesMax} bytes unpacked`)
          if (bytes > freeBytes && bytes > packedBytes * growthMax)
            throw new TooLarge(`grows more than ${growthMax} times`)
          digest.update(chunk)
          checksum = crc32(chunk, checksum)
          await handle.appendFile(chunk)
          await keep()
        }
      },
    ])
  } finally {
    await handle.close()
  }
  return { spooled: { path, bytes, sha256: digest.digest('hex') }, checksum }
}

/** Describes errors of zlib and of the limits. Throws others, such as a full disk. */
function unpackProblem(error: unknown, what: string): { readonly problem: string; readonly isCut: boolean } {
  if (error instanceof TooLarge) return { problem: `${what} ${error.message}`, isCut: false }
  const { code = '', message } = error as NodeJS.ErrnoException
  if (!code.startsWith('Z_')) throw error
  return { problem: `${what} cannot be unpacked: ${message}`, isCut: code === 'Z_BUF_ERROR' }
}

// Reads ZIP files: stored or deflated entries, in one part. Everything else is refused. The directory is not trusted: an
// entry is read up to a limit, and its length and checksum must match.

type ZipEntry = {
  readonly name: string
  readonly isDeflated: boolean
  readonly crc32: number
  readonly packedBytes: number
  readonly bytes: number
  /** The offset of its packed bytes in the file. */
  readonly at: number
}
/** `isCut`: the file ends before its directory, such as while it is still being written. */
type ZipProblem = { readonly problem: string; readonly isCut?: true }

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
/** ZIP64 files have these values and store the sizes elsewhere. */
const elsewhere = [0xffff, 0xffffffff]
/** Enough for 1,000 entries with names and extra fields of usual length. */
const directoryBytesMax = 1 << 20

const refuse = (problem: string): ZipProblem => ({ problem })

async function readBytes(handle: FileHandle, at: number, count: number): Promise<Buffer> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(count), 0, count, at)
  return buffer.subarray(0, bytesRead)
}

async function zipEntries(path: string, entriesMax: number): Promise<readonly ZipEntry[] | ZipProblem> {
  const handle = await open(path, 'r')
  try {
    const { size } = await handle.stat()
    const tailAt = Math.max(0, size - endBytes - commentBytesMax)
    const tail = await readBytes(handle, tailAt, size - tailAt)
    const end = findEndRecord(tail)
    if (end === undefined) return { problem: 'the ZIP file has no directory', isCut: true }
    const [count, length, at] = [tail.readUInt16LE(end + 10), tail.readUInt32LE(end + 12), tail.readUInt32LE(end + 16)]
    if (tail.readUInt32LE(end + 4) !== 0) return refuse('the ZIP file has several parts')
    if ([count, length, at].some((value) => elsewhere.includes(value))) return refuse('the ZIP file is a ZIP64 file')
    if (count === 0) return refuse('the ZIP file is empty')
    if (count > entriesMax) return refuse(`the ZIP file has ${count} entries, and at most ${entriesMax} are read`)
    if (length > directoryBytesMax || at + length > tailAt + end)
      return refuse('the directory of the ZIP file is wrong')
    const listed = readDirectory(await readBytes(handle, at, length), count)
    return 'problem' in listed ? listed : await locateEntries(handle, listed, at)
  } finally {
    await handle.close()
  }
}

/** Finds the last end record whose comment ends with the file. */
function findEndRecord(tail: Buffer): number | undefined {
  for (let at = tail.length - endBytes; at >= 0; at -= 1)
    if (tail.readUInt32LE(at) === endMark && at + endBytes + tail.readUInt16LE(at + 20) === tail.length) return at
  return undefined
}

function readDirectory(directory: Buffer, count: number): readonly ZipEntry[] | ZipProblem {
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

/** Finds the bytes of each entry. Refuses entries that share bytes, because a small file could unpack to a huge one. */
async function locateEntries(
  handle: FileHandle,
  entries: readonly ZipEntry[],
  directoryAt: number,
): Promise<readonly ZipEntry[] | ZipProblem> {
  const found: ZipEntry[] = []
  let free = 0
  for (const entry of entries.toSorted((a, b) => a.at - b.at)) {
    const head = await readBytes(handle, entry.at, localBytes)
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
