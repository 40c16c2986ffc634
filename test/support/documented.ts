/** The documented shapes, written by hand from the interface document: exact names, types and enums. */
import assert from 'node:assert/strict'
import type { Json, JsonObject } from './client.ts'

export type Check = (value: Json, at: string) => void
type Field = { readonly check: Check; readonly optional: boolean }
type Fields = Readonly<Record<string, Field>>

const match =
  (pattern: RegExp): Check =>
  (value, at) => {
    assert.equal(typeof value, 'string', `${at} must be text, is ${JSON.stringify(value)}`)
    assert.match(String(value), pattern, at)
  }
const typeIs =
  (type: 'number' | 'boolean'): Check =>
  (value, at) =>
    assert.equal(typeof value, type, `${at} must be a ${type}, is ${JSON.stringify(value)}`)

export const string = match(/^[\s\S]*$/)
export const uuid = match(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i)
/** ISO 8601, UTC. */
export const dateTime: Check = (value, at) => {
  match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/)(value, at)
  assert.ok(!Number.isNaN(Date.parse(String(value))), `${at} is not a date and time`)
}
export const number = typeIs('number')
export const boolean = typeIs('boolean')
export const country = match(/^[A-Z]{2}$/)
export const oneOf =
  (...values: readonly string[]): Check =>
  (value, at) =>
    assert.ok(values.includes(String(value)), `${at} must be one of ${values.join(', ')}, is ${JSON.stringify(value)}`)

export const listOf =
  (check: Check): Check =>
  (value, at) => {
    assert.ok(Array.isArray(value), `${at} must be a list`)
    value.forEach((item: Json, index) => check(item, `${at}/${index}`))
  }

/** Requires exactly these fields. Optional fields may be absent; no field may be null. */
export const object =
  (fields: Fields): Check =>
  (value, at) => {
    assert.ok(typeof value === 'object' && value !== null && !Array.isArray(value), `${at} must be an object`)
    const given = value as JsonObject
    const unknown = Object.keys(given).filter((name) => !Object.hasOwn(fields, name))
    assert.deepEqual(unknown, [], `${at} has undocumented fields`)
    for (const [name, field] of Object.entries(fields)) {
      const inner = given[name]
      if (inner === undefined) assert.ok(field.optional, `${at}/${name} is missing`)
      else field.check(inner, `${at}/${name}`)
    }
  }

const always = (check: Check): Field => ({ check, optional: false })
const maybe = (check: Check): Field => ({ check, optional: true })
const each = (names: readonly string[], field: Field): Fields => Object.fromEntries(names.map((name) => [name, field]))

export const kycTextFields = [
  ...['addressLine1', 'addressLine2', 'citizenshipCountryCode', 'city', 'countryOfIncorporation'],
  ...['countryOfPrincipalBusiness', 'dateOfBirth', 'dateOfIncorporation', 'fullName', 'legalForm', 'legalName', 'lei'],
  ...['mobilePhone', 'natureOfBusiness', 'postalCode', 'registrationNumber', 'residenceAddress', 'taxId'],
  ...['tradingName', 'website'],
  ...[1, 2, 3, 4, 5].flatMap((n) => [`uboFirstName${n}`, `uboLastName${n}`]),
] as const

export const customer = object({
  partnerCustomerIdentifier: maybe(string),
  serviceId: always(string),
  guid: always(uuid),
  email: maybe(string),
  createdAt: always(dateTime),
  updatedAt: always(dateTime),
  kyc: always(
    object({
      ...each(kycTextFields, maybe(string)),
      customerType: always(oneOf('Individual', 'Business', 'SoleTrader')),
    }),
  ),
})

export const invitation = object({
  inviteId: always(string),
  email: always(string),
  roleName: always(string),
  status: always(oneOf('Pending', 'Accepted', 'Expired', 'Revoked')),
  invitedById: always(string),
  invitedByFullName: always(string),
  createdAt: always(dateTime),
  updatedAt: always(dateTime),
})
export const invitations = object({ invitations: always(listOf(invitation)) })

