/** A customer with its decrypted KYC, and the fields that payments show. */
import type { PayerData } from '../../rails/index.ts'
import type { KycSealer } from './sealed.ts'
import type { CustomerType, KycFields } from './rules.ts'
import type { CustomerRow } from './store.ts'

export type Customer = {
  /** The `guid` of the wire. */
  readonly id: string
  readonly serviceId: string
  readonly partnerCustomerIdentifier: string | null
  readonly email: string | null
  readonly customerType: CustomerType
  /** KYC fields. Responses never contain `personalIdentificationNumber`. */
  readonly kyc: KycFields
  readonly createdAt: Date
  readonly updatedAt: Date
}

export function toCustomer(kycSealer: KycSealer, partnerId: string, { kycSealed, ...row }: CustomerRow): Customer {
  return { ...row, kyc: kycSealer.open(partnerId, row.id, kycSealed) }
}

/** A customer as its transactions show it. */
export type CustomerUser = {
  /** The `serviceId`. */
  readonly id: string
  readonly name?: string
  readonly email?: string
  readonly address?: string
  readonly country?: string
  readonly countryCode?: string
}

export const customerName = ({
  kyc,
  partnerCustomerIdentifier,
  serviceId,
}: Pick<Customer, 'kyc' | 'partnerCustomerIdentifier' | 'serviceId'>): string =>
  kyc.fullName ?? kyc.legalName ?? kyc.tradingName ?? partnerCustomerIdentifier ?? serviceId

/** The interface document requires the name of the country besides its code. */
const countryNames = new Intl.DisplayNames(['en'], { type: 'region', fallback: 'none' })

const present = <T extends object>(fields: T): { readonly [K in keyof T]?: NonNullable<T[K]> } =>
  Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && value !== null && value !== ''),
  ) as {
    readonly [K in keyof T]?: NonNullable<T[K]>
  }

/**
 * Builds the data of a customer for banks. A person without a country in the address has no country, because citizenship is not
 * residence. A business without one has the country of its principal business.
 */
export function payerDataOf({
  serviceId,
  customerType,
  kyc,
}: Pick<Customer, 'serviceId' | 'customerType' | 'kyc'>): Omit<PayerData, 'account'> {
  const isPerson = customerType !== 'Business'
  const names = isPerson
    ? [kyc.fullName, kyc.tradingName, kyc.legalName]
    : [kyc.legalName, kyc.tradingName, kyc.fullName]
  const ofBusiness = isPerson ? undefined : (kyc.countryOfPrincipalBusiness ?? kyc.countryOfIncorporation)
  const lines = [kyc.addressLine1, kyc.addressLine2].filter((line) => line !== undefined)
  return {
    isPerson,
    name: names.find((name) => name !== undefined) ?? null,
    customerNumber: serviceId,
    address: {
      lines,
      postCode: kyc.postalCode ?? null,
      town: kyc.city ?? null,
      country: kyc.addressCountryCode ?? ofBusiness ?? null,
    },
    documentNumber: (isPerson ? kyc.personalIdentificationNumber : kyc.registrationNumber) ?? null,
    lei: kyc.lei ?? null,
  }
}

export function toCustomerUser({ serviceId, email, kyc }: Pick<Customer, 'serviceId' | 'email' | 'kyc'>): CustomerUser {
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
