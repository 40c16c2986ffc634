/**
 * The settings of monitoring rules, and how they are read. The kinds are the most frequent typologies in the risk factor
 * guidance of FATF and EBA (docs/guides/monitoring.md lists them). Pure.
 */
import { rawNumber } from '@partner-payments/wire'
import { parseAmount, parseCurrency, Refusal } from '../kernel/api/index.ts'
import { amountText, type Currency, dayMs, hourMs, isUuid, type Minor } from '../kernel/index.ts'

export const ruleKinds = [
  'velocity',
  'structuring',
  'new_payee',
  'dormant',
  'round_trip',
  'country',
  'many_payers',
  'many_customers',
  'failures',
] as const
export type RuleKind = (typeof ruleKinds)[number]

export const severities = ['low', 'medium', 'high'] as const
type Severity = (typeof severities)[number]
export type Direction = 'Inward' | 'Outward'

export const ruleMoments = ['before', 'after'] as const
/** `AllCurrencies` converts amounts to the rule's currency at the rates of the evaluation day. */
export const currencyScopes = ['OwnCurrency', 'AllCurrencies'] as const

type CommonSettings = {
  readonly currency: Currency
  readonly counts: (typeof currencyScopes)[number]
  readonly severity: Severity
  readonly partners: readonly string[] | null
  /** `before`: a matching payout waits until two people have decided its alert. */
  readonly when: (typeof ruleMoments)[number]
}

/** The settings of each kind. Amounts are in minor units, windows in milliseconds. */
export type RuleSettings = CommonSettings &
  (
    | {
        readonly kind: 'velocity'
        readonly direction: Direction
        readonly ms: number
        readonly count: number
        readonly sum: Minor
      }
    | {
        readonly kind: 'structuring'
        readonly direction: Direction
        readonly ms: number
        readonly count: number
        /** Payments count from `percent` of the threshold to just below it. */
        readonly threshold: Minor
        readonly percent: number
      }
    | { readonly kind: 'new_payee'; readonly ms: number; readonly sum: Minor }
    | { readonly kind: 'dormant'; readonly direction: Direction; readonly ms: number; readonly sum: Minor }
    | { readonly kind: 'round_trip'; readonly ms: number; readonly sum: Minor; readonly percent: number }
    | {
        readonly kind: 'country'
        readonly direction: Direction
        readonly countries: readonly string[]
        readonly sum: Minor
      }
    | { readonly kind: 'many_payers' | 'many_customers' | 'failures'; readonly ms: number; readonly count: number }
  )

export type RuleDraft = { readonly name: string; readonly settings: RuleSettings; readonly text: string }

/** The fields of each kind, in addition to name, kind, currency, counts, severity, partners and when. Fields in brackets are optional. */
export const ruleFields: Readonly<Record<RuleKind, readonly string[]>> = {
  velocity: ['direction', 'hours', '[count]', '[sum]'],
  structuring: ['direction', 'hours', 'count', 'threshold', '[percent]'],
  new_payee: ['hours', 'sum'],
  dormant: ['direction', 'days', 'sum'],
  round_trip: ['hours', 'sum', '[percent]'],
  country: ['direction', 'countries', '[sum]'],
  many_payers: ['hours', 'payers'],
  many_customers: ['hours', 'customers'],
  failures: ['hours', 'count'],
}

const percentDefault = 90
const nameCharsMax = 100
const hoursMax = 90 * 24
const daysMax = 3650

const refuse = (pointer: string, text: string) => new Refusal('validation_failed', `${pointer} ${text}`)

/** Reads a rule from JSON. Refuses: validation_failed (with the pointer of the first wrong field). */
export function readRule(json: string): RuleDraft {
  const given = parse(json)
  const name = given['name']
  if (typeof name !== 'string' || name.trim() === '' || name.length > nameCharsMax)
    throw refuse('/name', `must be a text of 1 to ${nameCharsMax} characters.`)
  const kind = readChoice(given, 'kind', ruleKinds)
  const known = [
    'name',
    'kind',
    'currency',
    'counts',
    'severity',
    'partners',
    'when',
    ...ruleFields[kind].map((field) => withoutBrackets(field)),
  ]
  for (const key of Object.keys(given)) if (!known.includes(key)) throw refuse(`/${key}`, `is not a field of ${kind}.`)
  const settings = readSettings(given, kind)
  const isInward = kind === 'many_payers' || ('direction' in settings && settings.direction === 'Inward')
  if (settings.when === 'before' && isInward) throw refuse('/when', 'must be after: a rule cannot hold incoming money.')
  if (settings.when === 'before' && kind === 'failures')
    throw refuse('/when', 'must be after: a waiting payout has not failed.')
  return { name: name.trim(), settings, text: JSON.stringify(given) }
}

/** Parses the settings of a stored rule, which `readRule` has accepted. */
export const parseSettings = (text: string): RuleSettings => {
  const given = parse(text)
  return readSettings(given, readChoice(given, 'kind', ruleKinds))
}

type JsonFields = Readonly<Record<string, unknown>>

function parse(json: string): JsonFields {
  let read: unknown
  try {
    read = JSON.parse(json)
  } catch (error) {
    throw refuse('/', `is not JSON: ${(error as Error).message}`)
  }
  if (typeof read !== 'object' || read === null || Array.isArray(read)) throw refuse('/', 'must be a JSON object.')
  return read as JsonFields
}

