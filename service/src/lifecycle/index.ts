/**
 * Lifecycles: the form of a table of transitions, and the engine that applies it. Payouts, deposits and recalls each
 * have a table of their own. The engine locks the payments, judges each trigger by the table, and has the module write
 * all transitions of a batch together.
 *
 * It has no tables. Invariants: a status changes only by a row of its table, and only by an actor that the row names.
 */
export {
  oldestByStatus,
  type OldestUnfinishedPayment,
  type UnfinishedPayment,
  type TriggerOutcome,
  createEngine,
  type LifecycleMove,
  type Actor,
  createLifecycle,
  type EventOf,
  type Lifecycle,
  type Transition,
  findTransition,
  type AppliedOutcome,
  applyInBatches,
} from './engine.ts'
