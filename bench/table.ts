/** The rows of the comparison: the contestants, the floor and the aim. */
import type { Sample } from './contestants.ts'
import { type Samples, type Spread, spreadOf } from './rounds.ts'

export type Row = {
  readonly title: string
  readonly ours: string
  readonly peer: string
  /** The lowest acceptable ratio, or the highest one if `most` is set. */
  readonly floor: number
  readonly aim: number
  readonly most?: boolean
  readonly value: (ours: Sample, peer: Sample) => number
  /** The figure in the columns of both contestants; by default the rate. */
  readonly shown?: (sample: Sample) => number
}
export type Judged = {
  readonly title: string
  readonly verdict: 'aim' | 'floor' | 'missed' | 'skipped'
  readonly cells: readonly string[]
}

const ratio = (ours: Sample, peer: Sample) => ours.rate / peer.rate
const accepted = 'payouts'
/** The whole job, to its end. */
const ended = 'ended payouts'

const against = (ours: string, title: string, peer: string, floor: number, aim: number): Row => ({
  title: `${ours} / ${title}`,
  ours,
  peer,
  floor,
  aim,
  value: ratio,
})

export const rows: readonly Row[] = [
  against(accepted, 'pgbench TPC-B scale 1 (hot row)', 'pgbench 1', 2, 3),
  against(ended, 'pgbench TPC-B scale 1 (hot row)', 'pgbench 1', 0.5, 0.8),
  against(accepted, 'pgbench TPC-B scale 10', 'pgbench 10', 1.2, 2),
  {
    title: 'payouts / our endpoint without the database',
    ours: accepted,
    peer: 'no database',
    floor: 0.65,
    aim: 0.8,
    value: ratio,
  },
  against(accepted, 'straightforward baseline', 'baseline', 8, 11),
  {
    title: '1,000 partners / one partner',
    ours: '1,000 partners',
    peer: accepted,
    floor: 0.8,
    aim: 1,
    value: ratio,
  },
  { title: 'payouts on many rows / on none', ours: 'many rows', peer: accepted, floor: 0.9, aim: 1, value: ratio },
  {
    title: 'p99 / p50 at 64 connections',
    ours: accepted,
    peer: accepted,
    floor: 3.5,
    aim: 2.5,
    most: true,
    value: ({ p50Ms = 0, p99Ms = 0 }) => p99Ms / p50Ms,
  },
  { title: 'deposits credited / payouts', ours: 'deposits', peer: accepted, floor: 2, aim: 5, value: ratio },
  { title: 'get on many rows / empty handler', ours: 'get', peer: 'empty get', floor: 0.5, aim: 0.8, value: ratio },
]

export const format = (value: number) => value.toLocaleString('en', { maximumSignificantDigits: 3 })
export const spread = ({ median, min, max }: Spread) => `${format(median)} (${format(min)}-${format(max)})`

const rateShown = ({ rate }: Sample) => rate

export function judge(row: Row, samples: Samples): Judged {
  const { title, ours, peer, floor, aim, most = false, value, shown = rateShown } = row
  const mine = samples.get(ours) ?? []
  const theirs = samples.get(peer) ?? []
  const limits = `${most ? 'at most ' : ''}${floor}`
  if (mine.length === 0 || theirs.length === 0)
    return { title, verdict: 'skipped', cells: [title, '', '', 'skipped', limits, String(aim), ''] }
  // Compares samples of the same round.
  const found = spreadOf(mine.map((sample, round) => value(sample, theirs[round] ?? sample)))
  const reaches = (limit: number) => (most ? found.median <= limit : found.median >= limit)
  const verdict = reaches(aim) ? 'aim' : reaches(floor) ? 'floor' : 'missed'
  const figures = (list: readonly Sample[]) => spread(spreadOf(list.map(shown)))
  const text = { aim: 'aim reached', floor: 'floor reached', missed: 'MISSED' }[verdict]
  return { title, verdict, cells: [title, figures(mine), figures(theirs), spread(found), limits, String(aim), text] }
}