export const fiatPayout = object({
  amount: always(number),
  beneficiaryAccount: always(string),
  beneficiaryName: always(string),
  currency: always(string),
  idempotencyKey: always(string),
  reference: always(string),
  status: always(
    oneOf('Pending', 'PendingApproval', 'Processing', 'Sent', 'Completed', 'Failed', 'Returned', 'Cancelled'),
  ),
})

/** `id`, `alias` and `name` are documented. The other fields are those of creation on the contract page. */
export const beneficiary = object({
  id: always(uuid),
  name: always(string),
  alias: maybe(string),
  customerId: maybe(uuid),
  ...each(['iban', 'sortCode', 'routingNumber', 'accountNumber', 'bic', 'walletAddress'], maybe(string)),
  accountType: maybe(oneOf('Checking', 'Savings')),
  country: maybe(country),
  address: maybe(
    object({
      ...each(['streetName', 'buildingNumber', 'postalCode', 'state'], maybe(string)),
      ...{ city: always(string), country: always(country) },
    }),
  ),
  missingFields: maybe(listOf(string)),
  currency: always(string),
  createdAt: always(dateTime),
  updatedAt: always(dateTime),
})

export const customerAccount = object({
  country: always(country),
  iban: always(string),
  partnerCustomerId: always(string),
  ibans: always(listOf(object({ country: always(country), iban: always(string) }))),
})

const partyTexts = [
  ...['bankName', 'bic', 'iban', 'sortCode', 'routingNumber', 'accountNumber', 'accountHolderName', 'address'],
  ...['country', 'walletAddress'],
]
const party = object(each(partyTexts, maybe(string)))
const status = oneOf('Pending', 'Completed', 'Unsuccessful', 'Cancelled', 'Expired')
const steps = [
  ...['Created', 'Initiated', 'Submitted', 'Screening', 'Approval', 'Reserved', 'Accepted', 'Sent', 'Settled'],
  ...['Credited', 'Returned', 'Failed', 'Cancelled', 'Expired'],
]
const errorKeys = [
  ...['Failed', 'Expired', 'BankRejection', 'BankUnreachable', 'InvalidAccountDetails', 'CurrencyNotAccepted'],
  ...['InvalidWalletAddress', 'RecipientBlocked'],
]
const transactionTypes = [
  ...['NotDefined', 'PartnerCustomerDeposit', 'PartnerCustomerWithdraw', 'PartnerDeposit', 'PartnerWithdraw'],
  ...['PartnerCustomerRefund', 'TokenTransferOut', 'TokenTransferIn', 'CustomerDeposit', 'CustomerWithdraw'],
  ...['CustomerRefund', 'Conversion'],
]
const transactionTexts = [
  ...['endToEndId', 'sessionId', 'websiteReference', 'userReference', 'idempotencyKey', 'description'],
  ...['beneficiaryAlias', 'transactionHash', 'userCurrency'],
]

export const transaction = object({
  reference: always(string),
  amount: always(number),
  currency: always(string),
  userAmount: maybe(number),
  category: always(oneOf('Deposit', 'Withdrawal', 'Conversion')),
  direction: always(oneOf('Internal', 'Inward', 'Outward')),
  method: always(oneOf('Fiat', 'Token')),
  partyType: always(oneOf('Partner', 'Customer')),
  status: always(status),
  type: always(oneOf(...transactionTypes)),
  errorKey: maybe(oneOf(...errorKeys)),
  rail: maybe(oneOf('Sepa', 'Swift', 'Wallet')),
  hasFx: always(boolean),
  fxQuoteExpiryTime: maybe(dateTime),
  createdAt: always(dateTime),
  updatedAt: always(dateTime),
  ...each(transactionTexts, maybe(string)),
  beneficiaryId: maybe(uuid),
  creditorDetails: maybe(party),
  debtorDetails: maybe(party),
  partnerUser: maybe(
    object(each(['address', 'country', 'countryCode', 'email', 'id', 'ipAddress', 'name'], maybe(string))),
  ),
  timeline: always(
    listOf(object({ createdAt: always(dateTime), status: always(status), step: always(oneOf(...steps)) })),
  ),
})

export function assertShape(check: Check, value: Json): void {
  check(value, '')
}
