/** Reconciliation over real files of a bank: what each message brings into the equation, and what takes it out again. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { minuteMs } from '../kernel/index.ts'
import { readAtOneMoment, sql } from '../postgres/index.ts'
import {
  addPartner,
  createTestService,
  pay,
  type Service,
  type TestPartner,
} from '../../../test/support/composition.ts'
import {
  type BankFolders,
  connectorId,
  createBankFolders,
  createIncomingBank,
  entryOf,
  markFiled,
  ownIban,
  reportXml,
  statusXml,
} from '../../../test/support/iso-incoming.ts'
import { submitDuePayouts } from '../settlement/index.ts'
import type { Line } from './index.ts'

const account = { connector: connectorId, account: ownIban, currency: 'EUR' } as const
let service: Service
let partner: TestPartner
let folders: BankFolders
let bank: ReturnType<typeof createIncomingBank>
beforeEach(async () => {
  service = await createTestService({ chooseConnector: () => connectorId, bankAccounts: [account] })
  folders = await createBankFolders()
  bank = createIncomingBank(service, folders)
  partner = await addPartner(service, 10_000_000n)
})
afterEach(async () => {
  await service.close()
  await folders.remove()
})

let files = 0
async function take(text: string): Promise<void> {
  files += 1
  await folders.put(`${files}.xml`, text)
  await bank.work()
}

async function found(): Promise<Readonly<Record<string, string>>> {
  const lines: Line[] = []
  await service.db.transaction(async (tx) => {
    await readAtOneMoment(tx)
    for await (const page of service.reconciliation.report(tx, { account: ownIban })) lines.push(...page)
  })
  const parts = lines.filter(({ record, amount }) => record === 'difference' && amount !== '0.00')
  const left = lines.find(({ record }) => record === 'account')?.['unexplained'] ?? ''
  return { ...Object.fromEntries(parts.map(({ kind, amount }) => [kind, amount])), left }
}
const kinds = async () => (await service.cases.list(undefined, 100)).map(({ kind }) => kind).toSorted()

test('a day of credits, charges and a payment: notified, then on the statement', async () => {
  const credit = entryOf(50_000n, { details: [{ references: { endToEndId: 'E1' }, debtor: { name: 'Ada' } }] })
  const fee = entryOf(-250n, { codes: { domain: 'ACMT', family: 'MDOP', subFamily: 'CHRG' } })
  await take(reportXml([credit]))
  assert.deepEqual(await found(), { not_on_statement: '500.00', left: '0.00' })
  await pay(service, partner, '100.00')
  await submitDuePayouts(bank.settlement)
  const { messageId } = await markFiled(service)
  await take(statusXml(messageId, { groupStatus: 'ACSC' }))
  assert.deepEqual(await found(), { not_on_statement: '500.00', settled_not_booked: '-100.00', left: '0.00' })
  const [sent] = await service.db.rows<{ endToEndId: string }>(sql`select end_to_end_id from rails.iso_instructions`)
  const booked = entryOf(-10_000n, { details: [{ references: { endToEndId: sent?.endToEndId ?? '' } }] })
  const all = [credit, fee, booked]
  await take(
    reportXml(all, { kind: 'camt.053', sequence: 1, opening: 1000n, closing: 1000n + 50_000n - 250n - 10_000n }),
  )
  assert.deepEqual(await found(), { left: '0.00' })
  assert.deepEqual(await kinds(), ['bank_fee', 'unknown_payment'])
})

test('a statement that comes late fills its gap, and its case is gone', async () => {
  const day = (number: number, opening: bigint, closing: bigint) => {
    const on = `2026-01-0${number}`
    const entries = closing === opening ? [] : [entryOf(closing - opening, { bookingDate: on })]
    return reportXml(entries, { kind: 'camt.053', sequence: number, on, opening, closing })
  }
  await take(day(1, 0n, 100n))
  await take(day(3, 250n, 300n))
  assert.deepEqual(await found(), { statement_gap: '-1.50', left: '0.00' })
  assert.ok((await kinds()).includes('statement_gap'))
  await take(day(2, 100n, 250n))
  assert.deepEqual(await found(), { left: '0.00' })
  service.clock.advance(minuteMs)
  await service.reconciliation.step()
  assert.deepEqual(new Set(await kinds()), new Set(['unknown_payment']))
})

test('a statement whose balances do not fit its entries is named, and counted as the bank states it', async () => {
  await take(reportXml([entryOf(100n)], { kind: 'camt.053', sequence: 1, opening: 0n, closing: 105n }))
  const parts = await found()
  assert.equal(parts['left'], '0.00')
  assert.ok((await kinds()).includes('sum_differs'), JSON.stringify(parts))
})
