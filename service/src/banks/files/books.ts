/** Reads the statements and entries of file-based banks for reconciliation, in the caller's snapshot. */
import { ownJson } from '@partner-payments/wire'
import { type Clock, type Minor, newId } from '../../kernel/index.ts'
import { groupByShard, type Tx } from '../../postgres/index.ts'
import type { BankBooks, BankNotification, PendingReport } from '../../rails/index.ts'
import type { BankDeps, BankRules } from './deps.ts'
import * as store from './store-books.ts'
import { type Report, writeReports } from './reports.ts'
import { type CancellableEntry, insertCancellation, lockAbsent } from './store-entries.ts'
import { lockSentPayments, type SentPayment, updateSentPayments } from './store-incoming.ts'

/** The maximum number of reports that settlement reads at once, including those that wait after a failure. */
const pendingMax = 20_000

type IsoBooksDeps = Pick<BankDeps, 'operatorId' | 'clock'> & {
  readonly banks: readonly Pick<BankRules, 'id' | 'statementNumbers'>[]
}

export function createIsoBooks({ operatorId, clock, banks }: IsoBooksDeps): BankBooks {
  const numberingOf = new Map(banks.map(({ id, statementNumbers }) => [id, statementNumbers]))
  return {
    statements: async (tx, account) => {
      const numbering = numberingOf.get(account.connector) ?? 'evidence'
      return (await store.accountStatements(tx, account)).map((statement) => ({ ...statement, numbering }))
    },
    notOnStatement: (tx, account) => store.sumsNotOnStatement(tx, operatorId, account),
    ofStatements: async (tx, statementIds) =>
      statementIds.length === 0 ? [] : store.sumsOfStatements(tx, operatorId, statementIds),
    settledNotBooked: store.sumSettledNotBooked,
    returnedNotBooked: store.sumReturnedNotBooked,
    underWay: store.sumsUnderWay,
    pending: async (tx, connector) => {
      const rows = await store.pendingReports(tx, connector, pendingMax)
      const payouts = rows.filter(({ kind }) => kind.startsWith('payout.')).map(({ subjectId }) => subjectId)
      const found = payouts.length === 0 ? [] : await store.instructionsByIds(tx, [...new Set(payouts)])
      const instructions = new Map(found.map((instruction) => [instruction.id, instruction]))
      const reports = rows.map(({ kind, payload, ...row }): PendingReport => {
        const known = kind as BankNotification['kind']
        return {
          ...row,
          kind: known,
          amount: signedAmount(known, payload),
          instruction: instructions.get(row.subjectId),
        }
      })
      const ids = reports.flatMap(({ entryId, instruction }) => [entryId ?? [], instruction?.entryId ?? []].flat())
      const entries = ids.length === 0 ? [] : await store.entriesByIds(tx, operatorId, [...new Set(ids)])
      return { reports, entries: new Map(entries.map((entry) => [entry.id, entry])) }
    },
    entriesNotOnStatement: (tx, account, after, rowsMax) =>
      store.entriesNotOnStatement(tx, operatorId, account, { after, rowsMax }),
    entriesNew: (tx, account, after, rowsMax) => store.entriesNew(tx, operatorId, account, { after, rowsMax }),
    sumInScope: (tx, account, scope) => store.sumInScope(tx, operatorId, account, scope),
    entriesInScope: (tx, account, scope, rowsMax) => store.entriesInScope(tx, operatorId, account, scope, rowsMax),
    instructionsNotBooked: store.instructionsNotBooked,
    instructionsMissing: store.instructionsMissing,
    instructions: async (tx, ids) => (ids.length === 0 ? [] : store.instructionsByIds(tx, ids)),
    instructionsLike: async (tx, { connector, currency }, amount, names) => {
      const named = names.length === 0 ? [] : await store.instructionsByReferences(tx, names)
      const alike = await store.instructionsLike(tx, connector, currency, amount, likeMax)
      return [...new Map([...named, ...alike].map((row) => [row.id, row])).values()]
    },
    entryOf: async (tx, subject) => {
      const [entry] = await store.entriesByIds(tx, operatorId, [subject])
      return entry
    },
    listed: async (tx, ids) => {
      const rows = ids.length === 0 ? [] : await store.entriesByIds(tx, operatorId, ids)
      return new Set(rows.flatMap(({ id, statementId }) => (statementId === null ? [] : [id])))
    },
    cancel: createCancel({ clock, operatorId }),
    merge: (tx, entryId) => merge(tx, operatorId, entryId),
    match: async (tx, entryId, instruction, hasLeft) => {
      const given = { subjectId: instruction.id, subjectPartnerId: instruction.partnerId }
      const kind = hasLeft ? 'payout' : 'return'
      await store.assignEntry(tx, operatorId, entryId, { ...given, kind, matchedBy: matchedByPerson })
      if (hasLeft) await store.bookInstruction(tx, instruction, entryId, clock.now())
      else await store.returnInstruction(tx, instruction, clock.now())
    },
    unmatch: async (tx, entryId, instruction) => {
      const none = { subjectId: null, subjectPartnerId: null }
      await store.assignEntry(tx, operatorId, entryId, { ...none, kind: 'unknown', matchedBy: matchedByPerson })
      await store.returnInstruction(tx, instruction, clock.now())
    },
  }
}

