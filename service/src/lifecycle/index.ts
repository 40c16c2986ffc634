/**
 * Lifecycles: the form of a table of transitions, and the engine that applies it. Payouts and deposits each state what
 * happens in their table. The engine is the same for both: it locks, judges each trigger by the table, and has the module
 * write all transitions of a batch together.
 *
 * No tables of its own. Invariants: a status changes only by a row of its table, and only by an actor that the row names.
 */
export {
  oldestOf,
  type OldestUnfinished,
  type Unfinished,
  type Advanced,
  createEngine,
  type Move,
  type Actor,
  createLifecycle,
  type EventOf,
  type Lifecycle,
  type Transition,
  transitionOn,
  type Applied,
  applyInBatches,
} from './engine.ts'
