import { closeSync, fchownSync, fstatSync, openSync, readSync, renameSync, statSync } from 'node:fs'
import { join } from 'node:path'

const logBytesMax = 10 * 1024 * 1024
const tailBytesMax = 64 * 1024

/** PostgreSQL's log file. */
export type ServerLog = {
  readonly file: number
  /** Makes `failure` read only lines that are written from here on. */
  readonly mark: () => void
  /** The line after the mark that says why a program failed. */
  readonly failure: () => string
  readonly close: () => void
}

export const openLog = (dataDir: string): ServerLog => {
  const path = join(dataDir, 'postgres.log')
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  if (size > logBytesMax) renameSync(path, `${path}.1`)
  const file = openSync(path, 'a+', 0o600)
  // If root starts the service once, the folder's owner must still be able to write the log afterwards.
  if (process.getuid?.() === 0) {
    const folder = statSync(dataDir)
    fchownSync(file, folder.uid, folder.gid)
  }
  let start = fstatSync(file).size

  const failure = (): string => {
    const end = fstatSync(file).size
    const from = Math.max(start, end - tailBytesMax)
    const buffer = Buffer.alloc(end - from)
    const lines = buffer
      .toString('utf8', 0, readSync(file, buffer, 0, buffer.length, from))
      .trim()
      .split('\n')
    // The first error is the cause. Later lines are its consequences, up to the line that the server is shut down.
    const line = lines.find((each) => /\b(?:PANIC|FATAL|ERROR|fatal|error):/.test(each)) ?? lines.at(-1)
    return line || 'its log is empty'
  }
  const mark = (): void => void (start = fstatSync(file).size)
  return { file, mark, failure, close: () => closeSync(file) }
}
