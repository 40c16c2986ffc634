/** Customers and their KYC data. Get and update are documented; create and list are extensions. */
import {
  CalendarDate,
  CountryCode,
  Email,
  type TSchema,
  Timestamp,
  Type,
  Uuid,
  closed,
  nullable,
  oneOf,
  optional,
  page,
  pageQuery,
  text,
} from './shapes.ts'

export const customerTypes = ['Individual', 'Business', 'SoleTrader'] as const
export const CustomerType = oneOf(customerTypes)

/** Interface document, Limits 3: at most five ultimate beneficial owners. */
export const ownersMax = 5
const owners = [1, 2, 3, 4, 5] as const

const kycText = {
  addressLine1: 140,
  addressLine2: 140,
  city: 70,
  fullName: 140,
  legalForm: 70,
  legalName: 140,
  lei: 40,
  mobilePhone: 40,
  natureOfBusiness: 500,
  postalCode: 16,
  registrationNumber: 70,
  residenceAddress: 500,
  taxId: 70,
  tradingName: 140,
  website: 2048,
} as const
const ownerNameCharsMax = 70

type OwnerField = `uboFirstName${1 | 2 | 3 | 4 | 5}` | `uboLastName${1 | 2 | 3 | 4 | 5}`
const ownerFields = owners.flatMap((n) => [`uboFirstName${n}`, `uboLastName${n}`] as const) as readonly OwnerField[]

const settable = <T extends TSchema>(schema: T) => optional(nullable(schema))
const mapFields = <K extends string, V>(keys: readonly K[], value: (key: K) => V) =>
  Object.fromEntries(keys.map((key) => [key, value(key)])) as Record<K, V>
const textFields = Object.keys(kycText) as (keyof typeof kycText)[]

/** A date is `YYYY-MM-DD`, a country ISO 3166-1 alpha-2; `null` clears a field. Empty text is refused. */
export const KycInput = closed({
  ...mapFields(textFields, (key) => settable(text(kycText[key]))),
  ...mapFields(ownerFields, () => settable(text(ownerNameCharsMax))),
  citizenshipCountryCode: settable(CountryCode),
  countryOfIncorporation: settable(CountryCode),
  countryOfPrincipalBusiness: settable(CountryCode),
  dateOfBirth: settable(CalendarDate),
  dateOfIncorporation: settable(CalendarDate),
  personalIdentificationNumber: settable(text(70)),
})

/** Without `personalIdentificationNumber`, which never leaves; with `customerType`, which is never taken. */
export const Kyc = closed({
  ...mapFields(textFields, () => optional(Type.String())),
  ...mapFields(ownerFields, () => optional(Type.String())),
  citizenshipCountryCode: optional(CountryCode),
  countryOfIncorporation: optional(CountryCode),
  countryOfPrincipalBusiness: optional(CountryCode),
  dateOfBirth: optional(CalendarDate),
  dateOfIncorporation: optional(CalendarDate),
  customerType: CustomerType,
})

const requestFields = {
  email: settable(Email),
  partnerCustomerIdentifier: settable(text(140)),
  kyc: settable(KycInput),
}
/** Interface document, Customer: the body of customer update. Merge: what is absent stays, `null` clears. */
export const CustomerUpdate = closed(requestFields)
export const CustomerCreate = closed({ ...requestFields, customerType: optional(CustomerType) })

export const Customer = closed({
  partnerCustomerIdentifier: optional(Type.String()),
  serviceId: Type.String(),
  guid: Uuid,
  email: optional(Type.String()),
  createdAt: Timestamp,
  updatedAt: Timestamp,
  kyc: Kyc,
})
export const CustomerPage = page(Customer)
export const CustomerQuery = closed({
  ...pageQuery,
  email: optional(text(254)),
  partnerCustomerIdentifier: optional(text(140)),
  customerType: optional(CustomerType),
})
