/**
 * Limits and fees as a partner reads them, on a real database: the used and remaining amounts, periods, and others'
 * rules.
 */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import {
  addPartner,
  createTestService,
  pay,
  type Service,
  type TestPartner,
} from '../../../../test/support/composition.ts'
import { Refusal } from '../../kernel/api/index.ts'
import { dayMs } from '../../kernel/index.ts'
import type { NewFeeRule, NewLimit } from './service.ts'

let service: Service
let partner: TestPartner
beforeEach(async () => {
  service = await createTestService({ now: new Date('2026-01-31T10:00:00Z') })
  partner = await addPartner(service, 1_000_00n)
})
afterEach(() => service.close())

const setLimit = (limit: Omit<NewLimit, 'partnerId' | 'currency'>, { partnerId }: TestPartner = partner) =>
  service.db.transaction((tx) => service.payoutControls.limits.set(tx, { partnerId, currency: 'EUR', ...limit }))
const limits = async (query: Parameters<Service['payoutControls']['limitsNow']>[1] = {}, by: TestPartner = partner) =>
  (await service.payoutControls.limitsNow(by.partnerId, query)).data
    .map(({ scope, period, holder, now }) => [`${scope}.${period}`, holder, now?.used, now?.left])
    .toReversed()
const notFound = (pointer: string) => (error: unknown) => {
  assert.ok(error instanceof Refusal, String(error))
  assert.deepEqual([error.code, error.errors[0]?.pointer], ['not_found', pointer])
  return true
}

test('each limit has what is used and left now, and a new period begins with nothing used', async () => {
  const { customer, beneficiary } = partner
  await setLimit({ scope: 'partner', period: 'day', amount: 50_00n })
  await setLimit({ scope: 'partner', period: 'month', amount: 100_00n })
  await setLimit({ scope: 'customer', period: 'payment', amount: 30_00n })
  await setLimit({ scope: 'customer', scopeRef: customer.serviceId, period: 'day', amount: 40_00n })
  await setLimit({ scope: 'beneficiary', scopeRef: beneficiary.id, period: 'day', amount: 15_00n })
  await pay(service, partner, '10.00')
  assert.deepEqual(await limits(), [
    ['partner.day', null, 10_00n, 40_00n],
    ['partner.month', null, 10_00n, 90_00n],
    ['customer.payment', null, undefined, undefined],
    ['customer.day', customer.id, 10_00n, 30_00n],
    ['beneficiary.day', beneficiary.id, 10_00n, 5_00n],
  ])
  // A limit below what is used leaves nothing.
  await setLimit({ scope: 'partner', period: 'day', amount: 8_00n })
  assert.deepEqual((await limits({ scope: 'partner' }))[0], ['partner.day', null, 10_00n, 0n])
  const [month, day] = (await service.payoutControls.limitsNow(partner.partnerId, { scope: 'partner' })).data
  assert.deepEqual([day?.now?.startsOn, day?.now?.resetsAt.toISOString()], ['2026-01-31', '2026-02-01T00:00:00.000Z'])
  assert.deepEqual(
    [month?.now?.startsOn, month?.now?.resetsAt.toISOString()],
    ['2026-01-01', '2026-02-01T00:00:00.000Z'],
  )
  service.clock.advance(dayMs)
  assert.deepEqual(await limits({ scope: 'partner' }), [
    ['partner.day', null, 0n, 8_00n],
    ['partner.month', null, 0n, 100_00n],
  ])
})

test('a customer and a beneficiary have the limits that hold for them, their own before that of each one', async () => {
  const { partnerId, customer, beneficiary } = partner
  const other = await service.customers.create(partnerId, { email: 'b@c.de' })
  await setLimit({ scope: 'customer', period: 'day', amount: 50_00n })
  await setLimit({ scope: 'customer', period: 'month', amount: 60_00n })
  await setLimit({ scope: 'customer', scopeRef: other.id, period: 'day', amount: 20_00n })
  await setLimit({ scope: 'beneficiary', period: 'day', amount: 30_00n })
  await setLimit({ scope: 'partner', period: 'day', amount: 70_00n })
  await pay(service, partner, '10.00')
  assert.deepEqual(await limits({ customerId: other.serviceId }), [
    ['customer.month', other.id, 0n, 60_00n],
    ['customer.day', other.id, 0n, 20_00n],
    ['partner.day', null, 10_00n, 60_00n],
  ])
  assert.deepEqual(await limits({ customerId: customer.id, beneficiaryId: beneficiary.id }), [
    ['customer.day', customer.id, 10_00n, 40_00n],
    ['customer.month', customer.id, 10_00n, 50_00n],
    ['beneficiary.day', beneficiary.id, 10_00n, 20_00n],
    ['partner.day', null, 10_00n, 60_00n],
  ])
  assert.deepEqual(await limits({ customerId: customer.id, scope: 'beneficiary' }), [])
  assert.deepEqual(await limits({ currency: 'GBP' }), [])
  assert.deepEqual(await limits({ scope: 'beneficiary' }), [['beneficiary.day', null, undefined, undefined]])
})

