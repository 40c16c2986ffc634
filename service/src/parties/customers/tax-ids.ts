/**
 * Tax numbers of ten countries, by form and check digits: for persons and for businesses. Pure. Sources: the algorithms that the
 * tax offices publish, as the European Commission collects them (TIN on Europa; VIES for VAT numbers), and for GB those of HMRC.
 */
export type TaxIdVerdict = 'valid' | 'format' | 'check_digits'
export type TaxPayer = 'person' | 'business'

type Rule = { readonly form: RegExp; readonly payers: readonly TaxPayer[]; readonly fits: (id: string) => boolean }

const digitsOf = (text: string): readonly number[] => Array.from(text).map(Number)
const weighted = (text: string, weights: readonly number[]): number =>
  digitsOf(text).reduce((sum, digit, at) => sum + digit * (weights[at] ?? 0), 0)
/** Every second digit from the end is doubled (ISO/IEC 7812-1). */
const luhnSum = (text: string): number =>
  digitsOf(text)
    .toReversed()
    .reduce((sum, digit, at) => sum + (at % 2 === 0 ? digit : doubled(digit)), 0)
const doubled = (digit: number) => (digit > 4 ? digit * 2 - 9 : digit * 2)
const luhn = (text: string): boolean => luhnSum(text) % 10 === 0

/** ISO/IEC 7064, MOD 11,10: the last digit checks the others. */
function mod11And10(text: string): boolean {
  const product = digitsOf(text.slice(0, -1)).reduce((before, digit) => {
    const sum = (before + digit) % 10
    return ((sum === 0 ? 10 : sum) * 2) % 11
  }, 10)
  return (11 - product) % 10 === Number(text.at(-1))
}

/** ISO/IEC 7064, MOD 97-10, with letters as 10 to 35. */
export function mod97(text: string): number {
  let rest = 0
  for (const character of text) {
    const value = Number.parseInt(character, 36)
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97
  }
  return rest
}

const persons = ['person'] as const
const businesses = ['business'] as const
const both = ['person', 'business'] as const

const elevenTest = (id: string) => weighted(id, [9, 8, 7, 6, 5, 4, 3, 2, -1]) % 11 === 0

const spanishLetters = 'TRWAGMYFPDXBNJZSQVHLCKE'
const spanishPerson = (id: string) => {
  const digits = id.slice(0, -1).replace(/^[XYZ]/, (letter) => String('XYZ'.indexOf(letter)))
  return spanishLetters[Number(digits) % 23] === id.at(-1)
}
const spanishBusiness = (id: string) => {
  const check = (10 - (luhnSum(`${id.slice(1, 8)}0`) % 10)) % 10
  const last = id.at(-1) ?? ''
  const isLetter = 'JABCDEFGHI'[check] === last
  if (/^[KLMNPQRSW]/.test(id)) return isLetter
  return last === String(check) || (!/^[ABEH]/.test(id) && isLetter)
}

const italianOdd = [1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23]
const italianPerson = (id: string) => {
  const sum = Array.from(id.slice(0, 15)).reduce((before, character, at) => {
    const value = /\d/.test(character) ? Number(character) : character.charCodeAt(0) - 65
    return before + (at % 2 === 0 ? (italianOdd[value] ?? 0) : value)
  }, 0)
  return String.fromCharCode(65 + (sum % 26)) === id.at(-1)
}

