/** Accounts: the IBANs of a customer (documented) and the partner's balances (extension). */
import { Amount, CountryCode, Currency, Timestamp, Type, Uuid, closed, page } from './shapes.ts'

const Iban = Type.String()

/** Interface document, Customer account: `iban` and `country` are the first of `ibans`. */
export const CustomerAccount = closed({
  country: CountryCode,
  iban: Iban,
  partnerCustomerId: Type.String(),
  ibans: Type.Array(closed({ country: CountryCode, iban: Iban })),
})

/** `available` = `posted` - `reserved`; all three are exact and read at one instant, `asOf`. */
export const Balance = closed({
  id: Uuid,
  currency: Currency,
  posted: Amount,
  reserved: Amount,
  available: Amount,
  asOf: Timestamp,
})
export const BalancePage = page(Balance)
