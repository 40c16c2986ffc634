/** IBANs against the registry: its countries, examples and structures. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { composeIban, issuingCountries } from '../accounts/rules.ts'
import { readBritishAccount, ibanCountries, describeIbanProblem, ibanProblem, isBic, isIban } from './ibans.ts'

/** SWIFT, IBAN Registry: the example of each country in the electronic format. Release 101 has the countries of release 99. */
const examples = `
  AD1200012030200359100100 AE070331234567890123456 AL47212110090000000235698741 AT611904300234573201
  AZ21NABZ00000000137010001944 BA391290079401028494 BE68539007547034 BG80BNBG96611020345678 BH67BMAG00001299123456
  BI4210000100010000332045181 BR1800360305000010009795493C1 BY13NBRB3600900000002Z00AB00 CH9300762011623852957
  CR05015202001026284066 CY17002001280000001200527600 CZ6508000000192000145399 DE89370400440532013000
  DJ2100010000000154000100186 DK5000400440116243 DO28BAGR00000001212453611324 EE382200221020145685
  EG380019000500000000263180002 ES9121000418450200051332 FI2112345600000785 FK88SC123456789012 FO6264600001631634
  FR1420041010050500013M02606 GB29NWBK60161331926819 GE29NB0000000101904917 GI75NWBK000000007099453
  GL8964710001000206 GR1601101250000000012300695 GT82TRAJ01020000001210029690 HN88CABF00000000000250005469
  HR1210010051863000160 HU42117730161111101800000000 IE29AIBK93115212345678 IL620108000000099999999
  IQ98NBIQ850123456789012 IS140159260076545510730339 IT60X0542811101000000123456 JO94CBJO0010000000000131000302
  KW81CBKU0000000000001234560101 KZ86125KZT5004100100 LB62099900000001001901229114
  LC55HEMM000100010012001200023015 LI21088100002324013AA LT121000011101001000 LU280019400644750000
  LV80BANK0000435195001 LY83002048000020100120361 MC5811222000010123456789030 MD24AG000225100013104168
  ME25505000012345678951 MK07250120000058984 MN121234123456789123 MR1300020001010000123456753
  MT84MALT011000012345MTLCAST001S MU17BOMM0101101030300200000MUR NI45BAPR00000013000003558124 NL91ABNA0417164300
  NO9386011117947 OM810180000001299123456 PK36SCBL0000001123456702 PL61109010140000071219812874
  PS92PALS000000000400123456702 PT50000201231234567890154 QA58DOHB00001234567890ABCDEFG RO49AAAA1B31007593840000
  RS35260005601001611379 RU0304452522540817810538091310419 SA0380000000608010167519
  SC18SSCB11010000000000001497USD SD2129010501234001 SE4550000000058398257466 SI56263300012039086
  SK3112000000198742637541 SM86U0322509800000000270100 SO211000001001000100141 ST23000100010051845310146
  SV62CENR00000000000000700025 TL380080012345678910157 TN5910006035183598478831 TR330006100519786457841326
  UA213223130000026007233566001 VA59001123000012345678 VG96VPVG0000012345678901 XK051212012345678906
  YE15CBYE0001018861234567891234
`
  .trim()
  .split(/\s+/)
const exampleOf = new Map(examples.map((iban) => [iban.slice(0, 2), iban]))

/** Builds an IBAN with correct check digits, so that only the structure or a national check can refuse it. */
function checked(country: string, bban: string): string {
  const digits = Array.from(`${bban}${country}00`, (char) => Number.parseInt(char, 36)).join('')
  return `${country}${String(98n - (BigInt(digits) % 97n)).padStart(2, '0')}${bban}`
}

test('the countries match the registry, and each example is an IBAN', () => {
  assert.deepEqual([...ibanCountries].toSorted(), [...exampleOf.keys()].toSorted())
  assert.deepEqual(
    examples.filter((iban) => !isIban(iban)),
    [],
  )
})

