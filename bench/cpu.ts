/** CPU time and memory of groups of processes, from `/proc` (Linux); undefined elsewhere. */
import { readdirSync, readFileSync } from 'node:fs'
import type { Usage } from './usage.ts'

type Stat = { readonly pid: number; readonly parent: number; readonly group: number } & Pick<
  Usage,
  'cpuSeconds' | 'rssBytes'
>

/** The unit of `/proc`, independent of the kernel's own tick. */
const ticksPerSecond = 100
const pageBytes = 4096

function statOf(pid: string): Stat | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name in parentheses may contain any character, so fields are counted after it: the parent is field 4.
    const fields = text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number)
    const field = (number: number) => fields[number - 3] ?? 0
    // Fields 16 and 17 are the time of ended children.
    const ticks = field(14) + field(15) + field(16) + field(17)
    const cpuSeconds = ticks / ticksPerSecond
    return { pid: Number(pid), parent: field(4), group: field(5), cpuSeconds, rssBytes: field(24) * pageBytes }
  } catch {
    // The process has just ended.
    return undefined
  }
}

function usageWhere(matches: (stat: Stat) => boolean): Usage | undefined {
  if (process.platform !== 'linux') return undefined
  const found = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(statOf)
    .filter((stat) => stat !== undefined)
    .filter(matches)
  const sum = (value: (stat: Stat) => number) => found.reduce((total, stat) => total + value(stat), 0)
  return { cpuSeconds: sum((stat) => stat.cpuSeconds), rssBytes: sum((stat) => stat.rssBytes), heapBytes: 0 }
}

export const groupUsage = (group: number) => usageWhere((stat) => stat.group === group)
/** A PostgreSQL server with its backends. */
export const serverCpuSeconds = (pid: number): number | undefined =>
  usageWhere((stat) => stat.pid === pid || stat.parent === pid)?.cpuSeconds
