/** Tells which reports of a bank the ledger has, for its reconciliation with the bank's books. */
import type { Cases, Returns } from '../../cases/index.ts'
import type { Deposits } from '../../deposits/index.ts'
import { statusesOf } from '../../payouts/index.ts'
import type { Tx } from '../../postgres/index.ts'
import type { PendingReport } from '../../rails/index.ts'
import type { InLedger } from '../../cases/reconciliation/index.ts'

type InLedgerDeps = {
  readonly cases: Pick<Cases, 'withCase'>
  readonly deposits: Pick<Deposits, 'creditsCompleted'>
  readonly returns: Pick<Returns, 'byId'>
}

/** Finds in the ledger the reports that a bank's connector still keeps: by the statuses of payouts, deposits, returns, and by cases. */
export const createInLedger =
  ({ deposits, cases, returns }: InLedgerDeps) =>
  async (tx: Tx, connector: string, reports: readonly PendingReport[]): Promise<InLedger> => {
    if (reports.length === 0) return new Map()
    const found = new Map<string, 'settled' | 'returned' | 'applied'>()
    const ofPayouts = reports.filter(({ kind }) => kind.startsWith('payout.'))
    const keys = ofPayouts.map(({ partnerId, subjectId: instructionId }) => ({ partnerId, instructionId }))
    const statuses = await statusesOf(tx, keys)
    for (const { id, partnerId, subjectId } of ofPayouts) {
      const status = statuses.get(subjectId) ?? (await returnStatus(tx, returns, partnerId, subjectId))
      if (status === 'Completed' || status === 'Booked') found.set(id, 'settled')
      if (status === 'Returned') found.set(id, 'returned')
    }
    const credits = reports.filter(({ kind }) => kind === 'credit.booked')
    const completed = new Set(
      await deposits.creditsCompleted(
        tx,
        connector,
        credits.map(({ subjectId }) => subjectId),
      ),
    )
    for (const { id, subjectId } of credits) if (completed.has(subjectId)) found.set(id, 'applied')
    const withCase = await cases.withCase(
      tx,
      connector,
      reports.map(({ id }) => id),
    )
    for (const { notificationId } of withCase) found.set(notificationId, 'applied')
    return found
  }

const returnStatus = async (tx: Tx, returns: InLedgerDeps['returns'], partnerId: string, id: string) =>
  (await returns.byId(tx, partnerId, id))?.status
