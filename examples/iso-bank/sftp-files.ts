/** The file operations of SFTP (version 3) below one folder: what a client needs to exchange files, and nothing above the folder. */
import { constants, type Stats } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { join, normalize } from 'node:path'
import ssh2, { type Attributes, type SFTPWrapper } from 'ssh2'

const { OPEN_MODE, STATUS_CODE } = ssh2.utils.sftp
type Handle = { readonly file: FileHandle } | { readonly path: string; listed: boolean }

const attributesOf = (from: Stats): Attributes => ({
  mode: from.mode,
  uid: from.uid,
  gid: from.gid,
  size: from.size,
  atime: Math.floor(from.atimeMs / 1000),
  mtime: Math.floor(from.mtimeMs / 1000),
})

function modeOf(flags: number): number {
  const has = (flag: number) => (flags & flag) !== 0
  const access = has(OPEN_MODE.WRITE)
    ? has(OPEN_MODE.READ)
      ? constants.O_RDWR
      : constants.O_WRONLY
    : constants.O_RDONLY
  return (
    access |
    (has(OPEN_MODE.CREAT) ? constants.O_CREAT : 0) |
    (has(OPEN_MODE.TRUNC) ? constants.O_TRUNC : 0) |
    (has(OPEN_MODE.EXCL) ? constants.O_EXCL : 0) |
    (has(OPEN_MODE.APPEND) ? constants.O_APPEND : 0)
  )
}

const statusOf = (error: unknown): number =>
  error instanceof Error && 'code' in error && error.code === 'ENOENT' ? STATUS_CODE.NO_SUCH_FILE : STATUS_CODE.FAILURE

export function serveFiles(sftp: SFTPWrapper, root: string): void {
  const handles = new Map<number, Handle>()
  let count = 0
  const local = (path: string): string => join(root, normalize(`/${path}`))
  const add = (handle: Handle): Buffer => {
    const id = Buffer.alloc(4)
    count += 1
    id.writeUInt32BE(count)
    handles.set(count, handle)
    return id
  }
  const handleOf = (id: Buffer): Handle => {
    const handle = handles.get(id.readUInt32BE())
    if (handle === undefined) throw new Error('no such handle')
    return handle
  }
  const fileOf = (id: Buffer): FileHandle => {
    const handle = handleOf(id)
    if (!('file' in handle)) throw new Error('not a file')
    return handle.file
  }
  /** Answers with a status: what went wrong, or that nothing did. */
  const act = (request: number, work: () => Promise<unknown>): void =>
    void work().then(
      () => sftp.status(request, STATUS_CODE.OK),
      (error: unknown) => sftp.status(request, statusOf(error)),
    )
  const tell = (request: number, work: () => Promise<void>): void =>
    void work().catch((error: unknown) => sftp.status(request, statusOf(error)))
  serveHandles(sftp, { act, tell, handleOf, fileOf, handles })
  sftp.on('OPEN', (request, path, flags) =>
    tell(request, async () => sftp.handle(request, add({ file: await open(local(path), modeOf(flags), 0o600) }))),
  )
  sftp.on('OPENDIR', (request, path) =>
    tell(request, async () => {
      await readdir(local(path))
      sftp.handle(request, add({ path: local(path), listed: false }))
    }),
  )
  sftp.on('STAT', (request, path) =>
    tell(request, async () => sftp.attrs(request, attributesOf(await stat(local(path))))),
  )
  sftp.on('LSTAT', (request, path) =>
    tell(request, async () => sftp.attrs(request, attributesOf(await lstat(local(path))))),
  )
  sftp.on('REMOVE', (request, path) => act(request, () => rm(local(path))))
  sftp.on('MKDIR', (request, path) => act(request, () => mkdir(local(path))))
  sftp.on('SETSTAT', (request) => sftp.status(request, STATUS_CODE.OK))
  sftp.on('REALPATH', (request, path) => {
    const filename = normalize(`/${path}`)
    sftp.name(request, [{ filename, longname: filename, attrs: {} as Attributes }])
  })
  // Version 3 does not rename over a file.
  sftp.on('RENAME', (request, from, to) =>
    act(request, async () => {
      const isTaken = await lstat(local(to)).then(
        () => true,
        () => false,
      )
      if (isTaken) throw new Error('the name is taken')
      await rename(local(from), local(to))
    }),
  )
}

type Handles = {
  readonly handles: Map<number, Handle>
  readonly handleOf: (id: Buffer) => Handle
  readonly fileOf: (id: Buffer) => FileHandle
  readonly act: (request: number, work: () => Promise<unknown>) => void
  readonly tell: (request: number, work: () => Promise<void>) => void
}

function serveHandles(sftp: SFTPWrapper, { handles, handleOf, fileOf, act, tell }: Handles): void {
  sftp.on('READ', (request, id, offset, length) =>
    tell(request, async () => {
      const { buffer, bytesRead } = await fileOf(id).read(Buffer.alloc(length), 0, length, offset)
      if (bytesRead === 0) sftp.status(request, STATUS_CODE.EOF)
      else sftp.data(request, buffer.subarray(0, bytesRead))
    }),
  )
  sftp.on('WRITE', (request, id, offset, data) => act(request, () => fileOf(id).write(data, 0, data.length, offset)))
  sftp.on('FSTAT', (request, id) =>
    tell(request, async () => sftp.attrs(request, attributesOf(await fileOf(id).stat()))),
  )
  sftp.on('FSETSTAT', (request) => sftp.status(request, STATUS_CODE.OK))
  sftp.on('CLOSE', (request, id) =>
    act(request, async () => {
      const handle = handleOf(id)
      handles.delete(id.readUInt32BE())
      if ('file' in handle) await handle.file.close()
    }),
  )
  sftp.on('READDIR', (request, id) =>
    tell(request, async () => {
      const handle = handleOf(id)
      if (!('path' in handle) || handle.listed) return sftp.status(request, STATUS_CODE.EOF)
      handle.listed = true
      const names = await readdir(handle.path)
      const listed = names.map(async (filename) => {
        const attrs = attributesOf(await lstat(join(handle.path, filename)))
        return { filename, longname: `-rw------- 1 bank bank ${attrs.size} Jan 1 00:00 ${filename}`, attrs }
      })
      // A file that went away between the two is not listed.
      const settled = await Promise.allSettled(listed)
      sftp.name(
        request,
        settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : [])),
      )
    }),
  )
  sftp.on('EXTENDED', (request, name, data) => {
    if (name !== 'fsync@openssh.com') return sftp.status(request, STATUS_CODE.OP_UNSUPPORTED)
    act(request, () => fileOf(data.subarray(4)).sync())
  })
}
