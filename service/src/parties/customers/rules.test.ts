import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Refusal } from '../../kernel/api/index.ts'
import { deriveType, isCalendarDate, type KycInput, mergeKyc, refuseBadKyc, refuseEmptyCreate } from './rules.ts'

const now = new Date('2026-03-01T12:00:00.000Z')

function pointersOf(input: KycInput, at = now): readonly string[] {
  try {
    refuseBadKyc(input, at)
    return []
  } catch (error) {
    assert(error instanceof Refusal)
    assert.equal(error.code, 'validation_failed')
    return error.errors.map(({ pointer, code }) => `${pointer} ${code}`)
  }
}

test('only calendar dates in the form YYYY-MM-DD are valid', () => {
  for (const date of ['2024-02-29', '2000-02-29', '1999-12-31', '0001-01-01']) assert(isCalendarDate(date), date)
  for (const date of ['2023-02-29', '2023-02-30', '1900-02-29', '2023-04-31', '2023-13-01', '2023-00-10', '2023-01-00'])
    assert(!isCalendarDate(date), date)
  for (const date of ['0000-01-01', '2023-1-1', '20230101', '2023-01-01T00:00:00Z', ''])
    assert(!isCalendarDate(date), date)
})

test('a date is valid exactly if the runtime reads it and writes the same date', () => {
  const two = (number: number) => String(number).padStart(2, '0')
  fc.assert(
    fc.property(fc.integer({ min: 1000, max: 9999 }), fc.nat(15), fc.nat(33), (year, month, day) => {
      const text = `${year}-${two(month)}-${two(day)}`
      const instant = new Date(Date.UTC(year, month - 1, day))
      assert.equal(isCalendarDate(text), instant.toISOString().startsWith(text))
    }),
  )
})

test('one refusal names all bad fields', () => {
  assert.deepEqual(
    pointersOf({
      dateOfBirth: '2023-02-30',
      dateOfIncorporation: '2027-01-01',
      citizenshipCountryCode: 'UK',
      countryOfIncorporation: 'ZZ',
      countryOfPrincipalBusiness: 'DE',
      fullName: 'Ada',
    }),
    [
      '/kyc/dateOfBirth invalid_value',
      '/kyc/dateOfIncorporation out_of_range',
      '/kyc/citizenshipCountryCode invalid_value',
      '/kyc/countryOfIncorporation invalid_value',
    ],
  )
  assert.deepEqual(pointersOf({ dateOfBirth: null, citizenshipCountryCode: null }), [])
})

test('today is valid from the time when the day begins in UTC+14', () => {
  assert.deepEqual(pointersOf({ dateOfIncorporation: '2026-03-02' }), [])
  assert.deepEqual(pointersOf({ dateOfIncorporation: '2026-03-03' }), ['/kyc/dateOfIncorporation out_of_range'])
  const early = new Date('2026-03-01T09:59:59.999Z')
  assert.deepEqual(pointersOf({ dateOfBirth: '2026-03-02' }, early), ['/kyc/dateOfBirth out_of_range'])
})

test('a merge sets given fields, clears null and keeps the other fields', () => {
  const kept = { fullName: 'Ada', city: 'London' }
  assert.deepEqual(mergeKyc(kept, { city: null, taxId: '1' }), { fullName: 'Ada', taxId: '1' })
  assert.deepEqual(mergeKyc(kept, undefined), kept)
  assert.deepEqual(mergeKyc(kept, {}), kept)
  assert.deepEqual(mergeKyc(kept, null), {})
})

test('the type of a customer is derived from the given fields', () => {
  assert.equal(deriveType({}), 'Individual')
  assert.equal(deriveType({ fullName: 'Ada' }), 'Individual')
  assert.equal(deriveType({ fullName: 'Ada', tradingName: 'Engines' }), 'SoleTrader')
  assert.equal(deriveType({ fullName: 'Ada', tradingName: 'Engines', legalName: 'Engines Ltd' }), 'Business')
  for (const field of ['registrationNumber', 'countryOfIncorporation', 'legalForm', 'uboLastName1'])
    assert.equal(deriveType({ [field]: 'x' }), 'Business', field)
})

test('a customer needs an email, an identifier or a KYC field', () => {
  for (const empty of [{}, { email: null }, { kyc: {} }, { kyc: null }, { kyc: { city: null } }])
    assert.throws(() => refuseEmptyCreate(empty), Refusal, JSON.stringify(empty))
  assert.throws(() => refuseEmptyCreate({ customerType: 'Business' }), Refusal)
  for (const given of [{ email: 'a@b.c' }, { partnerCustomerIdentifier: '1' }, { kyc: { city: 'Ulm' } }])
    refuseEmptyCreate(given)
})
