/** The operations of the group `accounts`. */
import * as accounts from '../accounts.ts'
import { amount, resource } from './example.ts'
import type { Operation } from './operation.ts'
import { accountId, customerCurrency, customerId } from './params.ts'

export const accountsOperations = {
  createCustomerAccount: {
    tag: 'accounts',
    method: 'POST',
    path: '/v1/customers/{id}/account',
    params: customerId,
    response: accounts.CustomerAccount,
    idempotency: 'header',
    makes: 'nothing',
    permission: 'accounts:write',
    repeatable: true,
    sdkMethod: 'createForCustomer',
    source: 'documented',
    summary: 'Create a customer account',
    description:
      'Issues one IBAN per configured issuing country. Idempotent: a repeated request returns the same IBANs. When ' +
      'an IBAN pool is exhausted, the request is refused with 503 and no IBAN is issued. A service without issuing ' +
      'country refuses the request with 422.',
    refusals: [
      'not_found',
      'customer_not_verified',
      'account_blocked',
      'iban_issuer_not_configured',
      'iban_pool_exhausted',
    ],
    example: { params: { id: resource('customer') } },
  },
  getCustomerAccount: {
    tag: 'accounts',
    method: 'GET',
    path: '/v1/customers/{id}/account',
    params: customerId,
    response: accounts.CustomerAccount,
    permission: 'accounts:read',
    sdkMethod: 'getForCustomer',
    source: 'extension',
    summary: 'Retrieve a customer account',
    description: 'Returns the IBANs of a customer. A customer without an account is 404.',
    refusals: ['not_found'],
    example: { params: { id: resource('customer') } },
  },
  listAccounts: {
    tag: 'accounts',
    method: 'GET',
    path: '/v1/accounts',
    query: accounts.BalanceQuery,
    response: accounts.BalancePage,
    permission: 'accounts:read',
    source: 'extension',
    summary: 'List account balances',
    description:
      "Returns the partner's balances, one per currency, all read at the instant `asOf`. `available` is `posted` " +
      'minus `reserved`. `at` reads the balances of a past time: what had moved before it. A segregated balance also says ' +
      'which part of it is your own.',
    refusals: [],
    example: {},
  },
  createAccountTransfer: {
    tag: 'accounts',
    method: 'POST',
    path: '/v1/accounts/transfers',
    body: accounts.AccountTransferCreate,
    response: accounts.AccountTransfer,
    idempotency: 'header',
    makes: 'payment',
    permission: 'payouts:write',
    source: 'extension',
    summary: 'Create a transfer between customers',
    description:
      'Moves money of one balance between two customers, or between a customer and you: for example your fee, or a bonus. ' +
      'It is booked at once and needs no bank. Two transactions are completed, one outward and one inward, which names the ' +
      'outward one. An amount above the part of the sender is refused. Gates and blocks of customers apply. Limits, fees and ' +
      'approvals of payouts do not, because the money does not leave your balance.',
    refusals: [
      'validation_failed',
      'not_found',
      'customer_not_verified',
      'balance_limit_exceeded',
      'account_blocked',
      'insufficient_funds',
    ],
    example: { body: { amount: amount('12.50'), currency: 'EUR', toCustomerId: resource('customer') } },
  },
  listAccountEntries: {
    tag: 'accounts',
    method: 'GET',
    path: '/v1/accounts/{id}/entries',
    params: accountId,
    query: accounts.EntryQuery,
    response: accounts.AccountEntryPage,
    permission: 'accounts:read',
    source: 'extension',
    summary: 'List the entries of a balance',
    description:
      'Lists the movements of posted money of a balance, newest first, each with the balance after it. Reserves are ' +
      'not entries, because they do not move money. Entries of the last half minute can still appear between others. ' +
      'For a final statement, set an older `to`. A cursor is valid for the same `from` and `to`.',
    refusals: ['not_found'],
    example: { params: { id: resource('balance') } },
  },
  listAccountStateChanges: {
    tag: 'accounts',
    method: 'GET',
    path: '/v1/accounts/state-changes',
    query: accounts.StateChangeQuery,
    response: accounts.AccountStateChangePage,
    permission: 'accounts:read',
    source: 'extension',
    summary: 'List changes of account states',
    description:
      'Lists how the operator has blocked, unblocked or closed your balances and the accounts of your customers, newest ' +
      'first. The newest change of an account has its current state. An account without changes is `Active`. Payouts and ' +
      'conversions from a balance that is blocked outbound are refused with 422 `account_blocked`. Money for an account that ' +
      'is blocked inbound is not credited: the deposit fails, and the operator returns or credits the money.',
    refusals: [],
    example: {},
  },
  listCustomerBalances: {
    tag: 'accounts',
    method: 'GET',
    path: '/v1/customers/{id}/account/balances',
    params: customerId,
    query: accounts.BalanceQuery,
    response: accounts.CustomerBalancePage,
    permission: 'accounts:read',
    source: 'extension',
    summary: 'List the balances of a customer',
    description:
      "Returns what the customer's payments add up to, one item per currency in which money moved or is reserved. The " +
      'money is part of your balance of that currency. The customer does not need an IBAN. `at` reads the sums of a past time.',
    refusals: ['not_found'],
    example: { params: { id: resource('customer') } },
  },
  listCustomerAccountEntries: {
    tag: 'accounts',
    method: 'GET',
    path: '/v1/customers/{id}/account/balances/{currency}/entries',
    params: customerCurrency,
    query: accounts.EntryQuery,
    response: accounts.CustomerAccountEntryPage,
    permission: 'accounts:read',
    source: 'extension',
    summary: 'List entries of a customer',
    description:
      'Lists the movements of a customer on your balance of a currency, newest first. Each entry has the sum of the ' +
      "customer's entries up to it. An entry of the last half minute can still appear between others. A cursor is " +
      'valid for the same `from` and `to`.',
    refusals: ['not_found'],
    example: { params: { id: resource('customer'), currency: 'EUR' } },
  },
} as const satisfies Record<string, Operation>
