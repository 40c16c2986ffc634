/** The three books at the end of the day: the bank's own, the entries that the service has read, and the ledger. */
import { createLog } from '../../../service/src/kernel/index.ts'
import { createDatabase, findRunningPostgres, sql, type Tx } from '../../../service/src/postgres/index.ts'
import type { Book } from '../../iso-bank/model.ts'
import { amountText } from '../money.ts'
import type { Check } from '../reconcile.ts'
import type { Until } from '../until.ts'
import { expectedSuspense } from './day.ts'

export async function checkBooks(dataDir: string, book: Book, until: Until): Promise<readonly Check[]> {
  const url = findRunningPostgres(dataDir)
  if (url === undefined) throw new Error(`no PostgreSQL runs in ${dataDir}`)
  const db = createDatabase({ url, connectionsMax: 1, log: createLog('silent') })
  try {
    await until('every entry of the bank is on a statement, and applied', () => isRead(db, book))
    return [
      await checkPayments(db, book),
      await checkEntries(db, book),
      await checkStatements(db, book),
      await checkSuspense(db),
    ]
  } finally {
    await db.close()
  }
}

async function isRead(tx: Tx, { entries, statements }: Book): Promise<boolean> {
  const read = await tx.row<{ readonly entries: bigint }>(sql`
    select count(*) as entries from rails.iso_entries where statement_id is not null and status = 'Applied'`)
  const taken = await tx.row<{ readonly count: bigint }>(sql`
    select count(*) as count from rails.iso_statements where kind = 'camt.053'`)
  return Number(read?.entries) === entries.length && Number(taken?.count) === statements.length
}

const timesOf = { Settled: 1, Returned: 1, Rejected: 0, Filed: 0, Accepted: 0, Queued: 0, Refused: 0 } as const
type Instruction = { readonly endToEndId: string; readonly amount: bigint; readonly status: keyof typeof timesOf }

/** Checks that the bank has each sent payment once, and has paid what the service considers paid. */
async function checkPayments(tx: Tx, { payments, duplicates }: Book): Promise<Check> {
  const instructions = await tx.rows<Instruction>(sql`select end_to_end_id, amount, status from rails.iso_instructions`)
  const differences = instructions.flatMap(({ endToEndId, amount, status }) => {
    const own = payments.filter((payment) => payment.endToEndId === endToEndId)
    const executed = own.reduce((sum, { timesExecuted }) => sum + timesExecuted, 0)
    const said = `${own.length} times, ${executed} executed, ${own.map((payment) => amountText(payment.amount)).join()}`
    const expected = `1 times, ${timesOf[status]} executed, ${amountText(amount)}`
    return said === expected ? [] : [`${endToEndId}: the bank has it ${said}; expected ${expected}`]
  })
  return {
    title: 'bank',
    agreed: `${payments.length} payments, each received once`,
    differences: [
      ...differences,
      ...duplicates.map((text) => `sent twice: ${text}`),
      ...(payments.length === instructions.length
        ? []
        : [`${payments.length} payments for ${instructions.length} instructions`]),
    ],
  }
}

type Sum = { readonly currency: string; readonly amount: bigint; readonly count: bigint }

async function checkEntries(tx: Tx, { accounts, entries }: Book): Promise<Check> {
  const sums = await tx.rows<Sum>(sql`
    select currency, sum(amount)::bigint as amount, count(*) as count from rails.iso_entries group by currency`)
  const differences = accounts.flatMap(({ currency, balance, opening }) => {
    const read = sums.find((sum) => sum.currency === currency) ?? { amount: 0n, count: 0n }
    const booked = entries.filter((entry) => entry.currency === currency).length
    const same = read.amount === balance - opening && Number(read.count) === booked
    return same
      ? []
      : [`${currency}: ${read.count} entries of ${read.amount}, the bank has ${booked} of ${balance - opening}`]
  })
  return { title: 'entries', agreed: `the ${entries.length} bookings of the bank, each read once`, differences }
}

/** The bank's closing balance less its opening one is what the ledger has on the bank's settlement accounts. Nothing is in flight. */
async function checkStatements(tx: Tx, { accounts }: Book): Promise<Check> {
  const closings = await tx.rows<{ readonly currency: string; readonly closing: bigint }>(sql`
    select distinct on (currency) currency, closing from rails.iso_statements
    where kind = 'camt.053' order by currency, sequence desc`)
  const ledger = await tx.rows<{ readonly currency: string; readonly posted: bigint }>(sql`
    select currency, sum(posted)::bigint as posted from ledger.accounts where name = 'settlement.iso20022' group by currency`)
  const agreed: string[] = []
  const differences = accounts.flatMap(({ currency, opening }) => {
    const closing = closings.find((each) => each.currency === currency)?.closing ?? opening
    const posted = -(ledger.find((each) => each.currency === currency)?.posted ?? 0n)
    agreed.push(`${currency} ${amountText(closing)}`)
    return closing - opening === posted
      ? []
      : [`${currency}: the bank moved ${amountText(closing - opening)}, the ledger ${amountText(posted)}`]
  })
  return { title: 'statements', agreed: `closing balances are the ledger's: ${agreed.join(', ')}`, differences }
}

async function checkSuspense(tx: Tx): Promise<Check> {
  const cases = await tx.rows<{ readonly kind: string }>(
    sql`select kind from cases.cases where resolved_at is null order by kind`,
  )
  const sum = await tx.row<{ readonly posted: bigint }>(sql`
    select coalesce(sum(posted), 0)::bigint as posted from ledger.accounts where name = 'suspense' and currency = 'EUR'`)
  const kinds = cases.map(({ kind }) => kind).join(', ')
  const differences = [
    ...(kinds === 'bank_fee, unknown_payment' ? [] : [`the open cases are: ${kinds}`]),
    ...(sum?.posted === expectedSuspense ? [] : [`suspense is ${sum?.posted}, expected ${expectedSuspense}`]),
  ]
  return {
    title: 'cases',
    agreed: `the unknown credit and the charges, ${amountText(expectedSuspense)} in suspense`,
    differences,
  }
}
