/** Statements, entries and instructions of a bank, as reconciliation compares them with the ledger. */
import type { Currency, Minor } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'
import type { BankNotification } from './port.ts'

export type BooksAccount = { readonly connector: string; readonly account: string; readonly currency: Currency }

export type BankStatement = {
  readonly id: string
  readonly statementId: string
  readonly sequence: bigint | null
  /** Null: the bank states none. */
  readonly opening: Minor | null
  readonly closing: Minor | null
  readonly openingOn: string | null
  readonly closingOn: string | null
  readonly entries: bigint
  readonly credits: Minor
  readonly debits: Minor
  /** The difference between the movement of its balances and of its entries, by the value dates of entries. */
  readonly byValueDate: Minor | null
  readonly createdAt: Date
  /** All of its entries are written. */
  readonly taken: boolean
  /** Says what the numbers of the bank's statements prove. */
  readonly numbering: Numbering
}

export type EntrySums = {
  readonly kind: string
  readonly status: 'New' | 'Applied'
  readonly count: bigint
  readonly amount: Minor
  readonly oldest: Date
}

export type Sums = { readonly count: bigint; readonly amount: Minor; readonly oldest: Date | null }

export type BankEntry = {
  readonly id: string
  readonly account: string
  readonly currency: Currency
  readonly amount: Minor
  readonly kind: string
  readonly status: 'New' | 'Applied'
  readonly statementId: string | null
  readonly subjectId: string | null
  readonly subjectPartnerId: string | null
  readonly bookedOn: string
  readonly valueOn: string | null
  readonly refs: string
  readonly counterparty: string
  readonly remittance: string | null
  readonly score: number
  readonly matchedBy: string
  readonly createdAt: Date
}

export type BankInstruction = {
  readonly partnerId: string
  readonly id: string
  readonly endToEndId: string
  readonly currency: Currency
  readonly amount: Minor
  readonly creditorName: string
  readonly creditorAccount: string
  readonly remittance: string | null
  readonly status: string
  readonly entryId: string | null
  readonly createdAt: Date
  readonly updatedAt: Date
  readonly settledAt: Date | null
  readonly missingSince: Date | null
}

/** A report of the bank that settlement may have applied: its acknowledgement is not written yet. */
export type PendingReport = {
  readonly partnerId: string
  readonly id: string
  readonly subjectId: string
  readonly kind: BankNotification['kind']
  /** Below zero: money left. Null: the report names no amount. */
  readonly amount: Minor | null
  readonly entryId: string | null
  /** The payment that the report is about, if it is about one. */
  readonly instruction: BankInstruction | undefined
}
export type Pending = {
  readonly reports: readonly PendingReport[]
  /** The entries that the reports, or their payments, name. */
  readonly entries: ReadonlyMap<string, BankEntry>
}

type Position = { readonly createdAt: Date; readonly id: string } | undefined
type ReadEntries = (tx: Tx, account: BooksAccount, after: Position, rowsMax: number) => Promise<readonly BankEntry[]>
type ReadInstructions = (
  tx: Tx,
  connector: string,
  currency: Currency,
  rowsMax: number,
) => Promise<readonly BankInstruction[]>

/** Entries that the ledger has, on one of these statements or, with `orNone`, on none. The times are of their first report. */
export type EntryScope = {
  readonly statementIds: readonly string[]
  readonly orNone: boolean
  readonly from?: Date
  readonly before?: Date
}

