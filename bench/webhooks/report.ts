/** What is printed and what is written to `bench/webhooks/results.md`. No names of machines. */
import { cores } from '../environment.ts'
import { judgedColumns, markdownTable, measuredColumns, measuredRows, textTable } from '../report.ts'
import { type Samples, spreadOf } from '../rounds.ts'
import { format, judge, spread } from '../table.ts'
import type { Meanwhile } from './stage.ts'
import { rows, type RowNumber } from './table.ts'

export type Report = {
  readonly form: string
  readonly rounds: number
  readonly seconds: number
  readonly pending: number
  readonly hanging: number
  readonly only: ReadonlySet<RowNumber>
  readonly settings: Readonly<Record<string, string>>
  readonly samples: Samples
  readonly meanwhile: Meanwhile
  readonly wrong: readonly string[]
}

const notes = [
  'Each cell is a median with its smallest and largest; a ratio is taken within a round, then its median.',
  'All but one contestant are frozen (SIGSTOP) or ended, and a checkpoint is taken before each turn.',
  'Endpoints are a process on loopback, a port each; they count and keep, and verify nothing while it is measured.',
  'deliveries: the role `worker`, from the commit of the events: fan-out, signing, the guarded POST and its record.',
  'raw client: the same HTTP client with 500 under way, posting what lies signed in memory; nothing is read or kept.',
  'Peers: from the commit of the events, too; one job a delivery, which reads, signs, posts with that client, and records.',
  'Commit to first byte: from the moment the event and its commit are sent to the head of the request at the endpoint.',
]

function head({ form, rounds, seconds, settings, pending, hanging, only }: Report): readonly string[] {
  const { server_version: version, ...others } = settings
  const set = Object.entries(others).map(([name, value]) => `${name} ${value}`)
  return [
    `${form}: ${rounds} interleaved rounds of ${seconds} s a contestant`,
    `${cores} cores, PostgreSQL ${version} (${set.join(', ')}), Node ${process.versions.node}`,
    ...(only.has(3) ? [`${hanging.toLocaleString('en')} deliveries pending for the endpoint that hangs`] : []),
    ...(only.has(7) ? [`${pending.toLocaleString('en')} rows in the queue where many are pending`] : []),
  ]
}

const auditLine = ({ wrong }: Report) =>
  wrong.length === 0
    ? 'After every sample: each committed event came to each endpoint that wants it, once, byte for byte; none was invented; sampled signatures verify with `standardwebhooks`; owed = delivered + pending + held.'
    : `THE AUDIT FOUND:\n${wrong.map((what) => `- ${what}`).join('\n')}`

const meanwhileLine = ({ meanwhile: { rates, shares } }: Report): readonly string[] =>
  rates.length === 0
    ? []
    : [
        `While payouts were made, ${spread(spreadOf(rates))} deliveries a second went out: ${format(spreadOf(shares).median * 100)} % of theirs; the rest drained after it.`,
      ]

const judgedRows = ({ samples, only }: Report) =>
  rows.filter(({ number }) => only.has(number)).map((row) => judge(row, samples).cells)

export const renderText = (report: Report): string =>
  [
    ...head(report),
    '',
    textTable(measuredColumns, measuredRows(report.samples)),
    '',
    textTable(judgedColumns, judgedRows(report)),
    '',
    ...notes,
    ...meanwhileLine(report),
    auditLine(report),
  ].join('\n')

export const renderMarkdown = (report: Report): string =>
  [
    '# What `npm run bench:webhooks` measured last',
    '',
    'Written by the bench. Figures of a shared machine mean little alone: read the ratios.',
    '',
    ...head(report).map((text) => `- ${text}`),
    '',
    ...markdownTable(judgedColumns, judgedRows(report)),
    '',
    ...markdownTable(measuredColumns, measuredRows(report.samples)),
    '',
    ...[...notes, ...meanwhileLine(report)].map((text) => `- ${text}`),
    '',
    auditLine(report),
    '',
  ].join('\n')
