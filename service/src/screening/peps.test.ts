/** Politically exposed persons: a hit holds no payment; a confirmed one gives the customer a high risk and a review that is due. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { Refusal } from '../kernel/api/index.ts'
import { dayMs, newId, secondMs } from '../kernel/index.ts'
import { processBankNotifications, submitDuePayouts } from '../banks/settlement/index.ts'
import { addPartner, createTestService, pay, type Service, stepMsDefault } from '../../../test/support/composition.ts'
import { decideAll, screenAll, sendCredit, stateOf } from '../../../test/support/screening/held.ts'
import { operatorPartnerId } from '../cases/index.ts'
import { readPepList, type SanctionsList } from './index.ts'

let service: Service
before(async () => {
  service = await createTestService()
  await service.db.transaction((tx) => service.access.addOperator(tx, operatorPartnerId))
  await load(await sample())
})
after(() => service.close())

async function* bytes(): AsyncGenerator<Uint8Array> {
  yield await readFile(new URL('samples/peps.csv', import.meta.url))
}
const sample = (name = 'invented') => readPepList(bytes(), `pep:${name}`)
const load = (list: SanctionsList, into = service) => into.screening.lists.load(list, 'Sam Staff')

/** A partner whose customer has this name. */
async function withCustomer(kyc: object, into = service) {
  const partner = await addPartner(into, 1_000_00n)
  await into.customers.update(partner.partnerId, partner.customer.id, { kyc })
  await screenAll(into)
  const hits = async () =>
    (await into.screening.openHits(undefined, 1000)).filter(({ partnerId }) => partnerId === partner.partnerId)
  const review = async () => (await into.customers.reviews.list(into.db, partner.partnerId))[0]
  const payout = async () => {
    const { payout: made } = await pay(into, partner, '10.00')
    into.clock.advance(31 * secondMs)
    await submitDuePayouts(into.settlement)
    return (await into.payouts.get(partner.partnerId, made.id)).status
  }
  return { ...partner, hits, review, payout }
}
const today = (of = service) => of.clock.now().toISOString().slice(0, 10)

test('a customer and its owners are compared, in any spelling; payments go on, and nothing is raised by an open hit', async () => {
  const { hits, review, payout } = await withCustomer({
    fullName: 'Otilie Varlundt',
    uboFirstName1: 'Drenko',
    uboLastName1: 'Zavratnik',
  })
  assert.deepEqual((await hits()).map(({ source, entryId, role }) => `${source} ${entryId} ${role}`).toSorted(), [
    'pep:invented xx-pep-1 fullName',
    'pep:invented xx-pep-2 owner1',
  ])
  assert.equal(await payout(), 'Sent')
  assert.equal(await review(), undefined)
})

test('confirmed by two persons, the customer has the risk high and a review that is due; payments still go on', async () => {
  const { hits, review, payout, partnerId, customer } = await withCustomer({ fullName: 'Ottilie Varlund' })
  const [hit] = await hits()
  assert.ok(hit)
  const deciding = { partnerId, id: hit.id, outcome: 'confirm', note: 'The same date of birth.' } as const
  const decide = (staff: string) => service.db.transaction((tx) => service.screening.decide(tx, { ...deciding, staff }))
  await decide('Sam Staff')
  assert.equal(await review(), undefined, 'one person proposes')
  await decide('Kim Staff')
  const { risk, dueOn, reviewedBy } = (await review()) ?? {}
  assert.deepEqual({ risk, dueOn, reviewedBy }, { risk: 'high', dueOn: today(), reviewedBy: 'Kim Staff' })
  const overdue = await service.customers.reviews.overdue(service.db, partnerId)
  assert.deepEqual(
    overdue.map(({ customerId }) => customerId),
    [customer.id],
  )
  assert.equal(await payout(), 'Sent')
})

test('a review that was made stays, with a higher risk, and is due today', async () => {
  const { partnerId, customer, review } = await withCustomer({ fullName: 'Drenko Zavratnik' })
  await service.db.transaction((tx) =>
    service.customers.reviews.set(tx, { partnerId, customerRef: customer.id, risk: 'low', staff: 'Ada Other' }),
  )
  service.clock.advance(3 * dayMs)
  assert.equal(await decideAll(service, partnerId, 'confirm'), 2)
  const { risk, dueOn, reviewedBy } = (await review()) ?? {}
  assert.deepEqual({ risk, dueOn, reviewedBy }, { risk: 'high', dueOn: today(), reviewedBy: 'Ada Other' })
})

