/** The operations on bulk payouts, in the group `payouts`. */
import * as bulk from '../bulk-payouts.ts'
import { amount, pain001, resource, uniqueText } from './example.ts'
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
      'bulk at the `Location` of the response, and each payout like any other payout. A body with invalid fields is refused as a whole, ' +
      'with a pointer to each field. Other refusals, for example for insufficient funds, are results of single payouts. ' +
      'Idempotent by `idempotencyKey`, and each payout by its own key: a payout that was already made under its key is not made again.',
    refusals: ['validation_failed', 'currency_not_supported', 'request_in_progress', 'idempotency_key_reused'],
    example: {
      body: {
        mode: 'BestEffort',
        idempotencyKey: uniqueText(),
        payouts: [
          {
            amount: amount('10.00'),
            beneficiaryId: resource('beneficiary'),
            currency: 'EUR',
            idempotencyKey: uniqueText(),
            reference: uniqueText(),
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
      'beneficiaries, which is paid under its own name. `RmtInf` becomes the `reference`. The amounts leave your balance, whatever debtor ' +
      'the file names. A file with an execution date in the future, ultimate parties or a purpose is refused as a whole. ' +
      'The key of each payment consists of `MsgId` and its position in the file, so a file with the same `MsgId` is not paid twice.',
    refusals: [
      'validation_failed',
      'not_found',
      'currency_not_supported',
      'request_in_progress',
      'idempotency_key_reused',
    ],
    example: {
      body: { mode: 'BestEffort', idempotencyKey: uniqueText(), customerId: resource('customer'), document: pain001 },
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
      'Returns all payouts of the bulk, at most 1,000, in the order of the request, each with its result. The list has no pages.',
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
      'caller applies to their sum. Payouts that were decided or cancelled before are unaffected. If the number of waiting payouts ' +
      'differs from `payouts`, or the bulk is `Processing`, the request is refused with 409. So is a repeated request after a success.',
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
    summary: 'Reject a bulk payout',
    description:
      'Rejects all payouts of the bulk that are `PendingApproval`: they become `Cancelled`, and their money is available again. ' +
      'Refused in the same cases as the approval.',
    refusals: ['validation_failed', 'not_found', 'approver_is_creator', 'payout_not_awaiting_approval'],
    example: {
      params: { bulkId: resource('heldBulkToReject') },
      body: { payouts: 2, reason: 'The file was sent twice.' },
    },
  },
} as const satisfies Record<string, Operation>
