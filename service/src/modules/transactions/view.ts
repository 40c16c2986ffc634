/** A transaction as it is read: its row, and its timeline taken from the JSON of the row. */
import { ownJson } from '@partner-payments/wire'
import type * as store from './store.ts'

export type TransactionView = {
  readonly row: store.TransactionRow
  readonly timeline: readonly store.TimelineEntry[]
  readonly id: string
}

export const view = (row: store.TransactionRow): TransactionView => ({
  row,
  id: row.id,
  timeline: ownJson<readonly store.TimelineEntry[]>(row.timeline),
})
