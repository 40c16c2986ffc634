/** The rows of the results: the compared contestants, the floor and the aim. */
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

type Compared = Pick<HooksRow, 'number' | 'title' | 'ours' | 'peer' | 'floor' | 'aim'>

const atLeast = (compared: Compared): HooksRow => ({ ...compared, value: ratio })

export const rows: readonly HooksRow[] = [
  atLeast({
    number: 1,
    title: 'deliveries, 100 healthy endpoints / raw client',
    ours: names.deliveries,
    peer: names.raw,
    floor: 0.5,
    aim: 0.7,
  }),
  atLeast({
    number: 2,
    title: 'deliveries / graphile-worker',
    ours: names.deliveries,
    peer: names.graphile,
    floor: 1.5,
    aim: 3,
  }),
  atLeast({
    number: 2,
    title: 'deliveries / pg-boss',
    ours: names.deliveries,
    peer: names.boss,
    floor: 1.5,
    aim: 3,
  }),
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
  atLeast({
    number: 4,
    title: 'healthy deliveries, 200 of 1,000 dead / none',
    ours: names.dead,
    peer: names.living,
    floor: 0.8,
    aim: 0.95,
  }),
  {
    number: 5,
    title: 'commit to first byte, p50 ms',
    ours: names.slow,
    peer: names.slow,
    floor: 50,
    aim: 20,
    most: true,
    shown: p50,
    value: p50,
  },
  {
    number: 5,
    title: 'commit to first byte, p99 ms',
    ours: names.slow,
    peer: names.slow,
    floor: 150,
    aim: 60,
    most: true,
    shown: p99,
    value: p99,
  },
  atLeast({
    number: 6,
    title: 'payouts, two deliveries each / none',
    ours: names.telling,
    peer: names.quiet,
    floor: 0.5,
    aim: 0.7,
  }),
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
