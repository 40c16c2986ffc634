/** The text that is printed and written to `bench/webhooks/results.md`, without names of machines. */
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
  'Each cell is a median with the minimum and maximum. A ratio is computed per round, then its median.',
  'All other contestants are stopped (SIGSTOP) or ended, and PostgreSQL takes a checkpoint before each sample.',
  'Endpoints are ports of one process on loopback. They count and store requests, and verify nothing during a sample.',
  'deliveries: the role `worker`, from the commit of the events: fan-out, signing, guarded POST and recording.',
  'raw client: the same HTTP client with 500 concurrent requests, signed in memory before. It stores nothing.',
  'Peers: also from the commit of the events. One job per delivery reads, signs, posts with the same client and records.',
  'Commit to first byte: from sending the commit of the event to the complete request head at the endpoint.',
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
    ? 'After every sample: each subscribed endpoint received each committed event once, byte for byte, and no other; sampled signatures verify with `standardwebhooks`; owed = delivered + pending + held.'
    : `THE AUDIT FAILED:\n${wrong.map((what) => `- ${what}`).join('\n')}`

const meanwhileLine = ({ meanwhile: { rates, shares } }: Report): readonly string[] =>
  rates.length === 0
    ? []
    : [
        `During the payouts, ${spread(spreadOf(rates))} deliveries per second were sent, ${format(spreadOf(shares).median * 100)} % of their deliveries. The others were sent afterwards.`,
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
    '# Last results of `npm run bench:webhooks`',
    '',
    'Written by the bench. Absolute figures of a shared machine say little: compare the ratios.',
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
