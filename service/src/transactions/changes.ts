/**
 * Lists changes in the order of their times, for lists and for streams. A transaction moves to the end when it changes,
 * and a position is given out only when no change can appear before it.
 */
import { createReaders } from '../kernel/api/index.ts'
import { after, nilId } from '../kernel/index.ts'
import { oldestTransactionStart } from '../postgres/index.ts'
import type { TransactionsDeps } from './deps.ts'
import { readChangePosition, writeChangePosition } from './rules.ts'
import { type ChangePosition, noFilter, transactionsChanged } from './store.ts'
import { type TransactionView, view } from './view.ts'

/** The name of the list, for its cursors. */
export const changesList = (partnerId: string): string => `transaction-changes:${partnerId}`

/** Start position: the one that a cursor holds, or a time. */
export const startOf = (position: string | null, since: Date): ChangePosition =>
  position === null ? { updatedAt: since, id: nilId } : readChangePosition(position)

/** The time before which every change is committed, reduced by the largest difference of the clocks. */
export const certainUntil = async ({ db, clockDifferenceMsMax }: TransactionsDeps): Promise<Date> =>
  after(await oldestTransactionStart(db), -clockDifferenceMsMax)

export type Change = { readonly cursor: string; readonly transaction: TransactionView }
export type Changes = {
  /** Pages of short statements: a reader that pauses keeps no transaction open and one page in memory. */
  readonly pages: () => AsyncGenerator<readonly Change[]>
  /** Called once, when the reader has everything or has disconnected. */
  readonly closed: () => void
}
export type Exports = {
  /**
   * Every transaction that has changed since a position, in its state when its page is read. Ends with the changes that
   * were certain at the start. Refuses: validation_failed (after), rate_limited (too many at once).
   */
  readonly changes: (partnerId: string, from: { readonly cursor?: string; readonly since?: Date }) => Promise<Changes>
}

/** A page is formatted in a few milliseconds, and takes less than a megabyte. */
const rowsPerPageMax = 500
const firstMoment = new Date(0)

export function createExports(deps: TransactionsDeps): Exports {
  const { db, cursors } = deps
  const enter = createReaders()
  return {
    changes: async (partnerId, { cursor, since = firstMoment }) => {
      const list = changesList(partnerId)
      const start = startOf(cursor === undefined ? null : cursors.open(list, cursor, '/query/after'), since)
      const before = await certainUntil(deps)
      return {
        closed: enter(partnerId),
        pages: async function* () {
          for (let position = start; ;) {
            const page = { after: position, before }
            const rows = await transactionsChanged(db, partnerId, noFilter, page, rowsPerPageMax)
            if (rows.length > 0)
              yield rows.map((row) => ({
                cursor: cursors.write(list, writeChangePosition(row)),
                transaction: view(row),
              }))
            if (rows.length < rowsPerPageMax) return
            position = rows.at(-1) ?? position
          }
        },
      }
    },
  }
}