test('cleared, nothing is raised', async () => {
  const { partnerId, review } = await withCustomer({ fullName: 'Drenko Zavratnik' })
  await decideAll(service, partnerId, 'clear')
  assert.equal(await review(), undefined)
})

test('a single word, a beneficiary and a payer are not compared', async () => {
  const { partnerId, customer, hits } = await withCustomer({ fullName: 'Otti' })
  const account = { iban: 'DE89370400440532013000', currency: 'EUR' } as const
  await service.beneficiaries.create(partnerId, { ...account, name: 'Ottilie Varlund' })
  await screenAll(service)
  const { iban } = (await service.accounts.create(partnerId, customer.id)).ibans[0]
  await sendCredit(service, iban, 'Ottilie Varlund')
  service.clock.advance(stepMsDefault)
  await processBankNotifications(service.settlement)
  await processBankNotifications(service.settlement)
  assert.deepEqual((await stateOf(service, partnerId)).statuses, ['Completed'])
  assert.deepEqual(await hits(), [])
})

test('lists of several names stand beside each other; one that lost half of its records is refused', async () => {
  const later = (list: SanctionsList, keep: number): SanctionsList => ({
    ...list,
    hash: newId(),
    publishedAt: new Date(list.publishedAt.getTime() + dayMs),
    entries: list.entries.slice(0, keep),
  })
  const other = await load(later(await sample('other'), 1))
  assert.deepEqual([other.source, other.entries], ['pep:other', 1])
  const { generation } = other
  await assert.rejects(load(later(await sample(), 1)), (error: unknown) => {
    assert.ok(error instanceof Refusal)
    assert.match(error.detail ?? '', /The list has 1 records, and the loaded one 3: is the file whole\?/)
    return true
  })
  assert.equal(await service.screening.lists.generation(service.db), generation)
  const { hits } = await withCustomer({ fullName: 'Ottilie Varlund' })
  assert.deepEqual((await hits()).map(({ source }) => source).toSorted(), ['pep:invented', 'pep:other'])
  assert.equal((await load(later(await sample(), 2))).removed, 1)
  const remove = (name: 'other' | 'none') =>
    service.db.transaction((tx) => service.screening.lists.remove(tx, `pep:${name}`, 'Sam Staff'))
  const removed = await remove('other')
  assert.deepEqual([removed.source, removed.entries, removed.removed], ['pep:other', 0, 1])
  for (const name of ['other', 'none'] as const)
    await assert.rejects(remove(name), (error: unknown) => error instanceof Refusal && error.code === 'not_found')
  const again = await withCustomer({ fullName: 'Ottilie Varlund' })
  assert.deepEqual(
    (await again.hits()).map(({ source }) => source),
    ['pep:invented'],
  )
  assert.equal((await load(later(await sample('other'), 1))).added, 1, 'the same file is loaded again')
  await remove('other')
})

test('a confirmed hit does not keep a customer from its erasure', async () => {
  const { partnerId, customer } = await withCustomer({ fullName: 'Ottilie Varlund' })
  await decideAll(service, partnerId, 'confirm')
  await service.db.transaction((tx) => service.screening.forget(tx, partnerId, [customer.id]))
  const { screening, db } = service
  assert.equal(await screening.screenedAt(db, { partnerId, kind: 'customer', id: customer.id }), null)
})

test('with PEP_HITS=hold payments wait for the decision', async () => {
  const strict = await createTestService({ settings: { PEP_HITS: 'hold' } })
  try {
    await load(await sample(), strict)
    const { payout, partnerId, customer } = await withCustomer({ fullName: 'Ottilie Varlund' }, strict)
    assert.equal(await payout(), 'Pending')
    const { screening } = strict
    assert.equal((await screening.hitsOn(partnerId, [{ partnerId, kind: 'customer', id: customer.id }])).length, 1)
    await decideAll(strict, partnerId, 'clear')
    assert.equal(await payout(), 'Sent')
  } finally {
    await strict.close()
  }
})
