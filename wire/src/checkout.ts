/** Checkout: sessions with a hosted page on which a payer pays. All operations are extensions. */
import {
  Amount,
  Bic,
  CountryCode,
  Currency,
  CustomFields,
  CustomerRef,
  Email,
  Iban,
  IdempotencyKey,
  PaymentAmount,
  Reference,
  Timestamp,
  timeInput,
  Type,
  Url,
  Uuid,
  closed,
  described,
  nameCharsMax,
  nullable,
  oneOf,
  optional,
  page,
  pageQuery,
  singleLine,
  text,
  colourPattern,
  meaningsText,
} from './shapes.ts'
import { PayoutStatus } from './payouts.ts'
import { currencySums } from './transactions.ts'

export const checkoutStatuses = ['Open', 'Processing', 'Completed', 'Failed', 'Expired'] as const
export type CheckoutStatus = (typeof checkoutStatuses)[number]

/** The meaning of each status, in the order of a session's life. */
const statusMeanings: Readonly<Record<CheckoutStatus, string>> = {
  Open: 'awaits the payer, or the rest of the money',
  Processing: 'the payer has begun to pay',
  Completed: 'settled; the balance is credited',
  Failed: 'the bank refused the payment, or other money came in than was expected. Final',
  Expired: 'not paid in time, or ended by you. Final',
}

/** The payment methods that a session can have. */
export const checkoutPaymentMethods = ['SepaCreditTransfer', 'SepaInstant', 'Swift'] as const

/** A session expires after five minutes to 30 days: an ordinary transfer arrives on the next business day. */
export const checkoutExpiry = { secondsMin: 300, secondsMax: 2_592_000, secondsDefault: 3600 } as const

const { secondsMin, secondsMax, secondsDefault } = checkoutExpiry

/** Maximum number of line items of a session. */
export const lineItemsMax = 100

export const descriptionCharsMax = 255
const quantityMax = 99_999

