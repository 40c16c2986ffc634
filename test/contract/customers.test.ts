/** Customers. Interface document, Customer and Limits 3; contract page, customer update, KYC formats, `{id}`. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { type JsonObject, listAt, objectAt, success, textAt } from '../support/client.ts'
import { assertShape, customer as customerShape, kycTextFields } from '../support/documented.ts'
import { useSharedService } from '../support/fixture.ts'
import { assertProblem, indistinct } from '../support/problem.ts'
import { otherPartner } from '../support/service.ts'
import { createCustomer, listAll, uniqueEmail } from '../support/world.ts'

const service = await useSharedService()
const { client } = service
const pathOf = (customer: JsonObject) => `/v1/customers/${textAt(customer, 'guid')}`
const kycOf = (customer: JsonObject) => objectAt(customer, 'kyc')

const dates = { dateOfBirth: '1815-12-10', dateOfIncorporation: '2024-02-29' }
const countries = { citizenshipCountryCode: 'GB', countryOfIncorporation: 'DE', countryOfPrincipalBusiness: 'FR' }
/** Every documented text field, each with a different value. */
const fullKyc: JsonObject = {
  ...Object.fromEntries(kycTextFields.map((name) => [name, `Ünï ${name.slice(0, 9)}`])),
  ...dates,
  ...countries,
}

test('200 to create and get, by guid and serviceId: exactly the documented fields, every KYC field as given', async () => {
  const given = {
    email: uniqueEmail(),
    partnerCustomerIdentifier: `id-${randomUUID()}`,
    customerType: 'Business',
    kyc: fullKyc,
  }
  const created = success(await client.post('/v1/customers', given))
  assertShape(customerShape, created)
  assert.deepEqual(created.kyc, { ...fullKyc, customerType: 'Business' })
  assert.equal(created.email, given.email)
  assert.equal(created.partnerCustomerIdentifier, given.partnerCustomerIdentifier)
  assert.deepEqual(success(await client.get(pathOf(created))), created)
  assert.deepEqual(success(await client.get(`/v1/customers/${textAt(created, 'serviceId')}`)), created)
  assert.deepEqual(
    success(await client.get(pathOf(created).toUpperCase().replace('/V1/CUSTOMERS', '/v1/customers'))),
    created,
  )
})

test('200 without the fields that were not given, instead of null', async () => {
  for (const body of [
    { email: uniqueEmail() },
    { email: uniqueEmail(), kyc: {} },
    { partnerCustomerIdentifier: 'only' },
  ]) {
    const created = success(await client.post('/v1/customers', body))
    assertShape(customerShape, created)
    assert.deepEqual(Object.keys(kycOf(created)), ['customerType'])
  }
})

for (const customerType of ['Individual', 'Business', 'SoleTrader'])
  test(`200 with kyc.customerType ${customerType} when it is set at creation`, async () => {
    assert.equal(kycOf(await createCustomer(client, { customerType })).customerType, customerType)
  })

test('200 without personalIdentificationNumber in any response or log', async () => {
  const secret = `PIN-${randomUUID()}`
  const kyc = { fullName: 'Ada', personalIdentificationNumber: secret }
  const created = await client.post('/v1/customers', { email: uniqueEmail(), kyc })
  const path = pathOf(success(created))
  const updated = await client.put(path, { kyc: { personalIdentificationNumber: `${secret}-2` } })
  success(updated)
  const answers = [created, updated, await client.get(path), await client.get('/v1/customers?limit=100')]
  for (const answer of answers) {
    assert.ok(!answer.text.includes(secret))
    assert.ok(!answer.text.includes('personalIdentificationNumber'))
  }
  assert.ok(!service.output().includes(secret), 'the log does not contain it')
})

