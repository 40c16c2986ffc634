/** Pure: the rules for a session request, and the text of the EPC QR code. */
import {
  type BodyOf,
  checkout as wire,
  type CheckoutStatus,
  type FieldError,
  ownJson,
  type PaymentMethod,
} from '@partner-payments/wire'
import countries from 'i18n-iso-countries/index.js'
import { parseAmount, parseCurrency, parseTime, refuseField, refuseFields } from '../kernel/api/index.ts'
import { amountText, type Currency, isFiat, type Minor, secondMs } from '../kernel/index.ts'
import type { DepositStatus } from '../deposits/index.ts'

export type SessionCreate = BodyOf<'createCheckoutSession'>

const statuses: Readonly<Record<DepositStatus, CheckoutStatus>> = {
  Created: 'Open',
  Initiated: 'Processing',
  Submitted: 'Processing',
  PartiallyPaid: 'Open',
  Accepted: 'Processing',
  Screening: 'Processing',
  Completed: 'Completed',
  Failed: 'Failed',
  Expired: 'Expired',
}
export const checkoutStatus = (status: DepositStatus): CheckoutStatus => statuses[status]

/** Returns the statuses of deposits whose session has a status. */
export const depositStatusesOf = (wanted: CheckoutStatus): readonly DepositStatus[] =>
  (Object.keys(statuses) as DepositStatus[]).filter((status) => statuses[status] === wanted)

export type SessionRequest = {
  readonly amount: Minor
  readonly currency: Currency
  readonly paymentMethod: PaymentMethod
  readonly expires: SessionExpiry
  readonly returnUrl: string | null
  readonly lineItems: readonly LineItem[] | null
}

/** Expiry of a session: a duration after its creation, or a point in time. */
type SessionExpiry = { readonly afterMs: number } | { readonly at: Date }

export type LineItem = { readonly name: string; readonly quantity: number; readonly amount: Minor }

/**
 * Parses a request. Refuses (400) with all invalid fields in one response; an unsupported currency and items with a
 * wrong sum are 422.
 */
export function parseSessionRequest(body: SessionCreate, sandbox: boolean): SessionRequest {
  const currency = parseFiatCurrency(body.currency)
  const amount = parseAmount(body.amount, currency)
  const paymentMethod = body.paymentMethod ?? (currency === 'EUR' ? 'SepaCreditTransfer' : 'Swift')
  refuseFields([
    ...customerErrors(body),
    ...methodErrors(paymentMethod, currency),
    ...countryErrors('/paymentCountryCode', body.paymentCountryCode),
    ...countryErrors('/customer/residenceCountryCode', body.customer?.residenceCountryCode),
    ...returnUrlErrors(body.returnUrl, sandbox),
    ...expiryErrors(body),
  ])
  const lineItems = validateLineItems(body.lineItems, amount, currency)
  return {
    amount,
    currency,
    paymentMethod,
    expires: readExpiry(body),
    returnUrl: body.returnUrl ?? null,
    lineItems,
  }
}

/** Parses a fiat currency. Refuses: currency_not_supported. */
export function parseFiatCurrency(text: string): Currency {
  const currency = parseCurrency(text)
  if (isFiat(currency)) return currency
  throw refuseField(
    { pointer: '/currency', code: 'invalid_value', message: 'is a token; a payment page accepts fiat currencies only' },
    'currency_not_supported',
  )
}

function readExpiry({ expiresAt, expiresInSeconds }: SessionCreate): SessionExpiry {
  if (expiresAt) return { at: parseTime(expiresAt) }
  return { afterMs: (expiresInSeconds ?? wire.checkoutExpiry.secondsDefault) * secondMs }
}

const expiryErrors = ({ expiresAt, expiresInSeconds }: SessionCreate): readonly FieldError[] =>
  expiresAt && expiresInSeconds
    ? [fieldError('/expiresAt', 'invalid_value', 'must be omitted: `expiresInSeconds` says when the session expires')]
    : []

/**
 * Computes how long a session lasts from now, in milliseconds. Checked only when the session is opened, so that a later
 * replay is not refused. Refuses: validation_failed.
 */
export function sessionDurationMs(expires: SessionExpiry, now: Date): number {
  if ('afterMs' in expires) return expires.afterMs
  const ms = expires.at.getTime() - now.getTime()
  const { secondsMin, secondsMax } = wire.checkoutExpiry
  if (ms >= secondsMin * secondMs && ms <= secondsMax * secondMs) return ms
  const message = 'must be at least 5 minutes and at most 30 days ahead'
  throw refuseField({ pointer: '/expiresAt', code: 'out_of_range', message })
}

/** Parses line items and checks their sum. Refuses: validation_failed, line_items_mismatch. */
export function validateLineItems(given: SessionCreate['lineItems'], amount: Minor, currency: Currency) {
  if (given === null || given === undefined) return null
  const items = given.map((item, at): LineItem => ({
    ...item,
    amount: parseAmount(item.amount, currency, `/lineItems/${at}/amount`),
  }))
  const sum = items.reduce((total, item) => total + item.amount, 0n)
  if (sum === amount) return items
  const message = `add up to ${amountText(sum, currency)}, and the amount of the session is ${amountText(amount, currency)}`
  throw refuseField({ pointer: '/lineItems', code: 'invalid_value', message }, 'line_items_mismatch')
}

