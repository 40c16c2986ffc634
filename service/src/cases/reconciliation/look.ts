/**
 * A look at one account: all data of the calculation, read in the caller's snapshot. So the sums agree although
 * payments continue:
 *
 * ledger - bank = named items + unexplained
 *
 * The bank acknowledges a report after the ledger has it, in another transaction. Reports between the two are looked up
 * by their payment.
 */
import type { Cases } from '../index.ts'
import { type Currency, type Minor, sumMinor } from '../../kernel/index.ts'
import type { Ledger } from '../../ledger/index.ts'
import type { Tx } from '../../postgres/index.ts'
import {
  type BankBooks,
  type BankStatement,
  type BooksAccount,
  orderStatements,
  type PendingReport,
} from '../../rails/index.ts'
import { type StatementChain, buildChain, type DifferenceItem, type LookResult, unexplainedAmount } from './rules.ts'

/**
 * Bookings of each report in the ledger. `settled`: the payout's payment. `returned`: its payment and return, or
 * neither. `applied`: a report that is not about a payout. Absent: nothing.
 */
export type LedgerStates = ReadonlyMap<string, 'settled' | 'returned' | 'applied'>

export type LookDeps = {
  readonly books: BankBooks
  readonly ledger: Pick<Ledger, 'connectorTotals'>
  readonly cases: Pick<Cases, 'openSums' | 'reversedSums'>
  /** Reads the state of reports in the ledger, by report id. */
  readonly inLedger: (tx: Tx, connector: string, reports: readonly PendingReport[]) => Promise<LedgerStates>
  /** Reads the stored sums of statements whose entries no longer change. */
  readonly counted: (tx: Tx, account: BooksAccount) => Promise<ReadonlyMap<string, Minor>>
}

/** Data of all accounts, read once for each check. */
export type SharedData = {
  readonly totals: Awaited<ReturnType<Ledger['connectorTotals']>>
  readonly open: Awaited<ReturnType<Cases['openSums']>>
  readonly reversed: Awaited<ReturnType<Cases['reversedSums']>>
}

export async function readShared({ ledger, cases }: LookDeps, tx: Tx): Promise<SharedData> {
  return {
    totals: await ledger.connectorTotals(tx),
    open: await cases.openSums(tx),
    reversed: await cases.reversedSums(tx),
  }
}

/** A statement whose entries are all in the ledger. Its sum is final. */
export type FinalStatement = { readonly id: string; readonly entries: bigint; readonly written: Minor }
export type AccountLook = {
  readonly looked: LookResult
  readonly chain: StatementChain
  /** Statements of the chain with entries that are not stored yet. */
  readonly incomplete: ReadonlySet<string>
  readonly final: readonly FinalStatement[]
}

export async function compareAccount(
  deps: LookDeps,
  tx: Tx,
  account: BooksAccount,
  shared: SharedData,
): Promise<AccountLook> {
  const { books } = deps
  const { connector, currency } = account
  const all = await books.statements(tx, account)
  const chain = buildChain(all)
  const partial = all.filter(({ taken }) => !taken).map(({ id }) => id)
  const repeated = repeatedStatements(partial.length === 0 ? chain.versions : orderStatements(all))
  const counted = new Map([...(await deps.counted(tx, account))].filter(([id]) => !repeated.has(id)))
  const whole = [...chain.versions.values()].flat()
  const uncounted = whole.filter(({ id }) => !counted.has(id))
  const sums = await books.ofStatements(tx, [...uncounted.map(({ id }) => id), ...partial])
  const off = [...(await books.notOnStatement(tx, account)), ...sums.filter((one) => partial.includes(one.statementId))]
  const on = sums.filter((one) => !partial.includes(one.statementId))
  const early = await readEffects(deps, tx, account, new Set(whole.map(({ id }) => id)))
  const written = writtenSums(whole, counted, on)
  const missing = notTakenSums(chain, written)
  const items = [
    toItem('not_on_statement', plus(sumByStatus(off, 'Applied'), early.off)),
    toItem(
      'not_applied',
      negative(
        minus(
          sumByStatus(on, 'New', (kind) => kind !== 'waiting'),
          early.on,
        ),
      ),
    ),
    toItem('waiting', negative(sumByStatus(on, 'New', (kind) => kind === 'waiting'))),
    toItem('settled_not_booked', negative(minus(await books.settledNotBooked(tx, connector, currency), early.settled))),
    toItem(
      'returned_not_booked',
      negative(minus(await books.returnedNotBooked(tx, connector, currency), early.returned)),
    ),
    toItem('reversed', negative(reversedSums(shared, connector, currency))),
    toItem('statement_gap', negative(sumRows(chain.gaps.map((gap) => ({ ...gap, at: gap.after.createdAt }))))),
    toItem('valued_later', negative(sumRows(valueDateDifference(chain)))),
    toItem('sum_differs', negative(sumRows(sumDifference(chain)))),
    toItem('not_taken', negative(sumRows(missing.map((one) => ({ ...one, at: one.statement.createdAt }))))),
    ...suspenseItems(shared, connector, currency),
    ...(await books.underWay(tx, connector, currency)).map(({ status, ...sums }) => toMemo(status, sums)),
  ].filter(({ count, amount }) => count !== 0n || amount !== 0n)
  const total = shared.totals.find((one) => one.name === `settlement.${connector}` && one.currency === currency)
  const ledger = -(total?.posted ?? 0n)
  const { last, opening, closing, moved: bank } = chain
  const statement = last && { id: last.id, on: last.closingOn, takenAt: last.createdAt }
  const looked = { ...account, statement, opening, closing, bank, ledger, items }
  const final = uncounted.filter(({ id }) => !on.some((one) => one.statementId === id && one.status === 'New'))
  return {
    looked: { ...looked, unexplained: unexplainedAmount(ledger, bank, items) },
    chain,
    incomplete: new Set(missing.map(({ statement }) => statement.id)),
    final: final.map(({ id, entries }) => ({ id, entries, written: written.get(id) ?? 0n })),
  }
}

