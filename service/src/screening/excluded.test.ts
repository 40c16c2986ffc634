/** Matches that a second datum excludes are kept with their reason; entries that say more than before keep the decisions about them. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { dayMs, newId } from '../kernel/index.ts'
import { addPartner, createTestService, type Service } from '../../../test/support/composition.ts'
import { decideAll, screenAll } from '../../../test/support/screening/held.ts'
import { operatorPartnerId } from '../cases/index.ts'
import type { ListEntry } from './lists/entry.ts'
import { comparedNames } from './lists.ts'
import { exclusionsOf } from './store.ts'

let service: Service
let days = 0
before(async () => {
  service = await createTestService()
  await service.db.transaction((tx) => service.access.addOperator(tx, operatorPartnerId))
})
after(() => service.close())

const facts = { countries: ['EG'], documents: [], addresses: ['Cairo'] }
const person = (id: string, text: string, more: Partial<ListEntry> = {}): ListEntry => ({
  ...{ id, reference: id, kind: 'person', names: [{ text, quality: 'primary' }] },
  ...{ births: ['12 Apr 1961'], programmes: ['X'] },
  ...facts,
  ...more,
})
const load = (entries: readonly ListEntry[], hash: string = newId(), into = service) => {
  days += 1
  const publishedAt = new Date(Date.UTC(2026, 0, 1) + days * dayMs)
  return into.screening.lists.load({ source: 'un', publishedAt, hash, entries }, 'Sam Staff')
}

async function addCustomer(kyc: object, into = service) {
  const partner = await addPartner(into)
  const { partnerId, customer } = partner
  const update = async (fields: object) => {
    await into.customers.update(partnerId, customer.id, { kyc: fields })
    await screenAll(into)
  }
  await update(kyc)
  const hits = async () => (await into.screening.openHits(undefined, 1000)).filter((hit) => hit.partnerId === partnerId)
  const reasons = async () =>
    (await exclusionsOf(into.db, partnerId, undefined, 10)).map(
      ({ role, source, entryId, reason }) => `${role} ${source} ${entryId} ${reason}`,
    )
  return { ...partner, update, hits, reasons }
}
const common = { fullName: 'Mohamed Hassan', dateOfBirth: '1990-01-01', citizenshipCountryCode: 'EG' }

test('a customer with a common name and another birth has no hit, and the exclusion is kept', async () => {
  await load([person('1', 'Mohamed Hassan'), person('2', 'Borislav Tremurov')])
  const { hits, reasons } = await addCustomer(common)
  assert.deepEqual([await hits(), await reasons()], [[], ['fullName un 1 birth']])
})

test('a birth that is corrected is compared again; only persons end the hit', async () => {
  const { update, hits, reasons } = await addCustomer(common)
  await update({ dateOfBirth: '1961-04-12' })
  assert.deepEqual([(await hits()).length, await reasons()], [1, []])
  await update({ dateOfBirth: '1990-01-01' })
  assert.deepEqual([(await hits()).length, await reasons()], [1, []])
})

test('payees, owners and rare names are hits whatever is known', async () => {
  const { partnerId, hits, reasons } = await addCustomer({
    ...common,
    fullName: 'Borislav Tremurov',
    uboFirstName1: 'Mohamed',
    uboLastName1: 'Hassan',
  })
  await service.beneficiaries.create(partnerId, {
    ...{ iban: 'DE89370400440532013000', currency: 'EUR', name: 'Mohamed Hassan' },
  })
  await screenAll(service)
  assert.deepEqual((await hits()).map(({ role, entryId }) => `${role} ${entryId}`).toSorted(), [
    'fullName 2',
    'name 1',
    'owner1 1',
  ])
  assert.deepEqual(await reasons(), [])
})

test('the number of the document by which a customer is identified leaves the hit, whatever birth it gives', async () => {
  const documents = [{ type: 'Passport', number: 'AB 123456', country: 'EG' }]
  await load([person('1', 'Mohamed Hassan', { documents }), person('2', 'Borislav Tremurov')])
  const { hits, reasons } = await addCustomer({ ...common, personalIdentificationNumber: 'ab123456' })
  assert.deepEqual([(await hits()).length, await reasons()], [1, []])
})

test('the address of a payee excludes a common name that is not whole, if no country is that of the entry', async () => {
  await load([person('4', 'Mohamed Vadenskar Hassan'), person('5', 'Orlin Karzhovi Tremurov')])
  const { partnerId, hits, reasons } = await addCustomer({ fullName: 'Grace Hopper' })
  const add = async (name: string, iban: string, country?: string) => {
    const address = country === undefined ? {} : { address: { city: 'Town', country } }
    const { id } = await service.beneficiaries.create(partnerId, { iban, currency: 'EUR', name, ...address })
    await screenAll(service)
    const found = (await hits()).filter(({ subjectId }) => subjectId === id)
    return { id, found: found.map(({ entryId }) => entryId) }
  }
  const german = 'DE89370400440532013000'
  assert.deepEqual((await add('Mohamed Hassan', german)).found, ['4'])
  assert.deepEqual((await add('Mohamed Hassan', german, 'EG')).found, ['4'])
  assert.deepEqual((await add('Mohamed Vadenskar Hassan', german, 'DE')).found, ['4'])
  assert.deepEqual((await add('Orlin Tremurov', german, 'DE')).found, ['5'])
  const { id, found } = await add('Mohamed Hassan', german, 'DE')
  assert.deepEqual([found, await reasons()], [[], ['name un 4 country']])
  const address = { city: 'Cairo', country: 'EG' }
  await service.beneficiaries.update(partnerId, { id, address })
  await screenAll(service)
  assert.deepEqual([(await hits()).filter(({ subjectId }) => subjectId === id).length, await reasons()], [1, []])
})

test('a weak name of one identifying word is not compared', () => {
  const texts = ['Abu Saleh', 'Abu Saleh Tremurov', 'Haji']
  const weak = texts.map((text) => ({ text, quality: 'weak' }) as const)
  const compared = comparedNames({ kind: 'person', names: [{ text: 'Abu Karim', quality: 'good' }, ...weak] })
  assert.deepEqual(
    compared.map(({ text }) => text),
    ['Abu Karim', 'Abu Saleh Tremurov'],
  )
})

test('erasure takes the exclusions, too', async () => {
  const { partnerId, customer, reasons } = await addCustomer(common)
  assert.equal((await reasons()).length, 1)
  await service.db.transaction((tx) => service.screening.forget(tx, partnerId, [customer.id]))
  assert.deepEqual(await reasons(), [])
})

test('with SECOND_DATUM=off every name that reaches the score is a hit', async () => {
  const strict = await createTestService({ settings: { SECOND_DATUM: 'off' } })
  try {
    await load([person('1', 'Mohamed Hassan')], undefined, strict)
    const { hits, reasons } = await addCustomer(common, strict)
    assert.deepEqual([(await hits()).length, await reasons()], [1, []])
  } finally {
    await strict.close()
  }
})

test('a cleared hit stays while the same file is read with more facts, or an address changes; a nationality asks again', async () => {
  const {
    countries: _countries,
    documents: _documents,
    addresses: _addresses,
    ...before
  } = person('3', 'Orlin Vadenskar')
  await load([before])
  const { partnerId, hits } = await addCustomer({ fullName: 'Orlin Vadenskar' })
  assert.equal(await decideAll(service, partnerId, 'clear'), 2)
  const changes = async (entry: Partial<ListEntry>, hash?: string) => {
    const { changed, isRepetition } = await load([person('3', 'Orlin Vadenskar', entry)], hash)
    await screenAll(service)
    return { changed, isRepetition, open: (await hits()).length }
  }
  const hash = newId()
  const births = ['circa 12 Apr 1961', '1963 to 1964']
  assert.deepEqual(await changes({ births }, hash), { changed: 0, isRepetition: false, open: 0 })
  assert.deepEqual(await changes({ births }, hash), { changed: 0, isRepetition: true, open: 0 })
  const snapshot = await service.screening.lists.snapshot()
  const [match] = snapshot?.index.search('Orlin Vadenskar', 88) ?? []
  assert.deepEqual([match?.entry.births, match?.entry.countries], [births, ['EG']])
  assert.deepEqual(await changes({ births, addresses: ['Giza'] }), { changed: 0, isRepetition: false, open: 0 })
  assert.deepEqual(await changes({ births, countries: ['EG', 'QA'] }), { changed: 1, isRepetition: false, open: 1 })
})