const LineItem = closed({
  name: described(singleLine(nameCharsMax), 'Name of the item.', { examples: ['Espresso beans, 1 kg'] }),
  quantity: described(Type.Integer({ minimum: 1, maximum: quantityMax }), 'Number of pieces.', { examples: [2] }),
  amount: described(
    PaymentAmount,
    'Amount of the whole line, not of one piece, in major units of the currency of the session.',
    { examples: [49.9] },
  ),
})
export const CheckoutSessionCreate = closed({
  amount: described(
    PaymentAmount,
    'Amount in major units of `currency`: 0.01 to 10,000,000.00, at most 2 decimal digits. Only this amount completes the session, in one payment or in parts (`partialPayments`).',
    { examples: [49.9] },
  ),
  currency: described(Currency, 'Fiat currency, ISO 4217 alpha-3.'),
  idempotencyKey: described(
    IdempotencyKey,
    'Your key of this session, 1 to 255 characters, unique among your sessions. Repeat it to retry the same session.',
    { examples: ['order-2026-0042'] },
  ),
  customerId: described(
    optional(CustomerRef),
    'The customer: its `guid` or its `serviceId`. Without it, `customer` is required.',
  ),
  customer: optional(
    described(
      closed({
        email: described(Email, 'Email address. The oldest customer that has it, in any case of letters, is taken.'),
        fullName: described(
          optional(singleLine(nameCharsMax)),
          'Full name of a new customer. An existing customer keeps its name.',
        ),
        residenceCountryCode: described(
          optional(CountryCode),
          'Country of residence, ISO 3166-1 alpha-2. The payment page proposes the banks of this country.',
          { examples: ['DE'] },
        ),
      }),
      'The customer by email, who is created if there is none. Without it, `customerId` is required.',
    ),
  ),
  paymentCountryCode: described(
    optional(nullable(CountryCode)),
    'Country of the bank that pays, ISO 3166-1 alpha-2. Without it, the payer chooses.',
    { examples: ['DE'] },
  ),
  paymentMethod: described(
    optional(nullable(oneOf(checkoutPaymentMethods))),
    'How the payer pays. `SepaCreditTransfer` (default) or `SepaInstant` in euros, `Swift` in other currencies.',
  ),
  returnUrl: described(
    optional(nullable(Url)),
    'URL to which the payer returns: an absolute https URL. The sandbox also accepts http to localhost. The page adds `sessionId` to its query, and redirects the payer a few seconds after the payment.',
    { examples: ['https://shop.example.com/orders/42'] },
  ),
  websiteReference: described(
    optional(nullable(text(140))),
    'Your own reference. The transaction and the events of the deposit contain it.',
    { examples: ['order-1001'] },
  ),
  customFields: described(
    optional(nullable(CustomFields)),
    'A JSON object of at most 4096 bytes. The events of the deposit return it unchanged.',
    { examples: [{ order: 'A-1' }] },
  ),
  description: described(
    optional(nullable(singleLine(descriptionCharsMax))),
    'Purpose of the payment, for the payer. The payment page and the receipt show it.',
    { examples: ['Order 42'] },
  ),
  lineItems: described(
    optional(nullable(Type.Array(LineItem, { minItems: 1, maxItems: lineItemsMax }))),
    'Items that make the sum. Their amounts add up to `amount`. The payment page and the receipt show them.',
  ),
  partialPayments: described(
    optional(Type.Boolean()),
    'True: payments add up until their sum is `amount`. Default: false, so that only one payment of exactly `amount` completes the session.',
  ),
  expiresInSeconds: described(
    optional(nullable(Type.Integer({ minimum: secondsMin, maximum: secondsMax }))),
    `Seconds until the session expires: ${secondsMin} to ${secondsMax} (30 days). Default: ${secondsDefault}. The money must have arrived by then, and an ordinary bank transfer takes until the next business day.`,
    { examples: [secondsDefault] },
  ),
  expiresAt: optional(
    nullable(
      timeInput(
        'Time at which the session expires, instead of `expiresInSeconds`. At least 5 minutes and at most 30 days ahead',
      ),
    ),
  ),
})

/** Largest number of parts in a session. Further money goes to suspense. */
export const checkoutPartsMax = 50

export const checkoutPartStatuses = ['Held', 'Credited', 'Suspended', 'Reversed'] as const
export type CheckoutPartStatus = (typeof checkoutPartStatuses)[number]

const CheckoutPart = closed({
  partId: described(Uuid, 'Identifies the part. A refund names it.'),
  amount: described(Amount, 'Amount in major units of the currency of the session, without a surplus.'),
  status: described(
    oneOf(checkoutPartStatuses),
    '`Held`: waits for the rest, and is not in your balance. `Credited`: in your balance. `Suspended`: the session ended without the rest, and the operator decides. `Reversed`: the bank took it back.',
  ),
  debtorName: described(optional(Type.String()), 'Name of the payer. Absent if unknown or erased.'),
  receivedAt: described(Timestamp, 'Time of arrival.'),
})

export const latePaymentReasons = ['AfterEnd', 'SecondPayment', 'OtherAmount', 'Surplus', 'Incomplete'] as const
export type LatePaymentReason = (typeof latePaymentReasons)[number]

export const latePaymentStatuses = ['Waiting', 'Accepted', 'Returning', 'Returned', 'WithOperator', 'Decided'] as const
export type LatePaymentStatus = (typeof latePaymentStatuses)[number]

