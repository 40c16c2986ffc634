/**
 * Pure: the rules that verify the KYC of a customer, with one row for each check, in the order of the fields. A rule finds values that
 * cannot be right. Only the proofs of an identity provider (`identity.ts`) show that a value is true.
 */
import { createRequire } from 'node:module'
import {
  type FieldState,
  kycFields,
  type VerificationCode,
  verificationCodes,
  type VerificationState,
} from '@partner-payments/wire'
import type * as phones from 'libphonenumber-js/max'
import { applyProofs, type FieldVerdict, noProofs } from './identity.ts'
import type { CustomerType, KycFields } from './rules.ts'

const require = createRequire(import.meta.url)

type Field = keyof KycFields
type Subject = { readonly kyc: KycFields; readonly customerType: CustomerType; readonly today: string }
/** `valid`: the value passes the rule. Undefined: the rule does not apply. */
type Verdict = VerificationCode | 'valid' | undefined
type Check = { readonly field: Field; readonly judge: (value: string, subject: Subject) => Verdict }

export type Verification = {
  readonly state: VerificationState
  /** `YYYY-MM-DD`, in UTC. */
  readonly checkedOn: string
  readonly fields: readonly FieldVerdict[]
}

const ageMin = 18
const ageMax = 120
const owners = [1, 2, 3, 4, 5] as const

const address = ['addressLine1', 'city'] as const
const person = ['fullName', 'dateOfBirth', 'citizenshipCountryCode', ...address] as const
/** Fields that each type of customer needs. `residenceAddress` replaces the fields of the address. */
const required: Readonly<Record<CustomerType, readonly Field[]>> = {
  Individual: person,
  SoleTrader: [...person, 'natureOfBusiness', 'countryOfPrincipalBusiness', 'taxId'],
  Business: [
    ...address,
    'legalName',
    'legalForm',
    'registrationNumber',
    'countryOfIncorporation',
    'dateOfIncorporation',
    'natureOfBusiness',
    'taxId',
    'uboFirstName1',
    'uboLastName1',
  ],
}

const checks: readonly Check[] = [
  { field: 'lei', judge: judgeLei },
  { field: 'mobilePhone', judge: judgePhone },
  { field: 'website', judge: judgeWebsite },
  { field: 'taxId', judge: judgeTax },
  { field: 'dateOfBirth', judge: judgeBirth },
  { field: 'dateOfIncorporation', judge: judgeIncorporation },
  ...owners.flatMap((number): readonly Check[] => [
    { field: `uboFirstName${number}`, judge: (_value, { kyc }) => judgeOwner(kyc, number) },
    { field: `uboLastName${number}`, judge: (_value, { kyc }) => judgeOwner(kyc, number) },
  ]),
  // The form and the code were checked when the value was stored.
  ...(
    ['addressCountryCode', 'citizenshipCountryCode', 'countryOfIncorporation', 'countryOfPrincipalBusiness'] as const
  ).map((field): Check => ({ field, judge: () => 'valid' })),
]
const checksByField = new Map(checks.map(({ field, judge }) => [field, judge]))

/** Verifies KYC. `now` determines ages and future dates, by the date in UTC, and expired proofs. */
export function verifyKyc(stored: KycFields, customerType: CustomerType, now: Date, proofs = noProofs): Verification {
  const kyc = withText(stored)
  const subject = { kyc, customerType, today: now.toISOString().slice(0, 10) }
  const needed = new Set(required[customerType])
  if (kyc.residenceAddress !== undefined) for (const field of address) needed.delete(field)
  const byRules = kycFields.flatMap((field): readonly FieldVerdict[] => {
    const value = kyc[field]
    if (value !== undefined) return [fieldVerdict(field, checksByField.get(field)?.(value, subject))]
    const isOtherName =
      ownerNumber(field) !== undefined && judgeOwner(kyc, ownerNumber(field) ?? 1) === 'owner_incomplete'
    if (isOtherName) return [faultyField(field, 'Missing', 'owner_incomplete')]
    return needed.has(field) ? [faultyField(field, 'Missing', 'field_required')] : []
  })
  const fields = applyProofs(byRules, { kyc, customerType, now }, proofs, faultyField)
  const has = (state: FieldState) => fields.some((each) => each.state === state)
  const state = has('Invalid') ? 'Invalid' : has('Missing') ? 'Incomplete' : 'Complete'
  return { state, checkedOn: subject.today, fields }
}

