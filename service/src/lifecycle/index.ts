/**
 * Lifecycles: the form of a table of transitions, and the engine that applies it. Payouts, deposits and recalls each
 * have a table of their own. The engine locks the payments, checks each trigger against the table, and lets the module
 * write all transitions of a batch together.
 *
 * It has no tables. Invariants: a status changes only by a row of its table, and only by an actor that the row lists.
 */
export {
  oldestByStatus,
  type OldestUnfinishedPayment,
  type UnfinishedPayment,
  type TriggerOutcome,
  createEngine,
  type PaymentTransition,
  type Actor,
  createLifecycle,
  type EventOf,
  type Lifecycle,
  type Transition,
  findTransition,
  type AppliedOutcome,
  applyInBatches,
} from './engine.ts'
