/**
 * A look at accounts up to the statements of a day: the equation of look.ts, with the later statements left out. Entries that only
 * they have count as not on a statement.
 */
import type { Minor } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'
import type { BankEntry, BankStatement, BooksAccount, EntryScope, Sums } from '../rails/index.ts'
import { lookAt, type LookDeps, readShared } from './look.ts'
import type { Item } from './rules.ts'

export type DayLook = BooksAccount & {
  /** The last statement up to the day; undefined: there is none. */
  readonly statement: Pick<BankStatement, 'id' | 'statementId' | 'sequence' | 'closing' | 'closingOn'> | undefined
  /** Balance before the first statement: money that this service never booked. */
  readonly opening: Minor
  /** Money that the ledger has on the settlement account of the connector, of all partners. */
  readonly ledger: Minor
  /** Parts of `ledger - bank`, with the sign of that difference. */
  readonly items: readonly Item[]
  readonly unexplained: Minor
  /** Complete statements up to the day. */
  readonly statements: readonly Pick<BankStatement, 'id' | 'createdAt'>[]
  readonly laterIds: readonly string[]
}

export type DayReader = {
  /** Looks at the accounts in the caller's snapshot. */
  readonly lookUpTo: (tx: Tx, accounts: readonly BooksAccount[], day: string) => Promise<readonly DayLook[]>
  /** The last complete statement up to a day, among those that name their day. */
  readonly lastStatement: (tx: Tx, account: BooksAccount, day: string) => Promise<BankStatement | undefined>
  readonly sumInScope: (tx: Tx, account: BooksAccount, scope: EntryScope) => Promise<Sums>
  /** Oldest first. */
  readonly entriesInScope: (
    tx: Tx,
    account: BooksAccount,
    scope: EntryScope,
    rowsMax: number,
  ) => Promise<readonly BankEntry[]>
  /** Entries on statements, or on none, that the ledger does not have yet. Oldest first. */
  readonly entriesNew: (tx: Tx, account: BooksAccount, rowsMax: number) => Promise<readonly BankEntry[]>
}

export function createDayReader(deps: LookDeps): DayReader {
  const { books } = deps
  return {
    lookUpTo: async (tx, accounts, day) => {
      const shared = await readShared(deps, tx)
      const looks: DayLook[] = []
      for (const account of accounts) looks.push(await lookAtDay(deps, tx, account, day, shared))
      return looks
    },
    lastStatement: async (tx, account, day) =>
      (await books.statements(tx, account)).findLast(
        ({ taken, closingOn }) => taken && closingOn !== null && closingOn <= day,
      ),
    sumInScope: books.sumInScope,
    entriesInScope: books.entriesInScope,
    entriesNew: (tx, account, rowsMax) => books.entriesNew(tx, account, undefined, rowsMax),
  }
}

const isLater = ({ closingOn }: BankStatement, day: string): boolean => closingOn !== null && closingOn > day

async function lookAtDay(
  deps: LookDeps,
  tx: Tx,
  account: BooksAccount,
  day: string,
  shared: Awaited<ReturnType<typeof readShared>>,
): Promise<DayLook> {
  const { books } = deps
  const all = await books.statements(tx, account)
  const laterIds = all.filter((one) => isLater(one, day)).map(({ id }) => id)
  const known = all.filter((one) => !isLater(one, day))
  const { looked, chain } = await lookAt(
    {
      ...deps,
      books: {
        ...books,
        statements: () => Promise.resolve(known),
        notOnStatement: async () => [
          ...(await books.notOnStatement(tx, account)),
          ...(await books.ofStatements(tx, laterIds)),
        ],
      },
    },
    tx,
    account,
    shared,
  )
  const { last, closing, moved } = chain
  return {
    ...account,
    statement: last,
    opening: (closing ?? moved) - moved,
    ledger: looked.ledger,
    items: looked.items.filter(({ side }) => side === 'difference'),
    unexplained: looked.unexplained,
    statements: known.filter(({ taken }) => taken),
    laterIds,
  }
}
