/**
 * Pure: the statements of an account as one chain, and the components of the difference between the bank and the
 * ledger.
 */
import { type Currency, type Minor, sumMinor } from '../../kernel/index.ts'
import {
  runningBalances,
  type BankStatement,
  orderStatements,
  countMissing,
  type StatementVersions,
} from '../../rails/index.ts'

/** Parts of `ledger - bank`, each with its reason. */
export const differenceKinds = {
  not_on_statement: 'The ledger has these entries, and no statement of the bank has them yet.',
  settled_not_booked: 'The bank says that it has paid these, and has not booked them yet.',
  returned_not_booked: 'The return of these payments is booked, and the payments themselves are not yet.',
  not_applied: 'A statement has these entries, and they are on their way into the ledger.',
  waiting:
    'A statement has these sums and reversals, and the message that names their payments or their credit has not come yet.',
  reversed: 'Two persons decided that this money moved outside this service, and the bank has not booked it yet.',
  statement_gap: 'Two statements do not join: the bank moved this between them, and no statement says by what.',
  valued_later: 'A statement has these entries, and its closing balance counts them from their value date on.',
  sum_differs: 'The balances of a statement differ by this from the entries that it lists.',
  not_taken:
    'A statement lists these entries, and they are not taken: another statement has them, or they cannot be read.',
} as const

/** Kinds of items that are not part of the difference: payments in progress. */
export const memoKinds = {
  queued: 'These payments wait for their window or their file.',
  at_bank: 'These payments are at the bank, which has not said that it has paid them.',
  missing: 'These payments are at the bank, which has said nothing about them for too long.',
} as const

export type DifferenceItem = {
  readonly side: 'difference' | 'suspense' | 'memo'
  /** The kind: one of `differenceKinds`, of the kinds of cases, or of `memoKinds`. */
  readonly kind: string
  readonly amount: Minor
  readonly count: bigint
  readonly oldestAt: Date | null
}

/** A gap between two consecutive statements. */
export type StatementGap = {
  readonly before: BankStatement
  readonly after: BankStatement
  /** The sum of the movements between the statements. Zero if only a number is missing. */
  readonly amount: Minor
}

export type StatementChain = {
  readonly statements: readonly BankStatement[]
  /** All versions of each statement, keyed by the version that counts. */
  readonly versions: StatementVersions<BankStatement>
  readonly last: BankStatement | undefined
  /** The opening balance of the first statement and the closing balance of the last. Null if the bank does not state them. */
  readonly opening: Minor | null
  readonly closing: Minor | null
  /** Movement that the bank reports on the account since the opening of the first statement. */
  readonly moved: Minor
  readonly gaps: readonly StatementGap[]
  readonly sumsDiffer: readonly { readonly statement: BankStatement; readonly amount: Minor }[]
}

const statementMovement = ({ credits, debits }: BankStatement): Minor => credits - debits

/** Builds the chain of complete statements. Entries of the others are still being written. */
export function buildChain(all: readonly BankStatement[]): StatementChain {
  const versions = orderStatements(all.filter(({ taken }) => taken))
  const statements = [...versions.keys()]
  const gaps: StatementGap[] = []
  const sumsDiffer: { readonly statement: BankStatement; readonly amount: Minor }[] = []
  let moved = 0n
  let last: BankStatement | undefined
  for (const { statement, opening, before } of runningBalances(statements)) {
    const gap = last && gapBetween({ ...last, closing: before }, statement)
    if (last !== undefined && gap !== undefined) {
      gaps.push({ before: last, after: statement, amount: gap })
      moved += gap
    }
    const byBalances =
      opening === null || statement.closing === null ? statementMovement(statement) : statement.closing - opening
    moved += byBalances
    const more = byBalances - statementMovement(statement)
    if (more !== 0n) sumsDiffer.push({ statement, amount: more })
    last = statement
  }
  const [opening, closing] = [statements[0]?.opening ?? null, last?.closing ?? null]
  return { statements, versions, last, opening, closing, moved, gaps, sumsDiffer }
}

/** Finds the gap between two statements. Undefined if their balances join, or if the bank does not number its statements. */
function gapBetween(before: BankStatement, after: BankStatement): Minor | undefined {
  const amount = before.closing === null || after.opening === null ? 0n : after.opening - before.closing
  return amount !== 0n || countMissing(before, after, after.numbering) > 0n ? amount : undefined
}

export type LookResult = {
  readonly connector: string
  readonly account: string
  readonly currency: Currency
  readonly statement: { readonly id: string; readonly on: string | null; readonly takenAt: Date } | undefined
  readonly opening: Minor | null
  readonly closing: Minor | null
  readonly bank: Minor
  readonly ledger: Minor
  readonly items: readonly DifferenceItem[]
  /** The part of the difference that no item explains. */
  readonly unexplained: Minor
}

/** Computes `ledger - bank` minus the items that explain it. */
export const unexplainedAmount = (ledger: Minor, bank: Minor, items: readonly DifferenceItem[]): Minor =>
  ledger - bank - sumMinor(items.flatMap(({ side, amount }) => (side === 'difference' ? [amount] : [])))
