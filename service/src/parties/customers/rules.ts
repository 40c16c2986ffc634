/** The rules of customers: valid KYC, merging of KYC, and the type of a customer. */
import type { BodyOf, customers, FieldError, Static } from '@partner-payments/wire'
import countries from 'i18n-iso-countries/index.js'
import { refuseField, refuseFields, Refusal } from '../../kernel/api/index.ts'
import { after, hourMs } from '../../kernel/index.ts'
import type { CountryRules, SecondData, SubjectCountry } from '../../screening/index.ts'

export type CustomerType = Static<typeof customers.CustomerType>
export type CustomerCreate = BodyOf<'createCustomer'>
export type CustomerUpdate = BodyOf<'updateCustomer'>
/** KYC of a request: null clears a field. */
export type KycInput = NonNullable<CustomerCreate['kyc']>
/** Stored KYC, without nulls. */
export type KycFields = { readonly [K in keyof KycInput]?: NonNullable<KycInput[K]> }

/** Merges `input` into `kyc`: a value is set, null clears, an absent field stays. A null `input` clears everything. */
export function mergeKyc(kyc: KycFields, input: KycInput | null | undefined): KycFields {
  if (input === undefined) return kyc
  if (input === null) return {}
  return Object.fromEntries(Object.entries({ ...kyc, ...input }).filter(([, value]) => value !== null))
}

/** Lists the names of the customer's account. The payment page shows the first one. */
export const accountNames = ({ legalName, tradingName, fullName }: KycFields): readonly string[] =>
  [legalName, tradingName, fullName].filter((name) => name !== undefined)

const ownerNumbers = [1, 2, 3, 4, 5] as const

/** Lists the names of the customer and its owners that are screened against sanctions lists. */
export function screenedNames(kyc: KycFields): readonly { readonly role: string; readonly name: string }[] {
  const own = (['fullName', 'legalName', 'tradingName'] as const).map((role) => ({ role, name: kyc[role] ?? '' }))
  const owners = ownerNumbers.map((number) => ({
    role: `owner${number}`,
    name: `${kyc[`uboFirstName${number}`] ?? ''} ${kyc[`uboLastName${number}`] ?? ''}`.trim(),
  }))
  return [...own, ...owners].filter(({ name }) => name !== '')
}

/** Fields that only a legal person has. */
const businessFields = [
  'legalName',
  'legalForm',
  'registrationNumber',
  'countryOfIncorporation',
  'dateOfIncorporation',
  'lei',
  'uboFirstName1',
  'uboLastName1',
] as const satisfies readonly (keyof KycFields)[]

/**
 * Derives the type of a customer that is created without one. A field that only a legal person has makes it a Business. Otherwise
 * a trading name together with a full name makes it a SoleTrader. Every other customer is an Individual.
 */
export function deriveType(kyc: KycFields): CustomerType {
  if (businessFields.some((field) => kyc[field] !== undefined)) return 'Business'
  return kyc.tradingName !== undefined && kyc.fullName !== undefined ? 'SoleTrader' : 'Individual'
}

const dateFields = ['dateOfBirth', 'dateOfIncorporation'] as const
const countryFields = [
  'addressCountryCode',
  'citizenshipCountryCode',
  'countryOfIncorporation',
  'countryOfPrincipalBusiness',
] as const

/** Lists the screened countries: residence, citizenship, incorporation and business. */
export const screenedCountries = (kyc: KycFields): readonly SubjectCountry[] =>
  countryFields.flatMap((role) => (kyc[role] === undefined ? [] : [{ role, country: kyc[role] }]))

/**
 * Builds the secondary data for screening the person `fullName`. KYC does not contain birth or nationality of owners.
 */
export const screenedData = (kyc: KycFields): Readonly<Record<string, SecondData>> => ({
  fullName: {
    births: [kyc.dateOfBirth].filter((birth) => birth !== undefined),
    countries: [kyc.citizenshipCountryCode].filter((country) => country !== undefined),
    documents: [kyc.personalIdentificationNumber, kyc.taxId].filter((number) => number !== undefined),
  },
})

/** Refuses (422) countries whose customers the operator does not accept. An unchanged country is screened instead. */
export function requireAcceptedCountries(before: KycFields, kyc: KycFields, rules: CountryRules): void {
  const refused = screenedCountries(kyc).filter(
    ({ role, country }) =>
      !screenedCountries(before).some((one) => one.role === role && one.country === country) &&
      rules.isRefused('customers', country),
  )
  const errors = refused.map(({ role, country }): FieldError => {
    const message = `is ${country}; the operator accepts no customers of this country`
    return { pointer: `/kyc/${role}`, code: 'invalid_value', message }
  })
  const [first] = errors
  if (first) throw new Refusal('country_not_supported', `${first.pointer}: ${first.message}`, { errors })
}

