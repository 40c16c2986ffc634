import { newId, randomText } from '../../kernel/index.ts'
import type { Customer, Payer } from './service.ts'

/** A customer that never was, for samples of events. RFC 2606: the address reaches nobody. */
export function sampleCustomer(now: Date): Customer {
  return {
    id: newId(),
    serviceId: `cus_${randomText(16)}`,
    partnerCustomerIdentifier: 'sample-customer',
    email: 'ada@example.com',
    customerType: 'Individual',
    kyc: { fullName: 'Ada Lovelace', citizenshipCountryCode: 'GB', residenceAddress: '12 St James Square, London' },
    createdAt: now,
    updatedAt: now,
  }
}

export function samplePayer(now: Date): Payer {
  const { id, serviceId, partnerCustomerIdentifier, email, kyc } = sampleCustomer(now)
  return { id, serviceId, partnerCustomerIdentifier, email, citizenshipCountryCode: kyc.citizenshipCountryCode ?? null }
}
