/**
 * Staff: the operator's people, who sign in to the desk and decide cases as two persons.
 *
 * Tables: staff.accounts, staff.invitations, staff.command_tokens, staff.changes, staff.assignments, staff.assignment_steps, staff.notes, staff.deciders. Invariants: an invitation is accepted once, within 24 hours; no two accounts have one address or
 * one name; an admin remains, and decides every kind; each decision checks the role in its own transaction; a change is
 * carried out once, after another person has approved it; a thing has at most one open assignment.
 */
export { type DecidedKind, decidedKinds, staffRealmId, type StaffRole, staffRoles, turnsRules } from './rules.ts'
export { type Deciders, kindsDecidedBy, requireDecider, type JudgeTwo, twoDeciders, twoOfStaff } from './deciders.ts'
export { assignmentsJob, type AskWaiting, thingName } from './assignments.ts'
export {
  type Assignment,
  keptAssignments,
  type Step,
  type ThingKey,
  type ThingKind,
  thingKinds,
  type WaitingThing,
  waitingReasons,
  accounts as staffAccounts,
} from './store.ts'
export {
  createStaffChanges,
  type StaffChange,
  type StaffChanges,
  createStaff,
  type Staff,
  type StaffSearch,
} from './service.ts'

export { eraseNotes, keptNotes, type Note, type Noted, notedKinds } from './store.ts'

export type { Bearer } from './commands.ts'
export type { SignedStaff, StaffDeps } from './deps.ts'

export { renderStaffMail } from './entrances.ts'
