/** A customer with its opened KYC, and what a payment shows of it. */
import type { KycSealer } from './kyc.ts'
import type { CustomerType, KycFields } from './rules.ts'
import type { CustomerRow } from './store.ts'

export type Customer = {
  /** The `guid` of the wire. */
  readonly id: string
  readonly serviceId: string
  readonly partnerCustomerIdentifier: string | null
  readonly email: string | null
  readonly customerType: CustomerType
  /** KYC fields with `personalIdentificationNumber`, which no response contains. */
  readonly kyc: KycFields
  readonly createdAt: Date
  readonly updatedAt: Date
}

export function toCustomer(kycSealer: KycSealer, partnerId: string, { kycSealed, ...row }: CustomerRow): Customer {
  return { ...row, kyc: kycSealer.open(partnerId, row.id, kycSealed) }
}

/** A customer as its transactions name it. */
export type CustomerUser = {
  /** The `serviceId`. */
  readonly id: string
  readonly name?: string
  readonly email?: string
  readonly address?: string
  readonly country?: string
  readonly countryCode?: string
}

export const nameOf = ({
  kyc,
  partnerCustomerIdentifier,
  serviceId,
}: Pick<Customer, 'kyc' | 'partnerCustomerIdentifier' | 'serviceId'>): string =>
  kyc.fullName ?? kyc.legalName ?? kyc.tradingName ?? partnerCustomerIdentifier ?? serviceId

/** The interface document has the country as a text beside its code. */
const countryNames = new Intl.DisplayNames(['en'], { type: 'region', fallback: 'none' })

const present = <T extends object>(fields: T): { readonly [K in keyof T]?: NonNullable<T[K]> } =>
  Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && value !== null && value !== ''),
  ) as {
    readonly [K in keyof T]?: NonNullable<T[K]>
  }

export function userOf({ serviceId, email, kyc }: Pick<Customer, 'serviceId' | 'email' | 'kyc'>): CustomerUser {
  const { addressLine1, addressLine2, postalCode, city, residenceAddress } = kyc
  const town = [postalCode, city].filter(Boolean).join(' ')
  const lines = [addressLine1, addressLine2, town].filter(Boolean).join(', ')
  const countryCode = kyc.countryOfPrincipalBusiness ?? kyc.countryOfIncorporation ?? kyc.citizenshipCountryCode
  return {
    id: serviceId,
    ...present({
      name: kyc.fullName ?? kyc.legalName ?? kyc.tradingName,
      email,
      address: residenceAddress ?? lines,
      country: countryCode && countryNames.of(countryCode),
      countryCode,
    }),
  }
}
