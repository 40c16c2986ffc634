/** Accounts: customer IBANs (create is documented, get is an extension), balances and their entries (extensions). */
import {
  Amount,
  CountryCode,
  Currency,
  CustomerRef,
  Iban,
  PaymentAmount,
  Reference,
  Timestamp,
  Type,
  Uuid,
  closed,
  described,
  oneOf,
  optional,
  page,
  pageQuery,
  timeInput,
} from './shapes.ts'

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
const OwnPart = closed({
  posted: described(Amount, 'Your own settled money, including what is reserved, in major units.'),
  reserved: described(Amount, 'Your own money that is set aside for payouts, in major units.'),
  available: described(Amount, 'Your own money that a payout of your own can use, in major units. Never negative.'),
})

export const payoutsUses = ['OwnPart', 'WholeBalance'] as const

export const Balance = closed({
  id: described(Uuid, 'Identifies the balance.'),
  currency: described(Currency, 'Currency of the balance: ISO 4217 alpha-3, or a token code.'),
  posted: described(Amount, 'Settled money in major units of `currency`, including reserved money.'),
  reserved: described(Amount, 'Money set aside for payouts that have not settled, in major units of `currency`.'),
  available: described(
    Amount,
    'Money that a payout can use, in major units: `posted` minus `reserved`. Never negative.',
  ),
  segregated: described(
    Type.Boolean(),
    'True: a payout uses only the part of its customer, or your own part. False: it may use the whole balance. Shows what is so ' +
      'now, also with `at`.',
  ),
  payoutsUse: described(
    oneOf(payoutsUses),
    'The money that a payout can use. `OwnPart`: only the money of its customer, or your own. `WholeBalance`: the ' +
      'money of all customers and yours. A new balance is `WholeBalance` in a sandbox and `OwnPart` in production, unless the operator decides otherwise.',
  ),
  own: optional(
    described(OwnPart, 'Your own part of a segregated balance: the rest is that of your customers. Absent with `at`.'),
  ),
  asOf: described(Timestamp, 'The instant at which the balances were read. Equal for all balances of a response.'),
})
export const BalancePage = page(Balance)

const at = {
  at: optional(
    timeInput('Reads the balances as they were immediately before this time. Default: now, also for a later time'),
  ),
}
export const BalanceQuery = closed(at)

/** A customer's part of the partner's balance in a currency. */
const CustomerBalance = closed({
  currency: described(Currency, 'Currency of the movements: ISO 4217 alpha-3, or a token code.'),
  posted: described(
    Amount,
    'Incoming minus outgoing money of the customer, in major units. Below zero if you paid ' +
      'out more for the customer than came in.',
  ),
  reserved: described(Amount, 'Money set aside for payouts of the customer that have not settled, in major units.'),
  available: described(
    Amount,
    '`posted` minus `reserved`, in major units. In a segregated balance the payouts of the customer cannot use more.',
  ),
  asOf: described(Timestamp, 'The instant at which the sums were read. Equal for all items of a response.'),
})
export const CustomerBalancePage = page(CustomerBalance)

const counterAccounts = ['Settlement', 'Suspense', 'Fees', 'Fx', 'Transfers'] as const
const entry = {
  id: described(Uuid, 'Identifies the entry.'),
  at: described(Timestamp, 'When the money moved. In the sandbox this is the real time, also if its clock was moved.'),
  direction: described(oneOf(['Inward', 'Outward']), '`Inward` adds `amount` to the balance, `Outward` takes it off.'),
  amount: described(Amount, 'The money that moved, in major units of `currency`. Greater than zero.'),
  currency: described(Currency, 'Currency of the entry: ISO 4217 alpha-3, or a token code.'),
}
const origin = {
  counterAccount: described(
    oneOf(counterAccounts),
    'The other side: a bank or a chain (`Settlement`), fees or an exchange. `Suspense` is money that waits to be assigned, ' +
      '`Transfers` another part of the same balance.',
  ),
  reference: described(Reference, 'The `reference` of the transaction that moved the money.'),
}

/** A line of the statement of a balance. */
const AccountEntry = closed({
  ...entry,
  balance: described(Amount, 'The posted balance after this entry, in major units of `currency`.'),
  ...origin,
  customerId: optional(
    described(Uuid, 'The `guid` of the customer whose money moved. Absent if it is your own money.'),
  ),
})
export const AccountEntryPage = page(AccountEntry)

/** A line of the statement of a customer. */
const CustomerAccountEntry = closed({
  ...entry,
  balance: described(
    Amount,
    "The sum of the customer's entries up to this one, in major units of `currency`. May be below zero.",
  ),
  ...origin,
})
export const CustomerAccountEntryPage = page(CustomerAccountEntry)

const fromCustomer = 'The customer whose money is moved. Absent: your own money.'
const toCustomer = 'The customer who gets the money. Absent: you.'
/** Names at least one of the two customers. */
export const AccountTransferCreate = closed({
  amount: described(PaymentAmount, 'Amount in major units of `currency`.', { examples: [12.5] }),
  currency: described(Currency, 'Currency of the balance: ISO 4217 alpha-3, or a token code.', { examples: ['EUR'] }),
  fromCustomerId: optional(described(CustomerRef, fromCustomer)),
  toCustomerId: optional(described(CustomerRef, toCustomer)),
  reference: optional(
    described(
      Reference,
      'Your reference, for the outward transaction. If you have used it before, the service assigns another reference.',
    ),
  ),
})
export const AccountTransfer = closed({
  amount: described(Amount, 'Amount in major units of `currency`.'),
  currency: described(Currency, 'Currency of the balance: ISO 4217 alpha-3, or a token code.'),
  fromCustomerId: optional(described(Uuid, `${fromCustomer} Its \`guid\`.`)),
  toCustomerId: optional(described(Uuid, `${toCustomer} Its \`guid\`.`)),
  outwardReference: described(Reference, 'The `reference` of the transaction that took the money.'),
  inwardReference: described(Reference, 'The `reference` of the transaction that brought it.'),
  createdAt: described(Timestamp, 'When the money moved.'),
})

const period = {
  from: optional(timeInput('Only entries at this time or later')),
  to: optional(timeInput('Only entries before this time')),
}
export const EntryQuery = closed({ ...pageQuery, ...period })

export const accountStates = ['Active', 'BlockedInbound', 'BlockedOutbound', 'Blocked', 'Closed'] as const
export const stateReasons = ['Compliance', 'CourtOrder', 'CustomerRequest', 'Fraud', 'PartnerRequest', 'Other'] as const

/** A change of the state of a balance or of the account of a customer. */
export const AccountStateChange = closed({
  id: described(Uuid, 'Identifies the change.'),
  at: described(Timestamp, 'When the state was changed.'),
  currency: optional(described(Currency, 'Currency of the balance. Absent if it is the account of a customer.')),
  customerId: optional(described(Uuid, 'The `guid` of the customer. Absent if it is a balance.')),
  from: described(oneOf(accountStates), 'The state before.'),
  state: described(
    oneOf(accountStates),
    'The new state. `BlockedInbound`: cannot receive payments. `BlockedOutbound`: cannot send payments. `Blocked`: neither. `Closed`: ' +
      'neither, permanently.',
  ),
  reason: described(oneOf(stateReasons), "Reason for the operator's change."),
})
export const AccountStateChangePage = page(AccountStateChange)

export const StateChangeQuery = closed({
  ...pageQuery,
  currency: optional(described(Currency, 'Only changes of the balance of this currency.')),
  customerId: optional(CustomerRef),
})
