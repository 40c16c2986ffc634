/** The rows of the issue that `bench:webhooks` answers: what is compared with what, the floor and the aim. */
import type { Sample } from '../contestants.ts'
import type { Row } from '../table.ts'

export const names = {
  deliveries: 'deliveries',
  raw: 'raw client',
  graphile: 'graphile-worker',
  boss: 'pg-boss',
  slow: 'low load',
  alone: '99 healthy alone',
  beside: '99 healthy beside a hanging one',
  living: '800 healthy alone',
  dead: '800 healthy among 200 dead',
  quiet: 'payouts',
  telling: 'payouts, two deliveries each',
  few: 'claims, none else pending',
  many: 'claims, many pending',
} as const

export const rowNumbers = [1, 2, 3, 4, 5, 6, 7] as const
export type RowNumber = (typeof rowNumbers)[number]
export type HooksRow = Row & { readonly number: RowNumber }

const ratio = (ours: Sample, peer: Sample) => ours.rate / peer.rate
const p50 = ({ p50Ms = Number.NaN }: Sample) => p50Ms
const p99 = ({ p99Ms = Number.NaN }: Sample) => p99Ms

const atLeast = (
  number: RowNumber,
  title: string,
  ours: string,
  peer: string,
  floor: number,
  aim: number,
): HooksRow => ({
  ...{ number, title, ours, peer, floor, aim },
  value: ratio,
})

export const rows: readonly HooksRow[] = [
  atLeast(1, 'deliveries, 100 healthy endpoints / raw client', names.deliveries, names.raw, 0.5, 0.7),
  atLeast(2, 'deliveries / graphile-worker', names.deliveries, names.graphile, 1.5, 3),
  atLeast(2, 'deliveries / pg-boss', names.deliveries, names.boss, 1.5, 3),
  {
    ...{ number: 3, title: 'p99 ms of 99 healthy, one hangs / none does', ours: names.beside, peer: names.alone },
    ...{ floor: 2, aim: 1.2, most: true, shown: p99 },
    value: (ours, peer) => p99(ours) / p99(peer),
  },
  atLeast(4, 'healthy deliveries, 200 of 1,000 dead / none', names.dead, names.living, 0.8, 0.95),
  {
    ...{ number: 5, title: 'commit to first byte, p50 ms', ours: names.slow, peer: names.slow },
    ...{ floor: 50, aim: 20, most: true, shown: p50, value: p50 },
  },
  {
    ...{ number: 5, title: 'commit to first byte, p99 ms', ours: names.slow, peer: names.slow },
    ...{ floor: 150, aim: 60, most: true, shown: p99, value: p99 },
  },
  atLeast(6, 'payouts, two deliveries each / none', names.telling, names.quiet, 0.5, 0.7),
  {
    ...{ number: 7, title: 'cost of a claim, many pending / none', ours: names.many, peer: names.few },
    ...{ floor: 1.5, aim: 1.1, most: true },
    value: (ours, peer) => peer.rate / ours.rate,
  },
]
