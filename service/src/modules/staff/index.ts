/**
 * Staff: the operator's people, who sign in to the desk and decide cases as two persons.
 *
 * Tables: staff.accounts, staff.invitations. Invariants: an invitation is accepted once, within 24 hours; no two accounts have one address or
 * one name; an admin remains; each decision checks the role in its own transaction.
 */
export { decidesCases, decidesHits, staffRealmId, staffRoles } from './rules.ts'
export { createStaff, type SignedStaff, type Staff, type StaffSearch } from './service.ts'
