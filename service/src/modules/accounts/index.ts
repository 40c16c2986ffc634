/**
 * Accounts: the IBANs of customers, and the balances of partners (which the ledger keeps).
 *
 * Tables: accounts.iban_pools, accounts.iban_blocks, accounts.customer_accounts, accounts.ibans. Invariants: a number is
 * given once, to one customer of one partner; a customer has one IBAN per country; an IBAN, once issued, stays.
 * Numbers are unique without a constraint across partners: a partner takes blocks of 1,000 off a pool under its lock.
 * Order of `ibans`: as the countries are configured now, then those no longer configured. A country that is configured
 * later gets its IBAN at the next create call; appended to the configuration, it leaves the first IBAN the first.
 */
export { accountsRoutes } from './routes.ts'
export { defaultIssuers, type Issuer, issuersProblem, issuingCountries } from './rules.ts'
export { type Accounts, createAccounts, type CustomerAccount } from './service.ts'
