/**
 * Unpacks the files of a bank that contain others: gzip, ZIP with one or several documents, and XML with several. The limits hold before the bytes are
 * on our disk: entries, bytes in all, and how much a file may grow.
 */
import { createReadStream } from 'node:fs'
import { appendFile, open, rm, writeFile } from 'node:fs/promises'
import { createHash, type Hash } from 'node:crypto'
import { Readable, type Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { crc32, createGunzip, createInflateRaw } from 'node:zlib'
import { MessageProblem, splitDocuments } from '../../iso20022/index.ts'
import { type Spooled, sourceOf } from './spool.ts'
import { type ZipEntry, zipEntries } from './zip.ts'

/** `name`: of the document within the container. */
export type Unpacked = { readonly name: string; readonly spooled: Spooled }
export type Unpacking =
  | { readonly documents: readonly Unpacked[] }
  | { readonly problem: string; readonly isCut: boolean }

const entriesMax = 1000
/** Account reports grow about 30 times, and deflate at most 1,032 times. */
const growthMax = 200
/** A short file may grow more. */
const freeBytes = 1 << 20
const nameCharsMax = 100
const headBytes = 4

class TooLarge extends Error {}

type Streams = readonly [Readable] | readonly [Readable, Transform]
type Limits = { readonly bytesMax: number; readonly keep: () => Promise<void> }

/** Undefined: the file is not a container. */
export async function unpack(spooled: Spooled, limits: Limits): Promise<Unpacking | undefined> {
  const head = await headOf(spooled.path)
  if (head.startsWith('\x1f\x8b')) return unpackGzip(spooled, limits)
  if (head.startsWith('PK\x03\x04') || head.startsWith('PK\x05\x06')) return unpackZip(spooled, limits)
  return unpackEnvelope(spooled, limits)
}

async function headOf(path: string): Promise<string> {
  const handle = await open(path, 'r')
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(headBytes), 0, headBytes, 0)
    return buffer.toString('latin1', 0, bytesRead)
  } finally {
    await handle.close()
  }
}

/** An envelope with one message, or a file that cannot be read, is not a container: its reader says what it is. */
async function unpackEnvelope(spooled: Spooled, { bytesMax, keep }: Limits): Promise<Unpacking | undefined> {
  const open: Writing[] = []
  let bytes = 0
  try {
    for await (const { number, text } of splitDocuments(sourceOf(spooled.path), { bytesMax })) {
      if (number >= entriesMax) return { problem: `the file has more than ${entriesMax} messages`, isCut: false }
      const part = Buffer.from(text)
      bytes += part.length
      if (bytes > bytesMax)
        return { problem: `the messages of the file have more than ${bytesMax} bytes`, isCut: false }
      open[number] ??= await begin(documentPath(spooled, number))
      await append(open[number], part)
      await keep()
    }
    if (open.length < 2) return undefined
    const documents = open.map((writing, number) => ({ name: String(number + 1), spooled: spooledOf(writing) }))
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

type Writing = { readonly path: string; readonly digest: Hash; bytes: number }

async function begin(path: string): Promise<Writing> {
  await writeFile(path, '')
  return { path, digest: createHash('sha256'), bytes: 0 }
}
async function append(writing: Writing, part: Buffer): Promise<void> {
  await appendFile(writing.path, part)
  writing.digest.update(part)
  writing.bytes += part.length
}
const spooledOf = ({ path, digest, bytes }: Writing): Spooled => ({ path, bytes, sha256: digest.digest('hex') })

const documentPath = ({ path }: Spooled, number: number): string => `${path}.${number}`

async function unpackGzip(spooled: Spooled, limits: Limits): Promise<Unpacking> {
  const packed = createReadStream(spooled.path)
  const path = documentPath(spooled, 0)
  try {
    const written = await write([packed, createGunzip()], path, { ...limits, packedBytes: spooled.bytes })
    return { documents: [{ name: '', spooled: written.spooled }] }
  } catch (error) {
    await rm(path, { force: true })
    return problemOf(error, 'the gzip file')
  }
}

async function unpackZip(spooled: Spooled, limits: Limits): Promise<Unpacking> {
  const entries = await zipEntries(spooled.path, entriesMax)
  if ('problem' in entries) return { problem: entries.problem, isCut: entries.isCut === true }
  const documents: Unpacked[] = []
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
  { path: zipPath }: Spooled,
  entry: ZipEntry,
  path: string,
  { bytesMax, keep }: Limits,
): Promise<Unpacked | { readonly problem: string; readonly isCut: boolean }> {
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
    return { ...problemOf(error, what), isCut: false }
  }
}

/** Writes the bytes, as long as they are within the limits. */
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

/** Errors of zlib and of the limits. Others, such as a full disk, are errors of this machine. */
function problemOf(error: unknown, what: string): { readonly problem: string; readonly isCut: boolean } {
  if (error instanceof TooLarge) return { problem: `${what} ${error.message}`, isCut: false }
  const { code = '', message } = error as NodeJS.ErrnoException
  if (!code.startsWith('Z_')) throw error
  return { problem: `${what} cannot be unpacked: ${message}`, isCut: code === 'Z_BUF_ERROR' }
}
