/** The operator's commands for the states of accounts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addPartner, pay } from '../support/composition.ts'
import { useOperator } from '../support/fixture.ts'

const operator = await useOperator()
const { service } = operator
const partner = await addPartner(service, 100_000n)

const cuts = ['block', 'close']
const account = ([verb = '', ...args]: readonly string[]) => [
  ...['account', verb, ...args, '--partner', partner.partnerId],
  ...(cuts.includes(verb) ? ['--yes'] : []),
]
const printed = (...args: readonly string[]) => operator.printed(...account(args))
const by = ['--staff', 'Ada', '--reason', 'Fraud']

test('an account block is enforced by a running service, cancels pending payouts, is listed and can be lifted', async () => {
  const { payout } = await pay(service, partner, '10.00')
  const block = ['block', '--currency', 'EUR', '--direction', 'outbound', ...by, '--note', 'Ticket 17']
  const { id, changedAt, ...blocked } = await printed(...block)
  const told = { customerId: null, currency: 'EUR', reason: 'Fraud', staff: 'Ada', note: 'Ticket 17' }
  assert.deepEqual(blocked, { ...told, from: 'Active', state: 'BlockedOutbound', cancelledPayouts: 1 })
  assert.equal((await service.payouts.get(partner.partnerId, payout.id)).status, 'Cancelled')
  await assert.rejects(pay(service, partner, '10.00'), { code: 'account_blocked' })
  const { cancelledPayouts: _cancelled, ...listed } = { id, changedAt, ...blocked }
  assert.deepEqual(await printed('list'), [listed])
  assert.deepEqual(await printed(...block), { state: 'BlockedOutbound', unchanged: true, cancelledPayouts: 0 })
  assert.equal((await printed('unblock', '--currency', 'EUR', ...by))['state'], 'Active')
  assert.deepEqual(await printed('list'), [])
  await pay(service, partner, '10.00', { beneficiaryId: partner.ownBeneficiary.id })
})

test('the account of a customer can be blocked and closed', async () => {
  const customer = ['--customer', partner.customer.serviceId, ...by]
  assert.equal((await printed('block', ...customer))['customerId'], partner.customer.id)
  await assert.rejects(pay(service, partner, '10.00'), { code: 'account_blocked' })
  assert.equal((await printed('close', ...customer))['state'], 'Closed')
  const refused = await operator.refused(...account(['unblock', ...customer]))
  assert.equal(refused, 'operator: The account of the customer is closed and cannot be reopened.')
})

test('wrong arguments are refused in one line and change nothing', async () => {
  const cases: readonly (readonly [args: readonly string[], says: RegExp])[] = [
    [['block', ...by], /name --currency for a balance, or --customer/],
    [['block', '--currency', 'EUR', '--customer', 'x', ...by], /name --currency for a balance, or --customer/],
    [['block', '--currency', 'EUR', '--reason', 'Fraud'], /--staff is required/],
    [['close', '--currency', 'EUR', ...by], /is not empty/],
    [['block', '--customer', 'nobody', ...by], /customer/],
  ]
  for (const [args, says] of cases) assert.match(await operator.refused(...account(args)), says)
})
