/**
 * An SFTP server (`ssh2`) on a real folder, which does what a test orders at each of its operations. It offers the extensions of
 * OpenSSH unless it is told not to.
 */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, open, readdir, lstat, rename, rm, stat, unlink, writeFile, type FileHandle } from 'node:fs/promises'
import type { Stats } from 'node:fs'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import ssh2, { type Attributes, type Connection, type SFTPWrapper } from 'ssh2'
import { newKeyPair } from '../../examples/iso-bank/sftp.ts'
import type { SftpConfig } from '../../service/src/banks/files/transport/settings.ts'

export const sftpOperations = [
  ...['connect', 'authenticate', 'session', 'opendir', 'readdir', 'open', 'read', 'write', 'fsync', 'close'],
  ...['lstat', 'stat', 'rename', 'remove'],
] as const
export type SftpOperation = (typeof sftpOperations)[number]

/**
 * `hang`: no answer, ever. `cut`: the connection ends before the operation, `cut after`: behind it, without an answer. `error`: refused.
 * `disk full`: the operation fails as it does without space. A number: the answer comes so many milliseconds later.
 */
export type SftpFault = 'hang' | 'cut' | 'cut after' | 'error' | 'disk full' | number

export type SftpServerOptions = {
  readonly folder: string
  readonly fault?: (operation: SftpOperation, path: string) => SftpFault | undefined
  /** Whether it offers fsync and the rename of POSIX. */
  readonly extensions?: boolean
  /** Bytes that an answer to a reading holds at most. */
  readonly readBytesMax?: number
}

const { STATUS_CODE } = ssh2.utils.sftp
const keys = makeKeys()

/** The keys of a server and of its client. */
export function makeKeys() {
  const host = newKeyPair()
  const client = newKeyPair()
  const parsed = ssh2.utils.parseKey(host.private)
  if (parsed instanceof Error) throw parsed
  const fingerprint = createHash('sha256').update(parsed.getPublicSSH()).digest('base64').replace(/=+$/, '')
  return { host: host.private, client: client.private, clientPublic: client.public, hostKey: `SHA256:${fingerprint}` }
}

function attributesOf({ mode, uid, gid, size, atimeMs, mtimeMs }: Stats): Attributes {
  return { mode, uid, gid, size, atime: Math.floor(atimeMs / 1000), mtime: Math.floor(mtimeMs / 1000) }
}

export async function startSftpServer(options: SftpServerOptions) {
  const sockets = new Set<Socket>()
  const fault = options.fault ?? (() => undefined)
  const ssh = new ssh2.Server({ hostKeys: [keys.host] }, (connection) => serve(connection, options, fault))
  // In front of the server, so that a connection can hang before the first byte.
  const front = createServer((socket) => {
    sockets.add(socket.setNoDelay(true))
    socket.on('error', () => undefined)
    socket.once('close', () => sockets.delete(socket))
    const ordered = fault('connect', '')
    if (ordered === 'cut') return void socket.destroy()
    // Read, so that its end is seen.
    if (ordered === 'hang') return void socket.resume()
    ssh.injectSocket(socket)
  })
  front.listen(0, '127.0.0.1')
  await once(front, 'listening')
  const keyFolder = await mkdtemp(join(tmpdir(), 'partner-payments-key-'))
  const privateKeyFile = join(keyFolder, 'client')
  await writeFile(privateKeyFile, keys.client, { mode: 0o600 })
  const { port } = front.address() as AddressInfo
  const config: Omit<SftpConfig, 'kind'> = {
    host: '127.0.0.1',
    port,
    username: 'payments',
    privateKey: Buffer.from(keys.client),
    passphrase: undefined,
    hostKey: keys.hostKey,
    toBank: '/to-bank',
    fromBank: '/from-bank',
    taken: undefined,
  }
  return {
    config,
    privateKeyFile,
    connections: () => sockets.size,
    /** Ends the connections that are open, as a loss of the network does. */
    cut: () => {
      for (const socket of sockets) socket.destroy()
    },
    close: async () => {
      for (const socket of sockets) socket.destroy()
      front.close()
      ssh.close()
      await rm(keyFolder, { recursive: true, force: true })
    },
  }
}

type Faults = (operation: SftpOperation, path: string) => SftpFault | undefined

