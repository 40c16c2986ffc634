/** The contract of the API. Operation groups are namespaces: `wire.payouts.FiatPayout`. */
export * as accounts from './accounts.ts'
export * as beneficiaries from './beneficiaries.ts'
export * as bulkPayouts from './bulk-payouts.ts'
export * as checkout from './checkout.ts'
export * as customers from './customers.ts'
export * as fx from './fx.ts'
export * as guestLinks from './guest-links.ts'
export * as monitors from './monitors.ts'
export * as payouts from './payouts.ts'
export * as requests from './requests.ts'
export * as reports from './reports.ts'
export * as simulations from './simulations.ts'
export * as identity from './identity.ts'
export * as recalls from './recalls.ts'
export * as standingOrders from './standing-orders.ts'
export * as transactions from './transactions.ts'
export * from './approvals.ts'
export * from './merkle.ts'
export * from './audit-proof.ts'
export * as serviceAccounts from './service-accounts.ts'
export * as users from './users.ts'
export * as wallets from './wallets.ts'
export * as webhooks from './webhooks.ts'
export * from './decimal.ts'
export * from './events.ts'
export * from './foreign.ts'
export * from './operations.ts'
export * from './problems.ts'
export * from './problem-shape.ts'
export * from './refusals.ts'
export * from './roles.ts'
export * from './shapes.ts'
export * from './signature-mistakes.ts'
export * from './signing.ts'
export {
  reportKinds,
  reportMatrix,
  reportMediaTypes,
  type ReportFormat,
  type ReportFrequency,
  type ReportKind,
  type ReportStatus,
} from './reports.ts'
export { type RecordKind, recordKinds } from './audit.ts'
export { sumRowsMax } from './transactions.ts'
export { type ErasureState, kycFields } from './customers.ts'
export {
  type Capability,
  type CapabilityReason,
  capabilities,
  type FieldState,
  type VerificationCode,
  type VerificationState,
  verificationCodes,
  verificationStates,
} from './verification.ts'
export type { AccountType, NotPossibleReason, PayeeAddress } from './beneficiaries.ts'
export type { CheckoutPartStatus, CheckoutStatus, LatePaymentReason, LatePaymentStatus } from './checkout.ts'
export type { CheckoutOutcome, DepositOutcome, WithdrawalOutcome } from './simulations.ts'
export type {
  ErrorKey,
  PartyType,
  Rail,
  TimelineStep,
  TransactionCategory,
  TimelineActor,
  TransactionDirection,
  TransactionRelation,
  TransactionMethod,
  TransactionStatus,
  TransactionType,
} from './transactions.ts'
export type { InvitationStatus, Role } from './users.ts'
