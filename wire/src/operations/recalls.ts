/** The operations on recalls, in the group `payouts`. */
import * as recalls from '../recalls.ts'
import { resource } from './example.ts'
import type { Operation } from './operation.ts'
import { payoutId, recallId } from './params.ts'

export const recallsOperations = {
  createPayoutRecall: {
    tag: 'payouts',
    method: 'POST',
    path: '/v1/payouts/{id}/recall',
    params: payoutId,
    body: recalls.PayoutRecallCreate,
    response: recalls.PayoutRecall,
    idempotency: 'header',
    makes: { id: 'id' },
    permission: 'payouts:write',
    source: 'extension',
    summary: 'Request the recall of a payout',
    description:
      'Asks the bank of the recipient to send the money of a `Completed` SEPA payout back. Runs asynchronously: follow it by the event ' +
      '`payout.recall.updated`, or read it. The recipient may refuse. `DUPL` and `TECH` can be requested within 10 banking business ' +
      'days after the execution, the other reasons within 13 months. The answer is due 15 banking business days after the request. ' +
      'A payout has at most one open recall, and at most one for each reason. Returned money is a new transaction, like every return.',
    refusals: ['not_found', 'recall_not_supported', 'payout_not_recallable', 'recall_exists', 'recall_deadline_passed'],
    example: { params: { id: resource('recallable') }, body: { reason: 'DUPL', text: 'Paid twice.' } },
  },
  listPayoutRecalls: {
    tag: 'payouts',
    method: 'GET',
    path: '/v1/payouts/{id}/recalls',
    params: payoutId,
    response: recalls.PayoutRecalls,
    permission: 'payouts:read',
    source: 'extension',
    summary: 'List the recalls of a payout',
    description: 'Returns the recalls of a payout, the newest first.',
    refusals: ['not_found'],
    example: { params: { id: resource('recalled') } },
  },
  getPayoutRecall: {
    tag: 'payouts',
    method: 'GET',
    path: '/v1/payouts/{id}/recalls/{recallId}',
    params: recallId,
    response: recalls.PayoutRecall,
    permission: 'payouts:read',
    source: 'extension',
    summary: 'Retrieve a recall',
    description: 'Returns a recall of a payout, with its deadlines and its result.',
    refusals: ['not_found'],
    example: { params: { id: resource('recalled'), recallId: resource('recall') } },
  },
} as const satisfies Record<string, Operation>