function serve(connection: Connection, options: SftpServerOptions, fault: Faults): void {
  connection.on('error', () => undefined)
  connection.on('authentication', (context) => {
    const ordered = fault('authenticate', '')
    if (ordered === 'hang') return
    if (ordered === 'cut') return connection.end() as never
    if (ordered === 'error' || context.method !== 'publickey') return context.reject(['publickey'])
    context.accept()
  })
  connection.on('ready', () => {
    connection.on('session', (accept) => {
      const ordered = fault('session', '')
      if (ordered === 'hang') return
      if (ordered === 'cut') return connection.end() as never
      accept().on('sftp', (acceptSftp) => {
        const sftp = acceptSftp()
        if (options.extensions ?? true) offerExtensions(sftp)
        answer(sftp, connection, options, fault)
      })
    })
  })
}

type Inner = { _protocol: { channelData: (id: number, data: Buffer) => unknown } }

/** The package's server offers no extension: they are added to its first answer, SSH_FXP_VERSION. */
function offerExtensions(sftp: SFTPWrapper): void {
  const inner = sftp as unknown as Inner
  const protocol = inner._protocol
  const text = (value: string) => {
    const length = Buffer.alloc(4)
    length.writeUInt32BE(value.length)
    return Buffer.concat([length, Buffer.from(value)])
  }
  const extensions = ['posix-rename@openssh.com', '1', 'fsync@openssh.com', '1'].map(text)
  inner._protocol = Object.assign(Object.create(protocol) as Inner['_protocol'], {
    channelData: (id: number, data: Buffer) => {
      inner._protocol = protocol
      const body = Buffer.concat([data.subarray(4), ...extensions])
      const length = Buffer.alloc(4)
      length.writeUInt32BE(body.length)
      return protocol.channelData(id, Buffer.concat([length, body]))
    },
  })
}

type Handle = { readonly path: string; readonly file?: FileHandle; entries?: readonly string[] | undefined }
type Work = () => Promise<void>

/** The open handles of a connection. */
function createHandles(connection: Connection) {
  const handles = new Map<number, Handle>()
  let next = 0
  let isOver = false
  connection.once('close', () => {
    isOver = true
    for (const { file } of handles.values()) file?.close().catch(() => undefined)
    handles.clear()
  })
  return {
    of: (buffer: Buffer): Handle => {
      const found = handles.get(buffer.readUInt32BE(0))
      if (found === undefined) throw Object.assign(new Error('no handle'), { code: 'EBADF' })
      return found
    },
    add: async (handle: Handle): Promise<Buffer> => {
      // The connection was lost while the file was opened.
      if (isOver) await handle.file?.close()
      else handles.set(next, handle)
      const number = Buffer.alloc(4)
      number.writeUInt32BE(next)
      next += 1
      return number
    },
    remove: (buffer: Buffer): void => void handles.delete(buffer.readUInt32BE(0)),
  }
}

type Serving = {
  readonly sftp: SFTPWrapper
  readonly options: SftpServerOptions
  readonly handles: ReturnType<typeof createHandles>
  readonly pathOf: (path: string) => string
  /** Does what is ordered for the operation, or the operation. */
  readonly run: (operation: SftpOperation, id: number, path: string, work: Work) => void
}

const silent = { status: () => undefined, handle: () => undefined, attrs: () => undefined, name: () => undefined }

/** Does operations on the folder, as ordered, and answers. */
function answer(sftp: SFTPWrapper, connection: Connection, options: SftpServerOptions, fault: Faults): void {
  const work = async (operation: SftpOperation, id: number, path: string, done: Work): Promise<void> => {
    const ordered = fault(operation, path)
    const status = sftp.status.bind(sftp)
    if (ordered === 'hang') return
    if (ordered === 'cut') return void connection.end()
    if (ordered === 'error') return status(id, STATUS_CODE.PERMISSION_DENIED, 'ordered')
    if (ordered === 'disk full') return status(id, STATUS_CODE.FAILURE, 'No space left on device')
    if (typeof ordered === 'number') await pause(ordered)
    if (ordered === 'cut after') Object.assign(sftp, silent)
    try {
      await done()
      if (ordered === 'cut after') connection.end()
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      status(id, code === 'ENOENT' ? STATUS_CODE.NO_SUCH_FILE : STATUS_CODE.FAILURE, String(error))
    }
  }
  const serving: Serving = {
    sftp,
    options,
    handles: createHandles(connection),
    pathOf: (path) => join(options.folder, path),
    run: (operation, id, path, done) => void work(operation, id, path, done),
  }
  answerFolders(serving)
  answerFiles(serving)
  answerNames(serving)
}

