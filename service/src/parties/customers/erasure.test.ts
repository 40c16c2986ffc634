/** Erasure of customers: what stands against it, what is kept for how long, what nothing finds any longer. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { rawNumber } from '@partner-payments/wire'
import { addPartner, createTestService, pay, type Service } from '../../../../test/support/composition.ts'
import { Refusal } from '../../kernel/api/index.ts'
import { dayMs, newId } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'
import { retainedUntil } from './erasure-rules.ts'

let service: Service
before(async () => {
  service = await createTestService()
})
after(() => service.close())

const refused =
  (code: string, detail = /./) =>
  (error: unknown) =>
    error instanceof Refusal && error.code === code && detail.test(error.detail ?? '')

const kyc = {
  fullName: 'Ada Lovelace',
  dateOfBirth: '1990-12-10',
  city: 'London',
  taxId: 'T-1',
  mobilePhone: '+44 7400 123456',
  website: 'ada.example.com',
}

const erase = (partnerId: string, ref: string, nothingOwed = false) =>
  service.personalData.erasures.erase(partnerId, ref, nothingOwed)

async function runErasures(): Promise<void> {
  while ((await service.personalData.erasures.step()) > 0);
}

/** Everything that the tables of customers hold in clear text of a customer. */
const rowOf = (partnerId: string, id: string) =>
  service.db.row<{ email: string | null; identifier: string | null; tokens: bigint; changes: bigint }>(sql`
    select email, partner_customer_identifier as identifier,
      (select count(*) from customers.name_tokens where partner_id = ${partnerId} and customer_id = ${id}) as tokens,
      (select count(*) from customers.changes where partner_id = ${partnerId} and customer_id = ${id}) as changes
    from customers.customers where partner_id = ${partnerId} and id = ${id}`)

function inFiveYears(): Date {
  const time = service.clock.now()
  time.setUTCFullYear(time.getUTCFullYear() + 5)
  return time
}

test('a customer is erased at once, and nothing finds it; without payments too, its identity is kept for the time', async () => {
  const { partnerId, caller } = await addPartner(service)
  const { customers, accounts, beneficiaries, checkout, wallets } = service
  const made = await customers.create(partnerId, { email: 'a@example.com', partnerCustomerIdentifier: 'p-1', kyc })
  const { ibans } = await accounts.create(partnerId, made.id)
  const payee = { name: 'Grace Hopper', iban: 'DE89370400440532013000', currency: 'EUR', customerId: made.id }
  const { id: beneficiaryId } = await beneficiaries.create(partnerId, payee)
  const { row, serviceId, retainedFields } = await erase(partnerId, made.serviceId)
  assert.deepEqual([row.customerId, serviceId, row.retainedUntil], [made.id, made.serviceId, inFiveYears()])
  assert.deepEqual(retainedFields, ['city', 'dateOfBirth', 'fullName', 'taxId'])
  assert.deepEqual(await rowOf(partnerId, made.id), { email: null, identifier: null, tokens: 0n, changes: 1n })
  for (const ref of [made.id, made.serviceId]) {
    await assert.rejects(customers.get(partnerId, ref), refused('not_found'))
    await assert.rejects(customers.update(partnerId, ref, { email: 'b@example.com' }), refused('not_found'))
    await assert.rejects(customers.history(partnerId, ref, {}), refused('not_found'))
    await assert.rejects(customers.verification(partnerId, ref), refused('not_found'))
    await assert.rejects(service.personalData.exports.open(partnerId, ref), refused('not_found'))
    await assert.rejects(accounts.create(partnerId, ref), refused('not_found'))
    await assert.rejects(wallets.create(partnerId, { customerId: ref, currency: 'USDC' }), refused('not_found'))
    await assert.rejects(beneficiaries.create(partnerId, { ...payee, customerId: ref }), refused('not_found'))
  }
  const order = { amount: rawNumber('1.00'), currency: 'EUR', idempotencyKey: newId() }
  await assert.rejects(checkout.create(caller, { ...order, customerId: made.id }), refused('not_found'))
  await assert.rejects(beneficiaries.get(partnerId, beneficiaryId), refused('not_found'))
  assert.equal(
    (await customers.list(partnerId, { namePrefix: 'Ada Love' })).data.filter(({ id }) => id === made.id).length,
    0,
  )
  const owners = await accounts.ownersOf(
    service.db,
    ibans.map(({ iban }) => iban),
  )
  assert.equal(owners.size, 0)
  await runErasures()
  assert.equal((await erase(partnerId, made.id)).row.phase, 'retained')
  service.clock.advance(5 * 366 * dayMs)
  await runErasures()
  const repeated = await erase(partnerId, made.id)
  assert.deepEqual([repeated.row.phase, repeated.retainedFields], ['done', []])
  assert.deepEqual(repeated.row.completedAt, service.clock.now())
  assert.equal((await rowOf(partnerId, made.id))?.changes, 0n)
})

test('of a customer without identity and without payments nothing is kept', async () => {
  const { partnerId } = await addPartner(service)
  const made = await service.customers.create(partnerId, { email: 'e@example.com', kyc: { website: 'example.com' } })
  const { row, retainedFields } = await erase(partnerId, made.id)
  assert.deepEqual([row.retainedUntil, retainedFields], [null, []])
  await runErasures()
  assert.equal((await erase(partnerId, made.id)).row.phase, 'done')
})

