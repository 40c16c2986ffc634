import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Refusal } from '../../kernel/api/index.ts'
import { type BeneficiaryCreate, readDestination, refuseUpdate, refuseAddress } from './rules.ts'

const name = 'Ada Lovelace'
const iban = 'DE89370400440532013000'
const walletAddress = '0x52908400098527886E0F7030069857D2E4169EE7'

function errorsOf(input: Omit<BeneficiaryCreate, 'name'>): readonly string[] {
  try {
    readDestination({ name, ...input })
    return []
  } catch (error) {
    assert(error instanceof Refusal)
    assert.equal(error.code, 'validation_failed')
    return error.errors.map(({ pointer, code }) => `${pointer} ${code}`)
  }
}

test('an IBAN is stored in capitals without spaces, and gives the country', () => {
  const destination = readDestination({
    name,
    currency: 'EUR',
    iban: ' de89 3704 0044 0532\t0130 00 ',
    bic: 'cobadeffxxx',
  })
  assert.deepEqual(destination, {
    currency: 'EUR',
    iban,
    domesticAccount: null,
    accountType: null,
    bic: 'COBADEFFXXX',
    walletAddress: null,
    vasp: null,
    country: 'DE',
    address: null,
  })
})

test('a BIC may have digits in front, and is refused in any other form', () => {
  const bic = (text: string) => errorsOf({ currency: 'EUR', iban, bic: text })
  assert.deepEqual(bic('1a2bdeff'), [])
  assert.deepEqual(bic('9999DEFF500'), [])
  assert.deepEqual(bic('1A2BD3FF'), ['/bic invalid_format'])
  assert.deepEqual(bic('1A2BDEF'), ['/bic invalid_format'])
})

test('400 when the country contradicts the IBAN; territories that use the IBAN of another country are accepted', () => {
  const french = 'FR1420041010050500013M02606'
  const british = 'GB29NWBK60161331926819'
  assert.deepEqual(errorsOf({ currency: 'EUR', iban, country: 'AT' }), ['/country invalid_value'])
  assert.deepEqual(errorsOf({ currency: 'EUR', iban: french, country: 'GG' }), ['/country invalid_value'])
  assert.deepEqual(errorsOf({ currency: 'EUR', iban: 'DE00', country: 'AT' }), ['/iban invalid_format'])
  for (const country of ['FR', 'GP', 'RE', 'NC'])
    assert.equal(readDestination({ name, currency: 'EUR', iban: french, country }).country, country)
  for (const country of ['GB', 'GG', 'IM', 'JE'])
    assert.equal(readDestination({ name, currency: 'GBP', iban: british, country }).country, country)
})

test('a token needs a wallet, which gives no country', () => {
  for (const currency of ['USDC', 'EURC']) {
    const destination = readDestination({ name, currency, walletAddress })
    assert.deepEqual(destination, {
      ...{ currency, iban: null, domesticAccount: null, accountType: null, bic: null, walletAddress, vasp: null },
      country: null,
      address: null,
    })
  }
})

test('400 when the currency is unknown', () => {
  assert.deepEqual(errorsOf({ currency: 'XXX', iban }), ['/currency invalid_value'])
  assert.deepEqual(errorsOf({ currency: 'CONSTRUCTOR', iban }), ['/currency invalid_value'])
})

test('400 when the currency needs another kind of destination', () => {
  assert.deepEqual(errorsOf({ currency: 'EUR' }), ['/iban required'])
  assert.deepEqual(errorsOf({ currency: 'USDC' }), ['/walletAddress required'])
  assert.deepEqual(errorsOf({ currency: 'EUR', walletAddress }), ['/iban required', '/walletAddress invalid_value'])
  assert.deepEqual(errorsOf({ currency: 'EUR', iban, walletAddress }), ['/walletAddress invalid_value'])
  assert.deepEqual(errorsOf({ currency: 'EUR', iban, walletAddress: '0x' }), ['/walletAddress invalid_value'])
  assert.deepEqual(errorsOf({ currency: 'USDC', iban: 'DE', walletAddress }), ['/iban invalid_value'])
  assert.deepEqual(errorsOf({ currency: 'EUR', iban, vasp: 'Custody' }), ['/vasp invalid_value'])
  assert.deepEqual(errorsOf({ currency: 'USDC', iban, walletAddress }), ['/iban invalid_value'])
  assert.deepEqual(errorsOf({ currency: 'EURC', walletAddress, bic: 'COBADEFF' }), ['/bic invalid_value'])
})

test('400 when the capitals of an address contradict its check sum, and 422 where tokens are lost or a list forbids it', () => {
  const wrong = walletAddress.replace('E7', 'e7')
  assert.notEqual(wrong, walletAddress)
  assert.deepEqual(errorsOf({ currency: 'USDC', walletAddress: wrong }), ['/walletAddress invalid_format'])
  for (const address of [walletAddress.toLowerCase(), `0x${walletAddress.slice(2).toUpperCase()}`])
    assert.equal(readDestination({ name, currency: 'USDC', walletAddress: address }).walletAddress, address)
  const destination = readDestination({ name, currency: 'USDC', walletAddress })
  for (const code of ['wallet_address_not_payable', 'recipient_blocked'] as const)
    assert.throws(() => refuseAddress(destination, () => code), { code })
  refuseAddress(destination, () => undefined)
})

test('400 with every wrong field', () => {
  assert.deepEqual(errorsOf({ currency: 'GBP', iban: 'DE89370400440532013001', bic: 'COBA', country: 'UK' }), [
    '/iban invalid_format',
    '/bic invalid_format',
    '/country invalid_value',
  ])
  for (const bad of ['', ' ', 'DE', 'XX89370400440532013000', `${iban}0`, 'DE89-3704-0044-0532-0130-00'])
    assert.deepEqual(errorsOf({ currency: 'EUR', iban: bad }), ['/iban invalid_format'], bad)
  for (const bad of [
    '0x',
    walletAddress.slice(2),
    `${walletAddress}0`,
    walletAddress.replace('0x', '0X'),
    ` ${walletAddress}`,
  ])
    assert.deepEqual(errorsOf({ currency: 'USDC', walletAddress: bad }), ['/walletAddress invalid_format'], bad)
})

test('400 when an update has neither alias nor name', () => {
  const id = '00000000-0000-7000-8000-000000000000'
  assert.throws(() => refuseUpdate({ id }), Refusal)
  refuseUpdate({ id, alias: 'Ada' })
  refuseUpdate({ id, name })
})
