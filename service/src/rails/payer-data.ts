/**
 * Checks the payer data of payments: Regulation (EU) 2023/1113, articles 4 to 8, and EBA/GL/2024/11
 * (docs/decisions/0137-the-payer-stands-in-the-file.md). Pure.
 */
import { currencies, type Currency, type Minor } from '../kernel/index.ts'
import type { IncomingDebtor } from './port.ts'
import { domesticCountry, parseDomesticAccount } from './domestic.ts'

/** The payer data that a bank gets. Null fields are unknown. */
export type PayerData = {
  readonly isPerson: boolean
  readonly name: string | null
  /** The IBAN issued by this service. */
  readonly account: string | null
  /** The `serviceId` of the customer, or the id of the partner. */
  readonly customerNumber: string
  readonly address: {
    readonly lines: readonly string[]
    readonly postCode: string | null
    readonly town: string | null
    /** ISO 3166-1 alpha-2. */
    readonly country: string | null
  }
  /** The number of a person's official document, or a company's registration number. */
  readonly documentNumber: string | null
  readonly lei: string | null
}

/** The European Economic Area, in which the regulation applies. */
const eeaCountries: ReadonlySet<string> = new Set([
  ...['AT', 'BE', 'BG', 'CY', 'CZ', 'DE', 'DK', 'EE', 'ES', 'FI', 'FR', 'GR', 'HR', 'HU'],
  ...['IE', 'IT', 'LT', 'LU', 'LV', 'MT', 'NL', 'PL', 'PT', 'RO', 'SE', 'SI', 'SK'],
  ...['IS', 'LI', 'NO'],
  // Territories of member states whose banks have another country code in the BIC (TFEU, articles 349 and 355).
  ...['AX', 'GF', 'GP', 'MF', 'MQ', 'RE', 'YT'],
])

/** Returns the country of a bank, by its BIC or else the account; undefined if both are unknown. */
const bankCountry = (account: string, bic: string | null): string | undefined => {
  const domestic = parseDomesticAccount(account)
  const code = bic?.slice(4, 6) || (domestic === undefined ? account.slice(0, 2) : domesticCountry(domestic))
  return /^[A-Z]{2}$/.test(code) ? code : undefined
}

export type PayerRegion = 'inside' | 'outside'

/** Returns whether a bank is in the EEA. An unknown bank counts as outside. */
export const payerRegion = (account: string, bic: string | null): PayerRegion =>
  eeaCountries.has(bankCountry(account, bic) ?? '') ? 'inside' : 'outside'

/** Up to this amount a transfer only needs names and accounts (article 6(2)). Other currencies than euro count as above it. */
const smallMax: Minor = 1_000n * 10n ** BigInt(currencies.EUR.digits)
type Transfer = { readonly region: PayerRegion; readonly currency: Currency; readonly amount: Minor }
const needsFullData = ({ region, currency, amount }: Transfer): boolean =>
  region === 'outside' && (currency !== 'EUR' || amount > smallMax)

type PayerField = 'name' | 'account' | 'address' | 'document'

/**
 * Lists the missing payer fields of an outgoing payment. Inside the EEA: the name, which the schemes require. Outside: the
 * name, and above 1,000 euros an address with country, and a person's document number. The customer number replaces a
 * missing account.
 */
export function missingPayerFields(payer: PayerData, transfer: Transfer): readonly PayerField[] {
  const { name, address, documentNumber, isPerson } = payer
  const isAddressed = address.town !== null && address.country !== null
  const lacks: readonly (PayerField | false)[] = [
    name === null && 'name',
    needsFullData(transfer) && !isAddressed && 'address',
    needsFullData(transfer) && isPerson && documentNumber === null && 'document',
  ]
  return lacks.filter((field) => field !== false)
}

/** Placeholders instead of a name. Obviously meaningless information counts as missing (EBA/GL/2024/11). */
const placeholderName =
  /^(?:not ?(?:provided|available|applicable|given|known)|n ?\/? ?a|none|null|nil|no ?name|unknown|unbekannt|inconnu|desconocido|sconosciuto|onbekend|(?:our |a |the |my |one of our )?(?:customer|client|kunde|auftraggeber|payer|sender|remitter|ordering customer)s?|test|tbd|anonymous)$/

/** Reports whether a name is meaningless: fewer than two letters, one repeated letter, a keyboard row, or a placeholder. */
function isMeaninglessName(name: string): boolean {
  const plain = name
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}/ ]+/gu, ' ')
    .replaceAll(/ +/g, ' ')
    .trim()
  const letters = plain.replaceAll(/[^\p{L}]/gu, '')
  return (
    !/\p{L}{2}/u.test(letters) ||
    /^(?<sign>\p{L})\k<sign>+$/u.test(letters) ||
    ['qwertyuiop', 'qwertzuiop', 'azertyuiop', 'asdfghjkl'].some(
      (row) => letters.length > 3 && row.startsWith(letters),
    ) ||
    placeholderName.test(plain)
  )
}

/**
 * Lists the missing payer fields of an incoming payment. Inside the EEA: the account, and the name, which the schemes
 * require. Outside: also, above 1,000 euros, an address or another identification.
 */
export function missingDebtorFields(
  { name, account, bic, address, identification }: IncomingDebtor,
  { currency, amount }: Omit<Transfer, 'region'>,
): readonly PayerField[] {
  const region = payerRegion(account, bic === '' ? null : bic)
  const isIdentified = (address ?? '').trim() !== '' || (identification ?? '') !== ''
  const lacks: readonly (PayerField | false)[] = [
    isMeaninglessName(name) && 'name',
    account.trim() === '' && 'account',
    needsFullData({ region, currency, amount }) && !isIdentified && 'address',
  ]
  return lacks.filter((field) => field !== false)
}
