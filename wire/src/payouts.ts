/** Fiat payouts. Create is documented; get and list are extensions. */
import { paymentMethods } from './events.ts'
import { Rate } from './fx.ts'
import {
  Amount,
  CalendarDate,
  Currency,
  CustomerRef,
  IdempotencyKey,
  PaymentAmount,
  Reference,
  Timestamp,
  timeInput,
  Type,
  Uuid,
  closed,
  described,
  oneOf,
  optional,
  page,
  singleLine,
  pageQuery,
  meaningsText,
} from './shapes.ts'
import { currencySums, Hold, rails } from './transactions.ts'
import { verificationStates } from './verification.ts'

export const payoutStatuses = [
  'Pending',
  'PendingApproval',
  'Processing',
  'Sent',
  'Completed',
  'Failed',
  'Returned',
  'Cancelled',
] as const
export const PayoutStatus = oneOf(payoutStatuses)

/** The meaning of each payout status, in the order of a payout's life. */
export const payoutStatusMeanings: Readonly<Record<(typeof payoutStatuses)[number], string>> = {
  Pending: 'accepted; the amount is reserved',
  PendingApproval: 'waits for the approval of a second person',
  Processing: 'being submitted to the bank',
  Sent: 'the bank accepted the instruction',
  Completed: 'settled',
  Failed: 'refused or rejected; the reserved amount is available again. Final',
  Returned: 'settled, then returned by the bank in a new refund transaction. Final',
  Cancelled: 'cancelled before submission. Final',
}

export const duplicateRules = ['Allow', 'Refuse'] as const
/** An extension, also of the documented operation. */
const onDuplicate = described(
  optional(oneOf(duplicateRules)),
  '`Refuse`: a payout that may repeat an earlier one, or the next one of a standing order, is refused with 422 `possible_duplicate`. Default `Allow`. The preview says which ones it may repeat.',
)

/** Interface document, Fiat payout: request body, and `onDuplicate`. */
export const FiatPayoutCreate = closed({
  amount: described(
    PaymentAmount,
    'Amount in major units of `currency`: 0.01 to 10,000,000.00, at most 2 decimal digits. Reserved at once.',
    { examples: [12.5] },
  ),
  beneficiaryId: described(Uuid, 'The beneficiary that receives the payout.'),
  currency: described(Currency, 'Fiat currency, ISO 4217 alpha-3. Must equal the currency of the beneficiary.'),
  idempotencyKey: described(
    IdempotencyKey,
    'Your key of this payout, 1 to 255 characters, unique among your payouts. Repeat it to retry the same payout.',
  ),
  reference: described(
    optional(Reference),
    'Text that the beneficiary reads on the statement, 1 to 140 characters. Also the transaction reference, if you have not used it before.',
  ),
  onDuplicate,
})

const quotedKey = described(
  IdempotencyKey,
  'Your key of this payout, 1 to 255 characters, unique among your payouts of this kind. Repeat it to retry the same payout.',
)
const remittance = described(
  optional(Reference),
  'Text for the beneficiary, 1 to 140 characters. Also the transaction reference, if you have not used it before.',
)

/** A payout in the currency that a quote buys. The payout accepts the quote. */
export const FxPayoutCreate = closed({
  quoteId: described(Uuid, 'The quote to accept. What it buys is paid to the beneficiary.'),
  beneficiaryId: described(Uuid, 'The beneficiary that receives the payout, in the bought currency of the quote.'),
  idempotencyKey: quotedKey,
  reference: remittance,
  onDuplicate,
})

/** The fields of a payout to preview: those of create, with an optional key. */
export const FiatPayoutPreviewCreate = closed({
  ...FiatPayoutCreate.properties,
  idempotencyKey: described(
    optional(IdempotencyKey),
    'The key that the payout would have. With it the preview says whether the key is free.',
  ),
  payOn: described(
    optional(CalendarDate),
    'Day on which a standing order would make the payout. The rule `duplicate` is judged for this day, all others for the time of the request. Absent: today.',
  ),
})

