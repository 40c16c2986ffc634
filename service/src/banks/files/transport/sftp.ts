/** Exchanges files with an SFTP server. */
import { Unreachable } from '../../../kernel/api/index.ts'
import type { RemoteFile, Transport } from '../deps.ts'
import { isFinishedName, type SftpConfig, pathIn } from './settings.ts'
import { type Channel, createSession, requestMsDefault, type Session } from './session.ts'

type SftpPaths = Omit<SftpConfig, 'kind'>

/** SSH_FX_EOF, SSH_FX_NO_SUCH_FILE, SSH_FX_OP_UNSUPPORTED of draft-ietf-secsh-filexfer-02. */
const endOfFile = 1
const noSuchFile = 2
const unsupported = 8
/** Every server accepts this many bytes in a request. Concurrent requests hide the latency of the connection. */
const requestBytes = 32 * 1024
const requestsAtOnce = 16
const secondMs = 1000

const readStatus = (error: unknown): number | undefined => {
  const code = (error as { code?: unknown }).code
  return typeof code === 'number' ? code : undefined
}
/** Converts an unexpected answer to Unreachable. */
const throwUnreachable = (what: string) => (error: unknown) => {
  if (error instanceof Unreachable) throw error
  throw new Unreachable('downstream_unreachable', `sftp ${what}: ${(error as Error).message}`, error)
}

export function createSftpTransport(config: SftpPaths, requestMs: number = requestMsDefault): Transport {
  const session = createSession(config, requestMs)
  const { toBank, fromBank, taken } = config
  return {
    list: (signal) => listFiles(session, fromBank, signal).catch(throwUnreachable('list')),
    read: (name, offset, signal) => readFrom(session, fromBank, name, offset, signal),
    finish: async (name, signal) => {
      const source = pathIn(fromBank, name)
      const moved =
        taken === undefined ? remove(session, source, signal) : moveInto(session, taken, name, source, signal)
      await moved.catch(throwUnreachable('finish'))
    },
    stage: (temporary, bytes, signal) =>
      writeWhole(session, pathIn(toBank, temporary), bytes, signal).catch(throwUnreachable('stage')),
    publish: (temporary, name, signal) =>
      publishIn(session, toBank, temporary, name, signal).catch(throwUnreachable('publish')),
    discard: (temporary, signal) =>
      remove(session, pathIn(toBank, temporary), signal).catch(throwUnreachable('discard')),
    close: session.close,
  }
}

type DirectoryEntry = {
  readonly filename: string
  readonly attrs: { readonly size: number; readonly mtime: number; isFile: () => boolean }
}

/** Lists files. A server returns a long list in several parts. */
async function listFiles(session: Session, folder: string, signal: AbortSignal): Promise<readonly RemoteFile[]> {
  const handle = await session.request<Buffer>('list', signal, (channel, done) => channel.opendir(folder, done))
  try {
    const files: RemoteFile[] = []
    for (;;) {
      const entries = await undefinedAtEnd(
        session.request<readonly DirectoryEntry[]>('list', signal, (channel, done) =>
          channel.readdir(handle, done as never),
        ),
      )
      if (entries === undefined) return files
      for (const { filename: name, attrs } of entries)
        if (attrs.isFile() && isFinishedName(name))
          files.push({ name, bytes: attrs.size, modifiedAt: new Date(attrs.mtime * secondMs) })
    }
  } finally {
    await close(session, handle, signal)
  }
}

const undefinedAtEnd = <T>(answer: Promise<T>): Promise<T | undefined> =>
  answer.catch((error: unknown) => {
    if (readStatus(error) === endOfFile) return undefined
    throw error
  })

/** Closes a handle. Errors are ignored: the handle of a lost connection is already closed. */
const close = (session: Session, handle: Buffer, signal: AbortSignal): Promise<void> =>
  session.request<void>('close', signal, (channel, done) => channel.close(handle, done)).catch(() => undefined)

async function* readFrom(
  session: Session,
  folder: string,
  name: string,
  offset: number,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const refuse = throwUnreachable('read')
  const path = pathIn(folder, name)
  const handle = await session
    .request<Buffer>('read', signal, (channel, done) => channel.open(path, 'r', done))
    .catch(refuse)
  try {
    let at = offset
    let partBytes = requestBytes
    let under: Promise<Buffer | undefined>[] = []
    const ask = () => {
      const asked = readPart(session, handle, { at, bytes: partBytes }, signal)
      // A failure is thrown when its part is awaited below.
      asked.catch(() => undefined)
      under.push(asked)
      at += partBytes
    }
    for (;;) {
      while (under.length < requestsAtOnce) ask()
      const part = await (under.shift() as Promise<Buffer | undefined>).catch(refuse)
      if (part === undefined || part.length === 0) return
      yield part
      if (part.length === partBytes) continue
      // A server may return less than requested: the rest is requested again in parts of that size.
      at -= (under.length + 1) * partBytes - part.length
      partBytes = part.length
      await Promise.allSettled(under)
      under = []
    }
  } finally {
    await close(session, handle, signal)
  }
}

