/** Fiat payouts. Create is documented; get and list are extensions. */
import {
  Amount,
  Currency,
  CustomerRef,
  IdempotencyKey,
  Reference,
  Timestamp,
  Type,
  Uuid,
  closed,
  oneOf,
  optional,
  page,
  pageQuery,
} from './shapes.ts'

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

/** Interface document, Fiat payout: request body. */
export const FiatPayoutCreate = closed({
  amount: Amount,
  beneficiaryId: Uuid,
  currency: Currency,
  idempotencyKey: IdempotencyKey,
  reference: optional(Reference),
})

const documented = {
  amount: Amount,
  beneficiaryAccount: Type.String(),
  beneficiaryName: Type.String(),
  currency: Currency,
  idempotencyKey: Type.String(),
  reference: Type.String(),
  status: PayoutStatus,
}
/** Interface document, Fiat payout: response body. */
export const FiatPayout = closed(documented)

/** The payout in get and list: the documented fields, the identifiers of related resources, and times. */
export const PayoutRecord = closed({
  id: Uuid,
  ...documented,
  idempotencyKey: optional(Type.String()),
  beneficiaryId: optional(Uuid),
  customerId: optional(Uuid),
  endToEndId: Type.String(),
  rail: optional(Type.String()),
  errorKey: optional(Type.String()),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})
export const PayoutPage = page(PayoutRecord)
export const PayoutQuery = closed({
  ...pageQuery,
  status: optional(PayoutStatus),
  beneficiaryId: optional(Uuid),
  customerId: optional(CustomerRef),
  currency: optional(Currency),
  reference: optional(Reference),
  idempotencyKey: optional(IdempotencyKey),
  createdFrom: optional(Timestamp),
  createdTo: optional(Timestamp),
})
