/**
 * Pure: formats an alert of monitoring as a goAML report (UNODC schemas 4 and 5), with elements in the order of the
 * schema. Missing data is omitted and listed for a person to complete, because each authority requires different
 * fields.
 */
import { amountText, type Currency, type Minor } from '../kernel/index.ts'
import { shorten, xmlDeclaration, xmlElement as element, xmlText } from '../iso20022/index.ts'
import type { Customer } from '../parties/customers/index.ts'
import { accountCountry, type FiuCodes } from '../monitoring/index.ts'
import type { Payment } from '../transactions/index.ts'

/** The reporting entity, from the settings. */
export type ReportingEntity = {
  readonly entityId: string
  readonly person: readonly string[] | null
  readonly location: readonly string[] | null
  readonly codes: FiuCodes
  readonly currency: Currency
  /** Units of `currency` for one unit of each currency. */
  readonly rates: ReadonlyMap<Currency, string>
}
export type ReportedPayment = Payment & {
  /** The amount in the currency of the report. Null without a rate. */
  readonly local: Minor | null
}
export type ReportedAlert = {
  readonly id: string
  readonly partnerName: string
  readonly kind: string
  readonly reason: string
  readonly action: string
  readonly reportedAt: Date
  readonly payments: readonly ReportedPayment[]
  /** Customers of the payments, by their guid. */
  readonly customers: ReadonlyMap<string, Customer>
}

/** The missing data of a report, each listed once. */
type MissingFields = Set<string>
type Report = { readonly missing: MissingFields; readonly reporting: ReportingEntity; readonly alert: ReportedAlert }

const commentsCharsMax = 8000
const timeText = (at: Date): string => at.toISOString().slice(0, 19)
const dateText = (day: string): string => `${day.slice(0, 10)}T00:00:00`

/**
 * Formats an element with text. An element without text is omitted, and `lacking` is added to the list of missing data.
 */
function optionalElement(
  missing: MissingFields,
  name: string,
  text: string | null | undefined,
  charsMax: number,
  lacking?: string,
): string {
  if (text !== null && text !== undefined && text !== '') return element(name, xmlText(shorten(text, charsMax)))
  if (lacking !== undefined) missing.add(lacking)
  return ''
}

export function goamlReport(
  reporting: ReportingEntity,
  alert: ReportedAlert,
): { readonly text: string; readonly missing: readonly string[] } {
  const missing: MissingFields = new Set()
  const { entityId, codes, currency, person, location } = reporting
  const { id, kind, reason, action, reportedAt, payments } = alert
  const [first, last] = person ?? []
  if (person === null) missing.add('reporting_person (FIU_REPORTING_PERSON)')
  if (location === null) missing.add('location (FIU_LOCATION)')
  const [street = '', city = '', country = ''] = location ?? []
  const place = { street, city, zip: undefined, country }
  const text = element(
    'report',
    [
      element('rentity_id', entityId),
      optionalElement(missing, 'rentity_branch', codes.branch, 255),
      element('submission_code', codes.submission),
      element('report_code', codes.report),
      element('entity_reference', id),
      element('submission_date', timeText(reportedAt)),
      element('currency_code_local', currency),
      person === null
        ? ''
        : element(
            'reporting_person',
            optionalElement(missing, 'first_name', first, 100) + optionalElement(missing, 'last_name', last, 100),
          ),
      location === null
        ? ''
        : element(
            'location',
            addressContent(missing, codes, place) + optionalElement(missing, 'state', codes.state, 255),
          ),
      optionalElement(missing, 'reason', reason, commentsCharsMax),
      optionalElement(missing, 'action', action, commentsCharsMax),
      ...payments.map((payment) => transactionXml({ missing, reporting, alert }, payment)),
      element('report_indicators', element('indicator', codes[`indicator.${kind}`] ?? codes.indicator)),
    ].join(''),
  )
  if ((codes[`indicator.${kind}`] ?? codes.indicator) === '-') missing.add(`indicator of ${kind} (FIU_CODES)`)
  return { text: `${xmlDeclaration}${text}\n`, missing: [...missing] }
}

type Place = {
  readonly street: string
  readonly city: string
  readonly zip: string | undefined
  readonly country: string
}
const addressContent = (missing: MissingFields, codes: FiuCodes, { street, city, zip, country }: Place): string =>
  [
    element('address_type', codes.contact),
    optionalElement(missing, 'address', street, 100),
    optionalElement(missing, 'city', city, 255),
    optionalElement(missing, 'zip', zip, 10),
    element('country_code', xmlText(country)),
  ].join('')

