/** The operations of service accounts, in the group `users`: who may manage the team may manage its keys. */
import * as accounts from '../service-accounts.ts'
import { resource } from './example.ts'
import type { Operation } from './operation.ts'
import { serviceAccountId } from './params.ts'

export const serviceAccountsOperations = {
  createServiceAccount: {
    tag: 'users',
    method: 'POST',
    path: '/v1/service-accounts',
    body: accounts.ServiceAccountCreate,
    response: accounts.ServiceAccountCreated,
    idempotency: 'header',
    makes: { id: 'serviceAccountId' },
    permission: 'users:write',
    sensitive: true,
    source: 'extension',
    summary: 'Create a service account',
    description:
      'Issues an API key and an API secret for your public key. You give only permissions that you have (403). A service account that ' +
      'has an end or addresses itself gives no later end and no other address (403). All Admins get a mail. ' +
      'At most 100 are active at once. Idempotent by `Idempotency-Key`; without a key a repeated request creates a second one.',
    refusals: ['validation_failed', 'service_account_limit_reached'],
    example: {
      body: {
        name: 'Payroll',
        publicKeyPem: accounts.examplePublicKey,
        permissions: ['payouts:read', 'payouts:write'],
        allowedAddresses: ['203.0.113.0/24'],
      },
    },
  },
  listServiceAccounts: {
    tag: 'users',
    method: 'GET',
    path: '/v1/service-accounts',
    query: accounts.ServiceAccountQuery,
    response: accounts.ServiceAccountPage,
    permission: 'users:read',
    source: 'extension',
    summary: 'List service accounts',
    description: 'Returns the service accounts, newest first, without their secrets.',
    refusals: [],
    example: {},
  },
  getServiceAccount: {
    tag: 'users',
    method: 'GET',
    path: '/v1/service-accounts/{serviceAccountId}',
    params: serviceAccountId,
    response: accounts.ServiceAccount,
    permission: 'users:read',
    source: 'extension',
    summary: 'Retrieve a service account',
    description: 'Returns a service account without its secret.',
    refusals: ['not_found'],
    example: { params: { serviceAccountId: resource('serviceAccount') } },
  },
  updateServiceAccount: {
    tag: 'users',
    method: 'PATCH',
    path: '/v1/service-accounts/{serviceAccountId}',
    params: serviceAccountId,
    body: accounts.ServiceAccountUpdate,
    response: accounts.ServiceAccount,
    permission: 'users:write',
    source: 'extension',
    summary: 'Update a service account',
    description:
      'Changes name, permissions, addresses and end of an active service account, within two seconds. You change only accounts whose ' +
      'permissions you have (403). A service account with an end or addresses lifts neither, its own included (403). All Admins get a mail.',
    refusals: ['validation_failed', 'not_found'],
    example: {
      params: { serviceAccountId: resource('serviceAccount') },
      body: { name: 'Payroll of Berlin', allowedAddresses: ['203.0.113.7'] },
    },
  },
  rotateServiceAccount: {
    tag: 'users',
    method: 'POST',
    path: '/v1/service-accounts/{serviceAccountId}/rotate',
    params: serviceAccountId,
    body: accounts.ServiceAccountRotate,
    response: accounts.ServiceAccountCreated,
    idempotency: 'header',
    makes: { id: 'serviceAccountId' },
    permission: 'users:write',
    sensitive: true,
    source: 'extension',
    summary: 'Rotate the key of a service account',
    description:
      'Issues a new service account with name, permissions, addresses and end of this one, for a new key pair. This one works on for the ' +
      'overlap. You rotate only accounts whose permissions you have (403). All Admins get a mail.',
    refusals: ['validation_failed', 'not_found', 'service_account_limit_reached'],
    example: {
      params: { serviceAccountId: resource('serviceAccount') },
      body: { publicKeyPem: accounts.examplePublicKey, overlapHours: 24 },
    },
  },
  revokeServiceAccount: {
    tag: 'users',
    method: 'DELETE',
    path: '/v1/service-accounts/{serviceAccountId}',
    params: serviceAccountId,
    permission: 'users:write',
    source: 'extension',
    summary: 'Revoke a service account',
    description:
      'The service account can no longer sign requests, within two seconds. You revoke only accounts whose permissions, end and addresses ' +
      'you have, and the own one (403). All Admins get a mail.',
    refusals: ['not_found'],
    example: { params: { serviceAccountId: resource('revocableAccount') } },
  },
} as const satisfies Readonly<Record<string, Operation>>
