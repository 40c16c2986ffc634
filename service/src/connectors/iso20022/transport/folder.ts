/**
 * Exchanges files in folders of this machine, as an EBICS client or a mount provides them.
 *
 * Files get their names by rename(2), not by link(2) and unlink(2): a kill between these two leaves both names, and
 * after the bank has processed its file, the other name would be sent again. Names contain an id of ours, so that the
 * check before the rename is enough.
 */
import { constants, createReadStream } from 'node:fs'
import { type FileHandle, lstat, open, readdir, rename, stat, unlink } from 'node:fs/promises'
import { Unreachable } from '../../../api/index.ts'
import type { RemoteFile, Transport } from '../deps.ts'
import { isFinishedName, within } from './names.ts'
import type { FolderConfig } from './settings.ts'

type Config = Omit<FolderConfig, 'kind'>

const { O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_TRUNC, O_WRONLY } = constants
const readBytes = 256 * 1024
const statsAtOnceMax = 64

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? ''
const isAbsent = (error: unknown): boolean => codeOf(error) === 'ENOENT'

/** A mount may hang: the caller continues when its time is over, and the next look finds the outcome. */
async function reached<T>(what: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  signal.throwIfAborted()
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const abort = () => reject(new Unreachable('downstream_timeout', `${what}: the folder does not answer in time`))
  signal.addEventListener('abort', abort)
  try {
    return await Promise.race([work(), aborted])
  } catch (error) {
    if (error instanceof Unreachable || codeOf(error) === '') throw error
    throw new Unreachable('downstream_unreachable', `${what}: ${(error as Error).message}`, error)
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

export function createFolderTransport({ toBank, fromBank, taken }: Config): Transport {
  return {
    list: (signal) => reached('list', signal, () => listFiles(fromBank)),
    read: (name, offset, signal) => readFrom(fromBank, name, offset, signal),
    finish: (name, signal) =>
      reached('finish', signal, async () => {
        const source = within(fromBank, name)
        if (taken === undefined) await unlink(source).catch(ignoreAbsent)
        else await moveInto(taken, name, source)
        await flushFolder(fromBank)
      }),
    stage: (temporary, bytes, signal) =>
      reached('stage', signal, async () => {
        await writeWhole(within(toBank, temporary), bytes)
        // A process that does not find this name later assumes that the file was published: the name must survive a
        // power cut.
        await flushFolder(toBank)
      }),
    publish: (temporary, name, signal) => reached('publish', signal, () => publishIn(toBank, temporary, name)),
    discard: (temporary, signal) =>
      reached('discard', signal, () => unlink(within(toBank, temporary)).catch(ignoreAbsent)),
    close: () => Promise.resolve(),
  }
}

function ignoreAbsent(error: unknown): void {
  if (!isAbsent(error)) throw error
}

/** Regular files only: the bank must not choose the target of a link. */
async function listFiles(folder: string): Promise<readonly RemoteFile[]> {
  const entries = await readdir(folder, { withFileTypes: true })
  const names = entries.filter((entry) => entry.isFile() && isFinishedName(entry.name)).map(({ name }) => name)
  const files: RemoteFile[] = []
  for (let at = 0; at < names.length; at += statsAtOnceMax)
    files.push(
      ...(await Promise.all(names.slice(at, at + statsAtOnceMax).map((name) => describe(folder, name)))).flat(),
    )
  return files
}

/** Empty: the file was removed since it was listed. */
async function describe(folder: string, name: string): Promise<readonly RemoteFile[]> {
  try {
    const { size, mtime } = await lstat(within(folder, name))
    return [{ name, bytes: size, modifiedAt: mtime }]
  } catch (error) {
    if (isAbsent(error)) return []
    throw error
  }
}

async function* readFrom(
  folder: string,
  name: string,
  offset: number,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const path = within(folder, name)
  // A pipe with the name of a file would block the opening for ever.
  const file = await reached('read', signal, () => open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK))
  try {
    const stream = createReadStream(path, { fd: file, start: offset, highWaterMark: readBytes, autoClose: false })
    const chunks = stream[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>
    for (;;) {
      const next = await reached('read', signal, () => chunks.next())
      if (next.done) return
      yield next.value
    }
  } finally {
    await file.close()
  }
}

async function writeWhole(path: string, bytes: Uint8Array): Promise<void> {
  const file: FileHandle = await open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW)
  try {
    await file.writeFile(bytes)
    await file.sync()
  } finally {
    await file.close()
  }
}

async function flushFolder(path: string): Promise<void> {
  const folder = await open(path, O_RDONLY)
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

async function publishIn(folder: string, temporary: string, name: string): Promise<'published' | 'absent'> {
  const source = within(folder, temporary)
  const target = within(folder, name)
  if (!(await exists(source))) return absentFrom(folder)
  if (await exists(target))
    throw new Unreachable('downstream_unreachable', `publish: ${name} exists in the folder of the bank`)
  // After a failure a share may have renamed the file nevertheless: the next look shows it.
  await rename(source, target)
  await flushFolder(folder)
  return 'published'
}

/** The name is missing. If the folder is missing as well, such as a share that is not mounted, that proves nothing. */
async function absentFrom(folder: string): Promise<'absent'> {
  await stat(folder)
  return 'absent'
}

const exists = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    (error: unknown) => {
      ignoreAbsent(error)
      return false
    },
  )

/** Banks reuse names: an earlier file of the same name stays, and this one gets a number. */
async function moveInto(folder: string, name: string, source: string): Promise<void> {
  let target = within(folder, name)
  for (let number = 2; await exists(target); number += 1) target = within(folder, `${name}.${number}`)
  await rename(source, target).catch(ignoreAbsent)
  await flushFolder(folder)
}
