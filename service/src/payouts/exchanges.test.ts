/** Payouts in a currency that the partner buys for them, to each of their ends. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { checkLedger } from '../../../test/model/ledger-audit.ts'
import { balanceOf, createTestService, ip, type Service, stepMsDefault } from '../../../test/support/composition.ts'
import { accountsOf, addTrader, convert, quote } from '../../../test/support/fx.ts'
import { Refusal } from '../kernel/api/index.ts'
import { newId } from '../kernel/index.ts'
import { processBankNotifications, submitDuePayouts } from '../banks/settlement/index.ts'

let service: Service
before(async () => {
  service = await createTestService()
  await service.rates.setByHand({ pair: { base: 'EUR', quote: 'USD', rate: { digits: 125n, scale: 2 } } })
})
after(() => service.close())

type Trader = Awaited<ReturnType<typeof addTrader>>
const refused = (code: string) => (error: unknown) => error instanceof Refusal && error.code === code

async function beneficiaryOf({ partnerId, customer }: Trader, name = 'Grace Hopper', currency = 'USD') {
  const input = { name, iban: 'DE89370400440532013000', currency, customerId: customer.id }
  return (await service.beneficiaries.create(partnerId, input)).id
}

async function payByQuote(trader: Trader, fields: { name?: string; buyAmount?: string; key?: string } = {}) {
  const { name, buyAmount, key: idempotencyKey = newId() } = fields
  const { row } = await quote(service, trader, buyAmount === undefined ? {} : { buyAmount })
  const body = { quoteId: row.id, beneficiaryId: await beneficiaryOf(trader, name), idempotencyKey }
  const { payout } = await service.payouts.createFx(trader.caller, body, ip)
  return { quote: row, payout, body }
}

async function settled(steps = 3): Promise<void> {
  await submitDuePayouts(service.settlement)
  for (let step = 0; step < steps; step += 1) {
    service.clock.advance(stepMsDefault)
    await processBankNotifications(service.settlement)
  }
}

const viewOf = async ({ partnerId }: Trader, reference: string) =>
  (await service.transactions.get(partnerId, reference)).row

test('a payout reserves what its quote sells, and its settlement moves both currencies in one entry', async () => {
  const trader = await addTrader(service)
  const before = await balanceOf(service, trader.partnerId)
  const { quote: accepted, payout } = await payByQuote(trader)
  assert.deepEqual([payout.amount, payout.currency, payout.rail], [accepted.buyAmount, 'USD', 'Swift'])
  const reserved = await balanceOf(service, trader.partnerId)
  assert.deepEqual([reserved.posted, reserved.reserved], [before.posted, accepted.sellAmount])
  const opened = await viewOf(trader, payout.reference)
  assert.deepEqual(
    [opened.type, opened.amount, opened.currency, opened.userAmount, opened.userCurrency],
    ['CustomerWithdraw', accepted.sellAmount, 'EUR', accepted.buyAmount, 'USD'],
  )
  assert.deepEqual(opened.fxQuoteExpiresAt, accepted.expiresAt)
  assert.equal((await service.fx.get(trader.partnerId, accepted.id)).status, 'Accepted')
  await settled()
  assert.equal((await viewOf(trader, payout.reference)).status, 'Completed')
  const after = await balanceOf(service, trader.partnerId)
  assert.deepEqual([before.posted - after.posted, after.reserved], [accepted.sellAmount, 0n])
  const accounts = await accountsOf(service, trader)
  assert.equal(accounts['fx USD'], -accepted.buyAmount)
  assert.equal(accounts['fx EUR'], accepted.sellAmount - accepted.feeAmount)
  await checkLedger(service.db, trader.partnerId)
})

test('a payout that the bank rejects exchanges nothing', async () => {
  const trader = await addTrader(service)
  const before = await accountsOf(service, trader)
  const { payout } = await payByQuote(trader, { name: 'Sandbox Rejected' })
  await settled()
  assert.equal((await viewOf(trader, payout.reference)).status, 'Unsuccessful')
  const moved = Object.entries(await accountsOf(service, trader)).filter(
    ([name, posted]) => posted !== (before[name] ?? 0n),
  )
  assert.deepEqual(moved, [])
  assert.equal((await balanceOf(service, trader.partnerId)).reserved, 0n)
})

test('money that comes back after the settlement is credited in the bought currency', async () => {
  const trader = await addTrader(service)
  const before = await balanceOf(service, trader.partnerId, 'USD')
  const { quote: accepted, payout } = await payByQuote(trader, { name: 'Sandbox Returned' })
  await settled(4)
  assert.equal((await service.payouts.get(trader.partnerId, payout.id)).status, 'Returned')
  const after = await balanceOf(service, trader.partnerId, 'USD')
  assert.equal(after.posted - before.posted, accepted.buyAmount)
  const { data } = await service.transactions.list(trader.partnerId, {
    category: 'Deposit',
    customerId: trader.customer.id,
  })
  assert.equal(data[0]?.row.type, 'CustomerRefund')
  await checkLedger(service.db, trader.partnerId)
})

test('a key replays its payout, and is refused for another request', async () => {
  const trader = await addTrader(service)
  const { payout, body } = await payByQuote(trader)
  const again = await service.payouts.createFx(trader.caller, body, ip)
  assert.deepEqual([again.replayed, again.payout.id], [true, payout.id])
  await assert.rejects(
    service.payouts.createFx(trader.caller, { ...body, reference: 'other' }, ip),
    refused('idempotency_key_reused'),
  )
})

test('requests with one key that race make one payout; others for the same quote are refused', async () => {
  const trader = await addTrader(service)
  const { row } = await quote(service, trader)
  const beneficiaryId = await beneficiaryOf(trader)
  const body = { quoteId: row.id, beneficiaryId, idempotencyKey: newId() }
  const answers = await Promise.allSettled([
    ...Array.from({ length: 6 }, () => service.payouts.createFx(trader.caller, body, ip)),
    service.payouts.createFx(trader.caller, { ...body, idempotencyKey: newId() }, ip),
    convert(service, trader, row.id),
  ])
  const won = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []))
  const lost = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason as unknown] : []))
  assert.ok(lost.length > 0 && lost.every(refused('fx_quote_accepted')), String(lost))
  const references = new Set(won.map((each) => ('payout' in each ? each.payout.reference : each.row.reference)))
  assert.equal(references.size, 1)
  assert.equal(won.filter(({ replayed }) => !replayed).length, 1)
})

test('a refused payout leaves its quote and its key free', async () => {
  const trader = await addTrader(service)
  const { row } = await quote(service, trader)
  const body = { quoteId: row.id, beneficiaryId: await beneficiaryOf(trader, 'Ada', 'EUR'), idempotencyKey: newId() }
  await assert.rejects(service.payouts.createFx(trader.caller, body, ip), refused('beneficiary_currency_mismatch'))
  const poor = await addTrader(service, ['USD'])
  const { row: dear } = await quote(service, poor)
  const request = { quoteId: dear.id, beneficiaryId: await beneficiaryOf(poor), idempotencyKey: newId() }
  await assert.rejects(service.payouts.createFx(poor.caller, request, ip), refused('insufficient_funds'))
  for (const [each, id] of [
    [trader, row.id],
    [poor, dear.id],
  ] as const)
    assert.equal((await service.fx.get(each.partnerId, id)).status, 'Open')
  const mended = { ...body, beneficiaryId: await beneficiaryOf(trader) }
  assert.equal((await service.payouts.createFx(trader.caller, mended, ip)).replayed, false)
})

test("an expired quote and another partner's quote are refused", async () => {
  const [trader, other] = [await addTrader(service), await addTrader(service)]
  const { row } = await quote(service, trader)
  const request = async (by: Trader) => ({
    quoteId: row.id,
    beneficiaryId: await beneficiaryOf(by),
    idempotencyKey: newId(),
  })
  await assert.rejects(service.payouts.createFx(other.caller, await request(other), ip), refused('not_found'))
  service.clock.advance(row.expiresAt.getTime() - service.clock.now().getTime())
  await assert.rejects(service.payouts.createFx(trader.caller, await request(trader), ip), refused('fx_quote_expired'))
})
