/** Customers and their identity (KYC) data. Get and update are documented; create and list are extensions. */
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

/** The field can be absent, which keeps its value, or `null`, which clears it. */
const clearable = <T extends TSchema>(schema: T) => optional(nullable(schema))
const mapFields = <K extends string, V>(keys: readonly K[], value: (key: K) => V) =>
  Object.fromEntries(keys.map((key) => [key, value(key)])) as Record<K, V>
const textFields = Object.keys(kycText) as (keyof typeof kycText)[]

/** Dates are `YYYY-MM-DD`, countries ISO 3166-1 alpha-2. `null` clears a field. An empty string is refused. */
export const KycInput = closed({
  ...mapFields(textFields, (key) => clearable(text(kycText[key]))),
  ...mapFields(ownerFields, () => clearable(text(ownerNameCharsMax))),
  citizenshipCountryCode: clearable(CountryCode),
  countryOfIncorporation: clearable(CountryCode),
  countryOfPrincipalBusiness: clearable(CountryCode),
  dateOfBirth: clearable(CalendarDate),
  dateOfIncorporation: clearable(CalendarDate),
  personalIdentificationNumber: clearable(text(70)),
})

/** Omits `personalIdentificationNumber`, which is request-only. Adds `customerType`, which is response-only. */
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
  email: clearable(Email),
  partnerCustomerIdentifier: clearable(text(140)),
  kyc: clearable(KycInput),
}
/** Interface document, Customer: request body. Absent fields are unchanged; `null` clears a field. */
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
