/**
 * Customers: whom a partner's money moves for, and the KYC data of each.
 *
 * Table: customers.customers. Invariants: KYC is sealed at rest as a whole, under a context that names partner and
 * customer; `personalIdentificationNumber` never leaves; `customerType` is set once, at creation. Partner identifiers
 * and emails are the partner's own business and not unique. Updates of one customer take turns.
 * Promises to other modules: `find`, `payersByIds` and `idOf` join their transaction, and another partner's customer is as
 * unknown as one that never was.
 */
export { customersRoutes } from './routes.ts'
export type { CustomerCreate, CustomerType, CustomerUpdate, KycFields } from './rules.ts'
export { createCustomers, type Customer, type CustomerList, type Customers, type Payer } from './service.ts'
