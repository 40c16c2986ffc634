/**
 * Pure: the requirements of payments, by rail, currency, country, profile of the bank and execution day. Each requirement has its source. The copies
 * of rulebooks that were read, and those that were only quoted, are listed in docs/decisions/0138-requirements-are-data.md.
 */
import type { AccountType, beneficiaries, PayeeAddress, Rail } from '@partner-payments/wire'
import type { Currency } from '../kernel/index.ts'
import { readDomestic } from './domestic.ts'
import { railOf } from './ibans.ts'

export type Requirement = {
  readonly party: (typeof beneficiaries.requirementParties)[number]
  /** A field of a beneficiary: `bic`, `accountType`, `address.city`. Of other parties a name for people. */
  readonly field: string
  readonly rule: (typeof beneficiaries.requirementRules)[number]
  readonly rail: 'Sepa' | 'Swift'
  /** Absent: all. */
  readonly currencies?: readonly Currency[]
  /** Countries of the account. Absent: all. */
  readonly countries?: (country: string) => boolean
  /** Banks whose files have one of these profiles. Absent: all banks. */
  readonly profiles?: readonly string[]
  /** The first and the last execution day, `YYYY-MM-DD`. Absent: it always held; no end is known. */
  readonly from?: string
  readonly until?: string
  readonly source: string
}

/** A kind of payments. `profile`: absent if the bank is not known, and then requirements of single banks are left out. */
export type Corridor = {
  readonly currency: Currency
  readonly rail: Rail
  readonly country: string
  readonly profile?: string
}

/** EEA Agreement, annexes: the European Union, Iceland, Liechtenstein and Norway, with the French and Finnish territories of the Union. */
const eea: ReadonlySet<string> = new Set([
  ...['AT', 'BE', 'BG', 'CY', 'CZ', 'DE', 'DK', 'EE', 'ES', 'FI', 'FR', 'GR', 'HR', 'HU', 'IE', 'IT', 'LT', 'LU', 'LV'],
  ...['MT', 'NL', 'PL', 'PT', 'RO', 'SE', 'SI', 'SK', 'IS', 'LI', 'NO', 'AX', 'GF', 'GP', 'MF', 'MQ', 'RE', 'YT'],
])
const isOutsideEea = (country: string): boolean => !eea.has(country)
const isUnitedStates = (country: string): boolean => country === 'US'

const epc =
  '2025 SCT and SCT Inst rulebooks version 1.1, and EPC153-22 version 2.1, section 7.4: the day of settlement between banks'
const swift =
  'SWIFT CBPR+, Standards Release 2026, end of unstructured addresses; compulsory at banks (Betaalvereniging Nederland, ABN AMRO, Currencycloud)'
const american =
  'Komerční banka, addresses in payments: compulsory for payments in USD and to the US; other banks recommend it'
const transfers = 'Regulation (EU) 2023/1113, articles 4 and 6: the payer of a transfer out of the Union'

const [epcDay, swiftDay] = ['2026-11-15', '2026-11-14']
const ofPayee = { party: 'Payee', rule: 'Required' } as const
const ofAmericans = { party: 'Payee', rule: 'Recommended', rail: 'Swift', source: american } as const

