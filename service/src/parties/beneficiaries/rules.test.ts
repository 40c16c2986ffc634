/** Rules of accounts: BICs, modulus checks, and the fields of payees. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readFileSync } from 'node:fs'
import { Refusal } from '../../kernel/api/index.ts'
import { type BeneficiaryCreate, readDestination, requirePayableAddress, requireValidUpdate } from './rules.ts'
import { listBankCodes, bicContradiction, BicFileError, parseBicFile } from './bic-file.ts'
import { ModulusFileError, readSubstitutes, readWeights, type WeightRow } from './modulus-file.ts'
import { checkModulus } from './modulus.ts'

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

test('an IBAN is stored in capitals without spaces, and determines the country', () => {
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

test('a BIC may begin with digits, and any other form is refused', () => {
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

test('a token needs a wallet, which does not determine a country', () => {
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

test('400 when the capitals of an address contradict its checksum, and 422 when tokens would be lost there or a deny list has it', () => {
  const wrong = walletAddress.replace('E7', 'e7')
  assert.notEqual(wrong, walletAddress)
  assert.deepEqual(errorsOf({ currency: 'USDC', walletAddress: wrong }), ['/walletAddress invalid_format'])
  for (const address of [walletAddress.toLowerCase(), `0x${walletAddress.slice(2).toUpperCase()}`])
    assert.equal(readDestination({ name, currency: 'USDC', walletAddress: address }).walletAddress, address)
  const destination = readDestination({ name, currency: 'USDC', walletAddress })
  for (const code of ['wallet_address_not_payable', 'recipient_blocked'] as const)
    assert.throws(() => requirePayableAddress(destination, () => code), { code })
  requirePayableAddress(destination, () => undefined)
})

test('400 with a list of all wrong fields', () => {
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
  assert.throws(() => requireValidUpdate({ id }), Refusal)
  requireValidUpdate({ id, alias: 'Ada' })
  requireValidUpdate({ id, name })
})

const contradicts = (iban: string, bic: string, known?: string) => bicContradiction(iban, bic, known)?.message

test('the bank codes of an IBAN follow the structure of its country, the code of the branch first', () => {
  // The examples of the IBAN Registry.
  const cases: Readonly<Record<string, readonly string[]>> = {
    DE89370400440532013000: ['37040044'],
    GB29NWBK60161331926819: ['NWBK601613', 'NWBK'],
    FR1420041010050500013M02606: ['2004101005', '20041'],
    IT60X0542811101000000123456: ['0542811101', '05428'],
    SM86U0322509800000000270100: ['0322509800', '03225'],
    NL91ABNA0417164300: ['ABNA'],
    PL61109010140000071219812874: ['10901014'],
    SK3112000000198742637541: ['1200'],
    XK051212012345678906: ['12', '1212'].toReversed(),
    VA59001123000012345678: ['001'],
  }
  for (const [iban, codes] of Object.entries(cases)) assert.deepEqual(listBankCodes(iban), codes, iban)
  assert.deepEqual(listBankCodes('SV62CENR00000000000000700025'), [], 'a country whose IBANs do not identify a bank')
})

test('the country of a BIC matches the country of the IBAN, or is a territory that uses its IBANs', () => {
  const [german, british, french] = ['DE89370400440532013000', 'GB29NWBK60161331926819', 'FR1420041010050500013M02606']
  for (const [iban, bic] of [
    [german, 'DEUTDEFF'],
    [british, 'MIDLJEH1XXX'],
    [british, 'RBOSGGSX'],
    [british, 'BARCIMD1'],
    [french, 'AGRIMQMX'],
    [french, 'CFMOMCMX'],
    ['MC5811222000010123456789030', 'AGRIFRPP'],
    ['SM86U0322509800000000270100', 'BCITITMM'],
    ['FI2112345600000785', 'AABAAXMM'],
  ] as const)
    assert.equal(contradicts(iban, bic), undefined, `${iban} ${bic}`)
  for (const [iban, bic] of [
    [german, 'ABNANL2A'],
    [british, 'AIBKIE2D'],
    [french, 'DEUTDEFF'],
    ['MC5811222000010123456789030', 'BCITITMM'],
  ] as const)
    assert.match(contradicts(iban, bic) ?? '', /^contradicts the IBAN: its country \(characters 5 and 6\) must be /)
})

test("a BIC may name any branch of the directory's bank", () => {
  const iban = 'DE89370400440532013000'
  assert.equal(contradicts(iban, 'COBADEFF', 'COBADEFFXXX'), undefined)
  assert.equal(contradicts(iban, 'COBADEFF370', 'COBADEFFXXX'), undefined)
  assert.match(contradicts(iban, 'DEUTDEFF', 'COBADEFFXXX') ?? '', /is not the BIC of the bank/)
})

const header = 'country,bank code,BIC,name'

test('the example file is read with quotes, a byte order mark and Windows line ends', () => {
  const text = readFileSync(new URL('../../../../examples/bic-directory/banks.csv', import.meta.url), 'utf8')
  const entries = parseBicFile(text)
  assert.equal(entries.length, 5)
  assert.deepEqual(parseBicFile(`\uFEFF${text.replaceAll('\n', '\r\n')}`), entries)
  assert.deepEqual(parseBicFile(`${header}\nDE, 37040044 ,COBADEFF,"A ""small"", old bank"`), [
    { country: 'DE', bankCode: '37040044', bic: 'COBADEFF', name: 'A "small", old bank' },
  ])
})

test('the error names the first wrong line of a file', () => {
  const good = 'DE,37040044,COBADEFF,Commerzbank'
  const cases: readonly (readonly [text: string, line: number, says: RegExp])[] = [
    ['', 1, /^the header must be: country,bank code,bic,name$/],
    ['country;bank code;BIC;name', 1, /header/],
    [header, 1, /no entry/],
    [`${header}\n${good}\n\n${good}`, 4, /DE 37040044 is there twice/],
    [`${header}\n${good},more`, 2, /has 5 cells instead of 4/],
    [`${header}\nDE,3704004,COBADEFF,Commerzbank`, 2, /a bank code of DE has 8 letters and digits/],
    [`${header}\nGB,NWBK60,NWBKGB2L,NatWest`, 2, /a bank code of GB has 4 or 10 letters and digits/],
    [`${header}\nQQ,1,COBADEFF,Bank`, 2, /QQ is not a country/],
    [`${header}\nUS,1,COBAUSFF,Bank`, 2, /the IBANs of US name no bank/],
    [`${header}\nDE,37040044,COBA,Bank`, 2, /COBA is not a BIC/],
    [`${header}\nDE,37040044,ABNANL2A,Bank`, 2, /the country of ABNANL2A must be DE/],
    [`${header}\nDE,37040044,COBADEFF,`, 2, /a name has 1 to 140 characters/],
    [`${header}\nDE,37040044,COBADEFF,"Bank`, 2, /is not CSV/],
    [`${header}\nDE,37040044,COBADEFF,Ba"nk"`, 2, /is not CSV/],
  ]
  for (const [text, line, says] of cases)
    assert.throws(
      () => parseBicFile(text),
      (error) => error instanceof BicFileError && error.line === line && says.test(error.message),
      text,
    )
})

type Weights = Readonly<
  Partial<Record<'u' | 'v' | 'w' | 'x' | 'y' | 'z' | 'a' | 'b' | 'c' | 'd' | 'e' | 'f' | 'g' | 'h', number>>
>
const row = (
  method: WeightRow['method'],
  weights: Weights | readonly number[],
  exception: number | null = null,
): WeightRow => ({
  method,
  weights: Array.isArray(weights)
    ? (weights as readonly number[])
    : Array.from('uvwxyzabcdefgh', (name) => (weights as Weights)[name as 'u'] ?? 0),
  exception,
})
const verdict = (sortCode: string, accountNumber: string, ...rows: readonly WeightRow[]) =>
  checkModulus({ sortCode, accountNumber }, rows, [{ original: '938600', substitute: '938617' }])
/** Digits of accounts are named `a` to `h`. */
const isValid = (accountNumber: string, ...rows: readonly WeightRow[]) =>
  verdict('111111', accountNumber, ...rows) === 'valid'

