/** Difference that an integrity check found. */
export type Finding = {
  /** The table of the row that differs, as far as one can tell: `schema.table`. */
  readonly table: string
  readonly key: string
  readonly column: string
  /** Value that follows from the rows of other tables. */
  readonly expected: string
  readonly found: string
}

/** Limit of one comparison: a bug in the code could otherwise fill the memory. */
export const findingsMax = 1000
