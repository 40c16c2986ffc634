/**
 * Customers: the people and companies for whom a partner moves money, with their KYC data.
 *
 * Tables: customers.customers; customers.name_tokens and customers.name_keys, the blind index of names;
 * customers.changes, the history. Invariants: KYC is sealed as a whole, under a context that names partner and customer. No
 * response contains `personalIdentificationNumber`. `customerType` is set once, at creation. Partner identifiers and
 * emails need not be unique. Updates of one customer are serialised by a row lock.
 * For other modules: `find`, `payersByIds` and `idOf` join the caller's transaction. They do not distinguish another
 * partner's customer from an unknown one.
 */
export {
  createCustomerExports,
  type CustomerExports,
  type ExportLine,
  type ExportSection,
  pagesBehind,
  pagesOfList,
} from './export.ts'
export { customersRoutes, toChange, toCustomer } from './routes.ts'
export type { CustomerCreate, CustomerType, CustomerUpdate, KycFields } from './rules.ts'
export { createCustomers, type Customer, type Customers, type Payer } from './service.ts'
export { sealedChanges, sealedKyc, sealedNameKeys } from './store-sealed.ts'
