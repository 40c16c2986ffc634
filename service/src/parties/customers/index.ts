/**
 * Customers: the people and companies for whom a partner moves money, with their KYC data.
 *
 * Tables: customers.customers; customers.gates, what each state of verification allows; customers.identifier_locks; customers.reviews, the
 * operator's risk classes; customers.name_tokens and customers.name_keys, the blind index of names; customers.changes, the history;
 * customers.erasures, the progress of erasures; customers.kept_records, how far old records of other modules are erased.
 * Invariants: KYC is sealed as a whole, under a context that names partner and customer. Responses never contain
 * `personalIdentificationNumber`. `customerType` is set once, at creation. A partner's identifier belongs to one customer, unless
 * CUSTOMER_IDENTIFIERS is `shared`; emails need not be unique. A row lock serialises the updates of a customer.
 * An erased customer keeps its row and the retained data until the retention ends. It cannot get new payments: `hold` refuses it,
 * and a held customer cannot be erased until the transaction ends. Payouts detect an erasure by the balance (`countBlock`).
 * For other modules: `find`, `hold`, `payersByIds` and `idOf` join the caller's transaction. They treat another partner's customer as
 * unknown.
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
  exceedsBalance,
  exceedsSum,
  hasMaximumBalance,
  findLackingCapability,
  verificationRefusal,
} from './gate-rules.ts'
export { type IdentityRecord, mainKind, selectComparedFields } from './identity.ts'
export type { ReadIdentities } from './verification-states.ts'
export type { CustomerReview } from './store-erasures.ts'
export { createErasures, type Erasures, type ModuleErasures } from './erasure.ts'
export { createRecordRetention, type RecordRetention, customerJobs } from './jobs.ts'
export { namePrefixes, readNamePrefix, searchedPrefix } from './name-index.ts'
export type { CustomerType } from './rules.ts'
export { type Customer, type CustomerUser, customerName } from './customer.ts'
export { createCustomers, type Customers, type Payer } from './service.ts'
export { sealedChanges, sealedKyc, sealedNameKeys } from './sealed.ts'