export const requirements: readonly Requirement[] = [
  { ...ofPayee, field: 'address.city', rail: 'Swift', from: swiftDay, source: swift },
  { ...ofPayee, field: 'address.country', rail: 'Swift', from: swiftDay, source: swift },
  {
    ...ofPayee,
    ...{ field: 'bic', rail: 'Swift', currencies: ['EUR'] },
    source: 'SWIFT CBPR+: an account outside SEPA is found by the BIC of its bank',
  },
  {
    ...ofPayee,
    ...{ field: 'bic', rail: 'Swift', profiles: ['sps-09'] },
    countries: (country) => country !== 'CH' && country !== 'LI',
    source: 'Swiss Payment Standards 2025, Implementation Guidelines for Credit Transfers, table 13, type X',
  },
  {
    ...ofPayee,
    ...{ field: 'bic', rail: 'Swift', profiles: ['cgi-09'] },
    source: 'CGI-MP WG1 User Handbook pain.001.001.09, CdtrAgt',
  },
  { party: 'Payee', field: 'address.lines', rule: 'Refused', rail: 'Sepa', from: epcDay, source: epc },
  { party: 'Payee', field: 'address.lines', rule: 'Refused', rail: 'Swift', from: swiftDay, source: swift },
  ...['address.city', 'address.country'].map((field) => ({
    ...({ party: 'Payee', field, rule: 'Recommended', rail: 'Sepa', countries: isOutsideEea, from: epcDay } as const),
    source: 'Komerční banka, addresses in payments: compulsory for SEPA payments outside the EEA; ABN AMRO: optional',
  })),
  {
    ...ofAmericans,
    field: 'address.streetName',
    source: 'Komerční banka, addresses in payments: compulsory for payments abroad',
  },
  ...['address.buildingNumber', 'address.postalCode', 'address.state'].flatMap((field) => [
    { ...ofAmericans, field, currencies: ['USD'] as const },
    { ...ofAmericans, field, countries: isUnitedStates },
  ]),
  {
    ...ofAmericans,
    ...{ field: 'accountType', currencies: ['USD'], countries: isUnitedStates },
    source: 'Nacha Operating Rules, transaction codes: checking and savings accounts have different ones',
  },
  { party: 'Payer', field: 'address', rule: 'Required', rail: 'Sepa', countries: isOutsideEea, source: transfers },
  { party: 'Payer', field: 'address', rule: 'Required', rail: 'Swift', from: swiftDay, source: swift },
  {
    ...{
      party: 'Payment',
      field: 'purpose',
      rule: 'Recommended',
      rail: 'Swift',
      currencies: ['GBP'],
      from: '2027-11-01',
    },
    source:
      'Bank of England, policy statement of 22 September 2025: purpose codes in all CHAPS payments from November 2027',
  },
]

/** The requirements of a corridor that hold on the execution day or begin later (`holdsOn`). One that is said twice is listed once. */
export function requirementsOf({ currency, rail, country, profile }: Corridor, day: string): readonly Requirement[] {
  const found = requirements.filter(
    (one) =>
      one.rail === rail &&
      (one.currencies?.includes(currency) ?? true) &&
      (one.countries?.(country) ?? true) &&
      (one.profiles === undefined || (profile !== undefined && one.profiles.includes(profile))) &&
      (one.until === undefined || one.until >= day),
  )
  const keyOf = ({ party, field, rule, from = '' }: Requirement) => `${party} ${field} ${rule} ${from}`
  return [...Map.groupBy(found, keyOf).values()].flatMap(([first]) => first ?? [])
}

export const holdsOn = ({ from = '', until = '9999' }: Requirement, day: string): boolean => from <= day && day <= until

/** A payee as requirements read it. `account`: an IBAN, or the text of a domestic account. */
export type RequiredPayee = {
  readonly currency: Currency
  readonly account: string
  readonly bic: string | null
  readonly country: string
  readonly accountType?: AccountType | null
  readonly address: PayeeAddress | null
}

/** The required fields that a payment on the day, or a later one, needs and the payee lacks. */
export function lackingOf(
  { currency, account, bic, country, ...payee }: RequiredPayee,
  day: string,
  profile?: string,
): readonly Requirement[] {
  const rail = railOf(currency, { account, bic, country })
  // A clearing system and a member number name the bank as well as a BIC does.
  const fields: Readonly<Record<string, unknown>> = { ...payee, bic: bic ?? readDomestic(account)?.system ?? null }
  const corridor = { currency, rail, country, ...(profile === undefined ? {} : { profile }) }
  return requirementsOf(corridor, day).filter(
    ({ party, rule, field }) => party === 'Payee' && rule === 'Required' && isAbsent(fields, field),
  )
}

/** `address.city` is the field `city` of `address`. */
const isAbsent = (fields: Readonly<Record<string, unknown>>, path: string): boolean => {
  const found = path
    .split('.')
    .reduce<unknown>((value, key) => (value as Readonly<Record<string, unknown>> | null | undefined)?.[key], fields)
  return found === undefined || found === null
}

/** `address.city and address.country since 2026-11-14`, with the sources. */
export function lackingText(lacking: readonly Requirement[]): string {
  const fields = lacking.map(({ field }) => field).join(' and ')
  const [from] = lacking.flatMap((one) => one.from ?? []).toSorted()
  return `${fields}${from === undefined ? '' : ` from ${from}`} (${[...new Set(lacking.map(({ source }) => source))].join('; ')})`
}

/** The address in one line: `Hauptstraße 1, 10115 Berlin, DE`. */
export const addressText = ({ streetName, buildingNumber, postalCode, city, state, country }: PayeeAddress): string =>
  [[streetName, buildingNumber], [postalCode, city], [state], [country]]
    .map((words) => words.filter((word) => word !== undefined).join(' '))
    .filter((part) => part !== '')
    .join(', ')
