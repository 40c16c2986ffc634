/**
 * Customers: the people and companies for whom a partner moves money, with their KYC data.
 *
 * Tables: customers.customers; customers.gates, what each state of verification allows; customers.identifier_locks; customers.reviews, the operator's classes of risk; customers.name_tokens and customers.name_keys, the blind index of names;
 * customers.changes, the history; customers.erasures, what is left to erase of erased customers; customers.kept_records, how far records of other modules are erased by their
 * age. Invariants: KYC is sealed as a whole, under a context that names partner and customer. No
 * response contains `personalIdentificationNumber`. `customerType` is set once, at creation. A partner
 * identifier names one customer, unless CUSTOMER_IDENTIFIERS is `shared`; emails need not be unique. Updates of one customer are serialised by a row lock.
 * An erased customer keeps its row, and what has to be kept until its time is over. It gets no new payment: `hold` refuses it, and
 * until a transaction that holds a customer ends, none erases it. Payouts find out by the balance (`countBlock`).
 * For other modules: `find`, `hold`, `payersByIds` and `idOf` join the caller's transaction. They do not distinguish another
 * partner's customer from an unknown one.
 */
export {
  createCustomerExports,
  type CustomerExports,
  type ExportLine,
  type ExportSection,
  pagesBehind,
  pagesOfList,
  customersRoutes,
  toChange,
  toCustomer,
} from './routes.ts'
export {
  type BalancesMax,
  exceedsBalance,
  exceedsSum,
  hasLargestBalance,
  lackingFor,
  notVerified,
} from './gate-rules.ts'
export { type IdentityRecord, mainKind, subjectFor } from './identity.ts'
export type { IdentitiesOf } from './verification-states.ts'
export type { Review } from './store-erasures.ts'
export { createErasures, type Erasures, type HeldByModules } from './erasure.ts'
export { createKeptRecords, type KeptRecords, customerJobs } from './jobs.ts'
export { prefixesOfName, readNamePrefix, searchedPrefix } from './name-index.ts'
export type { CustomerCreate, CustomerType, CustomerUpdate, KycFields } from './rules.ts'
export { type Customer, type CustomerUser, nameOf } from './customer.ts'
export { createCustomers, type Customers, type Payer } from './service.ts'
export { sealedChanges, sealedKyc, sealedNameKeys } from './sealed.ts'