/** Compares the suspense accounts of all partners with the open cases. Only money of open cases may be there. */
export function compareSuspense({ totals, open }: SharedData, currency: Currency): LookResult {
  const ledger = totals.find((one) => one.name === 'suspense' && one.currency === currency)?.posted ?? 0n
  const ours = open.filter((one) => one.currency === currency)
  const bank = sumMinor(ours.map(({ booked }) => booked))
  const account = { connector: '', account: 'suspense', currency, statement: undefined, opening: null, closing: null }
  return { ...account, bank, ledger, items: [], unexplained: ledger - bank }
}

type ItemSums = { readonly count: bigint; readonly amount: Minor; readonly oldest: Date | null }
const nothing: ItemSums = { count: 0n, amount: 0n, oldest: null }
const earlier = (a: Date | null, b: Date | null): Date | null => (a !== null && (b === null || a <= b) ? a : b)
const plus = (a: ItemSums, b: ItemSums): ItemSums => ({
  count: a.count + b.count,
  amount: a.amount + b.amount,
  oldest: earlier(a.oldest, b.oldest),
})
const minus = (a: ItemSums, b: ItemSums): ItemSums => ({ ...a, count: a.count - b.count, amount: a.amount - b.amount })
const negative = (sums: ItemSums): ItemSums => ({ ...sums, amount: -sums.amount })
const sumRows = (rows: readonly { readonly amount: Minor; readonly at: Date }[]): ItemSums =>
  rows.reduce((total, { amount, at }) => plus(total, { count: 1n, amount, oldest: at }), nothing)

type EntrySums = ItemSums & { readonly kind: string; readonly status: 'New' | 'Applied' }
const sumByStatus = (rows: readonly EntrySums[], status: 'New' | 'Applied', of = (_kind: string) => true): ItemSums =>
  rows.filter((row) => row.status === status && of(row.kind)).reduce(plus, nothing)

const toItem = (kind: string, { amount, count, oldest }: ItemSums): DifferenceItem => ({
  side: 'difference',
  kind,
  amount,
  count,
  oldestAt: oldest,
})
const toMemo = (kind: string, { amount, count, oldest }: ItemSums): DifferenceItem => ({
  side: 'memo',
  kind,
  amount,
  count,
  oldestAt: oldest,
})

/** Differences between the ledger and the connector's rows: entries, and payments that are not booked. */
type Effects = {
  readonly off: ItemSums
  readonly on: ItemSums
  readonly settled: ItemSums
  readonly returned: ItemSums
}

async function readEffects(
  { books, inLedger }: LookDeps,
  tx: Tx,
  { connector, account, currency }: BooksAccount,
  statements: ReadonlySet<string>,
): Promise<Effects> {
  const { reports, entries } = await books.pending(tx, connector)
  const { missing, unbooked } = notInLedger(reports, await inLedger(tx, connector, reports))
  const ours = [...missing].flatMap(([id, amount]) => {
    const entry = entries.get(id)
    return entry?.account === account && entry.currency === currency ? [{ entry, missing: amount }] : []
  })
  const sums = (rows: typeof ours) =>
    rows.reduce((total, { entry, missing: lacks }) => {
      const isNew = entry.status === 'New'
      const amount = (isNew ? entry.amount : 0n) - lacks
      const count = isNew && lacks === 0n ? 1n : 0n
      return plus(total, { amount, count, oldest: count === 0n ? null : entry.createdAt })
    }, nothing)
  const isOn = ({ entry: { statementId } }: (typeof ours)[number]) =>
    statementId !== null && statements.has(statementId)
  const payments = (status: string) =>
    sumRows(
      unbooked
        .filter((one) => one.currency === currency && one.status === status)
        .map(({ amount, createdAt: at }) => ({ amount, at })),
    )
  return {
    off: sums(ours.filter((one) => !isOn(one))),
    on: sums(ours.filter(isOn)),
    settled: payments('Settled'),
    returned: payments('Returned'),
  }
}

