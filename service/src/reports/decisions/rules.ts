/** Pure: the counted months, and the age bands. */
import type { CaseKind } from '../../cases/index.ts'
import { after, dayMs } from '../../kernel/index.ts'

export type CountedKind = CaseKind | 'screening_hit'

/** Whole days since the opening: 0 to 1, 2 to 3, 4 to 7, 8 to 30, and more. */
export const ageBands = ['upTo1', 'upTo3', 'upTo7', 'upTo30', 'older'] as const
export type AgeBand = (typeof ageBands)[number]

/** Ages in days at which the next bands begin. Partial days do not count. */
const bandDays = [2, 4, 8, 31] as const

/** Computes the opening times at which the bands begin, latest first. */
export const ageBandStarts = (now: Date): readonly [Date, Date, Date, Date] => {
  const [first, second, third, fourth] = bandDays
  const before = (days: number) => after(now, -days * dayMs)
  return [before(first), before(second), before(third), before(fourth)]
}

type CumulativeCounts = Readonly<Record<'first' | 'second' | 'third' | 'fourth' | 'total', number>>

/** Converts cumulative counts to counts of each band. */
export const toAgeBands = ({
  first,
  second,
  third,
  fourth,
  total,
}: CumulativeCounts): Readonly<Record<AgeBand, number>> => ({
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

/** Lists the month of a time and the months before it, latest first. */
export function monthsUntil(now: Date, count: number): readonly Month[] {
  const [year, month] = [now.getUTCFullYear(), now.getUTCMonth()]
  return Array.from({ length: count }, (_, back) => {
    const from = new Date(Date.UTC(year, month - back, 1))
    const before = new Date(Date.UTC(year, month - back + 1, 1))
    return { month: from.toISOString().slice(0, 'YYYY-MM'.length), from, before }
  })
}
