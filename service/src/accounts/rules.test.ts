import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isValidIBAN } from 'ibantools'
import {
  numberBounds,
  composeIban,
  defaultIssuers,
  sortByConfiguredOrder,
  type Issuer,
  findIssuersProblem,
  issuingCountries,
  findIssuerOverlap,
} from './rules.ts'

const shapes: Readonly<Record<string, readonly [letters: number, digits: number]>> = {
  AT: [0, 5],
  BE: [0, 3],
  DE: [0, 8],
  ES: [0, 8],
  FR: [0, 10],
  GB: [4, 6],
  IE: [4, 6],
  LT: [0, 5],
  LU: [0, 3],
  NL: [4, 0],
}

const capitals = Array.from('ABCDEFGHIJKLMNOPQRSTUVWXYZ')
const text = (chars: readonly string[], length: number) =>
  fc.array(fc.constantFrom(...chars), { minLength: length, maxLength: length }).map((all) => all.join(''))

const issuerOf = (country: string): fc.Arbitrary<Issuer> => {
  const [letters, digits] = shapes[country] ?? [0, 0]
  return fc
    .tuple(text(capitals, letters), text(Array.from('0123456789'), digits))
    .map(([bank, branch]) => ({ country, bankCode: `${bank}${branch}` }))
}

const anyNumber = fc
  .constantFrom(...issuingCountries)
  .chain(issuerOf)
  .chain((issuer) =>
    fc.tuple(
      fc.constant(issuer),
      fc.maxSafeNat().map((nat) => nat % numberBounds(issuer).endIndex),
    ),
  )

test('the table of this test has every issuing country', () => {
  assert.deepEqual(Object.keys(shapes), [...issuingCountries])
})

test('ibantools accepts every IBAN with its national check digits, and finds the bank code', () => {
  fc.assert(
    fc.property(anyNumber, ([issuer, index]) => {
      const iban = composeIban(issuer, index)
      assert(isValidIBAN(iban), iban)
      assert.equal(iban.slice(4, 4 + issuer.bankCode.length), issuer.bankCode)
    }),
    { numRuns: 2000 },
  )
})

test('different indexes give different IBANs', () => {
  for (const country of issuingCountries) {
    const [issuer] = fc.sample(issuerOf(country), { numRuns: 1, seed: 7 })
    assert(issuer)
    const last = numberBounds(issuer).endIndex
    const indexes = [...Array.from({ length: 2500 }, (_, at) => at), last - 2, last - 1]
    assert.equal(new Set(indexes.map((index) => composeIban(issuer, index))).size, indexes.length, country)
    assert.throws(() => composeIban(issuer, 10 ** 14), { name: 'AssertionFailure' })
  }
})

test('the check digits of the example numbers match the IBAN registry', () => {
  assert.equal(composeIban({ country: 'DE', bankCode: '37040044' }, 532_013_000 - 1), 'DE89370400440532013000')
  assert.equal(composeIban({ country: 'GB', bankCode: 'NWBK601613' }, 31_926_819 - 1), 'GB29NWBK60161331926819')
  assert.equal(composeIban({ country: 'ES', bankCode: '21000418' }, 200_051_332 - 1), 'ES9121000418450200051332')
  assert.equal(composeIban({ country: 'BE', bankCode: '539' }, 75_470 - 1), 'BE68539007547034')
  assert.equal(composeIban({ country: 'NL', bankCode: 'ABNA' }, 4_171_643 - 1).slice(4, 16), 'ABNA04171643')
})

test('every Dutch number passes the 11-test', () => {
  fc.assert(
    fc.property(fc.nat(99_999_998), (index) => {
      const digits = Array.from(composeIban({ country: 'NL', bankCode: 'ABNA' }, index).slice(8), Number)
      assert.equal(digits.reduce((sum, digit, at) => sum + digit * (10 - at), 0) % 11, 0)
    }),
  )
})

test('a wrong configuration of issuers is described by an error', () => {
  assert.equal(findIssuersProblem(defaultIssuers), undefined)
  const de = { country: 'DE', bankCode: '99900001' }
  assert.equal(findIssuersProblem([]), undefined)
  assert.match(findIssuersProblem([{ country: 'NO', bankCode: '1234' }]) ?? '', /no IBANs can be issued in NO/)
  assert.match(findIssuersProblem([{ country: 'constructor', bankCode: '1234' }]) ?? '', /no IBANs/)
  assert.match(findIssuersProblem([{ ...de, bankCode: '9990000' }]) ?? '', /0 letters and 8 digits/)
  assert.match(findIssuersProblem([de, { ...de, bankCode: '99900002' }]) ?? '', /DE is configured twice/)
  for (const last of [0, -1, 1.5, Number.NaN, 10 ** 10])
    assert.match(findIssuersProblem([{ ...de, last }]) ?? '', /account numbers of DE are from 1 to 9999999999/)
  for (const first of [0, -1, 1.5, 10 ** 10 + 1])
    assert.match(findIssuersProblem([{ ...de, first }]) ?? '', /account numbers/)
  assert.match(findIssuersProblem([{ ...de, first: 2001, last: 1000 }]) ?? '', /first to last/)
  assert.match(findIssuersProblem([{ ...de, first: 1500 }]) ?? '', /begins at 1, 1001, 2001/)
})

test('issuers that share an account number overlap', () => {
  const range = (first: number, last?: number, bankCode = '99900001'): Issuer => ({
    country: 'DE',
    bankCode,
    first,
    ...(last === undefined ? {} : { last }),
  })
  assert.equal(findIssuerOverlap([range(1, 1000), range(1001, 2000), range(2001)]), undefined)
  assert.equal(findIssuerOverlap([range(1), range(1, undefined, '99900002')]), undefined)
  for (const pair of [
    [range(1, 1001), range(1001, 2000)],
    [range(1001, 2000), range(1, 1001)],
    [range(1), range(5001)],
    [range(1), range(1)],
  ])
    assert.match(findIssuerOverlap(pair) ?? '', /^DE:99900001: the numbers \d+-\d+ overlap with \d+-\d+$/)
})

test('IBANs are listed in the configured order, then the IBANs of countries that are no longer configured', () => {
  const rows = ['LT', 'DE', 'FR', 'GB', 'ES'].map((country) => ({ country }))
  assert.deepEqual(
    sortByConfiguredOrder(['GB', 'DE', 'LT'], rows).map(({ country }) => country),
    ['GB', 'DE', 'LT', 'FR', 'ES'],
  )
})