export const LatePayment = closed({
  latePaymentId: described(Uuid, 'Identifies the late payment.'),
  amount: described(Amount, 'Amount in major units of `currency`.'),
  currency: described(Currency, 'Currency of the money, ISO 4217 alpha-3.'),
  reason: described(
    oneOf(latePaymentReasons),
    'Reason why the money did not match the session. `AfterEnd`: the session had ended. `SecondPayment`: it was paid already. `OtherAmount`: another amount or currency was expected. `Surplus`: parts added up to more. `Incomplete`: a part of a session that ended without the rest.',
  ),
  status: described(
    oneOf(latePaymentStatuses),
    '`Waiting`: you may accept or return it until `chooseBy`. `Accepted`: it is a payment of its own. `Returning`, `Returned`: it goes or went back to the account that paid. `WithOperator`: the operator decides. `Decided`: the operator has decided otherwise.',
  ),
  debtorName: described(optional(Type.String()), 'Name of the payer. Absent if unknown or erased.'),
  receivedAt: described(Timestamp, 'Time of arrival.'),
  chooseBy: described(Timestamp, 'Time until which you may choose. Then the operator decides.'),
  chosenAt: described(optional(Timestamp), 'Time of your choice. Absent without one.'),
  acceptedReference: described(
    optional(Type.String()),
    'Reference of the transaction of accepted money. It completes like each payment: a check may hold it.',
  ),
  refundedAmount: described(
    optional(Amount),
    'Sum of the refunds of accepted money that are made or on their way, in major units of `currency`. Absent unless `status` is `Accepted`.',
  ),
})

export const CheckoutSession = closed({
  sessionId: described(Uuid, 'Identifies the session. The transaction and the events of the deposit contain it.'),
  reference: described(
    Type.String(),
    'Reference of the transaction. Find the payment by it at `GET /v1/transactions/{reference}`.',
  ),
  status: described(oneOf(checkoutStatuses), meaningsText(statusMeanings)),
  url: described(
    Type.String(),
    'Address of the payment page. Send the payer there. Everyone who has the link sees the payment.',
  ),
  amount: described(Amount, 'Amount in major units of `currency`.'),
  currency: described(Currency, 'Currency of the session, ISO 4217 alpha-3.'),
  refundedAmount: described(
    Amount,
    'Sum of the refunds that are made or on their way, in major units of `currency`. 0 without one. Refunds of late payments count in `latePayments` alone.',
  ),
  paidAmount: described(
    Amount,
    'Sum of the payments that count, in major units of `currency`. Money that the bank has taken back does not count, nor do parts in suspense.',
  ),
  remainingAmount: described(
    Amount,
    'Amount that is still to be paid, in major units of `currency`. 0 once the session has ended.',
  ),
  partialPayments: described(Type.Boolean(), 'True if payments add up to `amount`.'),
  parts: described(
    optional(Type.Array(CheckoutPart)),
    `Received parts, oldest first, at most ${checkoutPartsMax}. Absent without \`partialPayments\`.`,
  ),
  customerId: described(Uuid, 'The `guid` of the customer.'),
  iban: described(Iban, 'IBAN of the customer, to which the payer pays.'),
  bic: described(optional(Bic), 'BIC of the bank of the IBAN. Absent if the service does not know it.'),
  sortCode: described(
    optional(Type.String({ pattern: '^\\d{6}$' })),
    'Sort code of the account, six digits. Only in pounds to a British IBAN.',
    { examples: ['200000'] },
  ),
  accountNumber: described(
    optional(Type.String({ pattern: '^\\d{8}$' })),
    'Account number, eight digits. Only in pounds to a British IBAN.',
    { examples: ['55779911'] },
  ),
  creditorReference: described(
    Type.String(),
    'Creditor reference (ISO 11649) that the payer states. It identifies the session.',
    { examples: ['RF18539007547034'] },
  ),
  description: described(
    optional(Type.String()),
    'Purpose of the payment, for the payer. Absent: you gave none, or the customer was erased.',
  ),
  lineItems: described(optional(Type.Array(LineItem)), 'Line items, as you gave them. Absent as `description`.'),
  websiteReference: described(
    optional(Type.String()),
    'Your own reference, such as an order number. Absent without one.',
  ),
  payerName: described(
    optional(Type.String()),
    'Name of the payer: as the bank named it with the payment; before that, as the payer typed it, or the name of the customer. Absent if unknown or erased.',
  ),
  payerEmail: described(
    optional(Type.String()),
    'Email address that the payer of a payment link has typed. It is not verified. Absent without one, or erased.',
  ),
  linkId: described(optional(Uuid), 'The payment link by which the payer opened the session. Absent without one.'),
  latePayments: described(
    optional(Type.Array(LatePayment)),
    'Money that did not match the session, oldest first. Absent if there is none.',
  ),
  expiresAt: described(Timestamp, 'Time at which an unpaid session expires.'),
  createdAt: described(Timestamp, 'Time of creation.'),
})
export const CheckoutSessionPage = page(CheckoutSession)
export const CheckoutSessionQuery = closed({
  ...pageQuery,
  customerId: described(optional(CustomerRef), 'Only sessions of this customer: its `guid` or its `serviceId`.'),
  creditorReference: described(optional(Reference), 'Only the session with this creditor reference.'),
  linkId: described(optional(Uuid), 'Only sessions that payers opened by this payment link.'),
  status: described(optional(oneOf(checkoutStatuses)), 'Only sessions with this status.'),
  hasLatePayments: described(
    optional(oneOf(['true', 'false'] as const)),
    '`true`: only sessions with late payments, decided or not. `false`: only sessions without late payments.',
  ),
  createdFrom: optional(timeInput('Only sessions created at or after this time')),
  createdTo: optional(timeInput('Only sessions created before this time')),
})
const { limit: _limit, cursor: _cursor, ...sessionSumFilters } = CheckoutSessionQuery.properties
export const CheckoutSessionSumsQuery = closed(sessionSumFilters)
export const CheckoutSessionSums = currencySums({
  count: 'Number of sessions.',
  amount: 'Sum of their amounts, whatever was paid, in major units of `currency`.',
})