/** Reads in the caller's snapshot. */
export type BankBooks = {
  /** The statements (camt.053) of an account, in their order as far as dates and numbers say it. */
  readonly statements: (tx: Tx, account: BooksAccount) => Promise<readonly BankStatement[]>
  /** Sums of the entries of no statement yet, by kind and status. */
  readonly notOnStatement: (tx: Tx, account: BooksAccount) => Promise<readonly EntrySums[]>
  /** Sums of the entries on statements, by kind and status. */
  readonly ofStatements: (
    tx: Tx,
    statementIds: readonly string[],
  ) => Promise<readonly (EntrySums & { readonly statementId: string })[]>
  /** Sum of the payments that the bank reported as paid and has not booked yet. */
  readonly settledNotBooked: (tx: Tx, connector: string, currency: Currency) => Promise<Sums>
  /** Sum of the payments with a booked return and an unbooked execution. */
  readonly returnedNotBooked: (tx: Tx, connector: string, currency: Currency) => Promise<Sums>
  /** Sums of the payments under way: in no file yet, at the bank, and overdue for a report. */
  readonly underWay: (
    tx: Tx,
    connector: string,
    currency: Currency,
  ) => Promise<readonly (Sums & { readonly status: 'queued' | 'at_bank' | 'missing' })[]>
  readonly pending: (tx: Tx, connector: string) => Promise<Pending>
  /** Entries of no statement yet, oldest first. */
  readonly entriesNotOnStatement: ReadEntries
  /** Entries that the ledger does not have yet, oldest first. */
  readonly entriesNew: ReadEntries
  readonly sumInScope: (tx: Tx, account: BooksAccount, scope: EntryScope) => Promise<Sums>
  /** Oldest first. */
  readonly entriesInScope: (
    tx: Tx,
    account: BooksAccount,
    scope: EntryScope,
    rowsMax: number,
  ) => Promise<readonly BankEntry[]>
  /** Payments that the bank has paid or sent back, and has not booked. */
  readonly instructionsNotBooked: ReadInstructions
  /** Payments that are overdue for a report of the bank. */
  readonly instructionsMissing: ReadInstructions
  readonly instructions: (tx: Tx, ids: readonly string[]) => Promise<readonly BankInstruction[]>
  /** Payments of this amount, and those that an InstrId or one of our end-to-end ids names. */
  readonly instructionsLike: (
    tx: Tx,
    account: Pick<BooksAccount, 'connector' | 'currency'>,
    amount: Minor,
    names: readonly string[],
  ) => Promise<readonly BankInstruction[]>
  /** The entry of a case. Credits and debits have the id of their entry as their subject. */
  readonly entryOf: (tx: Tx, subject: string) => Promise<BankEntry | undefined>
  /** The entries among these that are on a statement. */
  readonly listed: (tx: Tx, ids: readonly string[]) => Promise<ReadonlySet<string>>
  /**
   * Merges an entry with the announced one, as two persons decided that they are the same. False: the announced one has
   * a statement of its own, or is gone.
   */
  readonly merge: (tx: Tx, entryId: string) => Promise<boolean>
  /** Assigns an entry to the payment that an operator found. */
  readonly match: (
    tx: Tx,
    entryId: string,
    instruction: { readonly partnerId: string; readonly id: string },
    hasLeft: boolean,
  ) => Promise<void>
  /**
   * Cancels an entry that counts and that its statement omits. Settlement takes a credit back, and returns the payments of a debit, whose sum is
   * `cameBack`. Undefined: it is another entry, or is cancelled.
   */
  readonly cancel: (
    tx: Tx,
    entryId: string,
  ) => Promise<{ readonly connector: string; readonly cameBack: Minor } | undefined>
  /**
   * Detaches the debit from a payment, because two persons decided that it was for something else. The payment counts as returned; a batch stays the
   * debit of its other payments.
   */
  readonly unmatch: (
    tx: Tx,
    entryId: string,
    instruction: { readonly partnerId: string; readonly id: string },
  ) => Promise<void>
}

// Pure: the statements of an account in their order, each once. A bank may send a statement again, correct it, or split
// it into pages.

type Statement = {
  readonly id: string
  readonly statementId: string
  readonly sequence: bigint | null
  readonly opening: Minor | null
  readonly closing: Minor | null
  readonly closingOn: string | null
  readonly credits: Minor
  readonly debits: Minor
  readonly createdAt: Date
}

/** One statement, and all messages that contained it: the last one counts. */
export type Versions<S> = ReadonlyMap<S, readonly S[]>

const pageForm = / page (\d+)$/
/** The id that this service gives to a page of a statement. */
export const pageIdOf = (id: string, page: string): string => `${id} page ${page}`
export const pageNumberOf = ({ statementId }: Pick<Statement, 'statementId'>): number =>
  Number(pageForm.exec(statementId)?.[1] ?? 0)

/**
 * Equal for all messages of a statement. A correction has the number, the day and the opening balance of the corrected
 * one; other parts of a day begin with another balance. Without a balance only a repetition is recognised.
 */
function keyOf(statement: Known): string {
  const { statementId, sequence, opening, closing, closingOn, credits, debits } = statement
  const isDated = isDatedStatement(statement)
  const what = isDated
    ? [sequence === null ? statementId : [sequence, pageNumberOf(statement)].join(' page '), opening, closingOn]
    : [statementId, sequence, opening, closing, closingOn, credits, debits]
  return what.map(String).join('\n')
}

