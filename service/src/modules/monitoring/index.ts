/**
 * Monitoring of transactions: rules as data find patterns that no single payment shows, after the payment. Two persons decide each alert.
 *
 * Tables: monitoring.rules, monitoring.backtests, monitoring.progress, monitoring.alerts, monitoring.hits. Invariants: a version of a rule
 * never changes, and is on only after a backtest and by two persons; a rule finds a transaction once; at most one alert of a rule about
 * a subject is open; an installation without rules that are on reads nothing.
 */
export { monitoringJob } from './jobs.ts'
export { readRule } from './rules.ts'
export { createMonitoring, type Monitoring, type Rule } from './service.ts'
