/** The operations on identity verifications, in the group `customers`. */
import * as identity from '../identity.ts'
import { resource } from './example.ts'
import type { Operation } from './operation.ts'
import { customerId, identityVerificationId } from './params.ts'

export const identityOperations = {
  createIdentityVerification: {
    tag: 'customers',
    method: 'POST',
    path: '/v1/customers/{id}/verifications',
    params: customerId,
    body: identity.IdentityVerificationCreate,
    response: identity.IdentityVerification,
    idempotency: 'header',
    makes: { id: 'id' },
    permission: 'customers:write',
    source: 'extension',
    summary: 'Start an identity verification',
    description:
      'Asks the identity provider of the operator to verify the customer. The provider gets the KYC fields of the `kinds`, as they are now. Runs ' +
      'asynchronously: the answer is `Pending`, and `url` follows shortly. Read the verification, or follow it by the event ' +
      '`customer.verification.updated`. `GET /v1/customers/{id}/verification` and the capabilities show the findings of the provider at ' +
      'once. A customer has at most one undecided verification.',
    refusals: ['validation_failed', 'not_found', 'identity_provider_not_configured', 'identity_verification_open'],
    example: { params: { id: resource('unproved') }, body: { kinds: ['Document', 'Address'] } },
  },
  listIdentityVerifications: {
    tag: 'customers',
    method: 'GET',
    path: '/v1/customers/{id}/verifications',
    params: customerId,
    query: identity.IdentityVerificationQuery,
    response: identity.IdentityVerificationPage,
    permission: 'customers:read',
    sensitive: true,
    source: 'extension',
    summary: 'List the identity verifications of a customer',
    description: 'Returns the identity verifications of a customer, the newest first.',
    refusals: ['not_found'],
    example: { params: { id: resource('customer') } },
  },
  getIdentityVerification: {
    tag: 'customers',
    method: 'GET',
    path: '/v1/customers/{id}/verifications/{verificationId}',
    params: identityVerificationId,
    response: identity.IdentityVerification,
    permission: 'customers:read',
    sensitive: true,
    source: 'extension',
    summary: 'Retrieve an identity verification',
    description:
      'Returns an identity verification of a customer, with the page to open or the findings of the provider.',
    refusals: ['not_found'],
    example: { params: { id: resource('customer'), verificationId: resource('identityVerification') } },
  },
} as const satisfies Record<string, Operation>
