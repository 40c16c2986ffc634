/** Many payouts in one request. All operations are extensions. */
import { FiatPayoutCreate, payoutProblem, PayoutReject, PayoutStatus } from './payouts.ts'
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
  singleLine,
} from './shapes.ts'

export const bulkPayoutsMax = 1000

export const bulkModes = ['AllOrNothing', 'BestEffort'] as const
const BulkMode = described(
  oneOf(bulkModes),
  '`AllOrNothing`: all payouts are made together, or none. `BestEffort`: each payout is made or refused independently.',
)
export const bulkStatuses = ['Processing', 'Completed', 'Refused'] as const
const BulkStatus = described(
  oneOf(bulkStatuses),
  '`Processing`: some payouts have no result yet. `Completed`: every payout has a result. `Refused`: `AllOrNothing`, and no payout was made.',
)
export const bulkItemStatuses = ['Processing', 'Accepted', 'Refused', 'NotMade'] as const
const BulkItemStatus = described(
  oneOf(bulkItemStatuses),
  '`Accepted`: the payout is made, and its money is reserved. `Refused`: `problem` says why. `NotMade`: another payout of the bulk was refused.',
)

export const bulkNameCharsMax = 200
const name = described(
  optional(singleLine(bulkNameCharsMax)),
  'Name of the bulk for people, for example the file name: one line of 1 to 200 characters. It does not affect the payouts.',
)

const BulkPayoutItemCreate = closed({
  ...FiatPayoutCreate.properties,
  endToEndId: described(
    optional(Type.String({ minLength: 1, maxLength: 35 })),
    'Your end-to-end id, which the beneficiary reads: 1 to 35 characters that every SEPA bank accepts. Absent: the service assigns one.',
  ),
})

export const BulkPayoutCreate = closed({
  mode: BulkMode,
  idempotencyKey: described(
    IdempotencyKey,
    'Your key of this bulk, 1 to 255 characters, unique among your bulks. Repeat it to retry the same bulk.',
  ),
  name,
  payouts: described(
    Type.Array(BulkPayoutItemCreate, { minItems: 1, maxItems: bulkPayoutsMax }),
    'Payouts: 1 to 1,000, each as `POST /v1/payouts/fiat` takes it, or with an `endToEndId`. The whole body has at most 256 KiB. Their idempotency keys differ.',
  ),
})

export const BulkPayoutFileCreate = closed({
  mode: BulkMode,
  idempotencyKey: described(
    IdempotencyKey,
    'Your key of this bulk, 1 to 255 characters, unique among your bulks. Repeat it to retry the same bulk.',
  ),
  name,
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
  name: described(optional(Type.String()), 'Name of the bulk for people. Absent without one.'),
  payouts: described(Type.Integer(), 'Number of payouts in the bulk.'),
  accepted: described(Type.Integer(), 'Number of payouts made.'),
  refused: described(Type.Integer(), 'Number of payouts refused. The others have no result yet, or were not made.'),
  createdAt: described(Timestamp, 'Time of the request.'),
  endedAt: described(optional(Timestamp), 'Time at which the last payout had its result. Absent before.'),
})
export const BulkPayoutPage = page(BulkPayout)
export const bulkApprovalFilters = ['Waiting'] as const
export const BulkPayoutQuery = closed({
  approval: described(
    optional(oneOf(bulkApprovalFilters)),
    '`Waiting`: only the newest 100 bulks with payouts that wait for an approval.',
  ),
  ...pageQuery,
})

export const BulkPayoutItem = closed({
  position: described(Type.Integer(), 'Place in the request, from 0.'),
  idempotencyKey: described(Type.String(), 'The idempotency key of the payout.'),
  amount: described(Amount, 'Amount in major units of `currency`.'),
  currency: described(Currency, 'Currency of the payout, ISO 4217 alpha-3.'),
  beneficiaryId: described(Uuid, 'The beneficiary that receives the payout.'),
  beneficiaryName: described(
    optional(Type.String()),
    'Name of the account holder: as the payout has it, or as the beneficiary has it now. Absent if the beneficiary was erased.',
  ),
  beneficiaryAccount: described(
    optional(Type.String()),
    'IBAN that the payout goes to, or the numbers of an account without one. Absent if the beneficiary was erased.',
  ),
  userReference: described(optional(Reference), 'The `reference` of the request. Absent without one.'),
  endToEndId: described(
    optional(Type.String()),
    'The end-to-end id that you gave. Absent without one, and if it is `NOTPROVIDED`.',
  ),
  status: BulkItemStatus,
  payoutId: described(optional(Uuid), 'The `id` of the payout. Only if it is accepted.'),
  payoutStatus: described(optional(PayoutStatus), 'Present status of the payout. Only if it is accepted.'),
  reference: described(
    optional(Type.String()),
    'Reference of the transaction: follow it at `GET /v1/transactions/{reference}`. Only if the payout is accepted.',
  ),
  problem: described(optional(payoutProblem), 'Refusal of the payout. Absent if it is accepted.'),
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

const BulkTotal = closed({
  amount: described(Amount, 'Sum in major units of `currency`.'),
  currency: described(Currency, 'Currency of the sum, ISO 4217 alpha-3.'),
})
export const BulkPayoutApproval = closed({
  payouts: described(Type.Integer(), 'How many payouts of the bulk wait for an approval.', { examples: [312] }),
  totals: described(Type.Array(BulkTotal), 'The sum of those that wait, by currency.'),
  needsPasskey: described(Type.Boolean(), 'Whether only a person with a passkey can approve, in the console.'),
  expiresAt: described(optional(Timestamp), 'Time at which the first of them is cancelled. Absent if none waits.'),
})

const waitingCount = described(
  Type.Integer({ minimum: 1, maximum: bulkPayoutsMax }),
  'Number of waiting payouts, as you have read it. If another number waits, nothing is decided.',
)
export const BulkPayoutApprove = closed({ payouts: waitingCount })
export const BulkPayoutReject = closed({ payouts: waitingCount, reason: PayoutReject.properties.reason })

const BulkNotDecided = closed({
  payoutId: described(Uuid, 'The payout that still waits, or was decided by another request.'),
  problem: described(payoutProblem, 'Reason why the payout was not decided.'),
})
export const BulkPayoutDecided = closed({
  payouts: described(Type.Integer(), 'Number of payouts decided.'),
  refused: described(Type.Array(BulkNotDecided), 'Payouts that were refused while the others were decided.'),
})
