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
