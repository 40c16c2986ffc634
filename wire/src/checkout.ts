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
} from './shapes.ts'

export const checkoutStatuses = ['Open', 'Processing', 'Completed', 'Failed', 'Expired'] as const
export type CheckoutStatus = (typeof checkoutStatuses)[number]

/** The meaning of each status, in the order of a session's life. */
const statusMeanings: Readonly<Record<CheckoutStatus, string>> = {
  Open: 'awaits the payer',
  Processing: 'the payer has begun to pay',
  Completed: 'settled; the balance is credited',
  Failed: 'the bank refused the payment, or other money came in than was expected. Final',
  Expired: 'not paid in time, or ended by you. Final',
}

/** The payment methods that a session can have. */
export const checkoutPaymentMethods = ['SepaCreditTransfer', 'SepaInstant', 'Swift'] as const

export const checkoutExpiry = { secondsMin: 300, secondsMax: 86_400, secondsDefault: 3600 } as const

const { secondsMin, secondsMax, secondsDefault } = checkoutExpiry

export const CheckoutSessionCreate = closed({
  amount: described(
    PaymentAmount,
    'Amount in major units of `currency`: 0.01 to 10,000,000.00, at most 2 decimal digits. Only this amount completes the session.',
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
    'The way back to you: an absolute https URL. The sandbox also accepts http to localhost.',
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
  expiresInSeconds: described(
    optional(nullable(Type.Integer({ minimum: secondsMin, maximum: secondsMax }))),
    `Seconds until the session expires: ${secondsMin} to ${secondsMax}. Default: ${secondsDefault}.`,
    { examples: [secondsDefault] },
  ),
})

export const CheckoutSession = closed({
  sessionId: described(Uuid, 'Identifies the session. The transaction and the events of the deposit contain it.'),
  reference: described(
    Type.String(),
    'Reference of the transaction. Find the payment by it at `GET /v1/transactions/{reference}`.',
  ),
  status: described(
    oneOf(checkoutStatuses),
    Object.entries(statusMeanings)
      .map(([status, meaning]) => `\`${status}\`: ${meaning}.`)
      .join(' '),
  ),
  url: described(
    Type.String(),
    'Address of the payment page. Send the payer there. Everyone who has the link sees the payment.',
  ),
  amount: described(Amount, 'Amount in major units of `currency`.'),
  currency: described(Currency, 'Currency of the session, ISO 4217 alpha-3.'),
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
  expiresAt: described(Timestamp, 'Time at which an unpaid session expires.'),
  createdAt: described(Timestamp, 'Time of creation.'),
})
export const CheckoutSessionPage = page(CheckoutSession)
export const CheckoutSessionQuery = closed({
  ...pageQuery,
  customerId: described(optional(CustomerRef), 'Only sessions of this customer: its `guid` or its `serviceId`.'),
  creditorReference: described(optional(Reference), 'Only the session with this creditor reference.'),
  createdFrom: optional(timeInput('Only sessions created at or after this time')),
  createdTo: optional(timeInput('Only sessions created before this time')),
})
