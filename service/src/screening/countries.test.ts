/**
 * Tests countries under embargo: new requests are refused, and existing data needs a decision of two people, like hits
 * of names.
 */
import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { rawNumber } from '@partner-payments/wire'
import { operatorPartnerId } from '../cases/index.ts'
import { secondMs } from '../kernel/index.ts'
import { processBankNotifications, submitDuePayouts } from '../banks/settlement/index.ts'
import {
  addPartner,
  createTestService,
  ip,
  pay,
  stepMsDefault,
  type TestPartner,
} from '../../../test/support/composition.ts'
import {
  addHolder,
  amount,
  decideAll,
  screenAll,
  sendCredit,
  depositState,
} from '../../../test/support/screening/held.ts'
import { useModules } from '../../../test/support/fixture.ts'
import { refused } from '../../../test/support/refusals.ts'
import type { CountrySide } from './countries.ts'
import { countriesOfAccount, type CountryAction, countrySides } from './index.ts'
let partner: TestPartner
const service = await useModules()
await service.db.transaction((tx) => service.access.addOperator(tx, operatorPartnerId))
beforeEach(async () => {
  const rules = await service.screening.countries.list(service.db)
  for (const { country, side } of rules) await change(country, null, [side])
  partner = await addPartner(service, 1_000_00n)
})

/** The age of the rules that requests use. */
async function change(countries: string, action: CountryAction | null, sides: readonly CountrySide[] = ['payouts']) {
  const changed = { countries: countries.split(','), sides, action, staff: 'Sam Staff' }
  const rules = await service.db.transaction((tx) => service.screening.countries.change(tx, changed))
  service.clock.advance(6 * secondMs)
  return rules
}
const dutch = { iban: 'NL91ABNA0417164300', currency: 'EUR', name: 'Grace Hopper' } as const
const addDutch = (of = partner) => service.beneficiaries.create(of.partnerId, dutch)
const refusedCountry = (pointer: string) => refused('country_not_supported', pointer)
const submit = async () => {
  service.clock.advance(31 * secondMs)
  await submitDuePayouts(service.settlement)
}
const statusOf = async ({ partnerId, id }: { readonly partnerId: string; readonly id: string }) =>
  (await service.payouts.get(partnerId, id)).status
const openHits = async (subjectId: string) =>
  (await service.screening.openHits(undefined, 1000)).filter((hit) => hit.subjectId === subjectId)

test('the countries of an account come from its IBAN, its BIC and the given country', () => {
  const of = (account: string | null, bic: string | null, country: string | null) =>
    countriesOfAccount({ account, bic, country }).map((one) => `${one.role} ${one.country}`)
  assert.deepEqual(of('nl91 abna 0417 1643 00', 'ABNABEbb', 'DE'), ['iban NL', 'bic BE', 'country DE'])
  assert.deepEqual(of('NL91ABNA0417164300', 'ABNANL2A', 'NL'), ['iban NL'])
  assert.deepEqual(of(null, '1A2BIRTHXXX', null), ['bic IR'])
  assert.deepEqual(of('DE1', 'ABC', ''), [])
  assert.deepEqual(of(`0x${'5'.repeat(40)}`, null, null), [])
  assert.deepEqual(of('GBDSC/200000/55779911', null, 'GB'), ['country GB'])
})

test('an invalid change of country rules is refused and changes nothing', async () => {
  await assert.rejects(change('NL,ZZ', 'refuse'), refused('validation_failed'))
  await assert.rejects(change('nl', 'refuse'), refused('validation_failed'))
  await assert.rejects(change('NL', null), refused('not_found'))
  const unnamed = { countries: ['NL'], sides: countrySides, action: 'refuse', staff: ' ' } as const
  await assert.rejects(
    service.db.transaction((tx) => service.screening.countries.change(tx, unnamed)),
    refused('validation_failed'),
  )
  assert.deepEqual(await service.screening.countries.list(service.db), [])
})

test('concurrent changes of country rules all apply, and a repeated change does not create a generation', async () => {
  await Promise.all([change('NL', 'refuse'), change('BE', 'review'), change('FR', 'review', ['deposits'])])
  const rules = await service.screening.countries.list(service.db)
  assert.deepEqual(
    rules.map(({ country, side, action }) => `${country} ${side} ${action}`),
    ['BE payouts review', 'FR deposits review', 'NL payouts refuse'],
  )
  const { generation } = service.screening.lists
  const before = await generation(service.db)
  await change('NL', 'refuse')
  assert.equal(await generation(service.db), before)
})

