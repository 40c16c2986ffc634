/** Pure: the months that are counted, and the bands of age. */
import type { CaseKind } from '../../cases/index.ts'
import { after, dayMs } from '../../kernel/index.ts'

/** A kind of the queue. */
export type CountedKind = CaseKind | 'screening_hit'

/** Whole days since the opening: 0 to 1, 2 to 3, 4 to 7, 8 to 30, and more. */
export const ageBands = ['upTo1', 'upTo3', 'upTo7', 'upTo30', 'older'] as const
export type AgeBand = (typeof ageBands)[number]

/** The ages at which the next band begins: what is 1 day and 23 hours old is 1 day old. */
const bandDays = [2, 4, 8, 31] as const

/** The times after which what is in each band was opened, the latest first. */
export const ageTimes = (now: Date): readonly [Date, Date, Date, Date] => {
  const [first, second, third, fourth] = bandDays
  const before = (days: number) => after(now, -days * dayMs)
  return [before(first), before(second), before(third), before(fourth)]
}

type Counted = Readonly<Record<'first' | 'second' | 'third' | 'fourth' | 'total', number>>

/** Each band without the younger ones, which the counts include. */
export const bandsOf = ({ first, second, third, fourth, total }: Counted): Readonly<Record<AgeBand, number>> => ({
  upTo1: first,
  upTo3: second - first,
  upTo7: third - second,
  upTo30: fourth - third,
  older: total - fourth,
})

export type Month = {
  /** `YYYY-MM`, UTC. */
  readonly month: string
  readonly from: Date
  readonly before: Date
}

/** The month of a time and those before it, the latest first. */
export function monthsUntil(now: Date, count: number): readonly Month[] {
  const [year, month] = [now.getUTCFullYear(), now.getUTCMonth()]
  return Array.from({ length: count }, (_, back) => {
    const from = new Date(Date.UTC(year, month - back, 1))
    const before = new Date(Date.UTC(year, month - back + 1, 1))
    return { month: from.toISOString().slice(0, 'YYYY-MM'.length), from, before }
  })
}