test('the examples of the specification pass, and fail with any other last digit', () => {
  const doubled = row('DBLAL', [2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1])
  const standard = row('MOD11', [0, 0, 0, 0, 0, 0, 7, 5, 8, 3, 4, 6, 2, 1])
  for (const [sortCode, number, rule] of [
    ['499273', '12345678', doubled],
    ['000000', '58177632', standard],
  ] as const)
    for (let digit = 0; digit < 10; digit += 1) {
      const changed = `${number.slice(0, 7)}${digit}`
      assert.equal(verdict(sortCode, changed, rule), changed === number ? 'valid' : 'invalid', changed)
    }
  assert.equal(verdict('499273', '12345678'), 'unchecked')
})

test('both checks of a sort code must pass unless one is an exception', () => {
  const [first, second] = [row('MOD10', { a: 1 }), row('MOD10', { b: 1 })]
  assert.deepEqual(
    ['00000000', '10000000', '01000000'].map((number) => isValid(number, first, second)),
    [true, false, false],
  )
})

test('exception 1 adds 27, and exceptions 3 and 6 skip accounts', () => {
  assert.deepEqual(
    ['30000000', '00000000'].map((number) => isValid(number, row('DBLAL', { a: 1 }, 1))),
    [true, false],
  )
  const third = [row('MOD10', { a: 1 }), row('DBLAL', { b: 1 }, 3)]
  assert.deepEqual(
    ['01600000', '01900000', '01500000', '11600000'].map((number) => isValid(number, ...third)),
    [true, true, false, false],
  )
  const sixth = row('MOD10', { a: 1 }, 6)
  assert.deepEqual(
    ['40000011', '80000000', '40000012', '90000011'].map((number) => isValid(number, sixth)),
    [true, true, false, false],
  )
})

