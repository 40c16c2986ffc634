/**
 * Accounts: the IBANs of customers, and the balances and statements of partners and their customers, which the ledger
 * keeps.
 *
 * Tables: accounts.iban_pools, accounts.iban_blocks, accounts.imported_pools, accounts.iban_imports,
 * accounts.imported_ibans, accounts.customer_accounts, accounts.ibans, accounts.state_changes, accounts.cancellations,
 * and accounts.monitored_balances, accounts.monitors and accounts.monitor_crossings, of `monitors/`. Invariants: an
 * account number is issued once, to one customer of one partner. A customer has one IBAN per country. An issued IBAN is
 * never changed or reissued. Numbers are unique across partners without a constraint: a partner takes blocks of 1,000
 * numbers from a pool under the lock of the pool. `ibans` are in the configured order of countries, then those of
 * countries that are no longer configured. When a country is configured later, the next create call issues its IBAN.
 * Several databases issue from ranges that do not overlap (`cells.ts`). In a country with imported pools an account is
 * assigned one free IBAN in its own transaction, first from a pool of the partner, then from a shared pool. An assigned
 * IBAN is never free again.
 */
export { createCancellations, type AccountRef, recordFreeze } from './states.ts'
export { createMonitors, monitorRoutes, type Monitors, renderMonitorMail } from './monitors/index.ts'
export { accountJobs, type Accounts, createAccounts } from './service.ts'
export { accountsRoutes } from './routes.ts'
export { type BadLine, poolNamePattern, IbanFileProblem, type ImportResult } from './imported.ts'

export type { DailyBalances } from './statements.ts'

export type { StateChange } from './store.ts'