function transactionXml(report: Report, payment: ReportedPayment): string {
  const { missing, reporting } = report
  const { codes, currency } = reporting
  const { reference, transactionId, description, type, status, createdAt, local } = payment
  const about = [type, status, description].filter((text) => text !== null && text !== '').join(': ')
  const paid = toMoney(payment.amount, payment.currency)
  // In an exchange the amounts sold and bought differ.
  const { userAmount, userCurrency } = payment
  const bought = userAmount === null || userCurrency === null ? paid : toMoney(userAmount, userCurrency)
  const own = clientSide(report, payment.customerId)
  const other = otherSide(report, payment)
  const [from, to] = payment.direction === 'Inward' ? [other, own] : [own, other]
  if (local === null) missing.add(`amount_local of ${reference}: no rate from ${payment.currency} to ${currency}`)
  if (codes.transmode === '-') missing.add('transmode_code (FIU_CODES)')
  if (codes.funds === '-') missing.add('funds_code (FIU_CODES)')
  return element(
    'transaction',
    [
      optionalElement(missing, 'transactionnumber', reference, 100),
      element('internal_ref_number', transactionId),
      element('transaction_location', 'Online'),
      optionalElement(missing, 'transaction_description', about, commentsCharsMax),
      element('date_transaction', timeText(createdAt)),
      element('transmode_code', codes.transmode),
      optionalElement(missing, 'transmode_comment', codes.transmode_comment, 255),
      local === null ? '' : element('amount_local', amountText(local, currency)),
      sideXml(reporting, 'from', from, paid),
      sideXml(reporting, 'to', to, bought),
    ].join(''),
  )
}

type Side = {
  readonly tag: 'account' | 'entity' | 'person'
  readonly content: string
  readonly country: string
  readonly isClient: boolean
}
type Money = { readonly currency: Currency; readonly text: string }
const toMoney = (amount: Minor, currency: Currency): Money => ({ currency, text: amountText(amount, currency) })

function sideXml({ codes, currency, rates }: ReportingEntity, way: 'from' | 'to', side: Side, money: Money): string {
  const foreign = [
    element('foreign_currency_code', money.currency),
    element('foreign_amount', money.text),
    ...[rates.get(money.currency)].map((rate) => (rate === undefined ? '' : element('foreign_exchange_rate', rate))),
  ]
  const inner = [
    element(`${way}_funds_code`, codes.funds),
    money.currency === currency ? '' : element(`${way}_foreign_currency`, foreign.join('')),
    element(`${way}_${side.tag}`, side.content),
    element(`${way}_country`, xmlText(side.country)),
  ]
  return element(side.isClient ? `t_${way}_my_client` : `t_${way}`, inner.join(''))
}

/** Formats the client's side: a customer, or the partner for its own money. */
function clientSide({ missing, reporting, alert }: Report, customerId: string | null): Side {
  const { codes, location } = reporting
  const place = { country: location?.[2] ?? '-', isClient: true } as const
  if (customerId === null) return { ...place, tag: 'entity', content: partnerContent(missing, alert.partnerName) }
  const customer = alert.customers.get(customerId)
  if (customer === undefined) missing.add(`customer ${customerId}: erased`)
  if (customer === undefined) return { ...place, tag: 'person', content: '' }
  return customer.customerType === 'Business'
    ? { ...place, tag: 'entity', content: entityContent(missing, codes, customer) }
    : { ...place, tag: 'person', content: personContent(missing, codes, customer) }
}

/**
 * Formats the counterparty: a customer or the partner for a transfer, the same party for a conversion, else an external
 * account.
 */
function otherSide(report: Report, payment: ReportedPayment): Side {
  const { missing } = report
  const { reference, account, bic, otherName, otherCountry, currency, userCurrency } = payment
  const customerId = counterpartyCustomer(account)
  if (customerId !== undefined) return clientSide(report, customerId)
  if (account === 'partner') return clientSide(report, null)
  if (payment.direction === 'Internal') return clientSide(report, payment.customerId)
  if (bic === null) missing.add(`swift of the bank of ${otherName ?? reference}`)
  const content = [
    bic === null ? element('institution_code', '-') : element('swift', xmlText(bic)),
    optionalElement(missing, 'account', account, 255, `account of the other side of ${reference}`),
    element('currency_code', userCurrency ?? currency),
    optionalElement(missing, 'account_name', otherName, 255, `name of the other side of ${reference}`),
    /^[A-Z]{2}\d{2}/.test(account ?? '') ? optionalElement(missing, 'iban', account, 34) : '',
  ].join('')
  return { tag: 'account', content, country: accountCountry(account, bic) ?? otherCountry ?? '-', isClient: false }
}

/** Reads the id of the customer who is the counterparty of a transfer. */
export const counterpartyCustomer = (account: string | null): string | undefined =>
  /^customer (?<id>.+)$/.exec(account ?? '')?.groups?.['id']

/** Formats the partner as an entity. The service knows only its name. */
function partnerContent(missing: MissingFields, name: string): string {
  missing.add(`legal data of the partner ${name}, whose own money it is`)
  return optionalElement(missing, 'name', name, 255)
}

