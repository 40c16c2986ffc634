/** Beneficiaries: the payees of payouts. Update is documented; the other operations are extensions. */
import {
  CountryCode,
  Currency,
  CustomerGuid,
  CustomerRef,
  Timestamp,
  Type,
  Uuid,
  aliasCharsMax,
  closed,
  countryCodePattern,
  nameCharsMax,
  optional,
  page,
  pageQuery,
  singleLine,
  text,
} from './shapes.ts'

const Alias = singleLine(aliasCharsMax)
const Name = singleLine(nameCharsMax)

export const BeneficiaryCreate = closed({
  customerId: optional(CustomerRef),
  alias: optional(Alias),
  name: Name,
  iban: optional(text(42, { description: 'ISO 13616 IBAN. Required for fiat currencies. Spaces are removed' })),
  bic: optional(text(11, { description: 'ISO 9362 BIC' })),
  walletAddress: optional(text(128, { description: 'Required for token currencies' })),
  country: optional(
    Type.String({
      pattern: countryCodePattern,
      description: 'Country of the account. Must be a country of the IBAN. Default: the country of the IBAN',
    }),
  ),
  currency: Currency,
})

/** Interface document, Beneficiary update request. At least one of `alias` and `name` is required. */
export const BeneficiaryUpdate = closed({ id: Uuid, alias: optional(Alias), name: optional(Name) })

export const Beneficiary = closed({
  id: Uuid,
  customerId: optional(CustomerGuid),
  alias: optional(Type.String()),
  name: Type.String(),
  iban: optional(Type.String()),
  bic: optional(Type.String()),
  walletAddress: optional(Type.String()),
  country: optional(CountryCode),
  currency: Currency,
  createdAt: Timestamp,
  updatedAt: Timestamp,
})
export const BeneficiaryPage = page(Beneficiary)
export const BeneficiaryQuery = closed({
  ...pageQuery,
  customerId: optional(CustomerRef),
  currency: optional(Currency),
})