test('a country that is not in the registry, or a territory, has no IBANs', () => {
  const others = [
    'AO',
    'AX',
    'BF',
    'BJ',
    'CI',
    'CM',
    'CV',
    'DZ',
    'GG',
    'GP',
    'IM',
    'IR',
    'JE',
    'MA',
    'MG',
    'ML',
    'MZ',
    'RE',
    'SN',
  ]
  for (const country of others) assert.equal(ibanProblem(checked(country, '1'.repeat(20))), 'country', country)
  assert.equal(ibanProblem('IR580540105180021273113007'), 'country')
  assert.equal(ibanProblem('__proto__'), 'country')
  assert.equal(ibanProblem(''), 'country')
})

test('an IBAN with a changed digit or two swapped digits is refused', () => {
  const places = fc.record({
    iban: fc.constantFrom(...examples),
    at: fc.nat(33),
    by: fc.integer({ min: 0, max: 9 }).map(String),
  })
  fc.assert(
    fc.property(places, ({ iban, at, by }) => {
      const place = at % iban.length
      const [left = '', right = ''] = iban.slice(place, place + 2)
      fc.pre(/\d/.test(left) && left !== by)
      assert.ok(!isIban(iban.slice(0, place) + by + iban.slice(place + 1)))
      fc.pre(/\d/.test(right) && left !== right)
      assert.ok(!isIban(iban.slice(0, place) + right + left + iban.slice(place + 2)))
    }),
    { numRuns: 2000 },
  )
})

test('letters and digits of an IBAN are checked by position, even if the check digits are right', () => {
  for (const country of ['GE', 'IE', 'PK', 'PS', 'VG', 'GB', 'NL']) {
    const bban = exampleOf.get(country)?.slice(4) ?? ''
    assert.equal(ibanProblem(checked(country, bban)), undefined)
    assert.equal(ibanProblem(checked(country, `1${bban.slice(1)}`)), 'structure', `${country}: a digit for a letter`)
  }
  for (const [country, bban] of [
    ['BY', '1234360090000000 2Z00AB00'],
    ['DO', '1234 00000001212453611324'],
    ['PK', 'SCBL 000000112345670Z'],
    ['PS', 'PALS 00000000040012345670Z'],
  ] as const)
    assert.equal(
      ibanProblem(checked(country, bban.replaceAll(' ', ''))),
      undefined,
      `${country}: the registry allows it`,
    )
  assert.equal(ibanProblem('TR330006A00519786457841326'), 'structure')
  assert.equal(ibanProblem('DE8937040044053201300'), 'length')
  assert.equal(ibanProblem('DE8X370400440532013000'), 'structure')
  assert.equal(ibanProblem('de89370400440532013000'), 'country')
})

test('the Italian check letter is verified, also for San Marino', () => {
  for (const country of ['IT', 'SM'])
    for (const letter of 'ABCDEFGHIJKLMNOPQRSTUVWXYZ') {
      const bban = `${letter}${exampleOf.get(country)?.slice(5) ?? ''}`
      const expected = exampleOf.get(country)?.[4] === letter ? undefined : 'checkDigits'
      assert.equal(ibanProblem(checked(country, bban)), expected, `${country} ${letter}`)
    }
  const account = '0300203280ABCDEFGHIJKL'
  assert.equal(ibanProblem(checked('IT', `${italianLetterOf(account)}${account}`)), undefined)
})

/** Check letters by the published tables of ABI. */
function italianLetterOf(text: string): string {
  const odd = 'BAKPLCQDREVOSFTGUHMINJWZYX'
  const sum = Array.from(text).reduce((total, char, at) => {
    const value = /\d/.test(char) ? Number(char) : char.charCodeAt(0) - 65
    return total + (at % 2 === 0 ? odd.indexOf(String.fromCharCode(65 + value)) : value)
  }, 0)
  return String.fromCharCode(65 + (sum % 26))
}

