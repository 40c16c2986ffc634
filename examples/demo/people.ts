/** The customers and beneficiaries of the demo. Names and numbers are invented; the IBANs are the registry's examples. */
import type { BeneficiaryCreate, CustomerCreate } from '@partner-payments/sdk'

/** Everything that a person needs to be verified. In production only a verified customer receives and pays. */
export const kycOf = (fullName: string): NonNullable<CustomerCreate['kyc']> => ({
  fullName,
  dateOfBirth: '1985-12-10',
  citizenshipCountryCode: 'GB',
  residenceAddress: '12 St James Square, London',
})

export const ada: CustomerCreate = {
  email: 'ada@example.com',
  partnerCustomerIdentifier: 'customer-ada',
  kyc: {
    ...kycOf('Ada Lovelace'),
    mobilePhone: '+447400123456',
    personalIdentificationNumber: 'QQ123456C',
  },
}

export const engines: CustomerCreate = {
  email: 'office@engines.example',
  partnerCustomerIdentifier: 'customer-engines',
  kyc: {
    legalName: 'Analytical Engines Ltd',
    legalForm: 'Limited company',
    registrationNumber: '01234567',
    countryOfIncorporation: 'GB',
    dateOfIncorporation: '2019-03-01',
    natureOfBusiness: 'Mechanical computation',
    taxId: 'GB980780684',
    addressLine1: '1 Dorset Street',
    city: 'London',
    uboFirstName1: 'Charles',
    uboLastName1: 'Babbage',
  },
}

/** The beneficiaries of payouts. `owner` is the customer that a beneficiary belongs to, or the partner. */
export const payees = {
  landlord: {
    owner: 'ada',
    name: 'Grace Hopper',
    alias: 'landlord',
    iban: 'DE89370400440532013000',
    bic: 'COBADEFFXXX',
    currency: 'EUR',
  },
  supplier: {
    owner: 'engines',
    name: 'Jacquard Looms plc',
    alias: 'supplier',
    iban: 'GB29NWBK60161331926819',
    currency: 'GBP',
    address: {
      streetName: 'Portland Street',
      buildingNumber: '4',
      postalCode: 'M1 1AE',
      city: 'Manchester',
      country: 'GB',
    },
  },
  partner: { owner: 'partner', name: 'Partner Treasury', iban: 'NL91ABNA0417164300', currency: 'EUR' },
} as const satisfies Record<
  string,
  Omit<BeneficiaryCreate, 'customerId'> & { readonly owner: 'ada' | 'engines' | 'partner' }
>

export type Payee = keyof typeof payees
