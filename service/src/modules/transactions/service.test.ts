import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { addPartner, createTestService, type Service, type TestPartner } from '../../../../test/support/composition.ts'
import { Refusal } from '../../api/index.ts'
import { AssertionFailure, newId } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'
import type { NewTransaction } from './index.ts'

let service: Service
let partner: TestPartner
before(async () => {
  service = await createTestService()
  partner = await addPartner(service)
})
after(() => service.close())

const open = (fields: Partial<NewTransaction> = {}) =>
  service.db.transaction((tx) =>
    service.transactions.open(tx, {
      partnerId: partner.partnerId,
      reference: null,
      amount: 100n,
      currency: 'EUR',
      category: 'Withdrawal',
      direction: 'Outward',
      type: 'PartnerWithdraw',
      rail: 'Sepa',
      customerId: null,
      steps: ['Created'],
      ...fields,
    }),
  )
const conclude = (id: string, status: 'Completed' | 'Unsuccessful' | 'Cancelled' | 'Expired') =>
  service.db.transaction((tx) =>
    service.transactions.conclude(tx, partner.partnerId, id, { status, steps: ['Settled'] }),
  )

test('a final status is final: no second end, no step before it, and one event', async () => {
  const { id, reference } = await open()
  const { partnerId } = partner
  await conclude(id, 'Completed')
  for (const status of ['Completed', 'Unsuccessful', 'Cancelled', 'Expired'] as const)
    await assert.rejects(conclude(id, status), AssertionFailure)
  await assert.rejects(
    service.db.transaction((tx) => service.transactions.moveMany(tx, [{ partnerId, id, steps: ['Sent'] }])),
    AssertionFailure,
  )
  await service.db.transaction((tx) => service.transactions.noteAfterEnd(tx, partnerId, id, 'Returned'))
  const { row, timeline } = await service.transactions.get(partnerId, reference)
  assert.equal(row.status, 'Completed')
  assert.deepEqual(
    timeline.map(({ step, status }) => [step, status]),
    [
      ['Created', 'Pending'],
      ['Settled', 'Completed'],
      ['Returned', 'Completed'],
    ],
  )
  const events = await service.db.rows(sql`
    select id from events.events where partner_id = ${partnerId} and reference = ${reference}`)
  assert.equal(events.length, 1)
})

test('updatedAt is the time of the newest step of the timeline', async () => {
  const { id, reference } = await open()
  const { partnerId } = partner
  const times = async () => {
    const { row, timeline } = await service.transactions.get(partnerId, reference)
    return { updatedAt: row.updatedAt.toISOString(), newest: timeline.at(-1)?.createdAt, steps: timeline.length }
  }
  const steps = [
    () => service.db.transaction((tx) => service.transactions.moveMany(tx, [{ partnerId, id, steps: ['Accepted'] }])),
    () => service.db.transaction((tx) => service.transactions.moveMany(tx, [{ partnerId, id, steps: ['Sent'] }])),
    () => conclude(id, 'Completed'),
    () => service.db.transaction((tx) => service.transactions.noteAfterEnd(tx, partnerId, id, 'Returned')),
  ]
  for (const [index, step] of steps.entries()) {
    service.clock.advance(1000)
    await step()
    const now = service.clock.now().toISOString()
    assert.deepEqual(await times(), { updatedAt: now, newest: now, steps: index + 2 })
  }
})

test('a return on a Pending transaction is an AssertionFailure', async () => {
  const { id } = await open()
  const note = service.db.transaction((tx) => service.transactions.noteAfterEnd(tx, partner.partnerId, id, 'Returned'))
  await assert.rejects(note, AssertionFailure)
})

test('of concurrent ends exactly one is written', async () => {
  const { id, reference } = await open()
  const outcomes = await Promise.allSettled([
    conclude(id, 'Completed'),
    conclude(id, 'Unsuccessful'),
    conclude(id, 'Expired'),
  ])
  assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1)
  assert.equal((await service.transactions.get(partner.partnerId, reference)).timeline.length, 2)
})

test('the list is newest first, filters, and its pages follow one another', async () => {
  const own = await addPartner(service)
  const { partnerId, customer } = own
  for (let index = 0; index < 7; index += 1) {
    service.clock.advance(1000)
    const customers = { partyType: 'Customer', customerId: customer.id, type: 'PartnerCustomerWithdraw' } as const
    await open({ partnerId, reference: `R${index}`, idempotencyKey: `k${index % 2}`, ...(index < 3 ? customers : {}) })
  }
  const list = async (query: Parameters<Service['transactions']['list']>[1]) =>
    (await service.transactions.list(partnerId, query)).data.map(({ row }) => row.reference)
  assert.deepEqual(await list({}), ['R6', 'R5', 'R4', 'R3', 'R2', 'R1', 'R0'])
  assert.deepEqual(await list({ customerId: customer.serviceId }), ['R2', 'R1', 'R0'])
  assert.deepEqual(await list({ customerId: newId() }), [])
  assert.deepEqual(await list({ idempotencyKey: 'k1' }), ['R5', 'R3', 'R1'])
  assert.deepEqual(await list({ status: 'Completed' }), [])
  const at = (await service.transactions.get(partnerId, 'R4')).row.createdAt.toISOString()
  assert.deepEqual(await list({ createdFrom: at }), ['R6', 'R5', 'R4'])
  assert.deepEqual(await list({ createdTo: at, limit: '2' }), ['R3', 'R2'])
  const { nextCursor } = await service.transactions.list(partnerId, { limit: '5' })
  assert.deepEqual(await list({ limit: '5', cursor: nextCursor ?? '' }), ['R1', 'R0'])
  await assert.rejects(service.transactions.list(partner.partnerId, { cursor: nextCursor ?? '' }), Refusal)
})

test("404 for another partner's reference", async () => {
  const { reference } = await open()
  const other = await addPartner(service)
  const get = service.transactions.get(other.partnerId, reference)
  await assert.rejects(get, (error) => error instanceof Refusal && error.code === 'not_found')
})
