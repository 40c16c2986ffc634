/** Archives the bytes of files on the disk of this process, each whole or not at all. */
import { mkdir, open, readdir, rename, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Unreachable } from '../../kernel/api/index.ts'

/**
 * Writes `<folder>/out/<day>/<name>`. Replaces a file of the same name: an attempt that ended before the bank had
 * anything.
 */
export async function archiveFile(
  folder: string,
  day: string,
  name: string,
  attempt: string,
  bytes: Uint8Array,
): Promise<void> {
  const target = join(folder, 'out', day, name)
  const temporary = join(dirname(target), `.${name}.${attempt}.tmp`)
  try {
    await mkdir(dirname(target), { recursive: true })
    try {
      await write(temporary, bytes)
      await rename(temporary, target)
    } catch (error) {
      // On a full disk a partial file would keep it full.
      await unlink(temporary).catch(() => undefined)
      throw error
    }
    await flushFolder(dirname(target))
  } catch (error) {
    throw new Unreachable('storage_unavailable', `archive: ${(error as Error).message}`, error)
  }
}

const publishedSuffix = '.published'
const markOf = (folder: string, day: string, name: string): string => join(folder, 'out', day, name + publishedSuffix)

/** Records that the bank gets a file, before it does: after a restore the database may not know the file (adopt.ts). */
export async function markPublished(folder: string, day: string, name: string): Promise<void> {
  const path = markOf(folder, day, name)
  try {
    await mkdir(dirname(path), { recursive: true })
    await write(path, Buffer.alloc(0))
    await flushFolder(dirname(path))
  } catch (error) {
    throw new Unreachable('storage_unavailable', `archive: ${(error as Error).message}`, error)
  }
}

/** Removes the record: the bank did not get the file. */
export async function unmarkPublished(folder: string, day: string, name: string): Promise<void> {
  await unlink(markOf(folder, day, name)).catch(ignoreAbsent)
}

export type PublishedFile = { readonly name: string; readonly path: string }

/** The files that the bank was given, a day at a time, the newest day first. */
export async function* publishedFiles(folder: string, daysMax: number): AsyncGenerator<readonly PublishedFile[]> {
  const out = join(folder, 'out')
  const days = (await readdir(out).catch(ignoreAbsent)) ?? []
  for (const day of days.toSorted().toReversed().slice(0, daysMax)) {
    const names = await readdir(join(out, day))
    yield names
      .filter((name) => name.endsWith(publishedSuffix))
      .map((mark) => mark.slice(0, -publishedSuffix.length))
      .map((name) => ({ name, path: join(out, day, name) }))
  }
}

function ignoreAbsent(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
}

async function write(path: string, bytes: Uint8Array): Promise<void> {
  const file = await open(path, 'w', 0o600)
  try {
    await file.writeFile(bytes)
    await file.sync()
  } finally {
    await file.close()
  }
}

async function flushFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
