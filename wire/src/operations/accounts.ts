/** The operations of the group `accounts`. */
import * as accounts from '../accounts.ts'
import type { Operation } from './operation.ts'
import { customerId } from './params.ts'

export const accountsOperations = {
  createCustomerAccount: {
    tag: 'accounts',
    method: 'POST',
    path: '/v1/customers/{id}/account',
    params: customerId,
    response: accounts.CustomerAccount,
    idempotency: 'header',
    permission: 'accounts:write',
    source: 'documented',
    summary: 'Create a customer account',
    description:
      'Issues one IBAN per configured issuing country. Idempotent: a repeated request returns the same IBANs. When ' +
      'an IBAN pool is exhausted, the request is refused with 503 and no IBAN is issued. A service without issuing ' +
      'country refuses the request with 422.',
    refusals: ['not_found', 'iban_issuer_not_configured', 'iban_pool_exhausted'],
  },
  getCustomerAccount: {
    tag: 'accounts',
    method: 'GET',
    path: '/v1/customers/{id}/account',
    params: customerId,
    response: accounts.CustomerAccount,
    permission: 'accounts:read',
    source: 'extension',
    summary: 'Retrieve a customer account',
    description: 'Returns the IBANs of a customer. A customer without an account is 404.',
    refusals: ['not_found'],
  },
  listAccounts: {
    tag: 'accounts',
    method: 'GET',
    path: '/v1/accounts',
    response: accounts.BalancePage,
    permission: 'accounts:read',
    source: 'extension',
    summary: 'List account balances',
    description:
      "Returns the partner's balances, one per currency, all read at the instant `asOf`. `available` is `posted` " +
      'minus `reserved`.',
    refusals: [],
  },
} as const satisfies Record<string, Operation>