const namesPerAnswer = 3

function answerFolders({ sftp, handles, pathOf, run }: Serving): void {
  sftp.on('OPENDIR', (id, path) =>
    run('opendir', id, path, async () =>
      sftp.handle(id, await handles.add({ path, entries: await readdir(pathOf(path)) })),
    ),
  )
  sftp.on('READDIR', (id, buffer) => {
    const handle = handles.of(buffer)
    run('readdir', id, handle.path, async () => {
      const page = handle.entries?.slice(0, namesPerAnswer) ?? []
      handle.entries = handle.entries?.slice(namesPerAnswer)
      if (page.length === 0) return sftp.status(id, STATUS_CODE.EOF)
      const named = page.map(async (filename) => {
        const attrs = attributesOf(await lstat(join(pathOf(handle.path), filename)))
        return { filename, longname: filename, attrs }
      })
      sftp.name(id, await Promise.all(named))
    })
  })
}

function answerFiles({ sftp, options, handles, pathOf, run }: Serving): void {
  sftp.on('OPEN', (id, path, flags) => {
    const mode = ssh2.utils.sftp.flagsToString(flags) ?? 'r'
    run('open', id, path, async () =>
      sftp.handle(id, await handles.add({ path, file: await open(pathOf(path), mode) })),
    )
  })
  sftp.on('READ', (id, buffer, offset, length) => {
    const { path, file } = handles.of(buffer)
    run('read', id, path, async () => {
      const wanted = Math.min(length, options.readBytesMax ?? length)
      const read = await file?.read(Buffer.alloc(wanted), 0, wanted, Number(offset))
      if (!read || read.bytesRead === 0) return sftp.status(id, STATUS_CODE.EOF)
      sftp.data(id, read.buffer.subarray(0, read.bytesRead))
    })
  })
  sftp.on('WRITE', (id, buffer, offset, data) => {
    const { path, file } = handles.of(buffer)
    // The package uses the buffer again.
    const own = Buffer.from(data)
    run('write', id, path, async () => {
      await file?.write(own, 0, own.length, Number(offset))
      sftp.status(id, STATUS_CODE.OK)
    })
  })
  sftp.on('CLOSE', (id, buffer) => {
    const { path, file } = handles.of(buffer)
    run('close', id, path, async () => {
      handles.remove(buffer)
      await file?.close()
      sftp.status(id, STATUS_CODE.OK)
    })
  })
}

function answerNames({ sftp, handles, pathOf, run }: Serving): void {
  const look = (operation: 'lstat' | 'stat', read: (path: string) => Promise<Stats>) => (id: number, path: string) =>
    run(operation, id, path, async () => sftp.attrs(id, attributesOf(await read(pathOf(path)))))
  const renaming = (id: number, from: string, to: string) =>
    run('rename', id, from, async () => {
      await rename(pathOf(from), pathOf(to))
      sftp.status(id, STATUS_CODE.OK)
    })
  sftp.on('LSTAT', look('lstat', lstat))
  sftp.on('STAT', look('stat', stat))
  sftp.on('RENAME', renaming)
  sftp.on('REMOVE', (id, path) =>
    run('remove', id, path, async () => {
      await unlink(pathOf(path))
      sftp.status(id, STATUS_CODE.OK)
    }),
  )
  sftp.on('EXTENDED', (id, name, data) => {
    const length = data.readUInt32BE(0)
    const first = Buffer.from(data.subarray(4, 4 + length))
    if (name === 'posix-rename@openssh.com') return renaming(id, first.toString(), data.subarray(8 + length).toString())
    if (name !== 'fsync@openssh.com') return sftp.status(id, STATUS_CODE.OP_UNSUPPORTED)
    run('fsync', id, handles.of(first).path, async () => {
      await handles.of(first).file?.sync()
      sftp.status(id, STATUS_CODE.OK)
    })
  })
}
