/** Transactions: deposits, withdrawals and conversions. Get is documented; list is an extension. */
import {
  Amount,
  AmountText,
  Bic,
  Currency,
  CustomerRef,
  Iban,
  IdempotencyKey,
  Reference,
  Timestamp,
  Type,
  Uuid,
  closed,
  described,
  nameCharsMax,
  nullable,
  oneOf,
  optional,
  page,
  pageQuery,
  referenceCharsMax,
  singleLine,
  text,
  timeInput,
  meaningsText,
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
/** ISO 20022, Max35Text. */
const endToEndIdCharsMax = 35
const cursorCharsMax = 512
/** An IBAN in groups of four, or the address of a wallet. */
const accountCharsMax = 64
/** Contract page, Silences: the steps of a timeline. */
export const timelineSteps = [
  'Created',
  'Initiated',
  'Submitted',
  'Screening',
  'Approval',
  'Reserved',
  'PartReceived',
  'Accepted',
  'Sent',
  'PayeeMatched',
  'PayeeMatchedClosely',
  'PayeeNotMatched',
  'PayeeNotChecked',
  'Settled',
  'Credited',
  'Returned',
  'Failed',
  'Cancelled',
  'Expired',
  'RecallRequested',
  'RecallSent',
  'RecallAccepted',
  'RecallRefused',
  'RecallExpired',
] as const

export const timelineActors = ['Partner', 'Service', 'Bank', 'Time', 'Operator'] as const
export type TimelineActor = (typeof timelineActors)[number]
/** Reasons why a payment is on hold or would be refused, as far as partners may know them. */
export const holdKinds = [
  'Approval',
  'OperatorCheck',
  'Sending',
  'BankWindow',
  'BankAnswer',
  'BankExecution',
  'PayeeCheck',
  'PayeeName',
  'Recall',
  'Payer',
  'PayerData',
  'WalletOwnership',
  'Booking',
  'OperatorCase',
  'AccountBlocked',
  'CustomerVerification',
  'CoolingOff',
  'Limit',
  'Funds',
  'SegregatedFunds',
  'Country',
] as const
export const holdActors = ['You', 'Approver', 'Operator', 'Bank', 'PayeeBank', 'Payer', 'Time'] as const
/** Relations between the transactions of a payment. */
export const transactionRelations = ['Original', 'Return', 'Refund', 'Reversal', 'Transfer'] as const
export type TransactionRelation = (typeof transactionRelations)[number]

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
  sortCode: described(optional(Type.String()), 'Sort code of a British account without an IBAN, six digits.'),
  routingNumber: described(optional(Type.String()), 'Routing number of an American account, nine digits.'),
  accountNumber: described(optional(Type.String()), 'Number of an account without an IBAN.'),
  accountHolderName: described(optional(Type.String()), 'Name of the account holder.'),
  address: described(optional(Type.String()), 'Postal address of the account holder, on one line.'),
  country: described(optional(Type.String()), 'Country of the account, ISO 3166-1 alpha-2.'),
  walletAddress: described(optional(Type.String()), 'Address of the wallet. Only for tokens.'),
})

export const PartnerUser = closed({
  address: described(optional(Type.String()), 'Postal address of the customer, on one line.'),
  country: described(optional(Type.String()), 'Country of the customer, as an English name.'),
  countryCode: described(optional(Type.String()), 'Country of the customer, ISO 3166-1 alpha-2.'),
  email: described(optional(Type.String()), 'Email address of the customer.'),
  id: described(optional(Type.String()), 'The `serviceId` of the customer.'),
  ipAddress: described(
    optional(Type.String()),
    'IP address of the request that started the transaction, IPv4 or IPv6. Absent if no request did.',
  ),
  name: described(optional(Type.String()), 'Name of the customer.'),
})

export const transactionStatusMeanings: Readonly<Record<TransactionStatus, string>> = {
  Pending: 'in progress',
  Completed: 'settled. Final',
  Unsuccessful: 'refused or rejected; `errorKey` has the reason. Final',
  Cancelled: 'cancelled before it was sent. Final',
  Expired: 'not funded in time. Final',
}

export const TimelineEntry = closed({
  createdAt: described(Timestamp, 'Time of the step.'),
  status: described(oneOf(transactionStatuses), 'Status of the transaction after the step.'),
  step: described(oneOf(timelineSteps), 'Kind of the step.'),
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
  status: described(oneOf(transactionStatuses), meaningsText(transactionStatusMeanings)),
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
    'The `reference` of your request, always: show it to people. `reference` is the same text if it was free.',
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
  partnerUser: described(
    optional(PartnerUser),
    'The customer of the transaction. Absent for a transaction of your own. An erased customer has only its `id`. ' +
      '`GET /v1/transactions/{reference}/timeline` shows who requested the transaction.',
  ),
  timeline: described(Type.Array(TimelineEntry), 'Every step of the transaction, oldest first.'),
})
export const TransactionPage = closed({
  ...page(Transaction).properties,
  data: described(Type.Array(Transaction), 'The transactions of the page, in the order of the list.'),
  nextCursor: described(
    nullable(Type.String()),
    'Opaque. Pass the value as `cursor` to get the next page. Null on the last page. With `updatedSince` it is never ' +
      'null: the last one continues the list later.',
  ),
})

