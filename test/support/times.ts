/**
 * Appends to the file that TEST_TIMES names what this test process cost: seconds, processor time and processes that it started. On
 * Linux the processor time includes that of children that have ended. `npm test -- --times` loads it before each test file. A process
 * that runs a batch of files appends a row for each, and one for the rest: what all of them load.
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

/** The processor time of this process and its ended children (proc(5), /proc/self/stat: utime, stime, cutime, cstime). */
export const processorSeconds = (): number => {
  if (!existsSync('/proc/self/stat')) return process.cpuUsage().user / 1e6 + process.cpuUsage().system / 1e6
  const stat = readFileSync('/proc/self/stat', 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / ticksPerSecond
}

const { TEST_TIMES: record, NODE_TEST_CONTEXT: isTest } = process.env
type Costs = Omit<FileTimes, 'file'>
let processes = 0
const costs = (): Costs => ({ seconds: performance.now() / 1000, processorSeconds: processorSeconds(), processes })
const difference = (after: Costs, before: Costs): Costs => ({
  seconds: after.seconds - before.seconds,
  processorSeconds: after.processorSeconds - before.processorSeconds,
  processes: after.processes - before.processes,
})
/** The sum of the rows so far. */
let recorded: Costs = { seconds: 0, processorSeconds: 0, processes: 0 }

const sum = (first: Costs, second: Costs): Costs => ({
  seconds: first.seconds + second.seconds,
  processorSeconds: first.processorSeconds + second.processorSeconds,
  processes: first.processes + second.processes,
})

const append = (file: string, cost: Costs): void => {
  if (record !== undefined) appendFileSync(record, `${JSON.stringify({ file, ...cost } satisfies FileTimes)}\n`)
}

/** Begins the row of a file of a batch. The function that it returns appends it. */
export function recordFile(file: string): () => void {
  const begun = costs()
  return () => {
    const cost = difference(costs(), begun)
    recorded = sum(recorded, cost)
    append(file, cost)
  }
}

if (record !== undefined && isTest !== undefined && isMainThread) {
  subscribe('child_process', () => (processes += 1))
  process.once('exit', () => append(process.argv[1] ?? '', difference(costs(), recorded)))
}