test('200 to an update: a value sets a field, null clears it, and other fields are unchanged', async () => {
  const created = await createCustomer(client, { partnerCustomerIdentifier: 'before', kyc: fullKyc })
  const path = pathOf(created)
  const updated = success(await client.put(path, { kyc: { city: 'Paris', lei: null, uboFirstName5: null } }))
  assertShape(customerShape, updated)
  const { lei: _lei, uboFirstName5: _owner, ...rest } = fullKyc
  assert.deepEqual(kycOf(updated), { ...rest, city: 'Paris', customerType: kycOf(created).customerType })
  for (const field of ['guid', 'serviceId', 'createdAt', 'email', 'partnerCustomerIdentifier'])
    assert.equal(updated[field], created[field], field)
  assert.ok(textAt(updated, 'updatedAt') > textAt(created, 'updatedAt'), 'updatedAt is later')
  assert.deepEqual(success(await client.get(path)), updated)
  const cleared = success(await client.put(path, { partnerCustomerIdentifier: null }))
  assert.ok(!Object.hasOwn(cleared, 'partnerCustomerIdentifier'))
  assert.deepEqual(cleared.kyc, updated.kyc)
  const email = uniqueEmail()
  assert.equal(success(await client.put(`/v1/customers/${textAt(created, 'serviceId')}`, { email })).email, email)
})

test('200 to concurrent updates of different fields, and no update is lost', async () => {
  const path = pathOf(await createCustomer(client, { kyc: {} }))
  const names = kycTextFields.filter((name) => name.startsWith('ubo') || name === 'city' || name === 'legalName')
  const answers = await Promise.all(names.map((name) => client.put(path, { kyc: { [name]: name } })))
  for (const answer of answers) success(answer)
  const kyc = kycOf(success(await client.get(path)))
  for (const name of names) assert.equal(kyc[name], name)
})

test('200 to any text in lei, mobilePhone, website and taxId', async () => {
  const kyc = { lei: 'not an LEI', mobilePhone: 'call me', website: 'no url', taxId: '???' }
  const created = kycOf(await createCustomer(client, { kyc }))
  for (const [name, value] of Object.entries(kyc)) assert.equal(created[name], value)
})

const malformed: Readonly<Record<string, readonly string[]>> = {
  '/kyc/dateOfBirth': [
    '1815-13-01',
    '2023-02-29',
    '1900-02-29',
    '2024-04-31',
    '2024-2-3',
    '24-01-01',
    '2024-01-01T00:00:00Z',
    '01.02.2024',
    '2024-00-10',
  ],
  '/kyc/dateOfIncorporation': ['2024-01-32', 'today'],
  '/kyc/citizenshipCountryCode': ['XX', 'ZZ', 'gb', 'GBR', 'U1', 'UK', 'EU', '826'],
  '/kyc/countryOfIncorporation': ['AA', 'de'],
  '/kyc/countryOfPrincipalBusiness': ['QZ', 'fra'],
  '/email': ['nope', 'a@', '@b.cd', 'a b@c.de', 'a@b@c.de', 'a@.', 'a@b..de', `${'a'.repeat(250)}@b.de`, 'a@b.de\n'],
}
for (const [pointer, values] of Object.entries(malformed))
  test(`400 with ${pointer} when its format is invalid, at creation and at update; nothing changes`, async () => {
    const path = pathOf(await createCustomer(client))
    const before = success(await client.get(path))
    const count = (await listAll(client, '/v1/customers')).length
    for (const value of values) {
      const [, first = '', second] = pointer.split('/')
      const spoiled = second === undefined ? { [first]: value } : { kyc: { city: 'Rome', [second]: value } }
      for (const answer of [
        await client.post('/v1/customers', { partnerCustomerIdentifier: 'x', ...spoiled }),
        await client.put(path, { partnerCustomerIdentifier: 'x', ...spoiled }),
      ])
        assertProblem(answer, { status: 400, code: 'validation_failed', pointer })
    }
    assert.deepEqual(success(await client.get(path)), before)
    assert.equal((await listAll(client, '/v1/customers')).length, count)
  })

test('400 when an update has no field', async () => {
  assertProblem(await client.put(pathOf(await createCustomer(client)), {}), { status: 400, code: 'validation_failed' })
})

