/** Requirements of payments, by corridor and day: the day before each rule, its day, and who is not concerned. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  addressText,
  holdsOn,
  lackingOf,
  lackingText,
  type RequiredPayee,
  requirements,
  requirementsOf,
} from './index.ts'

const address = { city: 'New York', country: 'US' }
const american: RequiredPayee = {
  ...{ currency: 'USD', account: 'USABA021000021/123456789', bic: null, country: 'US', address: null },
}
const german: RequiredPayee = { ...american, currency: 'EUR', account: 'DE89370400440532013000', country: 'DE' }
const fieldsOf = (payee: RequiredPayee, day: string, profile?: string) =>
  lackingOf(payee, day, profile)
    .filter((one) => holdsOn(one, day))
    .map(({ field }) => field)

test('each requirement has a source, a known field, and days that are dates', () => {
  const fields =
    /^(address(\.(streetName|buildingNumber|postalCode|city|state|country|lines))?|bic|accountType|purpose)$/
  for (const { field, source, from, until } of requirements) {
    assert.match(field, fields)
    assert.ok(source.length > 20, field)
    for (const day of [from, until].filter((each) => each !== undefined))
      assert.equal(Temporal.PlainDate.from(day).toString(), day)
  }
})

test('a payee abroad needs a city and a country from 14 November 2026 on, and one within SEPA never', () => {
  assert.deepEqual(fieldsOf(american, '2026-11-13'), [])
  assert.deepEqual(
    lackingOf(american, '2026-11-13').map(({ field, from }) => [field, from]),
    [
      ['address.city', '2026-11-14'],
      ['address.country', '2026-11-14'],
    ],
  )
  assert.deepEqual(fieldsOf(american, '2026-11-14'), ['address.city', 'address.country'])
  assert.deepEqual(fieldsOf({ ...american, address }, '2026-11-14'), [])
  assert.deepEqual(
    fieldsOf({ ...american, currency: 'GBP', account: 'GBDSC200000/55779911', country: 'GB' }, '2026-11-29'),
    ['address.city', 'address.country'],
  )
  assert.deepEqual([fieldsOf(german, '2026-11-29'), lackingOf(german, '2020-01-01')], [[], []])
  assert.deepEqual(fieldsOf({ ...german, account: 'CH9300762011623852957', country: 'CH' }, '2026-11-29'), [])
})

test('an account outside SEPA needs a BIC, one at a bank of two profiles also in other currencies, and a domestic account none', () => {
  const saudi = { ...german, account: 'SA0380000000608010167519', country: 'SA', address }
  assert.deepEqual(fieldsOf(saudi, '2020-01-01'), ['bic'])
  assert.deepEqual(fieldsOf({ ...saudi, bic: 'RJHISARI' }, '2026-11-29'), [])
  // A French IBAN at a bank in New Caledonia is outside SEPA.
  const french = { ...german, account: 'FR1420041010050500013M02606', country: 'FR', bic: 'BNPANCNX' }
  assert.deepEqual(fieldsOf(french, '2026-11-29'), ['address.city', 'address.country'])
  const pounds = { ...saudi, currency: 'GBP', account: 'GB29NWBK60161331926819', country: 'GB' } as const
  const swiss = { ...pounds, account: 'CH9300762011623852957', country: 'CH' }
  assert.deepEqual(
    [undefined, 'epc-09', 'sps-09', 'cgi-09'].map((id) => fieldsOf(pounds, '2026-11-29', id)),
    [[], [], ['bic'], ['bic']],
  )
  assert.deepEqual(
    ['sps-09', 'cgi-09'].map((id) => fieldsOf(swiss, '2026-11-29', id)),
    [[], ['bic']],
  )
  assert.deepEqual(
    ['sps-09', 'cgi-09'].map((id) => fieldsOf({ ...american, address }, '2026-11-29', id)),
    [[], []],
  )
})

test('the list of a corridor has what holds and what begins later, each once, and tokens need nothing', () => {
  const listed = (corridor: Parameters<typeof requirementsOf>[0], day: string) =>
    requirementsOf(corridor, day).map(({ party, field, rule, from }) => [party, field, rule, from].join(' ').trim())
  const dollars = listed({ currency: 'USD', rail: 'Swift', country: 'US' }, '2026-11-29')
  assert.deepEqual(dollars, [
    'Payee address.city Required 2026-11-14',
    'Payee address.country Required 2026-11-14',
    'Payee address.lines Refused 2026-11-14',
    'Payee address.streetName Recommended',
    'Payee address.buildingNumber Recommended',
    'Payee address.postalCode Recommended',
    'Payee address.state Recommended',
    'Payee accountType Recommended',
    'Payer address Required 2026-11-14',
  ])
  assert.deepEqual(listed({ currency: 'EUR', rail: 'Sepa', country: 'DE' }, '2026-11-29'), [
    'Payee address.lines Refused 2026-11-15',
  ])
  assert.ok(
    listed({ currency: 'GBP', rail: 'Swift', country: 'GB' }, '2026-11-29').includes(
      'Payment purpose Recommended 2027-11-01',
    ),
  )
  assert.ok(listed({ currency: 'EUR', rail: 'Sepa', country: 'CH' }, '2026-11-29').includes('Payer address Required'))
  assert.deepEqual(listed({ currency: 'USDC', rail: 'Wallet', country: 'US' }, '2026-11-29'), [])
})

test('what is lacking is said with its day and its source, and an address is one line', () => {
  assert.match(
    lackingText(lackingOf(american, '2026-11-29')),
    /^address\.city and address\.country from 2026-11-14 \(SWIFT CBPR\+/,
  )
  assert.equal(
    addressText({ streetName: 'Wall Street', buildingNumber: '1', postalCode: '10005', state: 'NY', ...address }),
    'Wall Street 1, 10005 New York, NY, US',
  )
  assert.equal(addressText(address), 'New York, US')
})
