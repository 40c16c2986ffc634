/** `npm test -- --times`: prints the cost of each test file, each folder and the whole run after the summary of the runner. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { type FileTimes, processorSeconds } from '../test/support/times.ts'

type Row = Omit<FileTimes, 'file'>

const sum = (rows: readonly Row[]): Row => ({
  seconds: rows.reduce((total, row) => total + row.seconds, 0),
  processorSeconds: rows.reduce((total, row) => total + row.processorSeconds, 0),
  processes: rows.reduce((total, row) => total + row.processes, 0),
})

const line = (name: string, row: Row): string =>
  [row.processorSeconds.toFixed(1), row.seconds.toFixed(1), String(row.processes)]
    .map((text) => text.padStart(9))
    .join('') + `  ${name}`

/** The first two folders of the path, so that each group of the service and of `test` is a line. */
const folderOf = (file: string): string =>
  dirname(file)
    .split('/')
    .slice(0, file.startsWith('service/') ? 4 : 2)
    .join('/')

function print(rows: readonly FileTimes[], wallSeconds: number, load: number): void {
  const heading = `${['processor', 'seconds', 'started'].map((text) => text.padStart(9)).join('')}  (seconds, seconds, processes)`
  const folders = Map.groupBy(rows, ({ file }) => folderOf(file))
  const byCost = (first: Row, second: Row) => second.processorSeconds - first.processorSeconds
  console.log(`\n${heading}`)
  for (const row of rows.toSorted(byCost)) console.log(line(row.file, row))
  console.log(`\n${heading}`)
  const sums = [...folders].map(([name, files]) => ({ name: `${name} (${files.length} files)`, ...sum(files) }))
  for (const row of sums.toSorted(byCost)) console.log(line(row.name, row))
  const all = sum(rows)
  const total = processorSeconds()
  const other = { ...all, processorSeconds: total - all.processorSeconds, seconds: 0, processes: 0 }
  console.log(line('PostgreSQL, what all files share, and the runner', other))
  console.log(line('all', { ...all, processorSeconds: total, seconds: wallSeconds }))
  console.log(`load average at the start: ${load.toFixed(1)}`)
}

/** A place for the figures of the test processes. `print` prints them and removes it. */
export function recordTimes(root: string) {
  const folder = mkdtempSync(join(tmpdir(), 'partner-payments-times-'))
  const record = join(folder, 'times.jsonl')
  const [begun, load] = [performance.now(), loadavg()[0] ?? 0]
  return {
    env: { TEST_TIMES: record },
    print: () => {
      const lines = (existsSync(record) ? readFileSync(record, 'utf8') : '').split('\n').filter((line) => line !== '')
      rmSync(folder, { recursive: true })
      const rows = lines.map((text) => JSON.parse(text) as FileTimes)
      print(
        rows.map((row) => ({ ...row, file: relative(root, row.file).replaceAll('\\', '/') })),
        (performance.now() - begun) / 1000,
        load,
      )
    },
  }
}
