/** Judges contestants against each other, and renders the results for the terminal and for a file, without machine names. */
import { writeFile } from 'node:fs/promises'
import { renderTable } from '../examples/demo/table.ts'
import { cores } from './environment.ts'
import { type Sample, type Samples, type Spread, spreadOf } from './rounds.ts'

/** A comparison of two contestants, with its floor and its aim. */
export type Row = {
  readonly title: string
  readonly ours: string
  readonly peer: string
  /** The lowest acceptable ratio, or the highest one if `most` is set. */
  readonly floor: number
  readonly aim: number
  readonly most?: boolean
  /** The ratio of two samples of one round. Default: of their rates. */
  readonly value?: (ours: Sample, peer: Sample) => number
  /** The figure in the columns of both contestants. Default: the rate. */
  readonly shown?: (sample: Sample) => number
}
type Line = readonly string[]

const rate = (sample: Sample) => sample.rate
const rates = (ours: Sample, peer: Sample) => ours.rate / peer.rate
export const p50 = ({ p50Ms = Number.NaN }: Sample): number => p50Ms
export const p99 = ({ p99Ms = Number.NaN }: Sample): number => p99Ms

export const format = (value: number): string => value.toLocaleString('en', { maximumSignificantDigits: 3 })
export const spread = ({ median, min, max }: Spread): string => `${format(median)} (${format(min)}-${format(max)})`
export const limitsOf = ({ floor, aim, most = false }: Pick<Row, 'floor' | 'aim' | 'most'>): Line => [
  `${most ? 'at most ' : ''}${floor}`,
  `${aim}`,
]

export function verdictOf(
  { median }: Spread,
  { floor, aim, most = false }: Pick<Row, 'floor' | 'aim' | 'most'>,
): string {
  const reaches = (limit: number) => (most ? median <= limit : median >= limit)
  return reaches(aim) ? 'aim reached' : reaches(floor) ? 'floor reached' : 'MISSED'
}

/** The line of a comparison. Compares samples of the same round. */
export function judge(row: Row, samples: Samples): Line {
  const { title, ours, peer, value = rates, shown = rate } = row
  const [mine = [], theirs = []] = [samples.get(ours), samples.get(peer)]
  if (mine.length === 0 || theirs.length === 0) return [title, '', '', 'skipped', ...limitsOf(row), '']
  const found = spreadOf(mine.map((sample, round) => value(sample, theirs[round] ?? sample)))
  const figures = (list: readonly Sample[]) => spread(spreadOf(list.map(shown)))
  return [title, figures(mine), figures(theirs), spread(found), ...limitsOf(row), verdictOf(found, row)]
}

const mebibyte = 2 ** 20
function measuredLines(samples: Samples): readonly Line[] {
  return [...samples].map(([name, list]) => {
    const median = (value: (sample: Sample) => number | undefined) => {
      const known = list.map(value).filter((each) => each !== undefined)
      return known.length === 0 ? '' : format(spreadOf(known).median)
    }
    return [
      name,
      spread(spreadOf(list.map(rate))),
      median(({ p50Ms }) => p50Ms),
      median(({ p99Ms }) => p99Ms),
      median(({ serverCpu }) => serverCpu),
      median(({ loadCpu }) => loadCpu),
      median(({ rssBytes }) => rssBytes && rssBytes / mebibyte),
    ]
  })
}

export type Report = {
  readonly command: string
  readonly file: string
  readonly settings: Readonly<Record<string, string>>
  /** Sizes of the run. */
  readonly head: Line
  readonly judged: readonly Line[]
  readonly samples: Samples
  readonly notes: Line
  /** Summary of an audit without findings. */
  readonly audited: string
  readonly wrong: Line
}

const judgedColumns = ['row', 'ours', 'peer', 'ratio', 'floor', 'aim', 'verdict']
const measuredColumns = ['contestant', 'per second', 'p50 ms', 'p99 ms', 'its cores', "load's cores", 'RSS MiB']

const text = (titles: Line, lines: readonly Line[]) =>
  renderTable(
    titles.map((title, at) => (at === 0 ? { title } : ({ title, align: 'right' } as const))),
    lines,
  )

export function markdown(titles: Line, lines: readonly Line[]): string {
  const line = (cells: Line) => `| ${cells.join(' | ')} |`
  return [line(titles), line(titles.map((_, at) => (at === 0 ? '---' : '---:'))), ...lines.map(line)].join('\n')
}

/** Prints the report and writes it into its file. Returns what is wrong. */
export async function publish(report: Report): Promise<Line> {
  const { command, file, settings, judged, samples, wrong } = report
  const { server_version: version, ...others } = settings
  const set = Object.entries(others).map(([name, value]) => `${name} ${value}`)
  const head = [
    ...report.head,
    `${cores} cores, PostgreSQL ${version} (${set.join(', ')}), Node ${process.versions.node}`,
  ]
  const notes = [
    'Each cell is a median with its smallest and largest; a ratio is taken within a round, then its median.',
    'Before each sample all other contestants are frozen (SIGSTOP) or ended, and PostgreSQL takes a checkpoint.',
    ...report.notes,
  ]
  const audit =
    wrong.length === 0 ? report.audited : `THE AUDIT FAILED:\n${wrong.map((what) => `- ${what}`).join('\n')}`
  const measured = measuredLines(samples)
  const tables = (render: typeof text) => [render(judgedColumns, judged), '', render(measuredColumns, measured), '']
  console.log(['', ...head, '', ...tables(text), ...notes, audit].join('\n'))
  const items = (lines: Line) => [...lines.map((line) => `- ${line}`), '']
  const title = [`# Latest results of \`${command}\``, '']
  const remark = ['Written by the bench. Absolute figures depend on the machine; compare the ratios.', '']
  await writeFile(
    file,
    [...title, ...remark, ...items(head), ...tables(markdown), ...items(notes), audit, ''].join('\n'),
  )
  return wrong
}