export const CheckoutRefundCreate = closed({
  amount: described(
    PaymentAmount,
    'Amount in major units of the currency of the session. At most what is not refunded yet of the payment, of the part, or of the late payment.',
    { examples: [9.9] },
  ),
  partId: described(
    optional(nullable(Uuid)),
    'The part that goes back, to the account that paid it. Required if several parts paid the session.',
  ),
  latePaymentId: described(
    optional(nullable(Uuid)),
    'The accepted late payment that goes back, instead of the payment of the session. Not together with `partId`.',
  ),
  idempotencyKey: described(
    IdempotencyKey,
    'Your key of this refund, 1 to 255 characters, unique among your refunds. Repeat it to retry the same refund.',
    { examples: ['refund-2026-0042'] },
  ),
  reference: described(
    optional(nullable(Reference)),
    'Text on the statement of the payer, 1 to 140 characters. It becomes the reference of the transaction if it is free.',
    { examples: ['Refund of order 42'] },
  ),
  reason: described(
    optional(nullable(singleLine(descriptionCharsMax))),
    'Your reason, for your own records. The payer does not see it.',
    { examples: ['One item was damaged.'] },
  ),
})
export const CheckoutRefund = closed({
  refundId: described(Uuid, 'Identifies the refund. It is the `id` of its payout.'),
  sessionId: described(Uuid, 'The refunded session.'),
  partId: described(optional(Uuid), 'The refunded part. Absent if the session takes one payment.'),
  latePaymentId: described(
    optional(Uuid),
    'The refunded late payment. Absent if the refund is one of the payment of the session.',
  ),
  reference: described(
    Type.String(),
    'Reference of the transaction of the refund. `GET /v1/transactions/{reference}/related` leads to the payment.',
  ),
  userReference: described(optional(Type.String()), 'The `reference` of your request. Absent without one.'),
  amount: described(Amount, 'Amount in major units of `currency`.'),
  currency: described(Currency, 'Currency of the session, ISO 4217 alpha-3.'),
  status: described(
    PayoutStatus,
    'Status of the payout of the refund. `Completed`: the money has left. `Failed`, `Returned` and `Cancelled`: the amount can be refunded again.',
  ),
  reason: described(optional(Type.String()), 'Your reason. Absent: you gave none, or the customer was erased.'),
  errorKey: described(optional(Type.String()), 'Key of the reason why the payout failed. Absent if it did not.'),
  createdAt: described(Timestamp, 'Time of creation.'),
  updatedAt: described(Timestamp, 'Time of the last change of status.'),
})
export const CheckoutRefundPage = page(CheckoutRefund)
export const CheckoutRefundQuery = closed(pageQuery)

