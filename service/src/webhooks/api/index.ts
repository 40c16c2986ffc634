/**
 * The management API of webhook delivery: handlers and response shapes. `../index.ts` describes the operations, tables
 * and invariants.
 */
export { webhooksRoutes } from './routes.ts'
