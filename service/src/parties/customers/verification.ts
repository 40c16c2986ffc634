/**
 * The rules by which the KYC of a customer is verified. Pure, and one table: a row for each check, in the order of the fields.
 * A rule says that a value cannot be right. Only the proofs of an identity provider (`identity.ts`) say that it is true.
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
import { judgeTaxId, mod97 } from './tax-ids.ts'

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
const checkOf = new Map(checks.map(({ field, judge }) => [field, judge]))

/** `now` decides ages and what is in the future, by the date in UTC, and which proofs have expired. */
export function verify(stored: KycFields, customerType: CustomerType, now: Date, proofs = noProofs): Verification {
  const kyc = withText(stored)
  const subject = { kyc, customerType, today: now.toISOString().slice(0, 10) }
  const needed = new Set(required[customerType])
  if (kyc.residenceAddress !== undefined) for (const field of address) needed.delete(field)
  const byRules = kycFields.flatMap((field): readonly FieldVerdict[] => {
    const value = kyc[field]
    if (value !== undefined) return [verdictOf(field, checkOf.get(field)?.(value, subject))]
    const isOtherName = ownerOf(field) !== undefined && judgeOwner(kyc, ownerOf(field) ?? 1) === 'owner_incomplete'
    if (isOtherName) return [refusedAs(field, 'Missing', 'owner_incomplete')]
    return needed.has(field) ? [refusedAs(field, 'Missing', 'field_required')] : []
  })
  const fields = applyProofs(byRules, { kyc, customerType, now }, proofs, refusedAs)
  const has = (state: FieldState) => fields.some((each) => each.state === state)
  const state = has('Invalid') ? 'Invalid' : has('Missing') ? 'Incomplete' : 'Complete'
  return { state, checkedOn: subject.today, fields }
}

/** Drops fields of spaces only. They are stored as given, and count as empty. */
const withText = (kyc: KycFields): KycFields =>
  Object.fromEntries(Object.entries(kyc).filter(([, value]) => value?.trim() !== ''))

const refusedAs = (field: Field, state: FieldState, code: VerificationCode): FieldVerdict => ({
  field,
  state,
  code,
  remediation: verificationCodes[code],
})

function verdictOf(field: Field, verdict: Verdict): FieldVerdict {
  if (verdict === undefined || verdict === 'owner_incomplete') return { field, state: 'Unchecked' }
  return verdict === 'valid' ? { field, state: 'Valid' } : refusedAs(field, 'Invalid', verdict)
}

/** ISO 17442: 18 characters and 2 digits, so that the remainder of MOD 97-10 is 1. */
function judgeLei(value: string): Verdict {
  const lei = value.replaceAll(/\s/g, '').toUpperCase()
  if (!/^[A-Z0-9]{18}\d{2}$/.test(lei)) return 'lei_format'
  return mod97(lei) === 1 ? 'valid' : 'lei_check_digits'
}

function judgePhone(value: string): Verdict {
  if (!/^\s*(\+|00)/.test(value)) return 'phone_not_international'
  // The first number loads the package and the plans of all countries: most processes verify none.
  const { parsePhoneNumberFromString } = require('libphonenumber-js/max') as typeof phones
  const number = parsePhoneNumberFromString(value.trim().replace(/^00/, '+'))
  if (number?.isValid() !== true) return 'phone_invalid'
  return number.getType() === 'FIXED_LINE' ? 'phone_not_mobile' : 'valid'
}

/** People write a website without its scheme. */
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

/** A person may pay taxes in another country than that of citizenship: there a mismatch proves nothing. */
function judgeTax(value: string, { kyc, customerType }: Subject): Verdict {
  if (customerType === 'Individual')
    return judgeTaxId(value, kyc.citizenshipCountryCode, 'person') === 'valid' ? 'valid' : undefined
  if (customerType === 'SoleTrader') {
    const country = kyc.countryOfPrincipalBusiness
    const verdicts = [judgeTaxId(value, country, 'person'), judgeTaxId(value, country, 'business')]
    return verdicts.includes('valid')
      ? 'valid'
      : taxCode(verdicts.find((each) => each === 'check_digits') ?? verdicts[0])
  }
  return taxCode(judgeTaxId(value, kyc.countryOfIncorporation, 'business'))
}

function taxCode(verdict: ReturnType<typeof judgeTaxId>): Verdict {
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
 * Whole years from one `YYYY-MM-DD` to a later one. A person born on 29 February has a birthday on 1 March in other
 * years.
 */
function yearsBetween(from: string, to: string): number {
  const years = Number(to.slice(0, 4)) - Number(from.slice(0, 4))
  return to.slice(5) < from.slice(5) ? years - 1 : years
}

type OwnerNumber = (typeof owners)[number]
const ownerOf = (field: Field): OwnerNumber | undefined =>
  owners.find((number) => field === `uboFirstName${number}` || field === `uboLastName${number}`)

const namesOf = (kyc: KycFields, number: OwnerNumber) =>
  [kyc[`uboFirstName${number}`], kyc[`uboLastName${number}`]] as const

/** `owner_incomplete` concerns the name that is missing. Undefined: no rule knows whether such a person exists. */
function judgeOwner(kyc: KycFields, number: OwnerNumber): Verdict {
  const [first, last] = namesOf(kyc, number)
  if (first === undefined && last === undefined) return undefined
  const earlier = owners.filter((each) => each < number)
  if (earlier.some((each) => namesOf(kyc, each).every((name) => name === undefined))) return 'owner_gap'
  if (first === undefined || last === undefined) return 'owner_incomplete'
  const same = (name: string | undefined) => name?.trim().toLowerCase()
  const isDuplicate = earlier.some((each) => {
    const [otherFirst, otherLast] = namesOf(kyc, each)
    return same(otherFirst) === same(first) && same(otherLast) === same(last)
  })
  return isDuplicate ? 'owner_duplicate' : undefined
}