/** Drops blank fields, which are stored as given but count as empty. */
const withText = (kyc: KycFields): KycFields =>
  Object.fromEntries(Object.entries(kyc).filter(([, value]) => value?.trim() !== ''))

const faultyField = (field: Field, state: FieldState, code: VerificationCode): FieldVerdict => ({
  field,
  state,
  code,
  remediation: verificationCodes[code],
})

function fieldVerdict(field: Field, verdict: Verdict): FieldVerdict {
  if (verdict === undefined || verdict === 'owner_incomplete') return { field, state: 'Unchecked' }
  return verdict === 'valid' ? { field, state: 'Valid' } : faultyField(field, 'Invalid', verdict)
}

/** Checks an LEI (ISO 17442): 18 characters and 2 check digits. The remainder of MOD 97-10 must be 1. */
function judgeLei(value: string): Verdict {
  const lei = value.replaceAll(/\s/g, '').toUpperCase()
  if (!/^[A-Z0-9]{18}\d{2}$/.test(lei)) return 'lei_format'
  return mod97(lei) === 1 ? 'valid' : 'lei_check_digits'
}

function judgePhone(value: string): Verdict {
  if (!/^\s*(\+|00)/.test(value)) return 'phone_not_international'
  // Loaded with the first number, because the package has the plans of all countries and most processes never verify one.
  const { parsePhoneNumberFromString } = require('libphonenumber-js/max') as typeof phones
  const number = parsePhoneNumberFromString(value.trim().replace(/^00/, '+'))
  if (number?.isValid() !== true) return 'phone_invalid'
  return number.getType() === 'FIXED_LINE' ? 'phone_not_mobile' : 'valid'
}

/** Accepts a website without a scheme, because people write it that way. */
function judgeWebsite(value: string): Verdict {
  const text = value.trim()
  const url = URL.parse(/^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `https://${text}`)
  const isPublic =
    url !== null &&
    /^https?:$/.test(url.protocol) &&
    url.username === '' &&
    /^([a-z0-9_]([a-z0-9_-]*[a-z0-9])?\.)+(xn--[a-z0-9-]+|[a-z]{2,})\.?$/.test(url.hostname)
  return isPublic ? 'valid' : 'website_invalid'
}

/** Checks a tax number. A person may pay taxes outside the country of citizenship, so a mismatch of an individual is not a fault. */
function judgeTax(value: string, { kyc, customerType }: Subject): Verdict {
  if (customerType === 'Individual')
    return checkTaxId(value, kyc.citizenshipCountryCode, 'person') === 'valid' ? 'valid' : undefined
  if (customerType === 'SoleTrader') {
    const country = kyc.countryOfPrincipalBusiness
    const verdicts = [checkTaxId(value, country, 'person'), checkTaxId(value, country, 'business')]
    return verdicts.includes('valid')
      ? 'valid'
      : taxCode(verdicts.find((each) => each === 'check_digits') ?? verdicts[0])
  }
  return taxCode(checkTaxId(value, kyc.countryOfIncorporation, 'business'))
}

function taxCode(verdict: ReturnType<typeof checkTaxId>): Verdict {
  if (verdict === undefined || verdict === 'valid') return verdict
  return verdict === 'format' ? 'tax_id_format' : 'tax_id_check_digits'
}

function judgeBirth(value: string, { today }: Subject): Verdict {
  if (value > today) return 'date_in_future'
  const age = yearsBetween(value, today)
  if (age > ageMax) return 'age_impossible'
  return age < ageMin ? 'under_age' : 'valid'
}

function judgeIncorporation(value: string, { kyc, customerType, today }: Subject): Verdict {
  if (value > today) return 'date_in_future'
  const isOwn = customerType === 'SoleTrader' && kyc.dateOfBirth !== undefined
  return isOwn && value < (kyc.dateOfBirth ?? '') ? 'incorporated_before_birth' : 'valid'
}

/**
 * Counts whole years from one `YYYY-MM-DD` to a later one. A person born on 29 February has the birthday on 1 March in
 * other years.
 */
function yearsBetween(from: string, to: string): number {
  const years = Number(to.slice(0, 4)) - Number(from.slice(0, 4))
  return to.slice(5) < from.slice(5) ? years - 1 : years
}

