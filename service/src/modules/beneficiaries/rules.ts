/** The rules of beneficiaries: which destination a currency needs. */
import type { BodyOf, FieldError } from '@partner-payments/wire'
import countries from 'i18n-iso-countries/index.js'
import { isValidBIC } from 'ibantools'
import { readCurrency, refuseField, refuseFields } from '../../api/index.ts'
import { type Currency, isFiat } from '../../kernel/index.ts'
import { addressProblem, isIban, territoriesWithIbansOf } from '../../rails/index.ts'

export type BeneficiaryCreate = BodyOf<'createBeneficiary'>
export type BeneficiaryUpdate = BodyOf<'updateBeneficiary'>

/** A bank account for fiat money, a wallet for a token. */
export type Destination = {
  readonly currency: Currency
  readonly iban: string | null
  readonly bic: string | null
  readonly walletAddress: string | null
  readonly vasp: string | null
  readonly country: string | null
}

/** The electronic format of an IBAN has no spaces (ISO 13616). */
const electronic = (text: string) => text.replace(/\s/g, '').toUpperCase()

/** Reads an IBAN and removes its spaces. Refuses (400) any other text. */
export function readIban(text: string, pointer: string): string {
  const iban = electronic(text)
  if (!isIban(iban)) throw refuseField({ pointer, ...notAnIban })
  return iban
}

const notAnIban = {
  code: 'invalid_format',
  message: 'is not a valid IBAN; must be an ISO 13616 IBAN, for example DE89370400440532013000',
} as const

/** Refuses (400) an unknown currency, then every wrong field of the destination in one response. */
export function readDestination(input: BeneficiaryCreate): Destination {
  const currency = readCurrency(input.currency)
  const iban = input.iban === undefined ? null : electronic(input.iban)
  const bic = input.bic === undefined ? null : electronic(input.bic)
  const walletAddress = input.walletAddress ?? null
  const unfit = kindErrors(currency, input)
  // A field that the currency does not use has one error, whatever its form.
  const malformed = formErrors({ iban, bic, walletAddress, country: input.country }).filter(
    ({ pointer }) => !unfit.some((error) => error.pointer === pointer),
  )
  refuseFields([...unfit, ...malformed])
  const vasp = input.vasp ?? null
  return { currency, iban, bic, walletAddress, vasp, country: input.country ?? iban?.slice(0, 2) ?? null }
}

/** Fiat money needs an IBAN, a token a wallet. A field that the currency does not use is refused, not ignored. */
function kindErrors(currency: Currency, { iban, bic, walletAddress, vasp }: BeneficiaryCreate): readonly FieldError[] {
  const errors: FieldError[] = []
  const required = (pointer: string) =>
    errors.push({ pointer, code: 'required', message: `is required for ${currency}` })
  const excess = (pointer: string) =>
    errors.push({ pointer, code: 'invalid_value', message: `is not used by ${currency}; omit it` })
  if (isFiat(currency)) {
    if (iban === undefined) required('/iban')
    if (walletAddress !== undefined) excess('/walletAddress')
    if (vasp !== undefined) excess('/vasp')
  } else {
    if (walletAddress === undefined) required('/walletAddress')
    if (iban !== undefined) excess('/iban')
    if (bic !== undefined) excess('/bic')
  }
  return errors
}

function formErrors(given: {
  readonly iban: string | null
  readonly bic: string | null
  readonly walletAddress: string | null
  readonly country: string | undefined
}): readonly FieldError[] {
  const { iban, bic, walletAddress, country } = given
  const errors: FieldError[] = []
  if (iban !== null && !isIban(iban)) errors.push({ pointer: '/iban', ...notAnIban })
  if (bic !== null && !isValidBIC(bic))
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
  else if (country !== undefined && iban !== null && isIban(iban) && !countriesOf(iban).includes(country))
    errors.push({
      pointer: '/country',
      code: 'invalid_value',
      message: `contradicts the IBAN; must be ${countriesOf(iban).join(' or ')}, or omitted`,
    })
  return errors
}

/** The countries of an account: that of its IBAN, and the territories that use the same IBAN. */
function countriesOf(iban: string): readonly string[] {
  const country = iban.slice(0, 2)
  return [country, ...territoriesWithIbansOf(country)]
}

/** Refuses (400) an update without a field. */
export function refuseEmptyUpdate({ alias, name }: BeneficiaryUpdate): void {
  if (alias === undefined && name === undefined)
    throw refuseField({ pointer: '', code: 'required', message: 'needs at least one of alias and name' })
}

/** The reason why no token is sent to an address: tokens would be lost there, or a deny list names it. */
export type RefusedAddress = (address: string) => 'wallet_address_not_payable' | 'recipient_blocked' | undefined

/** Refuses (422) an address to which no token is sent. */
export function refuseAddress({ walletAddress }: Destination, refusedAddress: RefusedAddress): void {
  const code = walletAddress === null ? undefined : refusedAddress(walletAddress)
  if (code !== undefined)
    throw refuseField({ pointer: '/walletAddress', code: 'invalid_value', message: refusedTexts[code] }, code)
}

const refusedTexts = {
  wallet_address_not_payable: 'is not the address of a wallet; what is sent there is lost',
  recipient_blocked: 'is on a deny list; no token can be sent to it',
} as const
