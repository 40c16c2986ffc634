/** Reads of reconciliation for pages: the days of an account, and a report with a bound. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { minuteMs } from '../../kernel/index.ts'
import { createTestService, type Service } from '../../../../test/support/composition.ts'
import {
  type BankFolders,
  connectorId,
  createBankFolders,
  createIncomingBank,
  entryOf,
  ownIban,
  reportXml,
} from '../../../../test/support/iso-incoming.ts'
import type { Line } from './index.ts'

const account = { connector: connectorId, account: ownIban, currency: 'EUR' } as const
let service: Service
let folders: BankFolders
let bank: ReturnType<typeof createIncomingBank>
beforeEach(async () => {
  service = await createTestService({ bankAccounts: [account] })
  folders = await createBankFolders()
  bank = createIncomingBank(service, folders)
})
afterEach(async () => {
  await service.close()
  await folders.remove()
})

const look = async () => {
  service.clock.advance(minuteMs)
  await service.reconciliation.step()
}

/** Takes the statement of a day with one credit, and looks. */
async function takeDay(number: number) {
  const on = `2026-01-0${number}`
  const opening = BigInt(number - 1) * 100n
  const entry = entryOf(100n, { bookingDate: on, valueDate: on })
  const statement = { statementId: `S${number}`, sequence: number, on, opening, closing: opening + 100n }
  await folders.put(`${number}.xml`, reportXml([entry], { kind: 'camt.053', ...statement }))
  await bank.work()
  await look()
}

const report = async (rowsMax?: number): Promise<readonly Line[]> => {
  const lines: Line[] = []
  for await (const some of service.reconciliation.report(service.db, { ...account, rowsMax })) lines.push(...some)
  return lines
}
const count = (lines: readonly Line[], wanted: string) => lines.filter(({ record }) => record === wanted).length

test('days are those on which a statement was first seen, newest first, in pages, with the parts of each difference', async () => {
  await look()
  for (const number of [1, 2, 3]) {
    await takeDay(number)
    // Another look at the same statement is another result, and no other day.
    await folders.put(`n${number}.xml`, reportXml([entryOf(BigInt(number))]))
    await bank.work()
    await look()
  }
  const { days } = service.reconciliation
  const first = await days(service.db, account, undefined, 2)
  assert.deepEqual(
    first.map((line) => [
      line['statement_on'],
      line['closing'],
      line['difference'],
      line['explained'],
      line['unexplained'],
    ]),
    [
      ['2026-01-03', '3.00', '0.03', '0.03', '0.00'],
      ['2026-01-02', '2.00', '0.01', '0.01', '0.00'],
    ],
  )
  const second = await days(service.db, account, new Date(first[1]?.['at'] ?? ''), 2)
  assert.deepEqual(
    second.map((line) => [line['statement_on'], line['difference']]),
    [['2026-01-01', '0.00']],
  )
  assert.deepEqual(await days(service.db, { ...account, account: 'other' }, undefined, 9), [])
  const stored: Line[] = []
  const at = new Date(first[0]?.['at'] ?? '')
  for await (const some of service.reconciliation.report(service.db, { ...account, at })) stored.push(...some)
  assert.deepEqual(
    stored.filter(({ record }) => record === 'difference').map(({ kind, amount }) => [kind, amount]),
    [['not_on_statement', '0.03']],
  )
})

test('a bounded report has the same sums, the last statements, and the oldest rows of each kind', async () => {
  for (const number of [1, 2, 3]) await takeDay(number)
  for (const number of [1, 2, 3]) await folders.put(`n${number}.xml`, reportXml([entryOf(BigInt(number))]))
  await bank.work()
  const [all, some] = [await report(), await report(2)]
  assert.deepEqual(some[0], all[0])
  for (const record of ['statement', 'entry_not_on_statement', 'case']) {
    assert.ok(count(all, record) >= 3, record)
    assert.equal(count(some, record), 2, record)
  }
  const days = some.filter(({ record }) => record === 'statement').map((line) => line['statement_on'])
  assert.deepEqual(days, ['2026-01-02', '2026-01-03'])
})

test('accounts are the configured ones, those that were looked at, and suspense', async () => {
  const names = async () => (await service.reconciliation.accounts(service.db)).map((one) => one.account)
  assert.deepEqual(await names(), [ownIban])
  await takeDay(1)
  await look()
  assert.deepEqual((await names()).toSorted(), [ownIban, 'suspense'].toSorted())
})
