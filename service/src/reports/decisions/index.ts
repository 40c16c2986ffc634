/**
 * The numbers of decisions, for the head of compliance: what is open by kind and age, what was decided by outcome and how long it took, and
 * false hits by list and by rule, of up to 24 months in UTC.
 *
 * Tables: none. It counts rows of cases, screening and monitoring by their indexes. Invariants: the open ones are those of the queue at that
 * moment; a decision counts in one month, that of its last decision; what ended by itself has an outcome and took no one's time.
 */
export {
  ageBands,
  createDecisionStatistics,
  type CountedKind,
  type DecisionNumbers,
  decisionsCsv,
  monthsMax,
  type DecisionFigures,
  onlyKinds,
} from './service.ts'