const frenchVat = (id: string) => {
  const [key, siren] = [id.slice(-11, -9), id.slice(-9)]
  return luhn(siren) && (/\D/.test(key) || Number(key) === (12 + 3 * (Number(siren) % 97)) % 97)
}
const britishVat = (id: string) => {
  const digits = id.replace('GB', '')
  const sum = weighted(digits.slice(0, 7), [8, 7, 6, 5, 4, 3, 2]) + Number(digits.slice(7, 9))
  return sum % 97 === 0 || (sum + 55) % 97 === 0
}
const belgianPerson = (id: string) => {
  const [birth, check] = [id.slice(0, 9), Number(id.slice(9))]
  // From 2000 on, a 2 stands before the number.
  return 97 - (Number(birth) % 97) === check || 97 - (Number(`2${birth}`) % 97) === check
}
const belgianBusiness = (id: string) => {
  const digits = id.replace('BE', '').padStart(10, '0')
  return 97 - (Number(digits.slice(0, 8)) % 97) === Number(digits.slice(8))
}
const polishVat = (id: string) => weighted(id.slice(-10, -1), [6, 5, 7, 2, 3, 4, 5, 6, 7]) % 11 === Number(id.at(-1))
const polishPerson = (id: string) => weighted(id, [1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1]) % 10 === 0
const portuguese = (id: string) => {
  const rest = 11 - (weighted(id.slice(-9, -1), [9, 8, 7, 6, 5, 4, 3, 2]) % 11)
  return (rest > 9 ? 0 : rest) === Number(id.at(-1))
}
const austrianVat = (id: string) => (10 - ((luhnSum(id.slice(-8, -1)) + 4) % 10)) % 10 === Number(id.at(-1))

const rules: Readonly<Record<string, readonly Rule[]>> = {
  AT: [
    { form: /^\d{9}$/, payers: both, fits: luhn },
    { form: /^ATU\d{8}$/, payers: both, fits: austrianVat },
  ],
  BE: [
    { form: /^\d{11}$/, payers: persons, fits: belgianPerson },
    { form: /^(BE)?[01]?\d{9}$/, payers: both, fits: belgianBusiness },
  ],
  DE: [
    { form: /^[1-9]\d{10}$/, payers: persons, fits: mod11And10 },
    { form: /^DE[1-9]\d{8}$/, payers: both, fits: (id) => mod11And10(id.slice(2)) },
  ],
  ES: [
    { form: /^[\dXYZ]\d{7}[A-Z]$/, payers: both, fits: spanishPerson },
    { form: /^[A-HJ-NP-SUVW]\d{7}[\dA-J]$/, payers: businesses, fits: spanishBusiness },
  ],
  FR: [
    { form: /^[0-3]\d{12}$/, payers: persons, fits: (id) => Number(id.slice(0, 10)) % 511 === Number(id.slice(10)) },
    { form: /^\d{9}$/, payers: both, fits: luhn },
    { form: /^FR[\dA-Z]{2}\d{9}$/, payers: both, fits: frenchVat },
  ],
  GB: [
    {
      form: /^\d{10}$/,
      payers: both,
      fits: (id) => '21987654321'[weighted(id.slice(1), [6, 7, 8, 9, 10, 5, 4, 3, 2]) % 11] === id[0],
    },
    { form: /^(GB)?(\d{9}|\d{12})$/, payers: both, fits: britishVat },
  ],
  IT: [
    { form: /^[A-Z]{6}[\dL-V]{2}[A-EHLMPRST][\dL-V]{2}[A-Z][\dL-V]{3}[A-Z]$/, payers: both, fits: italianPerson },
    { form: /^(IT)?\d{11}$/, payers: both, fits: (id) => luhn(id.slice(-11)) },
  ],
  NL: [
    { form: /^\d{9}$/, payers: both, fits: elevenTest },
    // Since 2020 the numbers of sole traders have check digits over the whole number.
    { form: /^NL\d{9}B\d{2}$/, payers: both, fits: (id) => elevenTest(id.slice(2, 11)) || mod97(id) === 1 },
  ],
  PL: [
    { form: /^\d{11}$/, payers: persons, fits: polishPerson },
    { form: /^(PL)?\d{10}$/, payers: both, fits: polishVat },
  ],
  PT: [{ form: /^(PT)?[1-35689]\d{8}$/, payers: both, fits: portuguese }],
}

/** Undefined: no rule is known for the country. Spaces, dots, hyphens, slashes and case are ignored. */
export function judgeTaxId(taxId: string, country: string | undefined, payer: TaxPayer): TaxIdVerdict | undefined {
  const known = country === undefined ? undefined : rules[country]
  if (known === undefined) return undefined
  const id = taxId.replaceAll(/[\s./-]/g, '').toUpperCase()
  const matching = known.filter(({ form, payers }) => payers.includes(payer) && form.test(id))
  if (matching.length === 0) return 'format'
  return matching.some(({ fits }) => fits(id)) ? 'valid' : 'check_digits'
}
