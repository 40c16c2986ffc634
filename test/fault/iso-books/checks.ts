/** The three books of a run: the bank's own, the entries that were read, and the ledger. */
import assert from 'node:assert/strict'
import type { Book } from '../../../examples/iso-bank/model.ts'
import { sql } from '../../../service/src/postgres/index.ts'
import { checkLedger } from '../../model/ledger-audit.ts'
import type { PlannedCredit, PlannedPayment } from '../../support/iso-oddities.ts'
import type { Run } from './run.ts'

/** Checks that nothing was sent twice, and every payment arrived. */
export function checkSent({ payments, duplicates }: Book, planned: readonly PlannedPayment[]): void {
  assert.deepEqual(duplicates, [], 'nothing was sent to the bank twice')
  assert.equal(payments.length, planned.length, 'the bank has each payment')
  assert.ok(payments.every(({ timesReceived }) => timesReceived === 1))
}

/** Each booking of the bank is read once and on a statement. */
export async function checkEntries({ service: { db } }: Run, { accounts, entries }: Book): Promise<void> {
  const sums = await db.rows<{ readonly currency: string; readonly amount: bigint }>(sql`
    select currency, sum(amount)::bigint as amount from rails.iso_entries
    where kind <> 'waiting' group by currency`)
  for (const { currency, balance, opening } of accounts) {
    const booked = entries.filter((entry) => entry.currency === currency)
    const read = sums.find((sum) => sum.currency === currency)?.amount ?? 0n
    assert.equal(read, balance - opening, `${booked.length} bookings in ${currency} are read, each once`)
  }
}

type Row = { readonly amount: bigint; readonly status: string }
const linesOf = (rows: readonly Row[]) => rows.map(({ amount, status }) => `${amount} ${status}`).toSorted()

export async function checkEnds(
  { service: { db } }: Run,
  payments: readonly PlannedPayment[],
  credits: readonly PlannedCredit[],
): Promise<void> {
  const payouts = await db.rows<Row>(sql`select amount, status from payouts.payouts`)
  assert.deepEqual(linesOf(payouts), linesOf(payments), 'each payout has its end')
  const deposits = await db.rows<Row>(sql`select amount, status from deposits.deposits`)
  const expected = credits.flatMap(({ deposits: amounts }) =>
    amounts.map((amount) => ({ amount, status: 'Completed' })),
  )
  assert.deepEqual(linesOf(deposits), linesOf(expected), 'each credit is a deposit once')
}

/** `settlement` of all partners is what the bank says, nothing is in suspense, and the look of reconciliation agrees. */
export async function checkReconciled({ service, partners }: Run, { accounts }: Book): Promise<void> {
  const { db } = service
  const ledger = await db.rows<{ readonly name: string; readonly currency: string; readonly posted: bigint }>(sql`
    select name, currency, sum(posted)::bigint as posted from ledger.accounts
    where name in ('settlement.iso20022', 'suspense') group by name, currency`)
  const postedOf = (name: string, currency: string) =>
    ledger.find((row) => row.name === name && row.currency === currency)?.posted ?? 0n
  for (const { currency, balance, opening } of accounts) {
    assert.equal(
      -postedOf('settlement.iso20022', currency),
      balance - opening,
      `the ledger has what the bank has: ${currency}`,
    )
    assert.equal(postedOf('suspense', currency), 0n, `nothing is in suspense: ${currency}`)
  }
  const runs = await db.rows<{
    readonly account: string
    readonly bank: bigint
    readonly ledger: bigint
    readonly unexplained: bigint
  }>(sql`
    select distinct on (connector, account, currency) account, bank, ledger, unexplained from reconciliation.runs
    where account <> 'suspense' order by connector, account, currency, last_at desc`)
  assert.equal(runs.length, accounts.length)
  for (const run of runs) assert.deepEqual([run.ledger - run.bank, run.unexplained], [0n, 0n], `${run.account} agrees`)
  for (const { partnerId } of partners) await checkLedger(db, partnerId)
}
