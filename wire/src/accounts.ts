/** Accounts: customer IBANs (create is documented, get is an extension) and partner balances (extension). */
import { Amount, CountryCode, Currency, Timestamp, Type, Uuid, closed, page } from './shapes.ts'

const Iban = Type.String()

/** Interface document, Customer account. `iban` and `country` repeat the first entry of `ibans`. */
export const CustomerAccount = closed({
  country: CountryCode,
  iban: Iban,
  partnerCustomerId: Type.String({
    description: "The partner's own identifier of the customer. Without one: the customer's serviceId",
  }),
  ibans: Type.Array(closed({ country: CountryCode, iban: Iban })),
})

/** `available` = `posted` - `reserved`. All three amounts are exact and read at the instant `asOf`. */
export const Balance = closed({
  id: Uuid,
  currency: Currency,
  posted: Amount,
  reserved: Amount,
  available: Amount,
  asOf: Timestamp,
})
export const BalancePage = page(Balance)
