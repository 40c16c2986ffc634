/**
 * The audit log: who did what to what, when, why and by which request. README.md describes its guarantees.
 *
 * Tables: audit.records, audit.acts, audit.things, audit.chains, audit.links, audit.keys, audit.heads, audit.subtrees,
 * audit.subjects. Invariants: a record is added in the transaction of its change, and never changed or deleted. A loop
 * chains all records of a partner in one order. Each day with records has one head, which is signed and refers to the
 * head before it. A row of audit.subjects links a request to its customer.
 */
export { createChainStep, sealedAuditKeys } from './chain.ts'
export { type Audit, auditedHandlers, type AuditRecord, createAudit, type NewRecord } from './service.ts'

export type { RecordedAction, ServiceAct } from './rules.ts'
export { type VerifyDeps, verifyLog } from './verify.ts'
