/** Simulations, in the sandbox only. They run through the same modules and the same bank connector as real payments. */
import {
  Amount,
  Currency,
  CustomFields,
  CustomerRef,
  IdempotencyKey,
  Type,
  closed,
  oneOf,
  optional,
  text,
  nullable,
} from './shapes.ts'
import { LikelyMistake } from './problems.ts'
import { transactionStatuses } from './transactions.ts'

export const depositOutcomes = ['completed', 'failed', 'expired'] as const
export const withdrawalOutcomes = ['sent', 'completed', 'failed'] as const
export type DepositOutcome = (typeof depositOutcomes)[number]
export type WithdrawalOutcome = (typeof withdrawalOutcomes)[number]

export const SimulatedDepositCreate = closed({
  customerId: CustomerRef,
  amount: Amount,
  currency: Currency,
  outcome: oneOf(depositOutcomes),
  websiteReference: optional(nullable(text(140))),
  idempotencyKey: optional(nullable(IdempotencyKey)),
  customFields: optional(nullable(CustomFields)),
})
export const SimulatedWithdrawalCreate = closed({
  customerId: CustomerRef,
  amount: Amount,
  currency: Currency,
  outcome: oneOf(withdrawalOutcomes),
  idempotencyKey: optional(nullable(IdempotencyKey)),
})
export const Simulated = closed({
  reference: Type.String(),
  status: oneOf(transactionStatuses),
  amount: Amount,
  currency: Currency,
})

/**
 * A signed request as the partner computed it, to find out what is wrong with its signature. An empty query and an empty
 * body are values here.
 */
export const SignedRequest = closed({
  method: text(16),
  path: text(4096),
  query: optional(nullable(Type.String({ maxLength: 8192 }))),
  body: optional(nullable(Type.String({ maxLength: 32_768 }))),
  timestamp: text(64),
  nonce: text(128),
  signature: text(4096),
  canonicalString: optional(nullable(text(40_960))),
})
export const SignatureDiagnosis = closed({
  valid: Type.Boolean(),
  canonicalString: Type.String(),
  likelyMistake: optional(LikelyMistake),
  explanation: Type.String(),
})
