/** Simulations, in the sandbox only. They run through the same modules and the same bank connector as real payments. */
import {
  Amount,
  CountryCode,
  Currency,
  CustomFields,
  CustomerRef,
  IdempotencyKey,
  PaymentAmount,
  Type,
  Uuid,
  closed,
  described,
  oneOf,
  optional,
  singleLine,
  text,
  nullable,
} from './shapes.ts'
import { eventNames } from './events.ts'
import { LikelyMistake } from './problem-shape.ts'
import { transactionStatuses } from './transactions.ts'

export const depositOutcomes = ['completed', 'failed', 'expired'] as const
export const withdrawalOutcomes = ['sent', 'completed', 'failed'] as const
export type DepositOutcome = (typeof depositOutcomes)[number]
export type WithdrawalOutcome = (typeof withdrawalOutcomes)[number]

const amountText = 'Amount in major units of `currency`: 0.01 to 10,000,000.00, at most 2 decimal digits.'
const keyText = 'Your key of this simulation, 1 to 255 characters. Without it, a repeated request simulates again.'
const customerText = 'The `guid` or the `serviceId` of the customer.'

export const SimulatedDepositCreate = closed({
  customerId: described(CustomerRef, customerText),
  amount: described(PaymentAmount, amountText, { examples: [100] }),
  currency: described(Currency, 'Currency of the deposit, ISO 4217 alpha-3.'),
  outcome: described(
    oneOf(depositOutcomes),
    '`completed`: the balance is credited. `failed`: the bank refuses the payment. `expired`: it is not funded in time.',
  ),
  websiteReference: described(
    optional(nullable(text(140))),
    'Your own reference. The transaction and the events of the deposit contain it.',
    { examples: ['order-1001'] },
  ),
  idempotencyKey: described(optional(nullable(IdempotencyKey)), keyText),
  customFields: described(
    optional(nullable(CustomFields)),
    'A JSON object of at most 4096 bytes. The events of the deposit return it unchanged.',
    { examples: [{ order: 'A-1' }] },
  ),
})
export const SimulatedWithdrawalCreate = closed({
  customerId: described(CustomerRef, customerText),
  amount: described(PaymentAmount, `${amountText} Reserved at once.`, { examples: [25] }),
  currency: described(Currency, 'Currency of the withdrawal, ISO 4217 alpha-3.'),
  outcome: described(
    oneOf(withdrawalOutcomes),
    '`sent`: the bank accepts the payment and never settles it. `completed`: it settles. `failed`: the bank rejects it.',
  ),
  idempotencyKey: described(optional(nullable(IdempotencyKey)), keyText),
})

export const checkoutOutcomes = ['completed', 'failed', 'expired', 'abandoned'] as const
export const checkoutSteps = ['initiate', 'submit', 'accept', 'settle', 'fail', 'credit', 'reverse'] as const
export type CheckoutOutcome = (typeof checkoutOutcomes)[number]

export const SimulatedCheckoutSession = closed({
  outcome: described(
    optional(oneOf(checkoutOutcomes)),
    '`completed`: the payer pays. `failed`: the bank refuses the payment. `expired`: the session expires now. ' +
      '`abandoned`: the payer begins and goes away. Either `outcome` or `step` is required.',
    { examples: ['completed'] },
  ),
  step: described(
    optional(oneOf(checkoutSteps)),
    'One step. `initiate`: the payer begins. `submit`: the bank of the payer has the payment. `accept`: the bank names ' +
      'the debtor. `settle`: it has booked the money. `fail`: it refuses the payment. `credit`: money arrives with the ' +
      'creditor reference of the session, without the steps before. `reverse`: the bank takes the credit back, or the last part, or of a session without a credit the late payment that was accepted last.',
  ),
  amount: described(
    optional(PaymentAmount),
    'Amount of `settle` and `credit`, in major units. Default: what remains of the session.',
    { examples: [49.9] },
  ),
  currency: described(optional(Currency), 'Currency of `settle` and `credit`. Default: the currency of the session.', {
    examples: ['EUR'],
  }),
  debtorName: described(optional(singleLine(70)), 'Name of the debtor. Default: `Sandbox Payer`.', {
    examples: ['Ada Lovelace'],
  }),
  countryCode: described(optional(CountryCode), 'Country of the bank of the payer. Default: `DE`.', {
    examples: ['DE'],
  }),
})

export const Simulated = closed({
  reference: described(Type.String(), 'Reference of the transaction: follow it at `GET /v1/transactions/{reference}`.'),
  status: described(oneOf(transactionStatuses), 'Status of the transaction when the request was answered.'),
  amount: described(Amount, 'Amount in major units of `currency`.'),
  currency: described(Currency, 'Currency of the transaction.'),
})

