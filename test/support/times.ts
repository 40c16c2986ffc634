/**
 * Appends to the file that TEST_TIMES names what this test process cost: seconds, processor time and processes that it started. On
 * Linux the processor time includes that of children that have ended. `npm test -- --times` loads it before each test file.
 */
import { subscribe } from 'node:diagnostics_channel'
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'

export type FileTimes = {
  readonly file: string
  readonly seconds: number
  readonly processorSeconds: number
  readonly processes: number
}

const ticksPerSecond = 100

/** Of this process and its ended children (proc(5), /proc/self/stat: utime, stime, cutime, cstime). */
export const processorSeconds = (): number => {
  if (!existsSync('/proc/self/stat')) return process.cpuUsage().user / 1e6 + process.cpuUsage().system / 1e6
  const stat = readFileSync('/proc/self/stat', 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / ticksPerSecond
}

const { TEST_TIMES: record, NODE_TEST_CONTEXT: isTest } = process.env
if (record !== undefined && isTest !== undefined && isMainThread) {
  let processes = 0
  subscribe('child_process', () => (processes += 1))
  process.once('exit', () => {
    const file = process.argv[1] ?? ''
    const times: FileTimes = {
      file,
      seconds: performance.now() / 1000,
      processorSeconds: processorSeconds(),
      processes,
    }
    appendFileSync(record, `${JSON.stringify(times)}\n`)
  })
}
