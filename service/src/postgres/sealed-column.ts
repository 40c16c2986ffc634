/** A column of sealed values, as the commands that seal values under another key see it. */
import type { Tx } from './tx.ts'

/** `id` names the row among those of its partner. */
export type SealedValue = { readonly id: string; readonly sealed: Buffer; readonly context: readonly string[] }
export type Resealed = Pick<SealedValue, 'id' | 'sealed'> & { readonly resealed: Buffer }

export type SealedColumn = {
  /** `schema.table.column`. */
  readonly name: string
  /** The context of the value in a row. `cell` gives the other values of the row, by column. */
  readonly contextOf: (partnerId: string, cell: (column: string) => string) => readonly string[]
  /** The number of values under each key, of all partners. */
  readonly countByKey: (tx: Tx) => Promise<readonly { readonly keyId: string; readonly count: bigint }[]>
  /** Values of the partner that are not sealed under `keyId`, in a fixed order, after the one of `afterId`. */
  readonly notUnder: (
    tx: Tx,
    partnerId: string,
    page: { readonly keyId: string; readonly afterId?: string; readonly rowsMax: number },
  ) => Promise<readonly SealedValue[]>
  /** Replaces the values that are unchanged since they were read. Returns how many. */
  readonly replace: (tx: Tx, partnerId: string, values: readonly Resealed[]) => Promise<number>
}
