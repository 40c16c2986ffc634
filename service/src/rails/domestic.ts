/**
 * Domestic accounts without IBAN: sort code and account number (United Kingdom), routing and account number (United
 * States). As text: clearing system (ISO 20022, ExternalClearingSystemIdentification1Code), member and account number,
 * such as `GBDSC200000/55779911` or `USABA021000021/123456789`. Pure.
 */
import type { AccountType } from '@partner-payments/wire'
import type { Currency } from '../kernel/index.ts'

export type DomesticAccount =
  | { readonly system: 'GBDSC'; readonly sortCode: string; readonly accountNumber: string }
  | { readonly system: 'USABA'; readonly routingNumber: string; readonly accountNumber: string }

export const formatDomesticAccount = (account: DomesticAccount): string =>
  account.system === 'GBDSC'
    ? `GBDSC${account.sortCode}/${account.accountNumber}`
    : `USABA${account.routingNumber}/${account.accountNumber}`

const domesticForm =
  /^(?:GBDSC(?<sortCode>\d{6})\/(?<british>\d{8})|USABA(?<routingNumber>\d{9})\/(?<american>[0-9A-Z-]{1,17}))$/

/** Reads the text of a domestic account; undefined for any other text. */
export function parseDomesticAccount(text: string): DomesticAccount | undefined {
  const { sortCode, british, routingNumber, american } = domesticForm.exec(text)?.groups ?? {}
  if (sortCode !== undefined && british !== undefined) return { system: 'GBDSC', sortCode, accountNumber: british }
  if (routingNumber !== undefined && american !== undefined)
    return { system: 'USABA', routingNumber, accountNumber: american }
  return undefined
}

/** ISO 20022, ExternalCashAccountType1Code. */
export const accountTypeCodes = { Checking: 'CACC', Savings: 'SVGS' } as const satisfies Record<AccountType, string>

/** The currency of each clearing system. */
export const domesticCurrencies = { GBDSC: 'GBP', USABA: 'USD' } as const satisfies Record<
  DomesticAccount['system'],
  Currency
>

export const domesticCountry = ({ system }: DomesticAccount): string => system.slice(0, 2)

/** Reads a sort code, `20-00-00` or `200000`; undefined if it is invalid. */
export function readSortCode(text: string): string | undefined {
  const digits = text.replaceAll(/[\s-]/g, '')
  return /^\d{6}$/.test(digits) ? digits : undefined
}

/** Reads a British account number. Banks pad six or seven digits with zeros on the left (VocaLink, Validating account numbers). */
export function readBritishNumber(text: string): string | undefined {
  const digits = text.replaceAll(/[\s-]/g, '')
  return /^\d{6,8}$/.test(digits) ? digits.padStart(8, '0') : undefined
}

/** Reads an American account number: at most 17 characters (Nacha, DFI Account Number). */
export function readAmericanNumber(text: string): string | undefined {
  const number = text.replaceAll(/\s/g, '').toUpperCase()
  return /^[0-9A-Z-]{1,17}$/.test(number) && /\d/.test(number) ? number : undefined
}

/** Checks the first two digits of a routing number: Federal Reserve, thrift institutions, electronic use, travellers' cheques. */
const isRoutingPrefix = (prefix: number) =>
  prefix <= 12 || (prefix >= 21 && prefix <= 32) || (prefix >= 61 && prefix <= 72) || prefix === 80

export type RoutingProblem = 'form' | 'prefix' | 'checkDigit'

/** Finds the problem of a routing number; undefined if it is valid (ABA Key to Routing Numbers: weights 3, 7 and 1, modulus 10). */
export function routingProblem(text: string): RoutingProblem | undefined {
  if (!/^\d{9}$/.test(text)) return 'form'
  if (text === '000000000' || !isRoutingPrefix(Number(text.slice(0, 2)))) return 'prefix'
  const sum = Array.from(text).reduce((total, digit, at) => total + Number(digit) * ([3, 7, 1][at % 3] ?? 1), 0)
  return sum % 10 === 0 ? undefined : 'checkDigit'
}
