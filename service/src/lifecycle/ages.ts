/** How long payments have stood in a status that is not final. */
/** A payment in a status that is not final. */
export type Unfinished = {
  readonly partnerId: string
  readonly id: string
  readonly status: string
  /** Null: the payment has none yet. */
  readonly connector: string | null
  readonly since: Date
}

/** The oldest payment in a status, over all partners. Null: there is none. `limitMs`: the permitted age. */
export type OldestUnfinished = {
  readonly subject: string
  readonly status: string
  readonly limitMs: number
  readonly ageMs: number
  readonly oldest: Unfinished | null
}

/** The oldest of `rows` in each status that has a limit. */
export function oldestOf<Status extends string>(
  subject: string,
  limitsMs: Readonly<Record<Status, number>>,
  rows: readonly Unfinished[],
  now: Date,
): readonly OldestUnfinished[] {
  return (Object.keys(limitsMs) as Status[]).map((status): OldestUnfinished => {
    const [oldest = null] = rows
      .filter((row) => row.status === status)
      .toSorted((a, b) => a.since.getTime() - b.since.getTime())
    const ageMs = oldest === null ? 0 : Math.max(0, now.getTime() - oldest.since.getTime())
    return { subject, status, limitMs: limitsMs[status], ageMs, oldest }
  })
}