const withoutBrackets = (field: string): string => field.replaceAll(/[[\]]/g, '')

function readSettings(given: JsonFields, kind: RuleKind): RuleSettings {
  const shared = readCommon(given)
  const { currency } = shared
  const amount = (field: string, least?: Minor) => readAmountField(given, field, currency, least)
  const direction = () => readChoice(given, 'direction', ['Inward', 'Outward'] as const)
  const hours = () => readInteger(given, 'hours', 1, hoursMax) * hourMs
  switch (kind) {
    case 'velocity': {
      if (given['count'] === undefined && given['sum'] === undefined) throw refuse('/count', 'or /sum is required.')
      const count = given['count'] === undefined ? 1 : readInteger(given, 'count', 2, 1_000_000)
      return { ...shared, kind, direction: direction(), ms: hours(), count, sum: amount('sum', 0n) }
    }
    case 'structuring':
      return {
        ...shared,
        kind,
        direction: direction(),
        ms: hours(),
        count: readInteger(given, 'count', 2, 10_000),
        threshold: amount('threshold'),
        percent: readPercent(given),
      }
    case 'new_payee':
      return { ...shared, kind, ms: hours(), sum: amount('sum') }
    case 'dormant':
      return {
        ...shared,
        kind,
        direction: direction(),
        ms: readInteger(given, 'days', 1, daysMax) * dayMs,
        sum: amount('sum'),
      }
    case 'round_trip':
      return { ...shared, kind, ms: hours(), sum: amount('sum'), percent: readPercent(given) }
    case 'country':
      return { ...shared, kind, direction: direction(), countries: readCountries(given), sum: amount('sum', 0n) }
    case 'many_payers':
      return { ...shared, kind, ms: hours(), count: readInteger(given, 'payers', 2, 10_000) }
    case 'many_customers':
      return { ...shared, kind, ms: hours(), count: readInteger(given, 'customers', 2, 10_000) }
    case 'failures':
      return { ...shared, kind, ms: hours(), count: readInteger(given, 'count', 2, 10_000) }
  }
}

function readCommon(given: JsonFields): CommonSettings {
  const text = given['currency']
  const currency = typeof text === 'string' ? refuseAt('/currency', () => parseCurrency(text)) : undefined
  if (currency === undefined) throw refuse('/currency', 'must be a currency of this service, for example EUR.')
  const partners = given['partners'] ?? null
  const isList = Array.isArray(partners) && partners.length > 0
  if (partners !== null && !(isList && partners.every((id) => typeof id === 'string' && isUuid(id))))
    throw refuse('/partners', 'must be a list of partner ids. Without it, the rule applies to all partners.')
  const severity = given['severity'] === undefined ? 'medium' : readChoice(given, 'severity', severities)
  const when = given['when'] === undefined ? 'after' : readChoice(given, 'when', ruleMoments)
  const counts = given['counts'] === undefined ? 'OwnCurrency' : readChoice(given, 'counts', currencyScopes)
  return { currency, counts, severity, partners: partners as readonly string[] | null, when }
}

function refuseAt<T>(pointer: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof Refusal) throw refuse(pointer, `is wrong: ${error.detail}`)
    throw error
  }
}

function readChoice<T extends string>(given: JsonFields, field: string, values: readonly T[]): T {
  const found = values.find((value) => value === given[field])
  if (found === undefined) throw refuse(`/${field}`, `must be one of ${values.join(', ')}.`)
  return found
}

function readInteger(given: JsonFields, field: string, least: number, most: number): number {
  const value = given[field]
  if (typeof value !== 'number' || !Number.isInteger(value) || value < least || value > most)
    throw refuse(`/${field}`, `must be a whole number from ${least} to ${most}.`)
  return value
}

const readPercent = (given: JsonFields): number =>
  given['percent'] === undefined ? percentDefault : readInteger(given, 'percent', 50, 99)

/**
 * Reads an amount as text with the digits of its currency: `"10000.00"`. `least`: the default if the field is absent.
 */
function readAmountField(given: JsonFields, field: string, currency: Currency, least?: Minor): Minor {
  const value = given[field]
  if (value === undefined && least !== undefined) return least
  if (typeof value !== 'string' || !/^\d+(?:\.\d+)?$/.test(value))
    throw refuse(`/${field}`, `must be an amount as text, for example "${amountText(1_000_00n, 'EUR')}".`)
  return refuseAt(`/${field}`, () => parseAmount(rawNumber(value), currency))
}

function readCountries(given: JsonFields): readonly string[] {
  const list = given['countries']
  if (!Array.isArray(list) || list.length === 0 || !list.every((code) => /^[A-Z]{2}$/.test(String(code))))
    throw refuse('/countries', 'must be a list of countries, ISO 3166-1 alpha-2, for example ["IR", "KP"].')
  return list as readonly string[]
}

/** Returns the country of an account, by its IBAN or else by the BIC of its bank; null if unknown. */
export function accountCountry(account: string | null, bic: string | null): string | null {
  if (account !== null && /^[A-Z]{2}\d{2}/.test(account)) return account.slice(0, 2)
  return bic !== null && bic.length >= 6 ? bic.slice(4, 6).toUpperCase() : null
}
