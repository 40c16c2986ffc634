/** What reconciliation reads of banks by files: one interface over their rows, in the caller's snapshot. */
import type { Minor } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import type { BankNotification } from '../../rails/port.ts'
import type { BankDeps } from './deps.ts'
import * as store from './store-books.ts'

export type BooksAccount = store.BooksAccount
export type BankStatement = store.StatementRow
export type BankEntry = store.EntryRow
export type BankInstruction = store.InstructionRow
type After = { readonly createdAt: Date; readonly id: string } | undefined

/** What the bank has reported, and settlement has perhaps applied: its acknowledgement is not written yet. */
export type PendingReport = {
  readonly partnerId: string
  readonly id: string
  readonly subjectId: string
  readonly kind: BankNotification['kind']
  /** Below zero: it says that money left. Null: it names none. */
  readonly amount: Minor | null
  readonly entryId: string | null
  /** The payment that it is about, if it is about one. */
  readonly instruction: BankInstruction | undefined
}
export type Pending = {
  readonly reports: readonly PendingReport[]
  /** Those that the reports, or their payments, name. */
  readonly entries: ReadonlyMap<string, BankEntry>
}

/** Settlement reads so many at once, in this order; those that wait after a failure are among them. */
const pendingMax = 20_000

export function createIsoBooks({ operatorId, clock }: Pick<BankDeps, 'operatorId' | 'clock'>) {
  return {
    statements: store.statementsOf,
    notOnStatement: (tx: Tx, account: BooksAccount) => store.sumsNotOnStatement(tx, operatorId, account),
    ofStatements: async (tx: Tx, statementIds: readonly string[]) =>
      statementIds.length === 0 ? [] : store.sumsOfStatements(tx, operatorId, statementIds),
    settledNotBooked: store.sumSettledNotBooked,
    returnedNotBooked: store.sumReturnedNotBooked,
    underWay: store.sumsUnderWay,
    pending: async (tx: Tx, connector: string): Promise<Pending> => {
      const rows = await store.pendingOf(tx, connector, pendingMax)
      const payouts = rows.filter(({ kind }) => kind.startsWith('payout.')).map(({ subjectId }) => subjectId)
      const found = payouts.length === 0 ? [] : await store.instructionsByIds(tx, [...new Set(payouts)])
      const instructions = new Map(found.map((instruction) => [instruction.id, instruction]))
      const reports = rows.map(({ kind, payload, ...row }): PendingReport => {
        const known = kind as BankNotification['kind']
        return { ...row, kind: known, amount: amountIn(known, payload), instruction: instructions.get(row.subjectId) }
      })
      const ids = reports.flatMap(({ entryId, instruction }) => [entryId ?? [], instruction?.entryId ?? []].flat())
      const entries = ids.length === 0 ? [] : await store.entriesByIds(tx, operatorId, [...new Set(ids)])
      return { reports, entries: new Map(entries.map((entry) => [entry.id, entry])) }
    },
    entriesNotOnStatement: (tx: Tx, account: BooksAccount, after: After, rowsMax: number) =>
      store.entriesNotOnStatement(tx, operatorId, account, { after, rowsMax }),
    entriesNew: (tx: Tx, account: BooksAccount, after: After, rowsMax: number) =>
      store.entriesNew(tx, operatorId, account, { after, rowsMax }),
    instructionsNotBooked: store.instructionsNotBooked,
    instructionsMissing: store.instructionsMissing,
    instructions: async (tx: Tx, ids: readonly string[]) => (ids.length === 0 ? [] : store.instructionsByIds(tx, ids)),
    /** Payments of this amount, and those that an InstrId or an end-to-end id of ours names. */
    instructionsLike: async (
      tx: Tx,
      { connector, currency }: Pick<BooksAccount, 'connector' | 'currency'>,
      amount: Minor,
      names: readonly string[],
    ) => {
      const named = names.length === 0 ? [] : await store.instructionsByNames(tx, names)
      const alike = await store.instructionsLike(tx, connector, currency, amount, likeMax)
      return [...new Map([...named, ...alike].map((row) => [row.id, row])).values()]
    },
    /** The entry of a case: a credit and a debit have the id of their entry as their subject. */
    entryOf: async (tx: Tx, subject: string): Promise<BankEntry | undefined> => {
      const [entry] = await store.entriesByIds(tx, operatorId, [subject])
      return entry
    },
    /** Entries that are on a statement. */
    listed: async (tx: Tx, ids: readonly string[]): Promise<ReadonlySet<string>> => {
      const rows = ids.length === 0 ? [] : await store.entriesByIds(tx, operatorId, ids)
      return new Set(rows.flatMap(({ id, statementId }) => (statementId === null ? [] : [id])))
    },
    /** Two persons have found out that an entry is one that was announced. False: that one has a statement of its own, or is gone. */
    merge: (tx: Tx, entryId: string) => merge(tx, operatorId, entryId),
    /** An operator has found out which payment an entry is. */
    match: async (
      tx: Tx,
      entryId: string,
      instruction: { readonly partnerId: string; readonly id: string },
      hasLeft: boolean,
    ): Promise<void> => {
      const given = { subjectId: instruction.id, subjectPartnerId: instruction.partnerId }
      const kind = hasLeft ? 'payout' : 'return'
      await store.assignEntry(tx, operatorId, entryId, { ...given, kind, matchedBy: matchedByPerson })
      if (hasLeft) await store.bookInstruction(tx, instruction, entryId, clock.now())
      else await store.returnInstruction(tx, instruction, clock.now())
    },
  }
}
export type IsoBooks = ReturnType<typeof createIsoBooks>

async function merge(tx: Tx, operatorId: string, entryId: string): Promise<boolean> {
  if ((await store.mergeEntry(tx, operatorId, entryId)) === 0) return false
  await store.aliasMerged(tx, operatorId, entryId)
  await store.deleteMerged(tx, operatorId, entryId)
  return true
}

const likeMax = 500
const matchedByPerson = JSON.stringify({ rule: 'two persons', agreed: ['decision'] })

const outward: readonly BankNotification['kind'][] = ['payout.settled', 'debit.booked', 'credit.reversed']

function amountIn(kind: BankNotification['kind'], payload: string): Minor | null {
  const { money } = JSON.parse(payload) as { readonly money?: { readonly amount: string } }
  if (money === undefined) return null
  const amount = BigInt(money.amount)
  return outward.includes(kind) ? -amount : amount
}
