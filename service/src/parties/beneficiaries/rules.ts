/** The rules of beneficiaries: which account or wallet a currency needs. */
import type { AccountType, BodyOf, FieldError, PayeeAddress } from '@partner-payments/wire'
import countries from 'i18n-iso-countries/index.js'
import { parseCurrency, refuseField, refuseFields } from '../../kernel/api/index.ts'
import { type Currency, isFiat } from '../../kernel/index.ts'
import { countriesOfAccount, type CountryRules } from '../../screening/index.ts'
import {
  addressProblem,
  type DomesticAccount,
  domesticCountry,
  formatDomesticAccount,
  describeIbanProblem,
  isBic,
  isIban,
  readAmericanNumber,
  readBritishNumber,
  readSortCode,
  routingProblem,
  territoriesUsingIbans,
} from '../../rails/index.ts'

export type BeneficiaryCreate = BodyOf<'createBeneficiary'>
export type BeneficiaryUpdate = BodyOf<'updateBeneficiary'>

/** A bank account for fiat money, a wallet for a token. */
export type Destination = {
  readonly currency: Currency
  readonly iban: string | null
  /** An account without an IBAN, as `domesticText` writes it. */
  readonly domesticAccount: string | null
  /** Null: it was not stated, or the account is not American. */
  readonly accountType: AccountType | null
  readonly bic: string | null
  readonly walletAddress: string | null
  readonly vasp: string | null
  readonly country: string | null
  /** Null: none was given. */
  readonly address: PayeeAddress | null
}

/** Converts an IBAN to its electronic format, which does not have spaces (ISO 13616). */
const toElectronic = (text: string) => text.replace(/\s/g, '').toUpperCase()

/** Reads an IBAN and removes its spaces. Refuses (400) any other text, and names the mistake. */
export function readIban(text: string, pointer: string): string {
  const iban = toElectronic(text)
  refuseFields(ibanErrors(iban, pointer))
  return iban
}

function ibanErrors(iban: string, pointer: string): readonly FieldError[] {
  const message = describeIbanProblem(iban)
  return message === undefined ? [] : [{ pointer, code: 'invalid_format', message }]
}

/** Reads the destination. Refuses (400) an unknown currency, and then all wrong fields in one response. */
export function readDestination(input: BeneficiaryCreate): Destination {
  const currency = parseCurrency(input.currency)
  const iban = input.iban === undefined ? null : toElectronic(input.iban)
  const bic = input.bic === undefined ? null : toElectronic(input.bic)
  const walletAddress = input.walletAddress ?? null
  const unfit = kindErrors(currency, input)
  const domestic = readAccount(input)
  const given = { iban, bic, walletAddress, country: input.country, domestic: domestic.account }
  // An unused field gets only one error, even if its form is wrong too.
  const malformed = [...domestic.errors, ...formErrors(given)].filter(
    ({ pointer }) => !unfit.some((error) => error.pointer === pointer),
  )
  refuseFields([...unfit, ...malformed, ...addressErrors(input.address)])
  const vasp = input.vasp ?? null
  const home = domestic.account && domesticCountry(domestic.account)
  const country = input.country ?? home ?? iban?.slice(0, 2) ?? null
  const domesticAccount = domestic.account === undefined ? null : formatDomesticAccount(domestic.account)
  const accountType = input.accountType ?? null
  const address = input.address ?? null
  return { currency, iban, domesticAccount, accountType, bic, walletAddress, vasp, country, address }
}

/** The field of a bank account that only this currency uses. */
const domesticBanks = { GBP: 'sortCode', USD: 'routingNumber' } as const

