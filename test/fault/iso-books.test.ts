/**
 * Payments and deposits over a file-based bank that errs in one of twenty, while the workers and the bank are killed. At the end nothing
 * was sent or credited twice, nothing is lost, each oddity is found under its name and resolved by two persons, and the bank's own
 * record, its statements and the ledger agree to the cent. `npm run test:faults -- iso-books` runs 10,000 and 10,000.
 */
import { test } from 'node:test'
import type { Order } from '../../examples/iso-bank/model.ts'
import { minuteMs, secondMs } from '../../service/src/kernel/index.ts'
import { sql } from '../../service/src/postgres/index.ts'
import { scaled } from '../support/faults.ts'
import {
  type FileOddity,
  fileOdditiesOf,
  type Finding,
  type PlannedCredit,
  plannedCredits,
  type PlannedPayment,
  plannedPayments,
} from '../support/iso-oddities.ts'
import { casesOf, checkCases, rejectedFirst, resolveCases } from './iso-books/cases.ts'
import { checkEnds, checkEntries, checkReconciled, checkSent } from './iso-books/checks.ts'
import { createRun, type Run } from './iso-books/run.ts'

/** 5 percent are one of each kind. */
const count = scaled(260, 10_000)
const rounds = scaled(3, 20)
const ordersAtOnce = 500
const victims = ['workers', 'bank', 'both'] as const
/** Time beyond every limit of the setting: a message that is missing then is lost. */
const muchLaterMs = 30 * minuteMs
/** The bank answers a file after a tenth of that. */
const silentForMs = 3 * secondMs

const part = <T>(all: readonly T[], round: number): readonly T[] =>
  all.slice(Math.floor((round * all.length) / rounds), Math.floor(((round + 1) * all.length) / rounds))

async function order({ bank }: Run, orders: readonly Order[]): Promise<void> {
  for (let from = 0; from < orders.length; from += ordersAtOnce)
    await bank.order(...orders.slice(from, from + ordersAtOnce))
}

const treatments = (payments: readonly PlannedPayment[]) =>
  payments.flatMap(({ amount, treatment }): readonly Order[] =>
    treatment === undefined ? [] : [{ order: 'payment', match: { amount }, times: 1, treatment }],
  )

/** A credit that the bank takes back is booked first. */
async function creditAll(run: Run, credits: readonly PlannedCredit[]): Promise<readonly string[]> {
  await order(
    run,
    credits.filter(({ isReversed }) => !isReversed).flatMap(({ orders }) => orders),
  )
  const booked = await run.bank.order(...credits.filter(({ isReversed }) => isReversed).flatMap(({ orders }) => orders))
  return booked.flatMap(({ ref }) => ref ?? [])
}

/** Checks that nothing waits for a file, an answer of settlement or a file of the bank; `left`: payouts that nothing ends. */
async function quiet(run: Run, left: number): Promise<void> {
  await run.wait('every file and notification is done', async () => {
    const open = await run.count(sql`
      select count(*) as count from payouts.payouts where status in ('Pending', 'Processing', 'Sent')`)
    const notifications = await run.count(sql`select count(*) as count from rails.iso_notifications`)
    const entries = await run.count(sql`
      select count(*) as count from rails.iso_entries where statement_id is null or status <> 'Applied'`)
    return open === left && notifications === 0 && entries === 0 && run.untaken().length === 0
  })
}

/** The bank has said its last word: a word that came behind the kill counts as said after the clock went ahead. */
const silent = (run: Run) =>
  run.wait('the bank says nothing any more', async () => {
    const since = new Date(run.service.clock.now().getTime() - silentForMs)
    const heard = await run.count(sql`select count(*) as count from rails.iso_instructions where updated_at > ${since}`)
    return heard === 0 && run.untaken().length === 0
  })

const settled = (run: Run, sofar: number) =>
  run.wait('the payments of the round are at the bank', async () => {
    const { payments } = await run.bank.book()
    return payments.length === sofar
  })

const isGap = (files: readonly FileOddity[]) => files.some(({ finding }) => finding === 'statement_gap')