const readPart = (
  session: Session,
  handle: Buffer,
  { at, bytes }: { readonly at: number; readonly bytes: number },
  signal: AbortSignal,
): Promise<Buffer | undefined> =>
  undefinedAtEnd(
    session.request<Buffer>('read', signal, (channel, done) =>
      channel.read(handle, Buffer.allocUnsafe(bytes), 0, bytes, at, (error, count, buffer) =>
        done(error, error ? undefined : buffer.subarray(0, count)),
      ),
    ),
  )

async function writeWhole(session: Session, path: string, bytes: Uint8Array, signal: AbortSignal): Promise<void> {
  const handle = await session.request<Buffer>('write', signal, (channel, done) => channel.open(path, 'w', done))
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  try {
    for (let at = 0; at < buffer.length; at += requestsAtOnce * requestBytes) {
      const parts = Array.from({ length: requestsAtOnce }, (_none, index) => at + index * requestBytes)
      await Promise.all(
        parts
          .filter((start) => start < buffer.length)
          .map((start) => {
            const length = Math.min(requestBytes, buffer.length - start)
            return session.request<void>('write', signal, (channel, done) =>
              channel.write(handle, buffer, start, length, start, done),
            )
          }),
      )
    }
    await flush(session, handle, signal)
  } catch (error) {
    await close(session, handle, signal)
    throw error
  }
  await session.request<void>('write', signal, (channel, done) => channel.close(handle, done))
}

/** Flushes to the disk of the server, if it supports fsync@openssh.com. */
const flush = (session: Session, handle: Buffer, signal: AbortSignal): Promise<void> =>
  session
    .request<void>('flush', signal, (channel, done) =>
      orUnsupported(done, () => channel.ext_openssh_fsync(handle, (error) => done(error))),
    )
    .catch(ignoreStatus(unsupported))

/** Reports `unsupported`: ssh2-sftp-client throws if the server does not offer an extension. */
function orUnsupported(done: (error: unknown) => void, send: () => void): void {
  try {
    send()
  } catch (error) {
    done(Object.assign(new Error((error as Error).message), { code: unsupported }))
  }
}

const ignoreStatus = (status: number) => (error: unknown) => {
  if (readStatus(error) !== status) throw error
}

const remove = (session: Session, path: string, signal: AbortSignal): Promise<void> =>
  session.request<void>('remove', signal, (channel, done) => channel.unlink(path, done)).catch(ignoreStatus(noSuchFile))

const exists = (session: Session, path: string, signal: AbortSignal): Promise<boolean> =>
  session
    .request<unknown>('look', signal, (channel, done) => channel.lstat(path, done as never))
    .then(
      () => true,
      (error: unknown) => {
        ignoreStatus(noSuchFile)(error)
        return false
      },
    )

async function publishIn(
  session: Session,
  folder: string,
  temporary: string,
  name: string,
  signal: AbortSignal,
): Promise<'published' | 'absent'> {
  const source = pathIn(folder, temporary)
  const target = pathIn(folder, name)
  if (!(await exists(session, source, signal))) return confirmAbsent(session, folder, signal)
  if (await exists(session, target, signal))
    throw new Unreachable('downstream_unreachable', `sftp publish: ${name} already exists at the bank`)
  // The server may rename the file and still report a failure: the next attempt detects it.
  await rename(session, source, target, signal)
  return 'published'
}

/** Throws if the folder is missing as well: the file may then exist. */
async function confirmAbsent(session: Session, folder: string, signal: AbortSignal): Promise<'absent'> {
  await session.request<unknown>('look', signal, (channel, done) => channel.stat(folder, done as never))
  return 'absent'
}

/**
 * Renames by posix-rename@openssh.com, which is atomic. OpenSSH's plain rename links and unlinks: a server that stops in
 * between leaves both names.
 */
async function rename(session: Session, source: string, target: string, signal: AbortSignal): Promise<void> {
  const send = (channel: Channel, done: (error: unknown) => void) =>
    orUnsupported(done, () => channel.ext_openssh_rename(source, target, done))
  try {
    await session.request<void>('rename', signal, send)
  } catch (error) {
    if (readStatus(error) !== unsupported) throw error
    await session.request<void>('rename', signal, (channel, done) => channel.rename(source, target, done))
  }
}

/** Banks reuse names: an earlier file keeps its name, and this one gets a number. */
async function moveInto(
  session: Session,
  folder: string,
  name: string,
  source: string,
  signal: AbortSignal,
): Promise<void> {
  if (!(await exists(session, source, signal))) return
  let target = pathIn(folder, name)
  for (let number = 2; await exists(session, target, signal); number += 1) target = pathIn(folder, `${name}.${number}`)
  await rename(session, source, target, signal)
}
