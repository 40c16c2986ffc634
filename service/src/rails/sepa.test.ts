/** The rail of a payment: by the country of the IBAN, and by that of the bank. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ibanCountries } from './ibans.ts'
import { railOf } from './sepa.ts'

const railFor = (iban: string, bic: string | null = null, country?: string) =>
  railOf('EUR', { account: `${iban}00`, bic, ...(country === undefined ? {} : { country }) })

/** EPC409-09, by name: the European Union, then the other states and Gibraltar. */
const members = `AT BE BG CY CZ DE DK EE ES FI FR GR HR HU IE IT LT LU LV MT NL PL PT RO SE SI SK
  AD AL CH GB GI IS LI MC MD ME MK NO RS SM VA`.split(/\s+/)

test('SEPA carries euro, SWIFT other fiat currencies, a wallet tokens', () => {
  const place = { account: 'DE00', bic: null }
  assert.deepEqual(
    (['EUR', 'USD', 'USDC'] as const).map((currency) => [railOf(currency, place), railOf(currency, undefined)]),
    [
      ['Sepa', 'Sepa'],
      ['Swift', 'Swift'],
      ['Wallet', 'Wallet'],
    ],
  )
})

test('euro goes by SEPA to the countries of the list, and to no other country that has IBANs', () => {
  const reached = [...ibanCountries].filter((country) => railFor(country) === 'Sepa')
  assert.deepEqual(reached.toSorted(), members.toSorted())
  for (const country of ['SA', 'TR', 'RU', 'BY', 'SD', 'UA', 'XK', 'FO', 'GL', 'GE', 'IL'])
    assert.equal(railFor(country), 'Swift', country)
})

test('a territory is reached by what its bank or its country says, not by the IBAN that it shares', () => {
  for (const code of ['BL', 'GF', 'GP', 'MF', 'MQ', 'PM', 'RE', 'YT']) {
    assert.equal(railFor('FR', `BNPA${code}PP`), 'Sepa', code)
    assert.equal(railFor('FR', null, code), 'Sepa', code)
  }
  for (const code of ['NC', 'PF', 'TF', 'WF']) {
    assert.equal(railFor('FR', `BNPA${code}PP`), 'Swift', code)
    assert.equal(railFor('FR', null, code), 'Swift', code)
  }
  for (const code of ['GG', 'IM', 'JE']) assert.equal(railFor('GB', `BARC${code}22`), 'Sepa', code)
  assert.equal(railFor('FI', 'AABAAX22'), 'Sepa')
  assert.equal(railFor('MC', 'BNPAFRPP'), 'Sepa')
  assert.equal(railFor('VA', 'BCITITMM'), 'Sepa')
  assert.equal(railFor('FR', 'BNPAFRPP', 'NC'), 'Sepa', 'the bank is in France')
})
