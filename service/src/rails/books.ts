/** The statements, entries and instructions of a bank that reconciliation compares with the ledger. */
import type { Currency, Minor, RowKey } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'
import type { BankNotification } from './port.ts'

export type BooksAccount = { readonly connector: string; readonly account: string; readonly currency: Currency }

export type BankStatement = {
  readonly id: string
  readonly statementId: string
  readonly sequence: bigint | null
  /** Null if the bank does not state the balance. */
  readonly opening: Minor | null
  readonly closing: Minor | null
  readonly openingOn: string | null
  readonly closingOn: string | null
  readonly entries: bigint
  readonly credits: Minor
  readonly debits: Minor
  /** The difference between balances and entries that value dates explain. */
  readonly byValueDate: Minor | null
  readonly createdAt: Date
  /** True if all its entries are stored. */
  readonly taken: boolean
  /** The meaning of the bank's statement numbers. */
  readonly numbering: StatementNumbering
}

export type EntrySums = {
  readonly kind: string
  readonly status: 'New' | 'Applied'
  readonly count: bigint
  readonly amount: Minor
  readonly oldest: Date
}

export type PaymentSums = { readonly count: bigint; readonly amount: Minor; readonly oldest: Date | null }

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

/** An unacknowledged report of the bank, which settlement may already have applied. */
export type PendingReport = {
  readonly partnerId: string
  readonly id: string
  readonly subjectId: string
  readonly kind: BankNotification['kind']
  /** Negative for outgoing money. Null if the report does not have an amount. */
  readonly amount: Minor | null
  readonly entryId: string | null
  /** The payment of the report, if there is one. */
  readonly instruction: BankInstruction | undefined
}
export type PendingReports = {
  readonly reports: readonly PendingReport[]
  /** The entries of the reports and their payments. */
  readonly entries: ReadonlyMap<string, BankEntry>
}

type EntryPosition = { readonly createdAt: Date; readonly id: string } | undefined
type ReadEntries = (
  tx: Tx,
  account: BooksAccount,
  after: EntryPosition,
  rowsMax: number,
) => Promise<readonly BankEntry[]>
type ReadInstructions = (
  tx: Tx,
  connector: string,
  currency: Currency,
  rowsMax: number,
) => Promise<readonly BankInstruction[]>

/**
 * Selects entries in the ledger that are on one of these statements or, with `orNone`, on no statement. `from` and
 * `before` limit the time of their first report.
 */
export type EntryScope = {
  readonly statementIds: readonly string[]
  readonly orNone: boolean
  readonly from?: Date
  readonly before?: Date
}

