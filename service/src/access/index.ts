/**
 * Access: partners, service accounts with their keys, secrets and permissions, impersonation sessions, and nonces.
 *
 * Tables: access.partners, access.partner_names, access.service_accounts, access.nonces, access.master_keys, access.support_sessions.
 * Invariants: a secret is encrypted at rest and shown once. A service account can use a nonce once, across all operations,
 * processes and restarts. An unknown key and a wrong signature get the same answer.
 */
export {
  createAddressCheck,
  isWithinNetworks,
  parseNetwork,
  type Credential,
  credentialTtlMs,
  type IssuedCredential,
} from './credentials.ts'
export {
  createNonceBatcher,
  sealedApiSecrets,
  sealedPartnerNames,
  type Access,
  createAccess,
  type SupportSession,
} from './service.ts'
export { masterKeyState, recordMasterKeys } from './master-keys.ts'
export {
  deleteOtherKeys,
  masterKeys,
  type Issuer,
  allPartnerIds,
  partnerById,
  partnerRow,
  partnersPage,
} from './store.ts'

export {
  apiKeyPartnerId,
  isUnixSeconds,
  linkTokenPartnerId,
  newLinkToken,
  normalizeNonce,
  publicKeyMistake,
} from './rules.ts'

export type { ListedCredential, ExpiryListener } from './management.ts'

export { diagnoseSignature, type SignatureDiagnosis } from './signature-diagnosis.ts'
