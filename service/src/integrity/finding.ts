/** Difference that an integrity check found. */
export type Finding = {
  /** The table of the row that differs, as far as it is known: `schema.table`. */
  readonly table: string
  readonly key: string
  readonly column: string
  /** Value that follows from the rows of other tables. */
  readonly expected: string
  readonly found: string
}

/** Limit of one comparison: a bug could otherwise fill the memory. */
export const findingsMax = 1000
