import { closeSync, fchownSync, fstatSync, openSync, readSync, renameSync, statSync } from 'node:fs'
import { join } from 'node:path'

const LOG_BYTES_MAX = 10 * 1024 * 1024
const TAIL_BYTES_MAX = 64 * 1024

/** PostgreSQL's own log. */
export type ServerLog = {
  readonly file: number
  /** Forgets what was written before: `failure` is about what comes now. */
  readonly mark: () => void
  /** The line that tells why a program failed, among those written since the mark. */
  readonly failure: () => string
  readonly close: () => void
}

export const openLog = (dataDir: string): ServerLog => {
  const path = join(dataDir, 'postgres.log')
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  if (size > LOG_BYTES_MAX) renameSync(path, `${path}.1`)
  const file = openSync(path, 'a+', 0o600)
  // Started once as root, the folder's owner must still be able to write it afterwards.
  if (process.getuid?.() === 0) {
    const folder = statSync(dataDir)
    fchownSync(file, folder.uid, folder.gid)
  }
  let start = fstatSync(file).size

  const failure = (): string => {
    const end = fstatSync(file).size
    const from = Math.max(start, end - TAIL_BYTES_MAX)
    const buffer = Buffer.alloc(end - from)
    const lines = buffer
      .toString('utf8', 0, readSync(file, buffer, 0, buffer.length, from))
      .trim()
      .split('\n')
    // The first is the reason: what follows are its consequences, down to a line that the server is shut down.
    const line = lines.find((each) => /\b(?:PANIC|FATAL|ERROR|fatal|error):/.test(each)) ?? lines.at(-1)
    return line || 'it wrote nothing to its log'
  }
  const mark = (): void => void (start = fstatSync(file).size)
  return { file, mark, failure, close: () => closeSync(file) }
}