const found = (run: Run, kind: string, times: number) =>
  run.wait(
    `${times} cases of ${kind}`,
    async () => (await casesOf(run)).filter((one) => one.kind === kind).length >= times,
  )

async function oneRound(
  run: Run,
  round: number,
  payments: readonly PlannedPayment[],
  credits: readonly PlannedCredit[],
) {
  const files = fileOdditiesOf(round)
  await order(run, [
    ...treatments(payments),
    ...files.map(({ kind, fault }): Order => ({ order: 'file', kind, fault })),
  ])
  await run.accept(payments.slice(0, payments.length / 2))
  const taken = await creditAll(run, credits)
  await run.restart(victims[round % victims.length] ?? 'both')
  await run.accept(payments.slice(payments.length / 2))
  await run.restart(victims[(round + 1) % victims.length] ?? 'both')
  await order(
    run,
    taken.map((credit): Order => ({ order: 'reverse', credit })),
  )
}

test('with bank faults and killed processes, each fault is found and resolved, and bank and ledger agree to the cent', async (context) => {
  const run = await createRun(context)
  const payments = plannedPayments(count)
  const credits = plannedCredits(count, run.ibans)
  const findings: Finding[] = [...payments, ...credits].flatMap(({ findings: own }) => own)
  const lost = findings.filter(({ kind }) => kind === 'payment_missing').length
  const unnamed = payments.filter(({ treatment }) => treatment?.do === 'falsify' && treatment.endToEndId !== undefined)
  for (let round = 0; round < rounds; round += 1) {
    await oneRound(run, round, part(payments, round), part(credits, round))
    await settled(run, Math.floor(((round + 1) * count) / rounds))
    await order(run, [{ order: 'statement' }])
    const files = fileOdditiesOf(round)
    for (const { finding } of files) if (finding !== undefined) findings.push({ kind: finding, booked: null })
    await order(run, [{ order: 'send again' }])
    // A statement that was kept back is missed when the next one has come.
    if (round > 0 && isGap(fileOdditiesOf(round - 1))) {
      const gaps = findings.filter(({ kind }) => kind === 'statement_gap').length
      await found(run, 'statement_gap', gaps - (isGap(files) ? 1 : 0))
      await order(run, [{ order: 'release' }])
    }
  }
  await order(run, [{ order: 'release' }, { order: 'statement' }, { order: 'repeat statement' }])
  for (let account = 0; account < 3; account += 1) findings.push({ kind: 'statement_overlap', booked: null })
  await run.restart('both', muchLaterMs)
  await silent(run)
  await run.restart('workers', muchLaterMs)
  await found(run, 'payment_missing', lost)
  await order(run, [{ order: 'resolve lost', code: 'MS03' }, { order: 'statement' }, { order: 'send again' }])
  await quiet(run, unnamed.length)

  const book = await run.bank.book()
  checkSent(book, payments)
  await checkEntries(run, book)
  const falseFiles = book.oddities
    .filter(({ kind }) => /^file (?:garbage|cut|wrong|same id)/.test(kind))
    .map(({ subject }) => subject)
  await checkCases(run, findings, falseFiles)
  await resolveCases(run, await payoutsByAmount(run, unnamed))
  const failed = await rejectedFirst(run)
  const ended = payments.map((payment): PlannedPayment =>
    payment.treatment?.do === 'contradict' && failed.has(payment.amount) ? { ...payment, status: 'Failed' } : payment,
  )
  await checkEnds(run, ended, credits)
  await checkReconciled(run, book)
  context.diagnostic(
    `${payments.length} payments, ${credits.length} credits, ${findings.length} findings, ${book.oddities.length} oddities, ${rounds * 2 + 2} kills`,
  )
})

async function payoutsByAmount({ service: { db } }: Run, payments: readonly PlannedPayment[]) {
  const rows = await db.rows<{ readonly partnerId: string; readonly id: string; readonly amount: bigint }>(sql`
    select partner_id, id, amount from payouts.payouts where amount = any(${payments.map(({ amount }) => amount)}::bigint[])`)
  return new Map(rows.map(({ amount, ...key }) => [amount, key]))
}