function phoneXml(codes: FiuCodes, phone: string | undefined): string {
  if (phone === undefined) return ''
  const number = element('tph_number', xmlText(phone.slice(0, 50)))
  const kinds = element('tph_contact_type', codes.contact) + element('tph_communication_type', codes.communication)
  return element('phones', element('phone', kinds + number))
}

function addressesXml(missing: MissingFields, codes: FiuCodes, { kyc }: Customer, of: string): string {
  const { addressLine1, addressLine2, residenceAddress, city, postalCode: zip } = kyc
  const street = [addressLine1, addressLine2].filter((line) => line !== undefined).join(', ') || residenceAddress
  if (street === undefined || city === undefined) missing.add(`address of ${of}`)
  if (street === undefined || city === undefined) return ''
  const country = kyc.addressCountryCode ?? kyc.countryOfPrincipalBusiness ?? '-'
  if (country === '-') missing.add(`country of the address of ${of}`)
  return element('addresses', element('address', addressContent(missing, codes, { street, city, zip, country })))
}

const emailXml = (missing: MissingFields, { email }: Customer): string => optionalElement(missing, 'email', email, 255)

/** Formats a person. The last word is used as the family name, and the list of missing data asks to check it. */
function personContent(missing: MissingFields, codes: FiuCodes, customer: Customer): string {
  const { kyc, serviceId } = customer
  const words = (kyc.fullName ?? '').split(/\s+/).filter((word) => word !== '')
  const of = `customer ${serviceId}`
  missing.add(`gender, residence and identity document of ${of}`)
  if (words.length > 0) missing.add(`first_name and last_name of ${of}: check where the full name is parted`)
  const birth = kyc.dateOfBirth === undefined ? undefined : dateText(kyc.dateOfBirth)
  const phones = phoneXml(codes, kyc.mobilePhone)
  if (phones === '') missing.add(`phones of ${of}`)
  return [
    optionalElement(missing, 'first_name', words.slice(0, -1).join(' '), 100, `first_name of ${of}`),
    optionalElement(missing, 'last_name', words.at(-1), 100, `last_name of ${of}`),
    optionalElement(missing, 'birthdate', birth, 19, `birthdate of ${of}`),
    optionalElement(missing, 'id_number', kyc.personalIdentificationNumber, 255, `id_number of ${of}`),
    optionalElement(missing, 'nationality1', kyc.citizenshipCountryCode, 2, `nationality1 of ${of}`),
    phones,
    addressesXml(missing, codes, customer, of),
    emailXml(missing, customer),
    optionalElement(missing, 'tax_number', kyc.taxId, 100),
  ].join('')
}

function entityContent(missing: MissingFields, codes: FiuCodes, customer: Customer): string {
  const { kyc, serviceId } = customer
  const of = `customer ${serviceId}`
  missing.add(`director_id of ${of}`)
  const incorporated = kyc.dateOfIncorporation === undefined ? undefined : dateText(kyc.dateOfIncorporation)
  const phones = phoneXml(codes, kyc.mobilePhone)
  if (phones === '') missing.add(`phones of ${of}`)
  const owners = ([1, 2, 3, 4, 5] as const).flatMap(
    (n) => [kyc[`uboFirstName${n}`], kyc[`uboLastName${n}`]].filter((name) => name !== undefined).join(' ') || [],
  )
  // The legal form is a code of the authority. The customer's own text is in the comments.
  const said = [
    ...(kyc.legalForm === undefined ? [] : [`Legal form: ${kyc.legalForm}.`]),
    ...(owners.length === 0 ? [] : [`Beneficial owners: ${owners.join('; ')}.`]),
  ].join(' ')
  missing.add(`incorporation_legal_form of ${of}: a code of the authority`)
  return [
    optionalElement(missing, 'name', kyc.legalName ?? kyc.fullName, 255, `name of ${of}`),
    optionalElement(missing, 'commercial_name', kyc.tradingName, 255),
    optionalElement(missing, 'incorporation_number', kyc.registrationNumber, 50, `incorporation_number of ${of}`),
    optionalElement(missing, 'business', kyc.natureOfBusiness, 255, `business of ${of}`),
    phones,
    addressesXml(missing, codes, customer, of),
    emailXml(missing, customer),
    optionalElement(missing, 'url', kyc.website, 255),
    optionalElement(
      missing,
      'incorporation_country_code',
      kyc.countryOfIncorporation,
      2,
      `incorporation_country_code of ${of}`,
    ),
    optionalElement(missing, 'incorporation_date', incorporated, 19, `incorporation_date of ${of}`),
    optionalElement(missing, 'tax_number', kyc.taxId, 100),
    optionalElement(missing, 'comments', said, commentsCharsMax),
  ].join('')
}
