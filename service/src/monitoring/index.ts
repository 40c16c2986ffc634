/**
 * Monitoring of transactions: rules as data find patterns that no single payment shows, before the bank has a payout or after the
 * payment. Two persons decide each alert.
 *
 * Tables: monitoring.rules, monitoring.backtests, monitoring.backtest_runs, monitoring.progress, monitoring.alerts, monitoring.hits. Invariants: a version of a rule
 * never changes, and is on only after a backtest and by two persons; a rule finds a transaction once; at most one alert of a rule about
 * a subject is open and without a proposal; a worker begins no payout that an open or refused alert holds; an installation without rules that
 * are on reads no transaction.
 */
export {
  type MonitoringHoldsOf,
  createMonitoring,
  type Monitoring,
  type Rule,
  type RuleState,
  monitoringJobs,
} from './service.ts'
export { eraseHits, keptAlerts } from './store.ts'
export type { FiuCodes } from './settings.ts'
export {
  countryOf,
  currencyScopes,
  moments,
  readRule,
  ruleFields,
  ruleKinds,
  severities,
  type RuleKind,
} from './rules.ts'