/** The amount of a payout for rules that sum all currencies. */
const ReferenceAmount = closed({
  amount: described(
    Amount,
    'Amount that leaves the balance, without the fee, in major units of `currency`, rounded up.',
  ),
  currency: described(Currency, 'The currency of the rules over all currencies.'),
  rate: described(Rate, 'Units of `currency` for one unit of the currency of the balance.'),
  rateOn: described(CalendarDate, 'The day of the rate.'),
})
const referenceAmount = described(
  optional(ReferenceAmount),
  'The amount by which the rules over all currencies have judged the payout. Absent if there are none, or no recent rate.',
)

/** An earlier payout that a payment may repeat. */
export const EarlierPayout = closed({
  id: described(Uuid, 'Identifies the payout.'),
  reference: described(Type.String(), 'Reference of its transaction.'),
  userReference: described(optional(Type.String()), 'The `reference` of its request. Absent without one.'),
  beneficiaryName: described(Type.String(), 'Name of the account holder when the payout was accepted.'),
  amount: described(Amount, 'Amount in major units of `currency`.'),
  currency: described(Currency, 'Currency of the payout, ISO 4217 alpha-3.'),
  status: described(PayoutStatus, 'Status of the payout now.'),
  createdAt: described(Timestamp, 'Time of the request.'),
  sameReference: described(
    Type.Boolean(),
    'True if both have the same reference, without case, blanks and punctuation. False: it was made within the days of the setting `DUPLICATE_PAYMENT_DAYS`.',
  ),
})
/** A standing order whose next payout a payment may repeat. */
export const ScheduledPayout = closed({
  standingOrderId: described(Uuid, 'Identifies the standing order.'),
  userReference: described(optional(Type.String()), 'The `reference` of its payouts. Absent without one.'),
  beneficiaryName: described(Type.String(), 'Name of the account holder now.'),
  amount: described(Amount, 'Amount of its payouts in major units of `currency`.'),
  currency: described(Currency, 'Currency of its payouts, ISO 4217 alpha-3.'),
  nextAttemptAt: described(Timestamp, 'When its next payout is made.'),
  createdAt: described(Timestamp, 'Time of the request.'),
  sameReference: described(
    Type.Boolean(),
    'True if both have the same reference, without case, blanks and punctuation. False: both are paid within the days of the setting `DUPLICATE_PAYMENT_DAYS`.',
  ),
})
const scheduledText =
  'Active standing orders whose next payout it may repeat, at most 10: those with the same reference first, then the next ones.'
export const EarlierPayouts = closed({
  data: described(
    Type.Array(EarlierPayout),
    'Payouts that it may repeat, at most 10: those with the same reference first, then the newest.',
  ),
  scheduled: described(Type.Array(ScheduledPayout), scheduledText),
})

export const noteCharsMax = 500
const Note = singleLine(noteCharsMax, { examples: ['Anna has checked the invoice by phone.'] })
/** A text for colleagues about a payout. */
export const PayoutNoteUpdate = closed({
  note: described(
    optional(Note),
    'Text for your colleagues, one line of 1 to 500 characters. Absent: the note is taken away.',
  ),
})
export const PayoutNote = closed({
  payoutId: described(Uuid, 'The payout.'),
  note: described(optional(Type.String()), 'Text for your colleagues. Absent: there is none.'),
  updatedBy: described(optional(Type.String()), 'Name of who wrote the note last. Absent: no one has.'),
  updatedAt: described(optional(Timestamp), 'Time of the last change. Absent: there was none.'),
})