async function merge(tx: Tx, operatorId: string, entryId: string): Promise<boolean> {
  if ((await store.mergeEntry(tx, operatorId, entryId)) === 0) return false
  await store.insertMergedAlias(tx, operatorId, entryId)
  await store.deleteMerged(tx, operatorId, entryId)
  return true
}

const likeMax = 500
const matchedByPerson = JSON.stringify({ rule: 'two persons', agreed: ['decision'] })

const outward: readonly BankNotification['kind'][] = ['payout.settled', 'debit.booked', 'credit.reversed']

function signedAmount(kind: BankNotification['kind'], payload: string): Minor | null {
  const { money } = ownJson<{ readonly money?: { readonly amount: string } }>(payload)
  if (money === undefined) return null
  const amount = BigInt(money.amount)
  return outward.includes(kind) ? -amount : amount
}

// Cancels an entry of the ledger that the bank's statement, or its correction, omits. Settlement takes back the money
// of a credit, as after a reversal, and returns the money of each payment of a debit.

const createCancel =
  ({ clock, operatorId }: { readonly clock: Clock; readonly operatorId: string }): BankBooks['cancel'] =>
  async (tx, entryId) => {
    const entry = await lockAbsent(tx, operatorId, entryId)
    if (entry === undefined) return undefined
    const { connector } = entry
    const now = clock.now()
    const id = newId()
    const paid = entry.amount < 0n ? await lockPaid(tx, connector, entryId) : []
    for (const group of groupByShard(tx, paid)) updateSentPayments(tx, group.map(toReturned), now)
    const reports =
      entry.amount < 0n ? paid.map((one) => returnReport(entry, one)) : [reversalReport(entry, { entryId, operatorId })]
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
    insertCancellation(tx, operatorId, { id, entryId, kind, status, subject, matchedBy: matchedByPerson, now })
    return { connector, cameBack: paid.reduce((sum, { amount }): Minor => sum + amount, 0n) }
  }

/** Locks the payments of a debit that have not been returned. */
async function lockPaid(tx: Tx, connector: string, entryId: string): Promise<readonly SentPayment[]> {
  const locked: SentPayment[] = []
  for (const group of groupByShard(tx, await store.paidByEntry(tx, entryId)))
    locked.push(...(await lockSentPayments(tx, connector, group)))
  return locked.filter((one) => one.entryId === entryId && one.status === 'Settled')
}

const toReturned = ({ partnerId, id, entryId, settledAt }: SentPayment) =>
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

function returnReport(
  { bookedOn }: CancellableEntry,
  { partnerId, id: subjectId, amount, currency }: SentPayment,
): Report {
  const details = `The bank did not pay on ${bookedOn}: its statement omits the payment.`
  const facts = { errorKey: 'BankRejection', details, reasonCode: null, money: { currency, amount } } as const
  return { partnerId, id: newId(), subjectId, kind: 'payout.returned', facts }
}

function reversalReport(
  { amount, currency, bookedOn }: CancellableEntry,
  { entryId: subjectId, operatorId: partnerId }: { readonly entryId: string; readonly operatorId: string },
): Report {
  const details = `The bank does not have the credit of ${bookedOn}: its statement omits it.`
  return { partnerId, id: newId(), subjectId, kind: 'credit.reversed', facts: { money: { currency, amount }, details } }
}