test('beneficiaries, payouts, previews and standing orders for a refused country are refused', async () => {
  const earlier = await addDutch()
  await change('NL', 'refuse')
  const create = (fields: object) =>
    service.beneficiaries.create(partner.partnerId, { currency: 'EUR', name: 'Grace Hopper', ...fields })
  await assert.rejects(create(dutch), refusedCountry('/iban'))
  const wallet = { currency: 'USDC', walletAddress: `0x${'5'.repeat(40)}`, country: 'NL' }
  await assert.rejects(create(wallet), refusedCountry('/country'))
  const american = { currency: 'USD', routingNumber: '021000021', accountNumber: '12345', bic: 'ABNANL2A' }
  await assert.rejects(create(american), refusedCountry('/bic'))
  await assert.rejects(pay(service, partner, '10.00', { beneficiaryId: earlier.id }), refusedCountry('/beneficiaryId'))
  const body = { amount: rawNumber('10.00'), currency: 'EUR' as const, beneficiaryId: earlier.id }
  const { verdicts } = await service.payouts.preview(partner.caller, body, ip)
  const { verdict, code } = verdicts.find(({ rule }) => rule === 'country') ?? {}
  assert.deepEqual([verdict, code], ['failed', 'country_not_supported'])
  const schedule = { frequency: 'Monthly', startsOn: '2026-03-01' } as const
  await assert.rejects(
    service.standingOrders.create(partner.caller, { ...body, schedule }, ip),
    refusedCountry('/beneficiaryId'),
  )
  assert.equal((await pay(service, partner, '10.00')).payout.status, 'Pending', 'other countries are paid')
})

test('a payout accepted before the rule is held, even before its payee is compared with the rule', async () => {
  await change('BE', 'review')
  const payee = await addDutch()
  await screenAll(service)
  const { payout } = await pay(service, partner, '10.00', { beneficiaryId: payee.id })
  const german = (await pay(service, partner, '10.00')).payout
  await change('NL', 'refuse')
  await submit()
  assert.deepEqual([await statusOf(payout), await statusOf(german)], ['Pending', 'Sent'])
  await screenAll(service)
  await submit()
  assert.equal(await statusOf(payout), 'Pending')
  const [hit] = await openHits(payee.id)
  const { source, role, name, listedName, score, programmes, cause } = hit ?? {}
  assert.deepEqual(
    { source, role, name, listedName, score, programmes, cause },
    {
      source: 'countries',
      role: 'iban',
      name: 'NL',
      listedName: 'Netherlands',
      score: 100,
      programmes: ['refuse'],
      cause: 'list',
    },
  )
  assert.equal(await decideAll(service, partner.partnerId, 'clear'), 2, 'two persons decide')
  await submit()
  assert.equal(await statusOf(payout), 'Sent')
})

test('only the first payout to a reviewed country waits for two people, until its rule changes', async () => {
  await change('NL', 'review')
  const payee = await addDutch()
  await screenAll(service)
  const first = (await pay(service, partner, '10.00', { beneficiaryId: payee.id })).payout
  await submit()
  assert.equal(await statusOf(first), 'Pending')
  const { timeline } = await service.transactions.get(partner.partnerId, first.reference)
  assert.equal(timeline.at(-1)?.step, 'Screening')
  await decideAll(service, partner.partnerId, 'clear')
  const second = (await pay(service, partner, '10.00', { beneficiaryId: payee.id })).payout
  await submit()
  assert.deepEqual([await statusOf(first), await statusOf(second)], ['Sent', 'Sent'])
  const third = (await pay(service, partner, '10.00', { beneficiaryId: payee.id })).payout
  await change('NL', 'refuse')
  await screenAll(service)
  await submit()
  assert.equal(await statusOf(third), 'Pending')
  await change('NL', null)
  await screenAll(service)
  await submit()
  assert.equal(await statusOf(third), 'Pending', 'an open hit ends by a decision only')
  await decideAll(service, partner.partnerId, 'confirm')
  await submit()
  assert.equal((await service.cases.byId(service.db, partner.partnerId, third.id))?.kind, 'sanctions_hold')
})

