/** A statement that its bank corrects: what the correction omits, adds, changes and repeats, to the cent. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { operatorPartnerId } from '../index.ts'
import { minuteMs, present } from '../../kernel/index.ts'
import { readAtOneMoment, sql } from '../../postgres/index.ts'
import { submitDuePayouts } from '../../banks/settlement/index.ts'
import {
  addPartner,
  balanceOf,
  createTestService,
  pay,
  type Service,
  type TestPartner,
} from '../../../../test/support/composition.ts'
import { checkLedger } from '../../../../test/model/ledger-audit.ts'
import {
  type BankFolders,
  connectorId,
  createBankFolders,
  createIncomingBank,
  entryOf,
  markFiled,
  ownIban,
  reportXml,
} from '../../../../test/support/iso-incoming.ts'
import type { Line } from './index.ts'

const account = { connector: connectorId, account: ownIban, currency: 'EUR' } as const
let service: Service
let folders: BankFolders
let bank: ReturnType<typeof createIncomingBank>
let partner: TestPartner
let partnerId: string
let iban: string
beforeEach(async () => {
  service = await createTestService({ chooseConnector: () => connectorId, bankAccounts: [account] })
  folders = await createBankFolders()
  bank = createIncomingBank(service, folders)
  partner = await addPartner(service)
  partnerId = partner.partnerId
  iban = (await service.accounts.create(partnerId, partner.customer.id)).ibans[0].iban
  await service.db.transaction((tx) => service.access.addOperator(tx, operatorPartnerId))
})
afterEach(async () => {
  await service.close()
  await folders.remove()
})

type Entry = ReturnType<typeof entryOf>
const on = '2026-01-08'
const credit = (minor: bigint, endToEndId: string, bankReference: string): Entry => ({
  ...entryOf(minor, {
    bookingDate: on,
    details: [{ references: { endToEndId }, creditorAccount: { iban }, debtor: { name: 'Ada' } }],
  }),
  bankReference,
})
const sumOf = (entries: readonly Entry[]) =>
  entries.reduce((sum, { amount, isCredit }) => sum + (isCredit ? 1n : -1n) * (amount.minor ?? 0n), 0n)
let files = 0
async function list(...entries: readonly Entry[]): Promise<void> {
  files += 1
  const statement = { kind: 'camt.053', statementId: 'S1', sequence: 1, on, opening: 0n } as const
  await folders.put(`${files}.xml`, reportXml(entries, { ...statement, closing: sumOf(entries) }))
  await bank.work()
}
async function look(): Promise<void> {
  for (let times = 0; times < 2; times += 1) {
    service.clock.advance(minuteMs)
    await service.reconciliation.step()
    await bank.work()
  }
}
async function unexplained(): Promise<string> {
  const lines: Line[] = []
  await service.db.transaction(async (tx) => {
    await readAtOneMoment(tx)
    for await (const page of service.reconciliation.report(tx, { account: ownIban })) lines.push(...page)
  })
  return lines.find(({ record }) => record === 'account')?.['unexplained'] ?? ''
}
const posted = async () => (await balanceOf(service, partnerId)).posted
const openKinds = async () =>
  (await service.cases.list(undefined, 100))
    .filter(({ resolution }) => resolution === null)
    .map(({ kind }) => kind)
    .toSorted()
/** Cancels the entry of a case whose text has these words. */
const cancelled = async (words = '') => {
  const found = (await service.cases.list(undefined, 100)).find(
    ({ kind, report }) => kind === 'announced_missing' && report.includes(words),
  )
  assert.ok(found)
  return service.db.transaction((tx) => service.cancelEntry(tx, found.subject))
}

test('an entry that the correction omits has a case, and two persons take its money back', async () => {
  const [kept, omitted] = [credit(7_00n, 'E1', 'R1'), credit(3_00n, 'E2', 'R2')]
  await list(kept, omitted)
  await look()
  assert.deepEqual([await posted(), await openKinds(), await unexplained()], [10_00n, [], '0.00'])
  await list(kept)
  await look()
  assert.deepEqual([await posted(), await openKinds(), await unexplained()], [10_00n, ['announced_missing'], '0.00'])
  const [told] = await service.cases.list(undefined, 100)
  assert.match(told?.report ?? '', /the last statement of that day omits it/)
  assert.deepEqual((({ amount, currency }) => [amount, currency])(await cancelled()), ['3.00', 'EUR'])
  await assert.rejects(cancelled(), { code: 'validation_failed' })
  await look()
  assert.deepEqual([await posted(), await unexplained()], [7_00n, '0.00'])
  assert.ok(!(await openKinds()).includes('unexplained'))
})

