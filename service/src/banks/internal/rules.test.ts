/** Transfers inside pass the rules of other parts: screening of the payee, exchanges, cancellation, and currencies without a bank. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { checkLedger } from '../../../../test/model/ledger-audit.ts'
import {
  addPartner,
  balanceOf,
  createTestService,
  ip,
  pay,
  type Service,
} from '../../../../test/support/composition.ts'
import { addTrader, quote } from '../../../../test/support/fx.ts'
import { addHolder, decideAll, listedName, sampleList, screenAll } from '../../../../test/support/screening/held.ts'
import { operatorPartnerId } from '../../cases/index.ts'
import { minuteMs, newId } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'
import { processBankNotifications, submitDuePayouts } from '../settlement/index.ts'

let service: Service
before(async () => {
  // No bank carries fiat payouts.
  service = await createTestService({ chooseConnector: () => undefined })
  await service.db.transaction((tx) => service.access.addOperator(tx, operatorPartnerId))
})
after(() => service.close())

async function processed(): Promise<void> {
  for (let did = 1; did > 0;)
    did = (await submitDuePayouts(service.settlement)) + (await processBankNotifications(service.settlement))
}

const depositOf = (partnerId: string) =>
  service.db.row<{ status: string; connector: string }>(
    sql`select status, connector from deposits.deposits where partner_id = ${partnerId} and connector = 'internal'`,
  )

test('a payee of another partner gets a currency for which no bank is connected, bought by a quote', async () => {
  await service.rates.setByHand({ pair: { base: 'EUR', quote: 'USD', rate: { digits: 125n, scale: 2 } } })
  const [trader, payee] = [await addTrader(service), await addPartner(service)]
  const { iban } = (await service.accounts.create(payee.partnerId, payee.customer.id)).ibans[0]
  const account = { name: 'Grace Hopper', iban, currency: 'USD', customerId: trader.customer.id }
  const { id: beneficiaryId } = await service.beneficiaries.create(trader.partnerId, account)
  const { row } = await quote(service, trader)
  const { id: quoteId, sellAmount, buyAmount } = row
  const body = { quoteId, beneficiaryId, idempotencyKey: newId() }
  const { payout } = await service.payouts.createFx(trader.caller, body, ip)
  await processed()
  assert.equal((await service.payouts.get(trader.partnerId, payout.id)).status, 'Completed')
  assert.equal((await balanceOf(service, trader.partnerId)).posted, 100_000n - sellAmount)
  assert.equal((await balanceOf(service, payee.partnerId, 'USD')).available, buyAmount)
  for (const { partnerId } of [trader, payee]) await checkLedger(service.db, partnerId)
})

test('an IBAN of another bank is still refused without a bank', async () => {
  const partner = await addPartner(service, 10_000n)
  await assert.rejects(pay(service, partner, '1.00'), { code: 'currency_not_supported' })
})

test('a cancelled payout inside arrives nowhere', async () => {
  const [payer, payee] = [await addPartner(service, 100_000n), await addPartner(service)]
  const { iban } = (await service.accounts.create(payee.partnerId, payee.customer.id)).ibans[0]
  const account = { name: 'Grace Hopper', iban, currency: 'EUR' }
  const { id: beneficiaryId } = await service.beneficiaries.create(payer.partnerId, account)
  const { payout } = await pay(service, payer, '10.00', { beneficiaryId })
  assert.equal((await service.payouts.cancel(payer.partnerId, payout.id)).status, 'Cancelled')
  await processed()
  assert.equal(await depositOf(payee.partnerId), undefined)
  assert.equal((await balanceOf(service, payer.partnerId)).available, 100_000n)
})

test('money for a payee whose name is on a list waits in suspense until two persons have cleared the name', async () => {
  const payer = await addPartner(service, 100_000n)
  await service.screening.lists.load(await sampleList(), 'Sam Staff')
  const payee = await addHolder(service, listedName)
  await screenAll(service)
  const account = { name: 'Grace Hopper', iban: payee.iban, currency: 'EUR' }
  const { id: beneficiaryId } = await service.beneficiaries.create(payer.partnerId, account)
  await screenAll(service)
  const { payout } = await pay(service, payer, '10.00', { beneficiaryId })
  await processed()
  assert.equal((await service.payouts.get(payer.partnerId, payout.id)).status, 'Completed')
  assert.equal((await depositOf(payee.partnerId))?.status, 'Screening')
  assert.equal((await balanceOf(service, payee.partnerId)).available, 0n)
  await screenAll(service)
  await decideAll(service, payee.partnerId, 'clear')
  service.clock.advance(minuteMs)
  await service.deposits.screenDue(100)
  assert.equal((await depositOf(payee.partnerId))?.status, 'Completed')
  assert.equal((await balanceOf(service, payee.partnerId)).available, 1000n)
  for (const { partnerId } of [payer, payee]) await checkLedger(service.db, partnerId)
})

test('a payee whose name is confirmed is refused, and the payer keeps its money', async () => {
  const payer = await addPartner(service, 100_000n)
  await service.screening.lists.load(await sampleList(), 'Sam Staff')
  const payee = await addHolder(service, listedName)
  await decideAll(service, payee.partnerId, 'confirm')
  const account = { name: 'Grace Hopper', iban: payee.iban, currency: 'EUR' }
  const { id: beneficiaryId } = await service.beneficiaries.create(payer.partnerId, account)
  await screenAll(service)
  const { payout } = await pay(service, payer, '10.00', { beneficiaryId })
  await processed()
  const { status, errorKey } = await service.payouts.get(payer.partnerId, payout.id)
  assert.deepEqual([status, errorKey], ['Failed', 'RecipientBlocked'])
  assert.equal((await balanceOf(service, payer.partnerId)).available, 100_000n)
  assert.equal(await depositOf(payee.partnerId), undefined)
})