test('400 with a pointer when an update contains customerType, outside or inside kyc', async () => {
  const path = pathOf(await createCustomer(client))
  const expected = { status: 400, code: 'unknown_field' }
  assertProblem(await client.put(path, { customerType: 'Business' }), { ...expected, pointer: '/customerType' })
  const inside = { kyc: { customerType: 'Business' } }
  assertProblem(await client.put(path, inside), { ...expected, pointer: '/kyc/customerType' })
  assertProblem(await client.post('/v1/customers', inside), { ...expected, pointer: '/kyc/customerType' })
})

test('400 with a pointer when a sixth owner is given', async () => {
  const path = pathOf(await createCustomer(client))
  for (const name of ['uboFirstName6', 'uboLastName0']) {
    const answer = await client.put(path, { kyc: { [name]: 'Eve' } })
    assertProblem(answer, { status: 400, code: 'unknown_field', pointer: `/kyc/${name}` })
  }
})

test("404, the same for an unknown serviceId and for another partner's", async () => {
  const stranger = await otherPartner(service)
  const serviceId = textAt(await createCustomer(client), 'serviceId')
  const unknown = serviceId.replace(/.{4}$/, (end) => (end === '0000' ? '1111' : '0000'))
  for (const suffix of ['', '/account']) {
    const foreign = await stranger.get(`/v1/customers/${serviceId}${suffix}`)
    assertProblem(foreign, { status: 404, code: 'not_found' })
    assert.deepEqual(indistinct(foreign), indistinct(await stranger.get(`/v1/customers/${unknown}${suffix}`)))
  }
})

test('200 to the list with each filter', async () => {
  const partnerCustomerIdentifier = randomUUID()
  const email = uniqueEmail()
  const created = await createCustomer(client, { partnerCustomerIdentifier, email, customerType: 'SoleTrader' })
  for (const query of [`email=${email}`, `partnerCustomerIdentifier=${partnerCustomerIdentifier}`])
    assert.deepEqual(await listAll(client, '/v1/customers', `&${query}`), [created])
  const traders = await listAll(client, '/v1/customers', '&customerType=SoleTrader')
  assert.ok(traders.some((item) => item.guid === created.guid))
  for (const trader of traders) assert.equal(kycOf(trader).customerType, 'SoleTrader')
  for (const item of traders) assertShape(customerShape, item)
})

test('200 to the list by name, serviceId and time, also combined; 400 with a pointer to invalid values', async () => {
  const fullName = `Zoë Quillfeather ${randomUUID()}`
  const created = await createCustomer(client, { customerType: 'Individual', kyc: { fullName } })
  const [serviceId, createdAt] = [textAt(created, 'serviceId'), textAt(created, 'createdAt')]
  const nextMs = new Date(Date.parse(createdAt) + 1).toISOString()
  const found = async (query: string) => (await listAll(client, '/v1/customers', `&${query}`)).map(({ guid }) => guid)
  const hits = [
    'namePrefix=quill',
    'namePrefix=ZO%C3%8B%20QUILL',
    'namePrefix=zoe-quillfeather',
    `serviceId=${serviceId}`,
    `serviceId=${serviceId}&namePrefix=zoe`,
    `createdFrom=${createdAt}&createdTo=${nextMs}`,
    `updatedSince=${createdAt}`,
    `namePrefix=quillf&customerType=Individual&createdFrom=${createdAt}&updatedSince=${createdAt}`,
  ]
  for (const query of hits) assert.ok((await found(query)).includes(created.guid), query)
  const misses = [
    'namePrefix=uillfeather',
    'namePrefix=quillfx',
    'namePrefix=quill&customerType=Business',
    'serviceId=cus_0000000000000000',
    `namePrefix=quill&createdTo=${createdAt}`,
    `namePrefix=quill&createdFrom=${nextMs}`,
    'updatedSince=2999-01-01T00:00:00Z',
  ]
  for (const query of misses) assert.ok(!(await found(query)).includes(created.guid), query)
  const stranger = await otherPartner(service)
  assert.deepEqual(await listAll(stranger, '/v1/customers', '&namePrefix=quill'), [])
  for (const query of ['namePrefix=q', 'namePrefix=%20', `serviceId=x`, 'createdTo=now', 'updatedSince=2026-01-01'])
    assertProblem(await client.get(`/v1/customers?${query}`), { status: 400, pointer: `/query/${query.split('=')[0]}` })
})

