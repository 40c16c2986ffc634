/** Statements, entries and instructions of a bank, as reconciliation compares them with the ledger. */
import type { Currency, Minor } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'
import type { BankNotification } from './port.ts'
import type { Numbering } from './statement-chain.ts'

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
