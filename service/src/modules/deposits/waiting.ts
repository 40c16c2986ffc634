/** Deposits that wait for a person: a name holds them, or they stand still. For the queue of the desk. */
import { after, type Clock } from '../../kernel/index.ts'
import type { Database } from '../../postgres/index.ts'
import { heldMsMax } from './lifecycle.ts'
import { heldDeposits, standingDeposits, waitingByIds, type WaitingRow } from './store-screening.ts'

export type WaitingDeposit = {
  readonly partnerId: string
  readonly id: string
  readonly why: 'held' | 'stands'
  readonly status: string
  readonly since: Date
}

export function createWaiting({ db, clock }: { readonly db: Database; readonly clock: Clock }) {
  const standsBefore = () => after(clock.now(), -heldMsMax)
  const classified = (rows: readonly WaitingRow[]): readonly WaitingDeposit[] =>
    rows.flatMap(({ partnerId, id, status, screeningSince, heldSince }): readonly WaitingDeposit[] => {
      if (screeningSince !== null) return [{ partnerId, id, status, why: 'held', since: screeningSince }]
      return heldSince !== null && heldSince < standsBefore()
        ? [{ partnerId, id, status, why: 'stands', since: heldSince }]
        : []
    })
  return {
    waiting: async (rowsMax: number) => {
      const held = classified(await heldDeposits(db, rowsMax))
      const stands = classified(await standingDeposits(db, standsBefore(), rowsMax)).filter(
        ({ why }) => why === 'stands',
      )
      return [...held, ...stands]
    },
    waitingOf: async (partnerId: string, ids: readonly string[]) => classified(await waitingByIds(db, partnerId, ids)),
  }
}
