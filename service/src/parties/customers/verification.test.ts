import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kycFields, verificationCodes } from '@partner-payments/wire'
import type { CustomerType, KycFields } from './rules.ts'
import { verify } from './verification.ts'

const now = new Date('2026-03-01T12:00:00.000Z')

/** `field state code` of every field in the answer, or of one. */
function verdicts(kyc: KycFields, customerType: CustomerType = 'Individual', only?: keyof KycFields, at = now) {
  return verify(kyc, customerType, at)
    .fields.filter(({ field }) => only === undefined || field === only)
    .map(({ field, state, code }) => [field, state, ...(code === undefined ? [] : [code])].join(' '))
}

const person: KycFields = {
  addressLine1: '12 St James Square',
  citizenshipCountryCode: 'GB',
  city: 'London',
  dateOfBirth: '1990-12-10',
  fullName: 'Ada Lovelace',
}
const trader: KycFields = {
  ...person,
  countryOfPrincipalBusiness: 'GB',
  natureOfBusiness: 'Repairs engines',
  taxId: '1955839661',
}
const business: KycFields = {
  addressLine1: 'Hauptstr. 1',
  city: 'Berlin',
  countryOfIncorporation: 'DE',
  dateOfIncorporation: '2001-05-05',
  legalForm: 'GmbH',
  legalName: 'Analytical Engines GmbH',
  natureOfBusiness: 'Builds engines',
  registrationNumber: 'HRB 1',
  taxId: 'DE136695976',
  uboFirstName1: 'Ada',
  uboLastName1: 'Lovelace',
}
const complete = { Individual: person, SoleTrader: trader, Business: business } as const
const types = ['Individual', 'SoleTrader', 'Business'] as const

test('a field of spaces is missing', () => {
  assert.deepEqual(verdicts({ ...person, fullName: ' \t', lei: ' ' }, 'Individual', 'fullName'), [
    'fullName Missing field_required',
  ])
  assert.deepEqual(verify({ ...person, lei: ' ' }, 'Individual', now), verify(person, 'Individual', now))
  assert.equal(verify({ ...person, residenceAddress: ' ', city: ' ' }, 'Individual', now).state, 'Incomplete')
})

for (const type of types)
  test(`what a customer of type ${type} needs is complete, and each field without it incomplete`, () => {
    const kyc = complete[type]
    assert.deepEqual([verify(kyc, type, now).state, verify({}, type, now).state], ['Complete', 'Incomplete'])
    assert.equal(verify(kyc, type, now).fields.length, Object.keys(kyc).length)
    for (const field of Object.keys(kyc) as (keyof KycFields)[]) {
      const { [field]: _left, ...rest } = kyc
      const code = field.startsWith('ubo') ? 'owner_incomplete' : 'field_required'
      assert.deepEqual(verdicts(rest, type, field), [`${field} Missing ${code}`])
      assert.equal(verify(rest, type, now).state, 'Incomplete')
    }
    assert.deepEqual(
      verify({}, type, now).fields.map(({ field }) => field),
      Object.keys(kyc).toSorted(),
    )
  })

test('a residential address on one line replaces the postal address', () => {
  const { addressLine1: _line, city: _city, ...rest } = person
  assert.equal(verify({ ...rest, residenceAddress: '12 St James Square, London' }, 'Individual', now).state, 'Complete')
})

test('the answer has the fields in the order of the document, each refusal with its remediation', () => {
  const kyc = { ...business, lei: 'x', website: 'y', mobilePhone: 'z', taxId: '?', dateOfBirth: '2026-03-02' }
  const { state, fields } = verify(kyc, 'Business', now)
  assert.equal(state, 'Invalid')
  assert.deepEqual(
    fields.map(({ field }) => field),
    kycFields.filter((field) => field in kyc),
  )
  for (const { code, remediation } of fields)
    assert.equal(remediation, code === undefined ? undefined : verificationCodes[code])
})

/** Value, and the verdict. */
const cases: Readonly<Partial<Record<keyof KycFields, readonly (readonly [string, string])[]>>> = {
  lei: [
    ['529900T8BM49AURSDO55', 'Valid'],
    ['529900t8bm49 aursdo55', 'Valid'],
    ['529900T8BM49AURSDO56', 'Invalid lei_check_digits'],
    ['529900T8BM49AURSOD55', 'Invalid lei_check_digits'],
    ['529900T8BM49AURSDO5', 'Invalid lei_format'],
    ['529900T8BM49AURSDOAA', 'Invalid lei_format'],
    ['not an LEI', 'Invalid lei_format'],
  ],
  mobilePhone: [
    ['+44 7911 123456', 'Valid'],
    ['0044 7911 123456', 'Valid'],
    ['+49 1512 3456789', 'Valid'],
    ['+1 555 123 4567', 'Invalid phone_invalid'],
    ['+44 20 7946 0958', 'Invalid phone_not_mobile'],
    ['07911 123456', 'Invalid phone_not_international'],
    ['+999 123 4567', 'Invalid phone_invalid'],
    ['+44 7911', 'Invalid phone_invalid'],
    ['call me', 'Invalid phone_not_international'],
  ],
  website: [
    ['https://www.example.com/shop?a=1', 'Valid'],
    ['example.co.uk', 'Valid'],
    ['HTTP://EXAMPLE.COM', 'Valid'],
    ['https://müller.de', 'Valid'],
    ['ftp://example.com', 'Invalid website_invalid'],
    ['javascript:alert(1)', 'Invalid website_invalid'],
    ['https://localhost', 'Invalid website_invalid'],
    ['https://10.0.0.1', 'Invalid website_invalid'],
    ['https://user:secret@example.com', 'Invalid website_invalid'],
    ['no url', 'Invalid website_invalid'],
    ['shop', 'Invalid website_invalid'],
  ],
  dateOfBirth: [
    ['2008-03-01', 'Valid'],
    ['2008-03-02', 'Invalid under_age'],
    ['2026-03-01', 'Invalid under_age'],
    ['2026-03-02', 'Invalid date_in_future'],
    ['1906-03-01', 'Valid'],
    ['1905-03-01', 'Invalid age_impossible'],
    ['1815-12-10', 'Invalid age_impossible'],
  ],
  dateOfIncorporation: [
    ['2026-03-01', 'Valid'],
    ['0578-01-01', 'Valid'],
    ['2026-03-02', 'Invalid date_in_future'],
  ],
  citizenshipCountryCode: [['GB', 'Valid']],
  fullName: [['Ada', 'Unchecked']],
  personalIdentificationNumber: [['QQ123456C', 'Unchecked']],
}
for (const [name, values] of Object.entries(cases))
  test(`${name} by its rule`, () => {
    const field = name as keyof KycFields
    for (const [value, expected] of values)
      assert.deepEqual(verdicts({ [field]: value }, 'Individual', field), [`${field} ${expected}`], value)
  })