type OwnerNumber = (typeof owners)[number]
const ownerNumber = (field: Field): OwnerNumber | undefined =>
  owners.find((number) => field === `uboFirstName${number}` || field === `uboLastName${number}`)

const ownerNames = (kyc: KycFields, number: OwnerNumber) =>
  [kyc[`uboFirstName${number}`], kyc[`uboLastName${number}`]] as const

/**
 * Verifies an owner. `owner_incomplete` applies to the missing name. Undefined: the rules cannot verify that the person
 * exists.
 */
function judgeOwner(kyc: KycFields, number: OwnerNumber): Verdict {
  const [first, last] = ownerNames(kyc, number)
  if (first === undefined && last === undefined) return undefined
  const earlier = owners.filter((each) => each < number)
  if (earlier.some((each) => ownerNames(kyc, each).every((name) => name === undefined))) return 'owner_gap'
  if (first === undefined || last === undefined) return 'owner_incomplete'
  const same = (name: string | undefined) => name?.trim().toLowerCase()
  const isDuplicate = earlier.some((each) => {
    const [otherFirst, otherLast] = ownerNames(kyc, each)
    return same(otherFirst) === same(first) && same(otherLast) === same(last)
  })
  return isDuplicate ? 'owner_duplicate' : undefined
}

/**
 * Pure: tax numbers of people and businesses in ten countries, by form and check digits. Sources: the algorithms of the tax offices
 * that the European Commission publishes (TIN on Europa; VIES for VAT numbers), and for GB those of HMRC.
 */
type TaxIdVerdict = 'valid' | 'format' | 'check_digits'
export type TaxPayer = 'person' | 'business'

type Rule = { readonly form: RegExp; readonly payers: readonly TaxPayer[]; readonly fits: (id: string) => boolean }

const toDigits = (text: string): readonly number[] => Array.from(text).map(Number)
const weighted = (text: string, weights: readonly number[]): number =>
  toDigits(text).reduce((sum, digit, at) => sum + digit * (weights[at] ?? 0), 0)
/** Doubles every second digit from the end (ISO/IEC 7812-1). */
const luhnSum = (text: string): number =>
  toDigits(text)
    .toReversed()
    .reduce((sum, digit, at) => sum + (at % 2 === 0 ? digit : doubled(digit)), 0)
const doubled = (digit: number) => (digit > 4 ? digit * 2 - 9 : digit * 2)
const luhn = (text: string): boolean => luhnSum(text) % 10 === 0

/** Checks digits by ISO/IEC 7064, MOD 11,10: the last digit checks the others. */
function mod11And10(text: string): boolean {
  const product = toDigits(text.slice(0, -1)).reduce((before, digit) => {
    const sum = (before + digit) % 10
    return ((sum === 0 ? 10 : sum) * 2) % 11
  }, 10)
  return (11 - product) % 10 === Number(text.at(-1))
}

/** Computes the remainder by ISO/IEC 7064, MOD 97-10, with letters as 10 to 35. */
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
  // For births from 2000 on, the check digits are computed with a 2 before the number.
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
    // Since 2020 the check digits of sole traders cover the whole number.
    { form: /^NL\d{9}B\d{2}$/, payers: both, fits: (id) => elevenTest(id.slice(2, 11)) || mod97(id) === 1 },
  ],
  PL: [
    { form: /^\d{11}$/, payers: persons, fits: polishPerson },
    { form: /^(PL)?\d{10}$/, payers: both, fits: polishVat },
  ],
  PT: [{ form: /^(PT)?[1-35689]\d{8}$/, payers: both, fits: portuguese }],
}

/**
 * Checks a tax number, ignoring spaces, dots, hyphens, slashes and case. Undefined: the country does not have a rule.
 */
export function checkTaxId(taxId: string, country: string | undefined, payer: TaxPayer): TaxIdVerdict | undefined {
  const known = country === undefined ? undefined : rules[country]
  if (known === undefined) return undefined
  const id = taxId.replaceAll(/[\s./-]/g, '').toUpperCase()
  const matching = known.filter(({ form, payers }) => payers.includes(payer) && form.test(id))
  if (matching.length === 0) return 'format'
  return matching.some(({ fits }) => fits(id)) ? 'valid' : 'check_digits'
}