test('new customers of a refused country are refused, and an existing customer is held until it is corrected', async () => {
  const { partnerId, customer } = partner
  await change('GB', 'refuse', ['customers'])
  const kyc = { fullName: 'Joan Clarke', citizenshipCountryCode: 'GB' } as const
  await assert.rejects(service.customers.create(partnerId, { kyc }), refusedCountry('/kyc/citizenshipCountryCode'))
  const [fresh, same] = await service.customers.assess(partnerId, [
    { input: { kyc } },
    { before: { id: customer.id, kyc }, input: { kyc } },
  ])
  assert.ok(refusedCountry('/kyc/citizenshipCountryCode')(fresh))
  assert.equal(same, undefined)
  const update = (fields: object) => service.customers.update(partnerId, customer.id, { kyc: fields })
  await update({ fullName: 'Ada King', citizenshipCountryCode: 'GB' })
  await assert.rejects(update({ countryOfPrincipalBusiness: 'GB' }), refusedCountry('/kyc/countryOfPrincipalBusiness'))
  await screenAll(service)
  const { payout } = await pay(service, partner, '10.00')
  await submit()
  assert.equal(await statusOf(payout), 'Pending')
  assert.deepEqual(
    (await openHits(customer.id)).map(({ role, name }) => `${role} ${name}`),
    ['citizenshipCountryCode GB'],
  )
  await update({ citizenshipCountryCode: 'IE' })
  await screenAll(service)
  await decideAll(service, partnerId, 'clear')
  await submit()
  assert.equal(await statusOf(payout), 'Sent')
})

test('a customer that moves to a reviewed country is screened again', async () => {
  await change('FR', 'review', ['customers'])
  const { partnerId, customer } = partner
  await screenAll(service)
  assert.deepEqual(await openHits(customer.id), [])
  await service.customers.update(partnerId, customer.id, { kyc: { citizenshipCountryCode: 'FR' } })
  await screenAll(service)
  assert.equal((await openHits(customer.id))[0]?.cause, 'name')
})

for (const [title, from] of [
  ['the IBAN', { account: 'NL91ABNA0417164300' }],
  ['the bank', { bic: 'ABNANL2A' }],
  ['the country', { countryCode: 'NL' }],
] as const)
  test(`money by ${title} of a refused country stays in suspense until a decision credits or freezes it`, async () => {
    await change('NL', 'refuse', ['deposits'])
    for (const outcome of ['clear', 'confirm'] as const) {
      const { partnerId, iban } = await addHolder(service, 'Ada Lovelace')
      await sendCredit(service, iban, 'Grace Hopper', from)
      service.clock.advance(stepMsDefault)
      await processBankNotifications(service.settlement)
      // The first report arrives before this process has read the list.
      await processBankNotifications(service.settlement)
      const waiting = await depositState(service, partnerId)
      assert.deepEqual(
        [waiting.statuses, waiting.balance, waiting.suspense, waiting.openCases],
        [['Screening'], 0n, amount, [`sanctions_hold ${amount}`]],
      )
      await screenAll(service)
      assert.equal(await decideAll(service, partnerId, outcome), 2)
      service.clock.advance(6 * secondMs)
      await service.deposits.screenDue(100)
      const { statuses, balance } = await depositState(service, partnerId)
      assert.deepEqual([statuses, balance], outcome === 'clear' ? [['Completed'], amount] : [['Failed'], 0n])
    }
  })

test('money from a country without a rule is credited at once', async () => {
  await change('NL', 'refuse', ['payouts', 'customers'])
  const { partnerId, iban } = await addHolder(service, 'Ada Lovelace')
  await sendCredit(service, iban, 'Grace Hopper', { account: 'NL91ABNA0417164300' })
  service.clock.advance(stepMsDefault)
  await processBankNotifications(service.settlement)
  await processBankNotifications(service.settlement)
  assert.deepEqual((await depositState(service, partnerId)).statuses, ['Completed'])
})

test('a process that starts after a change applies the rules', async () => {
  await change('NL', 'refuse')
  const other = await createTestService({ url: service.url, now: service.clock.now() })
  try {
    await assert.rejects(other.beneficiaries.create(partner.partnerId, dutch), refusedCountry('/iban'))
  } finally {
    await other.close()
  }
})
