/** Copies whole files of the bank to our disk before they are read, and archives them once they are processed. */
import { createReadStream } from 'node:fs'
import { copyFile, type FileHandle, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { createHash, hash } from 'node:crypto'
import { join } from 'node:path'
import { dayMs, newId, systemClock } from '../../kernel/index.ts'
import { flush, ignoreAbsent } from './archive.ts'
import type { RemoteFile, Transport } from './deps.ts'
import { deserialize, serialize } from 'node:v8'
import type { ReportPart } from '../../iso20022/index.ts'

export type SpooledFile = {
  readonly path: string
  readonly bytes: number
  readonly sha256: string
}

/** Older files were left by a killed process: a running copy changes its modification time. */
const leftAfterMs = dayMs
const nameCharsMax = 100

export const readFileStream = (path: string): AsyncIterable<Uint8Array> =>
  createReadStream(path, { highWaterMark: 1 << 18 })

/** Formats the archive name of a bank's file: safe characters, and the hash of its bytes so that it is unique. */
const archiveName = (fileName: string, sha256: string): string =>
  `${sha256.slice(0, 16)}-${fileName.replace(/[^\w.-]/g, '_').slice(-nameCharsMax)}`

export function createSpool(archive: string) {
  const folder = join(archive, 'incoming')
  /** Two processes may share the folder. */
  const own = newId()
  const pathOf = ({ name, bytes, modifiedAt }: RemoteFile) =>
    join(folder, `${own}-${hash('sha1', `${name}\n${bytes}\n${modifiedAt.getTime()}`)}.part`)

  return {
    /** Copies a listed file, continuing an earlier copy. Undefined: its length has changed, so it is still being written. */
    copy: async (
      transport: Transport,
      file: RemoteFile,
      signal: AbortSignal,
      keep: () => Promise<void>,
    ): Promise<SpooledFile | undefined> => {
      await mkdir(folder, { recursive: true })
      const path = pathOf(file)
      const bytes = await appendRest(path, transport, file, signal, keep)
      if (bytes === file.bytes) return hashFile(path, bytes)
      // The next call fetches the missing rest. A grown file is copied from the beginning, under another spool name.
      if (bytes > file.bytes) await rm(path, { force: true })
      return undefined
    },
    drop: async ({ path }: Pick<SpooledFile, 'path'>): Promise<void> => {
      await rm(path, { force: true })
      await rm(parsedPath(path), { force: true })
    },
    /** Archives a file atomically, even in a power cut: the bank's copy is removed afterwards. */
    keep: async (spooled: SpooledFile, state: 'taken' | 'aside', receivedAt: Date, fileName: string): Promise<void> => {
      const to = join(archive, state, receivedAt.toISOString().slice(0, 10))
      await mkdir(to, { recursive: true })
      await flush(spooled.path)
      await rename(spooled.path, join(to, archiveName(fileName, spooled.sha256)))
      await flush(to)
      await rm(parsedPath(spooled.path), { force: true })
    },
    /** Copies a quarantined file from the archive. Undefined: the archive of this process does not have it. */
    again: async (row: { readonly receivedAt: Date; readonly fileName: string; readonly sha256: string }) => {
      await mkdir(folder, { recursive: true })
      const from = join(
        archive,
        'aside',
        row.receivedAt.toISOString().slice(0, 10),
        archiveName(row.fileName, row.sha256),
      )
      const path = join(folder, `${own}-${hash('sha1', row.sha256)}.again`)
      try {
        await copyFile(from, path)
      } catch (error) {
        return ignoreAbsent(error)
      }
      return hashFile(path, (await stat(path)).size)
    },
    /** Removes the files that killed processes have left. */
    clean: async (): Promise<void> => {
      // Modification times come from the clock of the machine.
      const now = systemClock.now()
      for (const name of await readdir(folder).catch(() => []))
        if (!name.startsWith(own) && (await isOld(join(folder, name), now)))
          await rm(join(folder, name), { force: true })
    },
  }
}
export type Spool = ReturnType<typeof createSpool>

async function appendRest(
  path: string,
  transport: Transport,
  file: RemoteFile,
  signal: AbortSignal,
  keep: () => Promise<void>,
): Promise<number> {
  const handle = await open(path, 'a')
  try {
    let { size } = await handle.stat()
    if (size >= file.bytes && file.bytes > 0) return size
    for await (const chunk of transport.read(file.name, size, signal)) {
      await handle.appendFile(chunk)
      await keep()
      size += chunk.length
      // The file has grown since it was listed; the next listing shows its new length.
      if (size > file.bytes) break
    }
    return size
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOSPC') await handle.truncate(0)
    throw error
  } finally {
    await handle.close()
  }
}

async function hashFile(path: string, bytes: number): Promise<SpooledFile> {
  const digest = createHash('sha256')
  for await (const chunk of readFileStream(path)) digest.update(chunk)
  return { path, bytes, sha256: digest.digest('hex') }
}

async function isOld(path: string, now: Date): Promise<boolean> {
  const found = await stat(path).catch(() => undefined)
  return found !== undefined && now.getTime() - found.mtimeMs > leftAfterMs
}

// Stores the parsed parts of a report beside the message, so that its XML is parsed once and in constant memory.

type ParsedParts = AsyncIterable<readonly ReportPart[]>

const lengthBytes = 4

const parsedPath = (path: string): string => `${path}.parsed`

/** Yields the parts of a message, and writes each group to a file, preceded by its length. */
export async function* storeParsedParts(path: string, groups: ParsedParts): ParsedParts {
  const handle = await open(parsedPath(path), 'w')
  try {
    for await (const parts of groups) {
      const bytes = serialize(parts)
      const length = Buffer.alloc(lengthBytes)
      length.writeUInt32LE(bytes.length)
      await handle.appendFile(Buffer.concat([length, bytes]))
      yield parts
    }
  } finally {
    await handle.close()
  }
}

/** Reads the stored parts of a message, in the same groups. */
export async function* readParsedParts(path: string): ParsedParts {
  const handle = await open(parsedPath(path), 'r')
  try {
    for (;;) {
      const length = await readExactly(handle, lengthBytes)
      if (length === undefined) return
      const bytes = await readExactly(handle, length.readUInt32LE())
      if (bytes === undefined) throw new Error('the parsed parts of a message end before their length')
      yield deserialize(bytes) as readonly ReportPart[]
    }
  } finally {
    await handle.close()
  }
}

/** Reads bytes; undefined at the end of the file. */
async function readExactly(handle: FileHandle, count: number): Promise<Buffer | undefined> {
  const bytes = Buffer.alloc(count)
  let read = 0
  while (read < count) {
    const { bytesRead } = await handle.read(bytes, read, count - read)
    if (bytesRead === 0) return undefined
    read += bytesRead
  }
  return bytes
}
