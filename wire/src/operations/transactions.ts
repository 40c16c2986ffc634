/** The operations of the group `transactions`. */
import * as audit from '../audit.ts'
import * as transactions from '../transactions.ts'
import { resource } from './example.ts'
import type { Operation } from './operation.ts'
import { reference } from './params.ts'

export const transactionsOperations = {
  listTransactions: {
    tag: 'transactions',
    method: 'GET',
    path: '/v1/transactions',
    query: transactions.TransactionQuery,
    response: transactions.TransactionPage,
    permission: 'transactions:read',
    source: 'extension',
    summary: 'List transactions',
    description:
      "Returns the partner's transactions, newest first. Every filter given must hold. Some filters set the order. " +
      '`updatedSince`: the oldest change first. A change appears about half a minute after it was made, and none is ever ' +
      'skipped. The last `nextCursor` continues the list at any later time. A transaction that changes again ' +
      'appears again. `referencePrefix`: by reference. `payerName`: by name. `amountMin` and `amountMax`: the largest amount first. With ' +
      '`createdFrom`, `createdTo` or `account`, these two list the newest first.',
    refusals: [],
    example: {},
  },
  sumTransactions: {
    tag: 'transactions',
    method: 'GET',
    path: '/v1/sums/transactions',
    query: transactions.TransactionSumsQuery,
    response: transactions.TransactionSums,
    permission: 'transactions:read',
    sdkMethod: 'sum',
    source: 'extension',
    summary: 'Sum transactions',
    description:
      'Returns how many transactions match the filters, and their sums by direction and currency. Takes the filters of ' +
      '`GET /v1/transactions`. At most 5,000 transactions are summed: if more match, `capped` is true, and the actual sums are higher.',
    refusals: [],
    example: {},
  },
  exportTransactions: {
    tag: 'transactions',
    method: 'GET',
    path: '/v1/exports/transactions',
    query: transactions.TransactionExportQuery,
    content: ['application/jsonl'],
    streamed: true,
    permission: 'transactions:read',
    sensitive: true,
    source: 'extension',
    summary: 'Retrieve changed transactions as a stream',
    description:
      'Streams every transaction that has changed, the oldest change first, as one JSON object on each line: ' +
      '`{"cursor", "transaction"}`. Store the `cursor` of the last whole line. To resume a broken download, or to get what ' +
      'has changed since, send it as `after`. A transaction that changes again appears again. Changes appear about half ' +
      'a minute after they were made, and none is skipped. A partner may read two streams at once (429). A stream that the ' +
      'client does not read for a minute is aborted.',
    refusals: [],
    example: {},
  },
  getTransaction: {
    tag: 'transactions',
    method: 'GET',
    path: '/v1/transactions/{reference}',
    params: reference,
    response: transactions.Transaction,
    permission: 'transactions:read',
    source: 'documented',
    summary: 'Retrieve a transaction',
    description:
      'Returns a transaction by its `reference`, with its timeline. `Completed`, `Unsuccessful`, `Cancelled` and ' +
      '`Expired` are final statuses.',
    refusals: ['not_found'],
    example: { params: { reference: resource('reference') } },
  },
  getTransactionProof: {
    tag: 'transactions',
    method: 'GET',
    path: '/v1/transactions/{reference}/proof',
    params: reference,
    response: audit.TransactionProof,
    permission: 'transactions:read',
    source: 'extension',
    summary: 'Retrieve the audit proof of a transaction',
    description:
      'Proves that the records of the transaction are in your audit log under heads that the service has signed. ' +
      'Save the answer and verify it offline with `npm run verify:proof -- FILE`. A head is signed when its day (UTC) is ' +
      'over. Until then the records are counted in `pending`.',
    refusals: ['not_found'],
    example: { params: { reference: resource('reference') } },
  },
  listRelatedTransactions: {
    tag: 'transactions',
    method: 'GET',
    path: '/v1/transactions/{reference}/related',
    params: reference,
    response: transactions.RelatedTransactions,
    permission: 'transactions:read',
    sdkMethod: 'listRelated',
    source: 'extension',
    summary: 'List related transactions',
    description:
      'Returns the other transactions of the same payment with their relation to it, and the exchange. A return is a ' +
      'separate transaction. Each of the related transactions returns the others.',
    refusals: ['not_found'],
    example: { params: { reference: resource('reference') } },
  },
  getTransactionTimeline: {
    tag: 'transactions',
    method: 'GET',
    path: '/v1/transactions/{reference}/timeline',
    params: reference,
    response: transactions.TransactionTimeline,
    permission: 'transactions:read',
    source: 'extension',
    summary: 'Retrieve the timeline of a transaction',
    description:
      'Returns every step of a transaction with its actor and the reason of the bank. Steps never change, so `sequence` ' +
      'identifies a step.',
    refusals: ['not_found'],
    example: { params: { reference: resource('reference') } },
  },
} as const satisfies Record<string, Operation>
