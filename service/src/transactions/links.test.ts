/** Tests the links of a payment: its returns and reversals, its exchange, and the actor of each step. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  addPartner,
  createTestService,
  ip,
  pay,
  type Service,
  stepMsDefault,
  type TestPartner,
} from '../../../test/support/composition.ts'
import { addTrader, convert, quote } from '../../../test/support/fx.ts'
import { type Call, Refusal } from '../kernel/api/index.ts'
import { operatorPartnerId } from '../cases/index.ts'
import { newId } from '../kernel/index.ts'
import { processBankNotifications, submitDuePayouts } from '../banks/settlement/index.ts'
import { transactionsRoutes } from './index.ts'
import { relationOf } from './rules.ts'

let service: Service
before(async () => {
  service = await createTestService()
  await service.db.transaction((tx) => service.access.addOperator(tx, operatorPartnerId))
})
after(() => service.close())

type Partner = Pick<TestPartner, 'partnerId' | 'caller'>
type Read = 'listRelatedTransactions' | 'getTransactionTimeline'
const call = ({ caller }: Partner, reference: string) => ({ caller, params: { reference } }) as unknown as Call<Read>
const related = async (partner: Partner, reference: string) =>
  (await transactionsRoutes(service.transactions, service.holdOf).listRelatedTransactions(call(partner, reference)))
    .body
const timeline = async (partner: Partner, reference: string) =>
  (await transactionsRoutes(service.transactions, service.holdOf).getTransactionTimeline(call(partner, reference))).body

async function settled(steps = 4): Promise<void> {
  await submitDuePayouts(service.settlement)
  for (let step = 0; step < steps; step += 1) {
    service.clock.advance(stepMsDefault)
    await processBankNotifications(service.settlement)
  }
}

test('a payout that came back and its return name each other, and no others', async () => {
  const partner = await addPartner(service, 10_000_000n)
  const { payout } = await pay(service, partner, '4001.05', { reference: 'INV-9' })
  await pay(service, partner, '1.00')
  await settled()
  const forth = await related(partner, payout.reference)
  const [back] = forth.data
  assert.deepEqual(
    forth.data.map(({ relation, status, direction }) => [relation, status, direction]),
    [['Return', 'Completed', 'Inward']],
  )
  assert.equal(JSON.stringify(back?.amount), '4001.05')
  const { data } = await related(partner, back?.reference ?? '')
  assert.deepEqual(
    data.map(({ relation, reference }) => [relation, reference]),
    [['Original', 'INV-9']],
  )
  assert.equal('fx' in forth, false)
})

test('each step has its place, who caused it, and the code of the bank', async () => {
  const partner = await addPartner(service, 10_000_000n)
  const { payout } = await pay(service, partner, '4001.05')
  await settled()
  const { status, data } = await timeline(partner, payout.reference)
  assert.equal(status, 'Completed')
  assert.deepEqual(
    data.map(({ sequence, step, actor }) => [sequence, step, actor]),
    [
      [1, 'Created', 'Partner'],
      [2, 'Reserved', 'Partner'],
      [3, 'Accepted', 'Service'],
      [4, 'Sent', 'Service'],
      [5, 'Settled', 'Bank'],
      [6, 'Returned', 'Bank'],
    ],
  )
  assert.match(data.at(-1)?.reason?.code ?? '', /^[A-Z0-9]{4}$/)
  assert.ok((data.at(-1)?.reason?.text.length ?? 0) > 10)
  assert.ok(data.slice(0, -1).every((entry) => !('reason' in entry)))
})

test('a refusal has its code in the timeline, and the documented transaction has only documented fields', async () => {
  const partner = await addPartner(service, 10_000_000n)
  const { payout } = await pay(service, partner, '4001.02')
  await settled()
  const last = (await timeline(partner, payout.reference)).data.at(-1)
  assert.deepEqual([last?.step, last?.actor, last?.reason?.code], ['Failed', 'Service', 'AC01'])
  const { params } = call(partner, payout.reference)
  const documented = await transactionsRoutes(service.transactions, service.holdOf).getTransaction({
    caller: partner.caller,
    params,
  } as unknown as Call<'getTransaction'>)
  for (const entry of documented.body.timeline)
    assert.deepEqual(Object.keys(entry).toSorted(), ['createdAt', 'status', 'step'])
})

test('a cancelled payout is cancelled by the partner', async () => {
  const partner = await addPartner(service, 10_000_000n)
  const { payout } = await pay(service, partner, '5.00')
  await service.payouts.cancel(partner.partnerId, payout.id)
  const { data } = await timeline(partner, payout.reference)
  assert.deepEqual([data.at(-1)?.step, data.at(-1)?.actor], ['Cancelled', 'Partner'])
})

test('a deposit that the bank takes back is linked to its reversal', async () => {
  const partner = await addPartner(service)
  const { ibans } = await service.accounts.create(partner.partnerId, partner.customer.id)
  const creditId = newId()
  const money = { currency: 'EUR', amount: 500n } as const
  const debtor = { account: 'DE1', bic: 'COBADEFFXXX', name: 'Payer', countryCode: 'DE', address: null }
  const credit = { account: ibans[0].iban, money, debtor, remittance: null, endToEndId: null }
  await service.db.transaction(async (tx) => service.bank.sendCredit(tx, operatorPartnerId, creditId, credit))
  await settled()
  const [deposit] = (await service.transactions.list(partner.partnerId, {})).data
  assert.ok(deposit)
  const { reference } = deposit.row
  await service.db.transaction(async (tx) =>
    service.bank.reverseCredit(tx, operatorPartnerId, creditId, { money, details: 'The bank cancelled it.' }),
  )
  await settled()
  assert.deepEqual(
    (await related(partner, reference)).data.map(({ relation }) => relation),
    ['Reversal'],
  )
  assert.ok((await timeline(partner, reference)).data.every(({ actor }) => actor === 'Bank'))
})

test('a conversion names its quote, and both of its steps are the partner’s', async () => {
  await service.rates.setByHand({ pair: { base: 'EUR', quote: 'USD', rate: { digits: 125n, scale: 2 } } })
  const trader = await addTrader(service)
  const { row } = await quote(service, trader, {})
  const converted = await convert(service, trader, row.id)
  const { fx, data } = await related(trader, converted.row.reference)
  assert.deepEqual([fx?.quoteId, fx?.userCurrency, data], [row.id, row.buyCurrency, []])
  const { data: steps } = await timeline(trader, converted.row.reference)
  assert.ok(steps.length === 3 && steps.every(({ actor }) => actor === 'Partner'))
})

test("404 for another partner's reference, and an empty list for a payment without relatives", async () => {
  const partner = await addPartner(service, 1000n)
  const { payout } = await service.payouts.create(
    partner.caller,
    { amount: 1, currency: 'EUR', beneficiaryId: partner.ownBeneficiary.id, idempotencyKey: newId() },
    ip,
  )
  assert.deepEqual((await related(partner, payout.reference)).data, [])
  const other = await addPartner(service)
  for (const read of [related, timeline])
    await assert.rejects(
      read(other, payout.reference),
      (error) => error instanceof Refusal && error.code === 'not_found',
    )
})

test('the relation is told by what the transaction is', () => {
  const of = (category: 'Deposit' | 'Withdrawal', type: 'PartnerWithdraw' | 'CustomerRefund') =>
    relationOf({ reference: 'b', category, type }, 'a')
  assert.equal(of('Deposit', 'CustomerRefund'), 'Return')
  assert.equal(of('Withdrawal', 'CustomerRefund'), 'Refund')
  assert.equal(of('Withdrawal', 'PartnerWithdraw'), 'Reversal')
  assert.equal(relationOf({ reference: 'a', category: 'Deposit', type: 'PartnerDeposit' }, 'a'), 'Original')
})
