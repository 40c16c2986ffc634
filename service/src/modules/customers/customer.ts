/** A customer with its opened KYC. */
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
