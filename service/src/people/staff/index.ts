/**
 * Staff: the operator's people, who sign in to the desk and decide cases in pairs.
 *
 * Tables: staff.accounts, staff.invitations, staff.command_tokens, staff.changes, staff.assignments, staff.assignment_steps, staff.notes, staff.deciders.
 * Invariants: an invitation is accepted once, within 24 hours. Two accounts never share an address or a name. At least one admin remains, and
 * admins decide every kind. Each decision checks the role in its own transaction. A change is carried out once, after another person has
 * approved it. An item of the queue has at most one open assignment.
 */
export { type DecidedKind, decidedKinds, staffRealmId, type StaffRole, staffRoles, canToggleRules } from './rules.ts'
export { type Deciders, kindsDecidedBy, requireDecider, checkStaffDeciders, createCheckTwoStaff } from './deciders.ts'
export { assignmentsJob, type WaitingChecks, queueItemName } from './assignments.ts'
export {
  type Assignment,
  keptAssignments,
  type AssignmentStep,
  type QueueItemKey,
  type QueueItemKind,
  queueItemKinds,
  type WaitingItem,
  waitingReasons,
  listAccounts as staffAccounts,
} from './store.ts'
export {
  changesJob,
  createStaffChanges,
  type StaffChange,
  type StaffChanges,
  createStaff,
  type Staff,
} from './service.ts'

export { eraseNotes, keptNotes, type StaffNote, type NoteSubject, noteSubjectKinds } from './store.ts'

export type { Bearer } from './commands.ts'
export type { SignedInStaff, StaffDeps } from './deps.ts'

export { renderStaffMail } from './entrances.ts'
