/** Payments that two persons end by the bank's written word, and what the bank books afterwards. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { instructionIdOf } from '../../payouts/index.ts'
import { submitDuePayouts } from '../settlement/index.ts'
import {
  addPartner,
  balanceOf,
  createTestService,
  pay,
  type Service,
  type TestPartner,
} from '../../../../test/support/composition.ts'
import {
  type BankFolders,
  casesOf,
  createBankFolders,
  createIncomingBank,
  entryOf,
  markFiled,
  ownIban,
  reportXml,
  statusXml,
} from '../../../../test/support/iso-incoming.ts'
import type { PaymentEnd } from './end-payment.ts'

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

async function accepted() {
  const { payout } = await pay(service, partner, '10.00')
  await submitDuePayouts(bank.settlement)
  return payout
}
type Payout = Awaited<ReturnType<typeof accepted>>
const end = (payout: Payout, how: PaymentEnd) =>
  service.db.transaction((tx) =>
    service.isoBanks.endPayment(tx, { partnerId: partner.partnerId, id: instructionIdOf(payout), end: how }),
  )
const statusOf = async ({ id }: Payout) => (await service.payouts.get(partner.partnerId, id)).status
const balance = () => balanceOf(service, partner.partnerId)
const booked = (payout: Payout) =>
  folders.put(
    'statement.xml',
    reportXml([entryOf(-10_00n, { details: [{ references: { endToEndId: payout.endToEndId } }] })], { iban: ownIban }),
  )
const kinds = async () => (await casesOf(service)).map(({ kind }) => kind)

test('a payment that is not at the bank is not ended by hand', async () => {
  const payout = await accepted()
  await assert.rejects(end(payout, 'paid'), /The payment is Queued. Only a payment that waits at the bank/)
  assert.equal(await statusOf(payout), 'Processing')
  const unknown = { partnerId: partner.partnerId, id: partner.partnerId, end: 'paid' } as const
  await assert.rejects(
    service.db.transaction((tx) => service.isoBanks.endPayment(tx, unknown)),
    { code: 'not_found' },
  )
})

test('paid: the payout is completed once, and the debit that is booked later is its own', async () => {
  const payout = await accepted()
  await markFiled(service)
  await end(payout, 'paid')
  await assert.rejects(end(payout, 'not-paid'), /The payment is Settled/)
  await bank.work()
  assert.equal(await statusOf(payout), 'Completed')
  await booked(payout)
  await bank.work()
  assert.equal(await statusOf(payout), 'Completed')
  assert.deepEqual(await kinds(), [])
  assert.deepEqual(await balance(), { posted: 990_00n, reserved: 0n, available: 990_00n })
})

test('not paid: the payout fails and its money is available; a debit that is booked later is a case', async () => {
  const payout = await accepted()
  await markFiled(service)
  await end(payout, 'not-paid')
  await bank.work()
  assert.equal(await statusOf(payout), 'Failed')
  assert.deepEqual(await balance(), { posted: 1_000_00n, reserved: 0n, available: 1_000_00n })
  assert.deepEqual(await kinds(), [])
  await booked(payout)
  await bank.work()
  assert.equal(await statusOf(payout), 'Failed')
  assert.deepEqual(await kinds(), ['contradiction'])
})

test('of two ends at the same moment one counts, and a status of the bank that comes later agrees', async () => {
  const payout = await accepted()
  const { messageId, batchId } = await markFiled(service)
  const ends = await Promise.allSettled([end(payout, 'not-paid'), end(payout, 'paid')])
  assert.deepEqual(ends.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
  await bank.work()
  const status = await statusOf(payout)
  const said = status === 'Completed' ? 'ACSC' : 'RJCT'
  const transfers = [{ instructionId: payout.endToEndId, status: said, reasons: [] }]
  await folders.put('status.xml', statusXml(messageId, { batches: [{ batchId, reasons: [], transfers }] }))
  await bank.work()
  assert.equal(await statusOf(payout), status)
  assert.deepEqual(await kinds(), [])
})
