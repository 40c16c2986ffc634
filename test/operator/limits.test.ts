/** The operator's commands for limits and fees of payouts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newId } from '../../service/src/kernel/index.ts'
import { addPartner, pay } from '../support/composition.ts'
import { useOperator } from '../support/fixture.ts'

const operator = await useOperator()
const { service } = operator
const partner = await addPartner(service, 100_000n)

const limit = (...args: readonly string[]) => operator.run('limit', ...args, '--partner', partner.partnerId)
const printed = (...args: readonly string[]) =>
  operator.printed<unknown>('limit', ...args, '--partner', partner.partnerId)
const euros = ['--currency', 'EUR', '--amount', '12.5']
/** Runs a command about the rules of the partner. */
const ruleCommand =
  (name: string) =>
  (...args: readonly string[]) =>
    operator.outcome(name, ...args, '--partner', partner.partnerId)

test('a limit for one customer is set, listed, enforced by a running service, and removed', async () => {
  const ofCustomer = ['--scope', 'customer', '--customer', partner.customer.serviceId, '--period', 'day']
  const made = (await printed('set', ...ofCustomer, ...euros)) as { readonly id: string }
  const { partnerId, customer } = partner
  const shown = {
    partnerId,
    id: made.id,
    scope: 'customer',
    scopeId: customer.id,
    verificationState: null,
    currency: 'EUR',
    allCurrencies: false,
    period: 'day',
  }
  assert.deepEqual(made, { ...shown, amount: '12.50' })
  assert.deepEqual(await printed('list'), [made])
  await assert.rejects(pay(service, partner, '12.51'), { code: 'limit_exceeded' })
  assert.deepEqual(await printed('remove', '--id', made.id), { removed: made.id })
  assert.deepEqual(await printed('list'), [])
  await pay(service, partner, '12.51')
})

test('a limit over all currencies is in the reference currency, and applies beside the limit of one currency', async () => {
  const whole = ['set', '--scope', 'partner', '--period', 'day', '--all-currencies']
  const made = (await printed(...whole, ...euros)) as { readonly id: string; readonly allCurrencies: boolean }
  assert.equal(made.allCurrencies, true)
  const own = (await printed('set', '--scope', 'partner', '--period', 'day', ...euros)) as { readonly id: string }
  assert.notEqual(own.id, made.id)
  const inPounds = await limit(...whole, '--currency', 'GBP', '--amount', '1')
  assert.match(inPounds.stderr, /^operator: A rule over all currencies is in EUR, the reference currency\.\n$/)
  for (const { id } of [made, own]) await printed('remove', '--id', id)
})

test('wrong arguments are refused in one line and change nothing', async () => {
  const day = ['--period', 'day']
  const cases: readonly (readonly [args: readonly string[], says: RegExp])[] = [
    [['--scope', 'partner', '--customer', partner.customer.id, ...day, ...euros], /--customer needs --scope customer/],
    [['--scope', 'customer', '--customer', partner.partnerId, ...day, ...euros], /No such customer/],
    [
      ['--scope', 'partner', '--state', 'Invalid', ...day, ...euros],
      /--state needs --scope customer, without --customer/,
    ],
    [['--scope', 'beneficiary', '--beneficiary', partner.partnerId, ...day, ...euros], /No such beneficiary/],
  ]
  for (const [args, says] of cases)
    assert.match(await operator.refused('limit', 'set', ...args, '--partner', partner.partnerId), says)
  const stranger = ['limit', 'set', '--partner', partner.customer.id, '--scope', 'partner', ...day, ...euros]
  const { stderr } = await operator.run(...stranger)
  assert.equal(stderr, 'operator: No such partner.\n')
  assert.deepEqual(await printed('list'), [])
})

test('a fee rule is set, listed, applied by a running service, and removed', async () => {
  const { partnerId } = partner
  const fee = ruleCommand('fee')
  const from = '2025-12-01T00:00:00.000Z'
  const set = ['--currency', 'EUR', '--fixed', '0.20', '--basis-points', '10', '--min', '0.25', '--from', from]
  const made = (await fee('set', ...set)) as { readonly id: string }
  const amounts = { fixed: '0.20', basisPoints: 10, min: '0.25', max: null }
  assert.deepEqual(made, { partnerId, id: made.id, currency: 'EUR', rail: 'any', validFrom: from, ...amounts })
  assert.deepEqual(await fee('list'), [made])
  assert.equal((await pay(service, partner, '1.00')).payout.feeAmount, 25n)
  assert.deepEqual(await fee('remove', '--id', made.id), { removed: made.id })
  assert.equal((await pay(service, partner, '1.00')).payout.feeAmount, null)
  assert.match(String(await fee('set', ...set, '--max', '0.10')), /--max must not be below --min$/)
  assert.match(String(await fee('remove', '--id', made.id)), /No such fee rule\.$/)
})

test('a cooling-off is set, listed, enforced by a running service, and removed', async () => {
  const { partnerId } = partner
  const coolingOff = ruleCommand('cooling-off')
  const made = (await coolingOff('set', '--currency', 'EUR', '--hours', '48')) as { readonly id: string }
  assert.deepEqual(made, { partnerId, id: made.id, currency: 'EUR', hours: 48 })
  assert.deepEqual(await coolingOff('list'), [made])
  await assert.rejects(pay(service, partner, '1.00'), { code: 'beneficiary_cooling_off' })
  assert.deepEqual(await coolingOff('remove', '--id', made.id), { removed: made.id })
  assert.match(String(await coolingOff('remove', '--id', made.id)), /No such cooling-off\.$/)
  await pay(service, partner, '1.00')
})

test('a daily maximum per person is set, listed, enforced by a running service, and removed', async () => {
  const { partnerId, caller } = partner
  const approval = ruleCommand('approval')
  const second = { ...caller, serviceAccountId: newId(), name: 'Second person' }
  const rule = ['--currency', 'EUR', '--above', '0']
  const made = (await approval('set', ...rule, '--per-person', '10.00')) as { readonly id: string }
  const kept = {
    allCurrencies: false,
    aboveDay: null,
    aboveBulk: null,
    beneficiaryHours: null,
    payeeMismatch: false,
    expiresHours: 72,
    needsPasskey: false,
  }
  assert.deepEqual(made, { partnerId, id: made.id, currency: 'EUR', above: '0.00', ...kept, perPerson: '10.00' })
  assert.deepEqual(await approval('list'), [made])
  const { payout } = await pay(service, partner, '10.01')
  await assert.rejects(service.payouts.approve(second, payout.id), { code: 'approver_limit_exceeded' })
  const without = { ...made, perPerson: null }
  assert.deepEqual(await approval('set', ...rule), without, 'a rule that is set without it has none')
  assert.equal((await service.payouts.approve(second, payout.id)).status, 'Pending')
  const alone = (await approval('set', '--currency', 'EUR', '--per-person', '10.00')) as object
  assert.deepEqual(alone, { ...made, above: null })
  const mismatch = await approval('set', '--currency', 'EUR', '--payee-mismatch')
  assert.deepEqual(mismatch, { ...made, above: null, perPerson: null, payeeMismatch: true })
  assert.deepEqual(await approval('remove', '--id', made.id), { removed: made.id })
  assert.deepEqual(await approval('list'), [])
  assert.match(String(await approval('set', '--currency', 'EUR')), /--per-person or --payee-mismatch is required$/)
})
