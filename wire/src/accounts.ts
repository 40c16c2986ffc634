/** Accounts: customer IBANs (create is documented, get is an extension) and partner balances (extension). */
import { Amount, CountryCode, Currency, Iban, Timestamp, Type, Uuid, closed, described, page } from './shapes.ts'

const CustomerIban = closed({
  country: described(CountryCode, 'Country of the IBAN, ISO 3166-1 alpha-2.'),
  iban: described(Iban, 'The IBAN, ISO 13616, without spaces.'),
})

/** Interface document, Customer account. `iban` and `country` repeat the first entry of `ibans`. */
export const CustomerAccount = closed({
  country: described(CountryCode, 'Country of `iban`, ISO 3166-1 alpha-2. Repeats the first entry of `ibans`.'),
  iban: described(
    Iban,
    'The first IBAN of the customer, ISO 13616, without spaces. Repeats the first entry of `ibans`.',
  ),
  partnerCustomerId: described(
    Type.String(),
    'Your identifier of the customer, `partnerCustomerIdentifier`. Without one, the `serviceId`.',
  ),
  ibans: described(Type.Array(CustomerIban), 'All IBANs of the customer: one per issuing country.'),
})

/** `available` = `posted` - `reserved`. All three amounts are exact and read at the instant `asOf`. */
export const Balance = closed({
  id: described(Uuid, 'Identifies the balance.'),
  currency: described(Currency, 'Currency of the balance: ISO 4217 alpha-3, or a token code.'),
  posted: described(Amount, 'Settled money in major units of `currency`, including reserved money.'),
  reserved: described(Amount, 'Money set aside for payouts that have not settled, in major units of `currency`.'),
  available: described(
    Amount,
    'Money that a payout can use, in major units: `posted` minus `reserved`. Never negative.',
  ),
  asOf: described(Timestamp, 'The instant at which the balances were read. Equal for all balances of a response.'),
})
export const BalancePage = page(Balance)