test('exception 2 chooses other weights by digits a and g, and exception 9 uses the sort code of euro accounts', () => {
  const weights = [0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]
  const second = row('MOD11', weights, 2)
  // a = 0: the weights of the table. a = 1, g = 1: 6 + 3 + h, and the sort code 111111 adds 1 + 2 + 5 + 3.
  assert.ok(isValid('00000000', second))
  const found = (prefix: string) =>
    Array.from({ length: 10 }, (_, h) => h).filter((h) => isValid(`${prefix}${h}`, second))
  assert.deepEqual(found('1000001'), [(22 - 11 - 9) % 11])
  // a = 1, g = 9: only c to h count: 27 + h.
  assert.deepEqual(found('1000009'), [6])
  const ninth = row('MOD11', { u: 1, v: 1, w: 1, x: 1, y: 1, z: 1, h: 1 }, 9)
  // 3 + 0 + 9 + 6 + 3 + 4 = 25, so that h is 8.
  assert.deepEqual(
    ['10000008', '10000007'].map((number) => isValid(number, second, ninth)),
    [true, false],
  )
})

test('exception 4 compares the remainder with digits g and h, and exception 5 with one digit after substituting the sort code', () => {
  const fourth = row('MOD11', { a: 5, b: 5 }, 4)
  assert.deepEqual(
    ['10000005', '20000010', '10000004'].map((number) => isValid(number, fourth)),
    [true, true, false],
  )
  const fifth = row('MOD11', { a: 1 }, 5)
  assert.deepEqual(
    ['40000070', '00000000', '40000060'].map((number) => isValid(number, fifth)),
    [true, true, false],
  )
  for (let g = 0; g < 10; g += 1) assert.equal(isValid(`100000${g}0`, fifth), false, 'a remainder of 1 is never right')
  const doubled = row('DBLAL', { a: 1 }, 5)
  assert.deepEqual(
    ['40000006', '00000000', '10000009', '40000007'].map((number) => isValid(number, doubled)),
    [true, true, true, false],
  )
  const bySortCode = row('MOD11', { z: 1 }, 5)
  assert.equal(verdict('938600', '00000040', bySortCode), 'valid', '11 - 7 of the substitute')
  assert.equal(verdict('938607', '00000040', bySortCode), 'valid')
  assert.equal(verdict('938608', '00000040', bySortCode), 'invalid')
})

test('exceptions 7, 8 and 10 change weights or the sort code', () => {
  const all = { u: 1, v: 1, w: 1, x: 1, y: 1, z: 1, a: 1, b: 1, h: 1 }
  assert.deepEqual(
    ['00000090', '00000080'].map((number) => isValid(number, row('MOD10', all, 7))),
    [true, false],
  )
  // 0 + 9 + 0 + 1 + 2 + 6 = 18.
  assert.deepEqual(
    ['00000002', '00000004'].map((number) => isValid(number, row('MOD10', all, 8))),
    [true, false],
  )
  const [tenth, eleventh] = [row('MOD10', all, 10), row('MOD10', { h: 1 }, 11)]
  assert.deepEqual(
    ['09000090', '99000090', '08000090', '09000080'].map((number) => isValid(number, tenth)),
    [true, true, false, false],
  )
  assert.deepEqual(
    ['08000080', '08000081'].map((number) => isValid(number, tenth, eleventh)),
    [true, false],
  )
})

test('one check is enough for exceptions 12 and 13, and exception 14 shifts the account', () => {
  const [twelfth, thirteenth] = [row('MOD11', { a: 1 }, 12), row('MOD10', { b: 1 }, 13)]
  assert.deepEqual(
    ['01000000', '10000000', '11000000'].map((number) => isValid(number, twelfth, thirteenth)),
    [true, true, false],
  )
  const coutts = row('MOD11', [0, 0, 0, 0, 0, 0, 8, 7, 6, 5, 4, 3, 2, 1], 14)
  assert.deepEqual(
    ['98093517', '00000190', '00000195'].map((number) => isValid(number, coutts)),
    [true, true, false],
  )
})

test('published files are read completely or not at all', () => {
  const line = '010004 016715 MOD11    0    0    0    0    0    0    8    7    6    5    4    3    2    1'
  const [first, second] = readWeights(
    `${line}\r\n070116 070116 MOD11    0    0    7    6    5    8    9    4    5    6    7    8    9   -1  12\r\n\n`,
  )
  assert.deepEqual([first?.exception, second?.exception, second?.weights.at(-1)], [null, 12, -1])
  assert.deepEqual([first?.line, second?.line], [1, 2])
  assert.deepEqual(
    readSubstitutes('938173 938017\n938289 938068\n').map(({ substitute }) => substitute),
    ['938017', '938068'],
  )
  for (const [text, at] of [
    ['', 1],
    [`${line}\n010004 MOD11 1`, 2],
    [line.replace('MOD11', 'MOD97'), 1],
    [line.replace('010004', '020004'), 1],
    [`${line} 15`, 1],
    [line.slice(0, -5), 1],
  ] as const)
    assert.throws(
      () => readWeights(text),
      (error) => error instanceof ModulusFileError && error.line === at,
      text,
    )
  for (const text of ['938173', '938173 938017 1', '938173 938017\n938173 938018'])
    assert.throws(() => readSubstitutes(text), ModulusFileError)
})
