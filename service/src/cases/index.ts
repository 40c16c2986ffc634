/**
 * Cases: bank reports that match no payment or account, and other matters for the operator. Their money is booked to
 * suspense. One person proposes a resolution, and another one approves it.
 *
 * Tables: cases.cases, cases.decisions, cases.returns. Invariants: one case per notification of a connector. The
 * transaction that opens a case books its money from the connector's settlement account to suspense (or back, if money
 * left); the one that resolves it books it away from there. So the suspense account is the sum of the open cases.
 * Decisions are added and never changed, until their notes are erased with the report (docs/decisions/0055-erasure.md).
 */
export { caseKindNames } from './kind-names.ts'
export {
  actionsFor,
  caseActions,
  type CaseAction,
  type CaseKind,
  caseKinds,
  type Disposition,
  possibleDispositions,
  kindsHiddenFromPartners,
  operatorPartnerId,
} from './rules.ts'
export {
  type CaseEffects,
  createDecisions,
  type Decisions,
  StepConflict,
  type CaseOwners,
  createCaseAssignment,
  ownerConflict,
} from './decisions.ts'
export { type CaseReport, type ReportedMoney, readCaseReport } from './report.ts'

export { createReturns, type ReturnClaim, type Returns } from './returns.ts'
export { type Cases, createCases, type NewCase } from './service.ts'
export { type CaseRow, type OpenCounts, retainedCases, nextReturnDue } from './store.ts'