/** A payment that the bank has, and its debit on a statement. */
async function paidDebit(amount: string, minor: bigint) {
  const { payout } = await pay(service, partner, amount)
  await submitDuePayouts(bank.settlement)
  await markFiled(service)
  const { id, endToEndId } = payout
  const statusOf = async () =>
    (await service.db.row<{ status: string }>(sql`select status from payouts.payouts where id = ${id}`))?.status
  const debit = entryOf(-minor, { bookingDate: on, details: [{ references: { endToEndId } }] })
  return { id, debit: { ...debit, bankReference: 'D1' }, statusOf }
}

test('a payment whose debit the correction omits has a case, and two persons return its money', async () => {
  const income = credit(7_00n, 'E1', 'R1')
  await list(income)
  const { debit, statusOf } = await paidDebit('3.00', 3_00n)
  await list(income, debit)
  await look()
  assert.deepEqual(
    [await statusOf(), await posted(), await openKinds(), await unexplained()],
    ['Completed', 4_00n, [], '0.00'],
  )
  await list(income)
  await look()
  assert.deepEqual([await posted(), await openKinds(), await unexplained()], [4_00n, ['announced_missing'], '0.00'])
  assert.deepEqual((({ amount, currency }) => [amount, currency])(await cancelled()), ['-3.00', 'EUR'])
  await assert.rejects(cancelled(), { code: 'validation_failed' })
  await look()
  assert.deepEqual([await statusOf(), await posted(), await unexplained()], ['Returned', 7_00n, '0.00'])
  assert.deepEqual(
    (await openKinds()).filter((kind) => kind !== 'announced_missing'),
    [],
  )
  // The bank lists the debit after all: the difference has its name, and its age raises an alert.
  await list(income, debit)
  await look()
  assert.deepEqual([await statusOf(), await posted(), await unexplained()], ['Returned', 7_00n, '0.00'])
})

const undo = (payoutId: string) => service.db.transaction((tx) => service.undoPayment(tx, { partnerId, payoutId }))
type Decision = Pick<Parameters<Service['decisions']['propose']>[1], 'action' | 'toPartnerId' | 'payoutId'>
/** Two persons decide about the open case with this money. */
async function decide(money: bigint, decision: Decision) {
  const found = (await service.cases.list(undefined, 100)).find(({ booked }) => booked === money)
  const { partnerId: ownerId, id } = present(found, 'the case')
  const key = { partnerId: ownerId, id }
  const { db, decisions } = service
  await db.transaction((tx) => decisions.propose(tx, { ...key, ...decision, staff: 'ada', note: 'Letter' }))
  await db.transaction((tx) => decisions.approve(tx, { ...key, staff: 'grace' }))
}

