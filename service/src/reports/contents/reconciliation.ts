/**
 * A reconciliation by currency: the movements on every account, suspense with the open cases that explain it, the
 * transactions of the period by status, and the payments at banks at its end. Each failed check is a named
 * difference.
 */
import type { Cases } from '../../cases/index.ts'
import { amountText, type Currency, dayMs, type Minor } from '../../kernel/index.ts'
import type { AccountSums, Ledger } from '../../ledger/index.ts'
import type { Database } from '../../postgres/index.ts'
import type { Transactions } from '../../transactions/index.ts'
import type { ContentColumns, ReportContent, ReportHead, ContentRow } from './content.ts'

const columns: ContentColumns = {
  record: 'plain',
  currency: 'plain',
  name: 'plain',
  status: 'plain',
  opening: 'number',
  credits: 'number',
  debits: 'number',
  closing: 'number',
  reserved: 'number',
  count: 'number',
  amount: 'number',
  expected: 'number',
  found: 'number',
  difference: 'number',
  since: 'plain',
}

type ReconciliationDeps = {
  readonly db: Database
  readonly ledger: Pick<Ledger, 'balancesAt' | 'sumsOfPeriod'>
  readonly cases: Pick<Cases, 'openAt'>
  readonly transactions: Pick<Transactions, 'asOf'>
  readonly reached: (moment: Date) => void
}

type Account = {
  readonly name: string
  readonly currency: Currency
  readonly opening: Minor
  readonly credits: Minor
  readonly debits: Minor
  readonly closing: Minor
  readonly reserved: Minor
}
type OpenCase = {
  readonly currency: Currency | null
  readonly kind: string
  readonly count: bigint
  readonly booked: Minor
}
/** Payments that were sent and not yet completed or failed at the end of the period. */
type InFlight = { readonly count: number; readonly amount: Minor; readonly since: Date }
/**
 * Longer than a payment stays at a bank: a SEPA credit transfer takes a bank day, and a long weekend has four days
 * without one.
 */
const inFlightMsMax = 14 * dayMs

type TransactionGroup = {
  readonly category: string
  readonly status: string
  readonly count: number
  readonly amount: Minor
}

export function reconciliation(deps: ReconciliationDeps, partnerId: string, head: ReportHead): ReportContent {
  const rows = async function* rows(): AsyncGenerator<readonly ContentRow[]> {
    const accounts = await readAccounts(deps, partnerId, head)
    const cases = await deps.cases.openAt(deps.db, partnerId, head.period.to)
    const { groups, inFlight } = await countTransactions(deps, partnerId, head)
    const used = new Set([...accounts.map(({ currency }) => currency), ...groups.keys(), ...inFlight.keys()])
    for (const currency of [...used].toSorted())
      if (head.currency === null || head.currency === currency)
        yield currencyRows(
          currency,
          accounts.filter((account) => account.currency === currency),
          cases.filter((each) => each.currency === currency),
          groups.get(currency) ?? [],
          inFlight.get(currency),
        )
    const withoutMoney = cases.filter(({ currency }) => currency === null)
    yield withoutMoney.map(({ kind, count }) => ({ record: 'case', name: kind, count: String(count) }))
  }
  return { head, columns, sections: [], rows }
}

async function readAccounts(
  { db, ledger }: ReconciliationDeps,
  partnerId: string,
  { period }: ReportHead,
): Promise<readonly Account[]> {
  const before = new Map((await ledger.balancesAt(db, partnerId, period.from)).map((row) => [row.id, row]))
  const sums = new Map<string, AccountSums>(
    (await ledger.sumsOfPeriod(db, partnerId, period)).map((row) => [row.accountId, row]),
  )
  const accounts = (await ledger.balancesAt(db, partnerId, period.to)).map(
    ({ id, name, currency, posted, reserved }): Account => ({
      name,
      currency,
      opening: before.get(id)?.posted ?? 0n,
      credits: sums.get(id)?.credits ?? 0n,
      debits: sums.get(id)?.debits ?? 0n,
      closing: posted,
      reserved,
    }),
  )
  // Accounts opened after the period do not change the report.
  return accounts.filter(
    ({ opening, credits, debits, closing, reserved }) => opening || credits || debits || closing || reserved,
  )
}

