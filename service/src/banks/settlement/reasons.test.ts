/** The code of a bank reaches the partner: in the payout, and in the event. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from '../../postgres/index.ts'
import {
  addPartner,
  createTestService,
  ip,
  pay,
  type Service,
  stepMsDefault,
} from '../../../../test/support/composition.ts'
import { processBankNotifications, submitDuePayouts } from './index.ts'
import { asTold } from './reasons.ts'

let service: Service
before(async () => {
  service = await createTestService()
})
after(() => service.close())

const errorDetailsOf = async (partnerId: string, type: string) =>
  (
    await service.db.rows<{ data: string }>(
      sql`select data from events.events where partner_id = ${partnerId} and type = ${type} order by id`,
    )
  ).map(({ data }) => (JSON.parse(data) as { readonly errorDetails: string }).errorDetails)

for (const { amount, details } of [
  { amount: '4001.01', details: 'The bank rejected the payment. (MS03)' },
  { amount: '4001.02', details: 'The account does not exist. (AC01)' },
  { amount: '4001.03', details: 'The recipient cannot be paid. (AC06)' },
])
  test(`a payout of ${amount} fails with: ${details}`, async () => {
    const partner = await addPartner(service, 1_000_000n)
    const { partnerId } = partner
    const { payout } = await pay(service, partner, amount)
    await submitDuePayouts(service.settlement)
    service.clock.advance(stepMsDefault)
    await processBankNotifications(service.settlement)
    assert.equal((await service.payouts.get(partnerId, payout.id)).errorDetails, details)
    assert.deepEqual(await errorDetailsOf(partnerId, 'partner.customer.withdrawal.failed'), [details])
  })

test('a deposit fails with the code of the bank', async () => {
  const { partnerId, customer, caller } = await addPartner(service)
  const body = { customerId: customer.id, amount: 7, currency: 'EUR', outcome: 'failed' } as const
  await service.simulations.deposit(caller, body, ip)
  service.clock.advance(3 * stepMsDefault)
  await processBankNotifications(service.settlement)
  assert.deepEqual(await errorDetailsOf(partnerId, 'partner.customer.deposit.failed'), [
    'The payer has not enough money. (AM04)',
  ])
})

test('a reason without a code or words of the bank is left as it is', () => {
  assert.deepEqual(asTold({ details: 'No.', reasonCode: null }), { details: 'No.', reasonCode: null, bankText: null })
})

test('the words of the bank follow the sentence of the service, are marked, and are plain', () => {
  const { details, bankText } = asTold({
    details: 'The bank refused.',
    reasonCode: 'NARR',
    bankText: ' \u202eTown\nand <b>country</b>\u0000 < required ',
  })
  assert.equal(bankText, 'Town and country ‹ required')
  assert.equal(details, 'The bank refused. (NARR) The bank says: “Town and country ‹ required”')
})