test('after payments names, dates, addresses and identifiers are kept until the time is over, and erased then', async () => {
  const partner = await addPartner(service, 10_000n)
  const { partnerId, customer } = partner
  const { customers, payouts } = service
  await customers.update(partnerId, customer.id, { kyc })
  const { payout } = await pay(service, partner, '1.00')
  await payouts.cancel(partnerId, payout.id)
  const { row, retainedFields } = await erase(partnerId, customer.id)
  assert.deepEqual(retainedFields, ['citizenshipCountryCode', 'city', 'dateOfBirth', 'fullName', 'taxId'])
  assert.deepEqual(row.retainedUntil, inFiveYears())
  await runErasures()
  assert.equal((await erase(partnerId, customer.id)).row.phase, 'retained')
  assert.equal((await payouts.get(partnerId, payout.id)).creditorName, 'Grace Hopper')
  assert.ok(((await rowOf(partnerId, customer.id))?.changes ?? 0n) > 0n)
  const { data } = await service.transactions.list(partnerId, { customerId: customer.id })
  assert.deepEqual(
    data.map(({ row: { reference } }) => reference),
    [payout.reference],
  )
  service.clock.advance(5 * 366 * dayMs)
  await runErasures()
  const ended = await erase(partnerId, customer.id)
  assert.deepEqual([ended.row.phase, ended.retainedFields], ['done', []])
  assert.deepEqual(
    [(await payouts.get(partnerId, payout.id)).creditorName, (await payouts.get(partnerId, payout.id)).creditorAccount],
    ['', ''],
  )
  const found = await service.transactions.get(partnerId, payout.reference)
  assert.deepEqual([found.row.creditor, found.row.customerId], [null, customer.id])
  assert.equal((await rowOf(partnerId, customer.id))?.changes, 0n)
})

test('409 while a payment is pending and while its money is left; 404 for the customer of another partner', async () => {
  const partner = await addPartner(service, 10_000n)
  const stranger = await addPartner(service)
  const { partnerId, customer } = partner
  const { payout } = await pay(service, partner, '1.00')
  await assert.rejects(erase(partnerId, customer.id), refused('customer_not_erasable', new RegExp(payout.reference)))
  await assert.rejects(erase(stranger.partnerId, customer.id), refused('not_found'))
  await assert.rejects(erase(partnerId, newId()), refused('not_found'))
  await service.payouts.cancel(partnerId, payout.id)
  const credit = await service.db.transaction(async (tx) => {
    const moved = { partnerId, currency: 'EUR' as const, amount: 500n, partyId: customer.id, reference: 'r' }
    const transfer = {
      ...moved,
      kind: 'direct' as const,
      debit: 'settlement.sandbox' as const,
      credit: 'balance' as const,
    }
    await service.ledger.enter(tx, { id: newId(), permit: 'bank', transfers: [transfer] })
    return moved.amount
  })
  assert.equal(credit, 500n)
  await assert.rejects(erase(partnerId, customer.id), refused('customer_not_erasable', /5\.00 EUR.*nothingOwed/))
  assert.equal((await service.customers.get(partnerId, customer.id)).email, 'ada@example.com', 'nothing was erased')
  assert.equal((await erase(partnerId, customer.id, true)).row.phase, 'details')
})

test('the time that data is kept begins with the end of the relationship: the request, or a later payment', () => {
  const now = new Date('2026-01-01T00:00:00Z')
  const kept = (requested: string, paid: string | null, years = 5) =>
    retainedUntil(
      { requestedAt: new Date(requested), lastPaymentAt: paid === null ? null : new Date(paid) },
      years,
      now,
    )?.toISOString()
  assert.equal(kept('2026-01-01', null), '2031-01-01T00:00:00.000Z')
  assert.equal(kept('2024-02-29T10:00:00Z', '2020-01-01'), '2029-03-01T10:00:00.000Z')
  assert.equal(kept('2024-01-01', '2024-02-29T10:00:00Z'), '2029-03-01T10:00:00.000Z')
  assert.equal(kept('2020-12-31', '2020-12-01'), undefined)
  assert.equal(kept('2026-01-01', '2025-12-31', 0), undefined)
})

test('erasures take turns by pages: that of a customer with many payments holds up no other partner', async () => {
  const [large, small] = [await addPartner(service, 1_000_000n), await addPartner(service, 10_000n)]
  /** Three pages. */
  const payments = 1001
  const pages = 3
  const made = await Promise.all([
    pay(service, small, '1.00'),
    ...Array.from({ length: payments }, () => pay(service, large, '1.00')),
  ])
  await Promise.all(made.map(({ payout }) => service.payouts.cancel(payout.partnerId, payout.id)))
  await runErasures()
  for (const { partnerId, customer } of [large, small]) {
    await erase(partnerId, customer.id, true)
    service.clock.advance(1)
  }
  const phases = async () => [
    (await erase(large.partnerId, large.customer.id)).row.phase,
    (await erase(small.partnerId, small.customer.id)).row.phase,
  ]
  const stepped = async (steps: number) => {
    for (let step = 0; step < steps; step += 1) {
      service.clock.advance(1)
      assert.equal(await service.personalData.erasures.step(), 1)
    }
    return phases()
  }
  assert.deepEqual(await stepped(2), ['details', 'retained'])
  assert.deepEqual(await stepped(pages - 1), ['retained', 'retained'])
})
