import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { addPartner, createTestService, type Service, type TestPartner } from '../../../test/support/composition.ts'
import { until } from '../../../test/support/until.ts'
import { Refusal } from '../kernel/api/index.ts'
import { AssertionFailure, newId } from '../kernel/index.ts'
import { sql } from '../postgres/index.ts'
import { createTransactions, type NewTransaction } from './index.ts'

let service: Service
let partner: TestPartner
before(async () => {
  service = await createTestService()
  partner = await addPartner(service)
})
after(() => service.close())

const withdrawal = {
  reference: null,
  amount: 100n,
  currency: 'EUR',
  category: 'Withdrawal',
  direction: 'Outward',
  type: 'PartnerWithdraw',
  rail: 'Sepa',
  customerId: null,
  steps: ['Created'],
} as const satisfies Partial<NewTransaction>
const open = (fields: Partial<NewTransaction> = {}) =>
  service.db.transaction((tx) =>
    service.transactions.open(tx, { ...withdrawal, partnerId: partner.partnerId, ...fields }),
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
  await service.db.transaction((tx) => service.transactions.noteAfterEnd(tx, { partnerId, id }, 'Returned'))
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
    () => service.db.transaction((tx) => service.transactions.noteAfterEnd(tx, { partnerId, id }, 'Returned')),
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
  const note = service.db.transaction((tx) =>
    service.transactions.noteAfterEnd(tx, { partnerId: partner.partnerId, id }, 'Returned'),
  )
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

test('each new filter finds what it names, and filters hold together', async () => {
  const own = await addPartner(service)
  const { partnerId } = own
  const make = (reference: string, fields: Partial<NewTransaction> = {}) => open({ partnerId, reference, ...fields })
  await make('INV-1', { amount: 1050n, endToEndId: 'E1' })
  await make('INV-2', { amount: 2000n, rail: 'Swift' })
  const customers = { type: 'PartnerCustomerWithdraw', customerId: own.customer.id } as const
  await make('inv-3', { amount: 3000n, ...customers })
  await make('INW', { amount: 1050n, currency: 'GBP', rail: null })
  const list = async (query: Parameters<Service['transactions']['list']>[1]) =>
    (await service.transactions.list(partnerId, query)).data.map(({ row }) => row.reference)
  assert.deepEqual(await list({ referencePrefix: 'INV-' }), ['INV-1', 'INV-2'])
  assert.deepEqual(await list({ referencePrefix: 'IN' }), ['INV-1', 'INV-2', 'INW'])
  assert.deepEqual(await list({ referencePrefix: '%' }), [])
  assert.deepEqual(await list({ endToEndId: 'E1' }), ['INV-1'])
  assert.deepEqual(await list({ rail: 'Swift' }), ['INV-2'])
  assert.deepEqual(await list({ type: 'PartnerCustomerWithdraw' }), ['inv-3'])
  assert.deepEqual(await list({ currency: 'EUR', amountMin: '10.50', amountMax: '20' }), ['INV-2', 'INV-1'])
  assert.deepEqual(await list({ currency: 'GBP', amountMin: '10.5', amountMax: '10.50' }), ['INW'])
  assert.deepEqual(await list({ currency: 'JPY' }), [])
  assert.deepEqual(await list({ currency: 'EUR', amountMin: '10.50', referencePrefix: 'INV', rail: 'Sepa' }), ['INV-1'])
  assert.deepEqual((await service.transactions.list(partner.partnerId, { endToEndId: 'E1' })).data, [])
})

test('a reader of changes misses nothing that commits behind a later change', async () => {
  const own = await addPartner(service)
  const { partnerId } = own
  const reader = createTransactions({ ...service, clockDifferenceMsMax: 0 })
  const start = service.clock.now()
  const setClock = (time: Date) => service.clock.advance(time.getTime() - service.clock.now().getTime())
  const since = new Date()
  const seen: string[] = []
  let cursor: string | undefined
  const readOn = async () => {
    for (;;) {
      const page = await reader.list(partnerId, {
        updatedSince: since.toISOString(),
        limit: '1',
        ...(cursor === undefined ? {} : { cursor }),
      })
      seen.push(...page.data.map(({ row }) => row.reference))
      cursor = page.nextCursor ?? assert.fail('a reader of changes always has a cursor')
      if (!page.hasMore) return
    }
  }
  const began = Promise.withResolvers<void>()
  const mayCommit = Promise.withResolvers<void>()
  const slow = service.db.transaction(async (tx) => {
    await tx.row(sql`select 1 as one`)
    // A change is made after the start of its transaction.
    setClock(new Date(Date.now() + 1))
    await service.transactions.open(tx, { ...withdrawal, partnerId, reference: 'early' })
    began.resolve()
    await mayCommit.promise
  })
  await began.promise
  service.clock.advance(1)
  await open({ partnerId, reference: 'late' })
  await readOn()
  assert.deepEqual(seen, [], 'what is committed is not shown while an earlier change is open')
  mayCommit.resolve()
  await slow
  await until('both changes are read', async () => {
    await readOn()
    return seen.length >= 2
  })
  assert.deepEqual(seen, ['early', 'late'])
  await readOn()
  assert.deepEqual(seen, ['early', 'late'], 'nothing appears twice without a change')
  setClock(start)
})

test('a transaction that changes again appears again behind the cursor', async () => {
  const own = await addPartner(service)
  const { partnerId } = own
  const since = service.clock.now().toISOString()
  const { id } = await open({ partnerId, reference: 'one' })
  service.clock.advance(1000)
  await open({ partnerId, reference: 'two' })
  const list = async (cursor?: string) => {
    const page = await service.transactions.list(partnerId, { updatedSince: since, ...(cursor ? { cursor } : {}) })
    return { references: page.data.map(({ row }) => row.reference), cursor: page.nextCursor ?? '', ...page }
  }
  const first = await list()
  assert.deepEqual([first.references, first.hasMore], [['one', 'two'], false])
  assert.deepEqual((await list(first.cursor)).references, [])
  service.clock.advance(1000)
  await service.db.transaction((tx) =>
    service.transactions.conclude(tx, partnerId, id, { status: 'Completed', steps: ['Settled'] }),
  )
  const next = await list(first.cursor)
  assert.deepEqual(next.references, ['one'])
  const foreign = service.transactions.list(partner.partnerId, { updatedSince: since, cursor: next.cursor })
  await assert.rejects(foreign, Refusal)
  const other = service.transactions.list(partnerId, { cursor: next.cursor })
  await assert.rejects(other, Refusal, 'the cursor of changes is none of the other lists')
})

test("404 for another partner's reference", async () => {
  const { reference } = await open()
  const other = await addPartner(service)
  const get = service.transactions.get(other.partnerId, reference)
  await assert.rejects(get, (error) => error instanceof Refusal && error.code === 'not_found')
})