test('national check digits are checked where their rule is certain', () => {
  const wrong = {
    BE: '539007547035',
    ES: '21000418460200051332',
    FR: '20041010050500013M02607',
    MC: '11222000010123456789031',
    NO: '86011117948',
    PT: '000201231234567890155',
    SI: '263300012039087',
  }
  for (const [country, bban] of Object.entries(wrong))
    assert.equal(ibanProblem(checked(country, bban)), 'checkDigits', country)
  assert.equal(ibanProblem(checked('NO', '86010017947')), undefined, 'an account with 00 has another check digit')
})

test('the IBANs that we issue are valid, with their national check digits', () => {
  const codes: Readonly<Record<string, string>> = { GB: 'PPSX999901', IE: 'PPSX999901', NL: 'PPSX' }
  const lengths: Readonly<Record<string, number>> = { AT: 5, BE: 3, DE: 8, ES: 8, FR: 10, LT: 5, LU: 3 }
  for (const country of issuingCountries)
    for (let index = 0; index < 300; index += 1) {
      const bankCode = codes[country] ?? '9'.repeat(lengths[country] ?? 0)
      assert.equal(ibanProblem(composeIban({ country, bankCode }, index * 7919)), undefined, `${country} ${index}`)
    }
})

test("the British account matches the registry's example", () => {
  // SWIFT's IBAN Registry, United Kingdom: domestic account number 60-16-13 31926819.
  assert.deepEqual(readBritishAccount('GB29NWBK60161331926819'), { sortCode: '601613', accountNumber: '31926819' })
  assert.equal(readBritishAccount('DE89370400440532013000'), undefined)
})

test('a BIC may begin with digits (ISO 9362:2022) and must name a listed country', () => {
  for (const bic of ['DEUTDEFF', 'DEUTDEFF500', '1A2BDEFF', '9999DEFFXXX', 'NWBKGB2L', 'AAAAXKPR'])
    assert.equal(isBic(bic), true, bic)
  for (const bic of [
    '',
    'DEUTDEF',
    'DEUTDEFF5',
    'DEUTDEFF5000',
    'DEUT12FF',
    'DEUTQQFF',
    'deutdeff',
    'DEUT DEFF',
    'DÉUTDEFF',
    ' DEUTDEFF',
  ])
    assert.equal(isBic(bic), false, bic)
})

test('each mistake in an IBAN has its own message, and every country has an account format', () => {
  const mistakes = {
    '': /^is empty/,
    '370400440532013000': /^begins with a digit, as a national account number/,
    NWBK60161331926819: /^begins with NW, which is not a country with IBANs/,
    'DE89-3704': /^contains "-"/,
    DE8937040044053201300: /^has 21 characters; an IBAN of DE has 22$/,
    DEAB370400440532013000: /^does not have check digits/,
    DE8937040044053201300A: /in the wrong places; after DE and two check digits an IBAN has 18 digits$/,
    DE88370400440532013000: /^has wrong check digits/,
  }
  const sentences = Object.entries(mistakes).map(([text, sentence]) => {
    const mistake = describeIbanProblem(text) ?? ''
    assert.match(mistake, sentence, text)
    return mistake
  })
  assert.equal(new Set(sentences).size, sentences.length)
  assert.equal(describeIbanProblem('DE89370400440532013000'), undefined)
  // The check digits are correct; the letter of the Italian account is wrong.
  assert.match(describeIbanProblem(checked('IT', 'Y0542811101000000123456')) ?? '', /inside the account number of IT/)
  for (const country of ibanCountries) {
    const { length } = describeIbanProblem(`${country}00`) ?? ''
    assert.ok(length > 0)
    const chars = Number(/has (\d+)$/.exec(describeIbanProblem(`${country}00`) ?? '')?.[1])
    const parts =
      /an IBAN has (.+)$/.exec(describeIbanProblem(`${country}00${'A'.repeat(chars - 5)}0`) ?? '')?.[1] ?? ''
    const counted = Array.from(parts.matchAll(/\d+/g), ([count]) => Number(count)).reduce(
      (sum, count) => sum + count,
      0,
    )
    if (parts !== '') assert.equal(counted, chars - 4, country)
  }
})
