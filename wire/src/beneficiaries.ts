/** Beneficiaries: whom a payout pays. Update is documented; the rest are extensions. */
import {
  CountryCode,
  Currency,
  CustomerRef,
  Timestamp,
  Type,
  Uuid,
  aliasCharsMax,
  closed,
  line,
  nameCharsMax,
  optional,
  page,
  pageQuery,
  text,
} from './shapes.ts'

const Alias = line(aliasCharsMax)
const Name = line(nameCharsMax)

export const BeneficiaryCreate = closed({
  customerId: optional(CustomerRef),
  alias: optional(Alias),
  name: Name,
  iban: optional(text(42, { description: 'ISO 13616; spaces are allowed and removed' })),
  bic: optional(text(11, { description: 'ISO 9362' })),
  walletAddress: optional(text(128)),
  country: optional(CountryCode),
  currency: Currency,
})

/** Interface document, Beneficiary update request. At least one of `alias` and `name`. */
export const BeneficiaryUpdate = closed({ id: Uuid, alias: optional(Alias), name: optional(Name) })

export const Beneficiary = closed({
  id: Uuid,
  customerId: optional(Uuid),
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
