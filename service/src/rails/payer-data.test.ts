/** Pure: what payments lack about their payers, by where the other bank is and by the amount. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { commonNames, countriesWithNames } from '../screening/corpus/common-names.ts'
import { bankKeyOf, debtorLacks, type PayerData, payerLacks, payerRegionOf } from './index.ts'

const person: PayerData = {
  ...{ isPerson: true, name: 'Ada Lovelace', account: null, customerNumber: 'cus_0123456789abcdef', lei: null },
  address: { lines: [], postCode: null, town: null, country: null },
  documentNumber: null,
}
const address = { ...person.address, town: 'Berlin', country: 'DE' }

test('where a bank is follows from its BIC, or from the account, and an unknown one is outside', () => {
  const inside = [
    ['NL91ABNA0417164300', null],
    ['IS140159260076545510730339', null],
    ['FR1420041010050500013M02606', 'BNPAGPGX'],
  ] as const
  const outside = [
    ['CH9300762011623852957', null],
    ['GB29NWBK60161331926819', null],
    ['USABA021000021/123456789', null],
    ['FR1420041010050500013M02606', 'BNPANCNX'],
    ['', null],
    ['0123', ''],
  ] as const
  assert.deepEqual(new Set(inside.map(([account, bic]) => payerRegionOf(account, bic))), new Set(['inside']))
  assert.deepEqual(new Set(outside.map(([account, bic]) => payerRegionOf(account, bic))), new Set(['outside']))
  assert.deepEqual(
    [bankKeyOf('NL91ABNA0417164300', ''), bankKeyOf('DE89370400440532013000', ''), bankKeyOf('', 'NWBKGB2LXXX')],
    ['NLABNA', 'DE37040044', 'NWBKGB2L'],
  )
  assert.equal(bankKeyOf('123', ''), '')
})

test('a payment inside needs a name, one outside above 1,000 euros an address and the document of a person', () => {
  const lacks = (payer: PayerData, region: 'inside' | 'outside', amount = 1_000_01n, currency: 'EUR' | 'USD' = 'EUR') =>
    payerLacks(payer, { region, amount, currency })
  assert.deepEqual(lacks(person, 'inside'), [])
  assert.deepEqual(lacks({ ...person, name: null }, 'inside'), ['name'])
  assert.deepEqual(lacks(person, 'outside', 1_000_00n), [])
  assert.deepEqual(lacks(person, 'outside'), ['address', 'document'])
  // Another currency cannot be compared with the limit.
  assert.deepEqual(lacks(person, 'outside', 1n, 'USD'), ['address', 'document'])
  assert.deepEqual(lacks({ ...person, address: { ...address, country: null } }, 'outside'), ['address', 'document'])
  assert.deepEqual(lacks({ ...person, address, documentNumber: 'T22000129' }, 'outside'), [])
  assert.deepEqual(lacks({ ...person, isPerson: false, address }, 'outside'), [])
})

test('words and signs that stand in the place of a name count as no name, and names of twelve countries as names', () => {
  const debtor = { account: 'NL91ABNA0417164300', bic: '', countryCode: 'NL', address: null }
  const lacks = (name: string) => debtorLacks({ ...debtor, name }, { currency: 'EUR', amount: 1n })
  const fillers = ['', ' ', '-', '...', 'X', 'XXXXX', 'xxx xxx', '0000', 'N/A', 'n.a.', 'NOTPROVIDED', 'Not provided']
  const more = [
    'unknown',
    'Our customer',
    'ONE OF OUR CUSTOMERS',
    'Kunde',
    'customer',
    'asdfgh',
    'qwerty',
    'Anonymous',
    'None',
  ]
  for (const name of [...fillers, ...more]) assert.deepEqual(lacks(name), ['name'], name)
  const names = [
    'Li',
    'Bo Li',
    'Ng',
    'Kundera',
    'Testa',
    'Unknown Pleasures Ltd',
    'Customer First BV',
    '李娜',
    'محمد',
    'Nil Yalter',
  ]
  for (const name of names) assert.deepEqual(lacks(name), [], name)
  const common = countriesWithNames.flatMap((country) => commonNames(country, 7, 80))
  assert.equal(common.length, 12 * 200)
  assert.deepEqual(
    common.filter((name) => lacks(name).length > 0),
    [],
  )
})
