/** Transactions: deposits, withdrawals and conversions. Get is documented; list is an extension. */
import {
  Amount,
  Bic,
  Currency,
  CustomerRef,
  Iban,
  IdempotencyKey,
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

export const transactionCategories = ['Deposit', 'Withdrawal', 'Conversion'] as const
export const transactionDirections = ['Internal', 'Inward', 'Outward'] as const
export const transactionMethods = ['Fiat', 'Token'] as const
export const partyTypes = ['Partner', 'Customer'] as const
export const transactionStatuses = ['Pending', 'Completed', 'Unsuccessful', 'Cancelled', 'Expired'] as const
export const transactionTypes = [
  'NotDefined',
  'PartnerCustomerDeposit',
  'PartnerCustomerWithdraw',
  'PartnerDeposit',
  'PartnerWithdraw',
  'PartnerCustomerRefund',
  'TokenTransferOut',
  'TokenTransferIn',
  'CustomerDeposit',
  'CustomerWithdraw',
  'CustomerRefund',
  'Conversion',
] as const
export const errorKeys = [
  'Failed',
  'Expired',
  'BankRejection',
  'BankUnreachable',
  'InvalidAccountDetails',
  'CurrencyNotAccepted',
  'InvalidWalletAddress',
  'RecipientBlocked',
] as const
export const rails = ['Sepa', 'Swift', 'Wallet'] as const
/** Contract page, Silences: the steps of a timeline. */
export const timelineSteps = [
  'Created',
  'Initiated',
  'Submitted',
  'Screening',
  'Approval',
  'Reserved',
  'Accepted',
  'Sent',
  'Settled',
  'Credited',
  'Returned',
  'Failed',
  'Cancelled',
  'Expired',
] as const

export type TransactionCategory = (typeof transactionCategories)[number]
export type TransactionDirection = (typeof transactionDirections)[number]
export type TransactionMethod = (typeof transactionMethods)[number]
export type PartyType = (typeof partyTypes)[number]
export type TransactionStatus = (typeof transactionStatuses)[number]
export type TransactionType = (typeof transactionTypes)[number]
export type ErrorKey = (typeof errorKeys)[number]
export type Rail = (typeof rails)[number]
export type TimelineStep = (typeof timelineSteps)[number]

/** Interface document, Party details. A field without a value is absent. */
export const PartyDetails = closed({
  bankName: described(optional(Type.String()), 'Name of the bank.'),
  bic: described(optional(Bic), 'BIC of the bank, ISO 9362.'),
  iban: described(optional(Iban), 'IBAN of the account, ISO 13616, without spaces.'),
  accountHolderName: described(optional(Type.String()), 'Name of the account holder.'),
  address: described(optional(Type.String()), 'Postal address of the account holder, on one line.'),
  country: described(optional(Type.String()), 'Country of the account, ISO 3166-1 alpha-2.'),
  walletAddress: described(optional(Type.String()), 'Address of the wallet. Only for tokens.'),
})

export const PartnerUser = closed({
  address: described(optional(Type.String()), 'Postal address of the user.'),
  country: described(optional(Type.String()), 'Country of the user, as a name.'),
  countryCode: described(optional(Type.String()), 'Country of the user, ISO 3166-1 alpha-2.'),
  email: described(optional(Type.String()), 'Email address of the user.'),
  id: described(optional(Type.String()), 'Identifies the user or the service account.'),
  ipAddress: described(optional(Type.String()), 'IP address of the request, IPv4 or IPv6.'),
  name: described(optional(Type.String()), 'Name of the user or the service account.'),
})

/** The meaning of each transaction status. */
export const transactionStatusMeanings: Readonly<Record<TransactionStatus, string>> = {
  Pending: 'in progress',
  Completed: 'settled. Final',
  Unsuccessful: 'refused or rejected; `errorKey` has the reason. Final',
  Cancelled: 'cancelled before it was sent. Final',
  Expired: 'not funded in time. Final',
}
const statusText = Object.entries(transactionStatusMeanings)
  .map(([status, meaning]) => `\`${status}\`: ${meaning}.`)
  .join(' ')

export const TimelineEntry = closed({
  createdAt: described(Timestamp, 'Time of the step.'),
  status: described(oneOf(transactionStatuses), 'Status of the transaction after the step.'),
  step: described(oneOf(timelineSteps), 'What happened.'),
})

/** Interface document, Transaction. An optional field without a value is absent. */
export const Transaction = closed({
  reference: described(Type.String(), 'Identifies the transaction within the partner, 1 to 140 characters.'),
  amount: described(Amount, 'Amount in major units of `currency`. Always positive; `direction` says where it moves.'),
  currency: described(Currency, 'Currency of `amount`: ISO 4217 alpha-3, or a token code.'),
  userAmount: described(
    optional(Amount),
    'Amount that the customer paid or receives, in major units of `userCurrency`. Equal to `amount` without exchange.',
  ),
  userCurrency: described(optional(Currency), 'Currency of `userAmount`. Equal to `currency` without exchange.'),
  category: described(oneOf(transactionCategories), 'Kind of movement: money in, money out, or an exchange.'),
  direction: described(
    oneOf(transactionDirections),
    '`Inward`: to the partner. `Outward`: from the partner. `Internal`: between accounts of the service.',
  ),
  method: described(oneOf(transactionMethods), '`Fiat`: a bank payment. `Token`: a transfer of tokens.'),
  partyType: described(oneOf(partyTypes), 'Whether the transaction is of a customer or of the partner itself.'),
  status: described(oneOf(transactionStatuses), statusText),
  type: described(oneOf(transactionTypes), 'Precise kind of the transaction, for bookkeeping.'),
  errorKey: described(optional(oneOf(errorKeys)), 'Reason of the failure. Absent if the transaction has not failed.'),
  rail: described(optional(oneOf(rails)), 'Payment rail. Absent until one is chosen.'),
  hasFx: described(Type.Boolean(), 'True if the transaction exchanges currencies.'),
  fxQuoteExpiryTime: described(
    optional(Timestamp),
    'End of the validity of the exchange quote. Absent without exchange.',
  ),
  createdAt: described(Timestamp, 'Time of creation.'),
  updatedAt: described(Timestamp, 'Time of the last change. Each entry of `timeline` is a change.'),
  endToEndId: described(optional(Type.String()), 'End-to-end identifier in the payment message.'),
  sessionId: described(optional(Type.String()), 'Identifies the payment session of a deposit.'),
  websiteReference: described(optional(Type.String()), 'Your own reference of a deposit.'),
  userReference: described(
    optional(Type.String()),
    'The `reference` of your payout request, if the transaction could not take it because it was in use.',
  ),
  idempotencyKey: described(
    optional(Type.String()),
    'The idempotency key of the request that created the transaction.',
  ),
  description: described(optional(Type.String()), 'Explanation of a transaction that the service created.'),
  beneficiaryId: described(optional(Uuid), 'The beneficiary of a payout.'),
  beneficiaryAlias: described(optional(Type.String()), 'Alias of the beneficiary when the payout was accepted.'),
  transactionHash: described(optional(Type.String()), 'Hash of the blockchain transaction. Only for tokens.'),
  creditorDetails: described(optional(PartyDetails), 'The party that receives the money.'),
  debtorDetails: described(optional(PartyDetails), 'The party that pays.'),
  partnerUser: described(optional(PartnerUser), 'The user or service account that requested the transaction.'),
  timeline: described(Type.Array(TimelineEntry), 'Every step of the transaction, oldest first.'),
})
export const TransactionPage = page(Transaction)
export const TransactionQuery = closed({
  ...pageQuery,
  status: described(optional(oneOf(transactionStatuses)), 'Only transactions with this status.'),
  category: described(optional(oneOf(transactionCategories)), 'Only transactions of this category.'),
  customerId: described(optional(CustomerRef), 'Only transactions of this customer: its `guid` or its `serviceId`.'),
  beneficiaryId: described(optional(Uuid), 'Only payouts to this beneficiary.'),
  idempotencyKey: described(optional(IdempotencyKey), 'Only the transaction with this idempotency key.'),
  createdFrom: optional(timeInput('Only transactions created at or after this time')),
  createdTo: optional(timeInput('Only transactions created before this time')),
})
