/** Renders the results for the terminal and for `bench/results.md`: figures, ratios and verdicts, without machine names. */
import { renderTable } from '../examples/demo/table.ts'
import { cores } from './environment.ts'
import type { Memory } from './memory.ts'
import type { Overload } from './overload.ts'
import { type Samples, spreadOf } from './rounds.ts'
import { format, judge, rows, spread } from './table.ts'

export type Report = {
  readonly form: string
  readonly rounds: number
  readonly seconds: number
  readonly settings: Readonly<Record<string, string>>
  readonly pgbench: string | undefined
  readonly samples: Samples
  readonly overload: Overload
  readonly memory: Memory
  readonly wrong: readonly string[]
}

export const judgedColumns = ['row', 'ours', 'peer', 'ratio', 'floor', 'aim', '']
export const measuredColumns = ['contestant', 'per second', 'p50 ms', 'p99 ms', 'its cores', "load's cores", 'RSS MiB']
const mebibyte = 2 ** 20

/** The overload rows of the table of ratios. */
function overloadRows({ connections, normalRate, acceptedRate, refusedRate, p99Ratio, recovered }: Overload) {
  const title = `accepted p99 at ${connections} connections (${format(refusedRate)} refused /s) / normal`
  const slow = p99Ratio.median <= 3 ? 'aim reached' : 'MISSED'
  return [
    [title, format(acceptedRate), format(normalRate), spread(p99Ratio), 'at most 3', '3', slow],
    [
      'rate right after the overload / before',
      '',
      '',
      spread(recovered),
      '0.9',
      '1',
      recovered.median >= 0.9 ? 'reached' : 'MISSED',
    ],
  ]
}

function judgedRows({ samples, memory, overload }: Report): readonly (readonly string[])[] {
  const title = 'memory over many payouts, MiB'
  const limits = ['flat', 'flat']
  const kept = [`${format(memory.late)} late`, `${format(memory.early)} early`, format(memory.late / memory.early)]
  const verdict = `${memory.flat ? 'aim reached' : 'MISSED'} (${memory.payouts.toLocaleString('en')})`
  return [
    ...rows.map((row) => judge(row, samples).cells),
    ...overloadRows(overload),
    [title, ...kept, ...limits, verdict],
  ]
}

export function measuredRows(samples: Samples): readonly (readonly string[])[] {
  return [...samples].map(([name, list]) => {
    const median = (values: readonly (number | undefined)[]) => {
      const known = values.filter((value) => value !== undefined)
      return known.length === 0 ? '' : format(spreadOf(known).median)
    }
    return [
      name,
      spread(spreadOf(list.map(({ rate }) => rate))),
      median(list.map(({ p50Ms }) => p50Ms)),
      median(list.map(({ p99Ms }) => p99Ms)),
      median(list.map(({ serverCpu }) => serverCpu)),
      median(list.map(({ loadCpu }) => loadCpu)),
      median(list.map(({ rssBytes }) => rssBytes && rssBytes / mebibyte)),
    ]
  })
}

const notes = [
  'Each cell is a median with its smallest and largest; a ratio is taken within a round, then its median.',
  'payouts: the complete `POST /v1/payouts/fiat`, on the service without its workers (they can run elsewhere, role `worker`).',
  'ended payouts: from the first acceptance to the end of the last payout, on `serve`, whose workers submit the payouts to the sandbox bank in the same process.',
  'Before each sample all other contestants are frozen (SIGSTOP) and a checkpoint is taken; the first two seconds are not counted.',
  'Requests are signed before a sample, which is not counted; the load generator shares the cores of this machine.',
]

function head({ form, rounds, seconds, settings, pgbench }: Report): readonly string[] {
  const { server_version: version, ...others } = settings
  const set = Object.entries(others).map(([name, value]) => `${name} ${value}`)
  return [
    `${form}: ${rounds} interleaved rounds of ${seconds} s a contestant, 64 closed-loop connections`,
    `${cores} cores, PostgreSQL ${version} (${set.join(', ')}), Node ${process.versions.node}`,
    pgbench === undefined ? '`pgbench` is not on the PATH: its rows are skipped' : `${pgbench}: -c 16 -j 2, TPC-B`,
  ]
}

const auditLine = ({ wrong }: Report) =>
  wrong.length === 0
    ? 'Audited after every sample: posted balances sum to zero and equal their transfers, no balance is negative, and every accepted payout is stored once with one event.'
    : `THE AUDIT FAILED:\n${wrong.map((what) => `- ${what}`).join('\n')}`

export function textTable(titles: readonly string[], body: readonly (readonly string[])[]): string {
  const columns = titles.map((title, at) => (at === 0 ? { title } : ({ title, align: 'right' } as const)))
  return renderTable(columns, body)
}

export function renderText(report: Report): string {
  return [
    ...head(report),
    '',
    textTable(measuredColumns, measuredRows(report.samples)),
    '',
    textTable(judgedColumns, judgedRows(report)),
    '',
    ...notes,
    auditLine(report),
  ].join('\n')
}

export function markdownTable(titles: readonly string[], body: readonly (readonly string[])[]): readonly string[] {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [
    line(titles.map((title) => title || 'verdict')),
    line(titles.map((_, at) => (at === 0 ? '---' : '---:'))),
    ...body.map(line),
  ]
}

export function renderMarkdown(report: Report): string {
  return [
    '# Latest results of `npm run bench`',
    '',
    'Generated by the bench. Absolute figures depend on the machine; compare the ratios.',
    '',
    ...head(report).map((text) => `- ${text}`),
    '',
    ...markdownTable(judgedColumns, judgedRows(report)),
    '',
    ...markdownTable(measuredColumns, measuredRows(report.samples)),
    '',
    ...notes.map((text) => `- ${text}`),
    '',
    auditLine(report),
    '',
  ].join('\n')
}
