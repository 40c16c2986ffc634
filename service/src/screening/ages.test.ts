/** The ages of waiting names, hits and money, as the metrics show them. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { operatorPartnerId } from '../cases/index.ts'
import { minuteMs } from '../kernel/index.ts'
import { processBankNotifications, submitDuePayouts } from '../banks/settlement/index.ts'
import { createTestService, pay, type Service, stepMsDefault } from '../../../test/support/composition.ts'
import {
  addHolder,
  decideAll,
  listedName,
  sampleList,
  screenAll,
  sendCredit,
} from '../../../test/support/screening/held.ts'

let service: Service
before(async () => {
  service = await createTestService()
  await service.db.transaction((tx) => service.access.addOperator(tx, operatorPartnerId))
})
after(() => service.close())

/** Minutes, by kind; null: nothing waits. */
async function ages() {
  const now = service.clock.now().getTime()
  const { screening, payoutAges, deposits } = service
  const since = {
    names: await screening.oldestDueSubject(),
    hits: await screening.oldestOpenHit(),
    payouts: await payoutAges.oldestInScreening(),
    deposits: await deposits.oldestInScreening(),
  }
  return Object.fromEntries(
    Object.entries(since).map(([name, time]) => [
      name,
      time === null ? null : Math.floor((now - time.getTime()) / minuteMs),
    ]),
  )
}
const nothing = { names: null, hits: null, payouts: null, deposits: null }
const pass = (minutes: number) => service.clock.advance(minutes * minuteMs)

test('what waits is as old as its cause, and nothing waits behind the decision', async () => {
  const partner = await addHolder(service, listedName)
  pass(60)
  assert.deepEqual(await ages(), nothing, 'without a list no name waits')
  await service.screening.lists.load(await sampleList(), 'Sam Staff')
  pass(10)
  assert.deepEqual(await ages(), { ...nothing, names: 10 }, 'a name waits since the list, and not since it was written')
  await screenAll(service)
  pass(20)
  assert.deepEqual(await ages(), { ...nothing, hits: 20 })
  await sendCredit(service, partner.iban)
  service.clock.advance(stepMsDefault)
  await processBankNotifications(service.settlement)
  const float = { debit: 'settlement.sandbox', currency: 'EUR', amount: 100_00n } as const
  await service.db.transaction((tx) => service.deposits.creditPartner(tx, partner.partnerId, float))
  await pay(service, partner, '10.00')
  pass(5)
  await submitDuePayouts(service.settlement)
  pass(30)
  assert.deepEqual(await ages(), { names: 35, hits: 55, payouts: 30, deposits: 35 }, 'the payer is a new name')
  await screenAll(service)
  await decideAll(service, partner.partnerId, 'clear')
  pass(1)
  await service.deposits.screenDue(100)
  await submitDuePayouts(service.settlement)
  assert.deepEqual(await ages(), nothing)
  assert.equal(await service.cases.oldestOpen(), null)
})

test('a second list makes names wait since it was loaded', async () => {
  const list = await sampleList()
  const later = new Date(list.publishedAt.getTime() + 60 * 24 * minuteMs)
  await service.screening.lists.load({ ...list, hash: 'another', publishedAt: later }, 'Sam Staff')
  pass(7)
  assert.equal((await ages())['names'], 7)
  await screenAll(service)
  assert.deepEqual(await ages(), nothing)
})
