import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { BicFileProblem, readBicFile } from './bic-file.ts'
import { bankCodesOf, bicContradiction } from './bic-rules.ts'

const contradicts = (iban: string, bic: string, known?: string) => bicContradiction(iban, bic, known)?.message

test('an IBAN names its bank by the structure of its country, and its branch first', () => {
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
  for (const [iban, codes] of Object.entries(cases)) assert.deepEqual(bankCodesOf(iban), codes, iban)
  assert.deepEqual(
    bankCodesOf('SV62CENR00000000000000700025'),
    [],
    'a country whose IBANs are not known to name a bank',
  )
})

test('the country of a BIC is that of the IBAN, or of a territory that uses its IBANs', () => {
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

test('a BIC is that of the directory, whatever branch it names', () => {
  const iban = 'DE89370400440532013000'
  assert.equal(contradicts(iban, 'COBADEFF', 'COBADEFFXXX'), undefined)
  assert.equal(contradicts(iban, 'COBADEFF370', 'COBADEFFXXX'), undefined)
  assert.match(contradicts(iban, 'DEUTDEFF', 'COBADEFFXXX') ?? '', /is not the BIC of the bank/)
})

const header = 'country,bank code,BIC,name'

test('the file of the examples is read, with quotes, a byte order mark and lines of Windows', () => {
  const text = readFileSync(new URL('../../../../examples/bic-directory/banks.csv', import.meta.url), 'utf8')
  const entries = readBicFile(text)
  assert.equal(entries.length, 5)
  assert.deepEqual(readBicFile(`\uFEFF${text.replaceAll('\n', '\r\n')}`), entries)
  assert.deepEqual(readBicFile(`${header}\nDE, 37040044 ,COBADEFF,"A ""small"", old bank"`), [
    { country: 'DE', bankCode: '37040044', bic: 'COBADEFF', name: 'A "small", old bank' },
  ])
})

test('the first wrong line of a file is named', () => {
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
      () => readBicFile(text),
      (error) => error instanceof BicFileProblem && error.line === line && says.test(error.message),
      text,
    )
})