/** Reads a bank's books in the caller's database snapshot, and applies people's corrections to them. */
export type BankBooks = {
  /** Lists the statements (camt.053) of an account, ordered by date and number. */
  readonly statements: (tx: Tx, account: BooksAccount) => Promise<readonly BankStatement[]>
  /** Sums the entries that are not on a statement yet, by kind and status. */
  readonly notOnStatement: (tx: Tx, account: BooksAccount) => Promise<readonly EntrySums[]>
  /** Sums the entries on statements, by kind and status. */
  readonly ofStatements: (
    tx: Tx,
    statementIds: readonly string[],
  ) => Promise<readonly (EntrySums & { readonly statementId: string })[]>
  /** Sums the payments that the bank reported as paid and has not booked yet. */
  readonly settledNotBooked: (tx: Tx, connector: string, currency: Currency) => Promise<PaymentSums>
  /** Sums the payments whose return is booked and whose execution is not. */
  readonly returnedNotBooked: (tx: Tx, connector: string, currency: Currency) => Promise<PaymentSums>
  /** Sums the unfinished payments: queued, at the bank, or missing because the bank has not reported them in time. */
  readonly underWay: (
    tx: Tx,
    connector: string,
    currency: Currency,
  ) => Promise<readonly (PaymentSums & { readonly status: 'queued' | 'at_bank' | 'missing' })[]>
  readonly pending: (tx: Tx, connector: string) => Promise<PendingReports>
  /** Lists entries that are not on a statement yet, oldest first. */
  readonly entriesNotOnStatement: ReadEntries
  /** Lists entries that the ledger does not have yet, oldest first. */
  readonly entriesNew: ReadEntries
  readonly sumInScope: (tx: Tx, account: BooksAccount, scope: EntryScope) => Promise<PaymentSums>
  /** Lists entries, oldest first. */
  readonly entriesInScope: (
    tx: Tx,
    account: BooksAccount,
    scope: EntryScope,
    rowsMax: number,
  ) => Promise<readonly BankEntry[]>
  /** Lists payments that the bank has paid or returned, and not booked. */
  readonly instructionsNotBooked: ReadInstructions
  /** Lists payments that the bank has not reported in time. */
  readonly instructionsMissing: ReadInstructions
  readonly instructions: (tx: Tx, ids: readonly string[]) => Promise<readonly BankInstruction[]>
  /** Lists payments of this amount, and payments whose InstrId or end-to-end id is one of `names`. */
  readonly instructionsLike: (
    tx: Tx,
    account: Pick<BooksAccount, 'connector' | 'currency'>,
    amount: Minor,
    names: readonly string[],
  ) => Promise<readonly BankInstruction[]>
  /** Finds the entry of a case. The subject of a credit or debit is the id of its entry. */
  readonly entryOf: (tx: Tx, subject: string) => Promise<BankEntry | undefined>
  /** Finds the entries that are on a statement. */
  readonly listed: (tx: Tx, ids: readonly string[]) => Promise<ReadonlySet<string>>
  /**
   * Merges an entry with an announced entry, because two people decided that they are the same. False: the announced
   * entry is on another statement, or gone.
   */
  readonly merge: (tx: Tx, entryId: string) => Promise<boolean>
  /** Assigns an entry to the payment that an operator found. */
  readonly match: (tx: Tx, entryId: string, instruction: RowKey, hasLeft: boolean) => Promise<void>
  /**
   * Cancels an applied entry that its statement omits. Settlement takes back a credit, and returns the payments of a
   * debit, whose sum is `cameBack`. Undefined: the entry cannot be cancelled, or already was.
   */
  readonly cancel: (
    tx: Tx,
    entryId: string,
  ) => Promise<{ readonly connector: string; readonly cameBack: Minor } | undefined>
  /**
   * Separates a debit from a payment, because two people decided that it was for another payment. The payment counts as
   * returned; the debit of a batch keeps its other payments.
   */
  readonly unmatch: (tx: Tx, entryId: string, instruction: RowKey) => Promise<void>
}

// Orders the statements of an account, each once. A bank may send a statement again, correct it, or split it into pages.

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

/** Statements with all their versions. The last version counts. */
export type StatementVersions<S> = ReadonlyMap<S, readonly S[]>

const pageForm = / page (\d+)$/
/** Formats the id of a page of a statement. */
export const formatPageId = (id: string, page: string): string => `${id} page ${page}`
export const readPageNumber = ({ statementId }: Pick<Statement, 'statementId'>): number =>
  Number(pageForm.exec(statementId)?.[1] ?? 0)

/**
 * Makes a key that all versions of a statement share: number, day and opening balance, because other parts of a day begin
 * with another balance. Without a balance, only identical figures count as the same statement.
 */
function statementKey(statement: StatementFigures): string {
  const { statementId, sequence, opening, closing, closingOn, credits, debits } = statement
  const isDated = isDatedStatement(statement)
  const what = isDated
    ? [sequence === null ? statementId : [sequence, readPageNumber(statement)].join(' page '), opening, closingOn]
    : [statementId, sequence, opening, closing, closingOn, credits, debits]
  return what.map(String).join('\n')
}

type StatementFigures = Pick<
  Statement,
  'statementId' | 'sequence' | 'opening' | 'closing' | 'closingOn' | 'credits' | 'debits'
>

const isDatedStatement = ({ opening, closingOn }: StatementFigures): boolean => opening !== null && closingOn !== null