export const TransactionExportQuery = closed({
  after: described(
    optional(text(cursorCharsMax)),
    'The `cursor` of the last line that you have, or the `nextCursor` of a list with `updatedSince`.',
  ),
  updatedSince: optional(timeInput('Begins with changes at or after this time. Without it the stream has everything')),
})

const RelatedTransaction = closed({
  relation: described(
    oneOf(transactionRelations),
    '`Original`: the payment whose money the others move. `Return`: a bank sent the money of a payout back. ' +
      '`Refund`: the money of a deposit was given back to its payer. `Reversal`: a bank cancelled its credit. ' +
      '`Transfer`: the deposit by which the money of a payout reached another customer of yours.',
  ),
  reference: described(Type.String(), 'The `reference` of the other transaction.'),
  userReference: described(
    optional(Type.String()),
    'The `userReference` of the other transaction. Absent without one.',
  ),
  type: described(oneOf(transactionTypes), 'Type of the transaction.'),
  direction: described(oneOf(transactionDirections), 'Direction of the transaction.'),
  amount: described(Amount, 'Amount of the transaction, in major units of `currency`. A return may be of a part.'),
  currency: described(Currency, 'Currency of `amount`: ISO 4217 alpha-3, or a token code.'),
  status: described(oneOf(transactionStatuses), 'Status of the transaction.'),
  recallId: described(
    optional(Uuid),
    'The recall by which the money came back: of a `Return` its own, of an `Original` that of the return you asked about. ' +
      'Absent if the bank sent the money back without a recall.',
  ),
  createdAt: described(Timestamp, 'Time of its creation.'),
})
export const RelatedTransactions = closed({
  reference: described(Type.String(), 'The `reference` of the transaction.'),
  data: described(Type.Array(RelatedTransaction), 'The other transactions of the same payment, the oldest first.'),
  fx: described(
    optional(
      closed({
        quoteId: described(Uuid, 'The quote that the transaction accepted.'),
        userAmount: described(Amount, 'The other side of the exchange, in major units of `userCurrency`.'),
        userCurrency: described(Currency, 'Currency of `userAmount`.'),
      }),
    ),
    'The exchange of the transaction. Absent without one.',
  ),
})

export const Hold = closed({
  kind: described(oneOf(holdKinds), 'Kind of the hold. Later versions may add kinds.'),
  reason: described(Type.String(), 'Reason, for people. The text may change.'),
  actor: described(
    oneOf(holdActors),
    'Party that acts next. `Approver`: another person of your team. `Operator`: the company that runs this service. `Time`: no one has to act.',
  ),
  by: described(nullable(Timestamp), 'Time by which that happens, or at which the wait ends. Null: it is not known.'),
  evidence: described(Type.Array(Type.String()), 'Evidence that helps to end the hold. Empty: nothing is needed.'),
})
export const TransactionTimeline = closed({
  reference: described(Type.String(), 'The `reference` of the transaction.'),
  status: described(oneOf(transactionStatuses), 'Status of the transaction now.'),
  requestId: described(
    optional(Type.String()),
    'The `X-Request-Id` of the request that created the transaction. Absent if no request did.',
  ),
  requestedBy: described(
    optional(
      closed({
        id: described(Type.String(), 'The `userId` of the member of your team, or the `serviceAccountId`.'),
        name: described(Type.String(), 'The name at that time.'),
      }),
    ),
    'The member of your team or the service account that requested the transaction. Absent if no request of yours did.',
  ),
  hold: described(
    optional(Hold),
    'Reason for which the payment waits now, who acts next, and what helps. Absent if it does not wait.',
  ),
  data: described(
    Type.Array(
      closed({
        sequence: described(Type.Integer({ minimum: 1 }), 'Place of the step, from 1 without gaps. It never changes.'),
        step: described(oneOf(timelineSteps), 'Kind of the step.'),
        status: described(oneOf(transactionStatuses), 'Status of the transaction after the step.'),
        createdAt: described(Timestamp, 'Time of the step.'),
        actor: described(
          optional(oneOf(timelineActors)),
          'Actor of the step. `Service`: its worker. `Time`: an expired deadline. `Operator`: a person who works for ' +
            'the operator of the service. Absent for steps that were recorded before actors were.',
        ),
        reason: described(
          optional(
            closed({
              code: described(Type.String(), "The bank's code of ISO 20022, such as `AC04`, as it sent it."),
              text: described(Type.String(), 'Meaning of the code.'),
            }),
          ),
          'Reason that the bank gave for the step. For `RecallRequested`: the reason of the request. Absent if there is no code.',
        ),
        bankText: described(
          optional(Type.String()),
          "The bank's own words about the reason, in its language: one line of plain text, at most 500 characters. " +
            'Absent if it gave none, and after the erasure of the customer.',
        ),
        recallId: described(
          optional(Uuid),
          'The recall that the step is of, or by which the money came back. Absent for other steps.',
        ),
      }),
    ),
    'Every step, the oldest first.',
  ),
})