test('200 to pages by change: the latest change first, each customer once, and a changed customer again', async () => {
  const since = textAt(await createCustomer(client), 'createdAt')
  const made = [await createCustomer(client), await createCustomer(client), await createCustomer(client)]
  const [oldest] = made
  assert.ok(oldest)
  success(await client.put(pathOf(oldest), { kyc: { city: 'Turin' } }))
  const query = `limit=1&updatedSince=${since}`
  const first = success(await client.get(`/v1/customers?${query}`))
  assert.equal(listAt(first)[0]?.guid, oldest.guid)
  const cursor = encodeURIComponent(textAt(first, 'nextCursor'))
  // It moves to the front, behind which no page goes back.
  success(await client.put(pathOf(oldest), { kyc: { city: 'Rome' } }))
  const second = listAt(success(await client.get(`/v1/customers?${query}&cursor=${cursor}`)))
  assert.equal(second[0]?.guid, made[2]?.guid)
  assertProblem(await client.get(`/v1/customers?cursor=${cursor}`), { status: 400, pointer: '/query/cursor' })
})

test('200 to the verification: a state for each field, and a code with a remediation where action is needed', async () => {
  const kyc = { fullName: 'Ada Lovelace', mobilePhone: 'call me', citizenshipCountryCode: 'GB' }
  const created = await createCustomer(client, { customerType: 'Individual', kyc })
  for (const path of [pathOf(created), `/v1/customers/${textAt(created, 'serviceId')}`]) {
    const answer = success(await client.get(`${path}/verification`))
    assert.deepEqual([answer.guid, answer.customerType, answer.state], [created.guid, 'Individual', 'Invalid'])
    const fields = listAt(answer, 'fields')
    assert.deepEqual(
      fields.map(({ field, state, code }) => [field, state, code].join(' ')),
      [
        'addressLine1 Missing field_required',
        'citizenshipCountryCode Valid ',
        'city Missing field_required',
        'dateOfBirth Missing field_required',
        'fullName Unchecked ',
        'mobilePhone Invalid phone_not_international',
      ],
    )
    for (const field of fields) assert.equal('remediation' in field, 'code' in field)
  }
  const stranger = await otherPartner(service)
  const theirs = await stranger.get(`${pathOf(created)}/verification`)
  assertProblem(theirs, { status: 404, code: 'not_found' })
  assert.deepEqual(indistinct(theirs), indistinct(await stranger.get(`/v1/customers/${randomUUID()}/verification`)))
})

test('200 to the history: the service account, the request, and each field before and after', async () => {
  const created = await createCustomer(client, { kyc: { city: 'Rome' } })
  const path = `${pathOf(created)}/history`
  const answer = await client.put(pathOf(created), { kyc: { city: 'Turin', personalIdentificationNumber: 'PIN-1' } })
  success(answer)
  const listed = await client.get(path)
  assert.ok(!listed.text.includes('PIN-1'))
  const [update, creation] = listAt(success(listed))
  assert.ok(update && creation)
  assert.deepEqual([update.sequence, update.kind, creation.sequence, creation.kind], [2, 'Updated', 1, 'Created'])
  assert.equal(update.requestId, answer.headers['x-request-id'])
  assert.deepEqual(Object.keys(objectAt(update, 'actor')), ['id', 'name'])
  assert.deepEqual(update.changes, [
    { field: 'kyc.city', before: 'Rome', after: 'Turin' },
    { field: 'kyc.personalIdentificationNumber', withheld: true },
  ])
  const stranger = await otherPartner(service)
  assertProblem(await stranger.get(path), { status: 404, code: 'not_found' })
})
