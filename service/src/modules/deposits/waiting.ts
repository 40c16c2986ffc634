/** Deposits that wait for a person: a name holds them, or they stand still. For the queue of the desk. */
import { after, type Clock } from '../../kernel/index.ts'
import type { Database } from '../../postgres/index.ts'
import type { Hold } from '../transactions/index.ts'
import { heldMsMax } from './lifecycle.ts'
import type { DepositStatus } from './rules.ts'
import { heldDeposits, standingDeposits, waitingByIds, type WaitingRow } from './store-screening.ts'
import type { Deposit } from './store.ts'

export type WaitingDeposit = {
  readonly partnerId: string
  readonly id: string
  readonly why: 'held' | 'stands'
  readonly status: string
  readonly since: Date
}

/** The hold of a deposit in each status. Undefined: it has ended. */
const holdIn: Readonly<Record<DepositStatus, Hold['kind'] | undefined>> = {
  Created: 'payer',
  Initiated: 'payer',
  PartiallyPaid: 'payer',
  Submitted: 'booking',
  Accepted: 'booking',
  Screening: 'decision',
  Completed: undefined,
  Failed: undefined,
  Expired: undefined,
}

export function holdOfDeposit({ status, expiresAt }: Deposit): Hold | undefined {
  const kind = holdIn[status]
  return kind && { kind, by: kind === 'payer' ? expiresAt : null }
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