/** An unannounced transfer to an IBAN of one of the partner's customers. */
export const SimulatedCreditCreate = closed({
  iban: described(text(34), 'An IBAN of one of your customers, which is credited.'),
  amount: described(PaymentAmount, amountText, { examples: [100] }),
  currency: described(Currency, 'Currency of the transfer, ISO 4217 alpha-3.'),
  debtorName: described(optional(nullable(text(140))), 'Name of the payer. Default: `Sandbox Payer`.'),
  remittance: described(
    optional(nullable(text(140))),
    'Remittance text of the payer. A creditor reference (ISO 11649) of a checkout session pays that session.',
    { examples: ['RF18 5390 0754 7034'] },
  ),
})
export const SimulatedCredit = closed({
  creditId: described(Uuid, 'Identifies the credit at the sandbox bank. Reverse it by this id.'),
  amount: described(Amount, 'Amount in major units of `currency`.'),
  currency: described(Currency, 'Currency of the credit.'),
})

export const SimulatedEventCreate = closed({
  eventType: described(oneOf(eventNames), 'The event to send.', { examples: ['partner.customer.deposit.completed'] }),
})
export const SimulatedEvent = closed({
  eventType: described(Type.String(), 'The event.'),
  reference: described(Type.String(), 'The `reference` in its data. It does not refer to a transaction.'),
})

export const simulatedBlocksMax = 64

export const SimulatedWalletDepositCreate = closed({
  amount: described(PaymentAmount, 'Amount in major units of the token of the wallet, at most 6 decimal digits.', {
    examples: [250],
  }),
  from: described(
    optional(text(42)),
    'Address of the payer. Default: an address of which only this transfer is known.',
    {
      examples: ['0x52908400098527886E0F7030069857D2E4169EE7'],
    },
  ),
  confirmations: described(
    optional(Type.Integer({ minimum: 0, maximum: simulatedBlocksMax })),
    'Blocks that are made at once, the first of them with the transfer. Default 0: the next block takes it.',
  ),
})
export const SimulatedWalletDeposit = closed({
  transactionHash: described(Type.String(), 'Hash of the transaction on the simulated chain.', {
    examples: ['0x9b1f3c52a6d0e4877c1b2f5a3e8d9046b7c1d2e3f4a5968778695a4b3c2d1e0f'],
  }),
})
export const SimulatedReorganisationCreate = closed({
  depth: described(
    Type.Integer({ minimum: 1, maximum: simulatedBlocksMax }),
    'Number of the newest blocks that are replaced. From 3 on, deposits that were credited are taken back.',
    { examples: [4] },
  ),
})
export const SimulatedReorganisation = closed({
  head: described(Type.Integer(), 'Number of the newest block afterwards.'),
  vanished: described(
    Type.Array(Type.String()),
    'Hashes of the deposits that vanished: those that you simulated in the replaced blocks.',
  ),
})
export const SimulatedBlocksCreate = closed({
  count: described(Type.Integer({ minimum: 1, maximum: simulatedBlocksMax }), 'Number of blocks to make at once.', {
    examples: [3],
  }),
})
export const SimulatedBlocks = closed({
  head: described(Type.Integer(), 'Number of the newest block afterwards.'),
})

/**
 * A signed request as the partner computed it, to find out what is wrong with its signature. An empty query and an empty
 * body are values here.
 */
export const SignedRequest = closed({
  method: described(text(16), 'HTTP method of the request.', { examples: ['POST'] }),
  path: described(text(4096), 'Path of the request, as sent.', { examples: ['/v1/payouts/fiat'] }),
  query: described(
    optional(nullable(Type.String({ maxLength: 8192 }))),
    'Query string without `?`. Empty without one.',
  ),
  body: described(optional(nullable(Type.String({ maxLength: 32_768 }))), 'Body as sent, as text. Empty without one.'),
  timestamp: described(text(64), 'Value of the header `Timestamp`: Unix time in seconds.', {
    examples: ['1767225600'],
  }),
  nonce: described(text(128), 'Value of the header `Nonce`.', { examples: ['019aa8c4-6e4f-7a12-8d3e-2b1c5f7a9e10'] }),
  signature: described(text(4096), 'Value of the header `Signature`: Base64 of the RSA signature.'),
  canonicalString: described(
    optional(nullable(text(40_960))),
    'The canonical string that you signed. With it the answer can name the first difference.',
  ),
})
export const SignatureDiagnosis = closed({
  valid: described(Type.Boolean(), 'True if the signature is valid for the request.'),
  canonicalString: described(Type.String(), 'The canonical string that the service computed.'),
  likelyMistake: described(
    optional(LikelyMistake),
    'The mistake that explains the refused signature. Absent if the service knows none.',
  ),
  explanation: described(Type.String(), 'Explanation of the mistake and its remedy, for people. The text may change.'),
})
