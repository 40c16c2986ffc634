/** The operations of service accounts, in the group `users`: the permissions for the team also cover its service accounts. */
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
      'Issues an API key and an API secret for your public key. You can grant only permissions that you have (403). A service account with ' +
      'an expiry or allowed addresses cannot grant a later expiry or other addresses (403). All Admins get a mail. ' +
      'At most 100 are active at once. Idempotent by `Idempotency-Key`; without a key a repeated request creates a second service account.',
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
      'Changes name, permissions, allowed addresses and expiry of an active service account. Takes effect within two seconds. You can change ' +
      'only accounts whose permissions you have (403). A service account with an expiry or allowed addresses cannot remove these ' +
      'restrictions, not even its own (403). All Admins get a mail.',
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
      'Issues a new service account with the same name, permissions, allowed addresses and expiry, for a new key pair. The old service ' +
      'account stays valid during the overlap. You can rotate only accounts whose permissions you have (403). All Admins get a mail.',
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
      'Revokes a service account: within two seconds it can no longer sign requests. You can revoke your own account, and accounts whose ' +
      'permissions, expiry and allowed addresses you could grant (403). All Admins get a mail.',
    refusals: ['not_found'],
    example: { params: { serviceAccountId: resource('revocableAccount') } },
  },
} as const satisfies Readonly<Record<string, Operation>>
