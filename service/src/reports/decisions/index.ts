/**
 * Statistics of decisions, for the head of compliance: open items by kind and age, decisions by outcome and duration,
 * and false hits by list and by rule, for up to 24 months in UTC.
 *
 * Tables: none. It counts rows of cases, screening and monitoring by their indexes. Invariants: the open items are
 * those in the queue at that moment; an item counts in one month, that of its last decision; an item that ended
 * automatically has an outcome and does not count in the durations.
 */
export {
  ageBands,
  createDecisionStatistics,
  type CountedKind,
  type DecisionStatistics,
  decisionsCsv,
  monthsMax,
  type DecisionFigures,
  filterKinds,
} from './service.ts'
