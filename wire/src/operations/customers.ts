/** The operations of the group `customers`. */
import * as customers from '../customers.ts'
import type { Operation } from './operation.ts'
import { customerId } from './params.ts'

export const customersOperations = {
  createCustomer: {
    tag: 'customers',
    method: 'POST',
    path: '/v1/customers',
    body: customers.CustomerCreate,
    response: customers.Customer,
    idempotency: 'header',
    permission: 'customers:write',
    source: 'extension',
    summary: 'Create a customer',
    description:
      'Creates a customer with its KYC data. At least one of `email`, `partnerCustomerIdentifier` and `kyc` is ' +
      'required. Without `customerType`, the service derives the type from the KYC fields. Neither `email` nor ' +
      '`partnerCustomerIdentifier` has to be unique. Idempotent by `Idempotency-Key`; without a key a repeated request ' +
      'creates a second customer.',
    refusals: ['validation_failed'],
  },
  listCustomers: {
    tag: 'customers',
    method: 'GET',
    path: '/v1/customers',
    query: customers.CustomerQuery,
    response: customers.CustomerPage,
    permission: 'customers:read',
    source: 'extension',
    summary: 'List customers',
    description:
      "Returns the partner's customers, newest first. Filter by `email`, `partnerCustomerIdentifier` or " +
      '`customerType`. The email filter ignores case.',
    refusals: [],
  },
  getCustomer: {
    tag: 'customers',
    method: 'GET',
    path: '/v1/customers/{id}',
    params: customerId,
    response: customers.Customer,
    permission: 'customers:read',
    source: 'documented',
    summary: 'Retrieve a customer',
    description:
      'Returns a customer by its `guid` or its `serviceId`. The response omits `personalIdentificationNumber`.',
    refusals: ['not_found'],
  },
  updateCustomer: {
    tag: 'customers',
    method: 'PUT',
    path: '/v1/customers/{id}',
    params: customerId,
    body: customers.CustomerUpdate,
    response: customers.Customer,
    permission: 'customers:write',
    source: 'documented',
    summary: 'Update a customer',
    description:
      'Merges the request into the customer: a given field is set, `null` clears a field, and an absent field is ' +
      'unchanged. At least one field is required. Idempotent: a repeated request has no further effect.',
    refusals: ['validation_failed', 'not_found'],
  },
} as const satisfies Record<string, Operation>
