/** Addresses of payees: stored, replaced, erased with the customer, demanded by payouts of a day, and found before it comes. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { rawNumber } from '@partner-payments/wire'
import {
  addPartner,
  createTestService,
  ip,
  type Service,
  type TestPartner,
} from '../../../../test/support/composition.ts'
import { Refusal } from '../../kernel/api/index.ts'
import { sql } from '../../postgres/index.ts'
import type { Instruction } from '../../rails/index.ts'
import { submitDuePayouts } from '../../banks/settlement/index.ts'
import { newId } from '../../kernel/index.ts'
import { beneficiariesRoutes } from './routes.ts'

const today = '2026-11-29'
const address = { streetName: 'Wall Street', buildingNumber: '1', city: 'New York', state: 'NY', country: 'US' }
let service: Service
let partner: TestPartner
before(async () => {
  service = await createTestService({ now: new Date(`${today}T10:00:00Z`) })
})
after(() => service.close())
beforeEach(async () => {
  partner = await addPartner(service, 100_00n)
  const float = { debit: 'settlement.sandbox', currency: 'USD', amount: 100_00n } as const
  await service.db.transaction((tx) => service.deposits.creditPartner(tx, partner.partnerId, float))
})

const american = { name: 'Grace Hopper', currency: 'USD', routingNumber: '021000021', accountNumber: '12345' }
const add = (more: object = {}) => service.beneficiaries.create(partner.partnerId, { ...american, ...more })
const bodyOf = (beneficiaryId: string) => ({
  ...{ amount: rawNumber('1.00'), currency: 'USD', beneficiaryId, idempotencyKey: newId() },
})
const payTo = (beneficiaryId: string) => service.payouts.create(partner.caller, bodyOf(beneficiaryId), ip)
const requirementOf = async (beneficiaryId: string) => {
  const { verdicts } = await service.payouts.preview(partner.caller, bodyOf(beneficiaryId), ip)
  return verdicts.find(({ rule }) => rule === 'requirements')
}
const refused = (error: unknown): true => {
  assert.ok(error instanceof Refusal)
  assert.deepEqual([error.code, error.errors[0]?.pointer], ['beneficiary_not_payable', '/beneficiaryId'])
  assert.match(error.detail, /address\.city and address\.country from 2026-11-14/)
  return true
}

test('an address is stored and replaced as a whole; one in no country or in no city is refused', async () => {
  const payee = await add({ address })
  assert.deepEqual(payee.address, address)
  assert.deepEqual((await service.beneficiaries.get(partner.partnerId, payee.id)).address, address)
  const other = { city: 'Zürich', country: 'CH' }
  const updated = await service.beneficiaries.update(partner.partnerId, { id: payee.id, address: other })
  assert.deepEqual([updated.address, updated.name], [other, 'Grace Hopper'])
  const renamed = await service.beneficiaries.update(partner.partnerId, { id: payee.id, alias: 'grace' })
  assert.deepEqual(renamed.address, other)
  for (const [wrong, pointer] of [
    [{ city: '---', country: 'US' }, '/address/city'],
    [{ city: 'Berlin', country: 'XX' }, '/address/country'],
  ] as const) {
    const points = (error: unknown) => error instanceof Refusal && error.errors[0]?.pointer === pointer
    await assert.rejects(add({ address: wrong }), points)
    await assert.rejects(service.beneficiaries.update(partner.partnerId, { id: payee.id, address: wrong }), points)
  }
})

test('a payout by SWIFT to a payee without an address is refused before money is reserved, and accepted with one', async () => {
  const payee = await add()
  await assert.rejects(payTo(payee.id), refused)
  assert.deepEqual((await requirementOf(payee.id))?.code, 'beneficiary_not_payable')
  await service.beneficiaries.update(partner.partnerId, { id: payee.id, address })
  const { payout } = await payTo(payee.id)
  assert.deepEqual(JSON.parse(payout.creditorAddressJson ?? ''), address)
  assert.equal((await requirementOf(payee.id))?.verdict, 'passed')
  // Within SEPA nothing is needed.
  const sepa = { ...bodyOf(partner.beneficiary.id), currency: 'EUR' }
  assert.equal((await service.payouts.create(partner.caller, sepa, ip)).payout.creditorAddressJson, null)
})

test('before the day the payout is accepted, and its preview says when the rule begins', async () => {
  const early = await createTestService({ url: service.url, now: new Date('2026-11-13T10:00:00Z') })
  try {
    const payee = await add()
    const { verdicts } = await early.payouts.preview(partner.caller, bodyOf(payee.id), ip)
    const found = verdicts.find(({ rule }) => rule === 'requirements')
    assert.equal(found?.verdict, 'passed')
    assert.match(found.detail ?? '', /will need address\.city and address\.country from 2026-11-14/)
    assert.equal((await early.payouts.create(partner.caller, bodyOf(payee.id), ip)).replayed, false)
    assert.deepEqual(early.beneficiaries.missingFields(payee), [])
    assert.deepEqual(early.beneficiaries.missingFields(payee, today), ['address'])
  } finally {
    await early.close()
  }
})

test('a payout that was accepted before the rule goes with the address that its beneficiary has got meanwhile', async () => {
  const instructed: Instruction[] = []
  const early = await createTestService({
    ...{ url: service.url, now: new Date('2026-11-13T10:00:00Z') },
    wrapConnector: (bank) => ({
      ...bank,
      instruct: (instructions, options) => {
        instructed.push(...instructions)
        return bank.instruct(instructions, options)
      },
    }),
  })
  try {
    const [payee, other] = [await add(), await add({ accountNumber: '777' })]
    const { payout } = await early.payouts.create(partner.caller, bodyOf(payee.id), ip)
    const { payout: without } = await early.payouts.create(partner.caller, bodyOf(other.id), ip)
    await early.beneficiaries.update(partner.partnerId, { id: payee.id, address })
    await submitDuePayouts(early.settlement)
    const addressOf = (id: string) => instructed.find((one) => one.beneficiaryId === id)?.creditorAddress
    assert.deepEqual([addressOf(payee.id), addressOf(other.id)], [address, null])
    const stored = async (id: string) => (await early.payouts.get(partner.partnerId, id)).creditorAddressJson
    assert.deepEqual(JSON.parse((await stored(payout.id)) ?? ''), address)
    assert.equal(await stored(without.id), null)
  } finally {
    await early.close()
  }
})

test('the payees that break on a day are listed by pages, with what they lack, and no others', async () => {
  const { partnerId, customer } = partner
  const bare: string[] = []
  for (let count = 0; count < 7; count += 1)
    bare.push((await add({ accountNumber: `1${count}`, ...(count === 3 ? { customerId: customer.id } : {}) })).id)
  await add({ address })
  const pounds = await service.beneficiaries.create(partnerId, {
    ...{ name: 'Joan Clarke', currency: 'GBP', iban: 'GB29NWBK60161331926819' },
  })
  const removed = await add()
  await service.beneficiaries.remove(partnerId, removed.id)
  const expected = [pounds.id, ...bare.toReversed()]
  const listed = async (query: object) => {
    const ids: string[] = []
    let cursor: string | undefined
    do {
      const page = await service.beneficiaries.list(partnerId, { limit: '3', ...query, ...(cursor ? { cursor } : {}) })
      ids.push(...page.data.map(({ id }) => id))
      cursor = page.nextCursor ?? undefined
    } while (cursor !== undefined)
    return ids
  }
  assert.deepEqual(await listed({ incompleteOn: '2026-11-14' }), expected)
  assert.deepEqual(await listed({ incompleteOn: '2026-11-13' }), [])
  assert.deepEqual(await listed({ incompleteOn: today, currency: 'GBP' }), [pounds.id])
  assert.deepEqual(await listed({ incompleteOn: today, customerId: customer.id }), [bare[3]])
  assert.deepEqual(await listed({ incompleteOn: today, namePrefix: 'Clark' }), [pounds.id])
  const routes = beneficiariesRoutes(service.beneficiaries, service.idempotency)
  const { body } = await routes.listBeneficiaries({
    ...{ caller: partner.caller, params: {}, query: { incompleteOn: '2026-11-14' } },
  } as never)
  assert.ok(body.data.every(({ missingFields }) => missingFields?.join() === 'address'))
  const stranger = await addPartner(service)
  assert.deepEqual((await service.beneficiaries.list(stranger.partnerId, { incompleteOn: today })).data, [])
})

test('the list of incomplete payees reads the index of corridors, a step for each of them', async () => {
  const { partnerId } = partner
  await service.db
    .run(sql`insert into beneficiaries.beneficiaries (partner_id, id, name, domestic_account, country, currency, created_at, updated_at, address)
    select ${partnerId}, gen_random_uuid(), 'x', 'USABA021000021/' || number, 'US', 'USD', now(), now(), '{"city":"x","country":"US"}'
    from generate_series(1, 20000) as number`)
  const payee = await add()
  await service.db.run(sql`analyze beneficiaries.beneficiaries`)
  const plan = await service.db.rows<Record<string, string>>(sql`explain (format text)
    select (currency || '/' || coalesce(country, '') || '/' || coalesce(substring(bic from 5 for 2), '') || '/'
    || case when address is null then '' else 'a' end || case when address ? 'streetName' then 's' else '' end
    || case when address ? 'buildingNumber' then 'b' else '' end || case when address ? 'postalCode' then 'p' else '' end
    || case when address ? 'state' then 't' else '' end || case when account_type is null then '' else 'c' end) as corridor
    from beneficiaries.beneficiaries where partner_id = ${partnerId} and removed_at is null and wallet_address is null order by 1 limit 1`)
  assert.match(JSON.stringify(plan), /Index.*beneficiaries_corridor/)
  assert.doesNotMatch(JSON.stringify(plan), /Sort/)
  const { data } = await service.beneficiaries.list(partnerId, { incompleteOn: today })
  assert.deepEqual(
    data.map(({ id }) => id),
    [payee.id],
  )
})

test('the requirements of a country and a currency come with their days', () => {
  const { requirements } = service.beneficiaries
  const found = requirements({ country: 'US', currency: 'USD' })
  assert.ok(
    found.some(({ field, rule, from }) => field === 'address.city' && rule === 'Required' && from === '2026-11-14'),
  )
  assert.deepEqual(requirements({ country: 'US', currency: 'USDC' }), [])
  assert.throws(() => requirements({ country: 'US', currency: 'ABC' }), Refusal)
})
