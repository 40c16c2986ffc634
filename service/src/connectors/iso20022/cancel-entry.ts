/**
 * Cancels an entry that counts and that the bank does not have: its statement omits it, or a correction does. Settlement takes the money of a
 * credit back as for a reversal of the bank, and returns the money of each payment of a debit.
 */
import { type Clock, type Minor, newId } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import type { BankBooks } from '../../rails/index.ts'
import { type Report, writeReports } from './reports.ts'
import { byShard } from './shards.ts'
import { type Absentee, insertCancellation, lockAbsent } from './store-announced.ts'
import { paidByEntry } from './store-books.ts'
import { lockSent, type Sent, updateSent } from './store-words.ts'

const matchedBy = JSON.stringify({ rule: 'two persons', agreed: ['decision'] })

export const createCancel =
  ({ clock, operatorId }: { readonly clock: Clock; readonly operatorId: string }): BankBooks['cancel'] =>
  async (tx, entryId) => {
    const entry = await lockAbsent(tx, operatorId, entryId)
    if (entry === undefined) return undefined
    const { connector } = entry
    const now = clock.now()
    const id = newId()
    const paid = entry.amount < 0n ? await lockPaid(tx, connector, entryId) : []
    for (const group of byShard(tx, paid)) updateSent(tx, group.map(toReturned), now)
    const reports =
      entry.amount < 0n ? paid.map((one) => returnOf(entry, one)) : [reversalOf(entry, { entryId, operatorId })]
    if (reports.length > 0)
      writeReports(
        tx,
        connector,
        reports.map((report) => ({ ...report, entryId: id })),
        now,
      )
    const [only, another] = paid
    const subject =
      paid.length === 0 ? { partnerId: operatorId, id: entryId } : another === undefined ? only : undefined
    const [kind, status] = [
      paid.length === 0 ? 'reversal' : 'return',
      reports.length === 0 ? 'Applied' : 'New',
    ] as const
    insertCancellation(tx, operatorId, { id, entryId, kind, status, subject, matchedBy, now })
    return { connector, cameBack: paid.reduce((sum, { amount }): Minor => sum + amount, 0n) }
  }

/** The payments that a debit has paid and that have not come back. */
async function lockPaid(tx: Tx, connector: string, entryId: string): Promise<readonly Sent[]> {
  const locked: Sent[] = []
  for (const group of byShard(tx, await paidByEntry(tx, entryId)))
    locked.push(...(await lockSent(tx, connector, group)))
  return locked.filter((one) => one.entryId === entryId && one.status === 'Settled')
}

const toReturned = ({ partnerId, id, entryId, settledAt }: Sent) =>
  ({
    partnerId,
    id,
    entryId,
    settledAt,
    status: 'Returned',
    errorKey: null,
    errorDetails: null,
    reasonCode: null,
  }) as const

function returnOf({ bookedOn }: Absentee, { partnerId, id: subjectId, amount, currency }: Sent): Report {
  const details = `The bank did not pay on ${bookedOn}: its statement omits the payment.`
  const facts = { errorKey: 'BankRejection', details, reasonCode: null, money: { currency, amount } } as const
  return { partnerId, id: newId(), subjectId, kind: 'payout.returned', facts }
}

function reversalOf(
  { amount, currency, bookedOn }: Absentee,
  { entryId: subjectId, operatorId: partnerId }: { readonly entryId: string; readonly operatorId: string },
): Report {
  const details = `The bank does not have the credit of ${bookedOn}: its statement omits it.`
  return { partnerId, id: newId(), subjectId, kind: 'credit.reversed', facts: { money: { currency, amount }, details } }
}
