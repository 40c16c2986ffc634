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
  described,
  nullable,
  oneOf,
  optional,
  page,
  pageQuery,
  serviceIdPattern,
  text,
  timeInput,
} from './shapes.ts'
import { verificationStates } from './verification.ts'

export const customerTypes = ['Individual', 'Business', 'SoleTrader'] as const
export const CustomerType = oneOf(customerTypes)

/** Identifier in a query. A path and a body accept the `guid` as well. */
const ServiceId = Type.String({ pattern: serviceIdPattern })

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

const kycTextMeanings: Readonly<Record<keyof typeof kycText, string>> = {
  addressLine1: 'First line of the postal address: street and number.',
  addressLine2: 'Second line of the postal address: building, floor or unit.',
  city: 'City of the postal address.',
  fullName: 'Full name of the person, as in the identity document.',
  legalForm: 'Legal form of the company, for example `GmbH`.',
  legalName: 'Registered name of the company.',
  lei: 'Legal Entity Identifier, ISO 17442: 20 characters. Stored as given.',
  mobilePhone: 'Mobile phone number, preferably in E.164 form. Stored as given.',
  natureOfBusiness: 'Business of the company, in one sentence.',
  postalCode: 'Postal code of the postal address.',
  registrationNumber: 'Number of the company in its public register.',
  residenceAddress: 'Complete residential address of the person, on one line.',
  taxId: 'Tax identification number. Stored as given.',
  tradingName: 'Name under which the business trades.',
  website: 'Website of the business. Stored as given.',
}
const kycDateMeanings = {
  dateOfBirth: 'Date of birth of the person, `YYYY-MM-DD`.',
  dateOfIncorporation: 'Date of incorporation of the company, `YYYY-MM-DD`.',
} as const
const kycCountryMeanings = {
  addressCountryCode:
    'Country of the postal address, ISO 3166-1 alpha-2. Banks outside the European Economic Area ask for it with a payment.',
  citizenshipCountryCode: 'Country of citizenship of the person, ISO 3166-1 alpha-2.',
  countryOfIncorporation: 'Country where the company is registered, ISO 3166-1 alpha-2.',
  countryOfPrincipalBusiness: 'Country where the company does most of its business, ISO 3166-1 alpha-2.',
} as const
const customerTypeMeaning = '`Individual`: a person. `Business`: a company. `SoleTrader`: a person in business.'

type OwnerField = `uboFirstName${1 | 2 | 3 | 4 | 5}` | `uboLastName${1 | 2 | 3 | 4 | 5}`
const ownerFields = owners.flatMap((n) => [`uboFirstName${n}`, `uboLastName${n}`] as const) as readonly OwnerField[]
const ownerMeaning = (field: OwnerField) =>
  `${field.includes('First') ? 'First' : 'Last'} name of ultimate beneficial owner ${field.slice(-1)}.`

/** The field can be absent, which keeps its value, or `null`, which clears it. */
const clearable = <T extends TSchema>(schema: T) => optional(nullable(schema))
const mapFields = <K extends string, V>(keys: readonly K[], value: (key: K) => V) =>
  Object.fromEntries(keys.map((key) => [key, value(key)])) as Record<K, V>
const keysOf = <T extends object>(record: T) => Object.keys(record) as (keyof T & string)[]

const pinField = 'personalIdentificationNumber'
/** All KYC fields of a request, in alphabetical order, as in the interface document. */
export const kycFields = [
  ...keysOf(kycText),
  ...ownerFields,
  ...keysOf(kycCountryMeanings),
  ...keysOf(kycDateMeanings),
  pinField,
].toSorted() as readonly (
  | keyof typeof kycText
  | OwnerField
  | keyof typeof kycCountryMeanings
  | keyof typeof kycDateMeanings
  | typeof pinField
)[]

/** Dates are `YYYY-MM-DD`, countries ISO 3166-1 alpha-2. `null` clears a field. An empty string is refused. */
export const KycInput = closed({
  ...mapFields(keysOf(kycText), (key) => described(clearable(text(kycText[key])), kycTextMeanings[key])),
  ...mapFields(ownerFields, (key) => described(clearable(text(ownerNameCharsMax)), ownerMeaning(key))),
  ...mapFields(keysOf(kycCountryMeanings), (key) => described(clearable(CountryCode), kycCountryMeanings[key])),
  ...mapFields(keysOf(kycDateMeanings), (key) => described(clearable(CalendarDate), kycDateMeanings[key])),
  [pinField]: described(
    clearable(text(70)),
    'National identification number of the person. Stored encrypted. No response contains it.',
  ),
})

/** Omits `personalIdentificationNumber`, which is request-only. Adds `customerType`, which is response-only. */
export const Kyc = closed({
  ...mapFields(keysOf(kycText), (key) => described(optional(Type.String()), kycTextMeanings[key])),
  ...mapFields(ownerFields, (key) => described(optional(Type.String()), ownerMeaning(key))),
  ...mapFields(keysOf(kycCountryMeanings), (key) => described(optional(CountryCode), kycCountryMeanings[key])),
  ...mapFields(keysOf(kycDateMeanings), (key) => described(optional(CalendarDate), kycDateMeanings[key])),
  customerType: described(CustomerType, customerTypeMeaning),
})