type Payment = NonNullable<PendingReport['instruction']>

/**
 * Finds what the ledger lacks: amounts by entry, and payments that the connector counts as paid but not booked. An entry may
 * be the sum of many payments, and the return of a payment may be reported before the payment.
 */
function notInLedger(reports: readonly PendingReport[], states: LedgerStates) {
  const missing = new Map<string, Minor>()
  const lack = (entryId: string | null, amount: Minor) => {
    if (entryId !== null) missing.set(entryId, (missing.get(entryId) ?? 0n) + amount)
  }
  const payments = new Map<string, { readonly payment: Payment; readonly amount: Minor }>()
  for (const { id, kind, amount, entryId, instruction: payment } of reports) {
    lack(entryId, 0n)
    const state = states.get(id)
    const isPayment = kind === 'payout.settled'
    if (payment !== undefined && state === undefined && (isPayment || kind === 'payout.returned')) {
      const told = isPayment ? amount : payments.get(payment.id)?.amount
      payments.set(payment.id, { payment, amount: told ?? -payment.amount })
    }
    const isThere = kind === 'payout.returned' ? state === 'returned' || state === 'applied' : state !== undefined
    if (!isThere && (!isPayment || payment === undefined)) lack(entryId, amount ?? 0n)
  }
  const unbooked: Payment[] = []
  for (const { payment, amount } of payments.values())
    if (payment.entryId === null) unbooked.push(payment)
    else lack(payment.entryId, amount)
  return { missing, unbooked }
}

/** Finds statements that the bank sent more than once. A correction removes entries of the earlier version, so the earlier sum is not final. */
const repeatedStatements = (versions: StatementChain['versions']): ReadonlySet<string> =>
  new Set([...versions.values()].flatMap((all) => (all.length === 1 ? [] : all.map(({ id }) => id))))

function writtenSums(
  statements: readonly BankStatement[],
  counted: ReadonlyMap<string, Minor>,
  on: readonly (EntrySums & { readonly statementId: string })[],
): ReadonlyMap<string, Minor> {
  const byStatement = Map.groupBy(on, ({ statementId }) => statementId)
  return new Map(
    statements.map(({ id }) => [
      id,
      counted.get(id) ?? sumMinor((byStatement.get(id) ?? []).map(({ amount }) => amount)),
    ]),
  )
}

/** Sums entries that are not stored. Entries of a statement may be stored for an earlier version of it. */
const notTakenSums = ({ versions }: StatementChain, written: ReadonlyMap<string, Minor>) =>
  [...versions].flatMap(([statement, all]) => {
    const amount = statement.credits - statement.debits - sumMinor(all.map(({ id }) => written.get(id) ?? 0n))
    return amount === 0n ? [] : [{ statement, amount }]
  })

/**
 * Sums entries that the bank includes in its balance only at a later value date. Later statements reverse this
 * difference.
 */
function valueDateDifference({ statements }: StatementChain) {
  let open: { readonly amount: Minor; readonly at: Date }[] = []
  for (const { byValueDate, createdAt: at } of statements) {
    if (byValueDate !== null) open.push({ amount: byValueDate, at })
    if (sumMinor(open.map(({ amount }) => amount)) === 0n) open = []
  }
  return open
}

const sumDifference = (chain: StatementChain) =>
  chain.sumsDiffer.flatMap(({ statement: { byValueDate, createdAt: at }, amount: all }) => {
    const amount = all - (byValueDate ?? 0n)
    return amount === 0n ? [] : [{ amount, at }]
  })

/** Sums cases that were reversed: their money left suspense for the settlement account. */
function reversedSums({ reversed }: SharedData, connector: string, currency: Currency): ItemSums {
  const found = reversed.find((one) => one.connector === connector && one.currency === currency)
  return found === undefined ? nothing : { count: found.count, amount: found.booked, oldest: found.oldest }
}

/** Lists the open cases of the account in suspense, and open cases without money that may concern it. */
function suspenseItems({ open }: SharedData, connector: string, currency: Currency): readonly DifferenceItem[] {
  const ours = open.filter((one) => one.connector === connector && (one.currency === currency || one.currency === null))
  return [...Map.groupBy(ours, ({ kind }) => kind)].map(([kind, rows]) => {
    const sums = rows
      .map(({ booked: amount, count, oldest }): ItemSums => ({ amount, count, oldest }))
      .reduce(plus, nothing)
    return { side: 'suspense', kind, amount: sums.amount, count: sums.count, oldestAt: sums.oldest }
  })
}
