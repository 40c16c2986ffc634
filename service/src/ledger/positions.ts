/** The balances of a partner at a moment, and whether its account rows still agree with their transfers. */
import { firstIdOf, type Minor } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'
import type { AccountRow } from './store.ts'
import * as store from './store-history.ts'

export type Position = Pick<AccountRow, 'name' | 'currency' | 'posted' | 'reserved'> & {
  /** The account row minus its transfers, as they are now. Zero: they agree. */
  readonly rowDiffers: Minor
}

export type Positions = {
  /**
   * Sums the transfers of each account before a moment, by default all. Also compares the account rows with their transfers:
   * the last checkpoint and those after it.
   */
  readonly positionsAt: (tx: Tx, partnerId: string, moment: Date | undefined) => Promise<readonly Position[]>
}

export const positions: Positions = {
  positionsAt: async (tx, partnerId, moment) => {
    const end = moment === undefined ? store.lastId : firstIdOf(moment)
    const then = await store.balancesBefore(tx, partnerId, end)
    // Rows that equal the past sums agree. The others have moved since, or were changed.
    const isSettled = then.every((row) => row.posted === row.postedNow && row.reserved === row.reservedNow)
    const now = isSettled || moment === undefined ? then : await store.balancesBefore(tx, partnerId, store.lastId)
    const differences = new Map(now.map(({ id, posted, postedNow }) => [id, postedNow - posted]))
    return then.map(({ id, name, currency, posted, reserved }) => ({
      name,
      currency,
      posted,
      reserved,
      rowDiffers: differences.get(id) ?? 0n,
    }))
  },
}