export const ruleVerdicts = ['passed', 'warning', 'failed', 'notApplicable'] as const
export const ruleAmounts = ['limit', 'left', 'counted', 'above', 'available'] as const
const RuleAmount = closed({
  kind: described(
    oneOf(ruleAmounts),
    '`limit`: what the rule allows. `left`: what is left of it. `counted`: what the payout counts as. `above`: a payout above it needs an approval. `available`: the balance.',
  ),
  amount: described(Amount, 'Amount in major units of `currency`.'),
  currency: described(Currency, 'Currency of the amount.'),
})
const RuleVerdict = closed({
  rule: described(
    Type.String(),
    'Name of the rule: `idempotencyKey`, `duplicate`, `currency`, `connection`, `beneficiary`, `beneficiaryCurrency`, `beneficiaryAccount`, `beneficiaryBank`, `qrReference`, `requirements`, `country`. Further `customer`, `account`, `payer`, `walletOwnership`, `coolingOff`, `limits` or `limit.<scope>.<period>`, `approval`, `funds`, `reach`, `payeeCheck`. ' +
      'With exchange also `quote`, and `limit.sold.<scope>.<period>` of the sold currency. `limit.all.<scope>.<period>` counts over all currencies.',
    { examples: ['funds'] },
  ),
  verdict: described(
    oneOf(ruleVerdicts),
    '`passed`, `failed`, or `warning`: the payout would be accepted, and a person should look. `notApplicable`: the request has nothing that the rule is about, or an earlier rule has failed.',
  ),
  code: described(
    optional(Type.String()),
    'The problem code of the refusal. Of the rules `reach` and `payeeCheck` the `errorKey` that the payout would fail with. Only if the rule failed or is a warning.',
  ),
  detail: described(
    optional(Type.String()),
    'Explanation for people. The text may change. Of `requirements` that passed: what the payee will need from a later day on.',
  ),
  amounts: described(optional(Type.Array(RuleAmount)), 'The amounts that `detail` names. Absent: it names none.'),
  earlier: described(
    optional(Type.Array(EarlierPayout)),
    'The payouts that this one may repeat, at most 10. Only of the rule `duplicate`, if there are any.',
  ),
  scheduled: described(
    optional(Type.Array(ScheduledPayout)),
    `${scheduledText} Only of the rule \`duplicate\`, if there are any.`,
  ),
  hold: described(
    optional(Hold),
    'Reason for which the rule would refuse the payout or let it wait, who acts next, and what helps. Absent if the request itself is wrong.',
  ),
})
/** Outcome of a payout by rule, without creating it. */
export const FiatPayoutPreview = closed({
  accepted: described(
    Type.Boolean(),
    'True if the request would be accepted now. A payout that fails only the rule `reach` is accepted, and fails at the bank. One that fails only `payeeCheck` is accepted: another name was found earlier, and the bank checks again.',
  ),
  status: described(
    optional(PayoutStatus),
    'The status that the payout would begin with: `Pending`, or `PendingApproval` if a second person has to approve it. Absent if a rule about the request failed.',
  ),
  amount: described(Amount, 'Amount in major units of `currency`.'),
  currency: described(Currency, 'Currency of the payout, ISO 4217 alpha-3.'),
  fee: described(Amount, 'Fee of the payout in addition to its amount, in major units of `currency`.'),
  total: described(Amount, 'Amount that would be reserved from the balance: amount and fee.'),
  rail: described(
    optional(Type.String()),
    'Payment rail: `Sepa` or `Swift`. Absent if a rule about the request failed.',
  ),
  method: described(
    optional(oneOf(paymentMethods)),
    'How the payment would go. Absent if it would not, or if that is not known.',
  ),
  cutOffAt: described(
    optional(Timestamp),
    'A payout that the bank has before this time is executed on `valueDate`. Absent if there is no cut-off.',
  ),
  submitsAt: described(optional(Timestamp), 'When the bank would get the payment.'),
  valueDate: described(optional(CalendarDate), 'Day on which the bank executes the payment.'),
  arrivesOn: described(optional(CalendarDate), 'Last day on which the money arrives. Absent if that is not known.'),
  referenceAmount,
  rules: described(Type.Array(RuleVerdict), 'Every rule with its verdict, in the order in which a request is judged.'),
})