test('a customer is limited by the state of its verification, until that changes', async () => {
  const { partnerId, customer } = partner
  const incomplete = await service.customers.create(partnerId, { email: 'i@example.com' })
  await setLimit({ scope: 'customer', period: 'day', amount: 50_00n })
  await setLimit({ scope: 'customer', verificationState: 'Incomplete', period: 'day', amount: 20_00n })
  await setLimit({ scope: 'customer', verificationState: 'Invalid', period: 'payment', amount: 1_00n })
  await setLimit({ scope: 'customer', scopeRef: incomplete.id, period: 'day', amount: 30_00n })
  const ofState = () => limits({ customerId: customer.id })
  // Its own limit comes before that of the state, and that before the one of each customer.
  assert.deepEqual(await limits({ customerId: incomplete.id }), [['customer.day', incomplete.id, 0n, 30_00n]])
  assert.deepEqual(await ofState(), [['customer.day', customer.id, 0n, 20_00n]])
  await pay(service, partner, '15.00')
  await assert.rejects(pay(service, partner, '5.01'), { code: 'limit_exceeded' })
  assert.deepEqual(await ofState(), [['customer.day', customer.id, 15_00n, 5_00n]])
  await service.customers.update(partnerId, customer.id, {
    kyc: { dateOfBirth: '1990-12-10', addressLine1: '12 St James Square', city: 'London' },
  })
  // The same counter: the day's payments count on.
  assert.deepEqual(await ofState(), [['customer.day', customer.id, 15_00n, 35_00n]])
  await pay(service, partner, '35.00')
  await assert.rejects(pay(service, partner, '0.01'), { code: 'limit_exceeded' })
  assert.equal((await limits()).length, 4)
})

test('404 for a customer or beneficiary of another partner, whose limits are not shown either', async () => {
  const other = await addPartner(service)
  await setLimit({ scope: 'partner', period: 'day', amount: 1n }, other)
  assert.deepEqual(await limits(), [])
  await assert.rejects(limits({ customerId: other.customer.id }), notFound('/query/customerId'))
  await assert.rejects(limits({ beneficiaryId: other.beneficiary.id }), notFound('/query/beneficiaryId'))
})

test('the pages of the limits together are all of them', async () => {
  for (const [at, scope] of (['partner', 'customer', 'beneficiary'] as const).entries())
    for (const period of ['payment', 'day', 'month'] as const) await setLimit({ scope, period, amount: BigInt(at + 1) })
  const seen: string[] = []
  let cursor: string | undefined
  do {
    const query = { limit: '4', ...(cursor === undefined ? {} : { cursor }) }
    const page = await service.payoutControls.limitsNow(partner.partnerId, query)
    seen.push(...page.data.map(({ id }) => id))
    cursor = page.nextCursor ?? undefined
  } while (cursor !== undefined)
  assert.deepEqual([seen.length, new Set(seen).size], [9, 9])
})

test('the fees are those that hold now and those that will, each with its end', async () => {
  const { partnerId } = partner
  const set = (rule: Partial<NewFeeRule>) =>
    service.db.transaction((tx) => {
      const base = { partnerId, currency: 'EUR', rail: 'any', fixedAmount: 20n, basisPoints: 0, minAmount: 0n } as const
      return service.payoutControls.fees.set(tx, { ...base, maxAmount: null, ...rule })
    })
  const fees = async (query: Parameters<Service['payoutControls']['feesNow']>[1] = {}) =>
    (await service.payoutControls.feesNow(partnerId, query)).map(
      ({ rule: { currency, rail, fixedAmount }, ...rest }) => [
        ...[currency, rail, fixedAmount],
        ...[rest.isInForce, rest.validUntil?.toISOString()],
      ],
    )
  await set({})
  service.clock.advance(dayMs)
  await set({ fixedAmount: 30n })
  await set({ fixedAmount: 40n, validFrom: new Date('2026-03-01T00:00:00Z') })
  await set({ fixedAmount: 15n, rail: 'Sepa' })
  await set({ fixedAmount: 50n, currency: 'GBP' })
  const ofEuros = [
    ['EUR', 'Sepa', 15n, true, undefined],
    ['EUR', 'any', 30n, true, '2026-03-01T00:00:00.000Z'],
    ['EUR', 'any', 40n, false, undefined],
  ]
  assert.deepEqual(await fees(), [...ofEuros, ['GBP', 'any', 50n, true, undefined]])
  assert.deepEqual(await fees({ currency: 'EUR' }), ofEuros)
  assert.deepEqual(await service.payoutControls.feesNow((await addPartner(service)).partnerId, {}), [])
})
