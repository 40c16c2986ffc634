import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'

/** Polls, because what is waited for (another process, a file of PostgreSQL) tells nobody when it changes. */
export const until = async (condition: () => boolean, timeoutMs: number, pollMs = 10): Promise<boolean> => {
  const deadline = performance.now() + timeoutMs
  while (!condition()) {
    if (performance.now() > deadline) return false
    await pause(pollMs)
  }
  return true
}

/** Signals, and tells whether the process was there to be signalled. EPERM counts: it exists, as somebody else's. */
export const signal = (pid: number, name: NodeJS.Signals | 0): boolean => {
  try {
    process.kill(pid, name)
    return true
  } catch (thrown) {
    return thrown instanceof Error && 'code' in thrown && thrown.code === 'EPERM'
  }
}

const ask = (column: string, pid: number): string | undefined => {
  try {
    return execFileSync('ps', ['-o', `${column}=`, '-p', String(pid)], { encoding: 'utf8', stdio: 'pipe' }).trim()
  } catch {
    return undefined
  }
}

/**
 * When the process started, in whatever unit the system has: only compared for equality, so that a pid given to another
 * process since is not mistaken. `undefined`: no such process. A zombie counts as gone: it holds nothing any more.
 */
export const startOf = (pid: number): string | undefined => {
  if (process.platform === 'win32') return signal(pid, 0) ? '' : undefined
  if (process.platform !== 'linux') return ask('lstart', pid) || undefined
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name in parentheses may hold anything, so fields are counted from the last one: state is field 3, start 22.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19]
  } catch {
    return undefined
  }
}

/** Whether the process is alive and was started with this argument. */
export const wasStartedWith = (pid: number, argument: string): boolean => {
  if (startOf(pid) === undefined) return false
  if (process.platform !== 'linux') return (ask('command', pid) ?? '').includes(argument)
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(argument)
  } catch {
    return false
  }
}
