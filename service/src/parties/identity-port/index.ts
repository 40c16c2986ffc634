/**
 * Identity providers: the port behind which a company verifies who a customer is, and what their webhooks share. It
 * stores nothing; `identity-checks` keeps the verifications.
 */
export {
  createIdentityCalls,
  type IdentityCalls,
  type IdentityEvidence,
  type IdentityHint,
  type IdentityKind,
  type IdentityProvider,
  type IdentityReason,
  IdentityRefused,
  type IdentityReport,
  type IdentityRequest,
  type IdentityWebhook,
  type StartedIdentity,
  holdsStandardSignature,
} from './port.ts'
