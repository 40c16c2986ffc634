/** The entry of the ledger that moves the money of a case. */
import type { Currency } from '../kernel/index.ts'
import { type Entry, entryOf } from '../ledger/index.ts'
import type { openingTransfer } from './rules.ts'

export const entryOfCase = (
  { partnerId, id }: { readonly partnerId: string; readonly id: string },
  currency: Currency,
  moved: ReturnType<typeof openingTransfer>,
): Entry => entryOf('decision', { partnerId, currency, partyId: partnerId, reference: `case ${id}`, ...moved })
