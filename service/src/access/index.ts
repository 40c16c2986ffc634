/**
 * Access: who may call. Partners, service accounts with their keys, secrets and permissions, impersonation sessions,
 * and the nonces that were spent.
 *
 * Tables: access.partners, access.service_accounts, access.nonces. Promises: a secret is sealed at rest and shown once;
 * a nonce is accepted once per service account, whatever endpoint, instance or restart; an unknown key and a wrong
 * signature look alike.
 */
export { createSpendingBatcher } from './nonces.ts'
export { apiKeyPartner } from './rules.ts'
export { type Access, type Credential, createAccess, type IssuedCredential, type SpentNonce } from './service.ts'
