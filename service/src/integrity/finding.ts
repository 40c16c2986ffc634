/** What does not fit. */
export type Finding = {
  /** The table of the row that differs, as far as one can tell: `schema.table`. */
  readonly table: string
  readonly key: string
  readonly column: string
  /** By the rows of other tables. */
  readonly expected: string
  readonly found: string
}

/** Of one comparison: a fault of the code would fill the memory. */
export const findingsMax = 1000
