/**
 * Pure: the data of the payer that travels with a payment. Regulation (EU) 2023/1113, articles 4 to 8, and EBA/GL/2024/11
 * (docs/decisions/0137-the-payer-stands-in-the-file.md).
 */
import { currencies, type Currency, type Minor } from '../kernel/index.ts'
import type { IncomingDebtor } from './port.ts'
import { domesticCountryOf, readDomestic } from './domestic.ts'

/** A payer as a bank is told of it. Null: it is not known. */
export type PayerData = {
  readonly isPerson: boolean
  readonly name: string | null
  /** Its IBAN at this service. */
  readonly account: string | null
  /** The number by which this service knows it: the `serviceId`, or the id of the partner. */
  readonly customerNumber: string
  readonly address: {
    readonly lines: readonly string[]
    readonly postCode: string | null
    readonly town: string | null
    /** ISO 3166-1 alpha-2. */
    readonly country: string | null
  }
  /** The number of an official document of a person, or of a company in its register. */
  readonly documentNumber: string | null
  readonly lei: string | null
}

/** Member states of the European Economic Area: the regulation is of EEA relevance. */
const area: ReadonlySet<string> = new Set([
  ...['AT', 'BE', 'BG', 'CY', 'CZ', 'DE', 'DK', 'EE', 'ES', 'FI', 'FR', 'GR', 'HR', 'HU'],
  ...['IE', 'IT', 'LT', 'LU', 'LV', 'MT', 'NL', 'PL', 'PT', 'RO', 'SE', 'SI', 'SK'],
  ...['IS', 'LI', 'NO'],
  // Territories of member states with banks whose BICs have a country of their own (TFEU, articles 349 and 355).
  ...['AX', 'GF', 'GP', 'MF', 'MQ', 'RE', 'YT'],
])

/** The country of a bank: that of its BIC, or of the account. Undefined: neither is known. */
export const bankCountryOf = (account: string, bic: string | null): string | undefined => {
  const domestic = readDomestic(account)
  const code = bic?.slice(4, 6) || (domestic === undefined ? account.slice(0, 2) : domesticCountryOf(domestic))
  return /^[A-Z]{2}$/.test(code) ? code : undefined
}

export const payerRegions = ['inside', 'outside'] as const
export type PayerRegion = (typeof payerRegions)[number]

/** An unknown bank counts as outside. */
export const payerRegionOf = (account: string, bic: string | null): PayerRegion =>
  area.has(bankCountryOf(account, bic) ?? '') ? 'inside' : 'outside'

/** Article 6(2): a transfer that does not exceed this needs names and accounts only. Only amounts in euro can be compared with it. */
const smallMax: Minor = 1_000n * 10n ** BigInt(currencies.EUR.digits)
type Transfer = { readonly region: PayerRegion; readonly currency: Currency; readonly amount: Minor }
const isWhole = ({ region, currency, amount }: Transfer): boolean =>
  region === 'outside' && (currency !== 'EUR' || amount > smallMax)

export const payerFields = ['name', 'account', 'address', 'document'] as const
export type PayerField = (typeof payerFields)[number]

/**
 * Returns what a payment to a bank lacks. Inside the area: the account (article 5); the schemes ask for a name as well. Outside: the
 * name, and above 1,000 euros an address with its country, and the number of an official document of a person. A customer
 * number is always there, and it stands for the account of a payer without an IBAN.
 */
export function payerLacks(payer: PayerData, transfer: Transfer): readonly PayerField[] {
  const { name, address, documentNumber, isPerson } = payer
  const isAddressed = address.town !== null && address.country !== null
  const lacks: readonly (PayerField | false)[] = [
    name === null && 'name',
    isWhole(transfer) && !isAddressed && 'address',
    isWhole(transfer) && isPerson && documentNumber === null && 'document',
  ]
  return lacks.filter((field) => field !== false)
}

/** Words that stand for a name and name nobody (EBA/GL/2024/11: obviously meaningless information is missing information). */
const fillers =
  /^(?:not ?(?:provided|available|applicable|given|known)|n ?\/? ?a|none|null|nil|no ?name|unknown|unbekannt|inconnu|desconocido|sconosciuto|onbekend|(?:our |a |the |my |one of our )?(?:customer|client|kunde|auftraggeber|payer|sender|remitter|ordering customer)s?|test|tbd|anonymous)$/

/** Reports whether a name names nobody: no two letters, one sign repeated, letters of a keyboard's row, or a word for a missing name. */
export function isMeaninglessName(name: string): boolean {
  const plain = name.normalize('NFKC').toLowerCase().replaceAll(/[^\p{L}\p{N}/ ]+/gu, ' ').replaceAll(/ +/g, ' ').trim()
  const letters = plain.replaceAll(/[^\p{L}]/gu, '')
  return (
    [...letters].length < 2 ||
    /^(?<sign>\p{L})\k<sign>+$/u.test(letters) ||
    ['qwertyuiop', 'qwertzuiop', 'azertyuiop', 'asdfghjkl'].some((row) => letters.length > 3 && row.startsWith(letters)) ||
    fillers.test(plain)
  )
}

/**
 * Returns what an incoming payment lacks about its payer. Inside the area: the account, and the name that the schemes ask for. Outside:
 * the same, and above 1,000 euros an address or another identification.
 */
export function debtorLacks(
  { name, account, bic, address, identification }: IncomingDebtor,
  { currency, amount }: Omit<Transfer, 'region'>,
): readonly PayerField[] {
  const region = payerRegionOf(account, bic === '' ? null : bic)
  const isIdentified = (address ?? '').trim() !== '' || (identification ?? '') !== ''
  const lacks: readonly (PayerField | false)[] = [
    isMeaninglessName(name) && 'name',
    account.trim() === '' && 'account',
    isWhole({ region, currency, amount }) && !isIdentified && 'address',
  ]
  return lacks.filter((field) => field !== false)
}
