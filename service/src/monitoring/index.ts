/**
 * Monitoring of transactions: rules find patterns across payments, before a payout goes to the bank or after the payment.
 * Two people decide each alert.
 *
 * Tables: monitoring.rules, monitoring.backtests, monitoring.backtest_runs, monitoring.progress, monitoring.alerts,
 * monitoring.hits. Invariants: a version of a rule does not change, and two people turn it on after a backtest. A rule
 * finds a transaction once. At most one alert of a rule and subject is open without a proposal. A worker does not begin a
 * payout that an open or refused alert holds. Without active rules, monitoring does not read transactions.
 */
export { createMonitoring, type Monitoring, type MonitoringRule, type RuleState, monitoringJobs } from './service.ts'
export { eraseHits, keptAlerts } from './store.ts'
export type { FiuCodes } from './settings.ts'
export {
  accountCountry,
  currencyScopes,
  ruleMoments,
  readRule,
  ruleFields,
  ruleKinds,
  severities,
  type RuleKind,
} from './rules.ts'
