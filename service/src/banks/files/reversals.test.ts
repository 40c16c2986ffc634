/** Credits that the bank takes back: behind the credit, before it, in the same message, and without saying which. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import type { BankEntry } from '../../iso20022/index.ts'
import { hourMs } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'
import {
  addPartner,
  balanceOf,
  createTestService,
  type Service,
  type TestPartner,
} from '../../../../test/support/composition.ts'
import {
  type BankFolders,
  casesOf,
  createBankFolders,
  createIncomingBank,
  entryOf,
  reportXml,
} from '../../../../test/support/iso-incoming.ts'

let service: Service
let folders: BankFolders
let bank: ReturnType<typeof createIncomingBank>
let partner: TestPartner
beforeEach(async () => {
  service = await createTestService({ chooseConnector: () => 'iso20022' })
  folders = await createBankFolders()
  bank = createIncomingBank(service, folders)
  partner = await addPartner(service, 1_000_00n)
})
afterEach(async () => {
  await service.close()
  await folders.remove()
})

let files = 0
const report = async (...booked: readonly BankEntry[]) => {
  await folders.put(`report-${(files += 1)}.xml`, reportXml(booked))
  await bank.work()
}
const entries = () =>
  service.db.rows<{ kind: string; status: string }>(
    sql`select kind, status from rails.iso_entries order by position, id`,
  )
const kindsOfCases = async () => (await casesOf(service)).map(({ kind, booked }) => [kind, booked])

/** A credit of 5.00 to a new account of the customer, and its reversal. */
async function creditAndReversal(endToEndId: string) {
  const { ibans } = await service.accounts.create(partner.partnerId, partner.customer.id)
  const details = [{ references: { endToEndId }, creditorAccount: { iban: ibans[0].iban } }]
  return { credit: entryOf(5_00n, { details }), reversal: entryOf(-5_00n, { details, isReversal: true }) }
}
const kindsOfEntries = async () => (await entries()).map(({ kind }) => kind).toSorted()
const posted = async () => (await balanceOf(service, partner.partnerId)).posted

test('the bank takes a credit back', async () => {
  const { credit, reversal } = await creditAndReversal('X1')
  await report(credit)
  assert.equal(await posted(), 1_005_00n)
  await report(reversal, reversal)
  assert.equal(await posted(), 1_000_00n)
  assert.deepEqual(await kindsOfCases(), [['credit_reversed', null]])
  assert.deepEqual(await kindsOfEntries(), ['credit', 'reversal', 'waiting'])
  // No credit has come for the second one.
  service.clock.advance(5 * hourMs)
  await bank.work()
  assert.deepEqual((await kindsOfCases()).toSorted(), [
    ['credit_reversed', null],
    ['unknown_debit', -5_00n],
  ])
  assert.equal(await posted(), 1_000_00n)
})

test('a reversal that is read before its credit waits for it', async () => {
  const { credit, reversal } = await creditAndReversal('X1')
  const other = await creditAndReversal('X2')
  await report(reversal, other.reversal)
  await bank.work()
  assert.deepEqual(await kindsOfEntries(), ['waiting', 'waiting'])
  assert.deepEqual(await kindsOfCases(), [])
  await report(credit)
  await bank.work()
  assert.equal(await posted(), 1_000_00n)
  assert.deepEqual(await kindsOfEntries(), ['credit', 'reversal', 'waiting'])
  assert.deepEqual(await kindsOfCases(), [['credit_reversed', null]])
  assert.deepEqual(
    (await entries()).filter(({ kind }) => kind !== 'waiting').map(({ status }) => status),
    ['Applied', 'Applied'],
  )
})

test('a credit and its reversal in one message', async () => {
  for (const [endToEndId, order] of [
    ['X1', (both: readonly BankEntry[]) => both],
    ['X2', (both: readonly BankEntry[]) => both.toReversed()],
  ] as const) {
    const { credit, reversal } = await creditAndReversal(endToEndId)
    await report(...order([credit, reversal]))
    await bank.work()
    assert.equal(await posted(), 1_000_00n)
  }
  assert.deepEqual(await kindsOfEntries(), ['credit', 'credit', 'reversal', 'reversal'])
  assert.deepEqual(await kindsOfCases(), [
    ['credit_reversed', null],
    ['credit_reversed', null],
  ])
})

test('a reversal that names no credit is an unknown debit at once', async () => {
  const { bankReference: _, ...entry } = entryOf(-5_00n, { isReversal: true })
  await report(entry)
  assert.deepEqual(await kindsOfCases(), [['unknown_debit', -5_00n]])
})