const referencePrefixText =
  'Only transactions whose `userReference` or `reference` begins with this text. Case matters.'
const amountText = 'in major units of `currency`, which is required with it.'
export const TransactionQuery = closed({
  ...pageQuery,
  status: described(optional(oneOf(transactionStatuses)), 'Only transactions with this status.'),
  category: described(optional(oneOf(transactionCategories)), 'Only transactions of this category.'),
  customerId: described(optional(CustomerRef), 'Only transactions of this customer: its `guid` or its `serviceId`.'),
  beneficiaryId: described(optional(Uuid), 'Only payouts to this beneficiary.'),
  idempotencyKey: described(optional(IdempotencyKey), 'Only the transaction with this idempotency key.'),
  type: described(optional(oneOf(transactionTypes)), 'Only transactions of this type.'),
  rail: described(optional(oneOf(rails)), 'Only transactions on this rail.'),
  currency: described(optional(Currency), 'Only transactions whose `amount` is in this currency.'),
  amount: described(
    optional(AmountText),
    'Only transactions of exactly this amount, in major units, in `currency` or without it in any currency.',
  ),
  amountMin: described(optional(AmountText), `Only transactions of at least this amount, ${amountText}`),
  amountMax: described(optional(AmountText), `Only transactions of at most this amount, ${amountText}`),
  account: described(
    optional(text(accountCharsMax)),
    'Only transactions from or to this account of the other side. It is an IBAN, an account number or the address of a wallet. ' +
      'Spaces and case do not count.',
  ),
  websiteReference: described(
    optional(singleLine(referenceCharsMax)),
    'Only deposits with this `websiteReference`, for example the number of an order.',
  ),
  endToEndId: described(
    optional(singleLine(endToEndIdCharsMax)),
    'Only transactions with this end-to-end identifier. 1 to 35 characters.',
  ),
  userReference: described(optional(Reference), 'Only transactions with this text as `userReference` or `reference`.'),
  referencePrefix: described(optional(singleLine(referenceCharsMax)), referencePrefixText),
  payerName: described(
    optional(text(nameCharsMax)),
    'Only incoming payments with a payer whose name, or the last word of it, begins with this text. Case does not count.',
    { examples: ['Hopp'] },
  ),
  updatedSince: optional(timeInput('Only transactions that changed at or after this time, the oldest change first')),
  createdFrom: optional(timeInput('Only transactions created at or after this time')),
  createdTo: optional(timeInput('Only transactions created before this time')),
})

const { limit: _limit, cursor: _cursor, updatedSince: _updatedSince, ...sumFilters } = TransactionQuery.properties
export const TransactionSumsQuery = closed(sumFilters)

/** Largest number of rows in a sum, so that a sum takes a few milliseconds for any number of rows. */
export const sumRowsMax = 5_000
const cappedText = `True if more than ${sumRowsMax} match. Count and amount are then lower bounds, summed over ${sumRowsMax}.`
/** Sums of a list by currency. */
export const currencySums = (texts: { readonly count: string; readonly amount: string }) =>
  closed({
    data: described(
      Type.Array(
        closed({
          currency: described(Currency, 'Currency of `amount`.'),
          count: described(Type.Integer({ minimum: 1 }), texts.count),
          amount: described(Amount, texts.amount),
        }),
      ),
      'One item for each currency that matches.',
    ),
    capped: described(Type.Boolean(), cappedText),
  })
export const TransactionSums = closed({
  data: described(
    Type.Array(
      closed({
        direction: described(oneOf(transactionDirections), 'Direction of the transactions.'),
        currency: described(Currency, 'Currency of `amount`.'),
        count: described(Type.Integer({ minimum: 1 }), 'Number of transactions.'),
        amount: described(Amount, 'Sum of their amounts, whatever their status, in major units of `currency`.'),
      }),
    ),
    'One item for each direction and currency that matches.',
  ),
  capped: described(Type.Boolean(), cappedText),
})