/** The fields of a payout by quote to preview: those of create, with an optional key. */
export const FxPayoutPreviewCreate = closed({
  ...FxPayoutCreate.properties,
  idempotencyKey: FiatPayoutPreviewCreate.properties.idempotencyKey,
})
/** Outcome of a payout by quote, without creating it. Its fee and total leave the balance in the sold currency. */
export const FxPayoutPreview = closed({
  ...FiatPayoutPreview.properties,
  fee: described(Amount, 'Fee of the payout in addition to the sold amount, in major units of `sellCurrency`.'),
  total: described(Amount, 'Amount that would be reserved from the balance in `sellCurrency`: sold amount and fee.'),
  sellAmount: described(Amount, 'Amount that the quote sells, with its fee, in major units of `sellCurrency`.'),
  sellCurrency: described(Currency, 'The currency that is sold, ISO 4217 alpha-3.'),
  quoteId: described(Uuid, 'The quote.'),
})

/** The transfer of a token to the wallet of a beneficiary. */
export const TokenPayoutCreate = closed({
  amount: described(
    PaymentAmount,
    'Amount in major units of `currency`: 0.01 to 10,000,000.00, at most 6 decimal digits. Reserved at once.',
    { examples: [12.5] },
  ),
  beneficiaryId: described(Uuid, 'The beneficiary whose wallet receives the payout.'),
  currency: described(Currency, 'Token: `USDC` or `EURC`. Must equal the currency of the beneficiary.', {
    examples: ['USDC'],
  }),
  idempotencyKey: described(
    IdempotencyKey,
    'Your key of this payout, 1 to 255 characters, unique among your token payouts. Repeat it to retry the same payout.',
  ),
  reference: described(
    optional(Reference),
    'Your reference, 1 to 140 characters. Also the transaction reference, if you have not used it before. The chain does not carry it.',
  ),
  onDuplicate,
})
export const TokenPayout = closed({
  amount: described(Amount, 'Amount in major units of `currency`.'),
  beneficiaryAccount: described(Type.String(), 'Address of the wallet that receives the tokens.', {
    examples: ['0x52908400098527886E0F7030069857D2E4169EE7'],
  }),
  beneficiaryName: described(Type.String(), 'Name of the beneficiary when the payout was accepted.'),
  currency: described(Currency, 'Token of the payout.', { examples: ['USDC'] }),
  idempotencyKey: described(Type.String(), 'The idempotency key of the request.'),
  reference: described(Type.String(), 'Reference of the transaction: follow it at `GET /v1/transactions/{reference}`.'),
  status: described(PayoutStatus, 'Status of the payout when the request was answered.'),
})

const documented = {
  amount: described(Amount, 'Amount in major units of `currency`.'),
  beneficiaryAccount: described(
    Type.String(),
    'IBAN that receives the money. Of an account without one its clearing system, bank and number: `GBDSC200000/55779911`, `USABA021000021/123456789`.',
    { examples: ['NL91ABNA0417164300'] },
  ),
  beneficiaryName: described(Type.String(), 'Name of the account holder when the payout was accepted.'),
  currency: described(Currency, 'Currency of the payout, ISO 4217 alpha-3.'),
  idempotencyKey: described(Type.String(), 'The idempotency key of the request.'),
  reference: described(
    Type.String(),
    'Reference of the transaction. Find the payment by it at `GET /v1/transactions/{reference}`.',
  ),
  status: described(PayoutStatus, meaningsText(payoutStatusMeanings)),
}
/** Interface document, Fiat payout: response body. */
export const FiatPayout = closed(documented)

const sold = {
  sellAmount: described(
    optional(Amount),
    'Amount that left the balance, in major units of `sellCurrency`. Only with exchange.',
  ),
  sellCurrency: described(optional(Currency), 'The currency that was sold for the payout. Only with exchange.'),
  quoteId: described(optional(Uuid), 'The quote that the payout has accepted. Only with exchange.'),
}
/** The fields of a fiat payout, and what was sold for it. */
export const FxPayout = closed({ ...documented, ...sold })

export const approvalDecisions = ['Approved', 'Rejected', 'Expired', 'Cancelled'] as const

