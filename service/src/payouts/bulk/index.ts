/**
 * Bulk payouts: many payouts in one request, as JSON or as a pain.001. Workers create the payouts: all or none, or each
 * on its own.
 *
 * Tables: payouts.bulks, payouts.bulk_items. Invariants: each item has its own idempotency key, so that an item that is
 * submitted again is never a second payout. A bulk ends when each of its items has a result.
 */
export { type CheckedBulk, type CheckedLine, type CheckedPayee, lineKey } from './check.ts'
export { readAddress as addressOfFile, type UnsupportedRequest } from './from-file.ts'
export { readPain001Lines, type Pain001Lines } from './file-lines.ts'
export { lineColumns, type LineColumn, type TypedLine } from './lines.ts'
export { bulksJob, type BulkPayouts, createBulkPayouts } from './service.ts'
export { bulkPayoutsRoutes } from './routes.ts'

export { keptBulks } from './store.ts'