/**
 * Refuses (400) invalid dates and countries, all fields in one response. The schema has checked the form. `lei`,
 * `mobilePhone`, `website` and `taxId` are stored as given (contract page, KYC formats).
 */
export function refuseBadKyc(input: KycInput | null | undefined, now: Date): void {
  refuseFields(input ? kycErrors(input, now) : [])
}

function kycErrors(input: KycInput, now: Date): readonly FieldError[] {
  // Today in UTC+14, where days begin first, so that a company founded this morning in Auckland is not in the future.
  const latest = after(now, 14 * hourMs)
    .toISOString()
    .slice(0, 10)
  const errors: FieldError[] = []
  for (const field of dateFields) {
    const date = input[field]
    if (typeof date !== 'string') continue
    const pointer = `/kyc/${field}`
    if (!isCalendarDate(date))
      errors.push({
        pointer,
        code: 'invalid_value',
        message: 'is not a calendar date; must be YYYY-MM-DD, for example 1990-12-31',
      })
    else if (date > latest) errors.push({ pointer, code: 'out_of_range', message: `must not be after ${latest}` })
  }
  for (const field of countryFields) {
    const country = input[field]
    // ISO 3166-1, and XK, the user-assigned code of Kosovo that banks and the IBAN registry use.
    if (typeof country === 'string' && !countries.isValid(country))
      errors.push({
        pointer: `/kyc/${field}`,
        code: 'invalid_value',
        message: 'must be an ISO 3166-1 alpha-2 country code, for example DE',
      })
  }
  return errors
}

const monthDays = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const

/** Reports whether the text is a day of the Gregorian calendar. `Date.parse` would read 2023-02-30 as March 2nd. */
export function isCalendarDate(text: string): boolean {
  const [year = 0, month = 0, day = 0] = text.split('-').map(Number)
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  const days = month === 2 && leap ? 29 : monthDays[month - 1]
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && year > 0 && days !== undefined && day >= 1 && day <= days
}

/** Refuses (400) a new customer without an email, an identifier or a KYC field. */
export function refuseEmptyCreate(input: CustomerCreate): void {
  const kyc = mergeKyc({}, input.kyc)
  if (input.email || input.partnerCustomerIdentifier || Object.keys(kyc).length > 0) return
  throw refuseField({
    pointer: '',
    code: 'required',
    message: 'needs at least one of email, partnerCustomerIdentifier and kyc',
  })
}

/** Refuses (400) an update without fields. */
export function refuseEmptyUpdate(input: CustomerUpdate): void {
  if (Object.keys(input).length > 0) return
  throw refuseField({
    pointer: '',
    code: 'required',
    message: 'needs at least one of email, partnerCustomerIdentifier and kyc',
  })
}

/** The fields of a customer that the history records. */
export type RecordedFields = {
  readonly email: string | null
  readonly partnerCustomerIdentifier: string | null
  readonly kyc: KycFields
}
/** `field` is a path such as `kyc.city`. A value is absent if the field was empty, is empty, or is withheld. */
export type FieldChange = {
  readonly field: string
  readonly before?: string
  readonly after?: string
  readonly withheld?: true
}

/**
 * Lists changed fields in the order of their names. A change of the identification number is listed without its
 * values.
 */
export function changedFields(before: RecordedFields | undefined, after: RecordedFields): readonly FieldChange[] {
  const [earlier, later] = [before === undefined ? new Map<string, string>() : fieldValues(before), fieldValues(after)]
  return [...new Set([...earlier.keys(), ...later.keys()])].toSorted().flatMap((field): readonly FieldChange[] => {
    const [was, is] = [earlier.get(field), later.get(field)]
    if (was === is) return []
    if (field === withheldField) return [{ field, withheld: true }]
    return [{ field, ...(was === undefined ? {} : { before: was }), ...(is === undefined ? {} : { after: is }) }]
  })
}

const withheldField = 'kyc.personalIdentificationNumber'

function fieldValues({ email, partnerCustomerIdentifier, kyc }: RecordedFields): ReadonlyMap<string, string> {
  return new Map([
    ...(email === null ? [] : [['email', email] as const]),
    ...(partnerCustomerIdentifier === null ? [] : [['partnerCustomerIdentifier', partnerCustomerIdentifier] as const]),
    ...Object.entries(kyc).map(([field, value]) => [`kyc.${field}`, value] as const),
  ])
}