const PayoutApproval = closed({
  decision: described(
    optional(oneOf(approvalDecisions)),
    '`Approved` and `Rejected`: by a second person. `Expired`: the time ended without a decision. `Cancelled`: the payout was cancelled ' +
      'before. Absent while the payout waits.',
  ),
  decidedBy: described(
    optional(
      closed({
        id: described(Uuid, 'Identifies the service account.'),
        name: described(Type.String(), 'Name of the service account when it decided.'),
      }),
    ),
    'Service account that approved or rejected the payout. Absent for other decisions.',
  ),
  decidedAt: described(optional(Timestamp), 'Time of the decision. Absent while the payout waits.'),
  reason: described(
    optional(Type.String()),
    'The reason of a rejection, as it was given. Absent for other decisions, and after the erasure of the customer.',
  ),
  payeeSalt: described(
    optional(Type.String()),
    'Opens the digest of the payee in the signed approval: the SHA-256 of the JSON list of this salt, `beneficiaryName` and `beneficiaryAccount`. Absent if the payout was never shown for an approval.',
  ),
})

/** The payout in get and list: the documented fields, the identifiers of related resources, and times. */
export const PayoutRecord = closed({
  id: described(Uuid, 'Identifies the payout.'),
  ...documented,
  beneficiaryAccount: described(
    Type.String(),
    'IBAN, domestic account (`GBDSC200000/55779911`) or address of the wallet that receives the money.',
  ),
  ...sold,
  userReference: described(
    optional(Type.String()),
    'The `reference` of your request, whether or not the transaction could take it. Absent without one.',
  ),
  fee: described(
    optional(Amount),
    'Fee of the payout, reserved and settled with it, in major units of `currency`. With exchange: in `sellCurrency`, in addition to the fee of the quote. Absent if there is none.',
  ),
  approvalExpiresAt: described(
    optional(Timestamp),
    'Deadline for the approval by a second person; then the payout is cancelled. Absent if it needed no approval.',
  ),
  approval: described(optional(PayoutApproval), 'State of the required approval. Absent if it needs none.'),
  referenceAmount,
  transactionHash: described(
    optional(Type.String()),
    'Hash of the blockchain transaction. Only for tokens that were sent.',
  ),
  idempotencyKey: described(
    optional(Type.String()),
    'The idempotency key of the request. Absent for a simulated withdrawal without a key.',
  ),
  beneficiaryId: described(optional(Uuid), 'The beneficiary. Absent for a simulated withdrawal.'),
  customerId: described(optional(Uuid), 'The `guid` of the customer. Absent for a payout of the partner itself.'),
  endToEndId: described(
    Type.String(),
    'End-to-end identifier in the payment message: the one of your pain.001, which may repeat, else ours, unique per payout.',
  ),
  rail: described(optional(Type.String()), 'Payment rail: `Sepa`, `Swift` or `Wallet`. Absent until one is chosen.'),
  errorKey: described(optional(Type.String()), 'Reason of the failure. Absent if the payout has not failed.'),
  createdAt: described(Timestamp, 'Time of acceptance.'),
  updatedAt: described(Timestamp, 'Time of the last change of status.'),
})
export const PayoutReject = closed({
  reason: described(singleLine(140), 'Reason for the rejection, for your own records. 1 to 140 characters.', {
    examples: ['The invoice has already been paid.'],
  }),
})
export const payoutProblem = closed({
  code: described(Type.String(), 'The code of the refusal, as `POST /v1/payouts/fiat` answers it.', {
    examples: ['insufficient_funds'],
  }),
  detail: described(Type.String(), 'Explanation of the refusal, in one sentence.'),
})
export const PayoutPage = page(PayoutRecord)
export const limitScopes = ['partner', 'customer', 'beneficiary'] as const
export const limitPeriods = ['payment', 'day', 'month'] as const
export const limitCounts = ['Currency', 'AllCurrencies'] as const

