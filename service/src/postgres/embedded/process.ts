import { execFileSync } from 'node:child_process'
import { closeSync, fchownSync, fstatSync, openSync, readFileSync, readSync, renameSync, statSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { join } from 'node:path'

/**
 * Waits until the condition is true. Polls, because other processes and PostgreSQL's files send no notification of
 * changes. Returns false after the time limit.
 */
export const until = async (condition: () => boolean, timeoutMs: number, pollMs = 10): Promise<boolean> => {
  const deadline = performance.now() + timeoutMs
  while (!condition()) {
    if (performance.now() > deadline) return false
    await pause(pollMs)
  }
  return true
}

/** Sends a signal and returns whether the process exists. EPERM means that it exists and belongs to another user. */
export const sendSignal = (pid: number, name: NodeJS.Signals | 0): boolean => {
  try {
    process.kill(pid, name)
    return true
  } catch (thrown) {
    return thrown instanceof Error && 'code' in thrown && thrown.code === 'EPERM'
  }
}

const processField = (column: string, pid: number): string | undefined => {
  try {
    return execFileSync('ps', ['-o', `${column}=`, '-p', String(pid)], { encoding: 'utf8', stdio: 'pipe' }).trim()
  } catch {
    return undefined
  }
}

/**
 * Returns the start time of a process, in a unit of the operating system. Undefined: there is no such process. Compare
 * it for equality only, to detect a pid that the system has reused. A zombie counts as ended, because it holds no
 * resources.
 */
export const startTimeOf = (pid: number): string | undefined => {
  if (process.platform === 'win32') return sendSignal(pid, 0) ? '' : undefined
  if (process.platform !== 'linux') return processField('lstart', pid) || undefined
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name in parentheses may contain any character, so count fields after it: state is field 3, start time 22.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19]
  } catch {
    return undefined
  }
}

/** Reports whether the process is alive and has this command-line argument. */
export const hasArgument = (pid: number, argument: string): boolean => {
  if (startTimeOf(pid) === undefined) return false
  if (process.platform !== 'linux') return (processField('command', pid) ?? '').includes(argument)
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(argument)
  } catch {
    return false
  }
}

/** Thrown if the embedded server cannot run. The message is one line for the operator's terminal. */
export class EmbeddedPostgresError extends Error {
  override readonly name = 'EmbeddedPostgresError'
}

/** Returns the first line of an error's message. The full error stays in `cause`. */
export const errorReason = (thrown: unknown): string => {
  const text = thrown instanceof Error ? thrown.message : String(thrown)
  return text.split('\n')[0] ?? text
}

export const errorCode = (thrown: unknown): string | undefined =>
  thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : undefined

const logBytesMax = 10 * 1024 * 1024
const tailBytesMax = 64 * 1024

/** PostgreSQL's log file. */
export type ServerLog = {
  readonly file: number
  /** Makes `failure` consider only lines that are written from now on. */
  readonly mark: () => void
  /** Returns the line after the mark that states why a program failed. */
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
