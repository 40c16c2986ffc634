/**
 * The requirements of payments, by rail, currency, country, bank profile and execution day, each with its source.
 * docs/decisions/0138-requirements-are-data.md lists which rulebooks were read, and which were only quoted. Pure.
 */
import type { AccountType, beneficiaries, PayeeAddress, Rail } from '@partner-payments/wire'
import type { Currency } from '../kernel/index.ts'
import { parseDomesticAccount } from './domestic.ts'
import { chooseRail } from './ibans.ts'

export type Requirement = {
  readonly party: (typeof beneficiaries.requirementParties)[number]
  /** A field of a beneficiary: `bic`, `accountType`, `address.city`. For other parties, a description. */
  readonly field: string
  readonly rule: (typeof beneficiaries.requirementRules)[number]
  readonly rail: 'Sepa' | 'Swift'
  /** Absent: all. */
  readonly currencies?: readonly Currency[]
  /** Selects countries of the account. Absent: all. */
  readonly countries?: (country: string) => boolean
  /** Profiles of the bank's files. Absent: all banks. */
  readonly profiles?: readonly string[]
  /** The first and last execution day, `YYYY-MM-DD`. Absent: unlimited. */
  readonly from?: string
  readonly until?: string
  readonly source: string
}

/**
 * Payments with the same requirements. Without `profile`, the bank is unknown, and requirements of single banks do not
 * apply.
 */
export type PaymentCorridor = {
  readonly currency: Currency
  readonly rail: Rail
  readonly country: string
  readonly profile?: string
}

/** The European Union with its French and Finnish territories, Iceland, Liechtenstein and Norway (EEA Agreement, annexes). */
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
const requiredOfPayee = { party: 'Payee', rule: 'Required' } as const
const recommendedForUs = { party: 'Payee', rule: 'Recommended', rail: 'Swift', source: american } as const

export const requirements: readonly Requirement[] = [
  { ...requiredOfPayee, field: 'address.city', rail: 'Swift', from: swiftDay, source: swift },
  { ...requiredOfPayee, field: 'address.country', rail: 'Swift', from: swiftDay, source: swift },
  {
    ...requiredOfPayee,
    field: 'bic',
    rail: 'Swift',
    currencies: ['EUR'],
    source: 'SWIFT CBPR+: an account outside SEPA is found by the BIC of its bank',
  },
  {
    ...requiredOfPayee,
    field: 'bic',
    rail: 'Swift',
    profiles: ['sps-09'],
    countries: (country) => country !== 'CH' && country !== 'LI',
    source: 'Swiss Payment Standards 2025, Implementation Guidelines for Credit Transfers, table 13, type X',
  },
  {
    ...requiredOfPayee,
    field: 'bic',
    rail: 'Swift',
    profiles: ['cgi-09'],
    source: 'CGI-MP WG1 User Handbook pain.001.001.09, CdtrAgt',
  },
  { party: 'Payee', field: 'address.lines', rule: 'Refused', rail: 'Sepa', from: epcDay, source: epc },
  { party: 'Payee', field: 'address.lines', rule: 'Refused', rail: 'Swift', from: swiftDay, source: swift },
  ...['address.city', 'address.country'].map((field) => ({
    ...({ party: 'Payee', field, rule: 'Recommended', rail: 'Sepa', countries: isOutsideEea, from: epcDay } as const),
    source: 'Komerční banka, addresses in payments: compulsory for SEPA payments outside the EEA; ABN AMRO: optional',
  })),
  {
    ...recommendedForUs,
    field: 'address.streetName',
    source: 'Komerční banka, addresses in payments: compulsory for payments abroad',
  },
  ...['address.buildingNumber', 'address.postalCode', 'address.state'].flatMap((field) => [
    { ...recommendedForUs, field, currencies: ['USD'] as const },
    { ...recommendedForUs, field, countries: isUnitedStates },
  ]),
  {
    ...recommendedForUs,
    field: 'accountType',
    currencies: ['USD'],
    countries: isUnitedStates,
    source: 'Nacha Operating Rules, transaction codes: checking and savings accounts have different ones',
  },
  { party: 'Payer', field: 'address', rule: 'Required', rail: 'Sepa', countries: isOutsideEea, source: transfers },
  { party: 'Payer', field: 'address', rule: 'Required', rail: 'Swift', from: swiftDay, source: swift },
  {
    party: 'Payment',
    field: 'purpose',
    rule: 'Recommended',
    rail: 'Swift',
    currencies: ['GBP'],
    from: '2027-11-01',
    source:
      'Bank of England, policy statement of 22 September 2025: purpose codes in all CHAPS payments from November 2027',
  },
]

/** Lists the requirements of a corridor that apply on the execution day or later, without duplicates. */
export function listRequirements(
  { currency, rail, country, profile }: PaymentCorridor,
  day: string,
): readonly Requirement[] {
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

export const isInForce = ({ from = '', until = '9999' }: Requirement, day: string): boolean =>
  from <= day && day <= until

/** The payee fields that requirements check. `account`: an IBAN, or the text of a domestic account. */
export type RequiredPayee = {
  readonly currency: Currency
  readonly account: string
  readonly bic: string | null
  readonly country: string
  readonly accountType?: AccountType | null
  readonly address: PayeeAddress | null
}

/** Lists the required fields that the payee lacks for a payment on the day or later. */
export function listMissingRequirements(
  { currency, account, bic, country, ...payee }: RequiredPayee,
  day: string,
  profile?: string,
): readonly Requirement[] {
  const rail = chooseRail(currency, { account, bic, country })
  // A clearing system and a member number identify the bank like a BIC.
  const fields: Readonly<Record<string, unknown>> = {
    ...payee,
    bic: bic ?? parseDomesticAccount(account)?.system ?? null,
  }
  const corridor = { currency, rail, country, ...(profile === undefined ? {} : { profile }) }
  return listRequirements(corridor, day).filter(
    ({ party, rule, field }) => party === 'Payee' && rule === 'Required' && isAbsent(fields, field),
  )
}

/** Reports whether the field at a path, such as `address.city`, is absent. */
const isAbsent = (fields: Readonly<Record<string, unknown>>, path: string): boolean => {
  const found = path
    .split('.')
    .reduce<unknown>((value, key) => (value as Readonly<Record<string, unknown>> | null | undefined)?.[key], fields)
  return found === undefined || found === null
}

/** Formats missing fields with their sources: `address.city and address.country from 2026-11-14 (...)`. */
export function formatMissing(lacking: readonly Requirement[]): string {
  const fields = lacking.map(({ field }) => field).join(' and ')
  const [from] = lacking.flatMap((one) => one.from ?? []).toSorted()
  return `${fields}${from === undefined ? '' : ` from ${from}`} (${[...new Set(lacking.map(({ source }) => source))].join('; ')})`
}

/** Formats an address in one line: `Hauptstraße 1, 10115 Berlin, DE`. */
export const formatAddress = ({ streetName, buildingNumber, postalCode, city, state, country }: PayeeAddress): string =>
  [[streetName, buildingNumber], [postalCode, city], [state], [country]]
    .map((words) => words.filter((word) => word !== undefined).join(' '))
    .filter((part) => part !== '')
    .join(', ')
