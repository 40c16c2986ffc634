/**
 * Cases: what a bank reports and what fits nothing we know. Its money is booked to suspense, and an operator resolves it.
 *
 * Table: cases.cases. Invariants: one case per notification of a connector. The transaction that opens a case books its money
 * from the connector's settlement account to suspense (or back, if money left); the one that resolves it books it away from
 * there. So the suspense account is the sum of the open cases.
 */
export { caseActions, type CaseAction } from './rules.ts'
export { type Cases, createCases, type NewCase } from './service.ts'
export { operatorPartnerId } from './rules.ts'
