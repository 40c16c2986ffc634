/**
 * Renders `bench/growth.json`: the plots, which `npm run generate` writes, and the page of their tables, which `npm run docs` writes.
 */
import { drawPlot, type Plot } from './plot.ts'
import type { Spread } from './rounds.ts'
import { format, markdown as table, spread } from './report.ts'

/** `spread` varies processes too, with the largest number of partners. */
export type Axis = 'partners' | 'rows' | 'connections' | 'batch' | 'processes' | 'spread'
/** Costs are per payout. */
export type Point = {
  readonly at: number
  readonly rate: Spread
  readonly p50Ms?: number | undefined
  readonly p99Ms?: number | undefined
  readonly serviceCpuMs?: number | undefined
  readonly loadCpuMs?: number | undefined
  readonly postgresCpuMs?: number | undefined
  readonly walBytes?: number | undefined
  readonly commits?: number | undefined
}
export type Growth = {
  readonly form: string
  readonly rounds: number
  readonly seconds: number
  readonly cores: number
  readonly postgres: string
  readonly settings: Readonly<Record<string, string>>
  readonly node: string
  readonly base: Readonly<Record<Axis, number>>
  readonly axes: Readonly<Record<Axis, readonly Point[]>>
  /** Absent if `pgbench` is not on the PATH. */
  readonly pgbench?: { readonly tpcb: Spread; readonly oneRow: Spread }
  readonly auditPassed: boolean
}

const titles: Readonly<Record<Axis, { readonly title: string; readonly x: string }>> = {
  partners: { title: 'Payouts a second, by concurrently paying partners', x: 'partners' },
  rows: { title: 'Payouts a second, by existing transactions', x: 'rows in transactions' },
  connections: { title: 'Payouts a second, by connections', x: 'closed-loop connections' },
  batch: { title: 'Payouts a second, by payouts per transaction', x: 'payouts per transaction at most' },
  processes: { title: 'Payouts a second, by API processes', x: 'API processes, one partner' },
  spread: { title: '', x: 'API processes, many partners' },
}
const axes = Object.keys(titles) as readonly Axis[]
const short = new Intl.NumberFormat('en', { notation: 'compact' })

const plotFile = (name: Axis | 'latency') => `docs/performance/${name}.svg`

/** Path to text. */
export function plots({ axes: measured }: Growth): Readonly<Record<string, string>> {
  const label = (at: number) => short.format(at)
  const line = (axis: Axis, name = '') => {
    return { name, spots: measured[axis].map(({ at, rate }) => ({ label: label(at), ...rate })) }
  }
  const yTitle = 'payouts a second'
  const rates = axes
    .filter((axis) => axis !== 'processes' && axis !== 'spread')
    .map((axis): readonly [string, Plot] => {
      const { title, x } = titles[axis]
      return [plotFile(axis), { title, xTitle: x, yTitle, lines: [line(axis)] }]
    })
  const byPartners = [line('processes', 'one partner'), line('spread', 'many partners')]
  const latency = (name: string, value: (point: Point) => number | undefined) => {
    const spots = measured.connections.map((point) => {
      const ms = value(point) ?? 0
      return { label: label(point.at), median: ms, min: ms, max: ms }
    })
    return { name, spots }
  }
  const lines = [latency('p50', ({ p50Ms }) => p50Ms), latency('p99', ({ p99Ms }) => p99Ms)]
  const title = 'Response time, by connections'
  const all: readonly (readonly [string, Plot])[] = [
    ...rates,
    [plotFile('processes'), { title: titles.processes.title, xTitle: 'API processes', yTitle, lines: byPartners }],
    [plotFile('latency'), { title, xTitle: titles.connections.x, yTitle: 'milliseconds', lines }],
  ]
  return Object.fromEntries(all.map(([path, plot]) => [path, drawPlot(plot)]))
}

const shown = (value: number | undefined) => (value === undefined ? '' : format(value))
const columns = ['payouts/s', 'p50 ms', 'p99 ms', 'service ms', 'PostgreSQL ms', 'load ms', 'WAL bytes', 'commits']

function axisTable(axis: Axis, points: readonly Point[]): string {
  const rows = points.map((point) => [
    point.at.toLocaleString('en'),
    spread(point.rate),
    shown(point.p50Ms),
    shown(point.p99Ms),
    shown(point.serviceCpuMs),
    shown(point.postgresCpuMs),
    shown(point.loadCpuMs),
    shown(point.walBytes),
    shown(point.commits),
  ])
  return table([titles[axis].x, ...columns], rows)
}

function head({ form, rounds, seconds, cores, postgres, settings, node, base, pgbench, auditPassed }: Growth): string {
  const set = Object.entries(settings).map(([name, value]) => `${name} ${value}`)
  return [
    `- ${form} form: ${rounds} interleaved rounds of ${seconds} s a point`,
    `- ${cores} cores for everything, PostgreSQL ${postgres} (${set.join(', ')}), Node ${node}`,
    `- base: ${base.partners} partner, ${base.rows} rows, ${base.connections} connections, ${base.batch} payouts per transaction at most, ${base.processes} process without the workers`,
    pgbench
      ? `- in the same rounds: \`pgbench\` TPC-B at scale 1 with 16 clients ${spread(pgbench.tpcb)} a second; one row inserted and committed by one client ${spread(pgbench.oneRow)} a second`
      : '- `pgbench` is not on the PATH and was not measured',
    auditPassed ? '- all ledgers balanced after the last round' : '- LEDGERS DID NOT BALANCE after the last round',
  ].join('\n')
}

const target = 10_000

/** The cost of 10,000 payouts a second: the measured cost of one payout, multiplied. */
function arithmetic({ axes: measured, base, pgbench }: Growth): string {
  const point = measured.connections.find(({ at }) => at === base.connections)
  if (!point) return ''
  const { rate, serviceCpuMs, postgresCpuMs, walBytes, commits } = point
  const times = (value: number | undefined, unit: string, scale = 1) =>
    value === undefined ? '' : `${format(value * target * scale)} ${unit}`
  const rows = [
    [
      'rate of the base point',
      `${format(rate.median)} /s`,
      `${Math.ceil(target / rate.median)} databases like this one`,
    ],
    ['CPU of the service', `${shown(serviceCpuMs)} ms`, times(serviceCpuMs, 'cores', 1e-3)],
    ['CPU of PostgreSQL', `${shown(postgresCpuMs)} ms`, times(postgresCpuMs, 'cores', 1e-3)],
    ['log (WAL)', `${shown(walBytes)} bytes`, times(walBytes, 'MB/s', 1e-6)],
    ['commits', shown(commits), times(commits, '/s')],
    ...(pgbench
      ? [['sequential small commits of one client', `${format(pgbench.oneRow.median)} /s`, 'of each database']]
      : []),
  ]
  return table(['quantity', 'measured per payout', `times ${target.toLocaleString('en')} a second`], rows)
}

/** The page of the tables behind the plots. */
export function growthPage(growth: Growth): string {
  const tables = axes.map((axis) => `## ${titles[axis].x}\n\n${axisTable(axis, growth.axes[axis])}`)
  return `# How the cost of a payout grows

[Performance](../performance.md#how-the-cost-grows) explains the columns.

${[head(growth), ...tables, `## 10,000 payouts a second\n\n${arithmetic(growth)}`].join('\n\n')}
`
}
