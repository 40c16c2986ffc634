/** Transactions: deposits, withdrawals and conversions. Get is documented; list is an extension. */
import {
  Amount,
  Currency,
  CustomerRef,
  IdempotencyKey,
  Timestamp,
  Type,
  Uuid,
  closed,
  oneOf,
  optional,
  page,
  pageQuery,
  timeInput,
  timestampPattern,
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
  bankName: optional(Type.String()),
  bic: optional(Type.String()),
  iban: optional(Type.String()),
  accountHolderName: optional(Type.String()),
  address: optional(Type.String()),
  country: optional(Type.String()),
  walletAddress: optional(Type.String()),
})

export const PartnerUser = closed({
  address: optional(Type.String()),
  country: optional(Type.String()),
  countryCode: optional(Type.String()),
  email: optional(Type.String()),
  id: optional(Type.String()),
  ipAddress: optional(Type.String()),
  name: optional(Type.String()),
})

export const TimelineEntry = closed({
  createdAt: Timestamp,
  status: oneOf(transactionStatuses),
  step: oneOf(timelineSteps),
})

/** Interface document, Transaction. An optional field without a value is absent. */
export const Transaction = closed({
  reference: Type.String(),
  amount: Amount,
  currency: Currency,
  userAmount: optional(Amount),
  userCurrency: optional(Currency),
  category: oneOf(transactionCategories),
  direction: oneOf(transactionDirections),
  method: oneOf(transactionMethods),
  partyType: oneOf(partyTypes),
  status: oneOf(transactionStatuses),
  type: oneOf(transactionTypes),
  errorKey: optional(oneOf(errorKeys)),
  rail: optional(oneOf(rails)),
  hasFx: Type.Boolean(),
  fxQuoteExpiryTime: optional(Timestamp),
  createdAt: Timestamp,
  updatedAt: Type.String({
    format: 'date-time',
    pattern: timestampPattern,
    description: 'The time of the newest change. Each entry of `timeline` is a change',
  }),
  endToEndId: optional(Type.String()),
  sessionId: optional(Type.String()),
  websiteReference: optional(Type.String()),
  userReference: optional(Type.String()),
  idempotencyKey: optional(Type.String()),
  description: optional(Type.String()),
  beneficiaryId: optional(Uuid),
  beneficiaryAlias: optional(Type.String()),
  transactionHash: optional(Type.String()),
  creditorDetails: optional(PartyDetails),
  debtorDetails: optional(PartyDetails),
  partnerUser: optional(PartnerUser),
  timeline: Type.Array(TimelineEntry),
})
export const TransactionPage = page(Transaction)
export const TransactionQuery = closed({
  ...pageQuery,
  status: optional(oneOf(transactionStatuses)),
  category: optional(oneOf(transactionCategories)),
  customerId: optional(CustomerRef),
  beneficiaryId: optional(Uuid),
  idempotencyKey: optional(IdempotencyKey),
  createdFrom: optional(timeInput('Only transactions created at or after this time')),
  createdTo: optional(timeInput('Only transactions created before this time')),
})