test('a person born on 29 February is 18 on 1 March', () => {
  const field = 'dateOfBirth'
  const kyc = { dateOfBirth: '2008-02-29' }
  assert.deepEqual(verdicts(kyc, 'Individual', field, new Date('2026-02-28T23:59:59.999Z')), [
    'dateOfBirth Invalid under_age',
  ])
  assert.deepEqual(verdicts(kyc, 'Individual', field, new Date('2026-03-01T00:00:00.000Z')), ['dateOfBirth Valid'])
})

test('a business of a person is not older than the person; that of others may be', () => {
  const kyc = { dateOfBirth: '1990-01-01', dateOfIncorporation: '1989-12-31' }
  const field = 'dateOfIncorporation'
  assert.deepEqual(verdicts(kyc, 'SoleTrader', field), ['dateOfIncorporation Invalid incorporated_before_birth'])
  assert.deepEqual(verdicts(kyc, 'Business', field), ['dateOfIncorporation Valid'])
})

test('the tax number of a business has the rule of its country; a person may pay taxes elsewhere', () => {
  const field = 'taxId'
  const of = (kyc: KycFields, type: CustomerType) => verdicts(kyc, type, field)[0]?.slice('taxId '.length)
  const [right, wrong] = ['DE136695976', 'DE136695977']
  assert.equal(of({ taxId: right, countryOfIncorporation: 'DE' }, 'Business'), 'Valid')
  assert.equal(of({ taxId: wrong, countryOfIncorporation: 'DE' }, 'Business'), 'Invalid tax_id_check_digits')
  assert.equal(of({ taxId: '???', countryOfIncorporation: 'DE' }, 'Business'), 'Invalid tax_id_format')
  assert.equal(of({ taxId: '???', countryOfIncorporation: 'US' }, 'Business'), 'Unchecked')
  assert.equal(of({ taxId: '???' }, 'Business'), 'Unchecked')
  assert.equal(of({ taxId: '86095742719', citizenshipCountryCode: 'DE' }, 'Individual'), 'Valid')
  assert.equal(of({ taxId: '86095742718', citizenshipCountryCode: 'DE' }, 'Individual'), 'Unchecked')
  assert.equal(of({ taxId: '86095742719', countryOfPrincipalBusiness: 'DE' }, 'SoleTrader'), 'Valid')
  assert.equal(of({ taxId: right, countryOfPrincipalBusiness: 'DE' }, 'SoleTrader'), 'Valid')
  assert.equal(of({ taxId: wrong, countryOfPrincipalBusiness: 'DE' }, 'SoleTrader'), 'Invalid tax_id_check_digits')
})

test('owners have both names, no gap and no duplicate', () => {
  const owners = (kyc: KycFields) =>
    verdicts({ ...business, ...kyc }, 'Business').filter((text) => text.startsWith('ubo'))
  const first = ['uboFirstName1 Unchecked', 'uboLastName1 Unchecked']
  const [firstName = '', lastName = ''] = first
  assert.deepEqual(owners({ uboFirstName2: 'Grace' }), [
    firstName,
    'uboFirstName2 Unchecked',
    lastName,
    'uboLastName2 Missing owner_incomplete',
  ])
  assert.deepEqual(owners({ uboFirstName3: 'Grace', uboLastName3: 'Hopper' }), [
    firstName,
    'uboFirstName3 Invalid owner_gap',
    lastName,
    'uboLastName3 Invalid owner_gap',
  ])
  assert.deepEqual(owners({ uboFirstName2: ' ada', uboLastName2: 'LOVELACE' }), [
    firstName,
    'uboFirstName2 Invalid owner_duplicate',
    lastName,
    'uboLastName2 Invalid owner_duplicate',
  ])
  const five = [2, 3, 4, 5].flatMap((n) => [
    [`uboFirstName${n}`, `First ${n}`],
    [`uboLastName${n}`, 'Last'],
  ])
  assert.equal(verify({ ...business, ...Object.fromEntries(five) }, 'Business', now).state, 'Complete')
})
