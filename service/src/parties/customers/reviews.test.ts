/** Reviews of customers: when they are due, what of them is listed, and that an erasure ends them. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { addPartner, createTestService, type Service } from '../../../../test/support/composition.ts'
import { dayMs, newId } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'
import type { Risk } from './reviews.ts'

let service: Service
before(async () => {
  service = await createTestService({ now: new Date('2026-01-31T12:00:00Z') })
})
after(() => service.close())

const review = (partnerId: string, customerRef: string, risk: Risk, months?: number) =>
  service.db.transaction((tx) =>
    service.customers.reviews.set(tx, { partnerId, customerRef, risk, staff: 'Ada', ...(months ? { months } : {}) }),
  )
const overdue = async (partnerId?: string) =>
  (await service.customers.reviews.overdue(service.db, partnerId)).map(({ customerId }) => customerId)

test('a review is due after a time by the class of risk, at the end of a shorter month, or as its own months say', async () => {
  const { partnerId, customer } = await addPartner(service)
  const dueOn = async (risk: Risk, months?: number) => (await review(partnerId, customer.serviceId, risk, months)).dueOn
  assert.deepEqual(
    [await dueOn('low'), await dueOn('medium'), await dueOn('high'), await dueOn('high', 1)],
    ['2031-01-31', '2029-01-31', '2027-01-31', '2026-02-28'],
  )
  // One review for each customer: the last.
  const listed = await service.customers.reviews.list(service.db, partnerId)
  assert.deepEqual(
    listed.map(({ customerId, risk, reviewedBy, dueOn: day }) => [customerId, risk, reviewedBy, day]),
    [[customer.id, 'high', 'Ada', '2026-02-28']],
  )
  await assert.rejects(review(partnerId, newId(), 'low'), { code: 'not_found' })
  await assert.rejects(review(newId(), customer.id, 'low'), { code: 'not_found' })
})

test('the overdue are those of all partners, or of one, the oldest first; the others wait for their day', async () => {
  const [one, other] = [await addPartner(service), await addPartner(service)]
  const second = await service.customers.create(one.partnerId, { email: 'second@example.com' })
  await review(one.partnerId, one.customer.id, 'high', 2)
  await review(one.partnerId, second.id, 'high', 13)
  await review(other.partnerId, other.customer.id, 'medium', 1)
  const known = new Set([one.customer.id, second.id, other.customer.id])
  const ofTest = async () => (await overdue()).filter((id) => known.has(id))
  assert.deepEqual(await ofTest(), [])
  service.clock.advance(28 * dayMs)
  assert.deepEqual(await ofTest(), [other.customer.id])
  service.clock.advance(31 * dayMs)
  assert.deepEqual(await ofTest(), [other.customer.id, one.customer.id])
  assert.deepEqual(await overdue(one.partnerId), [one.customer.id])
  await review(one.partnerId, one.customer.id, 'low')
  assert.deepEqual(await overdue(one.partnerId), [])
})

test('pages of the overdue have each review once, also when many are due on one day', async () => {
  const { partnerId, customer } = await addPartner(service)
  const ids = [customer.id]
  for (const name of ['b', 'c', 'd', 'e'])
    ids.push((await service.customers.create(partnerId, { email: `${name}-paged@example.com` })).id)
  const [first = '', ...same] = ids
  await review(partnerId, first, 'high', 1)
  for (const id of same) await review(partnerId, id, 'high', 2)
  service.clock.advance(70 * dayMs)
  const { reviews } = service.customers
  const found: string[] = []
  let after: { readonly dueOn: string; readonly customerId: string } | undefined
  for (;;) {
    const rows = await reviews.overduePage(service.db, { after, rowsMax: 2 })
    assert.ok(rows.length <= 2)
    found.push(...rows.map(({ customerId }) => customerId))
    after = rows.at(-1)
    if (rows.length < 2) break
  }
  assert.deepEqual(found, await overdue())
  const known = new Set(ids)
  assert.deepEqual(
    found.filter((id) => known.has(id)),
    [first, ...same.toSorted()],
  )
})

test('a customer without a review is missing, until it has one or is erased', async () => {
  const { partnerId, customer } = await addPartner(service)
  const missing = async () =>
    (await service.customers.reviews.missing(service.db, partnerId)).map(({ customerId }) => customerId)
  const next = await service.customers.create(partnerId, { email: 'next@example.com' })
  assert.deepEqual(await missing(), [customer.id, next.id])
  await review(partnerId, customer.id, 'low')
  assert.deepEqual(await missing(), [next.id])
  await service.personalData.erasures.erase(partnerId, next.id, false)
  assert.deepEqual(await missing(), [])
})

test('the review of an erased customer is not listed, and ends with the time for which its identity is kept', async () => {
  const { partnerId, customer } = await addPartner(service)
  const bare = await service.customers.create(partnerId, { email: 'bare@example.com' })
  for (const { id } of [customer, bare]) await review(partnerId, id, 'high', 1)
  const kept = async () =>
    (
      await service.db.rows<{ id: string }>(
        sql`select customer_id as id from customers.reviews where partner_id = ${partnerId}`,
      )
    ).map(({ id }) => id)
  for (const { id } of [customer, bare]) await service.personalData.erasures.erase(partnerId, id, false)
  assert.deepEqual(await kept(), [customer.id])
  service.clock.advance(40 * dayMs)
  assert.deepEqual(await overdue(partnerId), [])
  service.clock.advance(6 * 366 * dayMs)
  while ((await service.personalData.erasures.step()) > 0);
  assert.deepEqual(await kept(), [])
})