type TransactionCounts = {
  readonly groups: ReadonlyMap<Currency, readonly TransactionGroup[]>
  readonly inFlight: ReadonlyMap<Currency, InFlight>
}

/**
 * Counts the transactions of the period by currency, category and status at its end, and earlier payments that were
 * still at banks.
 */
async function countTransactions(
  { transactions, reached }: ReconciliationDeps,
  partnerId: string,
  { period, currency }: ReportHead,
): Promise<TransactionCounts> {
  const groups = new Map<Currency, Map<string, TransactionGroup>>()
  const inFlight = new Map<Currency, InFlight>()
  const from = new Date(Math.min(period.from.getTime(), period.to.getTime() - inFlightMsMax))
  for await (const page of transactions.asOf({ partnerId, from, to: period.to, customerId: null, currency }))
    for (const { row, timeline } of page) {
      const isAtBank = row.status === 'Pending' && timeline.some(({ step }) => step === 'Sent')
      if (isAtBank) {
        const { count, amount, since } = inFlight.get(row.currency) ?? { count: 0, amount: 0n, since: row.createdAt }
        inFlight.set(row.currency, { count: count + 1, amount: amount + row.amount, since })
      }
      if (row.createdAt < period.from) continue
      reached(row.createdAt)
      const ofCurrency = groups.get(row.currency) ?? new Map<string, TransactionGroup>()
      groups.set(row.currency, ofCurrency)
      const key = `${row.category} ${row.status}`
      const { count, amount } = ofCurrency.get(key) ?? { count: 0, amount: 0n }
      ofCurrency.set(key, { category: row.category, status: row.status, count: count + 1, amount: amount + row.amount })
    }
  const sorted = [...groups].map(
    ([code, ofCurrency]) =>
      [code, [...ofCurrency].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, group]) => group)] as const,
  )
  return { groups: new Map(sorted), inFlight }
}

function currencyRows(
  currency: Currency,
  accounts: readonly Account[],
  cases: readonly OpenCase[],
  groups: readonly TransactionGroup[],
  inFlight: InFlight | undefined,
): readonly ContentRow[] {
  const text = (minor: Minor) => amountText(minor, currency)
  const check = (name: string, expected: Minor, found: Minor): ContentRow => ({
    record: expected === found ? 'check' : 'difference',
    currency,
    name,
    expected: text(expected),
    found: text(found),
    difference: text(found - expected),
  })
  const sum = (minors: readonly Minor[]) => minors.reduce((total, minor) => total + minor, 0n)
  const suspense = accounts.find(({ name }) => name === 'suspense')
  return [
    ...accounts.map(({ name, opening, credits, debits, closing, reserved }) => ({
      record: 'account',
      currency,
      name,
      opening: text(opening),
      credits: text(credits),
      debits: text(debits),
      closing: text(closing),
      reserved: text(reserved),
    })),
    ...cases.map(({ kind, count, booked }) => ({
      record: 'case',
      currency,
      name: kind,
      count: String(count),
      amount: text(booked),
    })),
    ...groups.map(({ category, status, count, amount }) => ({
      record: 'transactions',
      currency,
      name: category,
      status,
      count: String(count),
      amount: text(amount),
    })),
    ...(inFlight === undefined ? [] : [inFlightRow(currency, inFlight)]),
    ...accounts.map(({ name, opening, credits, debits, closing }) =>
      check(`${name}: opening + credits - debits = closing`, opening + credits - debits, closing),
    ),
    check('all accounts add up to zero', 0n, sum(accounts.map(({ closing }) => closing))),
    check('suspense = open cases', sum(cases.map(({ booked }) => booked)), suspense?.closing ?? 0n),
  ]
}

/** Builds the row of payments at banks. `since`: the creation of the oldest one. */
const inFlightRow = (currency: Currency, { count, amount, since }: InFlight): ContentRow => ({
  record: 'in_flight',
  currency,
  name: 'payments at banks',
  count: String(count),
  amount: amountText(amount, currency),
  since: since.toISOString(),
})
