/**
 * Identity providers: the port for companies that verify who a customer is, and the signatures of their webhooks. It does not
 * store data; `identity-checks` stores the verifications.
 */
export {
  createIdentityCalls,
  type IdentityCalls,
  type IdentityEvidence,
  type IdentityHint,
  type IdentityKind,
  type IdentityProvider,
  type IdentityReason,
  IdentityRequestRefused,
  type IdentityReport,
  hasStandardSignature,
} from './port.ts'
