/** Pure: which KYC is refused, what a merge leaves, which type a customer is of. */
import type { BodyOf, customers, FieldError, Static } from '@partner-payments/wire'
import countries from 'i18n-iso-countries'
import { Refusal, refuseField } from '../../api/index.ts'
import { after, hourMs } from '../../kernel/index.ts'

export type CustomerType = Static<typeof customers.CustomerType>
export type CustomerCreate = BodyOf<'createCustomer'>
export type CustomerUpdate = BodyOf<'updateCustomer'>
/** KYC as a request says it: null clears a field. */
export type KycInput = NonNullable<CustomerCreate['kyc']>
/** KYC as it is kept, sealed: a field that was not given is not there. */
export type KycFields = { readonly [K in keyof KycInput]?: NonNullable<KycInput[K]> }

/** A merge of `input` into `kyc`: given is set, null clears, absent stays; a null `input` clears everything. */
export function mergeKyc(kyc: KycFields, input: KycInput | null | undefined): KycFields {
  if (input === undefined) return kyc
  if (input === null) return {}
  return Object.fromEntries(Object.entries({ ...kyc, ...input }).filter(([, value]) => value !== null))
}

/** What only a legal person has. */
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
 * The type of a customer that was created without one. A field that only a legal person has: Business. A trading name
 * beside a person's name, without such a field: SoleTrader. Everything else: Individual. Once stored it stays: a later
 * KYC update never moves a customer to another type behind the partner's back.
 */
export function deriveType(kyc: KycFields): CustomerType {
  if (businessFields.some((field) => kyc[field] !== undefined)) return 'Business'
  return kyc.tradingName !== undefined && kyc.fullName !== undefined ? 'SoleTrader' : 'Individual'
}

const dateFields = ['dateOfBirth', 'dateOfIncorporation'] as const
const countryFields = ['citizenshipCountryCode', 'countryOfIncorporation', 'countryOfPrincipalBusiness'] as const

/**
 * Refuses (400) what is unambiguously no date or no country, all fields in one answer. The schema has judged the form;
 * `lei`, `mobilePhone`, `website` and `taxId` are kept as given (contract page, KYC formats).
 */
export function refuseBadKyc(input: KycInput | null | undefined, now: Date): void {
  const errors = input ? kycErrors(input, now) : []
  const [first] = errors
  if (first) throw new Refusal('validation_failed', `${first.pointer}: ${first.message}`, { errors })
}

function kycErrors(input: KycInput, now: Date): readonly FieldError[] {
  // Today is where the day begins first (UTC+14): a company founded this morning in Auckland is not of the future.
  const latest = after(now, 14 * hourMs)
    .toISOString()
    .slice(0, 10)
  const errors: FieldError[] = []
  for (const field of dateFields) {
    const date = input[field]
    if (typeof date !== 'string') continue
    const pointer = `/kyc/${field}`
    if (!isCalendarDate(date)) errors.push({ pointer, code: 'invalid_value', message: 'is not a date of the calendar' })
    else if (date > latest) errors.push({ pointer, code: 'out_of_range', message: 'lies in the future' })
  }
  for (const field of countryFields) {
    const country = input[field]
    // The list is ISO 3166-1 and XK: Kosovo's code is user-assigned, and in use by banks and the IBAN registry.
    if (typeof country === 'string' && !countries.isValid(country))
      errors.push({ pointer: `/kyc/${field}`, code: 'invalid_value', message: 'is not an ISO 3166-1 alpha-2 code' })
  }
  return errors
}

const monthDays = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const

/** `YYYY-MM-DD` of the Gregorian calendar: `Date.parse` would take 2023-02-30 for March 2nd. */
export function isCalendarDate(text: string): boolean {
  const [year = 0, month = 0, day = 0] = text.split('-').map(Number)
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  const days = month === 2 && leap ? 29 : monthDays[month - 1]
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && year > 0 && days !== undefined && day >= 1 && day <= days
}

/** Refuses (400) a customer that could never be told from another: no email, no identifier, no KYC field. */
export function refuseEmptyCreate(input: CustomerCreate): void {
  const kyc = mergeKyc({}, input.kyc)
  if (input.email || input.partnerCustomerIdentifier || Object.keys(kyc).length > 0) return
  throw refuseField({
    pointer: '',
    code: 'required',
    message: 'needs at least one of email, partnerCustomerIdentifier and kyc',
  })
}

/** Refuses (400) an update that names no field. */
export function refuseEmptyUpdate(input: CustomerUpdate): void {
  if (Object.keys(input).length > 0) return
  throw refuseField({
    pointer: '',
    code: 'required',
    message: 'needs at least one of email, partnerCustomerIdentifier and kyc',
  })
}
