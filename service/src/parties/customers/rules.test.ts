/** Rules of customers: fields, names and tax ids. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Refusal } from '../../kernel/api/index.ts'
import { deriveType, isCalendarDate, type KycInput, mergeKyc, refuseBadKyc, refuseEmptyCreate } from './rules.ts'
import { nameToken, normaliseName, customerPrefixes, searchedPrefix } from './name-index.ts'
import { checkTaxId, mod97, type TaxPayer } from './verification.ts'

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

test('a date is valid if and only if the runtime reads it and writes the same date', () => {
  const two = (number: number) => String(number).padStart(2, '0')
  fc.assert(
    fc.property(fc.integer({ min: 1000, max: 9999 }), fc.nat(15), fc.nat(33), (year, month, day) => {
      const text = `${year}-${two(month)}-${two(day)}`
      const instant = new Date(Date.UTC(year, month - 1, day))
      assert.equal(isCalendarDate(text), instant.toISOString().startsWith(text))
    }),
  )
})

test('one refusal lists all wrong fields', () => {
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

test('a date is in the future until its day begins in UTC+14', () => {
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

test('a normalised name has Latin letters, digits and single spaces', () => {
  for (const [name, expected] of [
    ['  Müller-Østby,  Jørgen ', 'muller ostby jorgen'],
    ['Müller', 'muller'],
    ['STRAẞE', 'strasse'],
    ["O'Brien & Söhne GmbH", 'o brien sohne gmbh'],
    ['Łukasz Żółć', 'lukasz zolc'],
    ['Иван', 'ivan'],
    ['İstanbul', 'istanbul'],
    ['---', ''],
  ] as const)
    assert.equal(normaliseName(name), expected, name)
  assert.equal(normaliseName('Zoe\u0308'), normaliseName('Zo\u00eb'), 'composed or not')
})

test('the prefixes of a name begin at each of its words and have 2 to 12 characters', () => {
  assert.deepEqual([...customerPrefixes({ fullName: 'Ada Lo' })].toSorted(), ['ad', 'ada', 'ada l', 'ada lo', 'lo'])
  const long = customerPrefixes({ legalName: 'Analytical Engines' })
  assert.deepEqual([long.includes('analytical e'), long.includes('analytical en')], [true, false])
  assert.deepEqual(customerPrefixes({}), [])
  assert.deepEqual(customerPrefixes({ fullName: 'X', city: 'London', uboLastName1: 'Byron' }), [])
  assert.deepEqual(customerPrefixes({ fullName: 'Ada', tradingName: 'ADA' }).toSorted(), ['ad', 'ada'])
})

test('a name of the maximum length has a limited number of prefixes', () => {
  const name = 'ab '.repeat(46).trim()
  assert.ok(customerPrefixes({ fullName: name, legalName: name, tradingName: name }).length <= 8 * 11)
})

test('a search finds a name by the beginning of each of its words, and by no other text', () => {
  const prefixes = customerPrefixes({ fullName: 'Augusta Ada King-Noël' })
  for (const text of ['aug', 'AUGUSTA ADA', 'ada k', 'king noe', 'Noël', 'king-noel', 'Augusta Ada King', 'ada '])
    assert.ok(prefixes.includes(searchedPrefix(text) ?? ''), text)
  for (const text of ['gusta', 'ada n', 'augusta king']) assert.ok(!prefixes.includes(searchedPrefix(text) ?? ''), text)
  for (const text of ['a', ' - ', '', 'é']) assert.equal(searchedPrefix(text), undefined)
})

test('a token is a signed number of 64 bits that depends on the key', () => {
  const [one, two] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
  assert.equal(nameToken(one, 'ada'), nameToken(one, 'ada'))
  assert.notEqual(nameToken(one, 'ada'), nameToken(two, 'ada'))
  assert.notEqual(nameToken(one, 'ada'), nameToken(one, 'adb'))
  assert.equal(BigInt.asIntN(64, BigInt(nameToken(one, 'ada'))).toString(), nameToken(one, 'ada'))
})

/** Example numbers of tax offices and public registers. */
const valid: Readonly<Record<string, readonly (readonly [TaxPayer, string])[]>> = {
  AT: [
    ['person', '59-119/9013'],
    ['business', 'ATU13585627'],
  ],
  BE: [
    ['person', '85.07.30-033 28'],
    ['business', 'BE 0428.759.497'],
    ['business', '428759497'],
  ],
  DE: [
    ['person', '86 095 742 719'],
    ['person', '47036892816'],
    ['business', 'DE136695976'],
  ],
  ES: [
    ['person', '54362315-K'],
    ['person', 'X-2482300W'],
    ['business', 'J99216582'],
    ['business', 'N0032484H'],
  ],
  FR: [
    ['person', '30 23 217 600 053'],
    ['business', '732 829 320'],
    ['business', 'FR 40 303 265 045'],
  ],
  GB: [
    ['person', '1955839661'],
    ['business', 'GB 980 7806 84'],
  ],
  IT: [
    ['person', 'RCCMNL83S18D969H'],
    ['business', 'IT 00743110157'],
  ],
  NL: [
    ['person', '1112.22.333'],
    ['business', 'NL004495445B01'],
  ],
  PL: [
    ['person', '44051401359'],
    ['business', 'PL 856-734-62-15'],
  ],
  PT: [
    ['person', '501 964 843'],
    ['business', 'PT501964843'],
  ],
}

test('valid numbers of every country with a rule are valid, also with separators', () => {
  for (const [country, numbers] of Object.entries(valid))
    for (const [payer, number] of numbers) {
      assert.equal(checkTaxId(number, country, payer), 'valid', `${country} ${number}`)
      assert.equal(checkTaxId(number.toLowerCase(), country, payer), 'valid')
    }
})

test('a number with another last character fails its check', () => {
  for (const [country, numbers] of Object.entries(valid))
    for (const [payer, number] of numbers) {
      const last = number.at(-1) ?? ''
      const other = /\d/.test(last) ? String((Number(last) + 1) % 10) : last === 'A' ? 'B' : 'A'
      const verdict = checkTaxId(`${number.slice(0, -1)}${other}`, country, payer)
      // The last two digits of a Dutch number count the businesses of an owner.
      if (number !== 'NL004495445B01') assert.equal(verdict, 'check_digits', `${country} ${number} -> ${other}`)
    }
})

test('a number in another form is refused, and a number of a country without a rule is not checked', () => {
  for (const country of Object.keys(valid))
    for (const text of ['???', '', '12', 'ABCDEFGHIJKLMNOPQ'])
      assert.equal(checkTaxId(text, country, 'business'), 'format')
  assert.equal(checkTaxId('86095742719', 'DE', 'business'), 'format', 'the number of a person')
  for (const country of ['US', 'ZZ', undefined]) assert.equal(checkTaxId('12-3456789', country, 'business'), undefined)
})

test('the remainder of MOD 97-10 equals the remainder of the whole number', () => {
  for (const text of ['529900T8BM49AURSDO55', '0', '97', 'Z9Z9'])
    assert.equal(
      mod97(text),
      Number(
        BigInt(
          Array.from(text)
            .map((character) => Number.parseInt(character, 36))
            .join(''),
        ) % 97n,
      ),
    )
})
