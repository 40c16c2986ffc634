/**
 * Copies files of the bank to our own disk: whole before they are read, and kept in the archive once they are
 * processed.
 */
import { createReadStream } from 'node:fs'
import { copyFile, type FileHandle, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { createHash, hash } from 'node:crypto'
import { join } from 'node:path'
import { dayMs, newId, systemClock } from '../../kernel/index.ts'
import type { RemoteFile, Transport } from './deps.ts'
import { deserialize, serialize } from 'node:v8'
import type { ReportPart } from '../../iso20022/index.ts'

export type Spooled = {
  readonly path: string
  readonly bytes: number
  readonly sha256: string
}

/**
 * Age of files that a killed process has left. A copy by this process is younger, or continues with a new modification
 * time.
 */
const leftAfterMs = dayMs
const nameCharsMax = 100

export const sourceOf = (path: string): AsyncIterable<Uint8Array> => createReadStream(path, { highWaterMark: 1 << 18 })

/** The archive name of a bank's file: letters, digits and a few marks, made unique by the hash of its bytes. */
const archiveName = (fileName: string, sha256: string): string =>
  `${sha256.slice(0, 16)}-${fileName.replace(/[^\w.-]/g, '_').slice(-nameCharsMax)}`

export function createSpool(archive: string) {
  const folder = join(archive, 'incoming')
  /** Two processes may share the folder. */
  const own = newId()
  const pathOf = ({ name, bytes, modifiedAt }: RemoteFile) =>
    join(folder, `${own}-${hash('sha1', `${name}\n${bytes}\n${modifiedAt.getTime()}`)}.part`)

  return {
    /**
     * Copies a file as it was listed, after the part that an earlier call has copied. Undefined: its length has
     * changed, so that a writer is still at it.
     */
    copy: async (
      transport: Transport,
      file: RemoteFile,
      signal: AbortSignal,
      keep: () => Promise<void>,
    ): Promise<Spooled | undefined> => {
      await mkdir(folder, { recursive: true })
      const path = pathOf(file)
      const bytes = await append(path, transport, file, signal, keep)
      if (bytes === file.bytes) return describe(path, bytes)
      // The next call fetches a missing rest; a file that has grown begins again, because its name in the spool
      // differs.
      if (bytes > file.bytes) await rm(path, { force: true })
      return undefined
    },
    drop: async ({ path }: Pick<Spooled, 'path'>): Promise<void> => {
      await rm(path, { force: true })
      await rm(parsedPathOf(path), { force: true })
    },
    /**
     * Writes it whole under its name or not at all, also after a power cut: the bank's own copy is removed after this.
     */
    keep: async (spooled: Spooled, state: 'taken' | 'aside', receivedAt: Date, fileName: string): Promise<void> => {
      const to = join(archive, state, receivedAt.toISOString().slice(0, 10))
      await mkdir(to, { recursive: true })
      await flush(spooled.path)
      await rename(spooled.path, join(to, archiveName(fileName, spooled.sha256)))
      await flush(to)
      await rm(parsedPathOf(spooled.path), { force: true })
    },
    /** Copies a file that was quarantined out of the archive. Undefined: the archive of this process does not have it. */
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
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
        throw error
      }
      return describe(path, (await stat(path)).size)
    },
    /** Removes the files that killed processes have left. */
    clean: async (): Promise<void> => {
      // Modification times come from the machine, whatever clock the process has.
      const now = systemClock.now()
      for (const name of await readdir(folder).catch(() => []))
        if (!name.startsWith(own) && (await isOld(join(folder, name), now)))
          await rm(join(folder, name), { force: true })
    },
  }
}
export type Spool = ReturnType<typeof createSpool>

async function append(
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
      // The file grows while it is read: the next listing shows its new length.
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

async function describe(path: string, bytes: number): Promise<Spooled> {
  const digest = createHash('sha256')
  for await (const chunk of sourceOf(path)) digest.update(chunk)
  return { path, bytes, sha256: digest.digest('hex') }
}

async function flush(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function isOld(path: string, now: Date): Promise<boolean> {
  const found = await stat(path).catch(() => undefined)
  return found !== undefined && now.getTime() - found.mtimeMs > leftAfterMs
}

// The parts of a report as they were parsed, on our own disk beside the message: its XML is parsed once, in constant memory.

type Parts = AsyncIterable<readonly ReportPart[]>

const lengthBytes = 4

/** The file of the parsed parts of a spooled message. */
const parsedPathOf = (path: string): string => `${path}.parsed`

/** Passes on the parts of the message, and writes them to its file: each group preceded by its length. */
export async function* keepParsed(path: string, groups: Parts): Parts {
  const handle = await open(parsedPathOf(path), 'w')
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

/** Reads the parts of a message again, in the groups in which they were written. */
export async function* readParsed(path: string): Parts {
  const handle = await open(parsedPathOf(path), 'r')
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

/** Undefined: the end of the file. */
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
