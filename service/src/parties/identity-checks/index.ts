/**
 * Identity checks: an identity provider verifies who a customer is.
 *
 * Tables: customers.identity_verifications; customers.identity_erasures, what providers still have to erase. Invariants: a customer has at most one verification that is not decided. What a provider
 * has found is sealed, and comes only from a report that the service has asked for. A report is applied once, by its version; an older one changes
 * nothing. The state of the customer changes in the transaction that applies a report.
 */
export { createIdentitiesOf, createIdentityErasure, type IdentityErasure } from './proofs.ts'
export { identityRoutes, toVerification, createIdentityWebhookSite } from './routes.ts'
export { sealedIdentities } from './store.ts'
export { createIdentityChecks, type IdentityChecks, identityJobs } from './service.ts'