/** A limit of payouts, and how much of it is used now. */
export const PayoutLimit = closed({
  id: described(Uuid, 'Id of the limit.'),
  scope: described(
    oneOf(limitScopes),
    'Scope of the limit: payouts of the partner, of each customer or of each beneficiary.',
  ),
  customerId: described(
    optional(Uuid),
    'The `guid` of the customer that `used` and `left` are about. Absent: the limit is that of each customer.',
  ),
  beneficiaryId: described(
    optional(Uuid),
    'The beneficiary that `used` and `left` are about. Absent: the limit is that of each beneficiary.',
  ),
  verificationState: described(
    optional(oneOf(verificationStates)),
    'The limit is that of each customer in this state of its verification. Absent: of every state.',
  ),
  period: described(oneOf(limitPeriods), 'One payment, a day or a month, in UTC.'),
  currency: described(Currency, 'The currency of the amounts.'),
  counts: described(
    oneOf(limitCounts),
    '`Currency`: payouts in `currency` count. `AllCurrencies`: payouts in every currency count, by the rate of the day of their acceptance.',
  ),
  amount: described(Amount, 'The most that may be paid in a period.'),
  used: described(
    optional(Amount),
    'Amount paid in the current period. Absent: the limit applies to single payments, or to each customer or beneficiary.',
  ),
  left: described(optional(Amount), 'Amount that may still be paid in the period. Zero if the limit is below `used`.'),
  startsOn: described(optional(CalendarDate), 'First day of the period of now.'),
  resetsAt: described(optional(Timestamp), 'When the next period begins.'),
})
export const PayoutLimitPage = page(PayoutLimit)
export const PayoutLimitQuery = closed({
  ...pageQuery,
  scope: described(optional(oneOf(limitScopes)), 'Only limits of this scope.'),
  currency: described(optional(Currency), 'Only limits in this currency.'),
  customerId: described(
    optional(CustomerRef),
    'Only limits that hold for this customer, by its `guid` or `serviceId`, and those of the partner.',
  ),
  beneficiaryId: described(optional(Uuid), 'Only limits that hold for this beneficiary, and those of the partner.'),
})

export const PayoutFee = closed({
  id: described(Uuid, 'Id of the rule.'),
  currency: described(Currency, 'Payouts in this currency cost the fee.'),
  rail: described(
    optional(oneOf(rails)),
    'Payouts by this rail cost the fee. Absent: by every rail that has no rule of its own.',
  ),
  fixed: described(Amount, 'Fixed part of the fee.'),
  basisPoints: described(
    Type.Integer({ minimum: 0 }),
    'Share of the amount in hundredths of a percent, rounded up and added to `fixed`.',
  ),
  min: described(Amount, 'The least that the fee is.'),
  max: described(optional(Amount), 'The most that the fee is. Absent: there is no bound.'),
  inForce: described(Type.Boolean(), 'Whether the rule holds now. False: it begins at `validFrom`.'),
  validFrom: described(Timestamp, 'Time from which the rule applies.'),
  validUntil: described(optional(Timestamp), 'When another rule replaces it. Absent: none is set.'),
})
export const PayoutFeePage = page(PayoutFee)
export const PayoutFeeQuery = closed({
  currency: described(optional(Currency), 'Only rules of this currency.'),
})

export const PayoutQuery = closed({
  ...pageQuery,
  status: described(optional(PayoutStatus), 'Only payouts with this status.'),
  beneficiaryId: described(optional(Uuid), 'Only payouts to this beneficiary.'),
  customerId: described(optional(CustomerRef), 'Only payouts of this customer: its `guid` or its `serviceId`.'),
  currency: described(optional(Currency), 'Only payouts in this currency.'),
  reference: described(optional(Reference), 'Only payouts with this text as `userReference` or `reference`.'),
  idempotencyKey: described(optional(IdempotencyKey), 'Only the payout with this idempotency key.'),
  createdFrom: optional(timeInput('Only payouts created at or after this time')),
  createdTo: optional(timeInput('Only payouts created before this time')),
})

const { limit: _limit, cursor: _cursor, ...payoutSumFilters } = PayoutQuery.properties
export const PayoutSumsQuery = closed(payoutSumFilters)
export const PayoutSums = currencySums({
  count: 'Number of payouts.',
  amount: 'Sum of their amounts, whatever their status, in major units of `currency`.',
})
