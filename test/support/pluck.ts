/** Returns the values of one field. */
export const pluck = <T extends object, K extends keyof T>(rows: Iterable<T>, field: K): readonly T[K][] =>
  Array.from(rows, (row) => row[field])