const requestFields = {
  email: described(clearable(Email), 'Email address of the customer. Null clears it.'),
  partnerCustomerIdentifier: described(
    clearable(text(140)),
    'Your identifier of the customer, 1 to 140 characters. It names one customer: another one with it is 409. Null clears it.',
    { examples: ['customer-42'] },
  ),
  kyc: described(
    clearable(KycInput),
    'Identity (KYC) data. Given fields are set. Null clears a field, or all of them.',
  ),
}
/** Interface document, Customer: request body. Absent fields are unchanged; `null` clears a field. */
export const CustomerUpdate = closed(requestFields)
export const CustomerCreate = closed({
  ...requestFields,
  customerType: described(
    optional(CustomerType),
    `${customerTypeMeaning} Without it, the service derives the type from the KYC fields.`,
  ),
})

export const Customer = closed({
  partnerCustomerIdentifier: described(
    optional(Type.String()),
    'Your identifier of the customer. Absent if none was given.',
  ),
  serviceId: described(Type.String(), 'Short identifier of the customer: `cus_` and 16 characters.', {
    examples: ['cus_0123456789abcdef'],
  }),
  guid: described(Uuid, 'Identifies the customer. Paths accept the `guid` and the `serviceId`.'),
  email: described(optional(Type.String()), 'Email address of the customer. Absent if none was given.'),
  createdAt: described(Timestamp, 'Time of creation.'),
  updatedAt: described(Timestamp, 'Time of the last change.'),
  kyc: described(Kyc, 'Identity (KYC) data. A field without a value is absent.'),
})
export const CustomerPage = page(Customer)
export const CustomerQuery = closed({
  ...pageQuery,
  email: described(optional(text(254)), 'Only customers with this email address. Ignores case.'),
  partnerCustomerIdentifier: described(optional(text(140)), 'Only customers with this identifier of yours.'),
  serviceId: described(optional(ServiceId), 'Only the customer with this `serviceId`.'),
  iban: described(
    optional(text(42)),
    'Only the customer whose account has, or had until it was closed, this IBAN. Spaces and case do not count.',
  ),
  customerType: described(optional(CustomerType), 'Only customers of this type.'),
  verificationState: described(
    optional(oneOf(verificationStates)),
    'Only customers whose verification has this state: `Complete`, `Incomplete` or `Invalid`, as in ' +
      '`GET /v1/customers/{id}/verification`. A state that a birthday changes is found a few minutes after midnight UTC.',
  ),
  namePrefix: described(
    optional(text(140)),
    'Only customers of whose `fullName`, `legalName` or `tradingName` a word begins with this text, which may continue ' +
      'with the following words. Ignores case, accents and punctuation; other scripts are transliterated. At least 2 ' +
      'letters or digits; the first 12 characters count.',
    { examples: ['Lovela'] },
  ),
  createdFrom: optional(timeInput('Only customers created at or after this time')),
  createdTo: optional(timeInput('Only customers created before this time')),
  updatedSince: optional(timeInput('Only customers created or changed at or after this time, the latest change first')),
})

const FieldChange = closed({
  field: described(Type.String(), 'Name of the field, for example `email` or `kyc.city`.', { examples: ['kyc.city'] }),
  before: described(optional(Type.String()), 'The value before. Absent if there was none, or it is withheld.'),
  after: described(optional(Type.String()), 'The value after. Absent if there is none, or it is withheld.'),
  withheld: described(
    optional(Type.Boolean()),
    'True for `kyc.personalIdentificationNumber`, whose values are not recorded. Absent otherwise.',
  ),
})

export const CustomerChange = closed({
  sequence: described(Type.Integer(), 'Number of the change, from 1 in each customer, without gaps.'),
  kind: described(oneOf(['Created', 'Updated']), '`Created`: the customer was created. `Updated`: fields changed.'),
  changedAt: described(Timestamp, 'Time of the change.'),
  actor: described(
    optional(
      closed({
        id: described(Uuid, 'Identifies the service account.'),
        name: described(Type.String(), 'Name of the service account when it made the change.'),
      }),
    ),
    'The service account that made the change. Absent if the service itself made it.',
  ),
  requestId: described(optional(Type.String()), 'The `X-Request-Id` of the request. Absent if there is none.'),
  changes: described(Type.Array(FieldChange), 'The fields that changed, in alphabetical order.'),
})
export const CustomerChangePage = page(CustomerChange)
export const CustomerChangeQuery = closed(pageQuery)

const erasureStates = ['Running', 'Retained', 'Completed'] as const
export type ErasureState = (typeof erasureStates)[number]

export const CustomerErase = closed({
  nothingOwed: described(
    optional(Type.Boolean()),
    'True confirms that what came in for the customer and has not gone out belongs to you. Without it, such a balance ' +
      'refuses the erasure.',
  ),
})
export const CustomerErasure = closed({
  guid: described(Uuid, 'Identifies the erased customer. Its payments keep it.'),
  serviceId: described(Type.String(), 'The `serviceId` of the erased customer.'),
  state: described(
    oneOf(erasureStates),
    '`Running`: fields of payments are being erased. `Retained`: what the law requires is kept until `retainedUntil`. ' +
      '`Completed`: the erasure has ended.',
  ),
  requestedAt: described(Timestamp, 'Time of the erasure. From then on no operation finds the customer.'),
  retainedUntil: described(
    optional(Timestamp),
    'Date until which names, dates, addresses and identifiers are kept with the payments. Absent if nothing had to be kept.',
  ),
  retainedFields: described(Type.Array(Type.String()), 'Names of the KYC fields that are kept. Empty if none is kept.'),
  completedAt: described(optional(Timestamp), 'Time at which the last field was erased. Absent until then.'),
})
