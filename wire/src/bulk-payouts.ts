/** Many payouts in one request. All of it is an extension. */
import { FiatPayoutCreate } from './payouts.ts'
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
  described,
  oneOf,
  optional,
  page,
  pageQuery,
} from './shapes.ts'

export const bulkPayoutsMax = 1000

export const bulkModes = ['AllOrNothing', 'BestEffort'] as const
const BulkMode = described(
  oneOf(bulkModes),
  '`AllOrNothing`: all payouts are made in one database transaction, or none is. `BestEffort`: each payout is made or refused alone.',
)
export const bulkStatuses = ['Processing', 'Completed', 'Refused'] as const
const BulkStatus = described(
  oneOf(bulkStatuses),
  '`Processing`: not every payout has its result. `Completed`: every one has. `Refused`: `AllOrNothing`, and no payout was made.',
)
export const bulkItemStatuses = ['Processing', 'Accepted', 'Refused', 'NotMade'] as const
const BulkItemStatus = described(
  oneOf(bulkItemStatuses),
  '`Accepted`: the payout is made, and its money is reserved. `Refused`: `problem` says why. `NotMade`: another payout of the bulk was refused.',
)

export const BulkPayoutCreate = closed({
  mode: BulkMode,
  idempotencyKey: described(
    IdempotencyKey,
    'Your key of this bulk, 1 to 255 characters, unique among your bulks. Repeat it to retry the same bulk.',
  ),
  payouts: described(
    Type.Array(FiatPayoutCreate, { minItems: 1, maxItems: bulkPayoutsMax }),
    'Payouts: 1 to 1,000, each as `POST /v1/payouts/fiat` takes it. The whole body has at most 256 KiB. Their idempotency keys differ.',
  ),
})

export const BulkPayoutFileCreate = closed({
  mode: BulkMode,
  idempotencyKey: described(
    IdempotencyKey,
    'Your key of this bulk, 1 to 255 characters, unique among your bulks. Repeat it to retry the same bulk.',
  ),
  customerId: described(
    optional(CustomerRef),
    'The customer whose beneficiaries the file names: its `guid` or its `serviceId`. Absent: your own beneficiaries.',
  ),
  document: described(
    Type.String({ minLength: 1 }),
    'The text of a pain.001.001.09 or .03 with at most 1,000 payments. The whole body has at most 256 KiB.',
  ),
})

export const BulkPayout = closed({
  id: described(Uuid, 'Identifies the bulk.'),
  mode: BulkMode,
  status: BulkStatus,
  idempotencyKey: described(Type.String(), 'The idempotency key of the request.'),
  payouts: described(Type.Integer(), 'How many payouts it has.'),
  accepted: described(Type.Integer(), 'How many of them are made.'),
  refused: described(Type.Integer(), 'How many of them are refused. The others have no result yet, or were not made.'),
  createdAt: described(Timestamp, 'Time of the request.'),
  endedAt: described(optional(Timestamp), 'Time at which the last payout had its result. Absent before.'),
})
export const BulkPayoutPage = page(BulkPayout)
export const BulkPayoutQuery = closed({ ...pageQuery })

const BulkProblem = closed({
  code: described(Type.String(), 'The code of the refusal, as `POST /v1/payouts/fiat` answers it.', {
    examples: ['insufficient_funds'],
  }),
  detail: described(Type.String(), 'Explanation of the refusal, in one sentence.'),
})

export const BulkPayoutItem = closed({
  position: described(Type.Integer(), 'Place in the request, from 0.'),
  idempotencyKey: described(Type.String(), 'The idempotency key of the payout.'),
  amount: described(Amount, 'Amount in major units of `currency`.'),
  currency: described(Currency, 'Currency of the payout, ISO 4217 alpha-3.'),
  beneficiaryId: described(Uuid, 'The beneficiary that receives the payout.'),
  userReference: described(optional(Reference), 'The `reference` of the request. Absent without one.'),
  endToEndId: described(
    optional(Type.String()),
    'The `EndToEndId` of the payment in your file. Absent without one, and if it is `NOTPROVIDED`.',
  ),
  status: BulkItemStatus,
  payoutId: described(optional(Uuid), 'The `id` of the payout. Only if it is accepted.'),
  reference: described(
    optional(Type.String()),
    'Reference of the transaction: follow it at `GET /v1/transactions/{reference}`. Only if the payout is accepted.',
  ),
  problem: described(optional(BulkProblem), 'Refusal of the payout. Absent if it is accepted.'),
})
export const BulkPayoutItems = closed({
  data: described(
    Type.Array(BulkPayoutItem),
    'The payouts in the order of the request: all of them, or those with `status`.',
  ),
})
export const BulkPayoutItemsQuery = closed({
  status: described(optional(oneOf(bulkItemStatuses)), 'Only payouts with this result.'),
})
