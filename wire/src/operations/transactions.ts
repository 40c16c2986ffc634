/** The operations of the group `transactions`. */
import * as transactions from '../transactions.ts'
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
      "Returns the partner's transactions, newest first. Filter by status, category, customer, beneficiary, " +
      'idempotency key and creation time.',
    refusals: [],
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
  },
} as const satisfies Record<string, Operation>
