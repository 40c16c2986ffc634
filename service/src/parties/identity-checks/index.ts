/**
 * Identity checks: an identity provider verifies who a customer is.
 *
 * Tables: customers.identity_verifications; customers.identity_erasures, the sessions that providers still have to
 * erase. Invariants: a customer has at most one undecided verification. The findings of a provider are sealed, and come
 * only from a report that the service has requested. Each version of a report is applied once, and older versions are
 * ignored. The customer's state changes in the transaction that applies a report.
 */
export { createIdentityReader, createIdentityErasure } from './proofs.ts'
export { identityRoutes, toVerification, createIdentityWebhookSite } from './routes.ts'
export { sealedIdentities } from './store.ts'
export { createIdentityChecks, type IdentityChecks, identityJobs } from './service.ts'