const Colour = Type.String({ pattern: colourPattern, examples: ['#7a1f3d'] })
/** Base64 of a logo of 64 KiB. */
const logoCharsMax = 87_384
const logoText = 'a PNG, or an SVG of plain shapes, of at most 64 KiB and 1,000,000 pixels'
const colourText =
  'Buttons and links of the payment page have it. Its contrast on the ground of the page is at least 4.5 (WCAG 2.2)'

export const CheckoutBrandingUpdate = closed({
  name: described(
    optional(nullable(singleLine(nameCharsMax))),
    'Name that payers see instead of that of the partner. The account holder stays as it is.',
    { examples: ['Grace Coffee'] },
  ),
  accentColour: described(optional(nullable(Colour)), `Accent colour of the light theme. ${colourText}.`),
  accentColourDark: described(
    optional(nullable(Colour)),
    'Accent colour of the dark theme. Null, and never set: derived from `accentColour`.',
    { examples: ['#f0a3bd'] },
  ),
  logo: described(
    optional(nullable(Type.String({ minLength: 1, maxLength: logoCharsMax }))),
    `Logo in Base64: ${logoText}.`,
  ),
})
export const CheckoutBranding = closed({
  name: described(optional(Type.String()), 'Name that payers see. Absent: that of the partner.'),
  accentColour: described(
    optional(Type.String()),
    'Accent colour of the light theme. Absent: that of the installation.',
  ),
  accentColourDark: described(optional(Type.String()), 'Accent colour of the dark theme. Absent: derived.'),
  logo: optional(
    described(
      closed({
        type: described(oneOf(['image/png', 'image/svg+xml'] as const), 'Media type, by the bytes.'),
        data: described(Type.String(), 'The bytes in Base64.'),
      }),
      'Logo. Absent: none.',
    ),
  ),
})

/** Maximum number of open sessions of one link, and of one link and client address. */
export const linkSessionsOpenMax = 500
export const linkSessionsOfAddressMax = 10
/** Three days: a bank transfer arrives on the next business day, and a weekend may come first. */
export const linkSessionSecondsDefault = 259_200
const paymentsMaxMax = 1_000_000