/** Lists missing and unused fields: fiat money needs a bank account, a token needs a wallet. Unused fields are refused, not ignored. */
function kindErrors(currency: Currency, input: BeneficiaryCreate): readonly FieldError[] {
  const errors: FieldError[] = []
  const required = (pointer: string, message = `is required for ${currency}`) =>
    errors.push({ pointer, code: 'required', message })
  const excess = (name: keyof BeneficiaryCreate, message = `is not used by ${currency}; omit it`) => {
    if (input[name] !== undefined) errors.push({ pointer: `/${name}`, code: 'invalid_value', message })
  }
  if (input.accountType !== undefined && input.routingNumber === undefined)
    excess('accountType', 'is used only with routingNumber; omit it')
  if (!isFiat(currency)) {
    if (input.walletAddress === undefined) required('/walletAddress')
    for (const name of ['iban', 'bic', 'sortCode', 'routingNumber', 'accountNumber'] as const) excess(name)
    return errors
  }
  const own = currency === 'GBP' || currency === 'USD' ? domesticBanks[currency] : undefined
  if (own === undefined) {
    if (input.iban === undefined) required('/iban')
    excess('accountNumber')
  } else if (input.iban !== undefined)
    for (const name of [own, 'accountNumber'] as const) excess(name, 'names the account a second time; omit it or iban')
  else if (input[own] === undefined && input.accountNumber === undefined)
    required('/iban', `is required for ${currency}, or ${own} and accountNumber`)
  else
    for (const name of [own, 'accountNumber'] as const)
      if (input[name] === undefined) required(`/${name}`, 'is required for an account without an IBAN')
  for (const bank of Object.values(domesticBanks)) if (bank !== own) excess(bank)
  for (const name of ['walletAddress', 'vasp'] as const) excess(name)
  return errors
}

type ParsedAccount = { readonly account?: DomesticAccount; readonly errors: readonly FieldError[] }

/** Reads an account without an IBAN. Without `account`, a field is missing or wrong. */
function readAccount({ sortCode, routingNumber, accountNumber }: BeneficiaryCreate): ParsedAccount {
  const errors: FieldError[] = []
  const wrong = (name: string, message: string) =>
    void errors.push({ pointer: `/${name}`, code: 'invalid_format', message })
  if (sortCode !== undefined) {
    const [sort, number] = [readSortCode(sortCode), readBritishNumber(accountNumber ?? '')]
    if (sort === undefined) wrong('sortCode', 'must have six digits, for example 20-00-00')
    if (accountNumber !== undefined && number === undefined) wrong('accountNumber', 'must have 6 to 8 digits')
    if (sort === undefined || number === undefined) return { errors }
    return { account: { system: 'GBDSC', sortCode: sort, accountNumber: number }, errors }
  }
  if (routingNumber === undefined) return { errors }
  const [problem, number] = [routingProblem(routingNumber), readAmericanNumber(accountNumber ?? '')]
  if (problem !== undefined) wrong('routingNumber', routingTexts[problem])
  if (accountNumber !== undefined && number === undefined)
    wrong('accountNumber', 'must have 1 to 17 digits, letters or hyphens, one of them a digit')
  if (problem !== undefined || number === undefined) return { errors }
  return { account: { system: 'USABA', routingNumber, accountNumber: number }, errors }
}

const routingTexts = {
  form: 'must have nine digits, for example 021000021',
  prefix: 'is not a routing number: its first two digits are not assigned',
  checkDigit: 'has a wrong check digit; copy the number again',
} as const

function formErrors(given: {
  readonly iban: string | null
  readonly bic: string | null
  readonly walletAddress: string | null
  readonly country: string | undefined
  readonly domestic: DomesticAccount | undefined
}): readonly FieldError[] {
  const { iban, bic, walletAddress, country, domestic } = given
  const errors: FieldError[] = []
  if (iban !== null) errors.push(...ibanErrors(iban, '/iban'))
  if (bic !== null && !isBic(bic))
    errors.push({
      pointer: '/bic',
      code: 'invalid_format',
      message: 'is not a valid BIC; must be an ISO 9362 BIC, for example DEUTDEFF',
    })
  const problem = walletAddress === null ? undefined : addressProblem(walletAddress)
  if (problem !== undefined)
    errors.push({
      pointer: '/walletAddress',
      code: 'invalid_format',
      message:
        problem === 'form'
          ? 'must be an EVM address: 0x and 40 hexadecimal digits'
          : 'has a wrong check sum (EIP-55); copy the address again',
    })
  if (country !== undefined && !countries.isValid(country))
    errors.push({
      pointer: '/country',
      code: 'invalid_value',
      message: 'must be an ISO 3166-1 alpha-2 country code, for example DE',
    })
  else if (country !== undefined && iban !== null && isIban(iban) && !ibanCountries(iban).includes(country))
    errors.push({
      pointer: '/country',
      code: 'invalid_value',
      message: `contradicts the IBAN; must be ${ibanCountries(iban).join(' or ')}, or omitted`,
    })
  else if (country !== undefined && domestic !== undefined && !accountCountries(domestic).includes(country))
    errors.push({
      pointer: '/country',
      code: 'invalid_value',
      message: `contradicts the account; must be ${accountCountries(domestic).join(' or ')}, or omitted`,
    })
  return errors
}

