/** The operations of the group `payouts` with many payouts. */
import * as bulk from '../bulk-payouts.ts'
import { amount, pain001, resource, unique } from './example.ts'
import type { Operation } from './operation.ts'
import { bulkId } from './params.ts'

export const bulkPayoutsOperations = {
  createBulkPayout: {
    tag: 'payouts',
    method: 'POST',
    path: '/v1/payouts/bulk',
    body: bulk.BulkPayoutCreate,
    response: bulk.BulkPayout,
    idempotency: 'body',
    makes: { id: 'id' },
    permission: 'payouts:write',
    items: 'payouts',
    sdkMethod: 'createBulk',
    source: 'extension',
    summary: 'Create many fiat payouts',
    description:
      'Takes up to 1,000 fiat payouts and answers at once. Workers then make them by the rules of `POST /v1/payouts/fiat`: follow the ' +
      'bulk at the `Location` of the response, and each payout as any other. A body with a wrong field is refused as a whole, ' +
      'with a pointer to each. What only shows when a payout is made (its beneficiary, the funds) is the result of that payout. ' +
      'Idempotent by `idempotencyKey`, and each payout by its own key: a payout that was made before under its key is not made again.',
    refusals: ['validation_failed', 'currency_not_supported', 'request_in_progress', 'idempotency_key_reused'],
    example: {
      body: {
        mode: 'BestEffort',
        idempotencyKey: unique(),
        payouts: [
          {
            amount: amount('10.00'),
            beneficiaryId: resource('beneficiary'),
            currency: 'EUR',
            idempotencyKey: unique(),
            reference: unique(),
          },
        ],
      },
    },
  },
  createBulkPayoutFromFile: {
    tag: 'payouts',
    method: 'POST',
    path: '/v1/payouts/bulk/pain001',
    body: bulk.BulkPayoutFileCreate,
    response: bulk.BulkPayout,
    idempotency: 'body',
    makes: { id: 'id' },
    permission: 'payouts:write',
    items: 'document',
    sdkMethod: 'createBulkFromFile',
    source: 'extension',
    summary: 'Create many payouts from a pain.001',
    description:
      'Takes the payments of an ISO 20022 file as a bulk. The account of each creditor (`CdtrAcct`) must be that of one of the ' +
      'beneficiaries, which is paid under its own name; `RmtInf` becomes the `reference`. The amounts leave your balance whatever the debtor ' +
      'of the file is. A file with an execution date in the future, ultimate parties or a purpose is refused as a whole. ' +
      'The key of each payment is made of `MsgId` and its place in the file. So a message with the same `MsgId` pays nothing twice.',
    refusals: [
      'validation_failed',
      'not_found',
      'currency_not_supported',
      'request_in_progress',
      'idempotency_key_reused',
    ],
    example: {
      body: { mode: 'BestEffort', idempotencyKey: unique(), customerId: resource('customer'), document: pain001 },
    },
  },
  listBulkPayouts: {
    tag: 'payouts',
    method: 'GET',
    path: '/v1/payouts/bulk',
    query: bulk.BulkPayoutQuery,
    response: bulk.BulkPayoutPage,
    permission: 'payouts:read',
    sdkMethod: 'listBulks',
    source: 'extension',
    summary: 'List bulk payouts',
    description: "Returns the partner's bulks, newest first.",
    refusals: ['validation_failed'],
    example: {},
  },
  getBulkPayout: {
    tag: 'payouts',
    method: 'GET',
    path: '/v1/payouts/bulk/{bulkId}',
    params: bulkId,
    response: bulk.BulkPayout,
    permission: 'payouts:read',
    sdkMethod: 'getBulk',
    source: 'extension',
    summary: 'Retrieve a bulk payout',
    description: 'Returns the bulk and how many of its payouts are accepted and refused so far.',
    refusals: ['not_found'],
    example: { params: { bulkId: resource('bulk') } },
  },
  listBulkPayoutItems: {
    tag: 'payouts',
    method: 'GET',
    path: '/v1/payouts/bulk/{bulkId}/items',
    params: bulkId,
    query: bulk.BulkPayoutItemsQuery,
    response: bulk.BulkPayoutItems,
    permission: 'payouts:read',
    sdkMethod: 'listBulkItems',
    source: 'extension',
    summary: 'List the results of a bulk',
    description:
      'Returns the payouts of the bulk in the order of the request, each with its result. There are no pages: a bulk has at most 1,000.',
    refusals: ['not_found', 'validation_failed'],
    example: { params: { bulkId: resource('bulk') } },
  },
  getBulkPayoutApproval: {
    tag: 'payouts',
    method: 'GET',
    path: '/v1/payouts/bulk/{bulkId}/approval',
    params: bulkId,
    response: bulk.BulkPayoutApproval,
    permission: 'payouts:read',
    sdkMethod: 'getBulkApproval',
    source: 'extension',
    summary: 'Retrieve the approval of a bulk',
    description: 'Returns how many payouts of the bulk wait for the approval of a second person, and their sums.',
    refusals: ['not_found'],
    example: { params: { bulkId: resource('heldBulk') } },
  },
  approveBulkPayout: {
    tag: 'payouts',
    method: 'POST',
    path: '/v1/payouts/bulk/{bulkId}/approve',
    params: bulkId,
    body: bulk.BulkPayoutApprove,
    response: bulk.BulkPayoutDecided,
    idempotency: 'kept',
    permission: 'payouts:write',
    sdkMethod: 'approveBulk',
    source: 'extension',
    summary: 'Approve the payouts of a bulk',
    description:
      'Approves all payouts of the bulk that are `PendingApproval`, by the rules of `POST /v1/payouts/{id}/approve`. The daily maximum of the ' +
      'caller is judged for their sum. Payouts that were decided or cancelled before stay as they are. If another number of them ' +
      'waits than `payouts`, or the bulk is `Processing`, it is 409 and nothing is approved. Repeated after success it is 409 too.',
    refusals: [
      'validation_failed',
      'not_found',
      'approver_is_creator',
      'approver_limit_exceeded',
      'payout_not_awaiting_approval',
    ],
    example: { params: { bulkId: resource('heldBulk') }, body: { payouts: 2 } },
  },
  rejectBulkPayout: {
    tag: 'payouts',
    method: 'POST',
    path: '/v1/payouts/bulk/{bulkId}/reject',
    params: bulkId,
    body: bulk.BulkPayoutReject,
    response: bulk.BulkPayoutDecided,
    idempotency: 'kept',
    permission: 'payouts:write',
    sdkMethod: 'rejectBulk',
    source: 'extension',
    summary: 'Reject the payouts of a bulk',
    description:
      'Rejects all payouts of the bulk that are `PendingApproval`: they become `Cancelled`, and their money is available again. ' +
      'Refusals as for the approval.',
    refusals: ['validation_failed', 'not_found', 'approver_is_creator', 'payout_not_awaiting_approval'],
    example: {
      params: { bulkId: resource('heldBulkToReject') },
      body: { payouts: 2, reason: 'The file was sent twice.' },
    },
  },
} as const satisfies Record<string, Operation>