const linkFields = {
  description: described(
    optional(nullable(singleLine(descriptionCharsMax))),
    'Purpose of the payments, for the payer. The page of the link and the payment page show it.',
    { examples: ['Ticket for the summer concert'] },
  ),
  endsAt: described(
    optional(
      nullable(timeInput('Time from which the link no longer opens sessions. Without it, the link does not end')),
    ),
    'Time from which the link no longer opens sessions. Without it, the link does not end. An RFC 3339 time in UTC.',
  ),
  paymentsMax: described(
    optional(nullable(Type.Integer({ minimum: 1, maximum: paymentsMaxMax }))),
    'Largest number of payments, completed or in progress. Without it, there is no limit.',
    { examples: [100] },
  ),
}
export const PaymentLinkCreate = closed({
  customerId: described(CustomerRef, 'The customer whose account the payers pay to: its `guid` or its `serviceId`.'),
  currency: described(Currency, 'Fiat currency, ISO 4217 alpha-3.'),
  amount: described(
    optional(nullable(PaymentAmount)),
    'Amount of each payment in major units of `currency`. Without it, the payer enters the amount.',
    { examples: [25] },
  ),
  amountMin: described(
    optional(nullable(PaymentAmount)),
    'Smallest amount that a payer may enter. Default: 0.01. Only without `amount`.',
  ),
  amountMax: described(
    optional(nullable(PaymentAmount)),
    'Largest amount that a payer may enter. Default: 10,000,000.00. Only without `amount`.',
  ),
  lineItems: described(
    optional(nullable(Type.Array(LineItem, { minItems: 1, maxItems: lineItemsMax }))),
    'Items that make the sum. Their amounts add up to `amount`, which is then required.',
  ),
  websiteReference: described(
    optional(nullable(text(140))),
    'Your own reference. The transactions and the events of all payments contain it.',
    { examples: ['concert-2026'] },
  ),
  customFields: described(
    optional(nullable(CustomFields)),
    'A JSON object. The events of the deposits return it, with `linkId` added.',
    { examples: [{ event: 'concert-2026' }] },
  ),
  returnUrl: described(optional(nullable(Url)), 'URL to which the payer returns, as in a checkout session.', {
    examples: ['https://shop.example.com/thanks'],
  }),
  sessionExpiresInSeconds: described(
    optional(nullable(Type.Integer({ minimum: secondsMin, maximum: secondsMax }))),
    `Seconds that a payer has from opening a session: ${secondsMin} to ${secondsMax}. Default: ${linkSessionSecondsDefault} (3 days).`,
    { examples: [linkSessionSecondsDefault] },
  ),
  ...linkFields,
})
export const PaymentLinkUpdate = closed({
  active: described(
    optional(Type.Boolean()),
    'False: the link no longer opens sessions. Open sessions can still be paid.',
    {
      examples: [false],
    },
  ),
  ...linkFields,
})
export const PaymentLink = closed({
  linkId: described(Uuid, 'Identifies the payment link. Its sessions and their events contain it.'),
  url: described(Type.String(), 'Address of the link. Publish it: each payer who opens it gets a session.'),
  active: described(Type.Boolean(), 'False: the link no longer opens sessions.'),
  customerId: described(Uuid, 'The `guid` of the customer whose account the payers pay to.'),
  currency: described(Currency, 'Currency, ISO 4217 alpha-3.'),
  amount: described(optional(Amount), 'Amount of each payment in major units. Absent: the payer enters it.'),
  amountMin: described(optional(Amount), 'Smallest amount that a payer may enter. Absent with `amount`.'),
  amountMax: described(optional(Amount), 'Largest amount that a payer may enter. Absent with `amount`.'),
  description: described(optional(Type.String()), 'Purpose of the payments. Absent: none, or the customer was erased.'),
  lineItems: described(optional(Type.Array(LineItem)), 'Line items, as you gave them. Absent as `description`.'),
  websiteReference: described(optional(Type.String()), 'Your own reference. Absent without one.'),
  returnUrl: described(optional(Type.String()), 'URL to which the payer returns. Absent if there is none.'),
  sessionExpiresInSeconds: described(Type.Integer(), 'Seconds that a payer has from opening a session.'),
  endsAt: described(
    optional(Timestamp),
    'Time from which the link no longer opens sessions. Absent if the link does not end.',
  ),
  paymentsMax: described(optional(Type.Integer()), 'Largest number of payments. Absent: there is no limit.'),
  paymentsMade: described(Type.Integer(), 'Number of payments that were completed.'),
  paymentsOpen: described(Type.Integer(), 'Number of sessions that payers have opened and that have not ended.'),
  createdAt: described(Timestamp, 'Time of creation.'),
  updatedAt: described(Timestamp, 'Time of the last change by you.'),
})
export const PaymentLinkPage = page(PaymentLink)
export const PaymentLinkQuery = closed({
  ...pageQuery,
  active: described(optional(oneOf(['true', 'false'] as const)), 'Only links that are active, or that are not.'),
})