/** Reports whether two messages have the same statement, so that the later one replaces the earlier one. */
export const isSameStatement = (one: StatementFigures, other: StatementFigures): boolean =>
  isDatedStatement(one) && isDatedStatement(other) && statementKey(one) === statementKey(other)

export const isRepetition = (one: Statement, other: Statement): boolean =>
  one.closing === other.closing && one.credits === other.credits && one.debits === other.debits

const isNewer = (one: Statement, other: Statement): boolean =>
  one.createdAt > other.createdAt || (one.createdAt.getTime() === other.createdAt.getTime() && one.id > other.id)

/** Orders statements, which are sorted by day and number. Parts of a day are ordered by page, or else by balance. */
export function orderStatements<S extends Statement>(statements: readonly S[]): StatementVersions<S> {
  const versions = Map.groupBy(statements, statementKey)
  const left = [...versions.values()].map((all) => all.reduce((last, one) => (isNewer(one, last) ? one : last)))
  const ordered = new Map<S, readonly S[]>()
  let before: S | undefined
  while (left.length > 0) {
    const first = left[0] as S
    const ofDay = left.filter((one) => one.closingOn === first.closingOn)
    const next = nextStatement(ofDay, first, before) ?? first
    left.splice(left.indexOf(next), 1)
    ordered.set(next, versions.get(statementKey(next)) ?? [next])
    before = next
  }
  return ordered
}

function nextStatement<S extends Statement>(ofDay: readonly S[], first: S, before: S | undefined): S | undefined {
  const alike = ofDay.filter((one) => one.sequence === first.sequence)
  const paged = alike.filter((one) => readPageNumber(one) > 0).toSorted((a, b) => readPageNumber(a) - readPageNumber(b))
  if (paged.length > 0) return paged[0]
  // Some banks do not number consecutively, so that numbers do not order a day.
  const whole = ofDay.filter((one) => readPageNumber(one) === 0)
  return whole.find((one) => one.opening !== null && one.opening === before?.closing) ?? firstPart(whole)
}

/** Finds the first part of a day: the one whose opening balance is not the closing balance of another. */
const firstPart = <S extends Statement>(parts: readonly S[]): S | undefined =>
  parts.find(
    (part) => !parts.some((other) => other !== part && other.closing !== null && other.closing === part.opening),
  )

/** Yields each statement with its balances. A page may not state them: they follow from the previous balance and the entries. */
export function* runningBalances<S extends Statement>(
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
 * When the numbers of a bank's statements prove that one is missing. `evidence`: only if balances are missing.
 * `consecutive`: always, so that a statement whose entries sum to zero is missed too. `ignored`: never, for numbers that
 * are not counts, such as times.
 */
export const statementNumberings = ['evidence', 'consecutive', 'ignored'] as const
export type StatementNumbering = (typeof statementNumberings)[number]

type JoinedStatement = Pick<Statement, 'sequence' | 'closing' | 'closingOn' | 'opening'>

export const areConsecutive = (before: JoinedStatement, after: JoinedStatement): boolean =>
  before.closing !== null && before.closing === after.opening

/** Computes the step between two statement numbers; undefined if one is missing. Some banks restart them each year. */
export function numberStep(before: JoinedStatement, after: JoinedStatement): bigint | undefined {
  if (before.sequence === null || after.sequence === null) return undefined
  const step = after.sequence - before.sequence
  const isNewYear = (before.closingOn ?? '').slice(0, 4) < (after.closingOn ?? '').slice(0, 4)
  return isNewYear && step <= 0n ? after.sequence : step
}

/** Counts the statements missing between two, by their numbers. */
export function countMissing(before: JoinedStatement, after: JoinedStatement, numbering: StatementNumbering): bigint {
  const isProved = before.closing !== null && after.opening !== null
  if (numbering === 'ignored' || (numbering === 'evidence' && isProved)) return 0n
  const step = numberStep(before, after) ?? 1n
  return step > 1n ? step - 1n : 0n
}
