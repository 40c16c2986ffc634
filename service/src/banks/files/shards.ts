/** Runs a statement per partner on a sharded database. */
import type { Database } from '../../postgres/index.ts'

export function byShard<T extends { readonly partnerId: string }>(
  { sharded }: Pick<Database, 'sharded'>,
  rows: readonly T[],
): readonly (readonly T[])[] {
  if (rows.length === 0) return []
  return sharded ? [...Map.groupBy(rows, ({ partnerId }) => partnerId).values()] : [rows]
}