/** Formats line items for the row. */
export const formatLineItems = (items: readonly LineItem[] | null): string | null =>
  items && JSON.stringify(items.map(({ amount, ...item }) => ({ ...item, amount: amount.toString() })))

export function parseLineItems(text: string | null): readonly LineItem[] | null {
  const stored = text === null ? null : ownJson<readonly (Omit<LineItem, 'amount'> & { amount: string })[]>(text)
  return stored && stored.map((item) => ({ ...item, amount: BigInt(item.amount) }))
}

const fieldError = (pointer: string, code: FieldError['code'], message: string): FieldError => ({
  pointer,
  code,
  message,
})

function customerErrors({ customerId, customer }: SessionCreate): readonly FieldError[] {
  if (customerId === undefined && customer === undefined)
    return [fieldError('/customerId', 'required', 'is required, or `customer` instead')]
  if (customerId !== undefined && customer !== undefined)
    return [fieldError('/customer', 'invalid_value', 'must be omitted: `customerId` names the customer')]
  // Mail software disagrees about the recipient of such an address, and a control character can end a header line.
  if (customer !== undefined && /[\p{Cc}\s"(),:;<>[\\\]]/u.test(customer.email))
    return [fieldError('/customer/email', 'invalid_character', 'has a character that an address cannot have')]
  return []
}

const methodErrors = (method: PaymentMethod, currency: Currency): readonly FieldError[] =>
  (method === 'Swift') === (currency === 'EUR')
    ? [fieldError('/paymentMethod', 'invalid_value', `does not support ${currency}; omit it`)]
    : []

const countryErrors = (pointer: string, country: string | null | undefined): readonly FieldError[] =>
  country && !countries.isValid(country)
    ? [fieldError(pointer, 'invalid_value', 'must be an ISO 3166-1 alpha-2 country code, for example DE')]
    : []

/** Validates a return URL. The page shows it as a link, so schemes such as `javascript:` are refused. */
export function returnUrlErrors(text: string | null | undefined, sandbox: boolean): readonly FieldError[] {
  if (text === null || text === undefined) return []
  // A browser would repair blanks and backslashes, and lead the payer to another site.
  const url = /^https?:\/\/[^\s\p{Cc}\\]+$/iu.test(text) ? URL.parse(text) : null
  const isLocal = url?.protocol === 'http:' && ['localhost', '127.0.0.1'].includes(url.hostname)
  if (url !== null && url.username === '' && url.password === '' && (url.protocol === 'https:' || (sandbox && isLocal)))
    return []
  return [
    fieldError(
      '/returnUrl',
      'invalid_format',
      sandbox ? 'must be an absolute https URL, or http to localhost' : 'must be an absolute https URL',
    ),
  ]
}

/** Returns the fingerprint of a request, which does not depend on the customer's state. */
export function sessionFingerprint(
  body: SessionCreate,
  { amount, currency, paymentMethod, expires, lineItems }: SessionRequest,
) {
  const {
    customerId,
    customer,
    paymentCountryCode,
    returnUrl,
    websiteReference,
    customFields,
    description,
    partialPayments,
  } = body
  return JSON.stringify([
    amount.toString(),
    currency,
    customerId ?? null,
    customer === undefined ? null : [customer.email, customer.fullName, customer.residenceCountryCode],
    paymentCountryCode ?? null,
    paymentMethod,
    returnUrl ?? null,
    websiteReference ?? null,
    customFields ?? null,
    'afterMs' in expires ? expires.afterMs : expires.at.toISOString(),
    // Absent in fingerprints of the previous version.
    ...(description || lineItems ? [description ?? null, formatLineItems(lineItems)] : []),
    ...(partialPayments ? ['in parts'] : []),
  ])
}

const epcNameCharsMax = 70

export type EpcTransfer = {
  readonly accountHolder: string
  readonly iban: string
  readonly bic: string | null
  readonly amount: Minor
  readonly currency: Currency
  readonly creditorReference: string
}

/**
 * Formats the text of the QR code of a SEPA credit transfer: EPC069-12 version 002, UTF-8. Undefined for other
 * currencies, which have no such code.
 */
export function epcText(transfer: EpcTransfer): string | undefined {
  if (transfer.currency !== 'EUR') return undefined
  return [
    'BCD',
    '002',
    '1',
    'SCT',
    transfer.bic ?? '',
    Array.from(transfer.accountHolder.replace(/\s+/gu, ' ').trim()).slice(0, epcNameCharsMax).join(''),
    transfer.iban,
    `EUR${amountText(transfer.amount, 'EUR')}`,
    '', // purpose
    transfer.creditorReference,
  ].join('\n')
}
