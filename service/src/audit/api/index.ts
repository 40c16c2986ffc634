/**
 * Audit log: the operations with which a partner reads its records and signed heads.
 *
 * Tables: none. The verbs and the tables are in the folder `audit` of the core.
 */
export { auditLogRoutes } from './routes.ts'
