import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'

/** Polls, because other processes and PostgreSQL's files send no notification when they change. */
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
 * The start time of a process, in a unit of the system; `undefined` if there is no such process. Compared for equality
 * only, to detect a pid that the system has reused. A zombie counts as ended, because it holds no resources.
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