/** Returns the possible countries of an account without an IBAN. Three territories also use British sort codes. */
const accountCountries = (account: DomesticAccount): readonly string[] => {
  const country = domesticCountry(account)
  return [country, ...territoriesUsingIbans(country)]
}

/** Returns the possible countries of an IBAN: its own, and the territories that use the same IBANs. */
function ibanCountries(iban: string): readonly string[] {
  const country = iban.slice(0, 2)
  return [country, ...territoriesUsingIbans(country)]
}

/** Lists the errors of an address. A city without a letter is a placeholder, which banks refuse. */
function addressErrors(address: PayeeAddress | undefined): readonly FieldError[] {
  if (address === undefined) return []
  const error = (pointer: string, message: string) => ({ pointer, code: 'invalid_value' as const, message })
  return [
    ...(/\p{L}/u.test(address.city) ? [] : [error('/address/city', 'must be the name of a city or town')]),
    ...(countries.isValid(address.country)
      ? []
      : [error('/address/country', 'must be an ISO 3166-1 alpha-2 country code, for example DE')]),
  ]
}

/** Reports whether a beneficiary may have the address. */
export const isValidAddress = (address: PayeeAddress): boolean => addressErrors(address).length === 0

/** Refuses (400) an update without fields or with a wrong address. */
export function requireValidUpdate({ alias, name, address }: BeneficiaryUpdate): void {
  if (alias === undefined && name === undefined && address === undefined)
    throw refuseField({ pointer: '', code: 'required', message: 'needs at least one of alias, name and address' })
  refuseFields(addressErrors(address))
}

/** Refuses (422) a country of the account, its bank or the payee to which the operator does not accept payouts. */
export function requireAcceptedCountry(
  { iban, bic, country, address }: Destination,
  given: BeneficiaryCreate,
  rules: CountryRules,
): void {
  const refused = countriesOfAccount({ account: iban, bic, country, address: address?.country ?? null }).find((one) =>
    rules.isRefused('payouts', one.country),
  )
  if (refused === undefined) return
  const account = (['iban', 'sortCode', 'routingNumber', 'walletAddress'] as const).find(
    (name) => given[name] !== undefined,
  )
  // A completed BIC and an implied country are not in the request, so the error points to the account.
  const field = refused.role in given ? refused.role : (account ?? 'country')
  const message = `is in ${refused.country}; the operator accepts no payouts to this country`
  throw refuseField({ pointer: `/${field}`, code: 'invalid_value', message }, 'country_not_supported')
}

/** Returns why tokens are not sent to an address: they would be lost there, or a deny list names it. */
export type RefusedAddress = (address: string) => 'wallet_address_not_payable' | 'recipient_blocked' | undefined

/** Refuses (422) an address to which tokens are not sent. */
export function requirePayableAddress({ walletAddress }: Destination, refusedAddress: RefusedAddress): void {
  const code = walletAddress === null ? undefined : refusedAddress(walletAddress)
  if (code !== undefined)
    throw refuseField({ pointer: '/walletAddress', code: 'invalid_value', message: refusedTexts[code] }, code)
}

const refusedTexts = {
  wallet_address_not_payable: 'is not the address of a wallet; what is sent there is lost',
  recipient_blocked: 'is on a deny list; no token can be sent to it',
} as const