type Known = Pick<Statement, 'statementId' | 'sequence' | 'opening' | 'closing' | 'closingOn' | 'credits' | 'debits'>

const isDatedStatement = ({ opening, closingOn }: Known): boolean => opening !== null && closingOn !== null

/** Reports whether two messages are about one statement, whatever they list: the later one replaces the earlier one. */
export const isSameStatement = (one: Known, other: Known): boolean =>
  isDatedStatement(one) && isDatedStatement(other) && keyOf(one) === keyOf(other)

export const isRepetition = (one: Statement, other: Statement): boolean =>
  one.closing === other.closing && one.credits === other.credits && one.debits === other.debits

const isNewer = (one: Statement, other: Statement): boolean =>
  one.createdAt > other.createdAt || (one.createdAt.getTime() === other.createdAt.getTime() && one.id > other.id)

/**
 * `statements`: by day and number. The parts of one day are in the order of their pages, otherwise of their balances.
 */
export function inOrder<S extends Statement>(statements: readonly S[]): Versions<S> {
  const versions = Map.groupBy(statements, keyOf)
  const left = [...versions.values()].map((all) => all.reduce((last, one) => (isNewer(one, last) ? one : last)))
  const ordered = new Map<S, readonly S[]>()
  let before: S | undefined
  while (left.length > 0) {
    const first = left[0] as S
    const ofDay = left.filter((one) => one.closingOn === first.closingOn)
    const next = nextOf(ofDay, first, before) ?? first
    left.splice(left.indexOf(next), 1)
    ordered.set(next, versions.get(keyOf(next)) ?? [next])
    before = next
  }
  return ordered
}

function nextOf<S extends Statement>(ofDay: readonly S[], first: S, before: S | undefined): S | undefined {
  const alike = ofDay.filter((one) => one.sequence === first.sequence)
  const paged = alike.filter((one) => pageNumberOf(one) > 0).toSorted((a, b) => pageNumberOf(a) - pageNumberOf(b))
  if (paged.length > 0) return paged[0]
  // Numbers that do not count say nothing about the order within a day.
  const whole = ofDay.filter((one) => pageNumberOf(one) === 0)
  return whole.find((one) => one.opening !== null && one.opening === before?.closing) ?? beginning(whole)
}

/** The first of parts that belong together: it begins where no other ends. */
const beginning = <S extends Statement>(parts: readonly S[]): S | undefined =>
  parts.find(
    (part) => !parts.some((other) => other !== part && other.closing !== null && other.closing === part.opening),
  )

/**
 * The balance after each statement: a page in the middle may state none, and then it follows from the previous balance
 * and the entries.
 */
export function* balancesAlong<S extends Statement>(
  statements: Iterable<S>,
): Generator<{ readonly statement: S; readonly opening: Minor | null; readonly before: Minor | null }> {
  let before: Minor | null = null
  for (const statement of statements) {
    const opening: Minor | null = statement.opening ?? before
    yield { statement, opening, before }
    before = statement.closing ?? (opening === null ? null : opening + statement.credits - statement.debits)
  }
}

/**
 * How far the numbers of a bank's statements prove that one is missing. `evidence`: where a balance is missing, because balances prove the
 * join otherwise. `consecutive`: always, also a statement whose movements add up to zero. `ignored`: never, for numbers that do
 * not count, such as times.
 */
export const numberings = ['evidence', 'consecutive', 'ignored'] as const
export type Numbering = (typeof numberings)[number]

type Joint = Pick<Statement, 'sequence' | 'closing' | 'closingOn' | 'opening'>

export const isJoined = (before: Joint, after: Joint): boolean =>
  before.closing !== null && before.closing === after.opening

/** The step between the numbers of two statements; undefined: one has none. Numbers begin again each year, for some banks. */
export function numberStep(before: Joint, after: Joint): bigint | undefined {
  if (before.sequence === null || after.sequence === null) return undefined
  const step = after.sequence - before.sequence
  const isNewYear = (before.closingOn ?? '').slice(0, 4) < (after.closingOn ?? '').slice(0, 4)
  return isNewYear && step <= 0n ? after.sequence : step
}

/** How many statements are missing between two by their numbers. */
export function missingByNumber(before: Joint, after: Joint, numbering: Numbering): bigint {
  const isProved = before.closing !== null && after.opening !== null
  if (numbering === 'ignored' || (numbering === 'evidence' && isProved)) return 0n
  const step = numberStep(before, after) ?? 1n
  return step > 1n ? step - 1n : 0n
}
