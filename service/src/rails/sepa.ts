/**
 * Pure: which accounts SEPA reaches. EPC409-09, "EPC list of SEPA scheme countries": 41 countries, the last one of which is Serbia (22 May
 * 2025; its banks take credit transfers since May 2026). Compared on 24 November 2026 (docs/decisions/0067-ibans-and-sepa.md).
 */
import type { Rail } from '@partner-payments/wire'
import { type Currency, isFiat } from '../kernel/index.ts'

const countries: ReadonlySet<string> = new Set([
  // Member states of the European Union.
  ...['AT', 'BE', 'BG', 'CY', 'CZ', 'DE', 'DK', 'EE', 'ES', 'FI', 'FR', 'GR', 'HR', 'HU'],
  ...['IE', 'IT', 'LT', 'LU', 'LV', 'MT', 'NL', 'PL', 'PT', 'RO', 'SE', 'SI', 'SK'],
  // Other states, and Gibraltar, which has IBANs of its own.
  ...['AD', 'AL', 'CH', 'GB', 'GI', 'IS', 'LI', 'MC', 'MD', 'ME', 'MK', 'NO', 'RS', 'SM', 'VA'],
])

type Territory = { readonly ibansOf: string; readonly inSepa: boolean }
const of = (ibansOf: string, inSepa: boolean, codes: readonly string[]) =>
  codes.map((code) => [code, { ibansOf, inSepa }] as const)

/**
 * Territories whose banks use the IBANs of another country, and their own country in the BIC (SWIFT, IBAN Registry;
 * EPC409-09).
 */
export const territories: ReadonlyMap<string, Territory> = new Map([
  ...of('FI', true, ['AX']),
  ...of('FR', true, ['BL', 'GF', 'GP', 'MF', 'MQ', 'PM', 'RE', 'YT']),
  ...of('FR', false, ['NC', 'PF', 'TF', 'WF']),
  ...of('GB', true, ['GG', 'IM', 'JE']),
])

export const territoriesWithIbansOf = (country: string): readonly string[] =>
  [...territories].flatMap(([code, { ibansOf }]) => (ibansOf === country ? [code] : []))

/** `account`: an IBAN. `country`: of the account, if no BIC names it. */
export type Place = { readonly account: string; readonly bic: string | null; readonly country?: string }

/**
 * Decides by the country of the IBAN and that of the bank: an IBAN of France may belong to a territory outside SEPA.
 */
function isInSepa({ account, bic, country = account.slice(0, 2) }: Place): boolean {
  const bank = bic?.slice(4, 6) ?? country
  return countries.has(account.slice(0, 2)) && (countries.has(bank) || territories.get(bank)?.inSepa === true)
}

/**
 * SEPA carries euro within its area, SWIFT all other bank money, and wallets carry tokens. Without a place, euro goes
 * by SEPA.
 */
export function railOf(currency: Currency, place: Place | undefined): Rail {
  if (!isFiat(currency)) return 'Wallet'
  return currency === 'EUR' && (place === undefined || isInSepa(place)) ? 'Sepa' : 'Swift'
}