test('a debit that was for another payment is taken from the one that it was matched with, and pays the other', async () => {
  const income = credit(10_00n, 'E1', 'R1')
  await list(income)
  const [first, second] = [await paidDebit('3.00', 3_00n), await paidDebit('3.00', 3_00n)]
  await assert.rejects(undo(first.id), { code: 'validation_failed' })
  await assert.rejects(undo(operatorPartnerId), { code: 'not_found' })
  await list(income, first.debit)
  await look()
  assert.deepEqual([await first.statusOf(), await posted()], ['Completed', 7_00n])
  const both = await Promise.allSettled([undo(first.id), undo(first.id)])
  assert.deepEqual(both.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
  assert.deepEqual([await first.statusOf(), await posted(), await unexplained()], ['Returned', 10_00n, '0.00'])
  const [opened, ...others] = await service.cases.list(undefined, 100)
  assert.deepEqual([opened?.kind, opened?.booked, others], ['unknown_debit', -3_00n, []])
  await decide(-3_00n, { action: 'match', toPartnerId: partnerId, payoutId: second.id })
  await look()
  assert.deepEqual([await second.statusOf(), await posted(), await unexplained()], ['Completed', 7_00n, '0.00'])
  assert.deepEqual(await openKinds(), [])
  await checkLedger(service.db, partnerId)
  // The bank pays the first one after all: the money has no payment that waits for it.
  await list(income, first.debit, { ...first.debit, bankReference: 'D2' })
  await look()
  assert.deepEqual([await first.statusOf(), await openKinds(), await unexplained()], ['Returned', ['doubled'], '0.00'])
})

/** Payments that the bank debits as one sum. */
async function paidBatch(...amounts: readonly string[]) {
  const payouts: Awaited<ReturnType<typeof pay>>['payout'][] = []
  for (const amount of amounts) payouts.push((await pay(service, partner, amount)).payout)
  await submitDuePayouts(bank.settlement)
  const { batchId } = await markFiled(service)
  const sum = payouts.reduce((before, { amount }) => before + amount, 0n)
  const batches = [{ batchId, count: payouts.length }]
  const debit = { ...entryOf(-sum, { bookingDate: on, details: [], batches }), bankReference: 'B1' }
  const statuses = async () => {
    const ids = payouts.map(({ id }) => id)
    const rows = await service.db.rows<{ status: string }>(
      sql`select status from payouts.payouts where id = any(${ids}::uuid[]) order by id`,
    )
    return rows.map(({ status }) => status)
  }
  return { ids: payouts.map(({ id }) => id), debit, statuses }
}

test('a payment is taken from the debit of its batch, and all payments of a batch that the bank omits come back', async () => {
  const income = credit(20_00n, 'E1', 'R1')
  await list(income)
  const batch = await paidBatch('3.00', '4.00', '5.00')
  const another = await paidDebit('4.00', 4_00n)
  await list(income, batch.debit)
  await look()
  assert.deepEqual([await batch.statuses(), await posted()], [['Completed', 'Completed', 'Completed'], 8_00n])
  const [, wrong = ''] = batch.ids
  const both = await Promise.allSettled([undo(wrong), undo(wrong)])
  assert.deepEqual(both.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
  assert.deepEqual([await batch.statuses(), await posted()], [['Completed', 'Returned', 'Completed'], 12_00n])
  assert.deepEqual([await openKinds(), await unexplained()], [['unknown_debit'], '0.00'])
  await decide(-4_00n, { action: 'match', toPartnerId: partnerId, payoutId: another.id })
  assert.deepEqual([await another.statusOf(), await posted(), await unexplained()], ['Completed', 8_00n, '0.00'])
  await list(income)
  await look()
  const all = await Promise.allSettled([cancelled(), cancelled()])
  assert.deepEqual(all.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
  assert.equal(await unexplained(), '0.00', 'before settlement has taken the returns')
  await look()
  assert.deepEqual(
    [await batch.statuses(), await another.statusOf()],
    [['Returned', 'Returned', 'Returned'], 'Returned'],
  )
  assert.deepEqual([await posted(), await openKinds(), await unexplained()], [20_00n, ['announced_missing'], '0.00'])
  await checkLedger(service.db, partnerId)
})

test('a batch that is omitted while a part of it is in suspense leaves nothing there', async () => {
  const income = credit(20_00n, 'E1', 'R1')
  await list(income)
  const batch = await paidBatch('3.00', '4.00')
  await list(income, batch.debit)
  await look()
  await undo(batch.ids[0] ?? '')
  await list(income)
  await look()
  await cancelled()
  assert.equal(await unexplained(), '0.00')
  await look()
  assert.deepEqual([await batch.statuses(), await posted()], [['Returned', 'Returned'], 20_00n])
  assert.deepEqual([await openKinds(), await unexplained()], [['announced_missing'], '0.00'])
})

test('an omitted debit of no payment leaves suspense, or comes back to who bore it', async () => {
  const income = credit(20_00n, 'E1', 'R1')
  const debits = [2_00n, 1_00n].map((minor) => ({
    ...entryOf(-minor, { bookingDate: on, details: [{ references: { endToEndId: `F${minor}` } }] }),
    bankReference: `F${minor}`,
  }))
  await list(income, ...debits)
  await look()
  assert.deepEqual(await openKinds(), ['unknown_debit', 'unknown_debit'])
  await decide(-1_00n, { action: 'fees' })
  await list(income)
  await look()
  const waiting = await cancelled('of -2.00 EUR')
  assert.deepEqual([waiting.amount, waiting.openedCaseId, await unexplained()], ['-2.00', undefined, '0.00'])
  const borne = await cancelled('of -1.00 EUR')
  await assert.rejects(cancelled('of -1.00 EUR'), { code: 'validation_failed' })
  assert.deepEqual([borne.amount, typeof borne.openedCaseId, await unexplained()], ['-1.00', 'string', '0.00'])
  await look()
  assert.deepEqual(await openKinds(), ['announced_missing', 'announced_missing', 'unknown_payment'])
  await decide(1_00n, { action: 'fees' })
  assert.deepEqual([await posted(), await unexplained()], [20_00n, '0.00'])
})

test('a debit of another amount than its payment is taken from it whole, and an omitted one leaves no difference', async () => {
  const income = credit(20_00n, 'E1', 'R1')
  await list(income)
  const [first, second] = [await paidDebit('3.00', 5_00n), await paidDebit('5.00', 1_00n)]
  await list(income, first.debit, { ...second.debit, bankReference: 'D2' })
  await look()
  assert.deepEqual([await posted(), await openKinds()], [12_00n, ['amount_differs', 'amount_differs']])
  const undone = await undo(first.id)
  assert.deepEqual([await first.statusOf(), await posted(), undone.amount], ['Returned', 15_00n, '5.00'])
  assert.deepEqual([await openKinds(), await unexplained()], [['amount_differs', 'unknown_debit'], '0.00'])
  await list(income, first.debit)
  await look()
  await cancelled('of -1.00 EUR')
  assert.equal(await unexplained(), '0.00')
  await look()
  assert.deepEqual([await second.statusOf(), await posted(), await unexplained()], ['Returned', 20_00n, '0.00'])
  assert.deepEqual(await openKinds(), ['announced_missing', 'unknown_debit'])
  await checkLedger(service.db, partnerId)
})

test('of two cancellations at once, one takes the money back', async () => {
  await list(credit(3_00n, 'E2', 'R2'))
  await list()
  await look()
  const both = await Promise.allSettled([cancelled(), cancelled()])
  assert.deepEqual(both.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
  await look()
  assert.deepEqual([await posted(), await unexplained()], [0n, '0.00'])
})

test('an entry with another amount is the same booking: the difference is money with a case', async () => {
  await list(credit(7_00n, 'E1', 'R1'))
  await look()
  await list(credit(9_00n, 'E1', 'R1'))
  await look()
  assert.deepEqual([await posted(), await unexplained()], [7_00n, '0.00'])
  const suspense = (await service.cases.list(undefined, 100)).filter(({ booked }) => booked !== null)
  assert.deepEqual(
    suspense.map(({ booked }) => booked),
    [2_00n],
  )
})

test('an entry with another reference of the bank is the same booking, and an added one counts', async () => {
  await list(credit(7_00n, 'E1', 'R1'))
  await list(credit(7_00n, 'E1', 'R9'), credit(1_00n, 'E3', 'R3'))
  await look()
  assert.deepEqual([await posted(), await openKinds(), await unexplained()], [8_00n, [], '0.00'])
})

test('the same statement under another message id changes nothing', async () => {
  const entries = [credit(7_00n, 'E1', 'R1'), credit(3_00n, 'E2', 'R2')]
  await list(...entries)
  await look()
  await list(...entries)
  await look()
  assert.deepEqual([await posted(), await unexplained()], [10_00n, '0.00'])
  const listed = await service.db.rows(
    sql`select count(*) as entries, count(distinct statement_id) as statements from rails.iso_entries`,
  )
  assert.deepEqual(listed, [{ entries: 2n, statements: 1n }])
})

test('a correction of the correction lists the entry again, and its case is gone', async () => {
  const [kept, omitted] = [credit(7_00n, 'E1', 'R1'), credit(3_00n, 'E2', 'R2')]
  await list(kept, omitted)
  await list(kept)
  await look()
  assert.deepEqual(await openKinds(), ['announced_missing'])
  await list(kept, omitted)
  await look()
  assert.deepEqual([await posted(), await openKinds(), await unexplained()], [10_00n, [], '0.00'])
})

test('a process that ends before it reads the correction leaves sums that agree', async () => {
  const [kept, omitted] = [credit(7_00n, 'E1', 'R1'), credit(3_00n, 'E2', 'R2')]
  await list(kept, omitted)
  await look()
  // What the first step of a correction leaves: the row of the statement, whose message is being taken, and entries on none.
  const id = '019b9f00-0000-7000-8000-000000000001'
  const { db } = service
  await db.run(sql`
    insert into rails.iso_messages (id, connector, kind, message_id, file_name, sha256, bytes, state, received_at, entries)
    select ${id}, connector, kind, 'M9', 'x.xml', sha256, bytes, 'Taking', received_at, 0 from rails.iso_messages limit 1`)
  await db.run(sql`
    insert into rails.iso_statements (id, connector, message_id, kind, account, currency, statement_id, sequence, opening, closing,
      opening_on, closing_on, entries, credits, debits, created_at)
    select ${id}, connector, ${id}, kind, account, currency, statement_id, sequence, opening, closing - 300, opening_on, closing_on, 1,
      credits - 300, debits, ${service.clock.now()} from rails.iso_statements`)
  await db.run(sql`update rails.iso_entries set statement_id = null`)
  assert.equal(await unexplained(), '0.00')
})
