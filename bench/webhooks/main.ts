/**
 * `npm run bench:webhooks`: measures deliveries, compared with the HTTP client alone, and beside failing endpoints. `--quick`
 * takes a minute and a half. Exit code 1 if an audit fails; a missed floor is only printed.
 */
import { join } from 'node:path'
import { format, judge, p50, p99, publish, type Row, spread } from '../report.ts'
import { runRounds, type Samples, spreadOf } from '../rounds.ts'
import { readOptions, runBench, say } from '../run.ts'
import { buildContestants, names, type RowNumber, rowNumbers } from './stage.ts'

const { form, sizes, values, execArgv } = readOptions(
  {
    quick: { rounds: 3, seconds: 1.5, pending: 200_000, hanging: 50_000 },
    full: { rounds: 5, seconds: 5, pending: 10_000_000, hanging: 500_000 },
  },
  /** Rows of the table, for example `1,5`. */
  { only: { type: 'string' } },
)

function readOnly(): ReadonlySet<RowNumber> {
  const text = String(values['only'] ?? (form === 'quick' ? '1,5' : rowNumbers.join()))
  const only = text.split(',').map(Number)
  if (!only.every((row): row is RowNumber => rowNumbers.some((known) => known === row)))
    throw new Error(`--only must be numbers of ${rowNumbers.join()}, separated by commas`)
  return new Set(only)
}
const only = readOnly()

const rows: readonly (Row & { readonly number: RowNumber })[] = [
  {
    number: 1,
    title: 'deliveries, 100 healthy endpoints / raw client',
    ours: names.deliveries,
    peer: names.raw,
    floor: 0.5,
    aim: 0.7,
  },
  {
    number: 3,
    title: 'p99 ms of 99 healthy, one hangs / none does',
    ours: names.beside,
    peer: names.alone,
    floor: 2,
    aim: 1.2,
    most: true,
    shown: p99,
    value: (ours, peer) => p99(ours) / p99(peer),
  },
  {
    number: 4,
    title: 'healthy deliveries, 200 of 1,000 dead / none',
    ours: names.dead,
    peer: names.living,
    floor: 0.8,
    aim: 0.95,
  },
  ...(
    [
      ['p50', p50, 50, 20],
      ['p99', p99, 150, 60],
    ] as const
  ).map(([title, value, floor, aim]) => ({
    number: 5 as const,
    title: `commit to first byte, ${title} ms`,
    ours: names.slow,
    peer: names.slow,
    floor,
    aim,
    most: true,
    shown: value,
    value,
  })),
  {
    number: 6,
    title: 'payouts, two deliveries each / none',
    ours: names.delivering,
    peer: names.quiet,
    floor: 0.5,
    aim: 0.7,
  },
  {
    number: 7,
    title: 'cost of a claim, many pending / none',
    ours: names.many,
    peer: names.few,
    floor: 1.5,
    aim: 1.1,
    most: true,
    value: (ours, peer) => peer.rate / ours.rate,
  },
]

function duringPayouts(samples: Samples): readonly string[] {
  const during = (samples.get(names.delivering) ?? []).flatMap((sample) => sample.during ?? [])
  if (during.length === 0) return []
  const rates = spread(spreadOf(during.map(({ rate }) => rate)))
  const share = format(spreadOf(during.map((each) => each.share)).median * 100)
  return [
    `During the payouts, ${rates} deliveries per second were sent, ${share} % of their deliveries. The others were sent afterwards.`,
  ]
}

await runBench(async (postgres) => {
  const { rounds, seconds, pending, hanging } = sizes
  const { contestants, stop } = await buildContestants({ postgres, only, seconds, pending, hanging, execArgv, say })
  const { samples, wrong } = await runRounds(contestants, { rounds, warmUps: form === 'quick' ? 1 : 3 }, postgres, say)
  await stop()
  return publish({
    command: 'npm run bench:webhooks',
    file: join(import.meta.dirname, 'results.md'),
    settings: postgres.settings,
    head: [
      `${form}: ${rounds} interleaved rounds of ${seconds} s a contestant`,
      ...(only.has(3) ? [`${hanging.toLocaleString('en')} deliveries pending for the endpoint that hangs`] : []),
      ...(only.has(7) ? [`${pending.toLocaleString('en')} rows in the queue where many are pending`] : []),
    ],
    judged: rows.filter(({ number }) => only.has(number)).map((row) => judge(row, samples)),
    samples,
    notes: [
      'Endpoints are ports of one process on loopback. They count and store requests, and verify nothing during a sample.',
      'deliveries: the role `worker`, from the commit of the events: fan-out, signing, guarded POST and recording.',
      'raw client: the same HTTP client with 500 concurrent requests, signed in memory before. It stores nothing.',
      'Commit to first byte: from sending the commit of the event to the complete request head at the endpoint.',
      ...duringPayouts(samples),
    ],
    audited:
      'After every sample: each subscribed endpoint received each committed event once, byte for byte, and no other; sampled signatures verify with `standardwebhooks`; owed = delivered + pending + held.',
    wrong,
  })
})
